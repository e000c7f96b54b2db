//! Subagents: each works for one call of `task`, in a session and a lane of its own, behind the head that it shares with
//! its siblings.

mod fan_out;
mod head;

pub(crate) use head::PART;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use antefix_models::{Money, Rules, Ttl};
use antefix_session::closure::text_block;
use antefix_session::conversation::Conversation;
use antefix_session::event::SessionEvent;
use antefix_session::machine::{Session, Settings};
use antefix_session::record::{EndReason, LaneRecord, Origin, Spawned};
use antefix_session::spend::Spend;
use antefix_tools::{BoxFuture, Context, Delegate, Failure, Order, Report};
use antefix_wire::json::Body;
use bytes::Bytes;
use tokio::sync::{Semaphore, mpsc};

use crate::agents::{AgentFile, Agents};
use crate::context::{Surroundings, Watcher};
use crate::definitions::on_one_line;
use crate::driver::{
    Agent, DriverError, FromSubagent, Parent, Purse, Restriction, Shown, Subagent, SubagentNews, TurnEnd,
};
use crate::head::HeadSpec;
use crate::store::{FileStore, Sessions};
use crate::{clock, transcript};
use fan_out::{FanOut, Leader};

/// What runs the subagents of one session, once an agent [employs](Agent::employ) them.
pub struct Subagents {
    spec: SubagentSpec,
    fan_out: FanOut,
    purse: Arc<Purse>,
    places: Semaphore,
    parent: Mutex<Option<Parent>>,
}

/// What subagents are made of, beside what they get from the agent they work for.
pub struct SubagentSpec {
    /// Where their sessions are kept.
    pub sessions: Sessions,
    /// The agents that can be named.
    pub agents: Agents,
    /// The head of a new session here, from which each takes its baseline.
    pub head: HeadSpec,
    /// The rules of a model at the provider.
    pub rules: Box<dyn Fn(&str) -> Rules + Send + Sync>,
    /// What each session keeps to; money is bounded for all together.
    pub settings: Settings,
    /// Who looks at the surroundings of a session with that context, and where.
    pub surroundings: Box<Surround>,
}

/// See [`SubagentSpec::surroundings`].
pub type Surround = dyn Fn(&Context) -> (Watcher, Surroundings) + Send + Sync;

impl Subagents {
    /// Subagents that nobody employs yet.
    pub fn new(spec: SubagentSpec) -> Self {
        Self {
            spec,
            fan_out: FanOut::default(),
            purse: Arc::default(),
            places: Semaphore::new(AT_ONCE),
            parent: Mutex::default(),
        }
    }

    /// What the session and its subagents have spent.
    pub fn purse(&self) -> &Arc<Purse> {
        &self.purse
    }

    /// The agents that can be named.
    pub fn agents(&self) -> &Agents {
        &self.spec.agents
    }

    /// What the most that all may cost together is, if that is bounded.
    pub fn max_cost(&self) -> Option<Money> {
        self.spec.settings.limits.max_cost
    }

    pub(crate) fn work_for(&self, parent: Parent) {
        *self.parent.lock().unwrap_or_else(PoisonError::into_inner) = Some(parent);
    }

    async fn work(&self, context: &Context, order: Order) -> Result<Report, Failure> {
        let parent = self.parent.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let parent = parent.ok_or_else(|| Failure::new("subagents cannot be started here"))?;
        let agent = order.agent.as_deref().map(|name| self.agent(name)).transpose()?;
        let _place = tokio::select! {
            biased;
            () = context.cancellation.cancelled() => return Err(Failure::new(CANCELLED)),
            place = self.places.acquire() => place,
        };
        let (mut child, subagent, lane) = self.child(&parent, &order, agent, context.call_id()).await?;
        let lives = if lane.cache == Some(Ttl::OneHour) { HOUR } else { FIVE_MINUTES };
        let mut leader = tokio::select! {
            biased;
            () = context.cancellation.cancelled() => return Err(Failure::new(CANCELLED)),
            leader = self.fan_out.enter(head::digest(&lane), lives) => leader,
        };
        let news = Arc::clone(&subagent);
        let show = move |shown: Shown<'_>| {
            told_of(&shown, &mut leader);
            let news_of = match shown {
                Shown::Event(event) => SubagentNews::Event(event.clone()),
                Shown::Decided(decided) => SubagentNews::Decided(decided.clone()),
                _ => return,
            };
            // Without anybody there it is of no interest.
            drop(parent.inbox.send(FromSubagent::News(Arc::clone(&news), news_of)));
        };
        let end = run(&mut child, text_block(&order.prompt), context, show).await;
        let session = child.session();
        Ok(report(session.conversation(), end, &session.spent(), &subagent))
    }

    fn agent(&self, name: &str) -> Result<AgentFile, Failure> {
        let agents = self.spec.agents.find().0;
        let names: Vec<String> = agents.iter().map(|agent| agent.name.clone()).collect();
        agents.into_iter().find(|agent| agent.name == name).ok_or_else(|| {
            let name = on_one_line(name, 80);
            Failure::new(match names.as_slice() {
                [] => format!("there is no agent `{name}`; there is none to name, so leave `agent` out"),
                names => format!("there is no agent `{name}`; there is: {}", names.join(", ")),
            })
        })
    }

    /// A subagent in a session of its own, its lane open.
    async fn child(
        &self,
        parent: &Parent,
        order: &Order,
        agent: Option<AgentFile>,
        call: &str,
    ) -> Result<(Agent<FileStore>, Arc<Subagent>, LaneRecord), Failure> {
        let failed = |error: &dyn std::fmt::Display| {
            Failure::new(format!("the subagent could not be started: {error}"))
        };
        let named = agent.as_ref().map(|agent| agent.name.clone());
        let spawned_by =
            Spawned { session: parent.session.clone(), call: call.to_owned(), agent: named.clone() };
        let cwd = parent.context.cwd.to_string_lossy();
        let opened = transcript::spawn(&self.spec.sessions, &cwd, clock::now(), spawned_by)
            .map_err(|error| failed(&error))?;
        let subagent = Arc::new(Subagent {
            session: opened.conversation.header().session.clone(),
            call: call.to_owned(),
            agent: named,
            description: on_one_line(&order.description, 60),
        });
        let provider = parent.provider.beside(&subagent.session).map_err(|error| failed(&error))?;
        let own = parent.context.afresh(opened.store.folder().join("outputs"));
        let (mut watcher, around) = (self.spec.surroundings)(&own);
        let baseline = watcher.baseline(&around).await;
        let (lane, rules) = head::lane(&self.spec, parent, agent.as_ref(), baseline);
        let mut settings = self.spec.settings.clone();
        settings.limits.max_cost = None;
        let session = Session::new(opened.conversation, rules, settings);
        let mut child = Agent::new(session, opened.store, parent.executor.clone(), own, provider);
        child.work_for(parent, Arc::clone(&subagent), Restriction::of(agent));
        child.share(&self.purse, self.max_cost());
        child.watch(watcher, around);
        child.open_lane(lane.clone()).map_err(|error| failed(&error))?;
        Ok((child, subagent, lane))
    }
}

impl Delegate for Subagents {
    fn run<'a>(&'a self, context: &'a Context, order: Order) -> BoxFuture<'a, Result<Report, Failure>> {
        Box::pin(self.work(context, order))
    }
}

/// Tells the siblings that the head can be read, or that it never will be by this request.
fn told_of(shown: &Shown<'_>, leader: &mut Option<Leader>) {
    match shown {
        Shown::Delta(_) | Shown::Event(SessionEvent::RequestFinished(_)) => {
            if let Some(leader) = leader.take() {
                leader.begins();
            }
        }
        Shown::Event(SessionEvent::Retrying { .. } | SessionEvent::TurnEnded { .. }) => *leader = None,
        _ => {}
    }
}

/// Runs the one turn of a subagent; when its call is stopped, so is the turn, in order.
async fn run(
    child: &mut Agent<FileStore>,
    prompt: Bytes,
    context: &Context,
    show: impl FnMut(Shown<'_>) + Send,
) -> Result<TurnEnd, DriverError> {
    let (interrupt, mut interrupts) = mpsc::unbounded_channel();
    let turn = child.work(prompt, &mut interrupts, show);
    tokio::pin!(turn);
    tokio::select! {
        biased;
        end = &mut turn => end,
        () = context.cancellation.cancelled() => {
            // A turn that is over has no use for it.
            let _ = interrupt.send(());
            turn.await
        }
    }
}

fn report(
    conversation: &Conversation,
    end: Result<TurnEnd, DriverError>,
    spent: &Spend,
    subagent: &Subagent,
) -> Report {
    let stopped = match end {
        Ok(TurnEnd { reason: EndReason::EndTurn | EndReason::StopSequence, .. }) => None,
        Ok(TurnEnd { reason, message }) => {
            let message = message.map(|text| format!(": {}", on_one_line(&text, 500))).unwrap_or_default();
            Some(format!("the subagent did not come to an end ({}{message})", reason.word()))
        }
        Err(error) => Some(format!("the subagent broke down: {error}")),
    };
    let last = conversation.path().rfind(|message| message.origin() == Origin::Assistant);
    let text: Vec<String> =
        last.map(|last| last.blocks().iter().filter_map(text_of).collect()).unwrap_or_default();
    let text = match text.join("\n") {
        text if text.trim().is_empty() => "(the subagent said nothing)".to_owned(),
        text => text,
    };
    let requests = conversation.attempts().len();
    Report { text, stopped, session: subagent.session.clone(), usage: usage(requests, spent) }
}

fn text_of(block: &Bytes) -> Option<String> {
    let body = Body::parse(block.to_vec()).ok()?;
    Some(body.root().get("text")?.str()?.into_owned())
}

/// What a subagent used, in words.
fn usage(requests: usize, spent: &Spend) -> String {
    let prompt = spent.counts.prompt().0;
    let read = u128::from(spent.counts.read.0) * 1000;
    let share = read.checked_div(u128::from(prompt)).unwrap_or(0);
    let cost = match spent.known_cost() {
        Some(cost) => format!("${}", cost.usd()),
        None => "unpriced".to_owned(),
    };
    let mark = if spent.estimated > 0 { "about " } else { "" };
    let word = if requests == 1 { "request" } else { "requests" };
    format!(
        "{requests} {word}, {mark}{prompt} tokens in, {}.{} % of them read from the cache, {} out, {cost}",
        share / 10,
        share % 10,
        spent.counts.output.0
    )
}

/// Subagents of a session that work at the same time; more wait for their turn.
const AT_ONCE: usize = 10;

/// For how long an entry that lives for an hour, or for five minutes, is taken to be there. It is counted from the start
/// of the request, which may be a little before.
const HOUR: Duration = Duration::from_secs(55 * 60);
const FIVE_MINUTES: Duration = Duration::from_secs(4 * 60);

const CANCELLED: &str = "cancelled before it started";
