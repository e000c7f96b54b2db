use antefix_mcp::wire_name;
use antefix_tools::Definition;

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
        let schema = String::from_utf8_lossy(&tool.input_schema);
        match Definition::new(&name, &described(&tool.description), &schema) {
            Ok(definition) => {
                entries.push(Entry { definition, server: server.clone(), tool: tool.name.clone() });
            }
            Err(error) => left_out(error.to_string()),
        }
    }
    (entries, notices)
}

/// A description that fits.
fn described(text: &str) -> String {
    if text.len() <= LONGEST_DESCRIPTION {
        return text.to_owned();
    }
    let end = (0..=LONGEST_DESCRIPTION).rev().find(|&end| text.is_char_boundary(end)).unwrap_or_default();
    // INVARIANT: a character begins at `end`.
    format!("{}… [{} bytes in all]", &text[..end], text.len())
}

/// Bytes of a description that are shown: what a server writes there rides in every request.
const LONGEST_DESCRIPTION: usize = 4_000;

/// Bytes of an input schema.
const LARGEST_SCHEMA: usize = 100_000;
