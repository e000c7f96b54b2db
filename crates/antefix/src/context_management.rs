//! What the provider is asked to leave out of the prompt, as the user writes it.

use antefix_wire::json::{Body, Kind, Node, compact};

/// A `context_management` of the Messages API. Its edits are the provider's business; the betas that they need follow
/// from their types.
///
/// Source: the pages on context editing and compaction of platform.claude.com (August 2026).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextManagement {
    /// The member's value, without white space.
    pub json: String,
    /// `anthropic-beta` values.
    pub betas: Vec<String>,
}

/// Reads the value of the flag.
///
/// # Errors
/// In words, if it is no object with a list of edits.
pub fn parse_context_management(text: &str) -> Result<ContextManagement, String> {
    let body = Body::parse(text).map_err(|error| format!("it is no JSON: {error}"))?;
    let edits = body.root().get("edits").filter(|edits| edits.kind() == Kind::Array);
    let edits = edits.ok_or(r#"expected an object with a list, `{"edits":[…]}`"#)?;
    let mut betas: Vec<String> = Vec::new();
    for edit in edits.items() {
        let kind = edit.get("type").and_then(Node::str).unwrap_or_default();
        let beta = BETAS.iter().find(|(start, _)| kind.starts_with(start)).map(|(_, beta)| *beta);
        let beta = beta.ok_or_else(|| format!("an edit of the type `{kind}` is not known"))?;
        if !betas.iter().any(|known| known == beta) {
            betas.push(beta.to_owned());
        }
    }
    if betas.is_empty() {
        return Err("it asks for no edit".to_owned());
    }
    let mut json = Vec::new();
    compact(&mut json, body.root());
    Ok(ContextManagement { json: String::from_utf8_lossy(&json).into_owned(), betas })
}

/// How the types of edits begin, and the beta that each needs.
const BETAS: [(&str, &str); 2] =
    [("clear_", "context-management-2025-06-27"), ("compact_", "compact-2026-01-12")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_says_which_betas_it_needs() {
        let found = |text: &str| {
            let found = parse_context_management(text)?;
            Ok::<_, String>((found.json, found.betas.join(" ")))
        };
        let taken = |json: &str, betas: &str| Ok((json.to_owned(), betas.to_owned()));
        for (text, expect) in [
            (
                r#"{ "edits": [ {"type":"compact_20260112"} ] }"#,
                taken(r#"{"edits":[{"type":"compact_20260112"}]}"#, "compact-2026-01-12"),
            ),
            (
                r#"{"edits":[{"type":"clear_thinking_20251015"},{"type":"clear_tool_uses_20250919"},{"type":"compact_20260112"}]}"#,
                taken(
                    r#"{"edits":[{"type":"clear_thinking_20251015"},{"type":"clear_tool_uses_20250919"},{"type":"compact_20260112"}]}"#,
                    "context-management-2025-06-27 compact-2026-01-12",
                ),
            ),
            (r#"{"edits":[]}"#, Err("it asks for no edit".to_owned())),
            (r#"{"edits":[{"type":"x"}]}"#, Err("an edit of the type `x` is not known".to_owned())),
            ("{}", Err(r#"expected an object with a list, `{"edits":[…]}`"#.to_owned())),
        ] {
            assert_eq!(found(text), expect, "{text}");
        }
        assert!(found("{").is_err_and(|error| error.starts_with("it is no JSON")));
    }
}
