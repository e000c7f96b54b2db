//! Tools and content blocks with the text they are rendered to.

use antefix_models::Ttl;
use antefix_wire::json::{Kind, Node};

use crate::error::ApiError;

use super::present;

/// Who a message is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Role {
    User,
    Assistant,
    System,
}

impl Role {
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::System => "system",
        }
    }
}

/// A `cache_control`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Marker {
    pub ttl: Ttl,
    /// Where it stands, for messages.
    pub path: String,
}

impl Marker {
    /// Reads a marker; `null` is none.
    pub fn read(node: Node<'_>, path: &str) -> Result<Option<Self>, ApiError> {
        if node.is_null() {
            return Ok(None);
        }
        if !node.get("type").is_some_and(|kind| kind.is_str("ephemeral")) {
            return Err(ApiError::invalid(format!("{path}.type: Input should be 'ephemeral'")));
        }
        let ttl = match present(node, "ttl").and_then(|ttl| ttl.str()).as_deref() {
            None | Some("5m") => Ttl::FiveMinutes,
            Some("1h") => Ttl::OneHour,
            Some(_) => return Err(ApiError::invalid(format!("{path}.ttl: Input should be '5m' or '1h'"))),
        };
        Ok(Some(Self { ttl, path: path.to_owned() }))
    }
}

/// A tool definition.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    pub name: String,
    /// The definition as rendered: without `cache_control` and `defer_loading`.
    pub text: String,
    pub deferred: bool,
    pub marker: Option<Marker>,
    /// The client's own, not one the provider defines.
    pub custom: bool,
    /// Its `input_schema` as sent; `None` if the provider defines it.
    pub schema: Option<String>,
    /// A web search or web fetch tool, which is rendered into the system level.
    pub web: bool,
}

impl Tool {
    pub fn read(node: Node<'_>, path: &str) -> Result<Self, ApiError> {
        if node.kind() != Kind::Object {
            return Err(ApiError::invalid(format!("{path}: Input should be a valid object")));
        }
        let kind = present(node, "type").and_then(|kind| kind.str()).unwrap_or("custom".into());
        let name = ["name", "mcp_server_name"].iter().find_map(|key| node.get(key)?.str());
        let name = name.ok_or_else(|| ApiError::invalid(format!("{path}.name: Field required")))?;
        let schema = node.get("input_schema").filter(|_| kind == "custom");
        if kind == "custom" && schema.is_none() {
            return Err(ApiError::invalid(format!("{path}.custom.input_schema: Field required")));
        }
        let marker = node.get("cache_control");
        let marker = marker.map(|node| Marker::read(node, &format!("{path}.cache_control"))).transpose()?;
        Ok(Self {
            name: name.into_owned(),
            text: render_members(node, &["cache_control", "defer_loading"], &[("type", "\"custom\"")]),
            deferred: node.get("defer_loading").and_then(|value| value.bool()) == Some(true),
            marker: marker.flatten(),
            custom: kind == "custom",
            schema: schema.map(|schema| schema.raw().to_owned()),
            web: kind.starts_with("web_search_") || kind.starts_with("web_fetch_"),
        })
    }
}

/// A content block of the system prompt or of a message.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    /// Its `type`.
    pub kind: String,
    /// The text it is rendered to, `cache_control` left out and tool references expanded.
    pub text: String,
    /// What a reader would read: the text, the thinking, the text of a tool's result.
    pub plain: String,
    /// Its own marker and those of blocks inside it.
    pub markers: Vec<Marker>,
    /// `id` of a tool use, `tool_use_id` of a result.
    pub id: String,
    /// `name` of a tool use.
    pub name: String,
    pub signature: String,
    pub is_error: bool,
    pub images: u64,
    pub citations: bool,
    /// A referenced tool that is not in the request.
    pub unknown_reference: Option<String>,
    /// Tools that it puts before the model: those it refers to, or adds.
    pub offers: Vec<String>,
    /// The tool that a `tool_removal` takes away.
    pub withdraws: Option<String>,
    /// It defines a tool of its own.
    pub defines: bool,
    /// Where it stands, as the API's messages name it.
    pub path: String,
}

impl Block {
    /// A block that was given as a plain string.
    pub fn from_text(text: &str, path: &str) -> Self {
        Self {
            kind: "text".to_owned(),
            text: text.to_owned(),
            plain: text.to_owned(),
            markers: Vec::new(),
            id: String::new(),
            name: String::new(),
            signature: String::new(),
            is_error: false,
            images: 0,
            citations: false,
            unknown_reference: None,
            offers: Vec::new(),
            withdraws: None,
            defines: false,
            path: path.to_owned(),
        }
    }

    pub fn read(node: Node<'_>, path: &str, tools: &[&Tool]) -> Result<Self, ApiError> {
        let kind = node.get("type").and_then(|kind| kind.str());
        let kind = kind.ok_or_else(|| ApiError::invalid(format!("{path}.type: Field required")))?;
        let string =
            |key: &str| present(node, key).and_then(|value| value.str()).unwrap_or_default().into_owned();
        let mut block = Self::from_text("", path);
        block.plain = match &*kind {
            "thinking" => string("thinking"),
            "compaction" => string("content"),
            _ => string("text"),
        };
        block.id = if node.get("tool_use_id").is_some() { string("tool_use_id") } else { string("id") };
        block.name = string("name");
        block.signature = match &*kind {
            "compaction" => string("encrypted_content"),
            _ => string("signature"),
        };
        block.is_error = node.get("is_error").and_then(|value| value.bool()) == Some(true);
        block.images = u64::from(kind == "image");
        let citations = present(node, "citations").and_then(|value| value.get("enabled")?.bool());
        block.citations = citations == Some(true);
        if let Some(marker) = node.get("cache_control") {
            let marker = Marker::read(marker, &format!("{path}.{kind}.cache_control"))?;
            block.markers.extend(marker);
        }
        block.kind = kind.into_owned();
        if block.kind == "tool_use" && node.get("input").is_none_or(|input| input.kind() != Kind::Object) {
            return Err(ApiError::invalid(format!(
                "{path}.tool_use.input: Input should be a valid dictionary"
            )));
        }
        block.text = block.render(node, tools)?;
        Ok(block)
    }

    /// Whether the API takes a `cache_control` on such a block.
    pub fn markable(&self) -> bool {
        match self.kind.as_str() {
            "thinking" | "redacted_thinking" => false,
            "text" => !self.plain.is_empty(),
            _ => true,
        }
    }

    pub fn is_thinking(&self) -> bool {
        matches!(self.kind.as_str(), "thinking" | "redacted_thinking")
    }

    /// Whether it is a summary of all that stands in front of it.
    pub fn is_compaction(&self) -> bool {
        self.kind == "compaction"
    }

    fn render(&mut self, node: Node<'_>, tools: &[&Tool]) -> Result<String, ApiError> {
        match self.kind.as_str() {
            "text" if plain_text_only(node) => Ok(self.plain.clone()),
            "tool_result" | "tool_search_tool_result" => self.render_result(node, tools),
            "tool_reference" => Ok(self.expand(node, tools)),
            "tool_addition" | "tool_removal" => self.render_change(node, tools),
            _ => Ok(render_members(node, &["cache_control"], &[])),
        }
    }

    /// A tool's result: its members, then its content with each tool reference replaced by the definition.
    fn render_result(&mut self, node: Node<'_>, tools: &[&Tool]) -> Result<String, ApiError> {
        let mut text = render_members(node, &["cache_control", "content"], &[("is_error", "false")]);
        let Some(content) = present(node, "content") else { return Ok(text) };
        if let Some(string) = content.str() {
            text.push_str(&string);
            self.plain = string.into_owned();
            return Ok(text);
        }
        let items = match content.get("tool_references") {
            Some(references) => references.items(),
            None => content.items(),
        };
        for (index, item) in items.enumerate() {
            let inner = Self::read(item, &format!("{}.content.{index}", self.path), tools)?;
            if index > 0 || inner.kind != "text" {
                text.push_str(&format!("\u{1f}{}\u{1f}", inner.kind));
            }
            text.push_str(&inner.text);
            self.plain.push_str(&inner.plain);
            self.markers.extend(inner.markers);
            self.images += inner.images;
            self.citations |= inner.citations;
            self.unknown_reference = self.unknown_reference.take().or(inner.unknown_reference);
            self.offers.extend(inner.offers);
        }
        if content.kind() == Kind::Object && content.get("tool_references").is_none() {
            text.push_str(&render_members(content, &[], &[]));
        }
        Ok(text)
    }

    fn expand(&mut self, node: Node<'_>, tools: &[&Tool]) -> String {
        let name = node.get("tool_name").and_then(|name| name.str()).unwrap_or_default();
        match tools.iter().find(|tool| tool.name == name) {
            Some(tool) => {
                self.offers.push(name.into_owned());
                tool.text.clone()
            }
            None => {
                self.unknown_reference = Some(name.into_owned());
                String::new()
            }
        }
    }

    /// A tool that is offered or withdrawn in the midst of a conversation: the block; behind an addition, the definition
    /// it names, if that is deferred and so stands nowhere else.
    ///
    /// Source: `beta_request_tool_addition_block_param.py` and `beta_tool_change_tool_reference_param.py` of the
    /// `anthropic` SDK 2.14.0 (November 2026). What a reference to a tool of a server that the provider calls means is
    /// not followed up.
    fn render_change(&mut self, node: Node<'_>, tools: &[&Tool]) -> Result<String, ApiError> {
        let path = format!("{}.{}.tool", self.path, self.kind);
        let missing = |path: &str| ApiError::invalid(format!("{path}: Field required"));
        let tool = present(node, "tool").ok_or_else(|| missing(&path))?;
        let mut text = render_members(node, &["cache_control"], &[]);
        let is_addition = self.kind == "tool_addition";
        match tool.get("type").and_then(|kind| kind.str()).unwrap_or_default().as_ref() {
            "tool_reference" => {
                let name = present(tool, "name").and_then(|name| name.str());
                let name = name.ok_or_else(|| missing(&format!("{path}.tool_reference.name")))?.into_owned();
                match tools.iter().find(|tool| tool.name == name) {
                    Some(tool) if is_addition && tool.deferred => text.push_str(&tool.text),
                    Some(_) => {}
                    None => self.unknown_reference = Some(name.clone()),
                }
                if is_addition {
                    self.offers.push(name);
                } else {
                    self.withdraws = Some(name);
                }
            }
            "tool_definition" if is_addition => self.defines = true,
            "mcp_tool_reference" | "mcp_toolset_reference" => {}
            _ => {
                return Err(ApiError::invalid(format!("{path}.type: Input should be 'tool_reference'")));
            }
        }
        Ok(text)
    }
}

/// Whether a text block says nothing besides its text.
fn plain_text_only(node: Node<'_>) -> bool {
    node.members().all(|(key, value)| {
        value.is_null() || ["type", "text", "cache_control"].iter().any(|known| key.is_str(known))
    })
}

/// Renders an object's members in the order of their names, because the provider reads them into a structure
/// of its own; values below keep the order sent. Members that are `null` or equal to their default are left
/// out, as are those named in `without`.
fn render_members(node: Node<'_>, without: &[&str], defaults: &[(&str, &str)]) -> String {
    let mut members: Vec<(String, Node<'_>)> = node
        .members()
        .filter(|(_, value)| !value.is_null())
        .filter_map(|(key, value)| Some((key.str()?.into_owned(), value)))
        .filter(|(key, _)| !without.contains(&key.as_str()))
        .filter(|(key, value)| !defaults.contains(&(key.as_str(), value.raw())))
        .collect();
    members.sort_by(|left, right| left.0.cmp(&right.0));
    let mut text = String::new();
    for (key, value) in members {
        text.push_str(&key);
        text.push('=');
        render_value(&mut text, value);
        text.push('\n');
    }
    text
}

/// Renders a value as the provider sees it after parsing: white space and escapes do not matter; the order of
/// keys and the text of numbers do.
pub(crate) fn render_value(out: &mut String, node: Node<'_>) {
    match node.kind() {
        Kind::Object => {
            out.push('{');
            for (key, value) in node.members() {
                render_value(out, key);
                out.push(':');
                render_value(out, value);
                out.push(',');
            }
            out.push('}');
        }
        Kind::Array => {
            out.push('[');
            for item in node.items() {
                render_value(out, item);
                out.push(',');
            }
            out.push(']');
        }
        Kind::String => {
            // Quotes inside are escaped so that two different values never render alike.
            out.push('"');
            let text = node.str().unwrap_or_default();
            if text.contains(['"', '\\']) {
                out.push_str(&text.replace('\\', "\\\\").replace('"', "\\\""));
            } else {
                out.push_str(&text);
            }
            out.push('"');
        }
        Kind::Null | Kind::Bool | Kind::Number => out.push_str(node.raw()),
    }
}
