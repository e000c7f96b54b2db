use std::borrow::Cow;

use antefix_models::Tokens;
use antefix_prefix::{Position, Segment};
use antefix_wire::json::{Body, Kind, Node, compact};
use bytes::Bytes;

use super::ToolChange;
use crate::dialect::{Dialect, Reading};
use crate::record::{MessageRecord, Origin, RecordId};

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

impl Call {
    /// The call that is meant: what [`TOOL_CALL`] names, with its arguments, which may be a string that holds them. A
    /// call that names nothing is itself.
    pub fn effective(&self) -> Cow<'_, Self> {
        let body = Body::parse(self.input.to_vec()).ok().filter(|_| self.name == TOOL_CALL);
        let meant = body.as_ref().and_then(|body| {
            let name = body.root().get("name")?.str().filter(|name| !name.is_empty())?.into_owned();
            Some((name, arguments(body.root())?))
        });
        match meant {
            Some((name, input)) => Cow::Owned(Self { id: self.id.clone(), name, input }),
            None => Cow::Borrowed(self),
        }
    }
}

/// The tool through which tools are called that stand in no array.
pub const TOOL_CALL: &str = "tool_call";

/// The arguments of a call of that tool; without any they are `{}`.
fn arguments(input: Node<'_>) -> Option<Bytes> {
    let Some(given) = input.get("arguments").filter(|node| !node.is_null()) else {
        return Some(Bytes::from_static(b"{}"));
    };
    let held = given.str().map(|text| if text.trim().is_empty() { "{}".into() } else { text });
    let body = Body::parse(held.as_deref().unwrap_or(given.raw())).ok()?;
    let mut out = Vec::with_capacity(body.bytes().len());
    compact(&mut out, body.root());
    (body.root().kind() == Kind::Object).then(|| out.into())
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
    /// The lane it is said in.
    pub(super) lane: usize,
    /// The record in front of that turn.
    pub(super) front: RecordId,
    /// Position of its first block, counted from the end of the head.
    pub(super) start: u64,
}

/// A message of the conversation with what is derived from its bytes.
#[derive(Clone, Debug)]
pub struct Message {
    place: Place,
    origin: Origin,
    says: Vec<RecordId>,
    dialect: Dialect,
    is_user: bool,
    fragment: Bytes,
    marker_offsets: Vec<usize>,
    segments: Vec<Segment>,
    calls: Vec<Call>,
    /// Ids of the calls of tools that the provider runs.
    server_calls: Vec<String>,
    /// Ids of such calls that have their result here.
    server_results: Vec<String>,
    /// What becomes of the tools of the array here, in order.
    tool_changes: Vec<ToolChange>,
}

impl Message {
    pub(super) fn read(
        place: Place,
        dialect: Dialect,
        record: &MessageRecord,
        fragment: Bytes,
    ) -> Result<(Self, Vec<Position>), String> {
        let Reading { positions, is_user, calls, server_calls, server_results, tool_changes } =
            dialect.read(&fragment)?;
        let message = Self {
            place,
            origin: record.origin,
            says: record.says.clone(),
            dialect,
            is_user,
            marker_offsets: positions.iter().map(|position| position.range.end - 1).collect(),
            segments: positions.iter().map(segment_of).collect(),
            calls,
            server_calls,
            server_results,
            tool_changes,
            fragment,
        };
        Ok((message, positions))
    }

    /// The positions of its bytes, read anew.
    pub(super) fn positions(&self) -> Vec<Position> {
        self.dialect.read(&self.fragment).map(|reading| reading.positions).unwrap_or_default()
    }

    /// The record that says it.
    pub fn record(&self) -> RecordId {
        self.place.record
    }

    /// Who it comes from.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Whether it holds a summary of the provider's: no message in front of it is read any more.
    pub fn holds_summary(&self) -> bool {
        self.segments.iter().any(Segment::is_summary)
    }

    /// Whether it is a reminder, and nothing else.
    pub(crate) fn is_reminder(&self) -> bool {
        self.origin == Origin::Reminder
    }

    /// The records of what it says of the surroundings.
    pub fn says(&self) -> &[RecordId] {
        &self.says
    }

    /// The turn it was said in.
    pub fn turn(&self) -> u64 {
        self.place.turn
    }

    /// The lane it was said in.
    pub(super) fn lane(&self) -> usize {
        self.place.lane
    }

    /// Whether it is the user's, or holds results.
    pub fn is_user(&self) -> bool {
        self.is_user
    }

    /// The protocol it is written in.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Whether it holds a model's thinking.
    pub(crate) fn thinks(&self) -> bool {
        self.segments.iter().any(|segment| segment.thinks)
    }

    /// Its parts in order, as content blocks of the Messages API.
    pub fn blocks(&self) -> Vec<Bytes> {
        self.dialect.blocks(&self.fragment)
    }

    /// Its bytes, as sent but for markers; several messages of Chat Completions are set apart by commas.
    pub fn fragment(&self) -> &Bytes {
        &self.fragment
    }

    /// What becomes here of the tools of the array, in order: a result may show one, a reminder may offer or withdraw
    /// one.
    pub fn tool_changes(&self) -> &[ToolChange] {
        &self.tool_changes
    }

    /// The tools it calls, in order.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// The record in front of the one that says it.
    pub(super) fn parent(&self) -> RecordId {
        self.place.parent
    }

    /// The record in front of the turn it was said in.
    pub(super) fn front(&self) -> RecordId {
        self.place.front
    }

    pub(super) fn server_calls(&self) -> &[String] {
        &self.server_calls
    }

    pub(super) fn server_results(&self) -> &[String] {
        &self.server_results
    }

    /// Its blocks in front of the first call of the provider's tools that `is_open` holds for.
    pub(super) fn blocks_up_to(&self, is_open: &dyn Fn(&String) -> bool) -> Vec<Bytes> {
        self.dialect.blocks_up_to(&self.fragment, is_open)
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

    /// Number of positions from the end of the head to its own end.
    pub(crate) fn end_position(&self) -> usize {
        self.end() as usize
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
    let by_length = Tokens::of_bytes(position.range.len() as u64);
    let tokens = if position.image { by_length.min(Tokens::OF_AN_IMAGE) } else { by_length };
    Segment::of(position, tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_through_another_tool_is_the_call_that_is_meant() {
        let call = |name: &str, input: &str| Call {
            id: "c".to_owned(),
            name: name.to_owned(),
            input: Bytes::copy_from_slice(input.as_bytes()),
        };
        for (input, expect) in [
            (
                r#"{"name":"mcp__a__b","arguments":{"z": 1.50,"a":[]}}"#,
                Some(("mcp__a__b", r#"{"z":1.50,"a":[]}"#)),
            ),
            (r#"{"arguments":"{\"z\": 1.50}","name":"b"}"#, Some(("b", r#"{"z":1.50}"#))),
            (r#"{"name":"b"}"#, Some(("b", "{}"))),
            (r#"{"name":"b","arguments":null}"#, Some(("b", "{}"))),
            (r#"{"name":"b","arguments":" "}"#, Some(("b", "{}"))),
            (r#"{"name":"b","arguments":"x"}"#, None),
            (r#"{"name":"b","arguments":[1]}"#, None),
            (r#"{"name":""}"#, None),
            (r#"{"name":1}"#, None),
            ("{}", None),
        ] {
            let written = call(TOOL_CALL, input);
            let expect = expect.map_or(written.clone(), |(name, input)| call(name, input));
            assert_eq!(*written.effective(), expect, "{input}");
            let other = call("read", input);
            assert_eq!(*other.effective(), other, "only one tool calls others");
        }
    }
}
