//! A lenient view of OpenAI Chat Completions and Responses requests, for reading only.
//!
//! It names what a prompt cache goes by, in the terms of the [`anthropic`](crate::anthropic) view: tools, and
//! entries with parts. Unknown items and parts stay reachable through their [`Node`]. Fields are those of the
//! `openai` SDK's `response_create_params.py` and `completion_create_params.py` (November 2026).
//!
//! ```
//! use antefix_wire::{anthropic::BlockKind, json::Body, openai::{Api, Request}};
//! let body = Body::parse(*br#"{"input":[{"role":"user","content":"Hi"},{"type":"function_call","name":"ls"}]}"#)?;
//! let request = Request::read(body.root());
//! assert_eq!(request.api, Api::Responses);
//! assert_eq!(request.entries[1].parts[0].kind, BlockKind::ToolUse);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod context;
mod message;

use std::borrow::Cow;

pub use context::{listed_context, listed_models, props_context, shown_context};
pub use message::{ToolCall, assistant_message};

use crate::anthropic::{BlockKind, Role};
use crate::json::{Kind, Node};

/// Which of the two APIs a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Api {
    /// Chat Completions: `messages`.
    Chat,
    /// Responses: `instructions` and `input`.
    Responses,
}

/// A request of either API.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The whole request.
    pub node: Node<'a>,
    /// The API it is for.
    pub api: Api,
    /// The model asked for.
    pub model: Option<Cow<'a, str>>,
    /// `instructions`, which only Responses has.
    pub instructions: Option<Node<'a>>,
    /// The tools in the order sent, deferred ones included.
    pub tools: Vec<Tool<'a>>,
    /// The messages, or the items of `input`, in the order sent.
    pub entries: Vec<Entry<'a>>,
}

impl<'a> Request<'a> {
    /// Reads a request. What has another shape than the API takes counts as absent.
    pub fn read(node: Node<'a>) -> Self {
        let api = if node.get("input").is_some() || node.get("instructions").is_some() {
            Api::Responses
        } else {
            Api::Chat
        };
        let list = match api {
            Api::Chat => node.get("messages"),
            Api::Responses => node.get("input"),
        };
        Self {
            node,
            api,
            model: node.get("model").and_then(Node::str),
            instructions: node.get("instructions").filter(|value| value.kind() == Kind::String),
            tools: node.get("tools").into_iter().flat_map(Node::items).map(Tool::read).collect(),
            entries: list.map(entries).unwrap_or_default(),
        }
    }
}

/// One entry of `tools`.
#[derive(Clone, Debug)]
pub struct Tool<'a> {
    /// The whole definition.
    pub node: Node<'a>,
    /// The function's name; the type of a built-in tool.
    pub name: Cow<'a, str>,
    /// The definition is outside the prompt until tool search loads it.
    pub defer_loading: bool,
}

impl<'a> Tool<'a> {
    /// Reads one definition, from `tools` or from an item of `input` that brings tools.
    pub fn read(node: Node<'a>) -> Self {
        let named = node.pointer("/function/name").or_else(|| node.pointer("/custom/name"));
        let name = named.or_else(|| node.get("name")).or_else(|| node.get("server_label"));
        Self {
            node,
            name: name.or_else(|| node.get("type")).and_then(Node::str).unwrap_or_default(),
            defer_loading: node.get("defer_loading").and_then(Node::bool).unwrap_or(false),
        }
    }
}

/// One message, or one item of `input`.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// The whole entry.
    pub node: Node<'a>,
    /// Who speaks; `developer` counts as [`Role::System`], a tool's output as [`Role::User`].
    pub role: Role,
    /// What it holds, in reading order.
    pub parts: Vec<Part<'a>>,
}

/// One part of an entry.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// The part's value; the string itself where the content was given as one.
    pub node: Node<'a>,
    /// What it is.
    pub kind: BlockKind,
    /// Where it stands in its entry.
    pub slot: Slot,
}

/// Where a part stands in its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Slot {
    /// It is the whole entry.
    Whole,
    /// `/content`, given as a string.
    Text,
    /// `/content/I`
    Content(usize),
    /// `/tool_calls/I`
    ToolCall(usize),
    /// A member of the message, by its pointer: `/reasoning_content`, `/refusal`, `/function_call`.
    Member(&'static str),
}

fn entries(list: Node<'_>) -> Vec<Entry<'_>> {
    if list.kind() == Kind::String {
        let part = Part { node: list, kind: BlockKind::Text, slot: Slot::Whole };
        return vec![Entry { node: list, role: Role::User, parts: vec![part] }];
    }
    list.items().map(entry).collect()
}

fn entry(node: Node<'_>) -> Entry<'_> {
    let type_name = node.get("type").and_then(Node::str).unwrap_or_default();
    let role_name = node.get("role").and_then(Node::str).unwrap_or_default();
    let whole = |role, kind| Entry { node, role, parts: vec![Part { node, kind, slot: Slot::Whole }] };
    match (&*type_name, &*role_name) {
        (_, "tool" | "function") => whole(Role::User, BlockKind::ToolResult),
        ("" | "message", _) => {
            let parts = members(node, &REASONING).chain(content(node)).chain(members(node, &OTHERS));
            Entry { node, role: role(&role_name), parts: parts.chain(calls(node)).collect() }
        }
        (name, _) if name.ends_with("_call_output") => whole(Role::User, BlockKind::ToolResult),
        (name, _) if name.ends_with("_call") => whole(Role::Assistant, BlockKind::ToolUse),
        ("reasoning", _) => whole(Role::Assistant, BlockKind::Thinking),
        ("compaction", _) => whole(Role::Assistant, BlockKind::Compaction),
        _ => whole(role(&role_name), BlockKind::Other),
    }
}

fn role(name: &str) -> Role {
    match name {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" | "developer" => Role::System,
        _ => Role::Other,
    }
}

fn content(entry: Node<'_>) -> impl Iterator<Item = Part<'_>> {
    let content = entry.get("content");
    let text = content.filter(|content| content.kind() == Kind::String);
    let text = text.map(|node| Part { node, kind: BlockKind::Text, slot: Slot::Text });
    let parts = content.into_iter().flat_map(Node::items).enumerate();
    text.into_iter().chain(parts.map(|(index, node)| Part {
        node,
        kind: part_kind(node),
        slot: Slot::Content(index),
    }))
}

/// Parts that stand on the message itself; what is `null` is not there.
fn members<'a>(
    entry: Node<'a>,
    members: &'static [(&'static str, BlockKind)],
) -> impl Iterator<Item = Part<'a>> {
    members.iter().filter_map(move |(pointer, kind)| {
        let node = entry.pointer(pointer).filter(|node| !node.is_null())?;
        Some(Part { node, kind: *kind, slot: Slot::Member(pointer) })
    })
}

fn calls(entry: Node<'_>) -> impl Iterator<Item = Part<'_>> {
    let calls = entry.get("tool_calls").into_iter().flat_map(Node::items).enumerate();
    calls.map(|(index, node)| Part { node, kind: BlockKind::ToolUse, slot: Slot::ToolCall(index) })
}

fn part_kind(node: Node<'_>) -> BlockKind {
    match node.get("type").and_then(Node::str).as_deref() {
        Some("text" | "input_text" | "output_text") => BlockKind::Text,
        Some("image_url" | "input_image") => BlockKind::Image,
        Some("file" | "input_file") => BlockKind::Document,
        Some("input_audio") => BlockKind::Audio,
        Some("refusal") => BlockKind::Refusal,
        _ => BlockKind::Other,
    }
}

/// Members that hold reasoning, as servers spell them: `reasoning_content` (DeepSeek, SGLang, llama.cpp), `reasoning`
/// (vLLM, OpenRouter), `reasoning_details` (OpenRouter); November 2026.
const REASONING: [(&str, BlockKind); 3] = [
    ("/reasoning_content", BlockKind::Thinking),
    ("/reasoning", BlockKind::Thinking),
    ("/reasoning_details", BlockKind::Thinking),
];

/// Other members of an assistant's message that are part of what it said.
const OTHERS: [(&str, BlockKind); 3] =
    [("/refusal", BlockKind::Refusal), ("/audio", BlockKind::Audio), ("/function_call", BlockKind::ToolUse)];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Body;

    fn check(text: &str, expect: &[(Role, &[(BlockKind, Slot)])]) {
        let body = Body::parse(text.as_bytes()).unwrap();
        let request = Request::read(body.root());
        let found: Vec<_> = request
            .entries
            .iter()
            .map(|entry| {
                (entry.role, entry.parts.iter().map(|part| (part.kind, part.slot)).collect::<Vec<_>>())
            })
            .collect();
        let expect: Vec<_> = expect.iter().map(|(role, parts)| (*role, parts.to_vec())).collect();
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn entries_are_read_in_the_terms_of_blocks() {
        use {BlockKind as Is, Role as By};
        check(
            r#"{"messages":[{"role":"developer","content":"Rules."},{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url"}]},{"role":"assistant","content":null,"tool_calls":[{"id":"1"},{"id":"2"}]},{"role":"tool","tool_call_id":"1","content":"x"}]}"#,
            &[
                (By::System, &[(Is::Text, Slot::Text)]),
                (By::User, &[(Is::Text, Slot::Content(0)), (Is::Image, Slot::Content(1))]),
                (By::Assistant, &[(Is::ToolUse, Slot::ToolCall(0)), (Is::ToolUse, Slot::ToolCall(1))]),
                (By::User, &[(Is::ToolResult, Slot::Whole)]),
            ],
        );
        check(
            r#"{"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]},{"type":"reasoning"},{"type":"function_call"},{"type":"function_call_output"},{"type":"new"},{"type":"additional_tools","role":"developer"}]}"#,
            &[
                (By::User, &[(Is::Text, Slot::Content(0))]),
                (By::Assistant, &[(Is::Thinking, Slot::Whole)]),
                (By::Assistant, &[(Is::ToolUse, Slot::Whole)]),
                (By::User, &[(Is::ToolResult, Slot::Whole)]),
                (By::Other, &[(Is::Other, Slot::Whole)]),
                (By::System, &[(Is::Other, Slot::Whole)]),
            ],
        );
        check(r#"{"input":"Hi"}"#, &[(By::User, &[(Is::Text, Slot::Whole)])]);
        check(r#"{"messages":7}"#, &[]);
    }

    #[test]
    fn a_tool_has_a_name_in_either_api() {
        let body = Body::parse(
            *br#"{"tools":[{"type":"function","function":{"name":"a"}},{"type":"function","name":"b","defer_loading":true},{"type":"web_search"}]}"#,
        )
        .unwrap();
        let request = Request::read(body.root());
        let found: Vec<_> = request.tools.iter().map(|tool| (&*tool.name, tool.defer_loading)).collect();
        assert_eq!(found, [("a", false), ("b", true), ("web_search", false)]);
    }
}
