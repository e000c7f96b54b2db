use std::path::{Path, PathBuf};

use antefix_models::{Counts, Tokens};
use antefix_prefix::{Position, Section, chat_positions, positions};
use antefix_sim::Billed;
use antefix_wire::anthropic::{Request, Role};
use antefix_wire::json::{Body, Node};

use crate::commands::diff::body;
use crate::failure::Failure;

/// A captured request with what came of it.
pub struct Captured {
    /// Its number in the folder.
    pub number: u64,
    /// The answer's status.
    pub status: u16,
    /// What was billed, also where the connection was cut before it was told.
    pub counts: Counts,
    /// What the provider reads, in its order.
    pub positions: Vec<Position>,
    body: Body,
}

impl Captured {
    /// Reads a folder in the order in which the requests came, which is the order of the bill.
    ///
    /// # Errors
    /// If a file is missing or is no request, or there are more or fewer than were billed.
    pub fn read_all(folder: &Path, bill: &[Billed]) -> Result<Vec<Self>, Failure> {
        let entries = std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
        let mut paths = entries.collect::<std::io::Result<Vec<PathBuf>>>()?;
        paths.retain(|path| path.to_string_lossy().ends_with(".body.json"));
        paths.sort();
        if paths.len() != bill.len() {
            let text = format!("{} requests were captured and {} were billed", paths.len(), bill.len());
            return Err(Failure::failed(text));
        }
        paths.iter().zip(bill).map(|(path, billed)| Self::read(path, billed)).collect()
    }

    fn read(path: &Path, billed: &Billed) -> Result<Self, Failure> {
        let (sent, meta) = (body(path)?, body(&path.with_extension("").with_extension("meta.json"))?);
        let meta = meta.root();
        let is_chat = meta.get("path").is_some_and(|path| path.raw().contains("/chat/completions"));
        let positions = if is_chat {
            chat_positions(sent.root())
        } else {
            positions(&Request::read(sent.root()).map_err(Failure::failed)?)
        };
        Ok(Self {
            number: meta.get("n").and_then(|number| number.u64()).unwrap_or_default(),
            status: billed.status,
            counts: Counts {
                uncached: Tokens(billed.uncached),
                read: Tokens(billed.read),
                write_5m: Tokens(billed.write_5m),
                write_1h: Tokens(billed.write_1h),
                output: Tokens(billed.output),
            },
            positions,
            body: sent,
        })
    }

    /// Whether it offers a tool of that name, deferred or not.
    pub fn names(&self, tool: &str) -> bool {
        let mut tools = self.body.root().get("tools").into_iter().flat_map(Node::items);
        tools.any(|offered| {
            let name = offered.get("function").unwrap_or(offered).get("name");
            name.is_some_and(|name| name.is_str(tool))
        })
    }

    /// The tools that are withdrawn (`-NAME`) and offered (`+NAME`) among the messages, in order.
    pub fn tool_changes(&self) -> Vec<String> {
        let messages = self.body.root().get("messages").into_iter().flat_map(Node::items);
        let blocks = messages.filter_map(|message| message.get("content")).flat_map(Node::items);
        let change = |block: Node<'_>| {
            let kind = block.get("type")?;
            let sign = match () {
                () if kind.is_str("tool_addition") => '+',
                () if kind.is_str("tool_removal") => '-',
                () => return None,
            };
            Some(format!("{sign}{}", block.get("tool")?.get("name")?.str()?))
        };
        blocks.filter_map(change).collect()
    }

    /// How many positions of `earlier` stand at the front of this one with the same bytes.
    pub fn kept_of(&self, earlier: &Self) -> usize {
        let pairs = earlier.positions.iter().zip(&self.positions);
        pairs.take_while(|(one, other)| one.wire == other.wire).count()
    }

    /// What anyone but the model says behind the first `from` positions, as it was sent.
    pub fn said_from(&self, from: usize) -> Vec<&str> {
        let said = self.positions.iter().skip(from).filter(|position| position.role != Role::Assistant);
        said.filter(|position| position.section == Section::Messages)
            .filter_map(|position| self.body.text().get(position.range.start..position.range.end))
            .collect()
    }
}
