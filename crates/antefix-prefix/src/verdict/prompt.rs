//! A request as a list of items in the provider's reading order, whatever its dialect.
//!
//! This is the one place that knows dialects: each has a reader that lists its items and a row of the parameters
//! that its caches go by. All else in the verdict works on items.

use std::borrow::Cow;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use antefix_wire::anthropic::{self, BlockKind, Role, Ttl, ViewError};
use antefix_wire::json::{Kind as Json, Node};
use antefix_wire::openai;

use super::Kind;
use crate::difference::walk::walk_header;
use crate::position::{PositionKind, Section};
use crate::spelling::{MARKER, Survey, write_standard, write_standard_string};

/// The protocol that a request is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions.
    OpenAiChat,
    /// OpenAI Responses.
    OpenAiResponses,
}

impl Dialect {
    /// Guesses from a request's shape, since bodies do not say.
    pub fn detect(root: Node<'_>) -> Self {
        if root.get("input").is_some() || root.get("instructions").is_some() {
            return Self::OpenAiResponses;
        }
        let is_function = |tool: Node<'_>| tool.get("function").is_some();
        let is_chat_message = |(index, message): (usize, Node<'_>)| {
            let role = message.get("role");
            let is = |name| role.is_some_and(|role| role.is_str(name));
            is("tool")
                || is("developer")
                || message.get("tool_calls").is_some()
                || (index == 0 && is("system"))
        };
        let items = |key| root.get(key).into_iter().flat_map(Node::items);
        let has_system = root.get("system").is_some();
        if !has_system
            && (items("tools").any(is_function) || items("messages").enumerate().any(is_chat_message))
        {
            Self::OpenAiChat
        } else {
            Self::Anthropic
        }
    }

    /// Parameters that stand in front of the whole prompt, as pointers, with what a change of one is called.
    pub(super) const fn parameters(self) -> &'static [(&'static str, Kind)] {
        match self {
            Self::Anthropic => &ANTHROPIC_PARAMETERS,
            Self::OpenAiChat | Self::OpenAiResponses => &OPENAI_PARAMETERS,
        }
    }

    /// Parameters that count for the messages only.
    pub(super) const fn late_parameters(self) -> &'static [(&'static str, Kind)] {
        match self {
            Self::Anthropic => &[("/tool_choice", Kind::ParamsToolChoice)],
            Self::OpenAiChat | Self::OpenAiResponses => &[("/parallel_tool_calls", Kind::ParamsToolChoice)],
        }
    }

    /// Whether the provider caches without being asked, so that markers say nothing about what was cached.
    pub const fn is_implicit(self) -> bool {
        !matches!(self, Self::Anthropic)
    }
}

/// Source: platform.claude.com/docs/en/build-with-claude/prompt-caching, "What invalidates the cache", 2026-11.
const ANTHROPIC_PARAMETERS: [(&str, Kind); 7] = [
    ("/model", Kind::ParamsModel),
    ("/speed", Kind::ParamsSpeed),
    ("/anthropic_beta", Kind::ParamsBetas),
    ("/thinking", Kind::ParamsThinking),
    ("/output_config/effort", Kind::ParamsEffort),
    ("/output_config/format", Kind::ParamsFormat),
    ("/output_format", Kind::ParamsFormat),
];

/// Source: platform.openai.com/docs/guides/prompt-caching, 2026-09; a tool choice is safe there.
const OPENAI_PARAMETERS: [(&str, Kind); 9] = [
    ("/model", Kind::ParamsModel),
    ("/prompt_cache_key", Kind::KeyRotated),
    ("/service_tier", Kind::ParamsTier),
    ("/reasoning/effort", Kind::ParamsEffort),
    ("/reasoning_effort", Kind::ParamsEffort),
    ("/text/format", Kind::ParamsFormat),
    ("/response_format", Kind::ParamsFormat),
    ("/text/verbosity", Kind::ParamsFormat),
    ("/verbosity", Kind::ParamsFormat),
];

/// Where an item stands; [`Display`](fmt::Display) writes it as a JSON Pointer (RFC 6901).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    list: &'static str,
    index: Option<usize>,
    inner: &'static str,
    part: Option<usize>,
}

impl Path {
    const fn of(list: &'static str, index: usize) -> Self {
        Self { list, index: Some(index), inner: "", part: None }
    }

    const fn at(self, inner: &'static str, part: Option<usize>) -> Self {
        Self { inner, part, ..self }
    }

    /// The message or entry as a whole.
    pub(super) const fn whole(self) -> Self {
        Self { inner: "", part: None, ..self }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.list)?;
        self.index.iter().try_for_each(|index| write!(formatter, "/{index}"))?;
        formatter.write_str(self.inner)?;
        self.part.iter().try_for_each(|part| write!(formatter, "/{part}"))
    }
}

/// One thing the provider reads: a tool, a block of the system prompt or of a message.
#[derive(Clone, Debug)]
pub struct Item<'a> {
    /// The part of the prompt.
    pub section: Section,
    /// Where it stands.
    pub path: Path,
    /// Its value.
    pub node: Node<'a>,
    /// What it is.
    pub kind: PositionKind,
    /// Who speaks.
    pub role: Role,
    /// The marker on it.
    pub marker: Option<Ttl>,
    /// A tool's name; empty for anything else.
    pub name: Cow<'a, str>,
}

impl<'a> Item<'a> {
    /// What must be the same for two items to be compared further.
    pub(super) fn identity(&self) -> (PositionKind, Cow<'a, str>, Cow<'a, str>) {
        let type_name = match self.node.kind() {
            Json::String => Cow::Borrowed("text"),
            _ => self.node.get("type").and_then(Node::str).unwrap_or_default(),
        };
        (self.kind, type_name, self.name.clone())
    }

    /// The text of a text item.
    pub(super) fn text(&self) -> Option<Cow<'a, str>> {
        if self.kind != PositionKind::Block(BlockKind::Text) {
            return None;
        }
        self.node.str().or_else(|| self.node.get("text").and_then(Node::str))
    }

    /// The id that ties a call to its result.
    pub(super) fn call_id(&self) -> Option<Cow<'a, str>> {
        ["tool_use_id", "call_id", "tool_call_id", "id"]
            .iter()
            .find_map(|key| self.node.get(key))
            .and_then(Node::str)
    }

    pub(super) fn is(&self, kind: BlockKind) -> bool {
        self.kind == PositionKind::Block(kind)
    }

    pub(super) fn is_thinking(&self) -> bool {
        self.is(BlockKind::Thinking) || self.is(BlockKind::RedactedThinking)
    }

    /// Whether two items mean the same; a string and the one text block it stands for do.
    pub(super) fn same(&self, other: &Item<'_>) -> bool {
        self.node.raw() == other.node.raw() || self.standard() == other.standard()
    }

    /// The one spelling for all that mean the same.
    pub(super) fn standard(&self) -> Vec<u8> {
        let mut out = Vec::new();
        if self.node.kind() == Json::String {
            out.extend_from_slice(br#"{"type":"text","text":"#);
            write_standard_string(&mut out, self.node);
            out.push(b'}');
        } else {
            write_standard(&mut out, self.node, None);
        }
        out
    }

    /// A number that is equal for items that mean the same, within one process.
    pub(super) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let mut survey = Survey::default();
        survey.look(self.node);
        if survey.differs || self.node.kind() == Json::String {
            hasher.write(&self.standard());
        } else {
            hasher.write(self.node.raw().as_bytes());
        }
        hasher.finish()
    }
}

/// One message with the range of its items.
#[derive(Clone, Debug)]
pub(super) struct Turn<'a> {
    pub(super) node: Node<'a>,
    /// The message, where its other members are part of the prompt.
    pub(super) header: Option<Node<'a>>,
    pub(super) role: Role,
    pub(super) path: Path,
    pub(super) items: Vec<Item<'a>>,
}

impl Turn<'_> {
    /// Whether two messages mean the same.
    pub(super) fn same(&self, other: &Turn<'_>) -> bool {
        self.node.raw() == other.node.raw()
            || (self.role == other.role
                && self.items.len() == other.items.len()
                && self.items.iter().zip(&other.items).all(|(left, right)| left.same(right))
                && self.same_header(other))
    }

    fn same_header(&self, other: &Turn<'_>) -> bool {
        match (self.header, other.header) {
            (Some(left), Some(right)) => walk_header(left, right).is_none(),
            _ => true,
        }
    }

    /// Whether `later` starts with all of this message.
    pub(super) fn grows_into(&self, later: &Turn<'_>) -> bool {
        self.role == later.role
            && self.items.len() < later.items.len()
            && self.items.iter().zip(&later.items).all(|(left, right)| left.same(right))
    }

    pub(super) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.role.hash(&mut hasher);
        self.items.iter().for_each(|item| hasher.write_u64(item.fingerprint()));
        hasher.finish()
    }
}

/// A request in reading order.
#[derive(Clone, Debug)]
pub struct Prompt<'a> {
    /// The protocol.
    pub dialect: Dialect,
    /// The whole request.
    pub root: Node<'a>,
    /// The model asked for; empty if none is named.
    pub model: Cow<'a, str>,
    pub(super) tools: Vec<Item<'a>>,
    /// Tools outside the prompt until they are loaded.
    pub(super) deferred: Vec<Item<'a>>,
    pub(super) system: Vec<Item<'a>>,
    pub(super) turns: Vec<Turn<'a>>,
    /// The marker that stands for the last block.
    pub(super) automatic: Option<Ttl>,
}

impl<'a> Prompt<'a> {
    /// Reads a request; the dialect is guessed from its shape.
    ///
    /// # Errors
    /// [`ViewError`] if it has another shape than its API takes.
    pub fn read(root: Node<'a>) -> Result<Self, ViewError> {
        match Dialect::detect(root) {
            Dialect::Anthropic => Ok(read_anthropic(&anthropic::Request::read(root)?)),
            Dialect::OpenAiChat | Dialect::OpenAiResponses => Ok(read_openai(&openai::Request::read(root))),
        }
    }

    /// All items in reading order.
    pub fn items(&self) -> impl Iterator<Item = &Item<'a>> {
        let (first, second) = match self.dialect {
            Dialect::OpenAiResponses => (&self.system, &self.tools),
            Dialect::Anthropic | Dialect::OpenAiChat => (&self.tools, &self.system),
        };
        first.iter().chain(second).chain(self.turns.iter().flat_map(|turn| &turn.items))
    }

    /// The items of the messages in order.
    pub(super) fn said(&self) -> impl Iterator<Item = &Item<'a>> {
        self.turns.iter().flat_map(|turn| &turn.items)
    }

    /// Number of markers, the automatic one included.
    pub fn markers(&self) -> usize {
        self.items().chain(&self.deferred).filter(|item| item.marker.is_some()).count()
            + usize::from(self.automatic.is_some())
    }

    /// Index of the last item with a marker, in reading order.
    pub(super) fn last_marker(&self) -> Option<usize> {
        let items: Vec<_> = self.items().collect();
        if self.automatic.is_some() {
            return items.len().checked_sub(1);
        }
        items.iter().rposition(|item| item.marker.is_some())
    }

    /// Length in bytes of the items in front of the `index`th, in reading order.
    pub(super) fn bytes_before(&self, index: usize) -> u64 {
        self.items().take(index).map(|item| item.node.range().len() as u64).sum()
    }
}

fn read_anthropic<'a>(request: &anthropic::Request<'a>) -> Prompt<'a> {
    let tool = |(index, tool): (usize, &anthropic::Tool<'a>)| Item {
        section: Section::Tools,
        path: Path::of("/tools", index),
        node: tool.node,
        kind: PositionKind::Tool,
        role: Role::System,
        marker: tool.cache_control.map(|marker| marker.ttl),
        name: tool.name.clone(),
    };
    let (deferred, tools): (Vec<_>, Vec<_>) =
        request.tools.iter().enumerate().partition(|(_, tool)| tool.defer_loading);
    let whole = Path { list: "/system", index: None, inner: "", part: None };
    let system = request.system.iter().enumerate().map(|(index, block)| {
        let path = if block.from_string { whole } else { Path::of("/system", index) };
        block_item(block, Section::System, path, Role::System)
    });
    let turn = |(index, message): (usize, &anthropic::Message<'a>)| {
        let path = Path::of("/messages", index);
        let items = message.content.iter().enumerate().map(|(at, block)| {
            let part = (!block.from_string).then_some(at);
            block_item(block, Section::Messages, path.at("/content", part), message.role)
        });
        Turn {
            node: message.node,
            header: Some(message.node),
            role: message.role,
            path,
            items: items.collect(),
        }
    };
    Prompt {
        dialect: Dialect::Anthropic,
        root: request.node,
        model: request.model.clone().unwrap_or_default(),
        tools: tools.into_iter().map(tool).collect(),
        deferred: deferred.into_iter().map(tool).collect(),
        system: system.collect(),
        turns: request.messages.iter().enumerate().map(turn).collect(),
        automatic: request.cache_control.map(|marker| marker.ttl),
    }
}

fn block_item<'a>(block: &anthropic::Block<'a>, section: Section, path: Path, role: Role) -> Item<'a> {
    let inner = || block.node.get("content").into_iter().flat_map(Node::items);
    let ttl = |one: Node<'a>| anthropic::CacheControl::of(one).map(|marker| marker.ttl);
    let nested = || (block.kind == BlockKind::ToolResult).then(|| inner().find_map(ttl)).flatten();
    Item {
        section,
        path,
        node: block.node,
        kind: PositionKind::Block(block.kind),
        role,
        marker: block.cache_control.map(|marker| marker.ttl).or_else(nested),
        name: Cow::Borrowed(""),
    }
}

fn read_openai<'a>(request: &openai::Request<'a>) -> Prompt<'a> {
    let (dialect, list) = match request.api {
        openai::Api::Chat => (Dialect::OpenAiChat, "/messages"),
        openai::Api::Responses => (Dialect::OpenAiResponses, "/input"),
    };
    let tool = |(index, tool): (usize, &openai::Tool<'a>)| Item {
        section: Section::Tools,
        path: Path::of("/tools", index),
        node: tool.node,
        kind: PositionKind::Tool,
        role: Role::System,
        marker: None,
        name: tool.name.clone(),
    };
    let (deferred, tools): (Vec<_>, Vec<_>) =
        request.tools.iter().enumerate().partition(|(_, tool)| tool.defer_loading);
    let instructions = request.instructions.map(|node| Item {
        section: Section::System,
        path: Path { list: "/instructions", index: None, inner: "", part: None },
        node,
        kind: PositionKind::Block(BlockKind::Text),
        role: Role::System,
        marker: None,
        name: Cow::Borrowed(""),
    });
    // What developers say before anyone else speaks is the system prompt.
    let leading = request.entries.iter().take_while(|entry| entry.role == Role::System).count();
    let turns = request.entries.iter().enumerate().map(|(index, entry)| {
        let path = Path::of(list, index);
        let section = if index < leading { Section::System } else { Section::Messages };
        let items = entry.parts.iter().map(|part| part_item(part, section, path, entry.role)).collect();
        Turn { node: entry.node, header: None, role: entry.role, path, items }
    });
    let mut turns: Vec<_> = turns.collect();
    let head = turns.drain(..leading).flat_map(|turn| turn.items);
    let system = instructions.into_iter().chain(head).collect();
    Prompt {
        dialect,
        root: request.node,
        model: request.model.clone().unwrap_or_default(),
        tools: tools.into_iter().map(tool).collect(),
        deferred: deferred.into_iter().map(tool).collect(),
        system,
        turns,
        automatic: None,
    }
}

fn part_item<'a>(part: &openai::Part<'a>, section: Section, entry: Path, role: Role) -> Item<'a> {
    let path = match part.slot {
        openai::Slot::Whole => entry,
        openai::Slot::Text => entry.at("/content", None),
        openai::Slot::Content(index) => entry.at("/content", Some(index)),
        openai::Slot::ToolCall(index) => entry.at("/tool_calls", Some(index)),
        openai::Slot::Member(pointer) => entry.at(pointer, None),
    };
    Item {
        section,
        path,
        node: part.node,
        kind: PositionKind::Block(part.kind),
        role,
        marker: part.node.get(MARKER).and_then(|_| anthropic::CacheControl::of(part.node)).map(|one| one.ttl),
        name: Cow::Borrowed(""),
    }
}
