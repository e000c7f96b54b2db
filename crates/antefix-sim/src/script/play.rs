//! Filling in what a reply refers to, and the built-in reply that lets people play.

use antefix_wire::json::Body;

use crate::answer::quoted;

use super::{Conversation, Reply, Say, Seen};

impl Reply {
    /// The reply with its references filled in; the built-in one is composed here.
    pub(super) fn played(&self, conversation: &Conversation<'_>, seen: &Seen<'_>) -> Self {
        let mut reply = self.clone();
        if reply.play {
            reply.says = play(conversation, seen);
        }
        for say in &mut reply.says {
            match say {
                Say::Text(text) | Say::Think(text) => {
                    *text = fill(text, conversation, false);
                }
                Say::Tool { input, .. } | Say::Server { input, .. } => {
                    *input = fill(input, conversation, true);
                }
                Say::Redacted(_) => {}
            }
        }
        reply
    }
}

/// Replaces `{{last_text}}`, `{{said}}`, `{{results}}` and `{{turn}}`; inside JSON the text is escaped so
/// that it can stand in a string.
fn fill(template: &str, conversation: &Conversation<'_>, json: bool) -> String {
    if !template.contains("{{") {
        return template.to_owned();
    }
    let quote = |text: &str| {
        if !json {
            return text.to_owned();
        }
        let quoted = quoted(text);
        quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
    };
    template
        .replace("{{last_text}}", &quote(conversation.last_texts.last().copied().unwrap_or_default()))
        .replace("{{said}}", &quote(&conversation.said))
        .replace("{{results}}", &quote(&result_texts(conversation)))
        .replace("{{turn}}", &conversation.turns.to_string())
}

/// Calls the tools the user asked for, reports what they returned, or says what this is.
fn play(conversation: &Conversation<'_>, seen: &Seen<'_>) -> Vec<Say> {
    if !conversation.last_results.is_empty() {
        return vec![Say::Text(report(conversation))];
    }
    let mut says = Vec::new();
    for (name, input) in conversation.last_texts.iter().flat_map(|text| text.lines()).filter_map(order) {
        if seen.tools.contains(&name) {
            says.push(Say::Tool { name: name.to_owned(), input: input.to_owned() });
        } else {
            says.push(Say::Text(format!("There is no tool named `{name}` in this request.")));
        }
    }
    if says.is_empty() {
        says.push(Say::Text(introduction(conversation, seen)));
    }
    says
}

/// `use TOOL {json}`.
fn order(line: &str) -> Option<(&str, &str)> {
    let (name, input) = line.trim().strip_prefix("use ")?.trim_start().split_once(char::is_whitespace)?;
    let input = input.trim();
    (input.starts_with('{') && Body::parse(input).is_ok()).then_some((name, input))
}

fn report(conversation: &Conversation<'_>) -> String {
    let mut text = String::new();
    for result in &conversation.last_results {
        let start: String = result.text.chars().take(200).collect();
        let verb = if result.is_error { "failed" } else { "returned" };
        text.push_str(&format!("`{}` {verb} {} bytes: {start}\n", result.tool, result.text.len()));
    }
    text.push_str("(antefix-sim, a simulator: this text is made by a script.)");
    text
}

fn introduction(conversation: &Conversation<'_>, seen: &Seen<'_>) -> String {
    let start: String = conversation.said.chars().take(80).collect();
    let (messages, tools) = (seen.sent, seen.tools.len());
    let mut text = format!(
        "This is antefix-sim, a simulator: no model reads your text. I got {messages} messages and {tools} tools; \
         your last words begin with \"{}\".",
        start.trim()
    );
    if tools > 0 {
        text.push_str(" Write `use TOOL {json}` on a line of its own and I will call that tool.");
    }
    text
}

fn result_texts(conversation: &Conversation<'_>) -> String {
    let texts: Vec<&str> = conversation.last_results.iter().map(|result| result.text).collect();
    texts.join("\n")
}
