//! What is not as it was in a list of tools.

use std::fmt;

use antefix_wire::json::{Kind as JsonKind, Node};

/// A tool's definition.
#[derive(Clone, Debug)]
pub struct Tool<'a> {
    /// What it is called.
    pub name: String,
    /// It is outside of the prompt until something refers to it.
    pub is_deferred: bool,
    /// Its members with their bytes, markers aside, and of Chat Completions those of the function.
    members: Vec<(String, &'a str)>,
}

/// Something that is not as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub kind: Kind,
    /// The tool.
    pub tool: String,
    /// It is and was deferred.
    pub is_deferred: bool,
    /// Where in the definition, and what stood there before and after, as far as it is shown.
    pub detail: Option<(String, String, String)>,
}

/// What kind of change it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Added,
    Removed,
    Moved,
    Description,
    Schema,
    Member,
    MemberOrder,
}

impl<'a> Tool<'a> {
    /// Reads a definition.
    pub fn read(tool: Node<'a>) -> Self {
        let own = tool.get("function").filter(|inner| inner.kind() == JsonKind::Object).unwrap_or(tool);
        let text = |name| own.get(name).and_then(Node::str).map(|text| text.into_owned());
        let key = |key: Node<'_>| key.str().unwrap_or_default().into_owned();
        let members = own.members().filter(|(key, _)| !key.is_str("cache_control"));
        Self {
            name: text("name").or_else(|| text("type")).unwrap_or_default(),
            is_deferred: tool.get("defer_loading").and_then(Node::bool) == Some(true),
            members: members.map(|(name, value)| (key(name), value.raw())).collect(),
        }
    }
}

impl Change {
    /// Whether the provider reads another prompt from here on. What is deferred is no part of it until it is
    /// referred to, which a body's tools do not tell.
    pub fn breaks(&self) -> bool {
        !(self.is_deferred && matches!(self.kind, Kind::Added | Kind::Removed | Kind::Moved))
    }
}

impl fmt::Display for Change {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let deferred = if self.is_deferred { "deferred tool" } else { "tool" };
        write!(out, "{deferred} `{}` {}", self.tool, self.kind.words())?;
        match &self.detail {
            Some((path, before, after)) => write!(out, " at {path}: {before} -> {after}"),
            None => Ok(()),
        }
    }
}

impl Kind {
    /// The word that stands for it in JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Moved => "moved",
            Self::Description => "description",
            Self::Schema => "schema",
            Self::Member => "member",
            Self::MemberOrder => "member_order",
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Added => "is new",
            Self::Removed => "is gone",
            Self::Moved => "stands in another place",
            Self::Description => "has another description",
            Self::Schema => "has another schema",
            Self::Member => "has another member",
            Self::MemberOrder => "has its members in another order",
        }
    }
}

/// What is not as it was, in the order of the later list; what is gone comes first.
pub fn compare(before: &[Tool<'_>], after: &[Tool<'_>]) -> Vec<Change> {
    let change = |kind, tool: &Tool<'_>, detail| Change {
        kind,
        tool: tool.name.clone(),
        is_deferred: tool.is_deferred,
        detail,
    };
    let find = |list: &[Tool<'_>], name: &str| list.iter().position(|tool| tool.name == name);
    let gone = before.iter().filter(|tool| find(after, &tool.name).is_none());
    let mut changes: Vec<_> = gone.map(|tool| change(Kind::Removed, tool, None)).collect();
    // Those that both have, in the order of each: what was moved is seen by itself, not by what came in front of it.
    let stayed: Vec<&str> =
        before.iter().map(|tool| tool.name.as_str()).filter(|name| find(after, name).is_some()).collect();
    let mut next = stayed.iter();
    for tool in after {
        let Some(old) = find(before, &tool.name).and_then(|at| before.get(at)) else {
            changes.push(change(Kind::Added, tool, None));
            continue;
        };
        if next.next() != Some(&tool.name.as_str()) {
            changes.push(change(Kind::Moved, tool, None));
        }
        changes.extend(altered(old, tool).map(|(kind, detail)| change(kind, tool, detail)));
    }
    changes
}

type Altered = (Kind, Option<(String, String, String)>);

/// The first thing in which two definitions differ.
fn altered(before: &Tool<'_>, after: &Tool<'_>) -> Option<Altered> {
    if before.members == after.members {
        return None;
    }
    let value = |tool: &Tool<'_>, key: &str| {
        tool.members.iter().find(|(name, _)| name == key).map_or("(nothing)", |(_, value)| *value).to_owned()
    };
    let keys = after.members.iter().chain(&before.members).map(|(key, _)| key);
    let differs = |key: &&String| value(before, key) != value(after, key);
    let Some(key) = keys.into_iter().find(differs) else { return Some((Kind::MemberOrder, None)) };
    let kind = match key.as_str() {
        "description" => Kind::Description,
        "input_schema" | "parameters" | "parametersJsonSchema" | "inputSchema" => Kind::Schema,
        _ => Kind::Member,
    };
    let (old, new) = (value(before, key), value(after, key));
    let (offset, old, new) = excerpts(&old, &new);
    Some((kind, Some((format!("/{key} byte {offset}"), old, new))))
}

/// Where two texts part, and some of each from a little before there.
fn excerpts(before: &str, after: &str) -> (usize, String, String) {
    let offset = before.bytes().zip(after.bytes()).take_while(|(old, new)| old == new).count();
    let shown = |text: &str| {
        let from =
            (offset.saturating_sub(CONTEXT)..=offset).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.get(from..).map(|rest| rest.chars().take(EXCERPT).collect()).unwrap_or_default()
    };
    (offset, shown(before), shown(after))
}

/// Bytes shown in front of the place where two texts part.
const CONTEXT: usize = 12;

/// Characters shown of a text.
const EXCERPT: usize = 48;

#[cfg(test)]
mod tests {
    use antefix_wire::json::Body;

    use super::*;

    #[test]
    fn what_changed_is_named_once() {
        let tool = |name: &str, more: &str| format!(r#"{{"name":"{name}"{more}}}"#);
        let (a, b, c) = (tool("a", ""), tool("b", ""), tool("c", ""));
        let deferred = tool("d", r#","defer_loading":true"#);
        let described = |text: &str| tool("a", &format!(r#","description":"{text}""#));
        let schema = |text: &str| tool("a", &format!(r#","input_schema":{text}"#));
        let chat = |name: &str, text: &str| {
            format!(r#"{{"type":"function","function":{{"name":"{name}","description":"{text}"}}}}"#)
        };
        for (before, after, expect) in [
            (vec![&a, &b], vec![&a, &b], ""),
            (vec![&a], vec![&a, &b], "tool `b` is new"),
            (vec![&a, &b, &c], vec![&a, &c], "tool `b` is gone"),
            (vec![&a, &b], vec![&c, &a, &b], "tool `c` is new"),
            (
                vec![&a, &b],
                vec![&b, &a],
                "tool `b` stands in another place; tool `a` stands in another place",
            ),
            (vec![&a], vec![&a, &deferred], "(deferred tool `d` is new)"),
            (
                vec![&described("now 1")],
                vec![&described("now 2")],
                "tool `a` has another description at /description byte 5: \"now 1\" -> \"now 2\"",
            ),
            (
                vec![&schema(r#"{"x":1,"y":2}"#)],
                vec![&schema(r#"{"y":2,"x":1}"#)],
                r#"tool `a` has another schema at /input_schema byte 2: {"x":1,"y":2} -> {"y":2,"x":1}"#,
            ),
            (
                vec![&tool("a", r#","x":1,"y":2"#)],
                vec![&tool("a", r#","y":2,"x":1"#)],
                "tool `a` has its members in another order",
            ),
            (vec![&tool("a", r#","cache_control":{"type":"ephemeral"}"#)], vec![&a], ""),
            (
                vec![&chat("a", "one")],
                vec![&chat("a", "two")],
                "tool `a` has another description at /description byte 1: \"one\" -> \"two\"",
            ),
        ] {
            let bodies = [before, after].map(|tools| {
                let tools: Vec<&str> = tools.into_iter().map(String::as_str).collect();
                Body::parse(format!("[{}]", tools.join(",")).into_bytes()).unwrap()
            });
            let [before, after] =
                bodies.each_ref().map(|body| body.root().items().map(Tool::read).collect::<Vec<_>>());
            let found = compare(&before, &after)
                .into_iter()
                .map(|change| if change.breaks() { change.to_string() } else { format!("({change})") });
            assert_eq!(found.collect::<Vec<_>>().join("; "), expect);
        }
    }
}
