//! What an agent and its subagents have to do with each other: news and questions go up, money is one purse, and what a
//! subagent may call is less.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use antefix_models::Money;
use antefix_session::conversation::Call;
use antefix_session::event::SessionEvent;
use antefix_session::guard::{Guard, Verdict, View};
use antefix_session::machine::Session;
use antefix_session::record::LaneRecord;
use antefix_session::spend::Spend;
use antefix_tools::hooks::Hooks;
use antefix_tools::{Context, Executor, Task};
use bytes::Bytes;
use tokio::sync::{mpsc, oneshot};

use super::gate::Gate;
use super::{Agent, Choice, Decided, DriverError, Question, Shown, TurnEnd};
use crate::agents::AgentFile;
use crate::provider::Provider;
use crate::store::TranscriptStore;
use crate::subagents::Subagents;

/// A subagent at work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subagent {
    /// Its session.
    pub session: String,
    /// The call that it works for.
    pub call: String,
    /// The agent that was named, if one was.
    pub agent: Option<String>,
    /// Its work in a few words.
    pub description: String,
}

/// What a subagent shows.
#[derive(Debug)]
pub enum SubagentNews {
    /// Something happened in its session.
    Event(SessionEvent),
    /// Something was decided about a call of its.
    Decided(Decided),
}

/// What a session and its subagents have spent, each by its name.
#[derive(Debug, Default)]
pub struct Purse(Mutex<BTreeMap<String, Spend>>);

/// The tools that a subagent may call, of those that it is shown.
#[derive(Clone, Debug, Default)]
pub struct Restriction(Option<AgentFile>);

/// What a subagent sends to the agent it works for.
pub(crate) enum FromSubagent {
    News(Arc<Subagent>, SubagentNews),
    Question(Question, oneshot::Sender<Choice>),
}

/// What subagents get from the agent they work for.
#[derive(Clone)]
pub(crate) struct Parent {
    pub(crate) session: String,
    pub(crate) lane: LaneRecord,
    pub(crate) executor: Executor,
    pub(crate) context: Context,
    pub(crate) provider: Arc<Provider>,
    gate: Option<Arc<Gate>>,
    hooks: Option<Arc<Hooks>>,
    longest_retry_wait: Option<u64>,
    pub(crate) inbox: mpsc::UnboundedSender<FromSubagent>,
}

/// The kin of one agent.
#[derive(Default)]
pub(super) struct Kin {
    pub(super) subagents: Option<mpsc::UnboundedReceiver<FromSubagent>>,
    pub(super) parent: Option<Upward>,
    restriction: Option<Restriction>,
    purse: Option<Arc<Purse>>,
}

/// Where a subagent's questions go.
pub(super) struct Upward {
    subagent: Arc<Subagent>,
    inbox: mpsc::UnboundedSender<FromSubagent>,
}

impl<S: TranscriptStore> Agent<S> {
    /// Has subagents work for this agent: under its policy and its hooks, with its tools and its provider, and out of one purse. To be
    /// called once the agent has its lane and its guard.
    pub fn employ(&mut self, subagents: &Subagents) {
        let conversation = self.session.conversation();
        let Some(lane) = conversation.lane().map(|lane| lane.spec().clone()) else { return };
        let (inbox, receiver) = mpsc::unbounded_channel();
        let mut registry = antefix_tools::Registry::clone(self.executor.registry());
        registry.select(None, &[Task::NAME.to_owned()]);
        subagents.work_for(Parent {
            session: conversation.header().session.clone(),
            lane,
            executor: Executor::new(Arc::new(registry)),
            context: self.context.clone(),
            provider: Arc::clone(&self.provider),
            gate: self.gate.clone(),
            hooks: self.hooks.clone(),
            longest_retry_wait: self.longest_retry_wait,
            inbox,
        });
        self.kin.subagents = Some(receiver);
        self.share(subagents.purse(), subagents.max_cost());
    }

    /// Makes this agent one that works for another.
    pub(crate) fn work_for(&mut self, parent: &Parent, subagent: Arc<Subagent>, restriction: Restriction) {
        self.gate = parent.gate.as_ref().map(|gate| Arc::new(gate.of_subagent(&self.context)));
        self.hooks.clone_from(&parent.hooks);
        self.longest_retry_wait = parent.longest_retry_wait;
        self.kin.restriction = Some(restriction);
        self.kin.parent = Some(Upward { subagent, inbox: parent.inbox.clone() });
    }

    /// Runs the one turn of an agent that works for another. The hooks of what the user says, and of the end of the user's
    /// turn, are not asked: this is neither.
    pub(crate) async fn work(
        &mut self,
        prompt: Bytes,
        interrupts: &mut mpsc::UnboundedReceiver<()>,
        mut show: impl FnMut(Shown<'_>),
    ) -> Result<TurnEnd, DriverError> {
        self.turn(vec![prompt], &[], interrupts, &mut show).await
    }

    /// Spends from a purse with others; nobody makes a request once it has cost `max_cost` in all.
    pub(crate) fn share(&mut self, purse: &Arc<Purse>, max_cost: Option<Money>) {
        if let Some(limit) = max_cost {
            self.session.guards().push(Box::new(SharedBudget { purse: Arc::clone(purse), limit }));
        }
        self.kin.purse = Some(Arc::clone(purse));
        self.kin.spent(&self.session);
    }
}

impl Kin {
    /// The calls that may not even be decided upon, each with the reason, and the others.
    pub(super) fn refuse(&self, calls: Vec<Call>) -> (Vec<(Call, String)>, Vec<Call>) {
        let (mut refused, mut others) = (Vec::new(), Vec::new());
        for call in calls {
            match self
                .restriction
                .as_ref()
                .and_then(|restriction| restriction.refuses(&call.effective().name))
            {
                Some(reason) => refused.push((call, reason)),
                None => others.push(call),
            }
        }
        (refused, others)
    }

    pub(super) fn spent(&self, session: &Session) {
        if let Some(purse) = &self.purse {
            purse.set(&session.conversation().header().session, session.spent());
        }
    }
}

impl Upward {
    pub(super) fn ask(&self, question: Question, reply: oneshot::Sender<Choice>) {
        let who = self.subagent.agent.as_deref().unwrap_or("general");
        let text = format!("subagent {who}: {}", question.text);
        // Without anybody there it is dropped, and so refused.
        drop(self.inbox.send(FromSubagent::Question(Question { text, ..question }, reply)));
    }
}

impl Restriction {
    /// That of an agent, or of the general one.
    pub fn of(agent: Option<AgentFile>) -> Self {
        Self(agent)
    }

    fn refuses(&self, tool: &str) -> Option<String> {
        if tool == Task::NAME {
            return Some(
                "a subagent starts no subagents: do the work yourself, or report what is left".to_owned(),
            );
        }
        // Finding a tool is not yet calling it.
        let agent = self.0.as_ref().filter(|agent| tool != "tool_search" && !agent.may_use(tool))?;
        let allowed = agent.tools.iter().flatten().filter(|tool| agent.may_use(tool));
        let allowed: Vec<&str> = allowed.map(String::as_str).collect();
        let name = &agent.name;
        Some(match (&agent.tools, allowed.as_slice()) {
            (None, _) => format!("the agent `{name}` may not use `{tool}`"),
            (Some(_), []) => format!("the agent `{name}` may use no tools"),
            (Some(_), allowed) => format!("the agent `{name}` may use {} only", allowed.join(", ")),
        })
    }
}

impl Purse {
    /// Notes what a session has spent so far.
    pub fn set(&self, session: &str, spent: Spend) {
        self.lock().insert(session.to_owned(), spent);
    }

    /// What all have spent, but for one session.
    pub fn others(&self, session: &str) -> Spend {
        let mut total = Spend::default();
        for (_, spent) in self.lock().iter().filter(|(name, _)| *name != session) {
            total.add(spent);
        }
        total
    }

    /// How many have spent something, one session aside.
    pub fn count(&self, session: &str) -> usize {
        self.lock().keys().filter(|name| *name != session).count()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Spend>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stops requests once a session and its subagents have cost too much together.
struct SharedBudget {
    purse: Arc<Purse>,
    limit: Money,
}

impl Guard for SharedBudget {
    fn name(&self) -> &'static str {
        "money_budget"
    }

    fn before_request(&self, _: &View) -> Verdict {
        // No session has an empty name: these are all.
        match self.purse.others("").known_cost() {
            Some(cost) if cost < self.limit => Verdict::Go,
            Some(cost) => Verdict::Stop(format!(
                "the session and its subagents have cost ${} of ${}",
                cost.usd(),
                self.limit.usd()
            )),
            None => Verdict::Stop(
                "the session has a money limit and a subagent's model has no known price".to_owned(),
            ),
        }
    }
}

/// The next message of a subagent; waits for ever where there are none.
pub(super) async fn next(subagents: &mut Option<mpsc::UnboundedReceiver<FromSubagent>>) -> FromSubagent {
    let message = match subagents {
        Some(subagents) => subagents.recv().await,
        None => None,
    };
    match message {
        Some(message) => message,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_purse_is_shared() {
        let purse = Arc::new(Purse::default());
        let guard = SharedBudget { purse: Arc::clone(&purse), limit: "0.03".parse().unwrap() };
        let view = View { steps: 0, tokens: antefix_models::Tokens(0), cost: None, refused: 0 };
        let spend = |usd: &str| Spend { cost: usd.parse().unwrap(), ..Spend::default() };
        for (session, spent, expect) in [
            ("parent", spend("0.01"), Verdict::Go),
            ("child", spend("0.01"), Verdict::Go),
            (
                "child",
                spend("0.02"),
                Verdict::Stop("the session and its subagents have cost $0.03 of $0.03".to_owned()),
            ),
            (
                "child",
                Spend { unpriced: 1, ..Spend::default() },
                Verdict::Stop(
                    "the session has a money limit and a subagent's model has no known price".to_owned(),
                ),
            ),
        ] {
            purse.set(session, spent);
            assert_eq!(guard.before_request(&view), expect, "{session} {spent:?}");
        }
        assert_eq!((purse.others("child"), purse.count("parent")), (spend("0.01"), 1));
    }
}
