//! What a transcript says, derived record by record. The live process and a cold replay apply the same records
//! through the same function, so that they cannot differ.

mod compose;
mod lane;
mod message;

pub use compose::{ComposedBody, Work};
pub use lane::Lane;
pub use message::{Call, Message};

use std::collections::BTreeMap;

use antefix_models::Rules;
use antefix_prefix::{
    Advance, CachePlan, Chain, Entry as CacheEntry, Marker, PlanInput, Relation, Segment, Tree, plan,
};
use bytes::Bytes;

use crate::record::{
    AttemptId, AttemptRecord, Entry, Header, MessageContent, MessageRecord, OutcomeRecord, Planned, Record,
    RecordId, ResultRecord,
};
use compose::Composer;

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

/// How the conversation stands: what the turn-closure table looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tail {
    /// No message yet.
    Empty,
    /// The model has answered and asks for nothing.
    Answered,
    /// The model has called tools; `open` have no result yet, the others' results wait to be sealed.
    Calls {
        /// Calls without a result, in call order.
        open: Vec<Call>,
    },
    /// The last message is the user's and has no answer.
    Unanswered,
}

/// A request that was made, with its outcome once there is one.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The record that says so.
    pub record: RecordId,
    /// What it says.
    pub attempt: AttemptRecord,
    /// When it was sent.
    pub at: crate::record::Millis,
    /// The outcome and when it came.
    pub outcome: Option<(crate::record::Millis, OutcomeRecord)>,
    /// The turn it belongs to.
    pub turn: u64,
}

/// A transcript, applied.
pub struct Conversation {
    header: Header,
    marks: Vec<Mark>,
    lanes: Vec<OpenLane>,
    messages: Vec<Message>,
    results: BTreeMap<RecordId, ResultRecord>,
    attempts: Vec<Attempt>,
    /// The messages of the conversation as it stands, oldest first.
    path: Vec<usize>,
    /// Segments of head and path, for the planner.
    segments: Vec<Segment>,
    /// Digests of head and path.
    chain: Chain,
    composer: Composer,
    work: Work,
}

/// A lane with the requests that were made in it.
struct OpenLane {
    lane: Lane,
    tree: Tree,
}

/// How things stand after a record; what a rewind returns to.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    /// The last message, as an index into `messages`.
    message: Option<usize>,
    /// The latest result that no message has sealed.
    pending: Option<RecordId>,
    lane: Option<usize>,
    turn: u64,
    in_turn: bool,
    /// Requests made in this turn.
    steps: u64,
    /// A rewind has left sent requests behind, and no request was made since.
    branches: bool,
}

impl Conversation {
    /// A conversation in which nothing has been said.
    pub fn new(header: Header) -> Self {
        Self {
            header,
            marks: vec![Mark::default()],
            lanes: Vec::new(),
            messages: Vec::new(),
            results: BTreeMap::new(),
            attempts: Vec::new(),
            path: Vec::new(),
            segments: Vec::new(),
            chain: Chain::new(),
            composer: Composer::default(),
            work: Work::default(),
        }
    }

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
        let parent = *self.marks.get(entry.parent.0 as usize).ok_or(ApplyError::Reference(id))?;
        let mut mark = parent;
        match &entry.record {
            Record::Lane(lane) => {
                let lane = Lane::new(entry.id, lane.clone())
                    .map_err(|error| ApplyError::Fragment { record: id, reason: error.to_string() })?;
                self.lanes.push(OpenLane { lane, tree: Tree::new() });
                mark.lane = Some(self.lanes.len() - 1);
            }
            Record::Message(message) => self.apply_message(entry.id, message, &mut mark)?,
            Record::Result(result) => {
                self.results.insert(entry.id, result.clone());
                mark.pending = Some(entry.id);
            }
            Record::Attempt(attempt) => self.apply_attempt(entry, attempt, &mut mark)?,
            Record::Outcome(outcome) => self.apply_outcome(entry, outcome)?,
            Record::Turn { turn } => {
                mark.turn = *turn;
                mark.in_turn = true;
                mark.steps = 0;
            }
            Record::End { .. } => mark.in_turn = false,
            Record::Decision { .. } => {}
            // The turn that is left is still the one that runs, so that its end can be recorded.
            Record::Rewind { .. } => {
                let last = self.mark();
                mark = Mark {
                    turn: last.turn,
                    in_turn: last.in_turn,
                    steps: last.steps,
                    branches: true,
                    ..mark
                };
            }
        }
        let lane_changed = mark.lane != self.mark().lane;
        self.marks.push(mark);
        if entry.parent.0 + 1 != id || lane_changed {
            self.rebuild_path();
        }
        Ok(())
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Number of the last record.
    pub fn head(&self) -> RecordId {
        RecordId(self.marks.len() as u64 - 1)
    }

    /// The lane requests are made in.
    pub fn lane(&self) -> Option<&Lane> {
        Some(&self.lanes.get(self.mark().lane?)?.lane)
    }

    /// The lane a request was made in.
    pub fn lane_of(&self, attempt: &Attempt) -> Option<&Lane> {
        self.lanes.iter().map(|open| &open.lane).find(|lane| lane.record() == attempt.attempt.lane)
    }

    /// The messages of the conversation as it stands, oldest first.
    pub fn path(&self) -> impl DoubleEndedIterator<Item = &Message> + ExactSizeIterator {
        // INVARIANT: the path holds indices of messages.
        self.path.iter().map(|&index| &self.messages[index])
    }

    /// The requests made so far, in order.
    pub fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }

    /// The results recorded so far.
    pub fn results(&self) -> &BTreeMap<RecordId, ResultRecord> {
        &self.results
    }

    /// Number of the current or last turn.
    pub fn turn(&self) -> u64 {
        self.mark().turn
    }

    /// Whether a turn has begun and not ended.
    pub fn in_turn(&self) -> bool {
        self.mark().in_turn
    }

    /// Requests made in the current turn.
    pub fn steps(&self) -> u64 {
        self.mark().steps
    }

    /// What has been scanned, hashed, rendered and copied so far.
    pub fn work(&self) -> Work {
        self.work
    }

    /// How the conversation stands.
    pub fn tail(&self) -> Tail {
        let Some(last) = self.path().next_back() else {
            return Tail::Empty;
        };
        if last.is_user() {
            return Tail::Unanswered;
        }
        if last.calls().is_empty() {
            return Tail::Answered;
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
        found.reverse();
        let calls: Vec<_> = self
            .path()
            .next_back()
            .map(|last| last.calls().iter().map(|call| &call.id).collect())
            .unwrap_or_default();
        found.sort_by_key(|id| {
            calls.iter().position(|call| self.results.get(id).is_some_and(|r| r.call == **call))
        });
        found
    }

    /// The record that the conversation stands at before its last message: where a rejected message is left.
    pub fn before_last_message(&self) -> Option<RecordId> {
        let last = self.path().next_back()?;
        Some(match last.previous() {
            Some(previous) => self.messages.get(previous)?.record(),
            None => self.lane()?.record(),
        })
    }

    /// The record in front of the first message of `turn`.
    pub fn before_turn(&self, turn: u64) -> Option<RecordId> {
        let first = self.path().find(|message| message.turn() >= turn)?;
        Some(match first.previous() {
            Some(previous) => self.messages.get(previous)?.record(),
            None => self.lane()?.record(),
        })
    }

    /// The cache plan for the conversation as it stands.
    pub fn plan(&self, rules: &Rules) -> CachePlan {
        let Some((open, ttl)) = self.open_lane().and_then(|open| Some((open, open.lane.cache()?))) else {
            return CachePlan::default();
        };
        let entries = open.tree.entries(&self.chain, self.segments.len());
        plan(&PlanInput {
            segments: &self.segments,
            rules,
            static_head: open.lane.static_head(),
            confirmed: entries.confirmed,
            doubtful: entries.doubtful,
            ttl,
            head_ttl: ttl,
        })
    }

    /// Whether an entry of this lane is known that the next request should read.
    pub fn expects_read(&self) -> bool {
        self.open_lane().is_some_and(|open| {
            open.lane.cache().is_some()
                && open.tree.entries(&self.chain, self.segments.len()).confirmed.is_some()
        })
    }

    /// Composes the body of the next request with these markers.
    ///
    /// # Errors
    /// [`ApplyError::NoLane`] if no lane is open.
    pub fn compose(&mut self, markers: &[Marker]) -> Result<ComposedBody, ApplyError> {
        let open = self
            .mark()
            .lane
            .and_then(|lane| self.lanes.get(lane))
            .ok_or(ApplyError::NoLane(self.head().0))?;
        Ok(self.composer.compose(&open.lane, &self.messages, &self.path, markers, &mut self.work))
    }

    /// The chain over head and path.
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// How the conversation as it stands relates to the requests of its lane; `None` if it is the first.
    pub fn relation(&self) -> Option<Planned> {
        let tree = &self.open_lane()?.tree;
        tree.head_len()?;
        Some(match tree.relation(&self.chain) {
            Relation::Extends if self.mark().branches => Planned::BranchesAt(tree.common(&self.chain) as u64),
            Relation::Extends => Planned::Extends,
            Relation::BranchesAt(at) => Planned::BranchesAt(at as u64),
            Relation::Diverges { at } => Planned::Allowed(at as u64),
        })
    }

    /// Number of positions of head and path.
    pub fn positions(&self) -> u64 {
        self.segments.len() as u64
    }

    fn open_lane(&self) -> Option<&OpenLane> {
        self.lanes.get(self.mark().lane?)
    }

    fn mark(&self) -> Mark {
        self.marks.last().copied().unwrap_or_default()
    }

    fn apply_message(
        &mut self,
        id: RecordId,
        message: &MessageRecord,
        mark: &mut Mark,
    ) -> Result<(), ApplyError> {
        if mark.lane.is_none() {
            return Err(ApplyError::NoLane(id.0));
        }
        let fragment = match &message.content {
            MessageContent::Fragment(fragment) => fragment.clone(),
            MessageContent::Results { results, blocks } => self.seal(id, results, blocks)?,
        };
        let previous = mark.message.and_then(|index| self.messages.get(index));
        let start = previous.map_or(0, Message::end);
        let (message, positions) =
            Message::read(id, mark.message, mark.turn, message.origin, fragment, start)
                .map_err(|reason| ApplyError::Fragment { record: id.0, reason })?;
        self.work.scanned += message.fragment().len() as u64;
        self.chain.extend(&positions);
        self.path.push(self.messages.len());
        self.segments.extend(message.segments().iter().cloned());
        mark.message = Some(self.messages.len());
        mark.pending = None;
        self.messages.push(message);
        Ok(())
    }

    fn seal(&mut self, id: RecordId, results: &[RecordId], blocks: &[Bytes]) -> Result<Bytes, ApplyError> {
        let mut all = Vec::with_capacity(results.len() + blocks.len());
        for result in results {
            all.push(self.results.get(result).ok_or(ApplyError::Reference(id.0))?.fragment.clone());
        }
        all.extend(blocks.iter().cloned());
        let fragment = crate::closure::message("user", &all);
        self.work.rendered += fragment.len() as u64;
        Ok(fragment)
    }

    fn apply_attempt(
        &mut self,
        entry: &Entry,
        attempt: &AttemptRecord,
        mark: &mut Mark,
    ) -> Result<(), ApplyError> {
        let open =
            mark.lane.and_then(|lane| self.lanes.get_mut(lane)).ok_or(ApplyError::NoLane(entry.id.0))?;
        open.tree.insert(&self.chain, Advance::Head);
        if let Some((last, _)) = attempt.markers.last() {
            open.tree.note_entry(&self.chain, *last as usize, CacheEntry::Doubtful);
        }
        mark.steps += 1;
        mark.branches = false;
        self.attempts.push(Attempt {
            record: entry.id,
            attempt: attempt.clone(),
            at: entry.at,
            outcome: None,
            turn: mark.turn,
        });
        Ok(())
    }

    fn apply_outcome(&mut self, entry: &Entry, outcome: &OutcomeRecord) -> Result<(), ApplyError> {
        let reference = ApplyError::Reference(entry.id.0);
        let index = self.attempts.iter().rposition(|known| known.attempt.attempt == outcome.attempt);
        let attempt = index.and_then(|index| self.attempts.get_mut(index)).ok_or(reference)?;
        attempt.outcome = Some((entry.at, outcome.clone()));
        let lane = attempt.attempt.lane;
        let marked = attempt.attempt.markers.last().map(|(last, _)| *last as usize);
        let cached = outcome.status == Some(200) && wrote_or_read(outcome);
        let open = self.lanes.iter_mut().find(|open| open.lane.record() == lane);
        if let (Some(last), Some(open), true) = (marked, open, cached) {
            open.tree.note_entry(&self.chain, last, CacheEntry::Confirmed);
        }
        Ok(())
    }

    /// Makes path, segments and chain those of the last mark.
    fn rebuild_path(&mut self) {
        let mark = self.mark();
        let mut path = Vec::new();
        let mut next = mark.message;
        while let Some(index) = next {
            path.push(index);
            next = self.messages.get(index).and_then(Message::previous);
        }
        path.reverse();
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
        let old = std::mem::replace(&mut self.chain, chain);
        let len = self.chain.len();
        if let Some(open) = self.mark().lane.and_then(|lane| self.lanes.get_mut(lane)) {
            // Requests go on from here; where the point itself was never sent, from the last one that was.
            let sent = open.tree.common(&self.chain).min(old.len());
            open.tree.rewind(&self.chain, len.min(sent));
        }
    }
}

fn wrote_or_read(outcome: &OutcomeRecord) -> bool {
    let Some(usage) =
        outcome.usage.as_ref().and_then(|raw| antefix_wire::json::Body::parse(raw.to_vec()).ok())
    else {
        return false;
    };
    let usage = antefix_wire::usage::Usage::read(usage.root());
    usage.cache_read.unwrap_or(0) + usage.cache_write.unwrap_or(0) > 0
}

/// Next number of a request.
pub(crate) fn next_attempt(conversation: &Conversation) -> AttemptId {
    AttemptId(conversation.attempts.len() as u64 + 1)
}
