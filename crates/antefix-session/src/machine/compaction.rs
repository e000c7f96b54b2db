//! Goes on from a summary: asks the model for one beside the conversation, then says the conversation anew behind a
//! new head.
//!
//! The request for the summary extends what was sent, so that it reads the cache; what asks for it and what answers it
//! is not part of the conversation, which goes back behind it. All of the new epoch is one record.

mod anew;
mod forecast;
mod settings;

pub use settings::{CompactionSettings, CompactionTexts};

use antefix_models::Tokens;
use antefix_wire::assemble::{Assembled, StopReason};
use bytes::Bytes;

use super::calls::{frozen_blocks, result};
use super::reply::{failure, outcome_of};
use super::response::with_facts;
use super::{INTERRUPTED, Session, SessionError, State, Step, frozen_lane};
use crate::closure::text_block;
use crate::conversation::{COMPACTION, Message, Tail};
use crate::event::{Command, Refreshed, ResponseEnd, SessionEvent};
use crate::guard::View;
use crate::record::{
    AttemptId, CompactRecord, EndReason, Forecast, LaneRecord, MessageContent, Millis, Origin, OutcomeRecord,
    Planned, Purpose, Record, RecordId, RewindReason, Saying, TooLong, Trigger,
};
use crate::reminder::neutral;
use anew::{Anew, has_no_results, text_of};
use forecast::ASKING;
use settings::Room;

/// A compaction on its way.
pub(super) struct Compacting {
    trigger: Trigger,
    forecast: Forecast,
    /// The turn that goes on behind it, if one does.
    goes_on: Option<u64>,
    /// The longest prompt that is tried.
    room: Tokens,
    /// The model has been told once that a summary is wanted, and nothing else.
    is_told: bool,
}

impl Session {
    /// Goes on from a summary because the user says so.
    pub(super) fn compact(&mut self, step: &mut Step, now: Millis) -> Result<(), SessionError> {
        if !self.is_idle() {
            return Err(SessionError::Busy);
        }
        if self.conversation.lane().is_none() {
            return Err(SessionError::NoLane);
        }
        self.carry_over(step, now)?;
        self.settle_all(step, now)?;
        let is_begun = self.conversation.path().len() > 0;
        if !is_begun || self.conversation.is_fresh() {
            let since = if is_begun { "since the last summary" } else { "yet" };
            let failure = Some(format!("nothing has been said {since}"));
            step.emit(SessionEvent::CompactionEnded {
                tokens: self.conversation.estimated_tokens(),
                failure,
            });
            return Ok(());
        }
        self.begin(step, Trigger::Command, None, now)
    }

    /// The share of the window, in tokens, that is too small to be kept to, and what is kept to in its place; `None` where
    /// the share holds.
    pub fn raised_share(&self) -> Option<(Tokens, Tokens)> {
        self.room().ok()?.raised()
    }

    /// Whether the next request is too long to be made as it is: then a summary is asked for, or, where that has led
    /// to nothing, the turn is over.
    pub(super) fn is_too_long(&mut self, step: &mut Step, now: Millis) -> Result<bool, SessionError> {
        let room = self.room()?;
        let tokens = self.conversation.estimated_tokens();
        let is_reply = self.conversation.tail() != Tail::Unanswered;
        if is_reply || room.threshold.is_none_or(|threshold| tokens < threshold) {
            return Ok(false);
        }
        if tokens < room.limit {
            // Where there is room, a summary that saves next to nothing is not paid for.
            let forecast = self.compaction_forecast(&room, now)?;
            if saves_too_little(forecast.before, forecast.after) {
                return Ok(false);
            }
        }
        if !self.conversation.is_fresh() && self.conversation.failed_compactions() < MOST_FAILURES {
            let turn = self.conversation.turn();
            self.begin(step, Trigger::Share, Some(turn), now)?;
            return Ok(true);
        }
        if self.fits(&room) {
            return Ok(false);
        }
        let text = format!(
            "the prompt is about {tokens} tokens long, which leaves no room for a reply in the context window of {}, and no summary could be made of it; go back with --rewind, or start a new session",
            room.window
        );
        self.end_turn(step, EndReason::WindowExceeded, Some(text), now)?;
        Ok(true)
    }

    /// The context window as far as it is known: told by the provider, or set, or the model's.
    pub(super) fn window(&self) -> Tokens {
        self.own_window().unwrap_or(self.rules.context_window)
    }

    /// The context window where it is another than the model's.
    fn own_window(&self) -> Option<Tokens> {
        self.conversation.learned_window().or(self.settings.compaction.window)
    }

    /// Whether a summary is asked for because the provider has found the request too long, where one may be made
    /// unasked. `known` is what the window was taken for before it said so. That is no longer a surprise then: what it
    /// has said of its window is on record.
    pub(super) fn is_shortened(
        &mut self,
        step: &mut Step,
        too_long: TooLong,
        known: Tokens,
        now: Millis,
    ) -> Result<bool, SessionError> {
        if Tokens(too_long.window) != known {
            let text = format!(
                "the provider takes prompts of up to {} tokens, not of {known}; the session keeps to that from now on",
                too_long.window
            );
            step.emit(SessionEvent::Notice(text));
        }
        let Some(threshold) = self.room()?.threshold else { return Ok(false) };
        // What is too long then is the reply that was asked for.
        let is_short = too_long.tokens.is_some_and(|tokens| Tokens(tokens) < threshold);
        // What is refused behind a summary, or after one came to nothing, would be refused behind another one as well.
        let is_tried =
            self.conversation.is_unanswered_since_compaction() || self.conversation.failed_compactions() > 0;
        if is_short || is_tried {
            return Ok(false);
        }
        let turn = self.conversation.turn();
        self.begin(step, Trigger::Share, Some(turn), now)?;
        Ok(true)
    }

    /// Takes the end of the request for a summary.
    pub(super) fn summary_response(
        &mut self,
        step: &mut Step,
        attempt: AttemptId,
        end: ResponseEnd,
        retries: u32,
        now: Millis,
    ) -> Result<(), SessionError> {
        let outcome = OutcomeRecord { attempt, ..OutcomeRecord::default() };
        match end {
            ResponseEnd::Message { message, response, cut } => {
                let failed = failure(&message, cut, self.lane()?);
                self.outcome(step, outcome_of(&message, response, failed.clone(), attempt), now)?;
                match failed {
                    Some(reason) => self.retry(step, retries, reason, None, now),
                    None => self.summary(step, &message, now),
                }
            }
            ResponseEnd::Rejected { response, kind, message, retry_after } => {
                let status = response.status;
                let error = format!("{status} {kind}: {message}");
                let outcome = with_facts(outcome, response, Some(error.clone()));
                let is_final = outcome.leaves_behind().is_some();
                self.outcome(step, outcome, now)?;
                match status {
                    _ if !is_final => self.retry(step, retries, error, retry_after, now),
                    400 | 413 => self.ask_for_less(step, error, now),
                    _ => self.give_up(step, error, now),
                }
            }
            ResponseEnd::Unreachable { error, retryable } => {
                self.outcome(step, OutcomeRecord { error: Some(error.clone()), ..outcome }, now)?;
                if retryable {
                    self.retry(step, retries, error, None, now)
                } else {
                    self.give_up(step, error, now)
                }
            }
        }
    }

    /// Makes the request for the summary.
    pub(super) fn request_summary(
        &mut self,
        step: &mut Step,
        retries: u32,
        now: Millis,
    ) -> Result<(), SessionError> {
        if self.interrupted {
            return self.give_up(step, INTERRUPTED.to_owned(), now);
        }
        // It is no step of the turn.
        let view = View { steps: 0, ..self.view() };
        if let Some((_, text)) = self.guards.before_request(&view) {
            return self.give_up(step, text, now);
        }
        let relation = self.conversation.relation().unwrap_or(Planned::First);
        if let (Planned::Allowed(at), false) = (relation, self.settings.allow_break) {
            let text = format!("the request for it would change position {at} of what was sent");
            return self.give_up(step, text, now);
        }
        let attempt = self.send(step, Purpose::Compaction, relation, now)?;
        self.state = State::InFlight { attempt, retries };
        Ok(())
    }

    /// Goes on as if no summary had been asked for.
    pub(super) fn give_up(&mut self, step: &mut Step, why: String, now: Millis) -> Result<(), SessionError> {
        let Some(compacting) = self.compacting.take() else { return Ok(()) };
        if let Some(source) = self.conversation.aside() {
            self.go_back(step, source, RewindReason::Compaction, now)?;
        }
        if !self.interrupted {
            self.record(step, Record::Decision { guard: COMPACTION.to_owned(), text: why.clone() }, now)?;
        }
        let tokens = self.conversation.estimated_tokens();
        step.emit(SessionEvent::CompactionEnded { tokens, failure: Some(why) });
        if compacting.goes_on.is_none() {
            self.rest(step);
            return Ok(());
        }
        if self.interrupted {
            return self.end_turn(step, EndReason::Interrupted, None, now);
        }
        // What still fits is said without a summary; the next request tries again.
        if self.fits(&self.room()?) { self.send_turn(step, 0, now) } else { self.request(step, 0, now) }
    }

    /// Goes on behind the head that was asked for.
    pub(super) fn refreshed(
        &mut self,
        step: &mut Step,
        refreshed: Refreshed,
        now: Millis,
    ) -> Result<(), SessionError> {
        let unexpected = SessionError::Unexpected("refreshed");
        let lane = frozen_lane(refreshed.lane)?;
        let blocks = frozen_blocks("the state of things", &refreshed.state)?;
        let State::Refreshing { summary } = &self.state else { return Err(unexpected) };
        let summary = summary.clone();
        let Some(compacting) = &self.compacting else { return Err(unexpected) };
        if lane.dialect != self.conversation.dialect() {
            return Err(unexpected);
        }
        if self.interrupted {
            return self.give_up(step, INTERRUPTED.to_owned(), now);
        }
        let messages = self.said_anew(compacting, &summary, &blocks)?;
        let (before, after) = (compacting.forecast.before, self.length_of(&lane, &messages));
        if compacting.trigger == Trigger::Share && saves_too_little(before, after) {
            let why = format!(
                "with its summary the prompt would be about {after} tokens long, and it is {before} now"
            );
            return self.give_up(step, why, now);
        }
        let (trigger, forecast, goes_on) = (compacting.trigger, compacting.forecast, compacting.goes_on);
        self.compacting = None;
        let record = CompactRecord { trigger, forecast, lane, messages };
        self.record(step, Record::Compact(Box::new(record)), now)?;
        let tokens = self.conversation.estimated_tokens();
        step.emit(SessionEvent::CompactionEnded { tokens, failure: None });
        if goes_on.is_some() {
            self.offer_anew(step, now)?;
            return self.request(step, 0, now);
        }
        self.rest(step);
        Ok(())
    }

    fn begin(
        &mut self,
        step: &mut Step,
        trigger: Trigger,
        goes_on: Option<u64>,
        now: Millis,
    ) -> Result<(), SessionError> {
        let room = self.room()?;
        let forecast = self.compaction_forecast(&room, now)?;
        step.emit(SessionEvent::CompactionStarted { trigger, forecast, window: room.window });
        self.compacting = Some(Compacting { trigger, forecast, goes_on, room: room.limit, is_told: false });
        self.ask(step, now)
    }

    /// Asks for the summary, of as much as leaves room for it.
    fn ask(&mut self, step: &mut Step, now: Millis) -> Result<(), SessionError> {
        let room = self.compacting.as_ref().map_or(Tokens::ZERO, |compacting| compacting.room);
        if self.conversation.aside().is_some() || self.conversation.estimated_tokens() + ASKING > room {
            let Some(last) = self.last_that_fits(room) else {
                return self.give_up(
                    step,
                    "no part of the conversation leaves room for a summary".to_owned(),
                    now,
                );
            };
            self.go_back(step, last, RewindReason::Cut, now)?;
        }
        let (dialect, texts) = (self.conversation.dialect(), self.settings.compaction.texts);
        let last = self.conversation.path().rfind(|message| !message.is_reminder());
        if last.is_some_and(Message::is_user) {
            self.aside(step, dialect.reply(&[text_block(texts.pause)]), now)?;
        }
        self.aside(step, dialect.user_message(&[text_block(texts.ask)]), now)?;
        self.request_summary(step, 0, now)
    }

    /// Asks again, of a shorter part: the provider found the request too long.
    fn ask_for_less(&mut self, step: &mut Step, why: String, now: Millis) -> Result<(), SessionError> {
        let tokens = self.conversation.estimated_tokens();
        let Some(compacting) = &mut self.compacting else { return Ok(()) };
        let room = Tokens(compacting.room.0.min(tokens.0) / 4 * 3);
        compacting.room = room;
        if self.last_that_fits(room).is_none() {
            return self.give_up(step, why, now);
        }
        self.ask(step, now)
    }

    /// The last record up to which the conversation, with what asks for a summary, fits into `room`, all its calls
    /// answered.
    fn last_that_fits(&self, room: Tokens) -> Option<RecordId> {
        let head = self.conversation.lane()?.positions();
        let path = self.conversation.path_without_aside();
        let known = self.conversation.positions() as usize;
        let mut found = None;
        for (index, message) in path.iter().enumerate() {
            let end = head + message.end_position();
            if end > known || self.conversation.estimated_up_to(end) + ASKING > room {
                break;
            }
            // One cannot go back to a place within a record; and results may stand one by one.
            let is_last = path
                .get(index + 1)
                .is_none_or(|next| next.record() != message.record() && has_no_results(next));
            if message.calls().is_empty() && is_last {
                found = Some(message.record());
            }
        }
        found
    }

    /// Takes the reply that should be the summary.
    fn summary(&mut self, step: &mut Step, message: &Assembled, now: Millis) -> Result<(), SessionError> {
        let stop = message.stop().unwrap_or(StopReason::EndTurn);
        match stop {
            StopReason::Refusal => {
                return self.give_up(step, "the model refused to write it".to_owned(), now);
            }
            StopReason::WindowExceeded => {
                return self.ask_for_less(step, "the context window is full".to_owned(), now);
            }
            _ => {}
        }
        let kept = self.kept(message, true)?;
        let reply = self.conversation.dialect().reply(&kept.blocks);
        let mut summary = text_of(&self.conversation.dialect().usable(message));
        if stop == StopReason::OutputLimit && !summary.is_empty() {
            summary = format!("{summary}\n\n{}", self.settings.compaction.texts.cut);
        }
        let is_told = self.compacting.as_ref().is_none_or(|compacting| compacting.is_told);
        let calls = self.conversation.dialect().read(&reply).is_ok_and(|reply| !reply.calls.is_empty());
        if !is_told && (calls || summary.is_empty()) {
            if calls {
                self.refuse_calls(step, reply, now)?;
            }
            self.compacting.iter_mut().for_each(|compacting| compacting.is_told = true);
            return self.request_summary(step, 0, now);
        }
        let summary = neutral(&summary).into_owned();
        if summary.is_empty() {
            return self.give_up(step, "the model wrote none".to_owned(), now);
        }
        self.state = State::Refreshing { summary };
        step.commands.push(Command::Refresh);
        Ok(())
    }

    /// Records the reply beside the conversation, and an error for each call in it.
    fn refuse_calls(&mut self, step: &mut Step, reply: Bytes, now: Millis) -> Result<(), SessionError> {
        self.aside(step, reply, now)?;
        let dialect = self.conversation.dialect();
        let calls =
            self.conversation.path().next_back().map(|last| last.calls().to_vec()).unwrap_or_default();
        let text = text_block(self.settings.compaction.texts.no_tools);
        for call in &calls {
            let fragment = dialect.result(&call.id, std::slice::from_ref(&text), true);
            self.record(step, Record::Result(result(call, true, fragment, Bytes::from_static(b"[]"))), now)?;
        }
        let results = self.conversation.pending();
        let content = MessageContent::Results { results, inside: Vec::new(), blocks: Vec::new() };
        self.message(step, Origin::Aside, content, now)
    }

    fn aside(&mut self, step: &mut Step, fragment: Bytes, now: Millis) -> Result<(), SessionError> {
        self.message(step, Origin::Aside, MessageContent::Fragment(fragment), now)
    }

    fn said_anew(
        &self,
        compacting: &Compacting,
        summary: &str,
        state: &[Bytes],
    ) -> Result<Vec<Saying>, SessionError> {
        let summarised = self.conversation.path().filter(|message| message.origin() != Origin::Aside).count();
        let anew = Anew {
            dialect: self.conversation.dialect(),
            path: self.conversation.path_without_aside(),
            history: self.conversation.history(),
            summarised,
            goes_on: compacting.goes_on,
            room: self.room()?.tail,
            summary,
            state,
            texts: &self.settings.compaction.texts,
            closing: &self.settings.texts,
        };
        Ok(anew.messages())
    }

    /// Tokens of a prompt behind a new head, estimated.
    fn length_of(&self, lane: &LaneRecord, messages: &[Saying]) -> Tokens {
        let messages = messages.iter().map(|saying| saying.fragment.len());
        let bytes = lane.tools.len() + lane.system.len() + messages.sum::<usize>();
        self.conversation.in_proportion(Tokens::of_bytes(bytes as u64))
    }

    fn rest(&mut self, step: &mut Step) {
        self.state = State::Idle;
        self.interrupted = false;
        step.durable();
    }

    fn room(&self) -> Result<Room, SessionError> {
        let lengths = (self.conversation.estimated_head(), self.conversation.left_by_compaction());
        Ok(Room::of(self.window(), &self.settings.compaction, &self.lane()?.envelope, lengths))
    }

    /// Whether the prompt as it stands leaves room for a reply, as far as the window is known.
    fn fits(&self, room: &Room) -> bool {
        let is_known = self.rules.known || self.own_window().is_some();
        !is_known || self.conversation.estimated_tokens() <= room.limit
    }
}

/// Whether a prompt of that length is hardly longer than the one that a compaction leaves: by less than a fifth.
fn saves_too_little(before: Tokens, after: Tokens) -> bool {
    after.0.saturating_mul(5) > before.0.saturating_mul(4)
}

/// Compactions in a row that may come to nothing before none is tried unasked.
const MOST_FAILURES: u64 = 3;
