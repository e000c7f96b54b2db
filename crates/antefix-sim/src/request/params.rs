//! Everything of a request besides tools, system prompt and messages.

use antefix_wire::json::{Kind, Node};

use crate::error::ApiError;

use super::block::render_value;
use super::edits::Edits;
use super::present;

/// The parameters of a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Params {
    /// `None`: missing.
    pub max_tokens: Option<u64>,
    pub stream: bool,
    pub thinking: Thinking,
    /// `type` of `tool_choice`; empty if omitted.
    pub tool_choice: String,
    /// `tool_choice.name`.
    pub forced_tool: String,
    pub disable_parallel: bool,
    /// `output_config.effort`; the default, `high`, if omitted.
    pub effort: String,
    /// `output_config.format` or `output_format`, rendered; empty if omitted.
    pub format: String,
    pub task_budget: String,
    pub speed: String,
    pub geo: String,
    pub stop_sequences: Vec<String>,
    /// The set of `anthropic-beta`, sorted.
    pub betas: Vec<String>,
    /// `diagnostics`; `None` if not asked for.
    pub diagnostics: Option<Previous>,
    pub thread: Option<Thread>,
    /// `context_management`, rendered; empty if omitted.
    pub context_management: String,
    /// What it asks for.
    pub edits: Edits,
    pub fallbacks: bool,
    /// `thinking.block_binding.prefix_mismatch_behavior` is `drop_block`.
    pub drop_block: bool,
}

impl Params {
    pub fn read(root: Node<'_>, mut betas: Vec<String>) -> Result<Self, ApiError> {
        betas.sort();
        betas.dedup();
        let choice = present(root, "tool_choice");
        let thinking = present(root, "thinking");
        let output = present(root, "output_config");
        let format =
            output.and_then(|node| present(node, "format")).or_else(|| present(root, "output_format"));
        Ok(Self {
            max_tokens: max_tokens(root)?,
            stream: root.get("stream").and_then(|node| node.bool()) == Some(true),
            thinking: thinking.map(Thinking::read).unwrap_or_default(),
            tool_choice: choice.map(|node| string(node, "type")).unwrap_or_default(),
            forced_tool: choice.map(|node| string(node, "name")).unwrap_or_default(),
            disable_parallel: choice.and_then(|node| node.get("disable_parallel_tool_use")?.bool())
                == Some(true),
            effort: output
                .map(|node| string(node, "effort"))
                .filter(|text| !text.is_empty())
                .unwrap_or("high".into()),
            format: format.map(rendered).unwrap_or_default(),
            task_budget: output
                .and_then(|node| present(node, "task_budget"))
                .map(rendered)
                .unwrap_or_default(),
            speed: string(root, "speed"),
            geo: string(root, "inference_geo"),
            stop_sequences: stop_sequences(root),
            betas,
            diagnostics: present(root, "diagnostics").map(previous_message),
            thread: present(root, "thread").map(Thread::read).transpose()?,
            context_management: present(root, "context_management").map(rendered).unwrap_or_default(),
            edits: Edits::read(present(root, "context_management"))?,
            fallbacks: present(root, "fallbacks").is_some(),
            drop_block: thinking.is_some_and(|node| {
                let behavior = node.pointer("/block_binding/prefix_mismatch_behavior");
                behavior.is_some_and(|value| value.is_str("drop_block"))
            }),
        })
    }

    pub fn has_beta(&self, beta: &str) -> bool {
        self.betas.iter().any(|name| name == beta)
    }
}

/// The `thinking` parameter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Thinking {
    /// `enabled`, `adaptive`, `disabled`; empty if omitted.
    pub kind: String,
    pub budget: Option<u64>,
}

impl Thinking {
    fn read(node: Node<'_>) -> Self {
        Self { kind: string(node, "type"), budget: node.get("budget_tokens").and_then(|value| value.u64()) }
    }

    pub fn is_enabled(&self) -> bool {
        self.kind == "enabled"
    }

    pub fn is_on(&self) -> bool {
        matches!(self.kind.as_str(), "enabled" | "adaptive")
    }
}

/// What the prompt is to be compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Previous {
    /// `previous_message_id: null`
    FirstTurn,
    /// The request that was answered with this message.
    Message(String),
}

/// Which thinking stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clear {
    KeepAll,
    KeepTurns(u64),
}

impl Clear {
    /// Reads a `clear_thinking_20251015`.
    pub(super) fn read(edit: Node<'_>) -> Self {
        match edit.get("keep") {
            Some(keep) if keep.is_str("all") => Self::KeepAll,
            Some(keep) => Self::KeepTurns(keep.get("value").and_then(|value| value.u64()).unwrap_or(1)),
            None => Self::KeepTurns(1),
        }
    }
}

/// The `thread` parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Thread {
    Create,
    Continue(String),
}

impl Thread {
    fn read(node: Node<'_>) -> Result<Self, ApiError> {
        match string(node, "type").as_str() {
            "create" => Ok(Self::Create),
            "continue" => Ok(Self::Continue(string(node, "previous_message_id"))),
            _ => Err(ApiError::invalid("thread.type: Input should be 'create' or 'continue'")),
        }
    }
}

fn max_tokens(root: Node<'_>) -> Result<Option<u64>, ApiError> {
    let Some(node) = present(root, "max_tokens") else { return Ok(None) };
    match node.u64() {
        Some(tokens) => Ok(Some(tokens)),
        None if node.kind() == Kind::Number && node.raw().starts_with('-') => {
            Err(ApiError::invalid("max_tokens: Input should be greater than or equal to 0"))
        }
        None => Err(ApiError::invalid("max_tokens: Input should be a valid integer")),
    }
}

fn stop_sequences(root: Node<'_>) -> Vec<String> {
    let Some(node) = present(root, "stop_sequences") else { return Vec::new() };
    node.items().filter_map(|item| Some(item.str()?.into_owned())).filter(|text| !text.is_empty()).collect()
}

fn previous_message(node: Node<'_>) -> Previous {
    match present(node, "previous_message_id").and_then(|id| id.str()) {
        Some(id) => Previous::Message(id.into_owned()),
        None => Previous::FirstTurn,
    }
}

fn string(node: Node<'_>, key: &str) -> String {
    present(node, key).and_then(|value| value.str()).unwrap_or_default().into_owned()
}

fn rendered(node: Node<'_>) -> String {
    let mut text = String::new();
    render_value(&mut text, node);
    text
}
