//! Messages of a chat request.

use antefix_wire::json::{Body, Kind, Node};

use crate::chat::json::compact;
use crate::error::ApiError;
use crate::script::{SeenMessage, SeenResult};

use super::present;

/// One message.
#[derive(Clone, Debug)]
pub(crate) struct ChatMessage {
    pub role: ChatRole,
    pub content: Vec<Piece>,
    /// What an assistant is said to have reasoned, under either name in use.
    pub reasoning: String,
    pub calls: Vec<ChatCall>,
    /// `tool_call_id` of a tool's result.
    pub call_id: String,
}

impl ChatMessage {
    /// Reads the message at `index`.
    pub fn read(node: Node<'_>, index: usize) -> Result<Self, ApiError> {
        let path = format!("messages[{index}]");
        let role = ChatRole::read(node, &path)?;
        let string = |key: &str| present(node, key).and_then(|value| value.str()).unwrap_or_default();
        let reasoning = if present(node, "reasoning").is_some() { "reasoning" } else { "reasoning_content" };
        let message = Self {
            role,
            content: read_content(node, role, &path)?,
            reasoning: string(reasoning).into_owned(),
            calls: read_calls(node, role, &path)?,
            call_id: string("tool_call_id").into_owned(),
        };
        if role == ChatRole::Tool && message.call_id.is_empty() {
            return Err(ApiError::invalid(format!("'{path}.tool_call_id' is required")));
        }
        let optional = role == ChatRole::Assistant && !message.calls.is_empty();
        if present(node, "content").is_none() && !optional {
            return Err(ApiError::invalid(format!("'{path}.content' is required")));
        }
        Ok(message)
    }

    /// Its texts.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.content.iter().filter_map(Piece::text)
    }
}

/// Who a message is from; a developer is a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChatRole {
    System,
    User,
    Assistant,
    Tool,
}

impl ChatRole {
    fn read(node: Node<'_>, path: &str) -> Result<Self, ApiError> {
        match node.get("role").and_then(|role| role.str()).as_deref() {
            Some("system" | "developer") => Ok(Self::System),
            Some("user") => Ok(Self::User),
            Some("assistant") => Ok(Self::Assistant),
            Some("tool") => Ok(Self::Tool),
            _ => {
                let known = "'system', 'developer', 'user', 'assistant' or 'tool'";
                Err(ApiError::invalid(format!("'{path}.role' must be {known}")))
            }
        }
    }

    /// How templates write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

/// A part of a message's content.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    Text(String),
    /// The source of an image.
    Image(String),
}

impl Piece {
    fn read(node: Node<'_>, role: ChatRole, path: &str) -> Result<Self, ApiError> {
        let kind = node.get("type").and_then(|kind| kind.str()).unwrap_or_default();
        let string = |pointer: &str| node.pointer(pointer).and_then(|value| value.str());
        let piece = match (&*kind, role) {
            ("text", _) => string("/text").map(|text| Self::Text(text.into_owned())),
            ("refusal", ChatRole::Assistant) => string("/refusal").map(|text| Self::Text(text.into_owned())),
            ("image_url", ChatRole::User) => {
                string("/image_url/url").map(|source| Self::Image(source.into_owned()))
            }
            _ => {
                let name = role.name();
                return Err(ApiError::invalid(format!(
                    "'{path}.type': no part of type '{kind}' in a {name} message"
                )));
            }
        };
        piece.ok_or_else(|| ApiError::invalid(format!("'{path}': a part of type '{kind}' lacks its content")))
    }

    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Image(_) => None,
        }
    }
}

/// A call in the history.
#[derive(Clone, Debug)]
pub(crate) struct ChatCall {
    pub id: String,
    pub name: String,
    /// The arguments as a template writes them once it has parsed them.
    pub arguments: String,
}

impl ChatCall {
    /// Servers hand a call's arguments to the template as an object, so what is no object is refused.
    fn read(node: Node<'_>, path: &str) -> Result<Self, ApiError> {
        let string = |pointer: &str| node.pointer(pointer).and_then(|value| value.str());
        let required = |key: &str| {
            let text = string(&format!("/{key}")).filter(|text| !text.is_empty());
            let missing = || ApiError::invalid(format!("'{path}.{}' is required", key.replace('/', ".")));
            text.ok_or_else(missing).map(std::borrow::Cow::into_owned)
        };
        if !node.get("type").is_some_and(|kind| kind.is_str("function")) {
            return Err(ApiError::invalid(format!("'{path}.type' must be 'function'")));
        }
        let arguments = Body::parse(required("function/arguments")?).ok();
        let arguments = arguments.filter(|body| body.root().kind() == Kind::Object);
        let no_object =
            || ApiError::invalid(format!("'{path}.function.arguments' must be a JSON object as a string"));
        Ok(Self {
            id: required("id")?,
            name: required("function/name")?,
            arguments: compact(arguments.ok_or_else(no_object)?.root()),
        })
    }
}

/// What a script sees: results, and what the user says directly behind them, are one message.
pub(super) fn seen(messages: &[ChatMessage]) -> Vec<SeenMessage<'_>> {
    let mut seen: Vec<SeenMessage<'_>> = Vec::new();
    let mut previous = ChatRole::System;
    for message in messages.iter().filter(|message| message.role != ChatRole::System) {
        let by_user = message.role != ChatRole::Assistant;
        if !(by_user && previous == ChatRole::Tool) {
            seen.push(SeenMessage { by_user, ..SeenMessage::default() });
        }
        previous = message.role;
        let Some(last) = seen.last_mut() else { continue };
        if message.role == ChatRole::Tool {
            let text = message.texts().next().unwrap_or_default();
            last.results.push(SeenResult { call: &message.call_id, text, is_error: is_error(text) });
        } else {
            last.texts.extend(message.texts());
        }
        last.calls.extend(message.calls.iter().map(|call| (call.id.as_str(), call.name.as_str())));
    }
    seen
}

/// The dialect has no mark for a failed tool: the result says so itself.
fn is_error(text: &str) -> bool {
    text.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("error"))
}

fn read_content(node: Node<'_>, role: ChatRole, path: &str) -> Result<Vec<Piece>, ApiError> {
    let Some(content) = present(node, "content") else { return Ok(Vec::new()) };
    if let Some(text) = content.str() {
        return Ok(vec![Piece::Text(text.into_owned())]);
    }
    if content.kind() != Kind::Array || content.items().next().is_none() {
        return Err(ApiError::invalid(format!("'{path}.content' must be a string or an array of parts")));
    }
    let parts = content.items().enumerate();
    parts.map(|(at, part)| Piece::read(part, role, &format!("{path}.content[{at}]"))).collect()
}

fn read_calls(node: Node<'_>, role: ChatRole, path: &str) -> Result<Vec<ChatCall>, ApiError> {
    let Some(calls) = present(node, "tool_calls") else { return Ok(Vec::new()) };
    if role != ChatRole::Assistant {
        return Err(ApiError::invalid(format!("'{path}.tool_calls': only an assistant calls tools")));
    }
    if calls.kind() != Kind::Array || calls.items().next().is_none() {
        return Err(ApiError::invalid(format!("'{path}.tool_calls' must be an array of at least one call")));
    }
    let calls = calls.items().enumerate();
    calls.map(|(at, call)| ChatCall::read(call, &format!("{path}.tool_calls[{at}]"))).collect()
}
