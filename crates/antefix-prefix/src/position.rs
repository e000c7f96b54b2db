//! Positions: what a provider reads of a request, in its order.

mod chat;

pub use chat::{chat_message, chat_positions};

use std::fmt;

use antefix_wire::ByteRange;
use antefix_wire::anthropic::{Block, BlockKind, Message, Request, Role, Tool, Ttl};
use antefix_wire::json::{Kind, Node};

use crate::digest::{Digest, Domain, FieldHasher};
use crate::spelling::{
    Survey, header, header_without_markers, without, write_standard, write_standard_string,
};

/// The three parts of a prompt, in the order in which the provider reads them.
///
/// Source: platform.claude.com/docs/en/build-with-claude/prompt-caching, September 2026: tools, system,
/// messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Section {
    /// Tool definitions that are not deferred.
    Tools,
    /// The system prompt.
    System,
    /// The conversation.
    Messages,
}

/// What stands at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PositionKind {
    /// A tool's definition.
    Tool,
    /// A block of the system prompt or of a message.
    Block(BlockKind),
    /// A message without blocks, which still says who speaks and may set the effort.
    EmptyMessage,
}

/// Where a position stands in its request; [`Display`](fmt::Display) writes it as a JSON Pointer (RFC 6901).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// `/tools/I`, deferred tools counted.
    Tool(usize),
    /// `/system`, given as a string.
    SystemText,
    /// `/system/I`
    System(usize),
    /// `/messages/M`, a message without blocks, or one of Chat Completions.
    Message(usize),
    /// `/messages/M/content`, given as a string.
    MessageText(usize),
    /// `/messages/M/content/B`
    Block {
        /// Index of the message.
        message: usize,
        /// Index of the block.
        block: usize,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tool(index) => write!(formatter, "/tools/{index}"),
            Self::SystemText => formatter.write_str("/system"),
            Self::System(index) => write!(formatter, "/system/{index}"),
            Self::Message(index) => write!(formatter, "/messages/{index}"),
            Self::MessageText(index) => write!(formatter, "/messages/{index}/content"),
            Self::Block { message, block } => write!(formatter, "/messages/{message}/content/{block}"),
        }
    }
}

/// One position of a prompt: a tool, or a block of the system prompt or of a message.
///
/// White space and commas between two positions belong to neither. A message's own members (`role`,
/// `output_config`, …) belong to its first block, so that a block that moves from one message to another, or
/// a message split in two, is seen; a message without blocks is a position of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// The part of the prompt.
    pub section: Section,
    /// Where it stands in the request.
    pub place: Place,
    /// Its bytes in the text that was scanned: the request, or the message or tool alone.
    pub range: ByteRange,
    /// Who speaks; [`Role::System`] for tools and the system prompt.
    pub role: Role,
    /// What it is.
    pub kind: PositionKind,
    /// It is the first of its message.
    pub opens_message: bool,
    /// Digest of the bytes without markers: the member `cache_control` and its comma. Any other byte counts.
    pub wire: Digest,
    /// Digest of the meaning: equal for two spellings that the API takes as equal. It is the `wire` digest of
    /// the standard spelling, so the two are equal where the bytes are in that spelling.
    pub normal: Digest,
    /// A marker may stand here: not on thinking, an empty text, or a system message with `clear_at`.
    pub markable: bool,
    /// How long the marker that stands here asks the entry to live.
    pub marker: Option<Ttl>,
    /// It is part of a message that the provider drops later (`clear_at`).
    pub clears: bool,
    /// It is an image, or a tool's result with one.
    pub image: bool,
    /// It is a model's thinking, open or redacted, or a chat message that holds some.
    pub thinks: bool,
}

impl Position {
    /// The JSON Pointer (RFC 6901) into the request.
    pub fn pointer(&self) -> String {
        self.place.to_string()
    }
}

/// The positions of a request in the provider's reading order: tools, system, messages. Deferred tools are
/// not among them: they are outside the rendered prompt until they are referenced.
///
/// Source: platform.claude.com/docs/en/build-with-claude/prompt-caching, and the tool search page, Aug 2026.
pub fn positions(request: &Request<'_>) -> Vec<Position> {
    let mut reader = Reader::default();
    let blocks: usize = request.messages.iter().map(|message| message.content.len()).sum();
    let mut out = Vec::with_capacity(request.tools.len() + request.system.len() + blocks);
    for (index, tool) in request.tools.iter().enumerate() {
        out.extend(reader.tool(tool, index));
    }
    for (index, block) in request.system.iter().enumerate() {
        out.push(reader.system(block, index));
    }
    for (index, message) in request.messages.iter().enumerate() {
        reader.message(message, index, &mut out);
    }
    out
}

/// The positions of one message alone, with the digests they have in the whole request.
///
/// `index` is the message's index in the request; ranges are those of the text the message was scanned in.
pub fn message_positions(message: &Message<'_>, index: usize) -> Vec<Position> {
    let mut out = Vec::with_capacity(message.content.len().max(1));
    Reader::default().message(message, index, &mut out);
    out
}

/// The position of one tool alone, with the digests it has in the whole request; `None` for a deferred one.
pub fn tool_position(tool: &Tool<'_>, index: usize) -> Option<Position> {
    Reader::default().tool(tool, index)
}

/// The position of one block of the system prompt alone, with the digests it has in the whole request.
pub fn system_position(block: &Block<'_>, index: usize) -> Position {
    Reader::default().system(block, index)
}

/// What is reused from one position to the next.
#[derive(Default)]
struct Reader {
    survey: Survey,
    /// The standard spelling of a value.
    standard: Vec<u8>,
    /// What is hashed.
    hashed: Vec<u8>,
}

impl Reader {
    fn tool(&mut self, tool: &Tool<'_>, index: usize) -> Option<Position> {
        if tool.defer_loading {
            return None;
        }
        let (wire, normal) = self.digests(Domain::Tool, tool.node, None);
        Some(Position {
            section: Section::Tools,
            place: Place::Tool(index),
            range: tool.node.range(),
            role: Role::System,
            kind: PositionKind::Tool,
            opens_message: false,
            wire,
            normal,
            markable: true,
            marker: tool.cache_control.map(|marker| marker.ttl),
            clears: false,
            image: false,
            thinks: false,
        })
    }

    fn system(&mut self, block: &Block<'_>, index: usize) -> Position {
        let (wire, normal) = self.digests(Domain::System, block.node, None);
        let place = if block.from_string { Place::SystemText } else { Place::System(index) };
        block_position(block, Section::System, place, Role::System, (wire, normal))
    }

    fn message(&mut self, message: &Message<'_>, index: usize, out: &mut Vec<Position>) {
        if message.content.is_empty() {
            out.push(self.empty_message(message, index));
            return;
        }
        let clears = message.role == Role::System && message.param("clear_at").is_some();
        for (at, block) in message.content.iter().enumerate() {
            let opening = (at == 0).then_some(message.node);
            let domain = if at == 0 { Domain::Opening } else { Domain::Block };
            let digests = self.digests(domain, block.node, opening);
            let place = if block.from_string {
                Place::MessageText(index)
            } else {
                Place::Block { message: index, block: at }
            };
            let position = block_position(block, Section::Messages, place, message.role, digests);
            out.push(Position {
                opens_message: at == 0,
                markable: position.markable && !clears,
                clears,
                ..position
            });
        }
    }

    fn empty_message(&mut self, message: &Message<'_>, index: usize) -> Position {
        let (wire, normal) = self.digests(Domain::Empty, message.node, None);
        Position {
            section: Section::Messages,
            place: Place::Message(index),
            range: message.node.range(),
            role: message.role,
            kind: PositionKind::EmptyMessage,
            opens_message: true,
            wire,
            normal,
            markable: false,
            marker: None,
            clears: message.param("clear_at").is_some(),
            image: false,
            thinks: false,
        }
    }

    /// The two digests of a tool, a block or an empty message; `opening` is the message that a block opens.
    fn digests(&mut self, domain: Domain, node: Node<'_>, opening: Option<Node<'_>>) -> (Digest, Digest) {
        self.survey.look(node);
        let is_text = node.kind() == Kind::String;
        let plain = opening.is_none_or(has_plain_header);
        let mut wire = FieldHasher::new(domain, &mut self.hashed);
        if let Some(message) = opening {
            let (before, after) = header(message);
            if plain {
                wire.field(&[before, after])
            } else {
                wire.field(&header_without_markers(message))
            };
        }
        if self.survey.cuts.is_empty() {
            wire.field(&[node.raw().as_bytes()]);
        } else {
            wire.field(&without(node, &self.survey.cuts));
        }
        let wire = wire.finish();
        if plain && !is_text && !self.survey.differs {
            return (wire, wire);
        }
        (wire, self.normal(domain, node, opening))
    }

    fn normal(&mut self, domain: Domain, node: Node<'_>, opening: Option<Node<'_>>) -> Digest {
        let mut hasher = FieldHasher::new(domain, &mut self.hashed);
        if let Some(message) = opening {
            self.standard.clear();
            write_standard(&mut self.standard, message, Some("content"));
            hasher.field(&[&self.standard]);
        }
        self.standard.clear();
        if node.kind() == Kind::String {
            self.standard.extend_from_slice(br#"{"type":"text","text":"#);
            write_standard_string(&mut self.standard, node);
            self.standard.push(b'}');
        } else {
            write_standard(&mut self.standard, node, None);
        }
        hasher.field(&[&self.standard]).finish()
    }
}

fn block_position(
    block: &Block<'_>,
    section: Section,
    place: Place,
    role: Role,
    (wire, normal): (Digest, Digest),
) -> Position {
    Position {
        section,
        place,
        range: block.node.range(),
        role,
        kind: PositionKind::Block(block.kind),
        opens_message: false,
        wire,
        normal,
        markable: block.kind.takes_marker() && !is_empty_text(block),
        marker: block.cache_control.map(|marker| marker.ttl),
        clears: false,
        image: has_image(block),
        thinks: matches!(block.kind, BlockKind::Thinking | BlockKind::RedactedThinking),
    }
}

/// Whether a text block holds nothing but white space, on which no marker may stand.
fn is_empty_text(block: &Block<'_>) -> bool {
    let node = if block.from_string { Some(block.node) } else { block.node.get("text") };
    block.kind == BlockKind::Text
        && node.is_none_or(|node| {
            let raw = node.raw().as_bytes();
            let inner = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
            let starts_with_text =
                inner.first().is_some_and(|&byte| byte > b' ' && byte != b'\\' && byte < 0x80);
            !starts_with_text && node.str().is_none_or(|text| text.trim().is_empty())
        })
}

fn has_image(block: &Block<'_>) -> bool {
    match block.kind {
        BlockKind::Image => true,
        BlockKind::ToolResult => block.node.get("content").is_some_and(|content| {
            content.items().any(|item| item.get("type").is_some_and(|name| name.is_str("image")))
        }),
        _ => false,
    }
}

/// Whether a message holds `role` and `content` and nothing else, in the standard spelling.
fn has_plain_header(message: Node<'_>) -> bool {
    let (before, after) = header(message);
    after == b"}" && PLAIN_HEADERS.contains(&before)
}

const PLAIN_HEADERS: [&[u8]; 3] = [
    br#"{"role":"user","content":"#,
    br#"{"role":"assistant","content":"#,
    br#"{"role":"system","content":"#,
];
