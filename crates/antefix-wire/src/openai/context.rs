//! How long a server says its context is. Each server has its own place for it (November 2026).

use crate::json::{Kind, Node};

/// Tokens of context that a list of models (`GET /models`) gives for `model`; the only entry counts for any name, as
/// servers of one model have it.
///
/// | member of an entry | server |
/// |---|---|
/// | `max_model_len` | vLLM, SGLang |
/// | `loaded_context_length`, `max_context_length` | LM Studio |
/// | `context_length`, `context_window` | OpenRouter, Groq |
/// | `meta.n_ctx`, `meta.n_ctx_train` | llama.cpp; the second is the model's own, which may be more |
///
/// ```
/// use antefix_wire::{json::Body, openai::listed_context};
/// let list = Body::parse(*br#"{"data":[{"id":"a","max_model_len":8192},{"id":"b","max_model_len":4096}]}"#)?;
/// assert_eq!(listed_context(list.root(), "b"), Some(4096));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn listed_context(list: Node<'_>, model: &str) -> Option<u64> {
    let entry = entry(list, model)?;
    MEMBERS.iter().find_map(|pointer| entry.pointer(pointer).and_then(Node::u64))
}

/// The ids of a list of models.
pub fn listed_models(list: Node<'_>) -> Vec<String> {
    let ids = list.get("data").into_iter().flat_map(Node::items).filter_map(|entry| entry.get("id"));
    ids.filter_map(|id| Some(id.str()?.into_owned())).collect()
}

/// Tokens of context of one slot of llama.cpp's server (`GET /props`).
pub fn props_context(props: Node<'_>) -> Option<u64> {
    props.pointer("/default_generation_settings/n_ctx").or_else(|| props.get("n_ctx"))?.u64()
}

/// Tokens of context that Ollama (`POST /api/show`) runs a model with: `num_ctx` among its parameters. `None` if it
/// has none; the server's own default then holds, which is less than the model could take.
pub fn shown_context(show: Node<'_>) -> Option<u64> {
    let parameters = show.get("parameters").filter(|text| text.kind() == Kind::String)?.str()?;
    parameters.lines().find_map(|line| line.trim().strip_prefix("num_ctx")?.trim().parse().ok())
}

fn entry<'a>(list: Node<'a>, model: &str) -> Option<Node<'a>> {
    let mut entries = list.get("data")?.items();
    let named = entries.clone().find(|entry| entry.get("id").is_some_and(|id| id.is_str(model)));
    named.or_else(|| entries.next().filter(|_| entries.next().is_none()))
}

/// The members of an entry, the one that the server really runs with first.
const MEMBERS: [&str; 7] = [
    "/max_model_len",
    "/loaded_context_length",
    "/meta/n_ctx",
    "/context_length",
    "/context_window",
    "/max_context_length",
    "/meta/n_ctx_train",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Body;

    fn read(text: &str, ask: impl Fn(Node<'_>) -> Option<u64>) -> Option<u64> {
        ask(Body::parse(text.as_bytes()).unwrap().root())
    }

    #[test]
    fn each_server_says_it_in_its_own_place() {
        for (list, expect) in [
            (r#"{"object":"list","data":[{"id":"m","max_model_len":32768}]}"#, Some(32_768)),
            (
                r#"{"data":[{"id":"m","loaded_context_length":4096,"max_context_length":131072}]}"#,
                Some(4_096),
            ),
            (r#"{"data":[{"id":"m","max_context_length":131072}]}"#, Some(131_072)),
            (r#"{"data":[{"id":"x","context_length":1},{"id":"m","context_length":262144}]}"#, Some(262_144)),
            (r#"{"data":[{"id":"m","meta":{"n_ctx_train":8192}}]}"#, Some(8_192)),
            (r#"{"data":[{"id":"m","meta":{"n_ctx_train":8192,"n_ctx":2048}}]}"#, Some(2_048)),
            // A server of one model answers to any name.
            (r#"{"data":[{"id":"/models/a.gguf","max_model_len":512}]}"#, Some(512)),
            (r#"{"data":[{"id":"x","max_model_len":1},{"id":"y","max_model_len":2}]}"#, None),
            (r#"{"data":[{"id":"m"}]}"#, None),
            (r#"{"data":[{"id":"m","max_model_len":"8192"}]}"#, None),
            (r#"{"error":"no"}"#, None),
        ] {
            assert_eq!(read(list, |list| listed_context(list, "m")), expect, "{list}");
        }
        for (props, expect) in [
            (r#"{"default_generation_settings":{"n_ctx":4096,"params":{}},"total_slots":1}"#, Some(4_096)),
            (r#"{"n_ctx":2048}"#, Some(2_048)),
            ("{}", None),
        ] {
            assert_eq!(read(props, props_context), expect, "{props}");
        }
        for (show, expect) in [
            (
                r#"{"parameters":"temperature 0.7\nnum_ctx                        16384","model_info":{"qwen3.context_length":40960}}"#,
                Some(16_384),
            ),
            (r#"{"parameters":"stop \"x\"","model_info":{"qwen3.context_length":40960}}"#, None),
            ("{}", None),
        ] {
            assert_eq!(read(show, shown_context), expect, "{show}");
        }
    }

    #[test]
    fn models_are_listed() {
        let body = Body::parse(*br#"{"data":[{"id":"a"},{"name":"b"},{"id":"c"}]}"#).unwrap();
        assert_eq!(listed_models(body.root()), ["a", "c"]);
    }
}
