use std::borrow::Cow;

use super::{CacheControl, ViewError, expect_object, list, shape};
use crate::json::{Kind, Node};

/// One block of the system prompt, of a message or of a tool's result.
#[derive(Clone, Debug)]
pub struct Block<'a> {
    /// The whole block; the string itself where [`from_string`](Self::from_string) is set.
    pub node: Node<'a>,
    /// What the block is.
    pub kind: BlockKind,
    /// The content was given as a plain string, which stands for one text block.
    pub from_string: bool,
    /// The marker on this block.
    pub cache_control: Option<CacheControl<'a>>,
}

impl<'a> Block<'a> {
    /// Reads one block, or a string as one text block.
    ///
    /// # Errors
    /// [`ViewError`] if it is neither an object nor a string.
    pub fn read(node: Node<'a>) -> Result<Self, ViewError> {
        if node.kind() == Kind::String {
            return Ok(Self { node, kind: BlockKind::Text, from_string: true, cache_control: None });
        }
        expect_object(node, "a block")?;
        let kind = node.get("type").and_then(Node::str).map_or(BlockKind::Other, |name| BlockKind::of(&name));
        Ok(Self { node, kind, from_string: false, cache_control: CacheControl::of(node) })
    }

    /// The block's `type` as sent; `text` for a string, empty if it has none.
    pub fn type_name(&self) -> Cow<'a, str> {
        if self.from_string {
            return Cow::Borrowed("text");
        }
        self.node.get("type").and_then(Node::str).unwrap_or_default()
    }

    /// The text of a text block or of a plain string.
    pub fn text(&self) -> Option<Cow<'a, str>> {
        let node = if self.from_string { Some(self.node) } else { self.node.get("text") };
        (self.kind == BlockKind::Text).then(|| node.and_then(Node::str))?
    }

    /// The id that ties a call to its result: `id` of a call, `tool_use_id` of a result.
    pub fn call_id(&self) -> Option<Cow<'a, str>> {
        self.node.get("tool_use_id").or_else(|| self.node.get("id")).and_then(Node::str)
    }

    /// The blocks inside the block's own `content`, such as those of a tool's result; a marker can stand
    /// there too, for instance on a `tool_reference`. Content that is one object counts as one block.
    ///
    /// # Errors
    /// [`ViewError`] if the content is neither text nor blocks.
    pub fn content(&self) -> Result<Vec<Block<'a>>, ViewError> {
        match self.node.get("content") {
            Some(node) if node.kind() == Kind::Object => Ok(vec![Block::read(node)?]),
            node => content(node, "the content of a block"),
        }
    }

    /// The value of a field of the block; `None` for a plain string.
    pub fn param(&self, key: &str) -> Option<Node<'a>> {
        self.node.get(key)
    }
}

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BlockKind {
    /// `text`
    Text,
    /// `thinking`
    Thinking,
    /// `redacted_thinking`
    RedactedThinking,
    /// `tool_use`
    ToolUse,
    /// `tool_result`
    ToolResult,
    /// `tool_reference`
    ToolReference,
    /// `server_tool_use`
    ServerToolUse,
    /// The result of any server tool but the advisor: `web_search_tool_result` and the like.
    ServerToolResult,
    /// `advisor_tool_result`
    AdvisorResult,
    /// `mcp_tool_use`
    McpToolUse,
    /// `mcp_tool_result`
    McpToolResult,
    /// `mcp_tool_listing`
    McpToolListing,
    /// `image`
    Image,
    /// `document`
    Document,
    /// `search_result`
    SearchResult,
    /// `container_upload`
    ContainerUpload,
    /// `compaction`
    Compaction,
    /// `fallback`: where one model's output gives way to another's.
    Fallback,
    /// `tool_addition`
    ToolAddition,
    /// `tool_removal`
    ToolRemoval,
    /// A refusal in words, which only OpenAI has: `refusal`.
    Refusal,
    /// Sound, which only OpenAI has: `input_audio`.
    Audio,
    /// Any other type, or none.
    Other,
}

impl BlockKind {
    /// The kind that a block's `type` names.
    pub fn of(type_name: &str) -> Self {
        match type_name {
            "text" => Self::Text,
            "thinking" => Self::Thinking,
            "redacted_thinking" => Self::RedactedThinking,
            "tool_use" => Self::ToolUse,
            "tool_result" => Self::ToolResult,
            "tool_reference" => Self::ToolReference,
            "server_tool_use" => Self::ServerToolUse,
            "advisor_tool_result" => Self::AdvisorResult,
            "mcp_tool_use" => Self::McpToolUse,
            "mcp_tool_result" => Self::McpToolResult,
            "mcp_tool_listing" => Self::McpToolListing,
            "image" => Self::Image,
            "document" => Self::Document,
            "search_result" => Self::SearchResult,
            "container_upload" => Self::ContainerUpload,
            "compaction" => Self::Compaction,
            "fallback" => Self::Fallback,
            "tool_addition" => Self::ToolAddition,
            "tool_removal" => Self::ToolRemoval,
            // web_search, web_fetch, code_execution, bash_code_execution, text_editor_code_execution and
            // tool_search today; the next server tool follows the same form.
            name if name.ends_with("_tool_result") => Self::ServerToolResult,
            _ => Self::Other,
        }
    }

    /// Whether a marker may stand on such a block: not on thinking, on a fallback boundary or on a listing.
    ///
    /// Source: platform.claude.com/docs/en/build-with-claude/prompt-caching, September 2026, and the block
    /// types of the `anthropic` SDK 2.14.0. An empty text and a system message with `clear_at` are refused as
    /// well, which the kind alone does not tell. Unknown kinds count as not markable.
    pub fn takes_marker(self) -> bool {
        !matches!(
            self,
            Self::Thinking
                | Self::RedactedThinking
                | Self::Fallback
                | Self::McpToolListing
                | Self::Refusal
                | Self::Audio
                | Self::Other
        )
    }
}

/// Reads content given as a string, as blocks, as `null` or not at all.
pub(super) fn content<'a>(node: Option<Node<'a>>, part: &'static str) -> Result<Vec<Block<'a>>, ViewError> {
    match node.map(|node| (node, node.kind())) {
        Some((node, Kind::String)) => Ok(vec![Block::read(node)?]),
        Some((node, Kind::Object | Kind::Number | Kind::Bool)) => {
            Err(shape(node, part, "a string or an array of blocks"))
        }
        Some((_, Kind::Array | Kind::Null)) | None => list(node, part, |item| {
            expect_object(item, "a block")?;
            Block::read(item)
        }),
    }
}
