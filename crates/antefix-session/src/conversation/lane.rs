use antefix_models::Ttl;
use antefix_prefix::{Chain, Position, Section, Segment};
use antefix_wire::json::{Body, Node};
use bytes::Bytes;

use super::message::segment_of;
use crate::dialect::{Dialect, Head};
use crate::record::{LaneRecord, RecordId};
use crate::warm::replay_envelope;

/// Why a lane's head cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaneError {
    /// Envelope, tools and system together are not a request.
    #[error("the lane's head is not a request: {0}")]
    Head(String),
}

/// Everything of a body in front of its messages, fixed when the lane opens.
#[derive(Clone, Debug)]
pub struct Lane {
    record: RecordId,
    lane: LaneRecord,
    head: Bytes,
    holds_messages: bool,
    /// For each position of the head, the offset in `head` where a marker goes.
    marker_offsets: Vec<usize>,
    segments: Vec<Segment>,
    static_head: Option<usize>,
    chain: Chain,
    /// The tools of its array and whether they are deferred, where they can be offered and withdrawn.
    tools: Vec<(String, bool)>,
}

impl Lane {
    /// Renders and reads the head of a lane.
    ///
    /// # Errors
    /// [`LaneError`] if envelope, tools and system do not make a request.
    pub fn new(record: RecordId, lane: LaneRecord) -> Result<Self, LaneError> {
        let Head { bytes: head, holds_messages } = lane.dialect.head(&lane).map_err(LaneError::Head)?;
        let mut whole = head.to_vec();
        whole.extend_from_slice(b"]}");
        let body = Body::parse(whole).map_err(|error| LaneError::Head(error.to_string()))?;
        let positions = lane.dialect.positions(body.root()).map_err(LaneError::Head)?;
        Ok(Self {
            record,
            marker_offsets: positions.iter().map(|position| position.range.end - 1).collect(),
            segments: positions.iter().map(segment_of).collect(),
            static_head: static_head(&positions, lane.static_blocks as usize),
            chain: Chain::of(&positions),
            tools: if lane.takes_tool_changes() { tools_of(body.root()) } else { Vec::new() },
            head,
            holds_messages,
            lane,
        })
    }

    /// The same lane for requests that are made once more, for one token of reply; `None` where they cannot be.
    pub(super) fn for_replay(&self) -> Option<Self> {
        let envelope = replay_envelope(&self.lane.envelope)?;
        Self::new(self.record, LaneRecord { envelope, ..self.lane.clone() }).ok()
    }

    /// The record that opened the lane.
    pub fn record(&self) -> RecordId {
        self.record
    }

    /// What that record says.
    pub fn spec(&self) -> &LaneRecord {
        &self.lane
    }

    /// The protocol all its bytes are written in.
    pub fn dialect(&self) -> Dialect {
        self.lane.dialect
    }

    /// How long entries live; `None` if no markers are sent.
    pub fn cache(&self) -> Option<Ttl> {
        self.lane.cache
    }

    /// The body up to where the first message goes.
    pub fn head(&self) -> &Bytes {
        &self.head
    }

    /// Whether messages stand in the head, so that a comma goes in front of the next.
    pub(super) fn holds_messages(&self) -> bool {
        self.holds_messages
    }

    pub(super) fn marker_offset(&self, position: usize) -> Option<usize> {
        self.marker_offsets.get(position).copied()
    }

    /// Number of positions of the head.
    pub fn positions(&self) -> usize {
        self.segments.len()
    }

    pub(super) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The last position that all sessions of a kind share.
    pub fn static_head(&self) -> Option<usize> {
        self.static_head
    }

    pub(super) fn chain(&self) -> &Chain {
        &self.chain
    }

    /// The tools of its array in order, and whether they are deferred; none where they can be neither offered nor
    /// withdrawn.
    pub(super) fn tools(&self) -> &[(String, bool)] {
        &self.tools
    }
}

fn tools_of(body: Node<'_>) -> Vec<(String, bool)> {
    let tool = |tool: Node<'_>| {
        let is_deferred = tool.get("defer_loading").and_then(Node::bool) == Some(true);
        Some((tool.get("name")?.str()?.into_owned(), is_deferred))
    };
    body.get("tools").into_iter().flat_map(Node::items).filter_map(tool).collect()
}

fn static_head(positions: &[Position], static_blocks: usize) -> Option<usize> {
    let system = positions.iter().position(|position| position.section == Section::System);
    match system {
        Some(first) if static_blocks > 0 => Some((first + static_blocks).min(positions.len()) - 1),
        Some(first) => first.checked_sub(1),
        None => positions.len().checked_sub(1),
    }
}
