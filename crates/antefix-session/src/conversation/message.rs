use antefix_models::Tokens;
use antefix_prefix::{Position, Segment, message_positions};
use antefix_wire::anthropic::{self, Block, BlockKind, Role};
use antefix_wire::json::{Body, Node};
use bytes::Bytes;

use crate::record::{Origin, RecordId};

/// A tool call the model asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its id on the wire.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// The input object, as the model wrote it.
    pub input: Bytes,
}

/// A message of the conversation with what is derived from its bytes.
#[derive(Clone, Debug)]
pub struct Message {
    record: RecordId,
    previous: Option<usize>,
    turn: u64,
    origin: Origin,
    role: Role,
    fragment: Bytes,
    /// Position of its first block, counted from the end of the head.
    start: u64,
    marker_offsets: Vec<usize>,
    segments: Vec<Segment>,
    calls: Vec<Call>,
}

impl Message {
    pub(super) fn read(
        record: RecordId,
        previous: Option<usize>,
        turn: u64,
        origin: Origin,
        fragment: Bytes,
        start: u64,
    ) -> Result<(Self, Vec<Position>), String> {
        let body = Body::parse(fragment.to_vec()).map_err(|error| error.to_string())?;
        let message = anthropic::Message::read(body.root()).map_err(|error| error.to_string())?;
        let positions = message_positions(&message, 0);
        let message = Self {
            record,
            previous,
            turn,
            origin,
            role: message.role,
            marker_offsets: positions.iter().map(|position| position.range.end - 1).collect(),
            segments: positions.iter().map(segment_of).collect(),
            calls: message.content.iter().filter_map(call_of).collect(),
            start,
            fragment: fragment.clone(),
        };
        Ok((message, positions))
    }

    /// The positions of its bytes, read anew.
    pub(super) fn positions(&self) -> Vec<Position> {
        let Ok(body) = Body::parse(self.fragment.to_vec()) else { return Vec::new() };
        anthropic::Message::read(body.root())
            .map(|message| message_positions(&message, 0))
            .unwrap_or_default()
    }

    /// The record that says it.
    pub fn record(&self) -> RecordId {
        self.record
    }

    /// Who it comes from.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// The turn it was said in.
    pub fn turn(&self) -> u64 {
        self.turn
    }

    /// Whether its role is the user's.
    pub fn is_user(&self) -> bool {
        self.role == Role::User
    }

    /// Its bytes, as sent but for markers.
    pub fn fragment(&self) -> &Bytes {
        &self.fragment
    }

    /// The tools it calls, in order.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    pub(super) fn previous(&self) -> Option<usize> {
        self.previous
    }

    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// Position behind its last block, counted from the end of the head.
    pub(super) fn end(&self) -> u64 {
        self.start + self.segments.len() as u64
    }

    pub(super) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    pub(super) fn marker_offset(&self, position: usize) -> Option<usize> {
        self.marker_offsets.get(position).copied()
    }
}

/// What the planner needs to know of a position; tokens are estimated at 3.5 bytes each.
pub(super) fn segment_of(position: &Position) -> Segment {
    Segment::of(position, Tokens(position.range.len() as u64 * 2 / 7))
}

fn call_of(block: &Block<'_>) -> Option<Call> {
    if block.kind != BlockKind::ToolUse {
        return None;
    }
    let text = |name| block.node.get(name).and_then(Node::str);
    Some(Call {
        id: text("id")?.into_owned(),
        name: text("name")?.into_owned(),
        input: Bytes::copy_from_slice(block.node.get("input").map_or("{}", Node::raw).as_bytes()),
    })
}
