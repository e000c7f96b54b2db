//! Tools as servers list them.

use antefix_wire::json::{Body, Kind, Node};
use bytes::Bytes;

use crate::name::wire_name;

/// A tool of a server.
///
/// Its schema is the text of the transport: the order of members and the spelling of numbers are the server's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolInfo {
    /// The server's key in the configuration.
    pub server: String,
    /// The tool's name, as the server calls it.
    pub name: String,
    /// The name in requests to a model: [`wire_name`].
    pub wire_name: String,
    /// A name for people, where the server gives one.
    pub title: Option<String>,
    /// What it does; one that is longer than 16 KiB is cut and says so.
    pub description: String,
    /// The JSON Schema of its arguments: an object, as the server wrote it.
    pub input_schema: Bytes,
    /// Whether the server says that it changes nothing. A hint by whoever wrote the server, no promise.
    pub says_read_only: bool,
}

impl ToolInfo {
    /// A tool without a description, for servers in this process.
    pub fn new(name: &str, description: &str, input_schema: impl Into<Bytes>) -> Self {
        Self {
            server: String::new(),
            name: name.to_owned(),
            wire_name: String::new(),
            title: None,
            description: description.to_owned(),
            input_schema: input_schema.into(),
            says_read_only: false,
        }
    }

    /// Sets whose it is.
    pub(crate) fn of_server(mut self, server: &str) -> Self {
        self.wire_name = wire_name(server, &self.name);
        server.clone_into(&mut self.server);
        self
    }
}

/// The tools of a server, read leniently: what cannot be used is left out with a remark.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Listed {
    /// In the order of their names, each once.
    pub(crate) tools: Vec<ToolInfo>,
    /// The names in the order of the server.
    pub(crate) order: Vec<String>,
    pub(crate) remarks: Vec<String>,
}

impl Listed {
    /// Takes in a page of `tools/list`.
    pub(crate) fn add_page(&mut self, server: &str, page: Node<'_>) {
        for node in page.get("tools").into_iter().flat_map(Node::items) {
            match tool(node) {
                Ok((tool, remark)) => {
                    self.remarks.extend(remark);
                    self.add(tool.of_server(server));
                }
                Err(remark) => self.remarks.push(remark),
            }
        }
    }

    /// Adds a tool; the first of a name wins, as does the first of a name for the model.
    pub(crate) fn add(&mut self, tool: ToolInfo) {
        if self.tools.len() >= MOST_TOOLS {
            self.remarks.push(format!("it lists more than {MOST_TOOLS} tools; the others are left out"));
            return;
        }
        if self.tools.iter().any(|other| other.name == tool.name) {
            self.remarks.push(format!("it lists the tool `{}` twice; the first holds", tool.name));
            return;
        }
        self.order.push(tool.name.clone());
        let at = self.tools.partition_point(|other| other.name < tool.name);
        self.tools.insert(at, tool);
    }
}

fn tool(node: Node<'_>) -> Result<(ToolInfo, Option<String>), String> {
    let text = |key: &str| node.get(key).and_then(Node::str).map(|text| text.into_owned());
    let name = text("name").filter(|name| !name.is_empty());
    let name = name.ok_or("it lists a tool without a name, which is left out")?;
    let left_out = |why: &str| format!("the tool `{name}` is left out: {why}");
    if name.len() > LONGEST_NAME {
        return Err(left_out("its name is longer than 512 bytes"));
    }
    let schema = node.get("inputSchema").ok_or_else(|| left_out("it has no schema"))?;
    if schema.kind() != Kind::Object {
        return Err(left_out("its schema is no object"));
    }
    if schema.get("type").is_some_and(|kind| !kind.is_str("object")) {
        return Err(left_out("its schema is not one of an object"));
    }
    if schema.raw().len() > LONGEST_SCHEMA {
        return Err(left_out("its schema is longer than 256 KiB"));
    }
    let (description, remark) = match text("description") {
        Some(text) if text.len() > LONGEST_DESCRIPTION => {
            let remark = format!("the description of `{name}` has {} bytes and is cut", text.len());
            (cut(&text, LONGEST_DESCRIPTION), Some(remark))
        }
        text => (text.unwrap_or_default(), None),
    };
    let annotations = node.get("annotations");
    let title = text("title").or_else(|| Some(annotations?.get("title")?.str()?.into_owned()));
    let tool = ToolInfo {
        title,
        says_read_only: annotations.and_then(|hints| hints.get("readOnlyHint")?.bool()).unwrap_or(false),
        ..ToolInfo::new(&name, &description, Bytes::copy_from_slice(schema.raw().as_bytes()))
    };
    Ok((tool, remark))
}

/// The start of a text, and how much of it there is; the same for the same text.
pub(crate) fn cut(text: &str, most: usize) -> String {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    // INVARIANT: `end` is a boundary within the text.
    format!("{}\n[cut: {} of {} bytes]", &text[..end], end, text.len())
}

/// The cursor of the next page, if there is one.
pub(crate) fn next_cursor(page: Node<'_>) -> Option<String> {
    page.get("nextCursor")?.str().map(|cursor| cursor.into_owned()).filter(|cursor| !cursor.is_empty())
}

/// Reads a result; `None` if it is no object.
pub(crate) fn result(text: &Bytes) -> Option<Body> {
    Body::parse(text.as_ref()).ok().filter(|body| body.root().kind() == Kind::Object)
}

/// Bytes of a description that are kept; how much of it a model is shown is up to whoever lists the tools.
const LONGEST_DESCRIPTION: usize = 16 << 10;

/// Bytes of a schema.
const LONGEST_SCHEMA: usize = 256 << 10;

/// Bytes of a tool's name.
const LONGEST_NAME: usize = 512;

/// Tools of one server.
const MOST_TOOLS: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(tools: &str) -> Listed {
        let body = Body::parse(format!("{{\"tools\":{tools}}}")).unwrap();
        let mut listed = Listed::default();
        listed.add_page("s", body.root());
        listed
    }

    #[test]
    fn a_schema_stays_as_it_came() {
        let schema = "{ \"type\":\"object\", \"properties\":{\"z\":{\"maximum\":1.0e2},\"a\":{\"const\":12345678901234567890123}}}";
        let listed =
            listed(&format!("[{{\"inputSchema\":{schema},\"name\":\"t\",\"description\":\"d\\u00e9\"}}]"));
        assert_eq!(listed.tools[0].input_schema, schema);
        assert_eq!(listed.tools[0].description, "dé");
        assert_eq!(listed.tools[0].wire_name, "mcp__s__t");
    }

    #[test]
    fn tools_stand_in_the_order_of_their_names_and_what_is_wrong_is_left_out() {
        let ok = r#""inputSchema":{}"#;
        for (tools, names, remarks) in [
            (format!(r#"[{{"name":"b",{ok}}},{{"name":"a",{ok}}}]"#), "a b", ""),
            (
                format!(r#"[{{"name":"a",{ok},"title":"1"}},{{"name":"a",{ok}}}]"#),
                "a",
                "it lists the tool `a` twice; the first holds",
            ),
            (r#"[{"name":"a"}]"#.into(), "", "the tool `a` is left out: it has no schema"),
            (
                r#"[{"name":"a","inputSchema":"x"}]"#.into(),
                "",
                "the tool `a` is left out: its schema is no object",
            ),
            (
                r#"[{"name":"a","inputSchema":{"type":"array"}}]"#.into(),
                "",
                "the tool `a` is left out: its schema is not one of an object",
            ),
            (
                format!(r#"[{{{ok}}},{{"name":"工具",{ok}}},7]"#),
                "工具",
                "it lists a tool without a name, which is left out|it lists a tool without a name, which is left out",
            ),
        ] {
            let listed = listed(&tools);
            let found: Vec<_> = listed.tools.iter().map(|tool| tool.name.as_str()).collect();
            assert_eq!(
                (found.join(" ").as_str(), listed.remarks.join("|").as_str()),
                (names, remarks),
                "{tools}"
            );
        }
    }

    #[test]
    fn a_description_of_megabytes_is_cut() {
        let long = "é".repeat(3 << 20);
        let listed = listed(&format!(r#"[{{"name":"a","description":"{long}","inputSchema":{{}}}}]"#));
        assert!(listed.tools[0].description.ends_with("\n[cut: 16384 of 6291456 bytes]"));
        assert_eq!(listed.remarks, ["the description of `a` has 6291456 bytes and is cut"]);
    }
}
