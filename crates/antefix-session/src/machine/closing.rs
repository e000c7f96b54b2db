use bytes::Bytes;

use super::calls::result;
use super::{Session, SessionError, Step};
use crate::closure::{Closing, closing, text_block};
use crate::conversation::Call;
use crate::record::{Entry, MessageContent, Millis, Origin, Record, RecordId, RewindReason};

impl Session {
    /// Closes the turn before with nothing left to be said.
    pub(super) fn settle_all(&mut self, step: &mut Step, now: Millis) -> Result<(), SessionError> {
        if let Some(results) = self.settle(step, now)? {
            self.seal(step, results, now)?;
            self.settle(step, now)?;
        }
        Ok(())
    }

    /// Closes the turn before, per the turn-closure table; gives the results that lead the next message, if any do.
    pub(super) fn settle(
        &mut self,
        step: &mut Step,
        now: Millis,
    ) -> Result<Option<Vec<RecordId>>, SessionError> {
        let dialect = self.conversation.dialect();
        for _ in 0..MOST_CLOSINGS {
            match closing(&self.conversation.tail(), &self.settings.texts, dialect) {
                Closing::Nothing => break,
                Closing::GoBack { to, reason } => self.go_back(step, to, reason, now)?,
                Closing::Reply(reply) => self.closing_reply(step, reply, now)?,
                Closing::GoBackAndReply { to, reason, reply } => {
                    self.go_back(step, to, reason, now)?;
                    self.closing_reply(step, reply, now)?;
                }
                Closing::Results(open) => {
                    self.closing_results(step, &open, now)?;
                    let results = self.conversation.pending();
                    if dialect.results_lead_the_prompt() && self.conversation.has_replied_here() {
                        return Ok(Some(results));
                    }
                    self.seal(step, results, now)?;
                }
            }
        }
        Ok(None)
    }

    pub(super) fn go_back(
        &mut self,
        step: &mut Step,
        to: RecordId,
        reason: RewindReason,
        now: Millis,
    ) -> Result<(), SessionError> {
        let id = RecordId(self.conversation.head().0 + 1);
        self.append(step, Entry { id, parent: to, at: now, record: Record::Rewind { reason } })
    }

    fn closing_reply(&mut self, step: &mut Step, reply: Bytes, now: Millis) -> Result<(), SessionError> {
        let content = MessageContent::Fragment(reply);
        self.message(step, Origin::Closure, content, now)
    }

    fn closing_results(&mut self, step: &mut Step, open: &[Call], now: Millis) -> Result<(), SessionError> {
        for call in open {
            let ran = self.conversation.results().values().any(|known| known.call == call.id);
            let text = if ran { self.settings.texts.left_out } else { self.settings.texts.not_run };
            let fragment = self.conversation.dialect().result(&call.id, &[text_block(text)], true);
            self.record(step, Record::Result(result(call, true, fragment, Bytes::from_static(b"[]"))), now)?;
        }
        Ok(())
    }
}

/// A row of the table leads to another at most three times: back behind a rejected message, then to its paused reply
/// or open calls, and to the reply behind those.
const MOST_CLOSINGS: usize = 4;
