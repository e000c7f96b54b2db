//! What is said when a conversation goes on from a summary.

use antefix_models::{Money, Tokens};
use antefix_session::edited::EditReport;
use antefix_session::record::{Forecast, Trigger};
use antefix_wire::anthropic::Cleared;

use crate::text::grouped;

/// What is about to be done, and at what price.
pub fn started(trigger: Trigger, forecast: &Forecast, window: Tokens) -> String {
    let why = match trigger {
        Trigger::Command => "compacting, as asked".to_owned(),
        Trigger::Share => format!(
            "compacting: the prompt is about {} of the {} tokens of the context window",
            grouped(forecast.before.0),
            grouped(window.0)
        ),
    };
    format!(
        "{why}. A summary is asked for ({}); the next prompt is about {} tokens ({}) instead of {} ({})",
        asked(forecast),
        grouped(forecast.after.0),
        price(forecast.with),
        grouped(forecast.before.0),
        price(forecast.without)
    )
}

/// What came of it.
pub fn ended(tokens: Tokens, failure: Option<&str>) -> String {
    let tokens = grouped(tokens.0);
    match failure {
        None => format!(
            "compacted: the conversation goes on from a summary, its prompt is about {tokens} tokens now"
        ),
        Some(why) => {
            format!("not compacted: {why}; the conversation goes on as it was, about {tokens} tokens long")
        }
    }
}

/// What the request for the summary costs, which hangs on how long a summary the model writes.
fn asked(forecast: &Forecast) -> String {
    match (forecast.asked, forecast.summary, forecast.length) {
        (Some(asked), Some(whole), Some(length)) => {
            format!("about {asked:.4} without its reply, {whole:.4} with one of {} tokens", grouped(length.0))
        }
        (_, whole, _) => price(whole),
    }
}

/// What the provider has done to the prompt by itself, as it was asked to.
pub fn edited(edit: &EditReport) -> String {
    let kind = edit.edit().kind().id();
    match edit {
        EditReport::Summarised { counts, cost, left } => {
            let left = left.map_or_else(String::new, |left| {
                format!("; the answer was given behind {} tokens", grouped(left.0))
            });
            format!(
                "{kind}: the provider summarised the conversation, of {} tokens with {} read from the cache, in {} tokens ({}){left}",
                grouped(counts.prompt().0),
                grouped(counts.read.0),
                grouped(counts.output.0),
                exactly(*cost)
            )
        }
        EditReport::Cleared { cleared, anew, cost } => {
            format!(
                "{kind}: the provider left out {} tokens{}; {} tokens of the prompt were not read from the cache ({})",
                grouped(cleared.tokens),
                parts(cleared),
                grouped(anew.0),
                exactly(*cost)
            )
        }
    }
}

/// What was cleared, in brackets, as far as that is said.
fn parts(cleared: &Cleared) -> String {
    let results = if cleared.tool_uses == 1 { "result" } else { "results" };
    let turns = if cleared.thinking_turns == 1 { "turn of thinking" } else { "turns of thinking" };
    let parts = [(cleared.tool_uses, results), (cleared.thinking_turns, turns)];
    let told = parts.iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = told.map(|(count, what)| format!("{} {what}", grouped(*count))).collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}

fn exactly(cost: Option<Money>) -> String {
    cost.map_or_else(|| "unpriced".to_owned(), |cost| format!("{cost:.4}"))
}

fn price(cost: Option<Money>) -> String {
    cost.map_or_else(|| "no price is known".to_owned(), |cost| format!("about {cost:.4}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_cleared_is_counted() {
        for (tool_uses, thinking_turns, expect) in [
            (1, 0, " (1 result)"),
            (1_200, 1, " (1,200 results, 1 turn of thinking)"),
            (0, 2, " (2 turns of thinking)"),
            (0, 0, ""),
        ] {
            assert_eq!(parts(&Cleared { tool_uses, thinking_turns, tokens: 9 }), expect);
        }
    }
}
