//! A lenient view of Gemini `generateContent` requests, for reading only.
//!
//! It names what a prompt cache goes by, in the terms of the [`anthropic`](crate::anthropic) view: a system
//! instruction, tools, and contents with parts. Unknown parts stay reachable through their [`Node`]. Fields are
//! those of the `google-genai` SDK's `types.py` (November 2026); the API takes them in camel and in snake case.
//!
//! ```
//! use antefix_wire::{anthropic::BlockKind, gemini::Request, json::Body};
//! let body = Body::parse(*br#"{"systemInstruction":{"parts":[{"text":"Rules."}]},
//!     "contents":[{"role":"model","parts":[{"functionCall":{"name":"ls","args":{}}}]}]}"#)?;
//! let request = Request::read(body.root());
//! assert_eq!(request.contents[0].parts[0].kind, BlockKind::ToolUse);
//! assert_eq!(request.contents[0].parts[0].call().as_deref(), Some("ls"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod stream;

use std::borrow::Cow;

pub use stream::{Answer, AnswerPart, StreamReader};

use crate::anthropic::{BlockKind, Role};
use crate::json::{Kind, Node};

/// A request.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The whole request.
    pub node: Node<'a>,
    /// The model, where the body names it; the API has it in the address.
    pub model: Option<Cow<'a, str>>,
    /// `systemInstruction`.
    pub system: Option<Content<'a>>,
    /// The name under which `system` stands.
    pub system_key: &'static str,
    /// The functions and built-in tools in the order sent.
    pub tools: Vec<Tool<'a>>,
    /// The conversation.
    pub contents: Vec<Content<'a>>,
    /// The explicit cache that stands in front of the contents.
    pub cached_content: Option<Cow<'a, str>>,
}

impl<'a> Request<'a> {
    /// Reads a request. What has another shape than the API takes counts as absent.
    pub fn read(node: Node<'a>) -> Self {
        let system = ["systemInstruction", "system_instruction"]
            .into_iter()
            .find_map(|key| Some((key, node.get(key)?)))
            .filter(|(_, value)| value.kind() == Kind::Object);
        let system_key = system.map_or("systemInstruction", |(key, _)| key);
        let contents = node.get("contents");
        let single = contents.filter(|value| value.kind() == Kind::Object);
        let listed = contents.into_iter().flat_map(Node::items);
        let cached = either(node, "cachedContent", "cached_content");
        Self {
            node,
            model: node.get("model").and_then(Node::str),
            system: system.map(|(_, value)| Content { role: Role::System, ..Content::read(value) }),
            system_key,
            tools: node
                .get("tools")
                .into_iter()
                .flat_map(Node::items)
                .enumerate()
                .flat_map(|(index, entry)| tools(index, entry))
                .collect(),
            contents: single.into_iter().chain(listed).map(Content::read).collect(),
            cached_content: cached.and_then(Node::str),
        }
    }
}

/// One function, or one built-in tool.
#[derive(Clone, Debug)]
pub struct Tool<'a> {
    /// The definition.
    pub node: Node<'a>,
    /// The function's name; a built-in tool's member, such as `googleSearch`.
    pub name: Cow<'a, str>,
    /// Index of its entry in `tools`.
    pub entry: usize,
    /// The member of the entry that lists functions, and the function's index there; `None` for a built-in tool.
    pub declaration: Option<(&'static str, usize)>,
}

/// One content: who speaks and what is said.
#[derive(Clone, Debug)]
pub struct Content<'a> {
    /// The whole content.
    pub node: Node<'a>,
    /// Who speaks; `model` counts as [`Role::Assistant`], and without a role it is the user.
    pub role: Role,
    /// What it holds, in reading order.
    pub parts: Vec<Part<'a>>,
}

impl<'a> Content<'a> {
    fn read(node: Node<'a>) -> Self {
        let role = match node.get("role").and_then(Node::str).as_deref() {
            None | Some("user" | "function" | "tool") => Role::User,
            Some("model") => Role::Assistant,
            Some("system") => Role::System,
            Some(_) => Role::Other,
        };
        let parts = node.get("parts").into_iter().flat_map(Node::items);
        Self { node, role, parts: parts.map(|node| Part { node, kind: part_kind(node) }).collect() }
    }
}

/// One part of a content.
#[derive(Clone, Debug)]
pub struct Part<'a> {
    /// The whole part.
    pub node: Node<'a>,
    /// What it is.
    pub kind: BlockKind,
}

impl<'a> Part<'a> {
    /// What ties a call to its response: the id, or where none was given the function's name.
    pub fn call(&self) -> Option<Cow<'a, str>> {
        call(self.node)
    }
}

/// What ties a call to its response, of a part that holds one of the two.
pub fn call(part: Node<'_>) -> Option<Cow<'_, str>> {
    let inner = either(part, "functionCall", "function_call")
        .or_else(|| either(part, "functionResponse", "function_response"))?;
    inner.get("id").or_else(|| inner.get("name")).and_then(Node::str)
}

/// What a function gave back, of a part that holds it.
pub fn response(part: Node<'_>) -> Option<Node<'_>> {
    either(part, "functionResponse", "function_response")?.get("response")
}

fn either<'a>(node: Node<'a>, camel: &str, snake: &str) -> Option<Node<'a>> {
    node.get(camel).or_else(|| node.get(snake))
}

fn tools(entry: usize, node: Node<'_>) -> Vec<Tool<'_>> {
    let mut found = Vec::new();
    for (key, value) in node.members() {
        let name = key.str().unwrap_or_default();
        let list = ["functionDeclarations", "function_declarations"].into_iter().find(|one| *one == name);
        let Some(list) = list else {
            found.push(Tool { node: value, name, entry, declaration: None });
            continue;
        };
        found.extend(value.items().enumerate().map(|(index, function)| Tool {
            node: function,
            name: function.get("name").and_then(Node::str).unwrap_or_default(),
            entry,
            declaration: Some((list, index)),
        }));
    }
    found
}

fn part_kind(node: Node<'_>) -> BlockKind {
    let has = |camel, snake| either(node, camel, snake).is_some();
    if node.get("thought").and_then(Node::bool) == Some(true) {
        return BlockKind::Thinking;
    }
    if has("functionCall", "function_call") {
        return BlockKind::ToolUse;
    }
    if has("functionResponse", "function_response") {
        return BlockKind::ToolResult;
    }
    if let Some(data) =
        either(node, "inlineData", "inline_data").or_else(|| either(node, "fileData", "file_data"))
    {
        let media = either(data, "mimeType", "mime_type").and_then(Node::str).unwrap_or_default();
        return if media.starts_with("image/") { BlockKind::Image } else { BlockKind::Document };
    }
    if node.get("text").is_some() { BlockKind::Text } else { BlockKind::Other }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Body;

    #[test]
    fn contents_are_read_in_the_terms_of_blocks() {
        use {BlockKind as Is, Role as By};
        let body = Body::parse(
            *br#"{"contents":[{"parts":[{"text":"a"},{"inlineData":{"mimeType":"image/png","data":""}},{"file_data":{"mime_type":"application/pdf"}}]},
            {"role":"model","parts":[{"text":"Hm.","thought":true},{"functionCall":{"name":"ls","id":"c1"},"thoughtSignature":"x"}]},
            {"role":"user","parts":[{"functionResponse":{"name":"ls","id":"c1","response":{"output":"a"}}},{"new":1}]}]}"#,
        )
        .unwrap();
        let request = Request::read(body.root());
        let found: Vec<_> = request
            .contents
            .iter()
            .map(|content| (content.role, content.parts.iter().map(|part| part.kind).collect::<Vec<_>>()))
            .collect();
        assert_eq!(
            found,
            [
                (By::User, vec![Is::Text, Is::Image, Is::Document]),
                (By::Assistant, vec![Is::Thinking, Is::ToolUse]),
                (By::User, vec![Is::ToolResult, Is::Other]),
            ]
        );
        assert_eq!(request.contents[1].parts[1].call(), request.contents[2].parts[0].call());
        assert_eq!(response(request.contents[2].parts[0].node).unwrap().raw(), r#"{"output":"a"}"#);
    }

    #[test]
    fn head_and_tools_are_found_in_either_case() {
        for (system, list, cached) in [
            ("systemInstruction", "functionDeclarations", "cachedContent"),
            ("system_instruction", "function_declarations", "cached_content"),
        ] {
            let text = format!(
                r#"{{"{system}":{{"parts":[{{"text":"Rules."}}]}},"tools":[{{"{list}":[{{"name":"a"}},{{"name":"b"}}]}},{{"googleSearch":{{}}}}],"{cached}":"cachedContents/7","contents":{{"parts":[{{"text":"Hi"}}]}}}}"#
            );
            let body = Body::parse(text.as_bytes()).unwrap();
            let request = Request::read(body.root());
            let tools: Vec<_> =
                request.tools.iter().map(|tool| (&*tool.name, tool.entry, tool.declaration)).collect();
            assert_eq!(
                tools,
                [("a", 0, Some((list, 0))), ("b", 0, Some((list, 1))), ("googleSearch", 1, None)]
            );
            assert_eq!(request.system_key, system);
            assert_eq!(request.system.unwrap().parts[0].kind, BlockKind::Text);
            assert_eq!(request.cached_content.as_deref(), Some("cachedContents/7"));
            assert_eq!(request.contents.len(), 1);
        }
    }
}
