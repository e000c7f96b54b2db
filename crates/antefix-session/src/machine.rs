//! The session's state machine: events in, commands out, no I/O. Time comes in as an argument.

mod reply;

use antefix_models::{Money, Rules, Tokens};
use bytes::Bytes;

use crate::closure::{self, Closing, closing};
use crate::conversation::{ApplyError, Call, Conversation, next_attempt};
use crate::event::{Command, Event, RequestReport, ResponseEnd, ResponseFacts, Returned, SessionEvent};
use crate::guard::{Limits, Pipeline, View};
use crate::record::{
    AttemptId, AttemptRecord, EndReason, Entry, LaneRecord, MessageContent, MessageRecord, Millis, Origin,
    OutcomeRecord, Planned, Purpose, Record, RecordId, ResultRecord, RewindReason,
};
use crate::spend::{Spend, spend};

/// What a session keeps to.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Limits of the built-in guards.
    pub limits: Limits,
    /// How often a request is made again before the turn fails.
    pub retries: u32,
    /// Whether a request may be sent that neither extends nor branches from an earlier one as planned.
    pub allow_break: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { limits: Limits::default(), retries: 6, allow_break: false }
    }
}

/// An event that does not fit the session's state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// A turn is running; wait for its end or interrupt it.
    #[error("a turn is still running")]
    Busy,
    /// No lane is open; open one first.
    #[error("the session has no lane yet")]
    NoLane,
    /// The event answers something that was not asked.
    #[error("`{0}` was not asked for")]
    Unexpected(&'static str),
    /// There is no such turn to go back to.
    #[error("there is no turn {0}")]
    NoTurn(u64),
    /// A record does not fit; the transcript or the code that made it is at fault.
    #[error(transparent)]
    Apply(#[from] ApplyError),
}

/// One session: a conversation and what it is waiting for.
pub struct Session {
    conversation: Conversation,
    rules: Rules,
    settings: Settings,
    guards: Pipeline,
    state: State,
    interrupted: bool,
    spent: Spend,
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
}

/// Commands of one step, in order.
#[derive(Default)]
struct Step {
    commands: Vec<Command>,
}

impl Session {
    /// Takes up a conversation where its transcript ends. A turn that the transcript leaves open is closed by the
    /// next prompt.
    pub fn new(conversation: Conversation, rules: Rules, settings: Settings) -> Self {
        let guards = Pipeline::new(settings.limits);
        let mut spent = Spend::default();
        for attempt in conversation.attempts() {
            spent.add(&spend_of(&conversation, attempt));
        }
        Self { conversation, rules, settings, guards, state: State::Idle, interrupted: false, spent }
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

    /// Whether no turn is running.
    pub fn is_idle(&self) -> bool {
        self.state == State::Idle
    }

    /// Opens a lane; the records must be appended before anything else.
    ///
    /// # Errors
    /// [`SessionError`] while a turn runs, or if the head is not a request's.
    pub fn open_lane(&mut self, lane: LaneRecord, now: Millis) -> Result<Vec<Command>, SessionError> {
        if !self.is_idle() {
            return Err(SessionError::Busy);
        }
        let mut step = Step::default();
        self.record(&mut step, Record::Lane(lane), now)?;
        Ok(step.commands)
    }

    /// Takes one event and says what to do.
    ///
    /// # Errors
    /// [`SessionError`] if the event does not fit the state; nothing has changed then.
    pub fn step(&mut self, event: Event, now: Millis) -> Result<Vec<Command>, SessionError> {
        let mut step = Step::default();
        match event {
            Event::Prompt(blocks) => self.prompt(&mut step, &blocks, now)?,
            Event::Response { attempt, end } => self.response(&mut step, attempt, end, now)?,
            Event::Due => match self.state {
                State::Waiting { retries } => self.request(&mut step, retries, now)?,
                _ => return Err(SessionError::Unexpected("due")),
            },
            Event::Returned { call, output } => self.returned(&mut step, &call, output, now)?,
            Event::Interrupt => self.interrupt(&mut step, now)?,
            Event::Rewind { turn } => self.rewind(&mut step, turn, now)?,
        }
        Ok(step.commands)
    }

    fn prompt(&mut self, step: &mut Step, blocks: &[Bytes], now: Millis) -> Result<(), SessionError> {
        if !self.is_idle() {
            return Err(SessionError::Busy);
        }
        if self.conversation.lane().is_none() {
            return Err(SessionError::NoLane);
        }
        self.interrupted = false;
        let turn = self.conversation.turn() + 1;
        if let Some((guard, text)) = self.guards.before_turn(blocks, &self.view()) {
            self.record(step, Record::Decision { guard: guard.to_owned(), text: text.clone() }, now)?;
            step.end(turn, EndReason::Guard, Some(text));
            return Ok(());
        }
        let origin_content = self.close_turn(step, blocks, now)?;
        self.record(step, Record::Turn { turn }, now)?;
        step.emit(SessionEvent::TurnStarted { turn });
        self.record(step, Record::Message(origin_content), now)?;
        self.request(step, 0, now)
    }

    /// Closes the turn before, per the turn-closure table, and gives the user's next message.
    fn close_turn(
        &mut self,
        step: &mut Step,
        blocks: &[Bytes],
        now: Millis,
    ) -> Result<MessageRecord, SessionError> {
        match closing(&self.conversation.tail()) {
            Closing::Nothing => {}
            Closing::Reply(fragment) => {
                let content = MessageContent::Fragment(fragment);
                self.record(step, Record::Message(MessageRecord { origin: Origin::Closure, content }), now)?;
            }
            Closing::Results(open) => {
                for call in open {
                    let fragment = closure::text_result(&call.id, closure::NOT_RUN, true);
                    self.record(
                        step,
                        Record::Result(result(&call, true, fragment, Bytes::from_static(b"[]"))),
                        now,
                    )?;
                }
                let content =
                    MessageContent::Results { results: self.conversation.pending(), blocks: blocks.to_vec() };
                return Ok(MessageRecord { origin: Origin::User, content });
            }
        }
        let content = MessageContent::Fragment(closure::message("user", blocks));
        Ok(MessageRecord { origin: Origin::User, content })
    }

    /// Makes the next request of the turn, unless a guard or the prefix check stops it.
    fn request(&mut self, step: &mut Step, retries: u32, now: Millis) -> Result<(), SessionError> {
        if self.interrupted {
            return self.end_turn(step, EndReason::Interrupted, None, now);
        }
        if let Some((guard, text)) = self.guards.before_request(&self.view()) {
            return self.stop(step, guard, text, now);
        }
        let relation = match self.conversation.relation() {
            None => Planned::First,
            Some(Planned::Allowed(at)) if !self.settings.allow_break => {
                let text =
                    format!("the request would change position {at} of what was sent; it was not sent");
                return self.stop(step, "prefix", text, now);
            }
            Some(relation) => relation,
        };
        let plan = self.conversation.plan(&self.rules);
        let body = self.conversation.compose(&plan.markers)?;
        let markers: Vec<_> =
            plan.markers.iter().map(|marker| (marker.position as u64, marker.ttl)).collect();
        let lane = self.conversation.lane().ok_or(SessionError::NoLane)?.record();
        let attempt = next_attempt(&self.conversation);
        let record = AttemptRecord {
            attempt,
            purpose: Purpose::Turn,
            lane,
            markers: markers.clone(),
            positions: self.conversation.positions(),
            digest: body.digest.to_hex().to_string(),
            bytes: body.len,
            relation,
        };
        self.record(step, Record::Attempt(record), now)?;
        step.durable();
        step.emit(SessionEvent::RequestStarted {
            attempt,
            bytes: body.len,
            positions: self.conversation.positions(),
            messages: self.conversation.path().len() as u64,
            relation,
            markers,
        });
        step.commands.push(Command::Send { attempt, body });
        self.state = State::InFlight { attempt, retries };
        Ok(())
    }

    fn stop(&mut self, step: &mut Step, guard: &str, text: String, now: Millis) -> Result<(), SessionError> {
        self.record(step, Record::Decision { guard: guard.to_owned(), text: text.clone() }, now)?;
        self.end_turn(step, EndReason::Guard, Some(text), now)
    }

    fn response(
        &mut self,
        step: &mut Step,
        attempt: AttemptId,
        end: ResponseEnd,
        now: Millis,
    ) -> Result<(), SessionError> {
        let retries = match self.state {
            State::InFlight { attempt: expected, retries } if expected == attempt => retries,
            _ => return Err(SessionError::Unexpected("response")),
        };
        let outcome = OutcomeRecord { attempt, ..OutcomeRecord::default() };
        match end {
            ResponseEnd::Message { message, response, cut } => {
                self.reply(step, *message, response, cut, retries, now)
            }
            ResponseEnd::Rejected { response, kind, message, retry_after } => {
                let status = response.status;
                let error = format!("{status} {kind}: {message}");
                self.outcome(step, with_facts(outcome, response, Some(error.clone())), now)?;
                if is_retryable(status) {
                    return self.retry(step, retries, error, retry_after, now);
                }
                self.go_back(step, self.conversation.before_last_message(), RewindReason::Rejected, now)?;
                self.end_turn(step, EndReason::Rejected, Some(error), now)
            }
            ResponseEnd::Unreachable { error, retryable } => {
                self.outcome(step, OutcomeRecord { error: Some(error.clone()), ..outcome }, now)?;
                if retryable {
                    return self.retry(step, retries, error, None, now);
                }
                self.end_turn(step, EndReason::Failed, Some(error), now)
            }
        }
    }

    fn retry(
        &mut self,
        step: &mut Step,
        retries: u32,
        reason: String,
        retry_after: Option<u64>,
        now: Millis,
    ) -> Result<(), SessionError> {
        if self.interrupted {
            return self.end_turn(step, EndReason::Interrupted, None, now);
        }
        if retries >= self.settings.retries {
            return self.end_turn(step, EndReason::Failed, Some(reason), now);
        }
        let attempt = AttemptId(self.conversation.attempts().len() as u64);
        let wait = retry_after.unwrap_or_else(|| backoff(retries));
        step.emit(SessionEvent::Retrying { attempt, reason, wait });
        step.commands.push(Command::Wait(Millis(now.0 + wait)));
        self.state = State::Waiting { retries: retries + 1 };
        Ok(())
    }

    fn returned(
        &mut self,
        step: &mut Step,
        call: &str,
        output: Returned,
        now: Millis,
    ) -> Result<(), SessionError> {
        let State::Calling { open } = &mut self.state else {
            return Err(SessionError::Unexpected("returned"));
        };
        let index =
            open.iter().position(|known| known.id == call).ok_or(SessionError::Unexpected("returned"))?;
        let call = open.remove(index);
        let done = open.is_empty();
        let fragment = closure::tool_result(&call.id, &output.content, output.is_error);
        let text = text_of(&output.content);
        self.record(step, Record::Result(result(&call, output.is_error, fragment, output.facts)), now)?;
        step.emit(SessionEvent::CallFinished { call, is_error: output.is_error, text });
        if !done {
            return Ok(());
        }
        if self.interrupted {
            return self.end_turn(step, EndReason::Interrupted, None, now);
        }
        if let Some((guard, text)) = self.guards.before_request(&self.view()) {
            // The results stay unsealed and lead the next message of the user.
            return self.stop(step, guard, text, now);
        }
        let content = MessageContent::Results { results: self.conversation.pending(), blocks: Vec::new() };
        self.record(step, Record::Message(MessageRecord { origin: Origin::Results, content }), now)?;
        self.request(step, 0, now)
    }

    fn interrupt(&mut self, step: &mut Step, now: Millis) -> Result<(), SessionError> {
        match self.state {
            State::Idle => return Ok(()),
            State::Waiting { .. } => return self.end_turn(step, EndReason::Interrupted, None, now),
            State::InFlight { .. } => step.commands.push(Command::StopRequest),
            State::Calling { .. } => step.commands.push(Command::StopCalls),
        }
        self.interrupted = true;
        Ok(())
    }

    fn rewind(&mut self, step: &mut Step, turn: u64, now: Millis) -> Result<(), SessionError> {
        if !self.is_idle() {
            return Err(SessionError::Busy);
        }
        let target =
            self.conversation.before_turn(turn).filter(|_| turn > 0).ok_or(SessionError::NoTurn(turn))?;
        self.go_back(step, Some(target), RewindReason::User, now)?;
        step.durable();
        Ok(())
    }

    fn go_back(
        &mut self,
        step: &mut Step,
        to: Option<RecordId>,
        reason: RewindReason,
        now: Millis,
    ) -> Result<(), SessionError> {
        let parent = to.unwrap_or_else(|| self.conversation.head());
        let id = RecordId(self.conversation.head().0 + 1);
        self.append(step, Entry { id, parent, at: now, record: Record::Rewind { reason } })
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
        self.record(step, Record::End { turn, reason }, now)?;
        step.durable();
        step.end(turn, reason, message);
        Ok(())
    }

    fn outcome(&mut self, step: &mut Step, outcome: OutcomeRecord, now: Millis) -> Result<(), SessionError> {
        let id = outcome.attempt;
        let expected_read = self.conversation.expects_read();
        self.record(step, Record::Outcome(outcome), now)?;
        let Some(attempt) =
            self.conversation.attempts().iter().rev().find(|known| known.attempt.attempt == id)
        else {
            return Ok(());
        };
        let spend = spend_of(&self.conversation, attempt);
        self.spent.add(&spend);
        let Some((_, outcome)) = &attempt.outcome else { return Ok(()) };
        if outcome.status == Some(200) {
            step.emit(SessionEvent::RequestFinished(Box::new(RequestReport {
                attempt: id,
                status: 200,
                counts: outcome.usage.is_some().then_some(spend.counts),
                cost: spend.known_cost(),
                total: self.spent.counts,
                total_cost: self.spent.known_cost(),
                expected_read,
                stop_reason: outcome.stop_reason.clone(),
            })));
        }
        Ok(())
    }

    fn view(&self) -> View {
        let counts = &self.spent.counts;
        let cost: Option<Money> = self.spent.known_cost();
        View { steps: self.conversation.steps(), tokens: Tokens(counts.prompt().0 + counts.output.0), cost }
    }

    fn record(&mut self, step: &mut Step, record: Record, now: Millis) -> Result<(), SessionError> {
        let parent = self.conversation.head();
        self.append(step, Entry { id: RecordId(parent.0 + 1), parent, at: now, record })
    }

    fn append(&mut self, step: &mut Step, entry: Entry) -> Result<(), SessionError> {
        self.conversation.apply(&entry)?;
        match step.commands.last_mut() {
            Some(Command::Append { entries, .. }) => entries.push(entry),
            _ => step.commands.push(Command::Append { entries: vec![entry], durable: false }),
        }
        Ok(())
    }
}

impl Step {
    fn emit(&mut self, event: SessionEvent) {
        self.commands.push(Command::Emit(event));
    }

    fn end(&mut self, turn: u64, reason: EndReason, message: Option<String>) {
        self.emit(SessionEvent::TurnEnded { turn, reason, message });
    }

    /// Makes what was appended so far survive a loss of power before anything further is done.
    fn durable(&mut self) {
        match self.commands.iter_mut().rev().find(|command| matches!(command, Command::Append { .. })) {
            Some(Command::Append { durable, .. }) => *durable = true,
            _ => self.commands.push(Command::Append { entries: Vec::new(), durable: true }),
        }
    }
}

/// Whether a request with that status may be answered when it is made again.
///
/// Source: the official SDKs of November 2026 retry 408, 409, 429 and 5xx.
fn is_retryable(status: u16) -> bool {
    matches!(status, 408 | 409 | 429) || status >= 500
}

/// Milliseconds until the next try: half a second, doubled each time, at most half a minute.
fn backoff(retries: u32) -> u64 {
    500 << retries.min(6)
}

fn spend_of(conversation: &Conversation, attempt: &crate::conversation::Attempt) -> Spend {
    match conversation.lane_of(attempt) {
        Some(lane) => spend(attempt, lane.spec().platform, &lane.spec().model),
        None => Spend::default(),
    }
}

fn with_facts(outcome: OutcomeRecord, response: ResponseFacts, error: Option<String>) -> OutcomeRecord {
    OutcomeRecord {
        status: Some(response.status),
        request_id: response.request_id,
        first_byte: response.first_byte,
        quota: response.quota,
        error,
        ..outcome
    }
}

fn result(call: &Call, is_error: bool, fragment: Bytes, facts: Bytes) -> ResultRecord {
    ResultRecord { call: call.id.clone(), tool: call.name.clone(), is_error, fragment, facts }
}

/// The text of content blocks, for the screen.
fn text_of(content: &[Bytes]) -> String {
    let mut text = String::new();
    for block in content {
        let Ok(body) = antefix_wire::json::Body::parse(block.to_vec()) else { continue };
        if let Some(part) = body.root().get("text").and_then(antefix_wire::json::Node::str) {
            text.push_str(&part);
        }
    }
    text
}
