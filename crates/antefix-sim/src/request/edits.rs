//! `context_management`: what the client asks the server to leave out of the prompt.
//!
//! Names, defaults and limits are those of the pages on context editing and compaction (August 2026) and of the
//! `anthropic` SDK 2.14.0 (November 2026).

use antefix_wire::json::{Kind, Node};

use crate::error::ApiError;

use super::params::Clear;
use super::present;

/// The edits of a request, each kind once at most.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Edits {
    /// `clear_thinking_20251015`: which thinking stays.
    pub thinking: Option<Clear>,
    /// `clear_tool_uses_20250919`
    pub tool_uses: Option<ClearToolUses>,
    /// `compact_20260112`
    pub compact: Option<Compact>,
}

/// Leaves out what old calls returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClearToolUses {
    pub trigger: Trigger,
    /// Number of the latest calls that keep their results.
    pub keep: u64,
    /// Where less than so many tokens would be left out, nothing is.
    pub at_least: u64,
    /// Names of tools whose results stay.
    pub exclude: Vec<String>,
    /// The inputs of these calls are left out as well.
    pub inputs: bool,
}

/// When results are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trigger {
    /// The prompt has more tokens.
    InputTokens(u64),
    /// It holds more calls.
    ToolUses(u64),
}

/// Goes on from a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Compact {
    /// Tokens of a prompt of which a summary is made.
    pub trigger: u64,
    /// The answer ends behind the summary.
    pub pause: bool,
}

impl Edits {
    /// Reads the member; without edits it asks for nothing.
    pub fn read(node: Option<Node<'_>>) -> Result<Self, ApiError> {
        let mut edits = Self::default();
        let Some(list) = node.and_then(|node| present(node, "edits")) else { return Ok(edits) };
        if list.kind() != Kind::Array {
            return Err(invalid("", "Input should be a valid list"));
        }
        for (index, edit) in list.items().enumerate() {
            edits.add(index, edit)?;
        }
        Ok(edits)
    }

    /// Whether it asks for anything that the beta of context editing is needed for.
    pub fn clears(&self) -> bool {
        self.thinking.is_some() || self.tool_uses.is_some()
    }

    fn add(&mut self, index: usize, edit: Node<'_>) -> Result<(), ApiError> {
        let kind = edit.get("type").and_then(|kind| kind.str()).unwrap_or_default();
        let path = format!(".{index}");
        let is_again = match &*kind {
            "clear_thinking_20251015" if index > 0 => {
                return Err(invalid(&path, "clear_thinking_20251015 must be the first edit"));
            }
            "clear_thinking_20251015" => self.thinking.replace(Clear::read(edit)).is_some(),
            "clear_tool_uses_20250919" => self.tool_uses.replace(ClearToolUses::read(edit, &path)?).is_some(),
            "compact_20260112" => self.compact.replace(Compact::read(edit, &path)?).is_some(),
            _ => return Err(invalid(&format!("{path}.type"), "unknown edit")),
        };
        if is_again { Err(invalid(&path, "each edit may be given once")) } else { Ok(()) }
    }
}

impl ClearToolUses {
    fn read(edit: Node<'_>, path: &str) -> Result<Self, ApiError> {
        let trigger = match counted(edit, "trigger", &["input_tokens", "tool_uses"], path)? {
            Some((1, count)) => Trigger::ToolUses(count),
            Some((_, count)) => Trigger::InputTokens(count),
            None => Trigger::InputTokens(100_000),
        };
        let names = present(edit, "exclude_tools").into_iter().flat_map(Node::items);
        Ok(Self {
            trigger,
            keep: counted(edit, "keep", &["tool_uses"], path)?.map_or(3, |(_, count)| count),
            at_least: counted(edit, "clear_at_least", &["input_tokens"], path)?.map_or(0, |(_, count)| count),
            exclude: names.filter_map(|name| Some(name.str()?.into_owned())).collect(),
            inputs: present(edit, "clear_tool_inputs").and_then(|flag| flag.bool()) == Some(true),
        })
    }
}

impl Compact {
    fn read(edit: Node<'_>, path: &str) -> Result<Self, ApiError> {
        let trigger = counted(edit, "trigger", &["input_tokens"], path)?.map_or(150_000, |(_, count)| count);
        if trigger < LEAST_TRIGGER {
            let problem = format!("Input should be greater than or equal to {LEAST_TRIGGER}");
            return Err(invalid(&format!("{path}.trigger.value"), &problem));
        }
        let pause = present(edit, "pause_after_compaction").and_then(|flag| flag.bool()) == Some(true);
        Ok(Self { trigger, pause })
    }
}

/// A `{"type": …, "value": …}`: which of the types it is, and how much.
fn counted(edit: Node<'_>, key: &str, kinds: &[&str], path: &str) -> Result<Option<(usize, u64)>, ApiError> {
    let Some(node) = present(edit, key) else { return Ok(None) };
    let kind = kinds.iter().position(|kind| node.get("type").is_some_and(|found| found.is_str(kind)));
    match kind.zip(node.get("value").and_then(|value| value.u64())) {
        Some(found) => Ok(Some(found)),
        None => {
            let problem = format!("Input should be a number of {}", kinds.join(" or "));
            Err(invalid(&format!("{path}.{key}"), &problem))
        }
    }
}

fn invalid(path: &str, problem: &str) -> ApiError {
    ApiError::invalid(format!("context_management.edits{path}: {problem}"))
}

/// The least `trigger` of a compaction.
const LEAST_TRIGGER: u64 = 50_000;
