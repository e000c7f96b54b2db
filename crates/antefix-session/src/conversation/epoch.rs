//! Compactions: what they leave behind, how long the prompt is, and what is asked for beside the conversation.

use std::collections::BTreeMap;

use antefix_models::Tokens;
use antefix_prefix::Segment;

use super::{ApplyError, Attempt, Conversation, Lane, Mark, Message, OpenLane, message::Place};
use crate::record::{CompactRecord, Entry, MessageContent, MessageRecord, Origin, RecordId, RewindReason};

/// What a compaction has begun.
#[derive(Clone, Copy, Debug)]
pub(super) struct Epoch {
    /// The record that says so.
    record: RecordId,
    /// Where the conversation stood.
    source: RecordId,
    /// The last message of what was left behind, as an index into the conversation's messages.
    last: Option<usize>,
    /// The epoch that was.
    before: Option<usize>,
}

/// The length of a prompt that the provider has counted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    /// Positions of the prompt.
    pub(super) positions: u64,
    /// Its tokens.
    pub(super) tokens: Tokens,
    /// Positions of what it read from the cache or wrote to it, and the tokens of that.
    pub(super) kept: Option<(u64, Tokens)>,
    /// Tokens of these positions that the provider has left out, and not counted.
    pub(super) left_out: Tokens,
}

/// Tokens that a provider has counted, of so many by length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    tokens: Tokens,
    length: u64,
}

impl Scale {
    /// As many tokens as the provider would count of so many by length.
    fn apply(self, length: Tokens) -> Tokens {
        let scaled = u128::from(length.0) * u128::from(self.tokens.0) / u128::from(self.length.max(1));
        Tokens(u64::try_from(scaled).unwrap_or(u64::MAX))
    }
}

impl Measured {
    /// Whether a prompt of these segments can have so many tokens: no more than two a byte, and some that a server puts
    /// in. What was told otherwise is no count.
    pub(super) fn may_be(self, segments: &[Segment]) -> bool {
        let counted = segments.iter().take(self.positions as usize);
        let by_length = counted.fold(0, |sum: u64, segment| sum.saturating_add(segment.tokens.0));
        self.tokens.0 <= by_length.saturating_mul(7).saturating_add(20_000)
    }
}

/// Tokens of segments, by their length.
fn by_length(segments: Option<&[Segment]>) -> u64 {
    segments.into_iter().flatten().fold(0, |sum: u64, segment| sum.saturating_add(segment.tokens.0))
}

/// The guard whose decisions say that a compaction came to nothing.
pub(crate) const COMPACTION: &str = "compaction";

impl Conversation {
    /// The messages that were said, oldest first, those among them that a summary stands for. What was kept behind the
    /// summary is there twice.
    pub fn history(&self) -> Vec<&Message> {
        let mut parts = vec![self.path.clone()];
        let mut next = self.mark().epoch;
        while let Some(epoch) = next.and_then(|index| self.epochs.get(index)) {
            parts.extend(epoch.last.map(|last| self.path_to(last)));
            next = epoch.before;
        }
        parts.into_iter().rev().flatten().filter_map(|index| self.messages.get(index)).collect()
    }

    /// How things stood in front of each compaction that has led here, the newest first.
    pub(super) fn fronts_of_epochs(&self) -> Vec<&Mark> {
        let mut fronts = Vec::new();
        let mut next = self.mark().epoch;
        while let Some(epoch) = next.and_then(|index| self.epochs.get(index)) {
            fronts.extend(self.marks.get(epoch.source.0 as usize));
            next = epoch.before;
        }
        fronts
    }

    /// Compactions that have begun what the conversation stands in, one behind the other.
    pub fn compactions(&self) -> u64 {
        let mut count = 0;
        let mut next = self.mark().epoch;
        while let Some(epoch) = next.and_then(|index| self.epochs.get(index)) {
            count += 1;
            next = epoch.before;
        }
        count
    }

    /// Compactions in a row that came to nothing, the last one included if no request was answered since.
    pub(crate) fn failed_compactions(&self) -> u64 {
        self.mark().failures
    }

    /// Whether a compaction has just been made, and nothing was sent since.
    pub(crate) fn is_fresh(&self) -> bool {
        self.mark().epoch.is_some() && self.open_lane().is_some_and(|open| open.tree.head_len().is_none())
    }

    /// Whether there was a compaction, and the model has answered nothing behind it.
    pub(crate) fn is_unanswered_since_compaction(&self) -> bool {
        let epoch = self.mark().epoch.and_then(|index| self.epochs.get(index));
        epoch.is_some_and(|epoch| {
            let is_answer = |message: &Message| message.origin() == Origin::Assistant;
            !self.path().any(|message| is_answer(message) && message.record() > epoch.record)
        })
    }

    /// Tokens of what the last compaction has put behind the head, estimated; none if there was none.
    pub(crate) fn left_by_compaction(&self) -> Tokens {
        let record = self.mark().epoch.and_then(|index| self.epochs.get(index)).map(|epoch| epoch.record);
        let own = self.path().take_while(|message| Some(message.record()) == record);
        self.in_proportion(own.map(Self::estimated_message).sum())
    }

    /// Where the conversation stands while a summary is asked for beside it.
    pub(crate) fn aside(&self) -> Option<RecordId> {
        self.mark().aside
    }

    /// The messages of the conversation without what is said beside it, oldest first.
    pub(crate) fn path_without_aside(&self) -> Vec<&Message> {
        let at = self.aside().and_then(|at| self.marks.get(at.0 as usize));
        let last = at.map_or(self.mark(), |mark| *mark).message;
        let path = last.map(|last| self.path_to(last)).unwrap_or_default();
        path.into_iter().filter_map(|index| self.messages.get(index)).collect()
    }

    /// Number of leading positions that were sent before.
    pub(crate) fn sent(&self) -> usize {
        self.open_lane().map_or(0, |open| open.tree.common(&self.chain))
    }

    /// Tokens of the whole prompt, estimated.
    pub fn estimated_tokens(&self) -> Tokens {
        self.estimated_up_to(self.segments.len())
    }

    /// Tokens of the first positions, estimated: as the provider has counted them, and what came since by its length,
    /// in the same proportion.
    pub(crate) fn estimated_up_to(&self, positions: usize) -> Tokens {
        let all = Tokens(self.length_of_read(positions));
        let Some(Measured { positions: counted, tokens, kept, .. }) = self.mark().measured else {
            return self.in_proportion(all);
        };
        if let Some((_, exact)) = kept.filter(|(kept, _)| *kept == positions as u64) {
            return exact;
        }
        let since = self.segments.get(counted as usize..positions);
        match since {
            // What has been counted is not read any more.
            Some(since) if since.iter().any(Segment::is_summary) => self.in_proportion(all),
            Some(since) => {
                let since = Tokens(by_length(Some(since)));
                // A short prompt says little of how long later text is.
                tokens + Tokens(self.in_proportion(since).0.max(since.0))
            }
            None => self.in_proportion(all),
        }
    }

    /// Tokens of the first positions by length, without the messages that a summary of the provider's stands for.
    fn length_of_read(&self, positions: usize) -> u64 {
        let segments = self.segments.get(..positions).unwrap_or(&self.segments);
        let head = self.open_lane().map_or(0, |open| open.lane.positions());
        let summary = segments.iter().rposition(Segment::is_summary).unwrap_or(0);
        let read = segments.iter().enumerate().filter(|(at, _)| *at < head || *at >= summary);
        read.fold(0, |sum, (_, segment)| sum.saturating_add(segment.tokens.0))
    }

    /// The context window as the provider has told it when it found a prompt of this model too long; `None` if it has
    /// not, or has answered a longer one since, or if the head alone would fill what it has told.
    pub fn learned_window(&self) -> Option<Tokens> {
        let says_so =
            |attempt: &Attempt| attempt.outcome.as_ref().is_some_and(|(_, one)| one.too_long.is_some());
        let spec = self.lane().filter(|_| self.attempts().iter().any(says_so))?.spec();
        let is_like = |attempt: &&Attempt| {
            self.lane_of(attempt).map(Lane::spec).is_some_and(|other| {
                other.model == spec.model && other.scope == spec.scope && other.dialect == spec.dialect
            })
        };
        let mut longest = 0;
        for attempt in self.attempts().iter().rev().filter(is_like) {
            let Some((_, outcome)) = &attempt.outcome else { continue };
            if let Some(too_long) = outcome.too_long {
                let is_said = longest <= too_long.window && self.estimated_head().0 < too_long.window;
                return is_said.then_some(Tokens(too_long.window));
            }
            longest = longest.max(outcome.read_usage().context().unwrap_or(0));
        }
        None
    }

    /// Tokens as the provider counts, of `length` by length.
    pub(crate) fn in_proportion(&self, length: Tokens) -> Tokens {
        self.scale().map_or(length, |scale| scale.apply(length))
    }

    /// What is known of how the provider counts: from the last prompt, or from those in front of a compaction.
    fn scale(&self) -> Option<Scale> {
        let mark = self.mark();
        let counted = mark.measured.map(|Measured { positions, tokens, left_out, .. }| Scale {
            tokens: tokens + left_out,
            length: self.length_of_read(positions as usize),
        });
        counted.or(mark.scale)
    }

    /// Tokens of the open lane's head, estimated.
    pub(crate) fn estimated_head(&self) -> Tokens {
        self.estimated_up_to(self.open_lane().map_or(0, |open| open.lane.positions()))
    }

    /// Tokens of one of its messages, estimated by length.
    pub(crate) fn estimated_message(message: &Message) -> Tokens {
        message.segments().iter().map(|segment| segment.tokens).sum()
    }

    pub(super) fn apply_compact(
        &mut self,
        entry: &Entry,
        compact: &CompactRecord,
        mark: &mut Mark,
    ) -> Result<(), ApplyError> {
        let id = entry.id.0;
        let fragment = |reason: String| ApplyError::Fragment { record: id, reason };
        let lane = Lane::new(entry.id, compact.lane.clone()).map_err(|error| fragment(error.to_string()))?;
        let first = self.messages.len();
        let fronts: BTreeMap<u64, RecordId> = self
            .path_without_aside()
            .iter()
            .chain(&self.history())
            .rev()
            .map(|message| (message.turn(), message.front()))
            .collect();
        let mut messages: Vec<Message> = Vec::new();
        for saying in &compact.messages {
            let previous = messages.len().checked_sub(1).map(|before| first + before);
            let start = messages.last().map_or(0, Message::end);
            let turn = saying.turn;
            let front = fronts.get(&turn).copied().unwrap_or(mark.front);
            let (record, parent) = (entry.id, entry.parent);
            let place = Place { record, parent, previous, turn, front, lane: self.lanes.len(), start };
            let content = MessageContent::Fragment(saying.fragment.clone());
            let record = MessageRecord { origin: saying.origin, content, says: Vec::new() };
            let (message, _) =
                Message::read(place, lane.dialect(), &record, saying.fragment.clone()).map_err(fragment)?;
            messages.push(message);
        }
        let source = mark.aside.unwrap_or(entry.parent);
        let last = self.marks.get(source.0 as usize).and_then(|mark| mark.message);
        self.epochs.push(Epoch { record: entry.id, source, last, before: mark.epoch });
        self.lanes.push(OpenLane::new(lane, mark.lane));
        *mark = Mark {
            message: (first + messages.len()).checked_sub(1).filter(|_| !messages.is_empty()),
            pending: None,
            // The baseline says how things are.
            context: None,
            said: None,
            lane: Some(self.lanes.len() - 1),
            branches: false,
            carry: None,
            epoch: Some(self.epochs.len() - 1),
            aside: None,
            measured: None,
            scale: self.scale(),
            // Until a request is answered.
            failures: mark.failures + 1,
            ..*mark
        };
        self.messages.extend(messages);
        Ok(())
    }

    /// How things stand behind a rewind to `target`. The turn that is left is still the one that runs, so that its end
    /// can be recorded; and a lane that was opened since stays open, but for those that compactions have opened since:
    /// what was said in front of them stands behind the head it was said behind.
    pub(super) fn rewound(&self, entry: &Entry, reason: RewindReason, target: &Mark) -> Mark {
        let Mark { message, pending, context, said, epoch, measured, scale, .. } = *target;
        let now = self.mark();
        let mut lane = now.lane;
        while let Some(open) = lane.and_then(|lane| self.lanes.get(lane)) {
            match open.replaces.filter(|_| open.lane.record() > entry.parent) {
                Some(replaced) => lane = Some(replaced),
                None => break,
            }
        }
        let is_same = lane == target.lane;
        let (measured, scale) = (measured.filter(|_| is_same), scale.filter(|_| is_same));
        let before = RecordId(entry.id.0.saturating_sub(1));
        let aside = (reason == RewindReason::Cut).then(|| now.aside.unwrap_or(before));
        Mark {
            message,
            pending,
            context,
            said,
            epoch,
            measured,
            scale,
            lane,
            aside,
            branches: true,
            carry: None,
            ..now
        }
    }

    /// The record in front of a compaction, if `message` is one that it has put in.
    pub(super) fn in_front_of_compaction(&self, message: &Message) -> Option<RecordId> {
        self.epochs.iter().find(|epoch| epoch.record == message.record()).map(|epoch| epoch.source)
    }
}
