//! What servers offer besides tools: resources and prompts.

use antefix_wire::json::Node;
use bytes::Bytes;

use crate::call::{Content, MOST_PARTS, read_parts};
use crate::tool::result;

/// A resource that a server lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceInfo {
    /// Its address.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: String,
    /// `text/plain`, …
    pub mime: Option<String>,
}

impl ResourceInfo {
    /// Those of a page that have an address.
    pub(crate) fn read_page(page: Node<'_>) -> Vec<Self> {
        let nodes = page.get("resources").into_iter().flat_map(Node::items);
        let read = |node: Node<'_>| {
            let uri = text(node, "uri")?;
            let name = text(node, "name").unwrap_or_else(|| uri.clone());
            let description = text(node, "description").unwrap_or_default();
            Some(Self { uri, name, description, mime: text(node, "mimeType") })
        };
        nodes.filter_map(read).collect()
    }
}

/// A prompt that a server lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptInfo {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// What can be put in.
    pub arguments: Vec<PromptArgument>,
}

impl PromptInfo {
    /// Those of a page that have a name.
    pub(crate) fn read_page(page: Node<'_>) -> Vec<Self> {
        let nodes = page.get("prompts").into_iter().flat_map(Node::items);
        let argument = |node: Node<'_>| {
            let required = node.get("required").and_then(Node::bool).unwrap_or(false);
            Some(PromptArgument {
                name: text(node, "name")?,
                description: text(node, "description").unwrap_or_default(),
                required,
            })
        };
        let read = |node: Node<'_>| {
            let arguments = node.get("arguments").into_iter().flat_map(Node::items).filter_map(argument);
            Some(Self {
                name: text(node, "name")?,
                description: text(node, "description").unwrap_or_default(),
                arguments: arguments.collect(),
            })
        };
        nodes.filter_map(read).collect()
    }
}

/// What can be put into a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptArgument {
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: String,
    /// Whether it must be given.
    pub required: bool,
}

/// A message of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptMessage {
    /// `user` or `assistant`, in the server's word.
    pub role: String,
    /// What is said.
    pub content: Content,
}

impl PromptMessage {
    /// The messages of the result of `prompts/get`; `None` if it is no object.
    pub(crate) fn read_all(text_of_result: &Bytes) -> Option<Vec<Self>> {
        let body = result(text_of_result)?;
        let messages = body.root().get("messages").into_iter().flat_map(Node::items);
        let said = messages.filter_map(|node| Some((text(node, "role")?, node.get("content")?)));
        let (mut roles, contents): (Vec<String>, Vec<Node<'_>>) = said.unzip();
        let parts = read_parts(contents.into_iter(), Content::read);
        // What is said about what is left out has no role of its own.
        roles.truncate(MOST_PARTS);
        roles.resize_with(parts.len(), || "user".to_owned());
        Some(roles.into_iter().zip(parts).map(|(role, content)| Self { role, content }).collect())
    }
}

/// The parts of the result of `resources/read`; `None` if it is no object.
pub(crate) fn resource_contents(text_of_result: &Bytes) -> Option<Vec<Content>> {
    let body = result(text_of_result)?;
    let nodes = body.root().get("contents").into_iter().flat_map(Node::items);
    Some(read_parts(nodes, Content::read_resource))
}

fn text(node: Node<'_>, key: &str) -> Option<String> {
    node.get(key)?.str().map(|text| text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_messages_left_out_is_nobodys() {
        let message = r#"{"role":"assistant","content":{"type":"text","text":"x"}}"#;
        let text = format!(r#"{{"messages":[{}]}}"#, vec![message; MOST_PARTS + 2].join(","));
        let messages = PromptMessage::read_all(&text.into()).unwrap();
        let cut = "[cut: 2 parts behind the first 10000 are left out]";
        let expect = PromptMessage { role: "user".into(), content: Content::Text(cut.into()) };
        assert_eq!((messages.len(), messages.last()), (MOST_PARTS + 1, Some(&expect)));
    }
}
