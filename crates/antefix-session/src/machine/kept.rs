use std::collections::BTreeSet;

use antefix_wire::anthropic::BlockKind;
use antefix_wire::assemble::{Assembled, StopReason};
use bytes::Bytes;

use crate::closure::{self, Texts};
use crate::conversation::Call;
use crate::dialect::is_server_call;
use crate::record::LaneRecord;

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

/// The blocks that may be sent back in a lane: whole ones, and text as far as it came. Unfinished thinking has no
/// signature and an unfinished call no input; both are dropped. So is a server's call whose result did not come, with
/// all that is behind it, unless the provider waits for us to go on. A message may not end in thinking, so that a
/// closing text follows it (Messages API, November 2026).
///
/// A call that nothing can answer is dropped; the others get ids that no call has yet (`used`). With `answers`, a
/// call whose input is no JSON object stays, to be answered with an error. Thinking behind a call that is not as the
/// model wrote it may be bound to what stood there, and is dropped.
pub(super) fn kept(
    message: &Assembled,
    answers: bool,
    used: &BTreeSet<String>,
    texts: &Texts,
    lane: &LaneRecord,
) -> Kept {
    let dialect = lane.dialect;
    let mut out = Kept { blocks: Vec::new(), broken: Vec::new() };
    let mut own = BTreeSet::new();
    let mut is_changed = false;
    let answers = answers && is_whole(message);
    for block in dialect.usable(message) {
        match block.kind {
            BlockKind::ToolUse => {
                let broken = block.broken_input.as_ref().filter(|_| answers);
                let is_used = |id: &str| used.contains(id) || own.contains(id);
                let is_kept = block.complete || broken.is_some();
                let Some((json, call)) = dialect.callable(&block.json, &is_used).filter(|_| is_kept) else {
                    is_changed = true;
                    continue;
                };
                is_changed |= json != block.json || broken.is_some();
                own.insert(call.id.clone());
                out.blocks.push(json);
                out.broken.extend(broken.map(|written| BrokenCall { call, written: written.clone() }));
            }
            BlockKind::Thinking | BlockKind::RedactedThinking
                if !dialect.keeps_thinking(lane, is_changed) => {}
            _ => out.blocks.push(Bytes::copy_from_slice(&block.json)),
        }
    }
    closure::end_thinking(dialect, &mut out.blocks, texts);
    out
}

/// Why no turn can go on from a reply that came as a whole: a call in it was lost on the way, or it stops for calls
/// and has none that a result could name.
pub(super) fn unusable(message: &Assembled, lane: &LaneRecord) -> Option<&'static str> {
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
        named_calls += u64::from(is_call && lane.dialect.callable(&block.json, &|_| false).is_some());
    }
    match (calls, named_calls) {
        (0, _) if message.stop() == Some(StopReason::Calls) => {
            Some("the reply stops for a tool call and holds none")
        }
        (1.., 0) => Some("the reply holds tool calls without id or name, which nothing can answer"),
        _ => None,
    }
}

/// Whether all of a reply came and no limit cut it off: what is wrong in it, the model wrote so.
fn is_whole(message: &Assembled) -> bool {
    message.complete && !matches!(message.stop(), Some(StopReason::OutputLimit | StopReason::WindowExceeded))
}
