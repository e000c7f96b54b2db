//! A request as a list of items in the provider's reading order, whatever its dialect.
//!
//! This is the one place that knows dialects: each has a reader that lists its items and a table of the settings that
//! its caches go by. All else in the verdict works on items.

mod anthropic;
mod dialect;
mod gemini;
mod openai;

pub(super) use dialect::Setting;
pub use dialect::{Dialect, Effect};

use std::borrow::Cow;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use antefix_wire::anthropic::{BlockKind, Request, Role, Ttl, ViewError};
use antefix_wire::json::{Kind as Json, Node};
use antefix_wire::{gemini as wire_gemini, openai as wire_openai};

use crate::difference::walk::walk_header;
use crate::position::{PositionKind, Section};
use crate::spelling::{Survey, write_standard, write_standard_string};

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

    /// The member of the message or entry that it stands in; empty for the entry as a whole.
    pub(super) const fn member(self) -> &'static str {
        self.inner
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
            .or_else(|| wire_gemini::call(self.node))
    }

    pub(super) fn is(&self, kind: BlockKind) -> bool {
        self.kind == PositionKind::Block(kind)
    }

    pub(super) fn is_thinking(&self) -> bool {
        self.is(BlockKind::Thinking) || self.is(BlockKind::RedactedThinking)
    }

    /// Whether two items mean the same; a string and the one text block it stands for do.
    pub(super) fn same(&self, other: &Item<'_>) -> bool {
        if self.node.raw() == other.node.raw() {
            return true;
        }
        // Most that differ do so in what is cheap to look at.
        if self.kind != other.kind || self.text() != other.text() || self.call_id() != other.call_id() {
            return false;
        }
        self.standard() == other.standard()
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

    /// Whether `later` is this message with more behind its last text.
    pub(super) fn text_grows_into(&self, later: &Turn<'_>) -> bool {
        let Some((last, front)) = self.items.split_last() else { return false };
        let fronts_agree = front.iter().zip(&later.items).all(|(left, right)| left.same(right));
        let other = later.items.get(front.len()).and_then(Item::text);
        self.role == later.role
            && fronts_agree
            && matches!((last.text(), other), (Some(old), Some(new)) if new.len() > old.len() && new.starts_with(&*old))
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
            Dialect::Anthropic => Ok(anthropic::read(&Request::read(root)?)),
            Dialect::OpenAiChat | Dialect::OpenAiResponses => {
                Ok(openai::read(&wire_openai::Request::read(root)))
            }
            Dialect::Gemini => Ok(gemini::read(&wire_gemini::Request::read(root))),
        }
    }

    /// All items in reading order.
    pub fn items(&self) -> impl Iterator<Item = &Item<'a>> {
        let (first, second) =
            if self.reads_system_first() { (&self.system, &self.tools) } else { (&self.tools, &self.system) };
        first.iter().chain(second).chain(self.turns.iter().flat_map(|turn| &turn.items))
    }

    /// Whether the system prompt stands in front of the tools: not where an item of the conversation brings them.
    pub(super) fn reads_system_first(&self) -> bool {
        let are_said = self.tools.first().is_some_and(|tool| tool.path.list == "/input");
        self.dialect.reads_system_first() && !are_said
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
