//! Keeps the cache warm while a turn waits for its calls.

use antefix_models::Money;

use super::{Session, SessionError, State, Step};
use crate::conversation::next_attempt;
use crate::event::{Command, RequestReport, ResponseEnd, SessionEvent, WarmReport};
use crate::record::{AttemptId, AttemptRecord, Millis, OutcomeRecord, Planned, Purpose, Record};
use crate::spend::of_attempt;
use crate::warm::Replay;

/// What was done to keep the cache warm since the last request of the turn.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Warmth {
    in_flight: Option<AttemptId>,
    cost: Money,
}

impl Warmth {
    /// A request of the turn leaves; one that keeps the cache warm may still be on its way.
    pub(super) fn begin_anew(&mut self) {
        self.cost = Money::ZERO;
    }

    /// Whether a response is that of a request that keeps the cache warm.
    pub(super) fn is_of(&self, attempt: AttemptId) -> bool {
        self.in_flight == Some(attempt)
    }
}

impl Session {
    /// Asks to be woken when the last request is to be made once more, if that pays.
    pub(super) fn plan_warming(&mut self, step: &mut Step) {
        if let Some(replay) = self.worthwhile() {
            step.commands.push(Command::WarmAt(replay.due));
        }
    }

    /// Makes the last request of the turn once more, for one token, if calls still run and it still pays.
    pub(super) fn warm(&mut self, step: &mut Step, now: Millis) -> Result<(), SessionError> {
        let is_waiting = matches!(self.state, State::Calling { .. }) && self.warmth.in_flight.is_none();
        let Some(replay) = self.worthwhile().filter(|_| is_waiting) else { return Ok(()) };
        if now < replay.due {
            step.commands.push(Command::WarmAt(replay.due));
            return Ok(());
        }
        if now > replay.latest {
            let text = "the cache is not kept warm any longer: this machine slept until it was too late";
            step.emit(SessionEvent::Notice(text.to_owned()));
            return Ok(());
        }
        let Some((last, _)) = self.conversation.last_answered() else { return Ok(()) };
        let mut record = AttemptRecord {
            attempt: next_attempt(&self.conversation),
            purpose: Purpose::Warm,
            relation: Planned::Extends,
            ..last.attempt.clone()
        };
        let body = self.conversation.compose_attempt(&record)?;
        record.digest = body.digest.to_hex().to_string();
        record.bytes = body.len;
        let attempt = record.attempt;
        self.record(step, Record::Attempt(record), now)?;
        step.durable();
        self.warmth.in_flight = Some(attempt);
        step.commands.push(Command::Warm { attempt, body });
        Ok(())
    }

    /// Takes the end of such a request; the turn may have gone on meanwhile.
    pub(super) fn warmed(
        &mut self,
        step: &mut Step,
        attempt: AttemptId,
        end: ResponseEnd,
        now: Millis,
    ) -> Result<(), SessionError> {
        self.warmth.in_flight = None;
        let replay = self.conversation.replay(&self.rules, &self.settings.prices, None);
        let saves = replay.map_or(Money::ZERO, |replay| replay.miss);
        let kept = self.conversation.expects_read(&self.rules, now);
        let outcome = outcome_of(attempt, end);
        self.record(step, Record::Outcome(outcome.clone()), now)?;
        let known = |known: &&crate::conversation::Attempt| known.attempt.attempt == attempt;
        let Some(sent) = self.conversation.attempts().iter().rev().find(known) else { return Ok(()) };
        let spend = of_attempt(&self.conversation, sent, &self.settings.prices);
        self.spent.add(&spend);
        self.warmth.cost += spend.cost;
        let report = RequestReport {
            attempt,
            status: outcome.status.unwrap_or_default(),
            counts: (spend.unreported == 0).then_some(spend.counts),
            is_estimated: spend.estimated > 0,
            cost: spend.known_cost(),
            total: self.spent.counts,
            total_cost: self.spent.known_cost(),
            expects: kept,
            stop_reason: outcome.stop_reason,
            edits: Vec::new(),
        };
        let has_read = outcome.status == Some(200) && !spend.counts.read.is_zero();
        step.emit(SessionEvent::KeptWarm(Box::new(WarmReport { report, saves, error: outcome.error })));
        if has_read && matches!(self.state, State::Calling { .. }) {
            self.plan_warming(step);
        }
        Ok(())
    }

    /// The replay that comes next, if it is wanted, allowed and pays: what all of them cost since the last request of the
    /// turn stays below what the next request would cost more without them.
    fn worthwhile(&self) -> Option<Replay> {
        let keep = self.settings.keep_warm?;
        let replay = self.conversation.replay(&self.rules, &self.settings.prices, keep.after).ok()?;
        let (last, _) = self.conversation.last_answered()?;
        let is_in_time = replay.due.0 <= last.at.0.saturating_add(keep.longest);
        let pays = self.warmth.cost + replay.price < replay.miss;
        let is_allowed = !self.interrupted && self.guards.before_request(&self.view()).is_none();
        (is_in_time && pays && is_allowed).then_some(replay)
    }
}

fn outcome_of(attempt: AttemptId, end: ResponseEnd) -> OutcomeRecord {
    let outcome = OutcomeRecord { attempt, ..OutcomeRecord::default() };
    match end {
        ResponseEnd::Message { message, response, cut } => OutcomeRecord {
            error: message.error.as_ref().map(|(kind, text)| format!("{kind}: {text}")).or(cut),
            ..super::reply::outcome_of(&message, response, None, attempt)
        },
        ResponseEnd::Rejected { response, kind, message, .. } => {
            let error = format!("{} {kind}: {message}", response.status);
            super::response::with_facts(outcome, response, Some(error))
        }
        ResponseEnd::Unreachable { error, .. } => OutcomeRecord { error: Some(error), ..outcome },
    }
}
