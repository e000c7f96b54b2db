use std::process::ExitCode;

use antefix_mcp::{Hub, ServerView, State, ToolInfo, Wait};

use super::Surroundings;
use crate::failure::Failure;
use crate::out::{prose, say};
use crate::screen::harmless;
use crate::stream_json::{Object, SCHEMA_VERSION, array};

/// `antefix mcp test [NAME]`
pub(super) async fn test(around: Surroundings, name: Option<&str>, json: bool) -> Result<ExitCode, Failure> {
    let around = match name {
        Some(name) => around.only(name)?,
        None => around,
    };
    let are_held_back = name.is_none() && !around.held_back.is_empty();
    let results = looked_at(around).await;
    if json {
        let mut object = Object::new();
        object.number("schema_version", SCHEMA_VERSION);
        object.raw("servers", &array(results.iter().map(Tested::json)));
        say!("{}", object.close());
    } else {
        results.iter().for_each(Tested::print);
        if results.is_empty() {
            say!("no MCP server is configured here (docs/mcp.md says how)");
        }
    }
    let is_fine = !are_held_back && results.iter().all(Tested::is_fine);
    Ok(ExitCode::from(u8::from(!is_fine)))
}

/// Lists each server twice, and again after a restart.
async fn looked_at(around: Surroundings) -> Vec<Tested> {
    let hub = Hub::start(around.configs.clone(), around.options.clone());
    hub.ready(Wait::All).await;
    let mut results: Vec<Tested> = Vec::new();
    for first in hub.catalogue().servers {
        let mut tested = Tested { first, changes: Vec::new(), failure: None };
        if tested.first.state == State::Ready {
            let second = hub.list(&tested.first.name).await;
            tested.compare("listed again", second.map_err(|error| error.to_string()));
        } else {
            tested.failure = tested.first.state.why().map(str::to_owned);
        }
        results.push(tested);
    }
    hub.stop().await;
    let hub = Hub::start(around.configs, around.options);
    hub.ready(Wait::All).await;
    let after = hub.catalogue();
    hub.stop().await;
    for tested in results.iter_mut().filter(|tested| tested.failure.is_none()) {
        let Some(again) = after.server(&tested.first.name).cloned() else { continue };
        let again = match again.state.why() {
            None => Ok(again),
            Some(why) => Err(why.to_owned()),
        };
        tested.compare("after a restart", again);
    }
    results
}

/// What came of one server.
struct Tested {
    first: ServerView,
    changes: Vec<Change>,
    failure: Option<String>,
}

impl Tested {
    fn is_fine(&self) -> bool {
        self.changes.is_empty() && self.failure.is_none()
    }

    fn compare(&mut self, when: &'static str, again: Result<ServerView, String>) {
        match again {
            Ok(again) => self.changes.extend(changes(when, &self.first, &again)),
            Err(why) => self.failure = Some(format!("{when}: {why}")),
        }
    }

    fn json(&self) -> String {
        let mut object = Object::new();
        object.text("name", &self.first.name).boolean("ok", self.is_fine());
        object.number("tools", self.first.tools.len() as u64);
        if let Some(failure) = &self.failure {
            object.text("failure", failure);
        }
        let changes = self.changes.iter().map(|change| {
            let mut object = Object::new();
            object.text("when", change.when).text("kind", change.kind).text("tool", &change.tool);
            object.text("text", &change.text);
            object.close()
        });
        object.raw("changes", &array(changes));
        object.close()
    }

    fn print(&self) {
        let name = harmless(&self.first.name);
        if let Some(failure) = &self.failure {
            prose!("✗ {name}: {}", harmless(failure));
        }
        for change in &self.changes {
            let tool = if change.tool.is_empty() { String::new() } else { format!(" `{}`", change.tool) };
            prose!(
                "✗ {name}: {}: {}{}: {}",
                change.when,
                change.kind,
                harmless(&tool),
                harmless(&change.text)
            );
        }
        if self.is_fine() {
            let tools = self.first.tools.len();
            prose!("✓ {name}: {tools} tools, the same listed again and after a restart");
        }
    }
}

/// Something that was not the same.
struct Change {
    when: &'static str,
    /// `added`, `removed`, `description`, `schema`, `order` or `instructions`.
    kind: &'static str,
    /// Empty where it is not about one tool.
    tool: String,
    text: String,
}

fn changes(when: &'static str, first: &ServerView, again: &ServerView) -> Vec<Change> {
    let mut found = Vec::new();
    let mut add =
        |kind, tool: &str, text: String| found.push(Change { when, kind, tool: tool.to_owned(), text });
    let find = |list: &[ToolInfo], name: &str| list.iter().find(|tool| tool.name == name).cloned();
    for tool in first.tools.iter() {
        let Some(other) = find(&again.tools, &tool.name) else {
            add("removed", &tool.name, "it is not listed any more".to_owned());
            continue;
        };
        if tool.description != other.description {
            add(
                "description",
                &tool.name,
                first_difference(tool.description.as_bytes(), other.description.as_bytes()),
            );
        }
        if tool.input_schema != other.input_schema {
            add("schema", &tool.name, first_difference(&tool.input_schema, &other.input_schema));
        }
    }
    for tool in again.tools.iter().filter(|tool| find(&first.tools, &tool.name).is_none()) {
        add("added", &tool.name, "it was not listed before".to_owned());
    }
    // What came or went is said above; the order of the others is what is left.
    let common = |one: &ServerView, other: &ServerView| -> Vec<String> {
        one.listed_order.iter().filter(|name| other.listed_order.contains(name)).cloned().collect()
    };
    let (before, after) = (common(first, again), common(again, first));
    if let Some(at) = before.iter().zip(&after).position(|(one, other)| one != other) {
        // INVARIANT: the position was found in both.
        add("order", "", format!("place {} was `{}` and is `{}`", at + 1, before[at], after[at]));
    }
    if first.instructions != again.instructions {
        let text = |view: &ServerView| view.instructions.clone().unwrap_or_default();
        add("instructions", "", first_difference(text(first).as_bytes(), text(again).as_bytes()));
    }
    found
}

/// Where two texts part, with what stands there.
fn first_difference(one: &[u8], other: &[u8]) -> String {
    let at = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    let from = at.saturating_sub(BEFORE);
    let excerpt = |text: &[u8]| {
        let shown: Vec<u8> = text.iter().skip(from).take(BEFORE + BEHIND).copied().collect();
        String::from_utf8_lossy(&shown).into_owned()
    };
    format!("byte {at}: `{}` became `{}`", excerpt(one), excerpt(other))
}

/// Bytes shown in front of a difference.
const BEFORE: usize = 20;

/// Bytes shown from it on.
const BEHIND: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_shown_with_what_is_around_it() {
        for (one, other, expect) in [
            ("abc", "abd", "byte 2: `abc` became `abd`"),
            ("a", "ab", "byte 1: `a` became `ab`"),
            (
                "12345678901234567890123x",
                "12345678901234567890123y",
                "byte 23: `45678901234567890123x` became `45678901234567890123y`",
            ),
        ] {
            assert_eq!(first_difference(one.as_bytes(), other.as_bytes()), expect);
        }
    }
}
