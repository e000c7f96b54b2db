use std::collections::BTreeSet;

use bytes::Bytes;

use super::{Attempt, Call, Conversation, Message};
use crate::record::{Purpose, RecordId, RewindReason};

/// How the conversation stands: what the turn-closure table looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tail {
    /// No message yet.
    Empty,
    /// The model has answered and asks for nothing.
    Answered,
    /// The model has paused while tools of the provider ran, and their results never came.
    Paused {
        /// The record in front of the message with the first call that has no result.
        to: RecordId,
        /// That message's blocks in front of that call.
        blocks: Vec<Bytes>,
    },
    /// The model has called tools; `open` have no result yet, the others' results wait to be sealed.
    Calls {
        /// Calls without a result, in call order.
        open: Vec<Call>,
    },
    /// The last message is the user's and has no answer.
    Unanswered,
    /// What was asked last was rejected or refused, and the rewind is not on record yet.
    LeftBehind {
        /// The record to go on from.
        to: RecordId,
        /// Why.
        reason: RewindReason,
    },
}

impl Conversation {
    /// How the conversation stands.
    pub fn tail(&self) -> Tail {
        if let Some(to) = self.aside() {
            return Tail::LeftBehind { to, reason: RewindReason::Compaction };
        }
        // A reminder belongs to the message in front of it.
        let Some(last) = self.path().rfind(|message| !message.is_reminder()) else {
            return Tail::Empty;
        };
        if let Some(left) = self.left_behind(last) {
            return left;
        }
        if last.is_user() {
            return Tail::Unanswered;
        }
        if last.calls().is_empty() {
            return self.paused().unwrap_or(Tail::Answered);
        }
        let done: Vec<_> =
            self.pending().iter().filter_map(|id| Some(self.results.get(id)?.call.clone())).collect();
        Tail::Calls { open: last.calls().iter().filter(|call| !done.contains(&call.id)).cloned().collect() }
    }

    /// Results that wait to be sealed, in the order of the calls.
    pub fn pending(&self) -> Vec<RecordId> {
        let mut found = Vec::new();
        let mut next = self.mark().pending;
        while let Some(id) = next {
            found.push(id);
            next = self.marks.get(id.0 as usize - 1).and_then(|mark| mark.pending);
        }
        let Some(last) = self.path().next_back() else { return found };
        let place = |id: &RecordId| {
            let call = self.results.get(id).map(|result| &result.call);
            last.calls().iter().position(|known| Some(&known.id) == call)
        };
        found.sort_by_key(place);
        found
    }

    /// Whether the reply the conversation ends in was given to a request of the open lane. One that comes from another
    /// lane, or that was said anew, may lack the thinking that this lane's requests want in front of the last calls.
    pub(crate) fn has_replied_here(&self) -> bool {
        let (Some(last), Some(lane)) = (self.path().next_back(), self.lane()) else { return false };
        let is_in_turn = |attempt: &Attempt| attempt.record > last.front() && attempt.record < last.record();
        self.attempts.iter().any(|attempt| attempt.attempt.lane == lane.record() && is_in_turn(attempt))
    }

    /// The record in front of `turn`, or of the next one if that is not part of the conversation.
    pub fn before_turn(&self, turn: u64) -> Option<RecordId> {
        let history = self.history();
        let first = history.iter().find(|message| message.turn() >= turn.max(1))?;
        Some(first.front())
    }

    /// What the last request's outcome says of the message it ended with.
    fn left_behind(&self, last: &Message) -> Option<Tail> {
        let of_turn = |attempt: &&Attempt| attempt.attempt.purpose != Purpose::Warm;
        let attempt =
            self.attempts.iter().rev().find(of_turn).filter(|attempt| attempt.record > last.record())?;
        if self.mark().branches {
            return None;
        }
        let (_, outcome) = attempt.outcome.as_ref()?;
        let reason = outcome.leaves_behind()?;
        let to = match reason {
            RewindReason::Refusal => {
                let first = self.path().find(|message| message.turn() == attempt.turn)?;
                if self.in_front_of_compaction(first).is_some() {
                    // What was refused may stand behind the summary still.
                    return Some(Tail::LeftBehind { to: first.front(), reason });
                }
                first
            }
            _ if outcome.status.is_some_and(blames_content) => last,
            // The key or the address is at fault: results stay, and so does what a compaction has begun.
            _ if self.in_front_of_compaction(last).is_some() => return None,
            _ if last.is_user() => return Some(Tail::LeftBehind { to: last.parent(), reason }),
            _ => return None,
        };
        Some(Tail::LeftBehind { to: self.before(to)?, reason })
    }

    /// The reply the conversation ends in, if tools of the provider have been called in it and not answered.
    fn paused(&self) -> Option<Tail> {
        let reply = self.path().rev().take_while(|message| !message.is_user() && !message.is_reminder());
        let reply: Vec<&Message> = reply.collect();
        let answered: BTreeSet<&str> =
            reply.iter().flat_map(|message| message.server_results()).map(String::as_str).collect();
        let is_open = |call: &String| !answered.contains(call.as_str());
        let first = reply.iter().rev().find(|message| message.server_calls().iter().any(is_open))?;
        // Thinking behind an open call is bound to it, so that nothing behind it stays.
        Some(Tail::Paused { to: self.before(first)?, blocks: first.blocks_up_to(&is_open) })
    }

    /// The message record in front of a message; the record in front of its turn if it is the first.
    fn before(&self, message: &Message) -> Option<RecordId> {
        if let Some(source) = self.in_front_of_compaction(message) {
            return Some(source);
        }
        match message.previous() {
            Some(previous) => Some(self.messages.get(previous)?.record()),
            None => Some(message.front()),
        }
    }
}

/// Whether a status says that what was sent is at fault, not who sent it or where.
fn blames_content(status: u16) -> bool {
    matches!(status, 400 | 413 | 422)
}
