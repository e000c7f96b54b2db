use crate::anthropic::BlockKind;
use crate::json::{Body, Kind, Limits, Node, compact, unescape, write_string};

/// One block of an assembled message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssembledBlock {
    /// The block as it is sent back, without insignificant white space.
    ///
    /// Of Chat Completions: a text or a refusal is a content part, a call is an entry of `tool_calls`, and reasoning
    /// is an object with the members that the message had, such as `reasoning_content`.
    ///
    /// An empty tool input is `{}`. So is one that is not a JSON object, which
    /// [`broken_input`](Self::broken_input) then holds; such a block is never complete.
    pub json: Vec<u8>,
    /// What the block is.
    pub kind: BlockKind,
    /// Its `content_block_stop` was seen (of Chat Completions: another block began, or the message was over) and a
    /// tool's input is a JSON object.
    pub complete: bool,
    /// The streamed text of a tool's input that is not a JSON object: cut off, or written wrongly.
    pub broken_input: Option<String>,
    /// Number of deltas of unknown type, which the block's JSON leaves out.
    pub unknown_deltas: u32,
}

/// A block that is being streamed.
#[derive(Clone, Debug)]
pub(super) struct OpenBlock {
    pub(super) index: u64,
    pub(super) kind: BlockKind,
    pub(super) stopped: bool,
    pub(super) unknown_deltas: u32,
    /// The block as it was started.
    start: String,
    /// Streamed text, still escaped, so that a pair of surrogates may be split between two deltas.
    text: Option<String>,
    thinking: Option<String>,
    /// Streamed JSON text of a tool's input.
    input: Option<String>,
    citations: Vec<String>,
    /// Members given anew as a whole.
    set: Vec<(&'static str, String)>,
}

impl OpenBlock {
    pub(super) fn new(index: u64, node: Node<'_>) -> Self {
        let kind = node.get("type").and_then(Node::str).map_or(BlockKind::Other, |name| BlockKind::of(&name));
        Self {
            index,
            kind,
            stopped: false,
            unknown_deltas: 0,
            start: node.raw().to_owned(),
            text: None,
            thinking: None,
            input: None,
            citations: Vec::new(),
            set: Vec::new(),
        }
    }

    /// Takes a piece of text, a string node, and gives it decoded.
    pub(super) fn text(&mut self, piece: Node<'_>) -> String {
        append(&mut self.text, piece)
    }

    /// Takes a piece of thinking, a string node, and gives it decoded.
    pub(super) fn thinking(&mut self, piece: Node<'_>) -> String {
        append(&mut self.thinking, piece)
    }

    /// Takes a piece of a tool's input, a string node, and gives it decoded.
    pub(super) fn input(&mut self, piece: Node<'_>) -> String {
        append(&mut self.input, piece)
    }

    pub(super) fn citation(&mut self, citation: Node<'_>) {
        self.citations.push(compacted(citation));
    }

    /// Takes the members of a compaction, each of which comes whole.
    pub(super) fn compaction(&mut self, delta: Node<'_>) {
        for key in ["content", "encrypted_content"] {
            if let Some(value) = delta.get(key) {
                self.set(key, value);
            }
        }
    }

    /// Gives a member a new value as a whole.
    pub(super) fn set(&mut self, key: &'static str, value: Node<'_>) {
        self.set.retain(|(earlier, _)| *earlier != key);
        self.set.push((key, compacted(value)));
    }

    pub(super) fn finish(self) -> AssembledBlock {
        let (kind, stopped, unknown_deltas) = (self.kind, self.stopped, self.unknown_deltas);
        match Body::parse(self.start.as_bytes()) {
            Ok(start) => {
                let (members, broken_input) = self.streamed(start.root());
                let json = with_members(start.root(), &members);
                let complete = stopped && broken_input.is_none();
                AssembledBlock { json, kind, complete, broken_input, unknown_deltas }
            }
            // INVARIANT: the start is the raw text of a scanned value, so it scans again.
            Err(_) => AssembledBlock {
                json: self.start.into_bytes(),
                kind,
                complete: false,
                broken_input: None,
                unknown_deltas,
            },
        }
    }

    /// The members that the stream gave, as JSON, and a tool's input that is not JSON.
    fn streamed(self, start: Node<'_>) -> (Vec<(&'static str, String)>, Option<String>) {
        let mut members = self.set;
        for (key, piece) in [("text", self.text), ("thinking", self.thinking)] {
            if let Some(piece) = piece {
                members.push((key, continued(start.get(key), &piece)));
            }
        }
        if !self.citations.is_empty() {
            let earlier = start.get("citations").into_iter().flat_map(Node::items).map(compacted);
            let all: Vec<_> = earlier.chain(self.citations).collect();
            members.push(("citations", format!("[{}]", all.join(","))));
        }
        let mut broken = None;
        if takes_input(self.kind) || self.input.is_some() {
            let streamed =
                self.input.map(|escaped| unescape(&escaped)).filter(|text| !text.trim().is_empty());
            let input = match streamed.as_deref().map(object) {
                Some(Some(input)) => input,
                Some(None) => {
                    broken = streamed;
                    EMPTY_INPUT.to_owned()
                }
                None => started_input(start),
            };
            members.push(("input", input));
        }
        (members, broken)
    }
}

/// Whether a block of this kind carries a tool's input, also an empty one.
fn takes_input(kind: BlockKind) -> bool {
    matches!(kind, BlockKind::ToolUse | BlockKind::ServerToolUse | BlockKind::McpToolUse)
}

/// The input that the block was started with, if it is an object; else an empty one.
fn started_input(start: Node<'_>) -> String {
    let input = start.get("input").filter(|input| input.kind() == Kind::Object);
    input.map_or_else(|| EMPTY_INPUT.to_owned(), compacted)
}

/// The object that a tool's streamed input makes, without white space; `None` if it is no JSON object.
pub(super) fn object(text: &str) -> Option<String> {
    let body = Body::parse_with(text, limits()).ok()?;
    (body.root().kind() == Kind::Object).then(|| compacted(body.root()))
}

/// A string of the text that the block was started with and of what was streamed behind it.
fn continued(start: Option<Node<'_>>, escaped: &str) -> String {
    let joined = start.and_then(inner).unwrap_or_default().to_owned() + escaped;
    let mut out = Vec::new();
    write_string(&mut out, &unescape(&joined));
    text(out)
}

/// Appends a string's text, still escaped, and gives it decoded.
pub(super) fn append(slot: &mut Option<String>, piece: Node<'_>) -> String {
    let escaped = inner(piece).unwrap_or_default();
    slot.get_or_insert_default().push_str(escaped);
    unescape(escaped)
}

/// The text between a string's quotes, still escaped.
pub(super) fn inner(node: Node<'_>) -> Option<&str> {
    node.raw().strip_prefix('"')?.strip_suffix('"')
}

/// The object `start` with `members` in the place of its own of that name; new ones follow.
fn with_members(start: Node<'_>, members: &[(&str, String)]) -> Vec<u8> {
    let mut out = vec![b'{'];
    let separate = |out: &mut Vec<u8>| {
        if out.len() > 1 {
            out.push(b',');
        }
    };
    for (key, value) in start.members() {
        separate(&mut out);
        compact(&mut out, key);
        out.push(b':');
        match members.iter().find(|(name, _)| key.is_str(name)) {
            Some((_, json)) => out.extend_from_slice(json.as_bytes()),
            None => compact(&mut out, value),
        }
    }
    for (name, json) in members.iter().filter(|(name, _)| start.get(name).is_none()) {
        separate(&mut out);
        write_string(&mut out, name);
        out.push(b':');
        out.extend_from_slice(json.as_bytes());
    }
    out.push(b'}');
    out
}

pub(super) fn compacted(node: Node<'_>) -> String {
    let mut out = Vec::with_capacity(node.raw().len());
    compact(&mut out, node);
    text(out)
}

/// The text of JSON that was written from text, and so is text.
fn text(json: Vec<u8>) -> String {
    String::from_utf8(json).unwrap_or_default()
}

/// Limits of what is put together to a block: less depth than a request may have, in which the block then stands
/// within its message, the messages and the body.
pub(super) fn limits() -> Limits {
    let all = Limits::default();
    Limits { depth: all.depth.saturating_sub(8), ..all }
}

pub(super) const EMPTY_INPUT: &str = "{}";
