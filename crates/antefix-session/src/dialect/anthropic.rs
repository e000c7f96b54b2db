//! The Messages API.

use std::collections::BTreeSet;

use antefix_prefix::{Position, message_positions, positions as request_positions};
use antefix_wire::anthropic::{Block, BlockKind, Message, Request, Role};
use antefix_wire::assemble::{Assembled, AssembledBlock, StopReason};
use antefix_wire::json::{Node, write_string};
use antefix_wire::{Edit, splice};
use bytes::{BufMut, Bytes, BytesMut};

use super::{Head, Ids, Reading, Translation, in_pattern, is_server_call, open_envelope, parse};
use crate::closure::{Texts, is_blank_text, text_block};
use crate::conversation::{Call, ToolChange};
use crate::record::{LaneRecord, Origin};

pub(super) fn positions(body: Node<'_>) -> Result<Vec<Position>, String> {
    Ok(request_positions(&Request::read(body).map_err(|error| error.to_string())?))
}

pub(super) fn head(lane: &LaneRecord) -> Result<Head, String> {
    let envelope = open_envelope(lane)?;
    let mut head = BytesMut::with_capacity(envelope.len() + lane.tools.len() + lane.system.len() + 48);
    head.put_slice(envelope);
    for (name, value) in [("tools", &lane.tools), ("system", &lane.system)] {
        if value.as_ref() != b"[]" {
            head.put_slice(format!(",\"{name}\":").as_bytes());
            head.put_slice(value);
        }
    }
    head.put_slice(b",\"messages\":[");
    Ok(Head { bytes: head.freeze(), holds_messages: false })
}

pub(super) fn read(fragment: &[u8]) -> Result<Reading, String> {
    let body = parse(fragment)?;
    let message = Message::read(body.root()).map_err(|error| error.to_string())?;
    if message.content.iter().any(|block| block.from_string) {
        return Err("its content is not an array of blocks".to_owned());
    }
    Ok(Reading {
        positions: message_positions(&message, 0),
        is_user: message.role == Role::User,
        calls: message.content.iter().filter_map(call_of).collect(),
        server_calls: message.content.iter().filter_map(server_call).collect(),
        server_results: message.content.iter().filter_map(server_result).collect(),
        tool_changes: message.content.iter().flat_map(tool_changes).collect(),
    })
}

pub(super) fn blocks(fragment: &[u8]) -> Vec<Bytes> {
    blocks_up_to(fragment, &|_| false)
}

pub(super) fn blocks_up_to(fragment: &[u8], is_open: &dyn Fn(&String) -> bool) -> Vec<Bytes> {
    let Ok(body) = parse(fragment) else { return Vec::new() };
    let Ok(message) = Message::read(body.root()) else { return Vec::new() };
    let stays = |block: &&Block<'_>| !server_call(block).is_some_and(|id| is_open(&id));
    let kept = message.content.iter().take_while(stays);
    kept.map(|block| Bytes::copy_from_slice(block.node.raw().as_bytes())).collect()
}

/// A message made of compact content blocks.
pub(super) fn message(role: &str, blocks: &[Bytes]) -> Bytes {
    let mut out = br#"{"role":"#.to_vec();
    write_string(&mut out, role);
    out.extend_from_slice(br#","content":["#);
    write_list(&mut out, blocks);
    out.extend_from_slice(b"]}");
    out.into()
}

/// A `tool_result` block made of compact content blocks.
pub(super) fn result(call: &str, content: &[Bytes], is_error: bool) -> Bytes {
    let mut out = br#"{"type":"tool_result","tool_use_id":"#.to_vec();
    write_string(&mut out, call);
    out.extend_from_slice(br#","content":["#);
    write_list(&mut out, content);
    out.push(b']');
    if is_error {
        out.extend_from_slice(br#","is_error":true"#);
    }
    out.push(b'}');
    out.into()
}

/// A user's message of results, with text blocks at the end of the last one's content, and further blocks.
pub(super) fn sealed(results: &[Bytes], inside: &[Bytes], blocks: &[Bytes]) -> Bytes {
    let mut parts = results.to_vec();
    if let Some(last) = parts.last_mut().filter(|_| !inside.is_empty()) {
        *last = with_texts(last, inside).unwrap_or_else(|| last.clone());
    }
    parts.extend_from_slice(blocks);
    message("user", &parts)
}

/// Texts first: they say why tools come and go.
pub(super) fn reminder(texts: &[String], changes: &[ToolChange]) -> Bytes {
    let texts = texts.iter().map(|text| text_block(text));
    let blocks: Vec<Bytes> = texts.chain(changes.iter().map(tool_change)).collect();
    message("system", &blocks)
}

/// A block that offers or withdraws a tool of the array.
///
/// Source: `beta_request_tool_addition_block_param.py`, `beta_request_tool_removal_block_param.py` and
/// `beta_tool_change_tool_reference_param.py` of the `anthropic` SDK 2.14.0 (November 2026).
fn tool_change(change: &ToolChange) -> Bytes {
    let (kind, name) = match change {
        ToolChange::Offered(name) => ("tool_addition", name),
        ToolChange::Withdrawn(name) => ("tool_removal", name),
    };
    let mut out = format!(r#"{{"type":"{kind}","tool":{{"type":"tool_reference","name":"#).into_bytes();
    write_string(&mut out, name);
    out.extend_from_slice(b"}}");
    out.into()
}

/// The blocks that are whole, and text as far as it came, in front of a call of the provider's tools that stays
/// without result. Calls of other tools are all there.
pub(super) fn usable(message: &Assembled) -> Vec<&AssembledBlock> {
    let is_kept = |block: &&AssembledBlock| match block.kind {
        BlockKind::Text => !is_blank_text(&block.json),
        BlockKind::ToolUse => true,
        kind => block.complete || is_server_call(kind),
    };
    let mut blocks: Vec<&AssembledBlock> = message.blocks.iter().filter(is_kept).collect();
    let answered: BTreeSet<String> = blocks.iter().filter_map(|block| answers(block)).collect();
    let waits = message.complete && matches!(message.stop(), Some(StopReason::Pause | StopReason::Calls));
    let is_open = |block: &&AssembledBlock| {
        let id = named(&block.json).filter(|_| block.complete).map(|(id, _)| id);
        is_server_call(block.kind) && id.is_none_or(|id| !waits && !answered.contains(&id))
    };
    blocks.truncate(blocks.iter().position(is_open).unwrap_or(blocks.len()));
    blocks
}

/// A call as a request may hold it, if it has id and name: both in the API's pattern `^[a-zA-Z0-9_-]+$`, the name of
/// at most 128 characters, the id not `is_used` (Messages API, November 2026).
pub(super) fn callable(block: &[u8], is_used: &dyn Fn(&str) -> bool) -> Option<(Bytes, Call)> {
    let (id, name) = named(block)?;
    let id = unused(&in_pattern(&id), is_used);
    let name: String = in_pattern(&name).chars().take(128).collect();
    let body = parse(block).ok()?;
    let root = body.root();
    let mut edits = Vec::new();
    for (member, text) in [("id", &id), ("name", &name)] {
        let other = root.get(member).filter(|node| !node.is_str(text));
        edits.extend(other.map(|node| Edit::replace(node.range(), quoted(text))));
    }
    edits.sort_by_key(|edit| edit.range.start);
    let json = Bytes::from(splice(block, &edits).ok()?);
    let input = root.get("input").map_or("{}", Node::raw);
    let call = Call { id, name, input: Bytes::copy_from_slice(input.as_bytes()) };
    Some((json, call))
}

pub(super) fn ends_in_thinking(blocks: &[Bytes]) -> bool {
    let kind = |block: &Bytes| Some(Block::read(parse(block).ok()?.root()).ok()?.kind);
    matches!(blocks.last().and_then(kind), Some(BlockKind::Thinking | BlockKind::RedactedThinking))
}

/// One message: results first, as the API wants them.
pub(super) fn translate(said: &Translation, ids: &mut Ids, texts: &Texts) -> Vec<(Origin, Bytes)> {
    let results = said.results.iter().map(|one| result(&ids.of(&one.call), &one.content, one.is_error));
    let mut blocks: Vec<Bytes> = results.collect();
    blocks.extend(said.blocks.iter().cloned());
    blocks.extend(said.calls.iter().map(|call| tool_use(&ids.of(&call.id), call)));
    if blocks.is_empty() {
        blocks.push(text_block(texts.cut_off));
    }
    vec![(said.origin, message(if said.is_user { "user" } else { "assistant" }, &blocks))]
}

/// A `tool_use` block.
pub(super) fn tool_use(id: &str, call: &Call) -> Bytes {
    let mut out = br#"{"type":"tool_use","id":"#.to_vec();
    write_string(&mut out, id);
    out.extend_from_slice(br#","name":"#);
    write_string(&mut out, &call.name);
    out.extend_from_slice(br#","input":"#);
    out.extend_from_slice(&call.input);
    out.push(b'}');
    out.into()
}

/// A result with further blocks in its content.
fn with_texts(result: &[u8], texts: &[Bytes]) -> Option<Bytes> {
    let body = parse(result).ok()?;
    let content = body.root().get("content")?;
    let mut more = Vec::new();
    if content.items().next().is_some() {
        more.push(b',');
    }
    write_list(&mut more, texts);
    let end = content.range().end.checked_sub(1)?;
    Some(splice(result, &[Edit::insert(end, more)]).ok()?.into())
}

fn write_list(out: &mut Vec<u8>, blocks: &[Bytes]) {
    for (index, block) in blocks.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(block);
    }
}

pub(super) fn call_of(block: &Block<'_>) -> Option<Call> {
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
    let is_call = is_server_call(block.kind);
    Some(block.node.get("id").filter(|_| is_call)?.str()?.into_owned())
}

fn server_result(block: &Block<'_>) -> Option<String> {
    let is_clients = block.kind == BlockKind::ToolResult;
    Some(block.node.get("tool_use_id").filter(|_| !is_clients)?.str()?.into_owned())
}

/// What a block makes of tools of the array: a change, or a result that shows some.
fn tool_changes(block: &Block<'_>) -> Vec<ToolChange> {
    let text = |node: Node<'_>, member: &str| Some(node.get(member)?.str()?.into_owned());
    let named = || block.node.get("tool").and_then(|tool| text(tool, "name"));
    match block.kind {
        BlockKind::ToolAddition => named().map(ToolChange::Offered).into_iter().collect(),
        BlockKind::ToolRemoval => named().map(ToolChange::Withdrawn).into_iter().collect(),
        BlockKind::ToolResult => {
            let items = block.node.get("content").into_iter().flat_map(Node::items);
            let found =
                items.filter(|item| item.get("type").is_some_and(|kind| kind.is_str("tool_reference")));
            found.filter_map(|item| text(item, "tool_name")).map(ToolChange::Offered).collect()
        }
        _ => Vec::new(),
    }
}

/// The id of the call whose result a block is.
fn answers(block: &AssembledBlock) -> Option<String> {
    let body = parse(&block.json).ok()?;
    Some(body.root().get("tool_use_id")?.str()?.into_owned())
}

/// Id and name of a call, if it has both.
fn named(block: &[u8]) -> Option<(String, String)> {
    let body = parse(block).ok()?;
    let text = |member| body.root().get(member).and_then(Node::str).filter(|text| !text.is_empty());
    Some((text("id")?.into_owned(), text("name")?.into_owned()))
}

/// The id; if it is used, the first of `id_2`, `id_3` … that is not.
fn unused(id: &str, is_used: &dyn Fn(&str) -> bool) -> String {
    let mut found = id.to_owned();
    let mut number = 2_u64;
    while is_used(&found) {
        found = format!("{id}_{number}");
        number += 1;
    }
    found
}

fn quoted(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    write_string(&mut out, text);
    out
}
