//! What is said when a conversation goes on from a summary.

use antefix_models::{Money, Tokens};
use antefix_session::record::{Forecast, Trigger};

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

fn price(cost: Option<Money>) -> String {
    cost.map_or_else(|| "no price is known".to_owned(), |cost| format!("about {cost:.4}"))
}
