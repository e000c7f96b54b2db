//! What differs from one protocol to another: how heads, messages, calls and results are written and read.
//!
//! A lane has one dialect, and all its bytes are written in it. Nothing outside this module knows which it is. What
//! has not been said yet, a prompt or what a tool returned, comes in the content blocks of the Messages API
//! ([`text_block`](crate::closure::text_block)) and is written in the lane's dialect when it is said.

mod anthropic;
mod chat;
mod translation;

pub(crate) use translation::{Ids, Outcome, Translation};

use antefix_prefix::Position;
use antefix_wire::anthropic::BlockKind;
use antefix_wire::assemble::{Assembled, AssembledBlock};
use antefix_wire::json::{Body, Node};
use bytes::Bytes;

use crate::closure::Texts;
use crate::conversation::{Call, ToolChange};
use crate::record::{LaneRecord, Origin};

/// A protocol that a lane's bodies are written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// The Messages API.
    #[default]
    Anthropic,
    /// Chat Completions.
    OpenAiChat,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Self; 2] = [Self::Anthropic, Self::OpenAiChat];

    /// The name that stands for it in a transcript and in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAiChat => "openai-chat",
        }
    }

    /// The dialect of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dialect| dialect.name() == name)
    }

    /// Whether a server that has a cache reads from it without markers.
    pub(crate) const fn caches_unasked(self) -> bool {
        match self {
            Self::Anthropic => false,
            Self::OpenAiChat => true,
        }
    }

    /// The positions of a whole body.
    ///
    /// # Errors
    /// Says in words why the body is no request of this dialect.
    pub fn positions(self, body: Node<'_>) -> Result<Vec<Position>, String> {
        match self {
            Self::Anthropic => anthropic::positions(body),
            Self::OpenAiChat => chat::positions(body),
        }
    }

    /// A lane's head: the body up to where the first message goes.
    pub(crate) fn head(self, lane: &LaneRecord) -> Result<Head, String> {
        match self {
            Self::Anthropic => anthropic::head(lane),
            Self::OpenAiChat => chat::head(lane),
        }
    }

    /// Reads a message; one of Chat Completions that holds results is several in a row.
    pub(crate) fn read(self, fragment: &[u8]) -> Result<Reading, String> {
        match self {
            Self::Anthropic => anthropic::read(fragment),
            Self::OpenAiChat => chat::read(fragment),
        }
    }

    /// A message's parts in order, as content blocks of the Messages API; none if it cannot be read.
    pub fn blocks(self, fragment: &[u8]) -> Vec<Bytes> {
        match self {
            Self::Anthropic => anthropic::blocks(fragment),
            Self::OpenAiChat => chat::blocks(fragment),
        }
    }

    /// A message's blocks in front of the first call of the provider's tools that `is_open` holds for.
    pub(crate) fn blocks_up_to(self, fragment: &[u8], is_open: &dyn Fn(&String) -> bool) -> Vec<Bytes> {
        match self {
            Self::Anthropic => anthropic::blocks_up_to(fragment, is_open),
            // No server runs tools of its own in this protocol.
            Self::OpenAiChat => Vec::new(),
        }
    }

    /// The user's message.
    pub(crate) fn user_message(self, blocks: &[Bytes]) -> Bytes {
        match self {
            Self::Anthropic => anthropic::message("user", blocks),
            Self::OpenAiChat => chat::user_message(blocks),
        }
    }

    /// The model's message, of blocks in this dialect.
    pub(crate) fn reply(self, blocks: &[Bytes]) -> Bytes {
        match self {
            Self::Anthropic => anthropic::message("assistant", blocks),
            Self::OpenAiChat => chat::reply(blocks),
        }
    }

    /// The model's call of a tool, as a block of its reply.
    pub fn call(self, call: &Call) -> Bytes {
        match self {
            Self::Anthropic => anthropic::tool_use(&call.id, call),
            Self::OpenAiChat => chat::function_call(&call.id, call),
        }
    }

    /// What one call returned.
    pub(crate) fn result(self, call: &str, content: &[Bytes], is_error: bool) -> Bytes {
        match self {
            Self::Anthropic => anthropic::result(call, content, is_error),
            Self::OpenAiChat => chat::result(call, content, is_error),
        }
    }

    /// The message that holds these results, with the text blocks `inside` at the end of the last one and `blocks`
    /// behind it.
    pub(crate) fn sealed(self, results: &[Bytes], inside: &[Bytes], blocks: &[Bytes]) -> Bytes {
        match self {
            Self::Anthropic => anthropic::sealed(results, inside, blocks),
            Self::OpenAiChat => chat::sealed(results, inside, blocks),
        }
    }

    /// A message of nothing but reminders and tools that are offered or withdrawn, of the role that says the lane's
    /// system prompt.
    pub(crate) fn reminder(self, lane: &LaneRecord, texts: &[String], changes: &[ToolChange]) -> Bytes {
        match self {
            Self::Anthropic => anthropic::reminder(texts, changes),
            // Lanes of this protocol have none.
            Self::OpenAiChat => chat::reminder(lane, texts),
        }
    }

    /// Whether results may stand in one message with what the user says next. If not, they are a message of their
    /// own, and a reply stands between them and the user's.
    pub(crate) fn results_lead_the_prompt(self) -> bool {
        match self {
            Self::Anthropic => true,
            Self::OpenAiChat => false,
        }
    }

    /// The blocks of a reply that may be sent back: those that are whole, and text as far as it came.
    pub(crate) fn usable(self, message: &Assembled) -> Vec<&AssembledBlock> {
        match self {
            Self::Anthropic => anthropic::usable(message),
            Self::OpenAiChat => chat::usable(message),
        }
    }

    /// A call as a request may hold it, with an id that is not `is_used`; `None` if nothing can answer it.
    pub(crate) fn callable(self, block: &[u8], is_used: &dyn Fn(&str) -> bool) -> Option<(Bytes, Call)> {
        match self {
            Self::Anthropic => anthropic::callable(block, is_used),
            Self::OpenAiChat => chat::callable(block, is_used),
        }
    }

    /// Writes what one side said elsewhere: the messages that say it here.
    pub(crate) fn translate(self, said: &Translation, ids: &mut Ids, texts: &Texts) -> Vec<(Origin, Bytes)> {
        match self {
            Self::Anthropic => anthropic::translate(said, ids, texts),
            Self::OpenAiChat => chat::translate(said, ids, texts),
        }
    }

    /// Whether a call may have this id.
    fn takes_id(self, id: &str) -> bool {
        match self {
            Self::Anthropic => translation::is_in_pattern(id),
            Self::OpenAiChat => chat::takes_id(id),
        }
    }

    /// Whether a reply's thinking is sent back; `is_changed` says that a call in front of it is not as it was
    /// written.
    pub(crate) fn keeps_thinking(self, lane: &LaneRecord, is_changed: bool) -> bool {
        match self {
            Self::Anthropic => !is_changed,
            Self::OpenAiChat => lane.keeps_reasoning,
        }
    }

    /// Whether a reply with these blocks needs a text behind them, since it may not end in thinking.
    pub(crate) fn ends_in_thinking(self, blocks: &[Bytes]) -> bool {
        match self {
            Self::Anthropic => anthropic::ends_in_thinking(blocks),
            Self::OpenAiChat => chat::ends_in_thinking(blocks),
        }
    }
}

/// A lane's head as bytes.
pub(crate) struct Head {
    /// The body up to where the first message goes.
    pub(crate) bytes: Bytes,
    /// A message stands in it, so that a comma goes in front of the next.
    pub(crate) holds_messages: bool,
}

/// A message, read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
    pub(crate) positions: Vec<Position>,
    /// It is the user's, or holds results.
    pub(crate) is_user: bool,
    /// The tools it calls, in order.
    pub(crate) calls: Vec<Call>,
    /// Ids of the calls of tools that the provider runs.
    pub(crate) server_calls: Vec<String>,
    /// Ids of such calls that have their result here.
    pub(crate) server_results: Vec<String>,
    /// What becomes of the tools of the array here, in order.
    pub(crate) tool_changes: Vec<ToolChange>,
}

/// Whether a block calls a tool that the provider runs.
pub(crate) fn is_server_call(kind: BlockKind) -> bool {
    matches!(kind, BlockKind::ServerToolUse | BlockKind::McpToolUse)
}

/// The text with `_` for each character that is not in `a-z A-Z 0-9 _ -`.
fn in_pattern(text: &str) -> String {
    let is_taken = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    text.chars().map(|letter| if is_taken(letter) { letter } else { '_' }).collect()
}

/// An id for a call that has none of its own, in a form that the strictest template takes: nine letters and digits.
fn made_id(is_used: &dyn Fn(&str) -> bool) -> String {
    let mut number = 1_u64;
    let mut id = format!("call{number:05}");
    while is_used(&id) {
        number += 1;
        id = format!("call{number:05}");
    }
    id
}

/// The bytes of an array's elements, without its brackets; empty for anything else.
fn elements(array: &[u8]) -> &[u8] {
    array.strip_prefix(b"[").and_then(|array| array.strip_suffix(b"]")).unwrap_or_default()
}

/// The envelope without its closing brace.
fn open_envelope(lane: &LaneRecord) -> Result<&[u8], String> {
    let envelope = lane.envelope.strip_suffix(b"}").filter(|envelope| envelope.len() > 1);
    for (name, value) in [("tools", &lane.tools), ("system", &lane.system)] {
        if !value.starts_with(b"[") {
            return Err(format!("`{name}` is not an array"));
        }
    }
    envelope.ok_or_else(|| "the envelope is empty".to_owned())
}

fn parse(text: &[u8]) -> Result<Body, String> {
    Body::parse(text.to_vec()).map_err(|error| error.to_string())
}
