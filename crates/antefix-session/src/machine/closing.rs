use bytes::Bytes;

use super::calls::result;
use super::{Session, SessionError, Step};
use crate::closure::{self, Closing, closing};
use crate::conversation::Call;
use crate::record::{Entry, MessageContent, MessageRecord, Millis, Origin, Record, RecordId, RewindReason};

impl Session {
    /// Closes the turn before, per the turn-closure table, and gives the user's next message.
    pub(super) fn close_turn(
        &mut self,
        step: &mut Step,
        blocks: Vec<Bytes>,
        now: Millis,
    ) -> Result<MessageRecord, SessionError> {
        for _ in 0..MOST_CLOSINGS {
            match closing(&self.conversation.tail(), &self.settings.texts) {
                Closing::Nothing => break,
                Closing::GoBack { to, reason } => self.go_back(step, to, reason, now)?,
                Closing::Reply(reply) => self.closing_reply(step, reply, now)?,
                Closing::GoBackAndReply { to, reason, reply } => {
                    self.go_back(step, to, reason, now)?;
                    self.closing_reply(step, reply, now)?;
                }
                Closing::Results(open) => {
                    self.closing_results(step, &open, now)?;
                    let content = MessageContent::Results { results: self.conversation.pending(), blocks };
                    return Ok(MessageRecord { origin: Origin::User, content });
                }
            }
        }
        let content = MessageContent::Fragment(closure::message("user", &blocks));
        Ok(MessageRecord { origin: Origin::User, content })
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
        self.record(step, Record::Message(MessageRecord { origin: Origin::Closure, content }), now)
    }

    fn closing_results(&mut self, step: &mut Step, open: &[Call], now: Millis) -> Result<(), SessionError> {
        for call in open {
            let ran = self.conversation.results().values().any(|known| known.call == call.id);
            let text = if ran { self.settings.texts.left_out } else { self.settings.texts.not_run };
            let fragment = closure::text_result(&call.id, text, true);
            self.record(step, Record::Result(result(call, true, fragment, Bytes::from_static(b"[]"))), now)?;
        }
        Ok(())
    }
}

/// A row of the table leads to another at most twice: back behind a rejected message, and then to its paused reply or
/// open calls.
const MOST_CLOSINGS: usize = 4;
