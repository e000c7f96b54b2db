use antefix_models::Ttl;
use antefix_prefix::{Chain, Position, Section, Segment, positions};
use antefix_wire::anthropic::Request;
use antefix_wire::json::Body;
use bytes::{BufMut, Bytes, BytesMut};

use super::message::segment_of;
use crate::record::{LaneRecord, RecordId};

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
    /// The body up to and with `"messages":[`.
    head: Bytes,
    /// For each position of the head, the offset in `head` where a marker goes.
    marker_offsets: Vec<usize>,
    segments: Vec<Segment>,
    static_head: Option<usize>,
    chain: Chain,
}

impl Lane {
    /// Renders and reads the head of a lane.
    ///
    /// # Errors
    /// [`LaneError`] if envelope, tools and system do not make a request.
    pub fn new(record: RecordId, lane: LaneRecord) -> Result<Self, LaneError> {
        let head = render_head(&lane)?;
        let mut whole = head.to_vec();
        whole.extend_from_slice(b"]}");
        let body = Body::parse(whole).map_err(|error| LaneError::Head(error.to_string()))?;
        let request = Request::read(body.root()).map_err(|error| LaneError::Head(error.to_string()))?;
        let positions = positions(&request);
        Ok(Self {
            record,
            marker_offsets: positions.iter().map(|position| position.range.end - 1).collect(),
            segments: positions.iter().map(segment_of).collect(),
            static_head: static_head(&positions, lane.static_blocks as usize),
            chain: Chain::of(&positions),
            head,
            lane,
        })
    }

    /// The record that opened the lane.
    pub fn record(&self) -> RecordId {
        self.record
    }

    /// What that record says.
    pub fn spec(&self) -> &LaneRecord {
        &self.lane
    }

    /// How long entries live; `None` if no markers are sent.
    pub fn cache(&self) -> Option<Ttl> {
        self.lane.cache
    }

    /// The body up to and with `"messages":[`.
    pub fn head(&self) -> &Bytes {
        &self.head
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
}

fn render_head(lane: &LaneRecord) -> Result<Bytes, LaneError> {
    let envelope = lane.envelope.strip_suffix(b"}").filter(|envelope| envelope.len() > 1);
    let envelope = envelope.ok_or_else(|| LaneError::Head("the envelope is empty".to_owned()))?;
    for (name, value) in [("tools", &lane.tools), ("system", &lane.system)] {
        if !value.starts_with(b"[") {
            return Err(LaneError::Head(format!("`{name}` is not an array")));
        }
    }
    let mut head = BytesMut::with_capacity(envelope.len() + lane.tools.len() + lane.system.len() + 48);
    head.put_slice(envelope);
    for (name, value) in [("tools", &lane.tools), ("system", &lane.system)] {
        if value.as_ref() != b"[]" {
            head.put_slice(format!(",\"{name}\":").as_bytes());
            head.put_slice(value);
        }
    }
    head.put_slice(b",\"messages\":[");
    Ok(head.freeze())
}

fn static_head(positions: &[Position], static_blocks: usize) -> Option<usize> {
    let system = positions.iter().position(|position| position.section == Section::System);
    match system {
        Some(first) if static_blocks > 0 => Some((first + static_blocks).min(positions.len()) - 1),
        Some(first) => first.checked_sub(1),
        None => positions.len().checked_sub(1),
    }
}
