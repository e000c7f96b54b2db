//! Turn closure: what is appended in front of a user's next message so that the request is legal and extends.
//!
//! The table is in `docs/formats/transcript.md`. Closing happens when the next message comes, from the state of
//! the transcript alone, so that a process that was killed and one that lived close the same way.

use antefix_wire::json::write_string;
use bytes::Bytes;

use crate::conversation::{Call, Tail};

/// Text of a result that a call gets when it has none of its own.
pub const NOT_RUN: &str =
    "This call was not completed: the turn was interrupted before the tool returned a result.";

/// Text of the assistant message that stands for a reply that never came.
pub const NO_REPLY: &str = "[No reply was received for this message.]";

/// Text behind thinking that the reply ended with; a message may not end in thinking.
pub const CUT_OFF: &str = "[The reply ended here.]";

/// What closing a turn appends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Closing {
    /// Nothing: the next user message may follow.
    Nothing,
    /// Error results for these calls; the results then lead the next user message.
    Results(Vec<Call>),
    /// An assistant message in place of the reply that never came.
    Reply(Bytes),
}

/// The row of the table that `tail` falls into.
pub fn closing(tail: &Tail) -> Closing {
    match tail {
        Tail::Empty | Tail::Answered => Closing::Nothing,
        Tail::Calls { open } => Closing::Results(open.clone()),
        Tail::Unanswered => Closing::Reply(text_message("assistant", NO_REPLY)),
    }
}

/// A message with one text block.
pub fn text_message(role: &str, text: &str) -> Bytes {
    message(role, &[text_block(text)])
}

/// A text block.
pub fn text_block(text: &str) -> Bytes {
    let mut out = br#"{"type":"text","text":"#.to_vec();
    write_string(&mut out, text);
    out.push(b'}');
    out.into()
}

/// A message made of compact content blocks.
pub fn message(role: &str, blocks: &[Bytes]) -> Bytes {
    let mut out = br#"{"role":"#.to_vec();
    write_string(&mut out, role);
    out.extend_from_slice(br#","content":["#);
    for (index, block) in blocks.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(block);
    }
    out.extend_from_slice(b"]}");
    out.into()
}

/// A `tool_result` block with text content.
pub fn text_result(call: &str, text: &str, is_error: bool) -> Bytes {
    tool_result(call, &[text_block(text)], is_error)
}

/// A `tool_result` block made of compact content blocks.
pub fn tool_result(call: &str, content: &[Bytes], is_error: bool) -> Bytes {
    let mut out = br#"{"type":"tool_result","tool_use_id":"#.to_vec();
    write_string(&mut out, call);
    out.extend_from_slice(br#","content":["#);
    for (index, block) in content.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(block);
    }
    out.push(b']');
    if is_error {
        out.extend_from_slice(br#","is_error":true"#);
    }
    out.push(b'}');
    out.into()
}
