//! What a call gives.

use antefix_wire::json::{Kind, Node};
use bytes::Bytes;

use crate::tool::{cut, result};

/// What a call of a tool gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallOutput {
    /// The parts, in the server's order.
    pub content: Vec<Content>,
    /// The server's structured result as it was written, where there is one.
    pub structured: Option<Bytes>,
    /// Whether the server says that the call failed.
    pub is_error: bool,
}

impl CallOutput {
    /// One text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Content::Text(text.into())], ..Self::default() }
    }

    /// All parts as a text for the model; what is no text is named. The structured result stands in only where there
    /// is nothing else: a server that gives one is asked to repeat it as text.
    pub fn to_text(&self) -> String {
        let mut parts: Vec<String> = self.content.iter().map(Content::to_text).collect();
        if parts.is_empty()
            && let Some(structured) = &self.structured
        {
            parts.push(String::from_utf8_lossy(structured).into_owned());
        }
        parts.join("\n")
    }

    /// Reads the result of `tools/call`.
    pub(crate) fn read(text: &Bytes) -> Option<Self> {
        let body = result(text)?;
        let root = body.root();
        let parts = root.get("content").into_iter().flat_map(Node::items);
        let content = read_parts(parts, Content::read);
        let structured = root.get("structuredContent").filter(|node| node.raw().len() <= MOST_BYTES);
        Some(Self {
            content,
            structured: structured.map(|node| Bytes::copy_from_slice(node.raw().as_bytes())),
            is_error: root.get("isError").and_then(Node::bool).unwrap_or(false),
        })
    }
}

/// A part of a result, of a resource or of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A text.
    Text(String),
    /// A picture, in base64.
    Image {
        /// `image/png`, …
        mime: String,
        /// Base64.
        data: String,
    },
    /// A sound, in base64.
    Audio {
        /// `audio/wav`, …
        mime: String,
        /// Base64.
        data: String,
    },
    /// The text of a resource.
    ResourceText {
        /// Its address.
        uri: String,
        /// The text.
        text: String,
    },
    /// The bytes of a resource.
    ResourceBytes {
        /// Its address.
        uri: String,
        /// `application/pdf`, …
        mime: String,
        /// Base64.
        data: String,
    },
    /// A resource that can be read.
    ResourceLink {
        /// Its address.
        uri: String,
        /// Its name.
        name: String,
    },
    /// A part of a kind that is not known, as it was written.
    Other(String),
}

impl Content {
    /// As a text for the model; what is no text is named.
    pub fn to_text(&self) -> String {
        match self {
            Self::Text(text) | Self::Other(text) => text.clone(),
            Self::Image { mime, data } => format!("[image {mime}, {} bytes of base64]", data.len()),
            Self::Audio { mime, data } => format!("[audio {mime}, {} bytes of base64]", data.len()),
            Self::ResourceText { uri, text } => format!("[resource {uri}]\n{text}"),
            Self::ResourceBytes { uri, mime, data } => {
                format!("[resource {uri}: {mime}, {} bytes of base64]", data.len())
            }
            Self::ResourceLink { uri, name } => format!("[resource {name}: {uri}]"),
        }
    }

    /// Reads a part.
    pub(crate) fn read(node: Node<'_>) -> Self {
        let text = |key: &str| node.get(key).and_then(Node::str).map(|text| text.into_owned());
        let kind = text("type");
        let data = || text("data").unwrap_or_default();
        let mime = || text("mimeType").unwrap_or_else(|| "of an unknown type".to_owned());
        match kind.as_deref() {
            Some("text") => Self::Text(text("text").unwrap_or_default()),
            Some("image") => Self::Image { mime: mime(), data: data() },
            Some("audio") => Self::Audio { mime: mime(), data: data() },
            Some("resource_link") => {
                let uri = text("uri").unwrap_or_default();
                Self::ResourceLink { name: text("name").unwrap_or_else(|| uri.clone()), uri }
            }
            Some("resource") => {
                node.get("resource").map_or_else(|| Self::Other(node.raw().to_owned()), Self::read_resource)
            }
            _ => Self::Other(node.raw().to_owned()),
        }
    }

    /// Reads the contents of a resource.
    pub(crate) fn read_resource(node: Node<'_>) -> Self {
        if node.kind() != Kind::Object {
            return Self::Other(node.raw().to_owned());
        }
        let text = |key: &str| node.get(key).and_then(Node::str).map(|text| text.into_owned());
        let uri = text("uri").unwrap_or_default();
        match (text("text"), text("blob")) {
            (Some(text), _) => Self::ResourceText { uri, text },
            (None, Some(data)) => {
                let mime = text("mimeType").unwrap_or_else(|| "of an unknown type".to_owned());
                Self::ResourceBytes { uri, mime, data }
            }
            (None, None) => Self::Other(node.raw().to_owned()),
        }
    }

    /// The part, cut or replaced by a remark where it does not fit.
    fn within(self, room: &mut usize) -> Self {
        let size = match &self {
            Self::Text(text) | Self::Other(text) => text.len(),
            Self::ResourceText { uri, text } => uri.len() + text.len(),
            Self::Image { mime, data } | Self::Audio { mime, data } => mime.len() + data.len(),
            Self::ResourceBytes { uri, mime, data } => uri.len() + mime.len() + data.len(),
            Self::ResourceLink { uri, name } => uri.len() + name.len(),
        };
        if size <= *room {
            *room -= size;
            return self;
        }
        let left = std::mem::take(room);
        match self {
            Self::Text(text) => Self::Text(cut(&text, left)),
            Self::ResourceText { uri, text } if uri.len() <= left => {
                let text = cut(&text, left - uri.len());
                Self::ResourceText { uri, text }
            }
            other => Self::Text(format!("[left out: {size} bytes of {}]", other.kind())),
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) | Self::ResourceText { .. } => "text",
            Self::Image { .. } => "an image",
            Self::Audio { .. } => "audio",
            Self::ResourceBytes { .. } | Self::ResourceLink { .. } => "a resource",
            Self::Other(_) => "a kind that is not known",
        }
    }
}

/// Reads the parts of a result, a resource or a prompt: so many of them and so many bytes as are kept, and what is left
/// out in words. `read` reads one.
pub(crate) fn read_parts<'a>(
    mut nodes: impl Iterator<Item = Node<'a>>,
    read: impl Fn(Node<'a>) -> Content,
) -> Vec<Content> {
    let mut room = MOST_BYTES;
    let mut parts: Vec<_> =
        nodes.by_ref().take(MOST_PARTS).map(|node| read(node).within(&mut room)).collect();
    let more = nodes.count();
    if more > 0 {
        parts.push(Content::Text(format!("[cut: {more} parts behind the first {MOST_PARTS} are left out]")));
    }
    if room == 0 {
        parts.push(Content::Text(format!("[cut: more than {} MiB were returned]", MOST_BYTES >> 20)));
    }
    parts
}

/// How far a call is, in the server's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// How much is done; a number as the server wrote it.
    pub done: String,
    /// Of how much, where it is known.
    pub total: Option<String>,
    /// What is being done.
    pub message: Option<String>,
}

impl Progress {
    /// In one line: `3 of 10: reading`.
    pub fn to_text(&self) -> String {
        let total = self.total.as_ref().map(|total| format!(" of {total}")).unwrap_or_default();
        let message = self.message.as_ref().map(|message| format!(": {message}")).unwrap_or_default();
        format!("{}{total}{message}", self.done)
    }
}

/// Bytes of one result, resource or prompt that are kept; the agent cuts further for the model.
const MOST_BYTES: usize = 8 << 20;

/// Parts of one that are kept.
pub(crate) const MOST_PARTS: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_read() {
        for (result, text, is_error) in [
            (r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#, "a\nb", false),
            (r#"{"content":[{"type":"text","text":"a"}],"isError":true}"#, "a", true),
            (r#"{"content":[],"structuredContent":{"x": 1.0e2}}"#, r#"{"x": 1.0e2}"#, false),
            (r#"{"content":[{"type":"text","text":"a"}],"structuredContent":{}}"#, "a", false),
            (
                r#"{"content":[{"type":"image","mimeType":"image/png","data":"AAAA"}]}"#,
                "[image image/png, 4 bytes of base64]",
                false,
            ),
            (
                r#"{"content":[{"type":"resource","resource":{"uri":"f:///a","text":"t"}}]}"#,
                "[resource f:///a]\nt",
                false,
            ),
            (
                r#"{"content":[{"type":"resource_link","uri":"f:///a","name":"n"}]}"#,
                "[resource n: f:///a]",
                false,
            ),
            (r#"{"content":[{"type":"new","z":1,"a":2}]}"#, r#"{"type":"new","z":1,"a":2}"#, false),
            ("{}", "", false),
        ] {
            let output = CallOutput::read(&Bytes::from_static(result.as_bytes())).unwrap();
            assert_eq!((output.to_text().as_str(), output.is_error), (text, is_error), "{result}");
        }
        assert_eq!(CallOutput::read(&Bytes::from_static(b"[]")), None);
    }

    #[test]
    fn parts_without_end_are_cut() {
        let parts = vec![r#"{"type":"text","text":"x"}"#; MOST_PARTS + 7].join(",");
        let output = CallOutput::read(&format!(r#"{{"content":[{parts}]}}"#).into()).unwrap();
        assert_eq!(output.content.len(), MOST_PARTS + 1);
        assert!(output.to_text().ends_with("x\n[cut: 7 parts behind the first 10000 are left out]"));
    }

    #[test]
    fn what_is_too_much_is_cut() {
        let long = "x".repeat(MOST_BYTES + 10);
        let result =
            format!(r#"{{"content":[{{"type":"text","text":"{long}"}},{{"type":"image","data":"AAAA"}}]}}"#);
        let output = CallOutput::read(&result.into()).unwrap();
        let text = output.to_text();
        assert!(text.len() < MOST_BYTES + 300);
        assert!(text.ends_with("[left out: 22 bytes of an image]\n[cut: more than 8 MiB were returned]"));
    }
}
