use std::collections::BTreeSet;

use antefix_wire::anthropic::BlockKind;
use antefix_wire::assemble::{Assembled, AssembledBlock};
use antefix_wire::json::{Body, Node, write_string};
use antefix_wire::{Edit, splice};
use bytes::Bytes;

use super::reply::STOP_PAUSE;
use crate::closure::{self, Texts};
use crate::conversation::Call;

/// What of a reply may be sent back.
pub(super) struct Kept {
    /// Its blocks.
    pub(super) blocks: Vec<Bytes>,
    /// The calls among them whose input is no JSON object, so that they cannot be run.
    pub(super) broken: Vec<BrokenCall>,
}

/// A call whose input is no JSON object.
pub(super) struct BrokenCall {
    /// As it is kept: with an empty input.
    pub(super) call: Call,
    /// The input as the model wrote it.
    pub(super) written: String,
}

/// The blocks that may be sent back: whole ones, and text as far as it came. Unfinished thinking has no signature
/// and an unfinished call no input; both are dropped. So is a server's call whose result did not come, with all that
/// is behind it, unless the provider waits for us to go on. A message may not end in thinking, so that a closing
/// text follows it (Messages API, November 2026).
///
/// A call that nothing can answer is dropped; the others get ids that no call has yet (`used`). With `answers`, a
/// call whose input is no JSON object stays, to be answered with an error. Thinking behind a call that is not as the
/// model wrote it may be bound to what stood there, and is dropped.
pub(super) fn kept(message: &Assembled, answers: bool, used: &BTreeSet<String>, texts: &Texts) -> Kept {
    let mut out = Kept { blocks: Vec::new(), broken: Vec::new() };
    let mut own = BTreeSet::new();
    let mut is_changed = false;
    let answers = answers && is_whole(message);
    for block in up_to_open_server_call(message) {
        match block.kind {
            BlockKind::ToolUse => {
                let broken = block.broken_input.as_ref().filter(|_| answers);
                let is_used = |id: &str| used.contains(id) || own.contains(id);
                let is_kept = block.complete || broken.is_some();
                let Some((json, call)) = callable(&block.json, &is_used).filter(|_| is_kept) else {
                    is_changed = true;
                    continue;
                };
                is_changed |= json != block.json || broken.is_some();
                own.insert(call.id.clone());
                out.blocks.push(json);
                out.broken.extend(broken.map(|written| BrokenCall { call, written: written.clone() }));
            }
            BlockKind::Thinking | BlockKind::RedactedThinking if is_changed => {}
            _ => out.blocks.push(Bytes::copy_from_slice(&block.json)),
        }
    }
    closure::end_thinking(&mut out.blocks, texts);
    out
}

/// Why no turn can go on from a reply that came as a whole: a call in it was lost on the way, or it stops for calls
/// and has none that a result could name.
pub(super) fn unusable(message: &Assembled) -> Option<&'static str> {
    if !is_whole(message) {
        return None;
    }
    let (mut calls, mut named_calls) = (0, 0);
    for block in &message.blocks {
        let is_call = block.kind == BlockKind::ToolUse;
        if (is_call || is_server_call(block.kind)) && !block.complete && block.broken_input.is_none() {
            return Some("the reply holds a call without an end");
        }
        if is_server_call(block.kind) && !block.complete {
            return Some("the reply holds a call of the provider's tools whose input is not JSON");
        }
        calls += u64::from(is_call);
        named_calls += u64::from(is_call && named(&block.json).is_some());
    }
    match (calls, named_calls) {
        (0, _) if message.stop_reason.as_deref() == Some(STOP_CALLS) => {
            Some("the reply stops for a tool call and holds none")
        }
        (1.., 0) => Some("the reply holds tool calls without id or name, which nothing can answer"),
        _ => None,
    }
}

/// The blocks that are whole, and text as far as it came, in front of a call of the provider's tools that stays
/// without result. Calls of other tools are all there.
fn up_to_open_server_call(message: &Assembled) -> Vec<&AssembledBlock> {
    let is_kept = |block: &&AssembledBlock| match block.kind {
        BlockKind::Text => !closure::is_blank_text(&block.json),
        BlockKind::ToolUse => true,
        kind => block.complete || is_server_call(kind),
    };
    let mut blocks: Vec<&AssembledBlock> = message.blocks.iter().filter(is_kept).collect();
    let answered: BTreeSet<String> = blocks.iter().filter_map(|block| answers(block)).collect();
    let waits = message.complete && matches!(message.stop_reason.as_deref(), Some(STOP_PAUSE | STOP_CALLS));
    let is_open = |block: &&AssembledBlock| {
        let id = named(&block.json).filter(|_| block.complete).map(|(id, _)| id);
        is_server_call(block.kind) && id.is_none_or(|id| !waits && !answered.contains(&id))
    };
    blocks.truncate(blocks.iter().position(is_open).unwrap_or(blocks.len()));
    blocks
}

/// The id of the call whose result a block is.
fn answers(block: &AssembledBlock) -> Option<String> {
    let body = Body::parse(block.json.clone()).ok()?;
    Some(body.root().get("tool_use_id")?.str()?.into_owned())
}

/// Whether all of a reply came and no limit cut it off: what is wrong in it, the model wrote so.
fn is_whole(message: &Assembled) -> bool {
    let stop = message.stop_reason.as_deref();
    message.complete && !matches!(stop, Some("max_tokens" | "model_context_window_exceeded"))
}

fn is_server_call(kind: BlockKind) -> bool {
    matches!(kind, BlockKind::ServerToolUse | BlockKind::McpToolUse)
}

/// Id and name of a call, if it has both.
fn named(block: &[u8]) -> Option<(String, String)> {
    let body = Body::parse(block).ok()?;
    let text = |member| body.root().get(member).and_then(Node::str).filter(|text| !text.is_empty());
    Some((text("id")?.into_owned(), text("name")?.into_owned()))
}

/// A call as a request may hold it, if it has id and name: both in the API's pattern `^[a-zA-Z0-9_-]+$`, the name of
/// at most 128 characters, the id not `is_used` (Messages API, November 2026).
fn callable(block: &[u8], is_used: &dyn Fn(&str) -> bool) -> Option<(Bytes, Call)> {
    let (id, name) = named(block)?;
    let id = unused(&in_pattern(&id), is_used);
    let name: String = in_pattern(&name).chars().take(128).collect();
    let body = Body::parse(block).ok()?;
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

/// The text with `_` for each character that the API does not take.
fn in_pattern(text: &str) -> String {
    let is_taken = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    text.chars().map(|letter| if is_taken(letter) { letter } else { '_' }).collect()
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

/// The stop reason of a reply that calls tools.
const STOP_CALLS: &str = "tool_use";
