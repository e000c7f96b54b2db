//! Turn closure: what is appended in front of a user's next message so that the request is legal and extends.
//!
//! The table is in `docs/formats/transcript.md`. Closing happens when the next message comes, from the state of
//! the transcript alone, so that a process that was killed and one that lived close the same way.

use antefix_wire::json::{Body, Node, write_string};
use bytes::Bytes;

use crate::conversation::{Call, Tail};
use crate::dialect::Dialect;
use crate::record::{RecordId, RewindReason};
use crate::reminder::neutral;

/// What turn closure says in the model's or the tools' place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Texts {
    /// The result of a call that has none of its own.
    pub not_run: &'static str,
    /// The result of a call whose own result went back with a rejected or refused request.
    pub left_out: &'static str,
    /// The reply that never came.
    pub no_reply: &'static str,
    /// Stands behind thinking that a reply ended with; a message may not end in thinking.
    pub cut_off: &'static str,
    /// The result of a call whose input is no JSON object; what was written stands behind it.
    pub broken_input: &'static str,
}

impl Default for Texts {
    fn default() -> Self {
        Self {
            not_run: "This call was not completed: the turn was interrupted before the tool returned a result.",
            left_out: "This call was run, but its result is left out: the request that held it was not accepted.",
            no_reply: "[No reply was received for this message.]",
            cut_off: "[The reply ended here.]",
            broken_input: "This call was not run: its input was not a JSON object, and `{}` stands in its place. Call again with a JSON object. What was written:",
        }
    }
}

/// What closing a turn appends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Closing {
    /// Nothing: the next user message may follow.
    Nothing,
    /// Error results for these calls; the results then lead the next user message, or are a message of their own.
    Results(Vec<Call>),
    /// An assistant message in place of the reply that never came.
    Reply(Bytes),
    /// A rewind; what stands there is closed then.
    GoBack {
        /// The record the conversation goes on from.
        to: RecordId,
        /// Why.
        reason: RewindReason,
    },
    /// A rewind, and an assistant message in place of what it leaves behind.
    GoBackAndReply {
        /// The record the conversation goes on from.
        to: RecordId,
        /// Why.
        reason: RewindReason,
        /// The message.
        reply: Bytes,
    },
}

/// The row of the table that `tail` falls into.
pub fn closing(tail: &Tail, texts: &Texts, dialect: Dialect) -> Closing {
    match tail {
        Tail::Empty | Tail::Answered => Closing::Nothing,
        Tail::Calls { open } => Closing::Results(open.clone()),
        Tail::Unanswered => Closing::Reply(dialect.reply(&[text_block(texts.no_reply)])),
        Tail::LeftBehind { to, reason } => Closing::GoBack { to: *to, reason: *reason },
        Tail::Paused { to, blocks } => {
            let mut blocks = blocks.clone();
            end_thinking(dialect, &mut blocks, texts);
            if blocks.is_empty() {
                blocks.push(text_block(texts.no_reply));
            }
            let reply = dialect.reply(&blocks);
            Closing::GoBackAndReply { to: *to, reason: RewindReason::Paused, reply }
        }
    }
}

/// The result of a call whose input, as `written`, is no JSON object: 2,000 characters of it at most.
pub(crate) fn broken_input(texts: &Texts, written: &str) -> String {
    let (said, written) = (texts.broken_input, neutral(written));
    let len = written.len();
    match written.char_indices().nth(2000).and_then(|(end, _)| written.get(..end)) {
        Some(start) => format!("{said}\n{start}… ({len} bytes in all)"),
        None => format!("{said}\n{written}"),
    }
}

/// Puts a closing text behind thinking that `blocks`, which are in this dialect, end in.
pub(crate) fn end_thinking(dialect: Dialect, blocks: &mut Vec<Bytes>, texts: &Texts) {
    if dialect.ends_in_thinking(blocks) {
        blocks.push(text_block(texts.cut_off));
    }
}

/// Whether a block is text with nothing but white space in it.
pub(crate) fn is_blank_text(block: &[u8]) -> bool {
    let Ok(body) = Body::parse(block) else { return false };
    let node = body.root();
    node.get("type").is_some_and(|kind| kind.is_str("text"))
        && node.get("text").and_then(Node::str).is_none_or(|text| text.trim().is_empty())
}

/// A text block of the Messages API, which every dialect takes for what has not been said yet.
pub fn text_block(text: &str) -> Bytes {
    let mut out = br#"{"type":"text","text":"#.to_vec();
    write_string(&mut out, text);
    out.push(b'}');
    out.into()
}
