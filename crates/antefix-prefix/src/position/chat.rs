use antefix_wire::anthropic::{BlockKind, Role};
use antefix_wire::json::{Kind, Node};

use super::{Place, Position, PositionKind, Reader, Section};
use crate::digest::Domain;

/// The positions of a Chat Completions request: its tools, then its messages, each one position. System messages
/// in front of all others are the system prompt.
///
/// A message is not taken apart: its server caches tokens wherever they stand, and nothing that extends a request
/// ends within a message. Tools come first because nearly all chat templates render them there; those that do not
/// are a matter for [`effective`](crate::effective()).
pub fn chat_positions(root: Node<'_>) -> Vec<Position> {
    let mut reader = Reader::default();
    let items = |key| root.get(key).into_iter().flat_map(Node::items).enumerate();
    let mut out: Vec<Position> = items("tools").map(|(index, tool)| reader.chat_tool(tool, index)).collect();
    let mut section = Section::System;
    for (index, message) in items("messages") {
        if role_of(message) != Role::System {
            section = Section::Messages;
        }
        out.push(reader.chat_message(message, index, section));
    }
    out
}

/// The position of one message of a conversation alone, with the digests it has in the whole request.
///
/// `index` is the message's index in the request; the range is that of the text the message was scanned in.
pub fn chat_message(message: Node<'_>, index: usize) -> Position {
    Reader::default().chat_message(message, index, Section::Messages)
}

impl Reader {
    fn chat_tool(&mut self, tool: Node<'_>, index: usize) -> Position {
        let digests = self.digests(Domain::Tool, tool, None);
        Position {
            section: Section::Tools,
            place: Place::Tool(index),
            role: Role::System,
            kind: PositionKind::Tool,
            opens_message: false,
            ..chat_position(tool, digests)
        }
    }

    fn chat_message(&mut self, message: Node<'_>, index: usize, section: Section) -> Position {
        let digests = self.digests(Domain::Chat, message, None);
        Position { section, place: Place::Message(index), ..chat_position(message, digests) }
    }
}

fn chat_position(node: Node<'_>, (wire, normal): (crate::Digest, crate::Digest)) -> Position {
    Position {
        section: Section::Messages,
        place: Place::Message(0),
        range: node.range(),
        role: role_of(node),
        kind: PositionKind::Block(kind_of(node)),
        opens_message: true,
        wire,
        normal,
        markable: false,
        marker: None,
        clears: false,
        image: has_image(node),
        thinks: REASONING.iter().any(|key| node.get(key).is_some_and(|value| !value.is_null())),
    }
}

/// Who speaks; a tool's output counts as the user's, as in the Messages API.
fn role_of(message: Node<'_>) -> Role {
    match message.get("role").and_then(Node::str).as_deref() {
        Some("user" | "tool" | "function") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("system" | "developer") => Role::System,
        _ => Role::Other,
    }
}

fn kind_of(message: Node<'_>) -> BlockKind {
    let is_result = |role: Node<'_>| role.is_str("tool") || role.is_str("function");
    let has_calls = |calls: Node<'_>| calls.items().next().is_some();
    if message.get("role").is_some_and(is_result) {
        BlockKind::ToolResult
    } else if message.get("tool_calls").is_some_and(has_calls) {
        BlockKind::ToolUse
    } else {
        BlockKind::Text
    }
}

fn has_image(message: Node<'_>) -> bool {
    let parts = message.get("content").filter(|content| content.kind() == Kind::Array);
    let is_image = |part: Node<'_>| part.get("type").is_some_and(|name| name.is_str("image_url"));
    parts.into_iter().flat_map(Node::items).any(is_image)
}

/// Members that hold a model's reasoning, as servers spell them: `reasoning_content` (DeepSeek, SGLang, llama.cpp),
/// `reasoning` (vLLM since 0.11, OpenRouter), `reasoning_details` (OpenRouter); November 2026.
const REASONING: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_details"];
