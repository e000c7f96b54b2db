//! What one side said, between two dialects.

use std::collections::{BTreeMap, BTreeSet};

use antefix_wire::anthropic::{Block, BlockKind};
use antefix_wire::json::Node;
use bytes::Bytes;

use super::{Dialect, in_pattern, made_id, parse};
use crate::closure::is_blank_text;
use crate::conversation::Call;
use crate::record::Origin;

/// What one side said, as parts that every dialect has a place for.
#[derive(Clone, Debug)]
pub(crate) struct Translation {
    pub(crate) is_user: bool,
    pub(crate) origin: Origin,
    pub(crate) results: Vec<Outcome>,
    /// Texts, images and documents, as content blocks of the Messages API.
    pub(crate) blocks: Vec<Bytes>,
    pub(crate) calls: Vec<Call>,
    /// Number of blocks that only the provider that made them can take.
    pub(crate) left_out: u64,
}

/// What a call returned.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) call: String,
    pub(crate) content: Vec<Bytes>,
    pub(crate) is_error: bool,
}

impl Translation {
    /// Sorts a message's content blocks. Thinking is not among the parts: it is bound to its model.
    pub(crate) fn of(is_user: bool, origin: Origin, blocks: Vec<Bytes>) -> Self {
        let mut said =
            Self { is_user, origin, results: Vec::new(), blocks: Vec::new(), calls: Vec::new(), left_out: 0 };
        for block in blocks {
            if !said.add(&block) {
                said.left_out += 1;
            }
        }
        said
    }

    /// What calls returned, and nothing else.
    pub(crate) fn of_results(results: Vec<Outcome>) -> Self {
        Self { results, ..Self::of(true, Origin::Results, Vec::new()) }
    }

    /// Adds what the same side said next.
    pub(crate) fn append(&mut self, next: Self) {
        if self.origin != next.origin {
            self.origin = if self.is_user { Origin::User } else { Origin::Assistant };
        }
        self.results.extend(next.results);
        self.blocks.extend(next.blocks);
        self.calls.extend(next.calls);
        self.left_out += next.left_out;
    }

    /// Takes a block; says whether it has a place anywhere else than where it was made.
    fn add(&mut self, block: &Bytes) -> bool {
        let Ok(body) = parse(block) else { return false };
        let Ok(read) = Block::read(body.root()) else { return false };
        match read.kind {
            BlockKind::Text if is_blank_text(block) => {}
            BlockKind::Text => self.blocks.push(plain_text(read.node).unwrap_or_else(|| block.clone())),
            BlockKind::Image | BlockKind::Document => self.blocks.push(block.clone()),
            BlockKind::Thinking | BlockKind::RedactedThinking => {}
            BlockKind::ToolUse => self.calls.extend(super::anthropic::call_of(&read)),
            BlockKind::ToolResult => self.results.extend(outcome_of(&read)),
            _ => return false,
        }
        true
    }
}

/// Ids of calls as another dialect takes them.
#[derive(Debug)]
pub(crate) struct Ids {
    dialect: Dialect,
    known: BTreeMap<String, String>,
    used: BTreeSet<String>,
}

impl Ids {
    pub(crate) fn new(dialect: Dialect) -> Self {
        Self { dialect, known: BTreeMap::new(), used: BTreeSet::new() }
    }

    /// The id that stands for `id`; the same one each time.
    pub(crate) fn of(&mut self, id: &str) -> String {
        if let Some(known) = self.known.get(id) {
            return known.clone();
        }
        let is_used = |candidate: &str| self.used.contains(candidate);
        let is_taken = self.dialect.takes_id(id) && !is_used(id);
        let chosen = if is_taken { id.to_owned() } else { made_id(&is_used) };
        self.used.insert(chosen.clone());
        self.known.insert(id.to_owned(), chosen.clone());
        chosen
    }
}

/// Whether the Messages API takes an id.
pub(super) fn is_in_pattern(id: &str) -> bool {
    !id.is_empty() && in_pattern(id) == id
}

/// A text without citations, which point into documents as only the Messages API has them.
fn plain_text(block: Node<'_>) -> Option<Bytes> {
    block.get("citations")?;
    Some(crate::closure::text_block(&block.get("text")?.str()?))
}

fn outcome_of(block: &Block<'_>) -> Option<Outcome> {
    let raw = |block: &Block<'_>| match block.text() {
        Some(text) if block.from_string => crate::closure::text_block(&text),
        _ => Bytes::copy_from_slice(block.node.raw().as_bytes()),
    };
    Some(Outcome {
        call: block.call_id()?.into_owned(),
        content: block.content().ok()?.iter().map(raw).collect(),
        is_error: block.node.get("is_error").and_then(Node::bool).unwrap_or(false),
    })
}
