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

/// Where a message stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The record that says it.
    pub(super) record: RecordId,
    /// The record in front of that one.
    pub(super) parent: RecordId,
    /// The message in front of it.
    pub(super) previous: Option<usize>,
    /// The turn it is said in.
    pub(super) turn: u64,
    /// Position of its first block, counted from the end of the head.
    pub(super) start: u64,
}

/// A message of the conversation with what is derived from its bytes.
#[derive(Clone, Debug)]
pub struct Message {
    place: Place,
    origin: Origin,
    role: Role,
    fragment: Bytes,
    marker_offsets: Vec<usize>,
    segments: Vec<Segment>,
    calls: Vec<Call>,
    /// Ids of the calls of tools that the provider runs.
    server_calls: Vec<String>,
    /// Ids of such calls that have their result here.
    server_results: Vec<String>,
}

impl Message {
    pub(super) fn read(
        place: Place,
        origin: Origin,
        fragment: Bytes,
    ) -> Result<(Self, Vec<Position>), String> {
        let body = Body::parse(fragment.to_vec()).map_err(|error| error.to_string())?;
        let message = anthropic::Message::read(body.root()).map_err(|error| error.to_string())?;
        if message.content.iter().any(|block| block.from_string) {
            return Err("its content is not an array of blocks".to_owned());
        }
        let positions = message_positions(&message, 0);
        let message = Self {
            place,
            origin,
            role: message.role,
            marker_offsets: positions.iter().map(|position| position.range.end - 1).collect(),
            segments: positions.iter().map(segment_of).collect(),
            calls: message.content.iter().filter_map(call_of).collect(),
            server_calls: message.content.iter().filter_map(server_call).collect(),
            server_results: message.content.iter().filter_map(server_result).collect(),
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
        self.place.record
    }

    /// Who it comes from.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// The turn it was said in.
    pub fn turn(&self) -> u64 {
        self.place.turn
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

    /// The record in front of the one that says it.
    pub(super) fn parent(&self) -> RecordId {
        self.place.parent
    }

    pub(super) fn server_calls(&self) -> &[String] {
        &self.server_calls
    }

    pub(super) fn server_results(&self) -> &[String] {
        &self.server_results
    }

    /// Its blocks in front of the first call of the provider's tools that `is_open` holds for.
    pub(super) fn blocks_up_to(&self, is_open: &dyn Fn(&String) -> bool) -> Vec<Bytes> {
        let Ok(body) = Body::parse(self.fragment.to_vec()) else { return Vec::new() };
        let Ok(message) = anthropic::Message::read(body.root()) else { return Vec::new() };
        let stays = |block: &&Block<'_>| !server_call(block).is_some_and(|id| is_open(&id));
        let kept = message.content.iter().take_while(stays);
        kept.map(|block| Bytes::copy_from_slice(block.node.raw().as_bytes())).collect()
    }

    pub(super) fn previous(&self) -> Option<usize> {
        self.place.previous
    }

    pub(super) fn start(&self) -> u64 {
        self.place.start
    }

    /// Position behind its last block, counted from the end of the head.
    pub(super) fn end(&self) -> u64 {
        self.place.start + self.segments.len() as u64
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

fn server_call(block: &Block<'_>) -> Option<String> {
    let is_call = matches!(block.kind, BlockKind::ServerToolUse | BlockKind::McpToolUse);
    Some(block.node.get("id").filter(|_| is_call)?.str()?.into_owned())
}

fn server_result(block: &Block<'_>) -> Option<String> {
    let is_clients = block.kind == BlockKind::ToolResult;
    Some(block.node.get("tool_use_id").filter(|_| !is_clients)?.str()?.into_owned())
}
