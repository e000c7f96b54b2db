//! A lenient view of an Anthropic Messages request.
//!
//! The view names what caching depends on (tools, system, messages, blocks, markers) and leaves the rest
//! alone: every type carries its [`Node`], so unknown types and fields stay reachable and byte-identical.
//! Fields and block types are those of the `anthropic` SDK 2.14.0 (November 2026) and of
//! platform.claude.com/docs/en/build-with-claude/prompt-caching (September 2026).
//!
//! ```
//! use antefix_wire::{anthropic::{BlockKind, Request, Ttl}, json::Body};
//! let body = Body::parse(*br#"{"system":"Be brief.","messages":[{"role":"user","content":[
//!     {"type":"text","text":"Hello","cache_control":{"type":"ephemeral","ttl":"1h"}}]}]}"#)?;
//! let request = Request::read(body.root())?;
//! let block = &request.messages[0].content[0];
//! assert_eq!((block.kind, block.cache_control.map(|marker| marker.ttl)), (BlockKind::Text, Some(Ttl::OneHour)));
//! assert!(request.system[0].from_string);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod block;
mod cleared;
mod diagnosis;
mod marker;

pub use block::{Block, BlockKind};
pub use cleared::Cleared;
pub use diagnosis::{Diagnosis, MissReason};
pub use marker::{CacheControl, Ttl, marker_edit, unmark_edit};

use std::borrow::Cow;

use crate::json::{Kind, Node};

/// A part of a request that has another shape than the Messages API gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {expected} for {part} at byte {offset}")]
pub struct ViewError {
    /// Which part of the request, in words.
    pub part: &'static str,
    /// What the API takes there, in words.
    pub expected: &'static str,
    /// Where the value starts in the text that was scanned.
    pub offset: usize,
}

/// A Messages request.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The whole request.
    pub node: Node<'a>,
    /// The model asked for.
    pub model: Option<Cow<'a, str>>,
    /// The tools in the order sent, deferred ones included.
    pub tools: Vec<Tool<'a>>,
    /// The system prompt; one block where it was given as a string.
    pub system: Vec<Block<'a>>,
    /// The messages in the order sent; only the new ones where the request continues a thread.
    pub messages: Vec<Message<'a>>,
    /// The automatic marker at the top of the request.
    pub cache_control: Option<CacheControl<'a>>,
}

impl<'a> Request<'a> {
    /// Reads a request; absent and `null` parts count as empty.
    ///
    /// # Errors
    /// [`ViewError`] if the request, or a part named in this type, has another shape than the API takes.
    pub fn read(root: Node<'a>) -> Result<Self, ViewError> {
        expect_object(root, "the request")?;
        Ok(Self {
            node: root,
            model: root.get("model").and_then(Node::str),
            tools: list(root.get("tools"), "`tools`", Tool::read)?,
            system: block::content(root.get("system"), "`system`")?,
            messages: list(root.get("messages"), "`messages`", Message::read)?,
            cache_control: CacheControl::of(root),
        })
    }

    /// The value of a top-level parameter.
    pub fn param(&self, key: &str) -> Option<Node<'a>> {
        self.node.get(key)
    }
}

/// One entry of `tools`: a custom tool, a server tool or an MCP toolset.
#[derive(Clone, Debug)]
pub struct Tool<'a> {
    /// The whole definition.
    pub node: Node<'a>,
    /// The tool's name, or the server's (`mcp_server_name`) for an MCP toolset; empty if it has neither.
    pub name: Cow<'a, str>,
    /// The definition is not part of the rendered prompt until the tool is referenced.
    pub defer_loading: bool,
    /// The marker on this tool.
    pub cache_control: Option<CacheControl<'a>>,
}

impl<'a> Tool<'a> {
    /// Reads one entry of `tools`.
    ///
    /// # Errors
    /// [`ViewError`] if it is not an object.
    pub fn read(node: Node<'a>) -> Result<Self, ViewError> {
        expect_object(node, "a tool")?;
        let text = |key| node.get(key).and_then(Node::str);
        Ok(Self {
            node,
            name: text("name").or_else(|| text("mcp_server_name")).unwrap_or_default(),
            defer_loading: node.get("defer_loading").and_then(Node::bool).unwrap_or(false),
            cache_control: CacheControl::of(node),
        })
    }

    /// The tool's `type`; `custom` where it has none, as the API has it.
    pub fn type_name(&self) -> Cow<'a, str> {
        self.node.get("type").and_then(Node::str).unwrap_or(Cow::Borrowed("custom"))
    }

    /// The value of a field of the definition.
    pub fn param(&self, key: &str) -> Option<Node<'a>> {
        self.node.get(key)
    }
}

/// Who a message is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// `user`
    User,
    /// `assistant`
    Assistant,
    /// `system`, inside `messages`.
    System,
    /// Any other role, or none.
    Other,
}

impl Role {
    fn of(message: Node<'_>) -> Self {
        match message.get("role").and_then(Node::str).as_deref() {
            Some("user") => Self::User,
            Some("assistant") => Self::Assistant,
            Some("system") => Self::System,
            _ => Self::Other,
        }
    }
}

/// One entry of `messages`.
#[derive(Clone, Debug)]
pub struct Message<'a> {
    /// The whole message.
    pub node: Node<'a>,
    /// Who it is from.
    pub role: Role,
    /// Its blocks; one where the content was given as a string, none for `[]`, `null` or no content.
    pub content: Vec<Block<'a>>,
}

impl<'a> Message<'a> {
    /// Reads one message.
    ///
    /// # Errors
    /// [`ViewError`] if it is not an object, or its content neither text nor blocks.
    pub fn read(node: Node<'a>) -> Result<Self, ViewError> {
        expect_object(node, "a message")?;
        Ok(Self {
            node,
            role: Role::of(node),
            content: block::content(node.get("content"), "the content of a message")?,
        })
    }

    /// The value of a field of the message, such as `output_config` or `clear_at`.
    pub fn param(&self, key: &str) -> Option<Node<'a>> {
        self.node.get(key)
    }
}

fn expect_object(node: Node<'_>, part: &'static str) -> Result<(), ViewError> {
    if node.kind() == Kind::Object { Ok(()) } else { Err(shape(node, part, "an object")) }
}

/// Reads the items of an array; nothing and `null` have none.
fn list<'a, T>(
    node: Option<Node<'a>>,
    part: &'static str,
    read: impl Fn(Node<'a>) -> Result<T, ViewError>,
) -> Result<Vec<T>, ViewError> {
    match node.map(|node| (node, node.kind())) {
        None | Some((_, Kind::Null)) => Ok(Vec::new()),
        Some((node, Kind::Array)) => node.items().map(read).collect(),
        Some((node, _)) => Err(shape(node, part, "an array")),
    }
}

fn shape(node: Node<'_>, part: &'static str, expected: &'static str) -> ViewError {
    ViewError { part, expected, offset: node.range().start }
}
