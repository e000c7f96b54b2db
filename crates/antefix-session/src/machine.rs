//! The session's state machine: events in, commands out, no I/O. Time comes in as an argument.

mod calls;
mod carry;
mod closing;
mod compaction;
mod context;
mod kept;
mod reply;
mod response;
mod settings;
mod step;
mod warm;

pub use compaction::{CompactionSettings, CompactionTexts};
pub use settings::{SessionError, Settings};

use antefix_models::{Money, PriceBook, Rules};
use antefix_prefix::CachePlan;
use antefix_wire::json::Kind;
use bytes::Bytes;

use crate::conversation::{Call, Conversation, next_attempt};
use crate::event::{Command, Event, SessionEvent};
use crate::guard::{Pipeline, View};
use crate::record::{
    AttemptId, AttemptRecord, ContextRecord, EndReason, Entry, LaneRecord, Millis, Origin, Planned, Purpose,
    Record, RecordId, RewindReason,
};
use crate::reminder::neutral_json;
use crate::spend::{Spend, of_conversation};
use calls::{frozen, frozen_blocks};
use compaction::Compacting;
use context::frozen_context;
use step::Step;
use warm::Warmth;

/// One session: a conversation and what it is waiting for.
pub struct Session {
    conversation: Conversation,
    rules: Rules,
    settings: Settings,
    guards: Pipeline,
    state: State,
    interrupted: bool,
    /// Who wants the turn to end once its calls have returned, and why.
    halted: Option<(String, String)>,
    spent: Spend,
    warmth: Warmth,
    /// The provider's own rules keep the request in flight from reading all that was sent before.
    is_limited: bool,
    /// A summary is asked for.
    compacting: Option<Compacting>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// A request will be made again.
    Waiting {
        retries: u32,
    },
    InFlight {
        attempt: AttemptId,
        retries: u32,
    },
    Calling {
        open: Vec<Call>,
    },
    /// There is a summary; how things are now is asked for.
    Refreshing {
        summary: String,
    },
}

impl Session {
    /// Takes up a conversation where its transcript ends. A turn that the transcript leaves open is closed by the
    /// next prompt.
    pub fn new(mut conversation: Conversation, rules: Rules, settings: Settings) -> Self {
        conversation.begin_cache(settings.cache_began);
        let guards = Pipeline::new(settings.limits);
        let spent = of_conversation(&conversation, &settings.prices);
        let warmth = Warmth::default();
        let (state, interrupted, halted, is_limited) = (State::Idle, false, None, false);
        let compacting = None;
        Self {
            conversation,
            rules,
            settings,
            guards,
            state,
            interrupted,
            halted,
            spent,
            warmth,
            is_limited,
            compacting,
        }
    }

    /// What is known of the model.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// What has been said.
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// The guards, to add more.
    pub fn guards(&mut self) -> &mut Pipeline {
        &mut self.guards
    }

    /// What the session has used and cost.
    pub fn spent(&self) -> Spend {
        self.spent
    }

    /// What tokens cost.
    pub fn prices(&self) -> &PriceBook {
        &self.settings.prices
    }

    /// Whether the request in flight is for a summary.
    pub fn is_compacting(&self) -> bool {
        self.compacting.is_some()
    }

    /// Whether no turn is running.
    pub fn is_idle(&self) -> bool {
        self.state == State::Idle
    }

    /// Opens a lane; the records must be appended before anything else. If it is of another dialect than what was
    /// said so far, or for another model, that is closed and said anew. Whenever a conversation changes its lane, a
    /// notice tells what this costs.
    ///
    /// What the head says of the surroundings is the lane's `baseline`; it goes on record with it.
    ///
    /// # Errors
    /// [`SessionError`] while a turn runs, if the head is not a request's, or if its dialect has no such place for
    /// reminders.
    pub fn open_lane(&mut self, lane: LaneRecord, now: Millis) -> Result<Vec<Command>, SessionError> {
        if !self.is_idle() {
            return Err(SessionError::Busy);
        }
        let lane = frozen_lane(lane)?;
        let mut step = Step::default();
        let goes_on = self.conversation.lane().map(|open| lane.takes_words_of(open.spec()));
        if goes_on == Some(false) {
            self.carry_over(&mut step, now)?;
            self.settle_all(&mut step, now)?;
        }
        self.record(&mut step, Record::Lane(lane), now)?;
        match goes_on {
            Some(true) => self.foretell(&mut step, now),
            _ => self.carry_over(&mut step, now)?,
        }
        Ok(step.commands)
    }

    /// Takes one event and says what to do.
    ///
    /// # Errors
    /// [`SessionError`] if the event does not fit the state; nothing has changed then.
    pub fn step(&mut self, event: Event, now: Millis) -> Result<Vec<Command>, SessionError> {
        let mut step = Step::default();
        match event {
            Event::Settle => self.settle_up(&mut step, now)?,
            Event::Prompt { blocks, context } => self.prompt(&mut step, &blocks, context, now)?,
            Event::Note(context) => self.note(&mut step, context, now)?,
            Event::Response { attempt, end } => self.response(&mut step, attempt, end, now)?,
            Event::Due => match self.state {
                State::Waiting { retries } if self.compacting.is_some() => {
                    self.request_summary(&mut step, retries, now)?;
                }
                State::Waiting { retries } => self.request(&mut step, retries, now)?,
                _ => return Err(SessionError::Unexpected("due")),
            },
            Event::WarmDue => self.warm(&mut step, now)?,
            Event::Returned { call, output } => self.returned(&mut step, &call, &output, now)?,
            Event::Decided(permission) => self.decided(&mut step, permission, now)?,
            Event::Interrupt => self.interrupt(&mut step, now)?,
            Event::Halt { guard, text } => self.halt(&mut step, guard, text, now)?,
            Event::Rewind { turn } => self.rewind(&mut step, turn, now)?,
            Event::Compact => self.compact(&mut step, now)?,
            Event::Refreshed(refreshed) => self.refreshed(&mut step, *refreshed, now)?,
        }
        Ok(step.commands)
    }

    fn prompt(
        &mut self,
        step: &mut Step,
        blocks: &[Bytes],
        context: Vec<ContextRecord>,
        now: Millis,
    ) -> Result<(), SessionError> {
        self.can_speak()?;
        let blocks = frozen_blocks("the prompt", blocks)?;
        let context = frozen_context(context)?;
        if let Some((guard, text)) = self.guards.before_turn(&blocks, &self.view()) {
            self.record(step, Record::Decision { guard: guard.to_owned(), text: text.clone() }, now)?;
            step.end(self.conversation.turn() + 1, EndReason::Guard, Some(text));
            return Ok(());
        }
        self.carry_over(step, now)?;
        let results = self.settle(step, now)?;
        // Counted only now: a carry that was cut short had not come to the last turn yet.
        let turn = self.conversation.turn() + 1;
        // What an earlier turn had sent is not answered any more.
        self.warmth = Warmth::default();
        self.record(step, Record::Turn { turn }, now)?;
        step.emit(SessionEvent::TurnStarted { turn });
        self.observe(step, context, now)?;
        self.say(step, Origin::User, results.unwrap_or_default(), blocks, now)?;
        if let Some(outlook) = self.conversation.outlook(&self.rules, &self.settings.prices, now) {
            step.emit(SessionEvent::Forecast(outlook));
        }
        self.request(step, 0, now)
    }

    /// Closes the turn before, as the next prompt would.
    fn settle_up(&mut self, step: &mut Step, now: Millis) -> Result<(), SessionError> {
        self.can_speak()?;
        self.carry_over(step, now)?;
        self.settle(step, now)?;
        Ok(())
    }

    /// Whether the user may say something now.
    fn can_speak(&self) -> Result<(), SessionError> {
        match (self.is_idle(), self.conversation.lane()) {
            (false, _) => Err(SessionError::Busy),
            (true, None) => Err(SessionError::NoLane),
            (true, Some(_)) => Ok(()),
        }
    }

    /// Makes the next request of the turn, unless a guard or the prefix check stops it.
    fn request(&mut self, step: &mut Step, retries: u32, now: Millis) -> Result<(), SessionError> {
        if self.interrupted {
            return self.end_turn(step, EndReason::Interrupted, None, now);
        }
        if let Some((guard, text)) = self.guards.before_request(&self.view()) {
            return self.stop(step, guard, text, now);
        }
        if retries == 0 && self.is_too_long(step, now)? {
            return Ok(());
        }
        self.send_turn(step, retries, now)
    }

    /// Makes that request, unless the prefix check stops it.
    fn send_turn(&mut self, step: &mut Step, retries: u32, now: Millis) -> Result<(), SessionError> {
        let relation = self.conversation.relation().unwrap_or(Planned::First);
        if let (Planned::Allowed(at), false) = (relation, self.settings.allow_break) {
            let text = format!("the request would change position {at} of what was sent; it was not sent");
            return self.stop(step, "prefix", text, now);
        }
        let attempt = self.send(step, Purpose::Turn, relation, now)?;
        self.state = State::InFlight { attempt, retries };
        Ok(())
    }

    /// Composes the request, puts it on record and sends it.
    fn send(
        &mut self,
        step: &mut Step,
        purpose: Purpose,
        relation: Planned,
        now: Millis,
    ) -> Result<AttemptId, SessionError> {
        let plan = self.plan(purpose);
        let body = self.conversation.compose(&plan.markers)?;
        let markers: Vec<_> =
            plan.markers.iter().map(|marker| (marker.position as u64, marker.ttl)).collect();
        let lane = self.conversation.lane().ok_or(SessionError::NoLane)?.record();
        let limits = self.conversation.forecast(&self.rules, now).limits;
        self.is_limited = !limits.is_empty();
        let attempt = next_attempt(&self.conversation);
        let record = AttemptRecord {
            attempt,
            purpose,
            lane,
            markers: markers.clone(),
            positions: self.conversation.positions(),
            digest: body.digest.to_hex().to_string(),
            bytes: body.len,
            relation,
        };
        self.record(step, Record::Attempt(record), now)?;
        self.warmth.begin_anew();
        step.durable();
        step.emit(SessionEvent::RequestStarted {
            attempt,
            bytes: body.len,
            positions: self.conversation.positions(),
            messages: self.conversation.path().len() as u64,
            relation,
            markers,
            limits,
        });
        step.commands.push(Command::Send { attempt, body });
        Ok(attempt)
    }

    /// The cache plan of a request for the conversation as it stands.
    fn plan(&self, purpose: Purpose) -> CachePlan {
        let mut plan = self.conversation.plan(&self.rules);
        if purpose == Purpose::Compaction {
            // Nothing will read what is said beside the conversation again.
            let sent = self.conversation.sent();
            plan.markers.retain(|marker| marker.position < sent);
        }
        plan
    }

    fn stop(&mut self, step: &mut Step, guard: &str, text: String, now: Millis) -> Result<(), SessionError> {
        self.record(step, Record::Decision { guard: guard.to_owned(), text: text.clone() }, now)?;
        self.end_turn(step, EndReason::Guard, Some(text), now)
    }

    fn halt(
        &mut self,
        step: &mut Step,
        guard: String,
        text: String,
        now: Millis,
    ) -> Result<(), SessionError> {
        match self.state {
            State::Idle => {
                self.record(step, Record::Decision { guard, text: text.clone() }, now)?;
                step.end(self.conversation.turn() + 1, EndReason::Guard, Some(text));
            }
            State::Waiting { .. } if self.compacting.is_none() => return self.stop(step, &guard, text, now),
            // The first reason counts.
            _ => {
                self.halted.get_or_insert((guard, text));
            }
        }
        Ok(())
    }

    fn interrupt(&mut self, step: &mut Step, now: Millis) -> Result<(), SessionError> {
        match self.state {
            State::Idle => return Ok(()),
            State::Waiting { .. } if self.compacting.is_some() => {
                self.interrupted = true;
                return self.give_up(step, INTERRUPTED.to_owned(), now);
            }
            State::Waiting { .. } => return self.end_turn(step, EndReason::Interrupted, None, now),
            State::InFlight { .. } => step.commands.push(Command::StopRequest),
            State::Calling { .. } => step.commands.push(Command::StopCalls),
            State::Refreshing { .. } => {}
        }
        self.interrupted = true;
        Ok(())
    }

    fn rewind(&mut self, step: &mut Step, turn: u64, now: Millis) -> Result<(), SessionError> {
        if !self.is_idle() {
            return Err(SessionError::Busy);
        }
        self.carry_over(step, now)?;
        let target = self.conversation.before_turn(turn).ok_or(SessionError::NoTurn(turn))?;
        self.go_back(step, target, RewindReason::User, now)?;
        step.durable();
        Ok(())
    }

    fn end_turn(
        &mut self,
        step: &mut Step,
        reason: EndReason,
        message: Option<String>,
        now: Millis,
    ) -> Result<(), SessionError> {
        let turn = self.conversation.turn();
        self.state = State::Idle;
        self.interrupted = false;
        self.halted = None;
        self.record(step, Record::End { turn, reason }, now)?;
        step.durable();
        step.end(turn, reason, message);
        Ok(())
    }

    fn view(&self) -> View {
        let counts = &self.spent.counts;
        let cost: Option<Money> = self.spent.known_cost();
        let refused = self.conversation.refused_in_a_row();
        View { steps: self.conversation.steps(), tokens: counts.prompt() + counts.output, cost, refused }
    }

    fn record(&mut self, step: &mut Step, record: Record, now: Millis) -> Result<(), SessionError> {
        let parent = self.conversation.head();
        self.append(step, Entry { id: RecordId(parent.0 + 1), parent, at: now, record })
    }

    fn append(&mut self, step: &mut Step, entry: Entry) -> Result<(), SessionError> {
        self.conversation.apply(&entry)?;
        step.append(entry);
        Ok(())
    }
}

fn frozen_lane(lane: LaneRecord) -> Result<LaneRecord, SessionError> {
    if !lane.reminders.is_in(lane.dialect) {
        return Err(SessionError::Misplaced(lane.reminders.name(), lane.dialect.name()));
    }
    Ok(LaneRecord {
        envelope: frozen("the envelope", &lane.envelope, Kind::Object)?,
        tools: neutral_json(&frozen("the tools", &lane.tools, Kind::Array)?),
        system: neutral_json(&frozen("the system prompt", &lane.system, Kind::Array)?),
        baseline: frozen_context(lane.baseline)?,
        ..lane
    })
}

/// Why something came to nothing that the user has stopped.
const INTERRUPTED: &str = "it was interrupted";
