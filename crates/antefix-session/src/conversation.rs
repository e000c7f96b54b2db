//! What a transcript says, derived record by record. The live process and a cold replay apply the same records
//! through the same function, so that they cannot differ.

mod apply;
mod compose;
mod context;
mod epoch;
mod expected;
mod lane;
mod message;
mod offers;
mod tail;

pub use apply::ApplyError;
pub use compose::{ComposedBody, Work};
pub use context::Reminder;
pub(crate) use epoch::COMPACTION;
pub(crate) use expected::Reach;
pub use lane::Lane;
pub use message::{Call, Message, TOOL_CALL};
pub use offers::{OFFERS, Offers, Standing, ToolChange};
pub use tail::Tail;

use std::collections::{BTreeMap, BTreeSet};

use antefix_models::{Rules, Ttl};
use antefix_prefix::{
    CachePlan, Chain, Digest, Effective, Interval, Marker, PlanInput, Relation, Segment, Tree,
    effective_after, plan,
};
use bytes::Bytes;

use crate::dialect::Dialect;
use crate::guard::MOST_REFUSED;
use crate::record::{
    ASKED_BY, AttemptId, AttemptRecord, Header, Millis, OutcomeRecord, PermissionRecord, Planned, Purpose,
    RecordId, ResultRecord,
};
use compose::Composer;
use context::Observed;
use epoch::{Epoch, Measured, Scale};

/// A request that was made, with its outcome once there is one.
#[derive(Clone, Debug)]
pub struct Attempt {
    /// The record that says so.
    pub record: RecordId,
    /// What it says.
    pub attempt: AttemptRecord,
    /// When it was sent.
    pub at: Millis,
    /// The outcome and when it came.
    pub outcome: Option<(Millis, OutcomeRecord)>,
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
    /// Ids of all calls on record, also of those a rewind has left.
    call_ids: BTreeSet<String>,
    attempts: Vec<Attempt>,
    /// Also of calls that a rewind has left: what the user allowed stays allowed.
    permissions: Vec<PermissionRecord>,
    /// What was observed in the midst of the conversation, also what a rewind has left.
    observed: Vec<Observed>,
    /// The messages of the conversation as it stands, oldest first.
    path: Vec<usize>,
    /// Segments of head and path, for the planner.
    segments: Vec<Segment>,
    /// What was carried over, oldest first.
    carried: Vec<Carried>,
    /// What compactions have begun, oldest first.
    epochs: Vec<Epoch>,
    /// Digests of head and path.
    chain: Chain,
    composer: Composer,
    work: Work,
    /// When the provider's cache is known to have begun; what was sent before is not in it.
    cache_began: Millis,
}

/// A lane with the requests that were made in it.
struct OpenLane {
    lane: Lane,
    tree: Tree,
    /// A request of this lane has read from the cache, so that the provider has one and tells of it.
    has_read: bool,
    /// When the requests began that have last read or written each entry, by the prefix that ends with it.
    touched: BTreeMap<Digest, Millis>,
    /// The lane whose place a compaction has put this one in, as an index.
    replaces: Option<usize>,
}

impl OpenLane {
    fn new(lane: Lane, replaces: Option<usize>) -> Self {
        Self { lane, tree: Tree::new(), has_read: false, touched: BTreeMap::new(), replaces }
    }
}

/// What was carried over into another dialect.
#[derive(Clone, Copy, Debug)]
struct Carried {
    /// The last message of it, as an index into `messages`.
    last: usize,
    /// The epoch it was said in.
    epoch: Option<usize>,
}

/// How things stand after a record; what a rewind returns to.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    /// The last message, as an index into `messages`.
    message: Option<usize>,
    /// The latest result that no message has sealed.
    pending: Option<RecordId>,
    /// The latest that was observed, as an index into `observed`.
    context: Option<usize>,
    /// The latest of it that a message has said, or passed over since there was nothing to say.
    said: Option<usize>,
    lane: Option<usize>,
    turn: u64,
    /// The record in front of that turn.
    front: RecordId,
    in_turn: bool,
    /// Requests made in this turn.
    steps: u64,
    /// A rewind has left sent requests behind, and no request was made since.
    branches: bool,
    /// The conversation is being carried over from another dialect.
    carry: Option<Carry>,
    /// What the last compaction has begun, as an index into `epochs`.
    epoch: Option<usize>,
    /// Where the conversation stands while a summary of it is asked for beside it.
    aside: Option<RecordId>,
    /// Length of a prompt on this path that the provider has counted.
    measured: Option<Measured>,
    /// How what was counted in front of the last compaction stands to its length.
    scale: Option<Scale>,
    /// Compactions in a row that came to nothing.
    failures: u64,
}

/// A conversation on its way into another dialect.
#[derive(Clone, Copy, Debug)]
struct Carry {
    /// The last message of what is carried over, as an index into `messages`.
    source: Option<usize>,
    /// What had been observed by then, and what of it said.
    context: Option<usize>,
    said: Option<usize>,
    /// Number of the last turn there.
    turn: u64,
    /// Messages still to come.
    left: u64,
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
            call_ids: BTreeSet::new(),
            attempts: Vec::new(),
            permissions: Vec::new(),
            observed: Vec::new(),
            path: Vec::new(),
            carried: Vec::new(),
            epochs: Vec::new(),
            segments: Vec::new(),
            chain: Chain::new(),
            composer: Composer::default(),
            work: Work::default(),
            cache_began: Millis(0),
        }
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

    /// The protocol of that lane.
    pub fn dialect(&self) -> Dialect {
        self.lane().map(Lane::dialect).unwrap_or_default()
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

    /// The messages that are still to be carried over into the open lane, oldest first; `None` if the conversation is
    /// in its dialect and was held with its model. A turn that was carried over before is given as it was said first, so that nothing is lost
    /// on a way there and back.
    pub(crate) fn uncarried(&self) -> Option<Vec<&Message>> {
        let mark = self.mark();
        let open = self.lane().map(Lane::spec);
        let spec = |message: &Message| Some(self.lanes.get(message.lane())?.lane.spec());
        let is_other = |message: &Message| {
            open.zip(spec(message)).is_some_and(|(open, spoken)| !open.takes_words_of(spoken))
        };
        let source = match mark.carry {
            Some(carry) => carry.source,
            None => mark.message.filter(|&last| self.messages.get(last).is_some_and(is_other)),
        };
        let first_said = self.first_said();
        let turn_of = |index: &usize| self.messages.get(*index).map_or(0, Message::turn);
        let path = self.path_to(source?);
        let turns = path.chunk_by(|one, other| turn_of(one) == turn_of(other));
        let indices = turns.flat_map(|turn| {
            let said = turn.first().and_then(|first| first_said.get(&turn_of(first)));
            said.map_or(turn, Vec::as_slice)
        });
        Some(indices.filter_map(|&index| self.messages.get(index)).collect())
    }

    /// What a call returned last, as it was written, and the dialect that is in.
    pub(crate) fn returned(&self, call: &str) -> Option<(Dialect, &Bytes)> {
        let (id, result) = self.results.iter().rev().find(|(_, result)| result.call == call)?;
        let lane = self.marks.get(id.0 as usize)?.lane?;
        Some((self.lanes.get(lane)?.lane.dialect(), &result.fragment))
    }

    /// The messages of each turn that was carried over, as they were said; no two turns have one number.
    fn first_said(&self) -> BTreeMap<u64, Vec<usize>> {
        let mut all = BTreeMap::new();
        let epoch = self.mark().epoch;
        // A summary stands for turns whose numbers it bears.
        for carried in self.carried.iter().filter(|carried| carried.epoch == epoch) {
            let mut turns: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
            for index in self.path_to(carried.last) {
                turns.entry(self.messages.get(index).map_or(0, Message::turn)).or_default().push(index);
            }
            for (turn, said) in turns {
                all.entry(turn).or_insert(said);
            }
        }
        all
    }

    /// Whether all that was said is in the open lane's dialect and from its model; if not, the next prompt sees to it.
    pub fn is_carried_over(&self) -> bool {
        self.uncarried().is_none()
    }

    /// Whether an entry of the lane is known to be there for what is said now.
    pub(crate) fn has_entry(&self, rules: &Rules) -> bool {
        self.open_lane()
            .is_some_and(|open| open.tree.readable(&self.chain, &self.segments, rules).confirmed.is_some())
    }

    /// The messages up to and with one, oldest first, as indices.
    fn path_to(&self, last: usize) -> Vec<usize> {
        let mut path = Vec::new();
        let mut next = Some(last);
        while let Some(index) = next {
            path.push(index);
            next = self.messages.get(index).and_then(Message::previous);
        }
        path.reverse();
        path
    }

    /// The requests made so far, in order.
    pub fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }

    /// What was decided about calls, in order.
    pub fn permissions(&self) -> &[PermissionRecord] {
        &self.permissions
    }

    /// What a call was executed with: what was put in the place of the model's input, or that.
    pub fn effective_input<'a>(&'a self, call: &'a Call) -> &'a Bytes {
        let mut decided = self.permissions.iter().rev().filter(|decided| decided.call == call.id);
        decided.find_map(|decided| decided.effective_input.as_ref()).unwrap_or(&call.input)
    }

    /// How many calls of this turn, up to the last one that returned, were all refused by one rule for one tool. Those
    /// that somebody was, or would have been, asked about do not count: the next one may be allowed.
    pub fn refused_in_a_row(&self) -> u64 {
        let in_turn = self.path().rev().take_while(|message| message.turn() == self.turn());
        let Some(begin) = in_turn.last().map(Message::record) else { return 0 };
        let refusal = |result: &ResultRecord| {
            let decided = self.permissions.iter().rev().find(|permission| permission.call == result.call)?;
            let is_refused = !decided.allowed && !decided.source.starts_with(ASKED_BY);
            is_refused.then(|| (decided.tool.clone(), decided.rule.clone()))
        };
        let mut refusals = self.results.range(begin..).rev().map(|(_, result)| refusal(result));
        let Some(Some(last)) = refusals.next() else { return 0 };
        let like = refusals.take_while(|refusal| refusal.as_ref() == Some(&last));
        1 + like.take(MOST_REFUSED as usize - 1).count() as u64
    }

    /// The results recorded so far.
    pub fn results(&self) -> &BTreeMap<RecordId, ResultRecord> {
        &self.results
    }

    /// Ids of all calls on record, also of those a rewind has left: no other call may have one of them.
    pub(crate) fn call_ids(&self) -> &BTreeSet<String> {
        &self.call_ids
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

    /// The cache plan for the conversation as it stands.
    pub fn plan(&self, rules: &Rules) -> CachePlan {
        let Some((open, ttl)) = self.open_lane().and_then(|open| Some((open, open.lane.cache()?))) else {
            return CachePlan::default();
        };
        let entries = open.tree.readable(&self.chain, &self.segments, rules);
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

    /// What the provider's own rules leave of what was sent before, for a request that is sent at `at`. A request that
    /// was answered on another day (UTC) lets a date change.
    pub fn forecast(&self, rules: &Rules, at: Millis) -> Effective {
        let sent = self.open_lane().map_or(0, |open| open.tree.common(&self.chain));
        let day = |at: Millis| at.0 / 86_400_000;
        let is_new_day = self.attempts.last().is_some_and(|last| day(last.at) != day(at));
        let interval = if is_new_day { Interval::NewDay } else { Interval::SameDay };
        effective_after(&self.segments, sent, rules, interval)
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

    /// Composes the body that an attempt's record is about, with the records in front of it applied.
    ///
    /// # Errors
    /// [`ApplyError`] if no lane is open, or its requests cannot be made once more.
    pub fn compose_attempt(&mut self, attempt: &AttemptRecord) -> Result<ComposedBody, ApplyError> {
        let marker = |(at, ttl): &(u64, Ttl)| Marker { position: *at as usize, ttl: *ttl };
        let markers: Vec<Marker> = attempt.markers.iter().map(marker).collect();
        if attempt.purpose != Purpose::Warm {
            return self.compose(&markers);
        }
        let missing = ApplyError::NoLane(self.head().0);
        let lane = self.lane().and_then(Lane::for_replay).ok_or(missing)?;
        let head = lane.positions() as u64;
        let is_in = |index: &&usize| {
            self.messages.get(**index).is_some_and(|message| head + message.end() <= attempt.positions)
        };
        let path: Vec<usize> = self.path.iter().take_while(is_in).copied().collect();
        // One of its own: the other's bytes begin with another head.
        let mut composer = Composer::default();
        Ok(composer.compose(&lane, &self.messages, &path, &markers, &mut self.work))
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
            // Gone back to the start of a conversation without tools and prompt, where there is no point to mark.
            Relation::Diverges { at: 0 } if self.mark().branches && self.chain.head_len() == 0 => {
                Planned::BranchesAt(0)
            }
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
}

/// Next number of a request.
pub(crate) fn next_attempt(conversation: &Conversation) -> AttemptId {
    AttemptId(conversation.attempts.len() as u64 + 1)
}
