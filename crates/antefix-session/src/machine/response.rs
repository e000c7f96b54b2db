use antefix_models::Tokens;

use super::reply::Reply;
use super::{INTERRUPTED, Session, SessionError, State, Step};
use crate::conversation::Tail;
use crate::event::{Command, RequestReport, ResponseEnd, ResponseFacts, SessionEvent};
use crate::record::{AttemptId, EndReason, Millis, OutcomeRecord, Record};
use crate::spend::of_attempt;

impl Session {
    /// Takes the end of the request in flight.
    pub(super) fn response(
        &mut self,
        step: &mut Step,
        attempt: AttemptId,
        end: ResponseEnd,
        now: Millis,
    ) -> Result<(), SessionError> {
        if self.warmth.is_of(attempt) {
            return self.warmed(step, attempt, end, now);
        }
        let retries = match self.state {
            State::InFlight { attempt: expected, retries } if expected == attempt => retries,
            _ => return Err(SessionError::Unexpected("response")),
        };
        if self.compacting.is_some() {
            return self.summary_response(step, attempt, end, retries, now);
        }
        let outcome = OutcomeRecord { attempt, ..OutcomeRecord::default() };
        match end {
            ResponseEnd::Message { message, response, cut } => {
                self.reply(step, Reply { attempt, message, response, cut }, retries, now)
            }
            ResponseEnd::Rejected { response, kind, message, retry_after } => {
                let error = format!("{} {kind}: {message}", response.status);
                let outcome = with_facts(outcome, response, Some(error.clone()));
                let is_final = outcome.leaves_behind().is_some();
                let (too_long, known) = (outcome.too_long, self.window());
                self.outcome(step, outcome, now)?;
                if let Some(too_long) = too_long.filter(|_| !self.interrupted)
                    && self.is_shortened(step, too_long, known, now)?
                {
                    return Ok(());
                }
                if !is_final {
                    return self.retry(step, retries, error, retry_after, now);
                }
                self.leave_behind(step, now)?;
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

    /// Goes back behind what was rejected or refused, as the next prompt would if this process ended here.
    pub(super) fn leave_behind(&mut self, step: &mut Step, now: Millis) -> Result<(), SessionError> {
        match self.conversation.tail() {
            Tail::LeftBehind { to, reason } => self.go_back(step, to, reason, now),
            _ => Ok(()),
        }
    }

    pub(super) fn retry(
        &mut self,
        step: &mut Step,
        retries: u32,
        reason: String,
        retry_after: Option<u64>,
        now: Millis,
    ) -> Result<(), SessionError> {
        if self.interrupted {
            return self.fail(step, EndReason::Interrupted, None, now);
        }
        let wait = retry_after.unwrap_or_else(|| backoff(retries));
        if wait > self.settings.longest_wait {
            let text = format!("{reason} (asked to wait {} s, which is too long)", wait / 1000);
            return self.fail(step, EndReason::Failed, Some(text), now);
        }
        if retries >= self.settings.retries {
            return self.fail(step, EndReason::Failed, Some(reason), now);
        }
        let attempt = AttemptId(self.conversation.attempts().len() as u64);
        step.emit(SessionEvent::Retrying { attempt, reason, wait });
        step.commands.push(Command::Wait(Millis(now.0.saturating_add(wait))));
        self.state = State::Waiting { retries: retries + 1 };
        Ok(())
    }

    /// Ends what the request was made for: a turn, or a summary.
    fn fail(
        &mut self,
        step: &mut Step,
        reason: EndReason,
        text: Option<String>,
        now: Millis,
    ) -> Result<(), SessionError> {
        if self.compacting.is_some() {
            return self.give_up(step, text.unwrap_or_else(|| INTERRUPTED.to_owned()), now);
        }
        self.end_turn(step, reason, text, now)
    }

    pub(super) fn outcome(
        &mut self,
        step: &mut Step,
        outcome: OutcomeRecord,
        now: Millis,
    ) -> Result<(), SessionError> {
        let sent = self.conversation.attempts().last().map_or(now, |attempt| attempt.at);
        let is_readable =
            self.conversation.lane().is_some_and(|lane| lane.cache().is_some()) || !self.is_limited;
        let known = self.conversation.expects_read(&self.rules, sent);
        let expects = if is_readable { known } else { Tokens::ZERO };
        self.record(step, Record::Outcome(outcome.clone()), now)?;
        let known = |known: &&crate::conversation::Attempt| known.attempt.attempt == outcome.attempt;
        let Some(attempt) = self.conversation.attempts().iter().rev().find(known) else { return Ok(()) };
        let spend = of_attempt(&self.conversation, attempt, &self.settings.prices);
        let edits = self.conversation.edit_reports(attempt, &self.settings.prices);
        self.spent.add(&spend);
        if outcome.status == Some(200) {
            step.emit(SessionEvent::RequestFinished(Box::new(RequestReport {
                attempt: outcome.attempt,
                status: 200,
                counts: (spend.unreported == 0).then_some(spend.counts),
                is_estimated: spend.estimated > 0,
                cost: spend.known_cost(),
                total: self.spent.counts,
                total_cost: self.spent.known_cost(),
                expects,
                stop_reason: outcome.stop_reason,
                edits,
            })));
        }
        Ok(())
    }
}

/// Milliseconds until the next try: half a second, doubled each time, at most half a minute.
fn backoff(retries: u32) -> u64 {
    (500 << retries.min(6)).min(30_000)
}

pub(super) fn with_facts(
    outcome: OutcomeRecord,
    response: ResponseFacts,
    error: Option<String>,
) -> OutcomeRecord {
    OutcomeRecord {
        status: Some(response.status),
        request_id: response.request_id,
        first_byte: response.first_byte,
        quota: response.quota,
        too_long: response.too_long,
        error,
        ..outcome
    }
}
