//! The simulator's own reading of a Messages request: owned, flat and naive.

mod block;
mod edits;
mod params;

pub(crate) use block::{Block, Marker, Role, Tool};
pub(crate) use edits::{ClearToolUses, Compact, Trigger};
pub(crate) use params::{Clear, Params, Previous, Thread};

use antefix_wire::json::{Kind, Node};

use crate::error::ApiError;
use crate::script::{Seen, SeenMessage, SeenResult};

/// One request, read.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub model: String,
    pub tools: Vec<Tool>,
    pub system: Vec<Block>,
    pub messages: Vec<Message>,
    /// The `cache_control` at the top level.
    pub automatic: Option<Marker>,
    pub params: Params,
}

impl Request {
    /// Reads a request whose tools may have been sent earlier (`known_tools`, for threads).
    pub fn read(root: Node<'_>, betas: Vec<String>, known_tools: &[Tool]) -> Result<Self, ApiError> {
        if root.kind() != Kind::Object {
            return Err(ApiError::invalid("request body: Input should be a valid object"));
        }
        let model = root.get("model").and_then(|node| node.str());
        let model = model.ok_or_else(|| ApiError::invalid("model: Field required"))?.into_owned();
        let tools = read_tools(root)?;
        let references: Vec<&Tool> = known_tools.iter().chain(&tools).collect();
        let system = read_system(root, &references)?;
        let messages = read_messages(root, &references)?;
        let automatic =
            root.get("cache_control").map(|node| Marker::read(node, "cache_control")).transpose()?;
        let params = Params::read(root, betas)?;
        Ok(Self { model, tools, system, messages, automatic: automatic.flatten(), params })
    }

    /// The request as a script sees it.
    pub fn seen(&self) -> Seen<'_> {
        let (inner, messages): (Vec<_>, Vec<_>) =
            self.messages.iter().partition(|message| message.role == Role::System);
        let inner = inner.into_iter().flat_map(|message| &message.blocks);
        Seen {
            model: &self.model,
            tools: self.tools.iter().map(|tool| tool.name.as_str()).collect(),
            system: self.system.iter().chain(inner).map(|block| block.plain.as_str()).collect(),
            sent: self.messages.len(),
            messages: messages.into_iter().map(Message::seen).collect(),
        }
    }
}

/// One message.
#[derive(Clone, Debug)]
pub(crate) struct Message {
    pub role: Role,
    pub blocks: Vec<Block>,
    /// `clear_at: "next_user_message"`.
    pub clears: bool,
    /// Carries its own `output_config`, which stays out of the cache key.
    pub effort: bool,
}

impl Message {
    /// Reads the message at `index`.
    pub fn read(node: Node<'_>, index: usize, tools: &[&Tool]) -> Result<Self, ApiError> {
        let path = format!("messages.{index}");
        let role = match node.get("role").and_then(|role| role.str()).as_deref() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("system") => Role::System,
            _ => {
                let allowed = "Input should be 'user', 'assistant' or 'system'";
                return Err(ApiError::invalid(format!("{path}.role: {allowed}")));
            }
        };
        let content = node.get("content");
        let content = content.ok_or_else(|| ApiError::invalid(format!("{path}.content: Field required")))?;
        let blocks = match content.str() {
            Some(text) if text.is_empty() => Vec::new(),
            Some(text) => vec![Block::from_text(&text, &format!("{path}.content"))],
            None => read_content(content, &path, tools)?,
        };
        Ok(Self {
            role,
            blocks,
            clears: node.get("clear_at").is_some_and(|value| value.is_str("next_user_message")),
            effort: present(node, "output_config").is_some(),
        })
    }

    fn seen(&self) -> SeenMessage<'_> {
        let of = |kind: &'static str| self.blocks.iter().filter(move |block| block.kind == kind);
        SeenMessage {
            by_user: self.role == Role::User,
            texts: of("text").map(|block| block.plain.as_str()).collect(),
            calls: of("tool_use").map(|block| (block.id.as_str(), block.name.as_str())).collect(),
            results: of("tool_result").map(Block::seen_result).collect(),
        }
    }
}

impl Block {
    fn seen_result(&self) -> SeenResult<'_> {
        SeenResult { call: &self.id, text: &self.plain, is_error: self.is_error }
    }
}

fn read_tools(root: Node<'_>) -> Result<Vec<Tool>, ApiError> {
    let Some(node) = present(root, "tools") else { return Ok(Vec::new()) };
    list(node, "tools")?;
    node.items().enumerate().map(|(index, item)| Tool::read(item, &format!("tools.{index}"))).collect()
}

fn read_system(root: Node<'_>, tools: &[&Tool]) -> Result<Vec<Block>, ApiError> {
    let Some(node) = present(root, "system") else { return Ok(Vec::new()) };
    if let Some(text) = node.str() {
        return Ok(if text.is_empty() { Vec::new() } else { vec![Block::from_text(&text, "system")] });
    }
    list(node, "system")?;
    let blocks = node.items().enumerate();
    blocks.map(|(index, item)| Block::read(item, &format!("system.{index}"), tools)).collect()
}

fn read_messages(root: Node<'_>, tools: &[&Tool]) -> Result<Vec<Message>, ApiError> {
    let node = present(root, "messages").ok_or_else(|| ApiError::invalid("messages: Field required"))?;
    list(node, "messages")?;
    node.items().enumerate().map(|(index, item)| Message::read(item, index, tools)).collect()
}

fn read_content(content: Node<'_>, path: &str, tools: &[&Tool]) -> Result<Vec<Block>, ApiError> {
    list(content, &format!("{path}.content"))?;
    let items = content.items().enumerate();
    items.map(|(index, item)| Block::read(item, &format!("{path}.content.{index}"), tools)).collect()
}

/// A member that is there and not `null`.
pub(crate) fn present<'a>(node: Node<'a>, key: &str) -> Option<Node<'a>> {
    node.get(key).filter(|value| !value.is_null())
}

fn list(node: Node<'_>, path: &str) -> Result<(), ApiError> {
    if node.kind() == Kind::Array {
        return Ok(());
    }
    Err(ApiError::invalid(format!("{path}: Input should be a valid list")))
}
