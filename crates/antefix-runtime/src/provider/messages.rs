//! The Messages API.

use antefix_http::client::{Outgoing, Secret};
use antefix_session::record::TooLong;
use antefix_wire::json::{Body, Node};

use super::{Credential, Refusal};

pub(super) const PATH: &str = "/v1/messages";

/// Version of the Messages API, as sent with each request.
pub(super) const API_VERSION: &str = "2023-06-01";

/// Quota headers begin so.
pub(super) const QUOTA: &str = "anthropic-ratelimit-";

pub(super) fn authenticated(outgoing: Outgoing, credential: &Credential) -> Outgoing {
    match credential {
        Credential::ApiKey(key) => outgoing.secret("x-api-key", key.clone()),
        Credential::Bearer(token) => {
            outgoing.secret("authorization", Secret::new(format!("Bearer {}", token.expose())))
        }
        Credential::None => outgoing,
    }
}

pub(super) fn headers(betas: &[String]) -> Vec<(String, String)> {
    let mut headers = vec![("anthropic-version".to_owned(), API_VERSION.to_owned())];
    if !betas.is_empty() {
        headers.push(("anthropic-beta".to_owned(), betas.join(",")));
    }
    headers
}

/// What an error's body says: `{"type":"error","error":{"type":…,"message":…}}`.
pub(super) fn refusal(body: &Body) -> Refusal {
    let text = |pointer: &str| Some(body.root().pointer(pointer).and_then(Node::str)?.into_owned());
    let message = text("/error/message");
    let too_long = message.as_deref().and_then(too_long);
    Refusal { kind: text("/error/type"), message, too_long }
}

/// The figures in `prompt is too long: 203456 tokens > 200000 maximum` and in ``input length and `max_tokens` exceed
/// context limit: 199210 + 8192 > 200000``.
///
/// Source: what the API answers (November 2026).
fn too_long(message: &str) -> Option<TooLong> {
    let figures = ["prompt is too long:", "exceed context limit:"]
        .iter()
        .find_map(|words| Some(message.split_once(words)?.1))?;
    let (prompt, window) = figures.split_once('>')?;
    let window = number(window)?;
    Some(TooLong { window, tokens: number(prompt) })
}

/// The number that a text begins with.
pub(super) fn number(text: &str) -> Option<u64> {
    let text = text.trim_start();
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    text.get(..end)?.parse().ok()
}

/// What a person can do about a refusal that comes again however often the request is made.
///
/// The statuses are those of <https://platform.claude.com/docs/en/api/errors> (November 2026).
pub(super) fn hint(status: u16, message: &str) -> Option<&'static str> {
    Some(match status {
        400 if message.contains("prompt is too long") => {
            "the conversation no longer fits; go on from a summary with `--continue --compact`, go back with `--rewind TURN`, or begin a new session"
        }
        401 => {
            "check the key: ANTHROPIC_API_KEY, else ANTHROPIC_AUTH_TOKEN, else what ANTEFIX_API_KEY_HELPER prints"
        }
        402 => "check the account's credit and billing",
        403 => "check what the key's workspace may use",
        404 => {
            "check the model's name and ANTHROPIC_BASE_URL; a session keeps its model until `--model NAME` says another"
        }
        413 => "leave attachments and long texts out, or begin a new session",
        300..400 => "the base URL leads elsewhere; set ANTHROPIC_BASE_URL to the address itself",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_that_is_too_long_tells_of_the_window() {
        for (message, expect) in [
            ("prompt is too long: 203456 tokens > 200000 maximum", Some((200_000, Some(203_456)))),
            (
                "input length and `max_tokens` exceed context limit: 199210 + 8192 > 200000, decrease input length",
                Some((200_000, Some(199_210))),
            ),
            ("prompt is too long", None),
            ("prompt is too long: many > few", None),
            ("messages: at least one message is required", None),
        ] {
            let found = too_long(message).map(|found| (found.window, found.tokens));
            assert_eq!(found, expect, "{message}");
        }
    }
}
