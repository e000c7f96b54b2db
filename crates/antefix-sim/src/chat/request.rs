//! The simulator's own reading of a chat request: owned, flat and naive.

mod message;

pub(crate) use message::{ChatMessage, ChatRole, Piece};

use antefix_wire::json::{Body, Kind, Node};

use crate::error::ApiError;
use crate::script::Seen;

use super::json::compact;

/// One request, read.
#[derive(Clone, Debug)]
pub(crate) struct ChatRequest {
    pub model: String,
    pub tools: Vec<ChatTool>,
    pub messages: Vec<ChatMessage>,
    pub choice: ToolChoice,
    /// Whether several calls may be made at once.
    pub parallel: bool,
    pub stream: bool,
    /// `stream_options.include_usage`
    pub include_usage: bool,
    /// The most output tokens.
    pub limit: Option<u64>,
    pub stop: Vec<String>,
    /// Whether the model may reason.
    pub thinks: bool,
    /// vLLM: keeps prompts with other salts out.
    pub cache_salt: String,
    /// OpenAI: keeps prompts with other keys out.
    pub cache_key: String,
    /// llama.cpp: the slot asked for.
    pub slot: Option<usize>,
    /// llama.cpp: whether a slot's earlier prompt may be used.
    pub cache_prompt: bool,
}

impl ChatRequest {
    /// Reads a request's body.
    pub fn read(body: &[u8]) -> Result<Self, ApiError> {
        let body = Body::parse(body)
            .map_err(|error| ApiError::invalid(format!("the body is not valid JSON: {error}")))?;
        let root = body.root();
        if root.kind() != Kind::Object {
            return Err(ApiError::invalid("the body must be a JSON object"));
        }
        let model =
            text(root, "model")?.ok_or_else(|| ApiError::invalid("you must provide a model parameter"))?;
        if number(root, "n")?.is_some_and(|choices| choices != 1) {
            return Err(ApiError::invalid("'n': this server gives one choice"));
        }
        let limit = match number(root, "max_completion_tokens")? {
            Some(limit) => Some(limit),
            None => number(root, "max_tokens")?,
        };
        if limit == Some(0) {
            return Err(ApiError::invalid("'max_tokens' must be at least 1"));
        }
        Ok(Self {
            model,
            tools: read_tools(root)?,
            messages: read_messages(root)?,
            choice: ToolChoice::read(root)?,
            parallel: flag(root, "parallel_tool_calls")?.unwrap_or(true),
            stream: flag(root, "stream")?.unwrap_or(false),
            include_usage: include_usage(root)?,
            limit,
            stop: read_stop(root)?,
            thinks: thinks(root),
            cache_salt: text(root, "cache_salt")?.unwrap_or_default(),
            cache_key: text(root, "prompt_cache_key")?.unwrap_or_default(),
            slot: number(root, "id_slot").ok().flatten().map(|slot| slot as usize),
            cache_prompt: flag(root, "cache_prompt")?.unwrap_or(true),
        })
    }

    /// The request as a script sees it.
    pub fn seen(&self) -> Seen<'_> {
        let system = self.messages.iter().filter(|message| message.role == ChatRole::System);
        Seen {
            model: &self.model,
            tools: self.tools.iter().map(|tool| tool.name.as_str()).collect(),
            system: system.flat_map(ChatMessage::texts).collect(),
            sent: self.messages.len(),
            messages: message::seen(&self.messages),
        }
    }
}

/// A tool offered.
#[derive(Clone, Debug)]
pub(crate) struct ChatTool {
    pub name: String,
    /// The whole definition, as a template writes it.
    pub text: String,
}

impl ChatTool {
    fn read(node: Node<'_>, path: &str) -> Result<Self, ApiError> {
        if !node.get("type").is_some_and(|kind| kind.is_str("function")) {
            return Err(ApiError::invalid(format!("'{path}.type' must be 'function'")));
        }
        let name = node.pointer("/function/name").and_then(|name| name.str()).unwrap_or_default();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if name.is_empty() || name.len() > 64 || !name.bytes().all(plain) {
            let rule = "one to 64 letters, digits, '_' and '-'";
            return Err(ApiError::invalid(format!("'{path}.function.name' must be {rule}")));
        }
        let parameters = node.pointer("/function/parameters").filter(|parameters| !parameters.is_null());
        if parameters.is_some_and(|parameters| parameters.kind() != Kind::Object) {
            return Err(ApiError::invalid(format!("'{path}.function.parameters' must be a JSON schema")));
        }
        Ok(Self { name: name.into_owned(), text: compact(node) })
    }
}

/// `tool_choice`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ToolChoice {
    Auto,
    None,
    Required,
    Named(String),
}

impl ToolChoice {
    fn read(root: Node<'_>) -> Result<Self, ApiError> {
        let Some(node) = present(root, "tool_choice") else { return Ok(Self::Auto) };
        match node.str().as_deref() {
            Some("auto") => return Ok(Self::Auto),
            Some("none") => return Ok(Self::None),
            Some("required") => return Ok(Self::Required),
            _ => {}
        }
        let name = node.pointer("/function/name").and_then(|name| name.str());
        let name = name.filter(|_| node.get("type").is_some_and(|kind| kind.is_str("function")));
        let rule = "'tool_choice' must be 'none', 'auto', 'required' or a function";
        name.map(|name| Self::Named(name.into_owned())).ok_or_else(|| ApiError::invalid(rule))
    }
}

/// A member that is there and not `null`.
pub(crate) fn present<'a>(node: Node<'a>, key: &str) -> Option<Node<'a>> {
    node.get(key).filter(|value| !value.is_null())
}

fn read_tools(root: Node<'_>) -> Result<Vec<ChatTool>, ApiError> {
    let Some(node) = present(root, "tools") else { return Ok(Vec::new()) };
    if node.kind() != Kind::Array || node.items().next().is_none() {
        return Err(ApiError::invalid("'tools' must be an array of at least one tool"));
    }
    node.items().enumerate().map(|(at, item)| ChatTool::read(item, &format!("tools[{at}]"))).collect()
}

fn read_messages(root: Node<'_>) -> Result<Vec<ChatMessage>, ApiError> {
    let node = present(root, "messages").filter(|node| node.kind() == Kind::Array);
    let node = node.ok_or_else(|| ApiError::invalid("'messages' must be an array"))?;
    node.items().enumerate().map(|(at, item)| ChatMessage::read(item, at)).collect()
}

fn read_stop(root: Node<'_>) -> Result<Vec<String>, ApiError> {
    let Some(node) = present(root, "stop") else { return Ok(Vec::new()) };
    let single = node.str().map(|stop| vec![stop.into_owned()]);
    let list =
        || node.items().map(|item| item.str().map(|stop| stop.into_owned())).collect::<Option<Vec<_>>>();
    let stops = single.or_else(|| list().filter(|_| node.kind() == Kind::Array));
    stops.ok_or_else(|| ApiError::invalid("'stop' must be a string or an array of strings"))
}

fn include_usage(root: Node<'_>) -> Result<bool, ApiError> {
    let Some(options) = present(root, "stream_options") else { return Ok(false) };
    if !flag(root, "stream")?.unwrap_or(false) {
        return Err(ApiError::invalid("'stream_options' is only allowed when 'stream' is on"));
    }
    Ok(flag(options, "include_usage")?.unwrap_or(false))
}

/// Reasoning is on unless the request switches it off, in either of the ways in use.
fn thinks(root: Node<'_>) -> bool {
    let template = root.pointer("/chat_template_kwargs/enable_thinking").and_then(|node| node.bool());
    let effort = root.get("reasoning_effort").is_some_and(|effort| effort.is_str("none"));
    template.unwrap_or(true) && !effort
}

fn text(root: Node<'_>, key: &str) -> Result<Option<String>, ApiError> {
    let read = |node: Node<'_>| {
        let text = node.str().map(std::borrow::Cow::into_owned);
        text.ok_or_else(|| ApiError::invalid(format!("'{key}' must be a string")))
    };
    present(root, key).map(read).transpose()
}

fn number(root: Node<'_>, key: &str) -> Result<Option<u64>, ApiError> {
    let read = |node: Node<'_>| {
        node.u64().ok_or_else(|| ApiError::invalid(format!("'{key}' must be a whole number, not negative")))
    };
    present(root, key).map(read).transpose()
}

fn flag(root: Node<'_>, key: &str) -> Result<Option<bool>, ApiError> {
    let read = |node: Node<'_>| {
        node.bool().ok_or_else(|| ApiError::invalid(format!("'{key}' must be true or false")))
    };
    present(root, key).map(read).transpose()
}
