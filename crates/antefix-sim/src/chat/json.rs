//! The JSON of completions, models and errors, written by hand so that its bytes are known.

use antefix_wire::json::{Kind, Node};

use crate::answer::quoted;
use crate::config::{ChatConfig, Engine, ErrorShape};
use crate::error::ApiError;
use crate::script::Lacks;

use super::answer::{ChatUsage, Completion, Said};

/// A value without insignificant white space and with each string escaped in the one way of [`quoted`]; the
/// order of keys and the text of numbers stay as sent. So templates write what they were given as JSON.
pub(crate) fn compact(node: Node<'_>) -> String {
    let list = |items: Vec<String>, open: char, close: char| format!("{open}{}{close}", items.join(","));
    match node.kind() {
        Kind::Object => {
            let members = node.members().map(|(key, value)| format!("{}:{}", compact(key), compact(value)));
            list(members.collect(), '{', '}')
        }
        Kind::Array => list(node.items().map(compact).collect(), '[', ']'),
        Kind::String => quoted(&node.str().unwrap_or_default()),
        Kind::Null | Kind::Bool | Kind::Number => node.raw().to_owned(),
    }
}

/// The body of an error response.
pub(crate) fn error_body(error: &ApiError, shape: ErrorShape) -> String {
    let message = quoted(&error.message);
    let kind = quoted(own_kind(error, shape));
    let status = error.status;
    match shape {
        ErrorShape::OpenAi => {
            let code = error.code.as_deref().map_or("null".to_owned(), quoted);
            format!(r#"{{"error":{{"message":{message},"type":{kind},"param":null,"code":{code}}}}}"#)
        }
        ErrorShape::Vllm if status == 401 => r#"{"error":"Unauthorized"}"#.to_owned(),
        ErrorShape::Vllm => {
            format!(r#"{{"error":{{"message":{message},"type":{kind},"param":null,"code":{status}}}}}"#)
        }
        ErrorShape::LlamaCpp => {
            format!(r#"{{"error":{{"code":{status},"message":{message},"type":{kind}}}}}"#)
        }
    }
}

/// The type of an error as the server names it; what a script names stays.
fn own_kind(error: &ApiError, shape: ErrorShape) -> &str {
    if error.kind != "invalid_request_error" {
        return &error.kind;
    }
    match (shape, error.status, error.code.as_deref()) {
        (ErrorShape::Vllm, 404, _) => "NotFoundError",
        (ErrorShape::Vllm, _, _) => "BadRequestError",
        (ErrorShape::LlamaCpp, 401, _) => "authentication_error",
        (ErrorShape::LlamaCpp, 404, _) => "not_found_error",
        (ErrorShape::LlamaCpp, _, Some("context_length_exceeded")) => "exceed_context_size_error",
        _ => &error.kind,
    }
}

/// The body of a response that is not streamed.
pub(crate) fn completion_body(completion: &Completion, chat: &ChatConfig, lacks: Lacks) -> String {
    let mut text = None::<String>;
    let (mut reasoning, mut calls) = (String::new(), Vec::new());
    for said in &completion.said {
        match said {
            Said::Reasoning(part) => reasoning.push_str(part),
            Said::Text(part) => text.get_or_insert_default().push_str(part),
            Said::Call { id, name, arguments } => calls.push(call(id, name, arguments)),
        }
    }
    let mut message =
        format!(r#""role":"assistant","content":{}"#, text.as_deref().map_or("null".to_owned(), quoted));
    if !reasoning.is_empty() {
        message.push_str(&format!(",{}:{}", quoted(&chat.reasoning_field), quoted(&reasoning)));
    }
    if !calls.is_empty() {
        message.push_str(&format!(r#","tool_calls":[{}]"#, calls.join(",")));
    }
    let finish = if lacks.finish { "null".to_owned() } else { quoted(completion.finish) };
    let choice = format!(r#"{{"index":0,"message":{{{message}}},"logprobs":null,"finish_reason":{finish}}}"#);
    let choices = if lacks.choices { String::new() } else { choice };
    let tail = if lacks.usage { String::new() } else { completion.tail(chat) };
    format!(r#"{}"choices":[{choices}]{tail}}}"#, completion.head("chat.completion"))
}

impl Completion {
    /// What every body and every chunk begins with.
    pub(super) fn head(&self, object: &str) -> String {
        let (id, model) = (quoted(&self.id), quoted(&self.model));
        format!(r#"{{"id":{id},"object":"{object}","created":{},"model":{model},"#, self.created)
    }

    /// Usage and timings.
    pub(super) fn tail(&self, chat: &ChatConfig) -> String {
        format!(r#","usage":{}{}"#, self.usage.json(chat.report_cached), self.timings(chat))
    }

    /// What llama.cpp tells of its own accord, in the last chunk.
    pub(super) fn timings(&self, chat: &ChatConfig) -> String {
        match chat.engine {
            Engine::Slots(_) => self.usage.timings(),
            Engine::Blocks(_) => String::new(),
        }
    }
}

impl ChatUsage {
    fn json(&self, report_cached: bool) -> String {
        let Self { prompt, cached, output, reasoning } = *self;
        let mut details = String::new();
        if report_cached {
            details.push_str(&format!(r#","prompt_tokens_details":{{"cached_tokens":{cached}}}"#));
        }
        if reasoning > 0 {
            details.push_str(&format!(r#","completion_tokens_details":{{"reasoning_tokens":{reasoning}}}"#));
        }
        let total = prompt.saturating_add(output);
        format!(
            r#"{{"prompt_tokens":{prompt},"completion_tokens":{output},"total_tokens":{total}{details}}}"#
        )
    }

    fn timings(&self) -> String {
        let (cached, new) = (self.cached, self.prompt - self.cached);
        format!(r#","timings":{{"cache_n":{cached},"prompt_n":{new},"predicted_n":{}}}"#, self.output)
    }
}

/// The body of `GET /v1/models`.
pub(crate) fn models(chat: &ChatConfig) -> String {
    let models: Vec<String> = chat.models.iter().map(|id| entry(id, chat)).collect();
    format!(r#"{{"object":"list","data":[{}]}}"#, models.join(","))
}

/// The body of `GET /v1/models/{id}`.
pub(crate) fn model(id: &str, chat: &ChatConfig) -> Option<String> {
    chat.models.iter().find(|model| *model == id).map(|id| entry(id, chat))
}

/// The refusal of an unknown model.
pub(crate) fn unknown_model(id: &str) -> ApiError {
    let error = ApiError::new(404, "invalid_request_error", format!("the model '{id}' does not exist"));
    ApiError { code: Some("model_not_found".to_owned()), ..error }
}

/// How long a prompt may be is told by each kind of server in its own way.
fn entry(id: &str, chat: &ChatConfig) -> String {
    let (context, id) = (chat.context(), quoted(id));
    let own = match chat.engine {
        Engine::Slots(_) => format!(r#""owned_by":"llamacpp","meta":{{"n_ctx_train":{context}}}"#),
        Engine::Blocks(_) if chat.key_required => r#""owned_by":"antefix-sim""#.to_owned(),
        Engine::Blocks(_) => format!(r#""owned_by":"vllm","root":{id},"max_model_len":{context}"#),
    };
    format!(r#"{{"id":{id},"object":"model","created":0,{own}}}"#)
}

/// The body of llama.cpp's `GET /props`.
pub(crate) fn props(chat: &ChatConfig) -> String {
    let slots = match &chat.engine {
        Engine::Slots(rules) => rules.count,
        Engine::Blocks(_) => 1,
    };
    let context = chat.context();
    let model = quoted(chat.models.first().map(String::as_str).unwrap_or_default());
    format!(
        "{{\"default_generation_settings\":{{\"n_ctx\":{context}}},\"total_slots\":{slots},\"model_alias\":{model},\
         \"model_path\":{model},\"chat_template\":\"antefix-sim {}\",\"modalities\":{{\"vision\":true,\"audio\":false}}}}",
        chat.template.name()
    )
}

/// The body of `GET /health`.
pub(crate) fn health() -> String {
    r#"{"status":"ok"}"#.to_owned()
}

fn call(id: &str, name: &str, arguments: &str) -> String {
    let (id, name, arguments) = (quoted(id), quoted(name), quoted(arguments));
    format!(r#"{{"id":{id},"type":"function","function":{{"name":{name},"arguments":{arguments}}}}}"#)
}
