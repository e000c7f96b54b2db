//! Messages of Chat Completions as they are sent back.

use std::borrow::Cow;

use crate::json::{Body, Kind, Node, compact, write_string};

/// A view of one entry of `tool_calls`.
#[derive(Clone, Debug)]
pub struct ToolCall<'a> {
    /// The whole entry.
    pub node: Node<'a>,
    /// Its id, where one is given that is not empty.
    pub id: Option<Cow<'a, str>>,
    /// The tool's name, where one is given that is not empty.
    pub name: Option<Cow<'a, str>>,
    /// The string that holds the arguments.
    pub arguments: Option<Node<'a>>,
}

impl<'a> ToolCall<'a> {
    /// Reads an entry. What has another shape than the API takes counts as absent.
    pub fn read(node: Node<'a>) -> Self {
        let function = node.get("function");
        let text = |value: Option<Node<'a>>| value.and_then(Node::str).filter(|text| !text.is_empty());
        Self {
            node,
            id: text(node.get("id")),
            name: text(function.and_then(|function| function.get("name"))),
            arguments: function
                .and_then(|function| function.get("arguments"))
                .filter(|arguments| arguments.kind() == Kind::String),
        }
    }

    /// The arguments as the JSON text that the model wrote; `{}` where there are none.
    pub fn input(&self) -> Cow<'a, str> {
        let text = self.arguments.and_then(Node::str).filter(|text| !text.trim().is_empty());
        text.unwrap_or(Cow::Borrowed("{}"))
    }
}

/// The assistant message that `blocks` are sent back as: the JSON of
/// [`AssembledBlock`](crate::assemble::AssembledBlock)s as `ChatAssembler` gives them, in any order.
///
/// Texts are joined to one string. A message without text has an empty string as its content, not `null`: OpenAI takes
/// both, llama-cpp-python's server 0.3.36 refuses `null`, and templates that add texts up fail on it (November 2026).
/// Reasoning and what else stands on the message comes behind the content, calls come last. What is not a JSON object is
/// left out.
///
/// ```
/// use antefix_wire::openai::assistant_message;
/// let call = r#"{"id":"c","type":"function","function":{"name":"ls","arguments":"{}"}}"#;
/// let message = assistant_message(&[r#"{"reasoning_content":"Hm."}"#, r#"{"type":"text","text":"So:"}"#, call]);
/// assert_eq!(
///     String::from_utf8(message)?,
///     format!(r#"{{"role":"assistant","content":"So:","reasoning_content":"Hm.","tool_calls":[{call}]}}"#)
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn assistant_message<B: AsRef<[u8]>>(blocks: &[B]) -> Vec<u8> {
    let parts = Parts::of(blocks);
    let mut out = br#"{"role":"assistant","content":"#.to_vec();
    match parts.text {
        Some(text) => {
            out.push(b'"');
            out.extend_from_slice(&text);
            out.push(b'"');
        }
        None => out.extend_from_slice(br#""""#),
    }
    for (key, value) in parts.members {
        out.push(b',');
        write_string(&mut out, &key);
        out.push(b':');
        out.extend_from_slice(&value);
    }
    for (at, call) in parts.calls.iter().enumerate() {
        out.extend_from_slice(if at == 0 { br#","tool_calls":["# } else { b"," });
        out.extend_from_slice(call);
    }
    out.extend_from_slice(if parts.calls.is_empty() { b"}" } else { b"]}" });
    out
}

/// The blocks of a message by their place in it.
#[derive(Default)]
struct Parts {
    /// Text, still escaped.
    text: Option<Vec<u8>>,
    members: Vec<(String, Vec<u8>)>,
    calls: Vec<Vec<u8>>,
}

impl Parts {
    fn of<B: AsRef<[u8]>>(blocks: &[B]) -> Self {
        let mut parts = Self::default();
        for block in blocks {
            if let Ok(body) = Body::parse(block.as_ref()) {
                parts.add(body.root());
            }
        }
        parts
    }

    fn add(&mut self, block: Node<'_>) {
        let type_name = block.get("type").and_then(Node::str);
        match type_name.as_deref() {
            Some("text") => {
                let text = block.get("text").map_or("", Node::raw);
                let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
                self.text.get_or_insert_default().extend_from_slice(inner.unwrap_or_default().as_bytes());
            }
            Some("refusal") => self.members.extend(block.get("refusal").map(|text| member("refusal", text))),
            Some(_) => self.calls.push(compacted(block)),
            None => {
                let members = block.members();
                self.members.extend(members.filter_map(|(key, value)| Some(member(&key.str()?, value))));
            }
        }
    }
}

fn member(key: &str, value: Node<'_>) -> (String, Vec<u8>) {
    (key.to_owned(), compacted(value))
}

fn compacted(node: Node<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(node.raw().len());
    compact(&mut out, node);
    out
}
