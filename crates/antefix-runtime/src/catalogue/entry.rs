use antefix_mcp::wire_name;
use antefix_tools::Definition;
use antefix_wire::json::{Body, Kind, Node};

use super::offer::{Offer, ServerState};

/// A tool of a server, as the model is shown it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// How the model sees it.
    pub definition: Definition,
    /// The server's key.
    pub server: String,
    /// The tool's name there.
    pub tool: String,
}

/// The tools of the servers that are ready, by server and name; the first of a name wins. What cannot be sent is left
/// out, with a remark for the user.
pub(super) fn entries(offers: &[Offer]) -> (Vec<Entry>, Vec<String>) {
    let ready = offers.iter().filter(|offer| offer.state == ServerState::Ready);
    let mut all: Vec<_> =
        ready.flat_map(|offer| offer.tools.iter().map(move |tool| (&offer.server, tool))).collect();
    all.sort_by_key(|(server, tool)| (*server, &tool.name));
    let (mut entries, mut notices) = (Vec::<Entry>::new(), Vec::new());
    for (server, tool) in all {
        let name = wire_name(server, &tool.name);
        let mut left_out = |why: String| {
            notices.push(format!("the tool `{}` of the MCP server `{server}` is left out: {why}", tool.name));
        };
        if entries.iter().any(|entry| entry.definition.name() == name) {
            left_out(format!("there is another `{name}`"));
            continue;
        }
        if tool.input_schema.len() > LARGEST_SCHEMA {
            left_out(format!(
                "its input schema has {} bytes, the most is {LARGEST_SCHEMA}",
                tool.input_schema.len()
            ));
            continue;
        }
        if let Some(why) = refused(&tool.input_schema) {
            left_out(why);
            continue;
        }
        let schema = with_type(&String::from_utf8_lossy(&tool.input_schema));
        match Definition::new(&name, &described(&tool.description), &schema) {
            Ok(definition) => {
                entries.push(Entry { definition, server: server.clone(), tool: tool.name.clone() });
            }
            Err(error) => left_out(error.to_string()),
        }
    }
    (entries, notices)
}

/// Why the Messages API would refuse a request with a tool of this input schema, and with it every request of the
/// session.
///
/// Source: what it answers (November 2026): an object that says `"type": "object"`, without `oneOf`, `allOf` or `anyOf`
/// at the top, and names of properties of at most 64 letters, digits, `_`, `.` and `-`.
fn refused(schema: &[u8]) -> Option<String> {
    let body = match Body::parse(schema.to_vec()) {
        Ok(body) => body,
        Err(error) => return Some(format!("its input schema is no JSON: {error}")),
    };
    let root = body.root();
    if root.kind() != Kind::Object || root.get("type").is_some_and(|kind| !kind.is_str("object")) {
        return Some("its input schema does not say `\"type\": \"object\"`".to_owned());
    }
    if let Some(name) = ["oneOf", "allOf", "anyOf"].into_iter().find(|name| root.get(name).is_some()) {
        return Some(format!("its input schema has `{name}` at the top"));
    }
    let properties = root.get("properties");
    if properties.is_some_and(|properties| properties.kind() != Kind::Object) {
        return Some("the `properties` of its input schema are no object".to_owned());
    }
    let is_fit = |name: &str| {
        let is_taken = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.' | '-');
        (1..=64).contains(&name.len()) && name.chars().all(is_taken)
    };
    let names = properties.into_iter().flat_map(Node::members);
    let mut names = names.map(|(name, _)| name.str().unwrap_or_default().into_owned());
    if let Some(name) = names.find(|name| !is_fit(name)) {
        return Some(format!("its input schema has a property `{name}`"));
    }
    has_lone_surrogate(root).then(|| "its input schema holds half of a character".to_owned())
}

/// A schema that says what it is of, which a request must hold and servers leave out.
fn with_type(schema: &str) -> String {
    let has_type = Body::parse(schema).is_ok_and(|body| body.root().get("type").is_some());
    match schema.trim().strip_prefix('{').map(str::trim_start).filter(|_| !has_type) {
        Some("}") => r#"{"type":"object"}"#.to_owned(),
        Some(rest) => format!(r#"{{"type":"object",{rest}"#),
        None => schema.to_owned(),
    }
}

/// Whether a text in a value escapes one half of a pair alone, which nothing can decode.
fn has_lone_surrogate(node: Node<'_>) -> bool {
    match node.kind() {
        Kind::String => node.raw().contains("\\u") && node.str().is_none_or(|text| text.contains('\u{fffd}')),
        Kind::Array => node.items().any(has_lone_surrogate),
        Kind::Object => {
            node.members().any(|(name, value)| has_lone_surrogate(name) || has_lone_surrogate(value))
        }
        _ => false,
    }
}

/// A description that fits.
fn described(text: &str) -> String {
    if text.len() <= LONGEST_DESCRIPTION {
        return text.to_owned();
    }
    let end = (0..=LONGEST_DESCRIPTION).rev().find(|&end| text.is_char_boundary(end)).unwrap_or_default();
    // INVARIANT: a character begins at `end`.
    format!("{}… [the rest is left out]", &text[..end])
}

/// Bytes of a description that are shown: what a server writes there rides in every request.
const LONGEST_DESCRIPTION: usize = 4_000;

/// Bytes of an input schema.
const LARGEST_SCHEMA: usize = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_that_would_be_refused_are_left_out_and_the_type_is_put_in() {
        for (schema, expect) in [
            ("{}", Ok(r#"{"type":"object"}"#)),
            (r#"{ "properties":{"a":{}}}"#, Ok(r#"{"type":"object","properties":{"a":{}}}"#)),
            (r#"{"type":"object","properties":{"a.b-c_1":{"oneOf":[]}}}"#, Ok("")),
            (r#"{"type":"object","description":"\ud83d\ude00"}"#, Ok("")),
            (r#"{"type":"banana"}"#, Err("does not say `\"type\": \"object\"`")),
            ("[]", Err("does not say `\"type\": \"object\"`")),
            (r#"{"type":"object","oneOf":[]}"#, Err("has `oneOf` at the top")),
            (r#"{"properties":{"a b":{}}}"#, Err("has a property `a b`")),
            (r#"{"properties":5}"#, Err("are no object")),
            (r#"{"description":"\ud800"}"#, Err("half of a character")),
            ("{", Err("is no JSON")),
        ] {
            match (refused(schema.as_bytes()), expect) {
                (None, Ok(text)) => {
                    assert_eq!(with_type(schema), if text.is_empty() { schema } else { text });
                }
                (Some(why), Err(words)) => assert!(why.contains(words), "{schema}: {why}"),
                (found, _) => panic!("{schema}: {found:?}"),
            }
        }
    }
}
