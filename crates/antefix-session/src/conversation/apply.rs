use antefix_models::Tokens;
use antefix_prefix::{Advance, Chain, Entry as CacheEntry, Segment};
use antefix_wire::usage::Usage;
use bytes::Bytes;

use super::context::Observed;
use super::epoch::COMPACTION;
use super::{
    Attempt, Carried, Carry, Conversation, Lane, Mark, Measured, Message, OpenLane, message::Place,
    next_attempt,
};
use crate::dialect::Dialect;
use crate::record::{
    AttemptRecord, Entry, MessageContent, MessageRecord, Origin, OutcomeRecord, Purpose, Record, RecordId,
};

/// A record that does not fit the ones in front of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// The record's number is not the next one.
    #[error("record {found} stands where {expected} belongs")]
    Number {
        /// The number it has.
        found: u64,
        /// The number it should have.
        expected: u64,
    },
    /// The record names one that is not in front of it.
    #[error("record {0} names a record that is not in front of it")]
    Reference(u64),
    /// The record needs a lane and none is open.
    #[error("record {0} comes before any lane")]
    NoLane(u64),
    /// A fragment is not a message or a block.
    #[error("the fragment of record {record} cannot be read: {reason}")]
    Fragment {
        /// The record.
        record: u64,
        /// What is wrong.
        reason: String,
    },
}

impl Conversation {
    /// Applies the next record.
    ///
    /// # Errors
    /// [`ApplyError`] if the record does not fit those in front of it; the conversation is then unchanged.
    pub fn apply(&mut self, entry: &Entry) -> Result<(), ApplyError> {
        let id = entry.id.0;
        let expected = self.marks.len() as u64;
        if id != expected {
            return Err(ApplyError::Number { found: id, expected });
        }
        let goes_back = matches!(entry.record, Record::Rewind { .. });
        let starts_anew = matches!(entry.record, Record::Carry { .. } | Record::Compact(_));
        let follows = entry.parent.0 + 1 == id || goes_back;
        let parent = self.marks.get(entry.parent.0 as usize).filter(|_| follows);
        let mut mark = *parent.ok_or(ApplyError::Reference(id))?;
        match &entry.record {
            Record::Lane(lane) => {
                let lane = Lane::new(entry.id, lane.clone())
                    .map_err(|error| ApplyError::Fragment { record: id, reason: error.to_string() })?;
                self.lanes.push(OpenLane::new(lane, None));
                mark.lane = Some(self.lanes.len() - 1);
                // Another model counts otherwise.
                (mark.measured, mark.scale) = (None, None);
            }
            Record::Message(message) => self.apply_message(entry, message, &mut mark)?,
            Record::Result(result) => {
                self.results.insert(entry.id, result.clone());
                mark.pending = Some(entry.id);
            }
            Record::Attempt(attempt) => self.apply_attempt(entry, attempt, &mut mark)?,
            Record::Outcome(outcome) => self.apply_outcome(entry, outcome, &mut mark)?,
            Record::Turn { turn } => {
                mark.turn = *turn;
                mark.front = entry.parent;
                mark.in_turn = true;
                mark.steps = 0;
                self.take_up_context(&mut mark);
            }
            Record::End { .. } => mark.in_turn = false,
            Record::Decision { guard, .. } => mark.failures += u64::from(guard == COMPACTION),
            Record::Context(context) => {
                mark.lane.ok_or(ApplyError::NoLane(id))?;
                let (previous, turn) = (mark.context, mark.turn);
                mark.context = Some(self.observed.len());
                self.observed.push(Observed { record: entry.id, turn, previous, context: context.clone() });
            }
            Record::Compact(compact) => self.apply_compact(entry, compact, &mut mark)?,
            Record::Permission(permission) => self.permissions.push(permission.clone()),
            Record::Rewind { reason } => mark = self.rewound(entry, *reason, &mark),
            Record::Carry { messages } => {
                mark = self.apply_carry(*messages, &mark);
            }
        }
        let lane_changed = mark.lane != self.mark().lane;
        self.marks.push(mark);
        if goes_back || starts_anew || lane_changed {
            self.rebuild_path();
        }
        Ok(())
    }

    /// The conversation is said again from its beginning, in so many messages.
    fn apply_carry(&mut self, messages: u64, mark: &Mark) -> Mark {
        let Mark { message: source, context, said, turn, epoch, .. } = *mark;
        let carry = mark.carry.unwrap_or(Carry { source, context, said, turn, left: 0 });
        let carry = Carry { left: messages, ..carry };
        self.carried.extend(carry.source.map(|last| Carried { last, epoch }));
        let mut mark = Mark { message: None, pending: None, measured: None, scale: None, ..*mark };
        // In front of the first turn nothing had been observed.
        (mark.context, mark.said) = if messages > 0 { (None, None) } else { (carry.context, carry.said) };
        mark.carry = (messages > 0).then_some(carry);
        mark
    }

    fn apply_message(
        &mut self,
        entry: &Entry,
        message: &MessageRecord,
        mark: &mut Mark,
    ) -> Result<(), ApplyError> {
        let (id, parent) = (entry.id, entry.parent);
        let lane = mark.lane.ok_or(ApplyError::NoLane(id.0))?;
        let dialect = self.lanes.get(lane).ok_or(ApplyError::NoLane(id.0))?.lane.dialect();
        let fragment = self.fragment_of(id, dialect, &message.content)?;
        if !message.says.is_empty() {
            let waits: Vec<RecordId> = self.unsaid_at(mark).into_iter().map(|(record, _)| record).collect();
            if message.says != waits {
                return Err(ApplyError::Reference(id.0));
            }
            mark.said = mark.context;
        }
        let previous = mark.message.and_then(|index| self.messages.get(index));
        let start = previous.map_or(0, Message::end);
        let (message, positions) = Message::read(
            Place {
                record: id,
                parent,
                previous: mark.message,
                turn: mark.turn,
                front: mark.front,
                lane,
                start,
            },
            dialect,
            message,
            fragment,
        )
        .map_err(|reason| ApplyError::Fragment { record: id.0, reason })?;
        self.work.scanned += message.fragment().len() as u64;
        self.chain.extend(&positions);
        self.path.push(self.messages.len());
        self.segments.extend(message.segments().iter().cloned());
        self.call_ids.extend(message.calls().iter().map(|call| call.id.clone()));
        mark.message = Some(self.messages.len());
        mark.pending = None;
        if message.origin() == Origin::Aside {
            mark.aside = mark.aside.or(Some(parent));
        }
        self.messages.push(message);
        carried_one(mark);
        Ok(())
    }

    fn fragment_of(
        &mut self,
        id: RecordId,
        dialect: Dialect,
        content: &MessageContent,
    ) -> Result<Bytes, ApplyError> {
        match content {
            MessageContent::Fragment(fragment) => Ok(fragment.clone()),
            MessageContent::Results { results, inside, blocks } => {
                let results = self.results_of(id, results)?;
                let fragment = dialect.sealed(&results, inside, blocks);
                self.work.rendered += fragment.len() as u64;
                Ok(fragment)
            }
        }
    }

    fn results_of(&self, id: RecordId, results: &[RecordId]) -> Result<Vec<Bytes>, ApplyError> {
        let fragment = |result| Some(self.results.get(result)?.fragment.clone());
        results.iter().map(|result| fragment(result).ok_or(ApplyError::Reference(id.0))).collect()
    }

    /// A turn that is carried over knows no more than it did when it was first said.
    fn take_up_context(&self, mark: &mut Mark) {
        if let Some(carry) = mark.carry {
            mark.context = self.observed_by(carry.context, mark.turn);
            mark.said = self.said_by(carry.said, mark.turn);
        }
    }

    fn apply_attempt(
        &mut self,
        entry: &Entry,
        attempt: &AttemptRecord,
        mark: &mut Mark,
    ) -> Result<(), ApplyError> {
        let expected = next_attempt(self);
        let open =
            mark.lane.and_then(|lane| self.lanes.get_mut(lane)).ok_or(ApplyError::NoLane(entry.id.0))?;
        if attempt.attempt != expected || attempt.lane != open.lane.record() {
            return Err(ApplyError::Reference(entry.id.0));
        }
        // What is made once more was sent before, and is no step of the turn.
        if attempt.purpose != Purpose::Warm {
            open.tree.insert(&self.chain, Advance::Head);
            if let Some((last, _)) = attempt.markers.last() {
                open.tree.note_entry(&self.chain, *last as usize, CacheEntry::Doubtful);
            }
            mark.steps += u64::from(attempt.purpose == Purpose::Turn);
            mark.branches = false;
        }
        self.attempts.push(Attempt {
            record: entry.id,
            attempt: attempt.clone(),
            at: entry.at,
            outcome: None,
            turn: mark.turn,
        });
        Ok(())
    }

    fn apply_outcome(
        &mut self,
        entry: &Entry,
        outcome: &OutcomeRecord,
        mark: &mut Mark,
    ) -> Result<(), ApplyError> {
        let reference = ApplyError::Reference(entry.id.0);
        let index = self.attempts.iter().rposition(|known| known.attempt.attempt == outcome.attempt);
        let attempt = index.and_then(|index| self.attempts.get_mut(index)).ok_or(reference)?;
        attempt.outcome = Some((entry.at, outcome.clone()));
        let lane = attempt.attempt.lane;
        let (at, markers) = (attempt.at, attempt.attempt.markers.clone());
        let marked = markers.last().map(|(last, _)| *last as usize);
        let usage = outcome.read_usage();
        let (wrote, read) = if outcome.status == Some(200) { wrote_and_read(&usage) } else { (0, 0) };
        let is_kept = wrote > 0 || read > 0;
        if outcome.status == Some(200) && attempt.attempt.purpose != Purpose::Warm {
            let is_turn = attempt.attempt.purpose == Purpose::Turn;
            // What a compaction has begun goes on.
            mark.failures = if is_turn && mark.measured.is_none() { 0 } else { mark.failures };
        }
        let kept = marked.filter(|_| is_kept);
        let kept = kept.map(|last| (last as u64 + 1, Tokens(wrote.saturating_add(read))));
        let measured = measured(&attempt.attempt, outcome, &usage, &self.segments);
        // Behind a summary, the answer was given behind its own first block.
        mark.measured = (!outcome.is_summarised())
            .then(|| measured.map(|measured| Measured { kept, ..measured }).or(mark.measured))
            .flatten();
        let Some(open) = self.lanes.iter_mut().find(|open| open.lane.record() == lane) else { return Ok(()) };
        open.has_read |= read > 0;
        if is_kept {
            let ends = markers.iter().filter_map(|(end, _)| self.chain.link(*end as usize + 1));
            open.touched.extend(ends.map(|link| (link.normal, at)));
        }
        if let (Some(last), true) = (marked, is_kept) {
            open.tree.note_entry(&self.chain, last, CacheEntry::Confirmed);
        }
        Ok(())
    }

    /// Makes path, segments and chain those of the last mark.
    fn rebuild_path(&mut self) {
        let mark = self.mark();
        let path = mark.message.map(|last| self.path_to(last)).unwrap_or_default();
        let mut segments = Vec::new();
        let mut chain = Chain::new();
        if let Some(open) = self.open_lane() {
            segments.extend(open.lane.segments().iter().cloned());
            chain = open.lane.chain().clone();
        }
        for &index in &path {
            // INVARIANT: the path holds indices of messages.
            let message = &self.messages[index];
            self.work.scanned += message.fragment().len() as u64;
            segments.extend(message.segments().iter().cloned());
            chain.extend(&message.positions());
        }
        (self.path, self.segments) = (path, segments);
        self.chain = chain;
        if let Some(open) = self.mark().lane.and_then(|lane| self.lanes.get_mut(lane)) {
            // Requests go on from here; where the point itself was never sent, from the last one that was.
            open.tree.rewind(&self.chain, open.tree.common(&self.chain));
        }
    }
}

/// Tokens that a request wrote to the cache and read from it, as far as was told.
fn wrote_and_read(usage: &Usage) -> (u64, u64) {
    (usage.cache_write.unwrap_or(0), usage.cache_read.unwrap_or(0))
}

/// The length of a prompt that an outcome tells of, if it can be that.
fn measured(
    attempt: &AttemptRecord,
    outcome: &OutcomeRecord,
    usage: &Usage,
    segments: &[Segment],
) -> Option<Measured> {
    let told = outcome.too_long.and_then(|too_long| too_long.tokens);
    let counted = usage.context().filter(|_| outcome.status == Some(200) && attempt.purpose != Purpose::Warm);
    let left_out = Tokens(outcome.cleared().map_or(0, |cleared| cleared.tokens));
    let tokens = Tokens(told.or(counted)?);
    Some(Measured { positions: attempt.positions, tokens, kept: None, left_out })
        .filter(|measured| measured.may_be(segments))
}

/// One more message is carried over; with the last of them the conversation is where it was.
fn carried_one(mark: &mut Mark) {
    let Some(carry) = &mut mark.carry else { return };
    carry.left = carry.left.saturating_sub(1);
    if carry.left == 0 {
        mark.turn = mark.turn.max(carry.turn);
        (mark.context, mark.said) = (carry.context, carry.said);
        mark.carry = None;
    }
}
