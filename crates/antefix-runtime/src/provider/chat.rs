//! Chat Completions.

use antefix_http::client::{Outgoing, Secret};
use antefix_session::record::TooLong;
use antefix_wire::json::{Body, Kind, Node};

use super::messages::number;
use super::{Credential, Refusal};

/// Behind the base URL, which ends in the API's version: `https://…/v1`.
pub(super) const PATH: &str = "/chat/completions";

/// Quota headers begin so.
pub(super) const QUOTA: &str = "x-ratelimit-";

pub(super) fn authenticated(outgoing: Outgoing, credential: &Credential) -> Outgoing {
    match credential {
        Credential::ApiKey(key) | Credential::Bearer(key) => {
            outgoing.secret("authorization", Secret::new(format!("Bearer {}", key.expose())))
        }
        Credential::None => outgoing,
    }
}

/// What an error's body says. Servers of November 2026 write `{"error":{"message":…,"type":…,"code":…}}` (OpenAI,
/// llama.cpp, vLLM), `{"error":"…"}` (Ollama), `{"message":…,"type":…}` (older vLLM) or `{"detail":"…"}` (servers made
/// with FastAPI).
pub(super) fn refusal(body: &Body) -> Refusal {
    let root = body.root();
    let error = root.get("error").filter(|error| error.kind() == Kind::Object).unwrap_or(root);
    let text = |node: Option<Node<'_>>| {
        node.and_then(Node::str).filter(|text| !text.is_empty()).map(|text| text.into_owned())
    };
    let message = ["message", "error", "detail"].iter().find_map(|name| text(error.get(name)));
    let too_long = too_long(error, message.as_deref().unwrap_or_default());
    Refusal { kind: text(error.get("code")).or_else(|| text(error.get("type"))), message, too_long }
}

/// What a server says of a prompt that is longer than its context: in members of the error (llama.cpp) or in words.
///
/// Source: the answers of llama.cpp, vLLM and OpenAI (November 2026).
fn too_long(error: Node<'_>, message: &str) -> Option<TooLong> {
    let member = |name: &str| error.get(name).and_then(Node::u64);
    let behind = |words: &[&str]| words.iter().find_map(|words| number(message.split_once(words)?.1));
    let window = member("n_ctx").or_else(|| {
        behind(&["maximum context length is ", "context size (", "context window is ", "context length of "])
    })?;
    let tokens = member("n_prompt_tokens").or_else(|| {
        // Of what was asked for, the reply's room is a part.
        let in_messages = message.split_once(" in the messages")?.0;
        number(in_messages.rsplit(|letter: char| !letter.is_ascii_digit()).next()?)
    });
    let words = ["resulted in ", "request has ", "prompt has ", "request (", "prompt contains "];
    Some(TooLong { window, tokens: tokens.or_else(|| behind(&words)) })
}

/// What a person can do about a refusal that comes again however often the request is made. Servers name the same
/// thing in many ways, so that the words decide where the status does not.
pub(super) fn hint(status: u16, message: &str) -> Option<&'static str> {
    let message = message.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| message.contains(word));
    Some(match status {
        400 | 413 | 500 if says(&["context length", "context size", "context window", "context_length"]) => {
            "the conversation no longer fits the model's context; go on from a summary with `--continue --compact`, go back with `--rewind TURN`, or begin a new session; a server of your own may take a larger context size"
        }
        400..=599 if message.contains("tool") && says(&["support", "--jinja", "enable-auto-tool-choice"]) => {
            "this model or its server takes no tools: choose a model that does, or start the server with tools (llama.cpp: --jinja; vLLM: --enable-auto-tool-choice), or offer none: name each tool in `--deny`"
        }
        401 | 403 => "check the key: it is read from the variable that `--api-key-env` names",
        402 => "check the account's credit and billing",
        400 | 404 if says(&["model"]) => {
            "check the model's name; a session keeps its model until `--model NAME` says another"
        }
        404 => "check the base URL: for most servers it ends in `/v1`",
        413 => "leave attachments and long texts out, or begin a new session",
        300..400 => "the base URL leads elsewhere; give the address itself with `--base-url`",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_server_has_its_own_way_to_refuse() {
        let cases = [
            (r#"{"error":{"message":"no","type":"t","code":"c"}}"#, Some("c"), Some("no")),
            (r#"{"error":{"message":"no","type":"t","code":null}}"#, Some("t"), Some("no")),
            (r#"{"error":{"message":"no","code":400}}"#, None, Some("no")),
            (r#"{"error":"model 'x' not found"}"#, None, Some("model 'x' not found")),
            (r#"{"object":"error","message":"no","type":"t"}"#, Some("t"), Some("no")),
            (r#"{"detail":"Not Found"}"#, None, Some("Not Found")),
            ("[]", None, None),
        ];
        for (body, kind, message) in cases {
            let found = refusal(&Body::parse(body.as_bytes()).unwrap());
            let (kind, message) = (kind.map(str::to_owned), message.map(str::to_owned));
            let expect = Refusal { kind, message, too_long: None };
            assert_eq!(found, expect, "{body}");
        }
    }

    #[test]
    fn a_prompt_that_is_too_long_tells_of_the_context() {
        for (error, expect) in [
            (
                r#"{"message":"the request exceeds the available context size, try increasing it","n_prompt_tokens":5000,"n_ctx":4096}"#,
                Some((4096, Some(5000))),
            ),
            (
                r#"{"message":"request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it"}"#,
                Some((4096, Some(5000))),
            ),
            (
                r#"{"message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion)."}"#,
                Some((4096, Some(4000))),
            ),
            (
                r#"{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."}"#,
                Some((8192, Some(9000))),
            ),
            (
                r#"{"message":"This model's maximum context length is 8192 tokens. However, your request has 9000 input tokens."}"#,
                Some((8192, Some(9000))),
            ),
            (r#"{"message":"This model's maximum context length is 8192 tokens."}"#, Some((8192, None))),
            (r#"{"message":"the context is full"}"#, None),
        ] {
            let body = Body::parse(format!(r#"{{"error":{error}}}"#)).unwrap();
            let found = refusal(&body).too_long.map(|found| (found.window, found.tokens));
            assert_eq!(found, expect, "{error}");
        }
    }

    /// The words of llama.cpp, vLLM, Ollama, OpenAI and LM Studio, each with the start of what is said.
    #[test]
    fn the_words_of_servers_are_understood() {
        let cases = [
            (
                400,
                "the request exceeds the available context size (4096 tokens), try increasing it",
                Some("the conversation"),
            ),
            (400, "This model's maximum context length is 8192 tokens.", Some("the conversation")),
            (400, "registry.ollama.ai/library/gemma:2b does not support tools", Some("this model or its")),
            (500, "tools param requires --jinja flag", Some("this model or its")),
            (
                400,
                "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
                Some("this model or its"),
            ),
            (404, "The model `x` does not exist.", Some("check the model's")),
            (404, "Not Found", Some("check the base URL")),
            (401, "Incorrect API key provided", Some("check the key")),
            (400, "messages.1: bad", None),
            (500, "oops", None),
        ];
        for (status, message, expect) in cases {
            let found = hint(status, message);
            assert!(
                found
                    .zip(expect)
                    .map_or(found.is_none() && expect.is_none(), |(found, start)| found.starts_with(start)),
                "{message}: {found:?}"
            );
        }
    }
}
