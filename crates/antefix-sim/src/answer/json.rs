//! The JSON of messages, usage and errors, written by hand so that its bytes are known.

use antefix_wire::json::{Body, Kind, write_string};

use crate::binding::seal;
use crate::cache::Outcome;
use crate::error::ApiError;
use crate::request::Message;

use super::{Answer, Content, Part, Usage};

/// A text as a JSON string.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len() + 2);
    write_string(&mut out, text);
    String::from_utf8(out).unwrap_or_default()
}

/// The body of an error response, and the data of an `error` event.
pub(crate) fn error_body(error: &ApiError, request_id: &str) -> String {
    let code = error.code.as_deref().map(|code| format!(r#","code":{}"#, quoted(code))).unwrap_or_default();
    format!(
        r#"{{"type":"error","error":{{"type":{},"message":{}{code}}},"request_id":{}}}"#,
        quoted(&error.kind),
        quoted(&error.message),
        quoted(request_id)
    )
}

/// The body of a response that is not streamed.
pub(crate) fn message_body(answer: &Answer) -> String {
    let content: Vec<String> = answer.content.iter().map(Content::finished).collect();
    let sequence = answer.stop_sequence.as_deref().map_or("null".to_owned(), quoted);
    format!(
        r#"{},"content":[{}],"stop_reason":{},"stop_sequence":{sequence},"usage":{}{}{}}}"#,
        answer.head(),
        content.join(","),
        quoted(&answer.stop_reason),
        answer.usage.finished(),
        answer.management(),
        answer.tail()
    )
}

/// The answer as it will come back in the history.
pub(crate) fn as_message(content: &[Content]) -> Result<Message, ApiError> {
    let content: Vec<String> = content.iter().map(Content::finished).collect();
    let text = format!(r#"{{"role":"assistant","content":[{}]}}"#, content.join(","));
    let body = Body::parse(text).map_err(|error| ApiError::new(500, "api_error", error.to_string()))?;
    Message::read(body.root(), 0, &[])
}

impl Answer {
    pub(super) fn head(&self) -> String {
        let (model, id) = (quoted(&self.model), quoted(&self.id));
        format!(r#"{{"model":{model},"id":{id},"type":"message","role":"assistant""#)
    }

    /// What was left out of the prompt, where the request asked for that.
    pub(super) fn management(&self) -> String {
        let applied = self.applied.as_ref();
        applied
            .map_or_else(String::new, |all| format!(r#","context_management":{{"applied_edits":[{all}]}}"#))
    }

    /// Members that only some answers have.
    pub(super) fn tail(&self) -> String {
        let mut tail = String::new();
        if let Some(diagnostics) = &self.diagnostics {
            tail.push_str(&format!(r#","diagnostics":{diagnostics}"#));
        }
        if !self.dropped.is_empty() {
            let items = self.dropped.iter().map(|dropped| {
                let (path, reason) = (quoted(&dropped.path), quoted(dropped.reason));
                format!(r#"{{"type":"thinking_dropped","path":{path},"reason":{reason}}}"#)
            });
            tail.push_str(&format!(r#","input_transformations":[{}]"#, items.collect::<Vec<_>>().join(",")));
        }
        tail
    }
}

impl Content {
    /// The block as it stands in a finished message. The input of a call that was cut is not JSON: it becomes
    /// `{}`.
    fn finished(&self) -> String {
        match &self.part {
            Part::Text(text) => format!(r#"{{"type":"text","text":{}}}"#, quoted(text)),
            Part::Thinking { text, signature } => {
                let (text, signature) = (quoted(text), quoted(signature));
                format!(r#"{{"type":"thinking","thinking":{text},"signature":{signature}}}"#)
            }
            Part::ToolUse { input, .. } | Part::ServerToolUse { input, .. } => {
                let whole = Body::parse(input.as_str()).is_ok_and(|body| body.root().kind() == Kind::Object);
                self.opening_with(if whole { input } else { "{}" })
            }
            Part::Compaction(text) => {
                let (seal, text) = (quoted(&seal(text)), quoted(text));
                format!(r#"{{"type":"compaction","content":{text},"encrypted_content":{seal}}}"#)
            }
            Part::Redacted(_) | Part::ServerResult { .. } => self.opening(),
        }
    }

    /// The block as it stands in `content_block_start`.
    pub(super) fn opening(&self) -> String {
        self.opening_with("{}")
    }

    fn opening_with(&self, tool_input: &str) -> String {
        match &self.part {
            Part::Text(_) => r#"{"type":"text","text":""}"#.to_owned(),
            Part::Thinking { .. } => r#"{"type":"thinking","thinking":"","signature":""}"#.to_owned(),
            Part::Compaction(_) => r#"{"type":"compaction","content":null}"#.to_owned(),
            Part::Redacted(data) => format!(r#"{{"type":"redacted_thinking","data":{}}}"#, quoted(data)),
            Part::ToolUse { id, name, .. } => call("tool_use", id, name, tool_input),
            Part::ServerToolUse { id, name, .. } => call("server_tool_use", id, name, tool_input),
            Part::ServerResult { id, name, content } => {
                let name = if name.starts_with("tool_search_tool") { "tool_search" } else { name };
                let (kind, id) = (quoted(&format!("{name}_tool_result")), quoted(id));
                format!(r#"{{"type":{kind},"tool_use_id":{id},"content":{content}}}"#)
            }
        }
    }
}

fn call(kind: &str, id: &str, name: &str, input: &str) -> String {
    let (id, name) = (quoted(id), quoted(name));
    format!(r#"{{"type":"{kind}","id":{id},"name":{name},"input":{input}}}"#)
}

impl Usage {
    /// The usage of a finished message, with the split by TTL.
    fn finished(&self) -> String {
        self.full(&self.total, self.output, true)
    }

    /// The usage of `message_start`: everything about the input, next to nothing about the output.
    pub(super) fn started(&self) -> String {
        self.full(&self.start, self.output.min(1), false)
    }

    /// The cumulative usage of `message_delta`, which has no split by TTL.
    pub(super) fn delta(&self) -> String {
        let (paid, output) = (&self.total, self.output);
        let written = paid.write_5m + paid.write_1h;
        format!(
            "{{\"input_tokens\":{},\"cache_creation_input_tokens\":{written},\"cache_read_input_tokens\":{},\
             \"output_tokens\":{output}{}}}",
            paid.uncached,
            paid.read,
            self.details()
        )
    }

    fn full(&self, paid: &Outcome, output: u64, details: bool) -> String {
        let details = if details { self.details() } else { String::new() };
        let speed = match self.speed.as_str() {
            "" => String::new(),
            speed => format!(r#","speed":{}"#, quoted(speed)),
        };
        format!(
            "{{\"input_tokens\":{},\"cache_creation_input_tokens\":{},\"cache_read_input_tokens\":{},\
             \"cache_creation\":{{\"ephemeral_5m_input_tokens\":{},\"ephemeral_1h_input_tokens\":{}}},\
             \"output_tokens\":{output},\"service_tier\":\"standard\"{speed}{details}}}",
            paid.uncached,
            paid.write_5m + paid.write_1h,
            paid.read,
            paid.write_5m,
            paid.write_1h
        )
    }

    fn details(&self) -> String {
        let mut details = String::new();
        if self.thinking > 0 {
            details.push_str(&format!(r#","output_tokens_details":{{"thinking_tokens":{}}}"#, self.thinking));
        }
        if self.searches + self.fetches > 0 {
            let (searches, fetches) = (self.searches, self.fetches);
            details.push_str(&format!(
                r#","server_tool_use":{{"web_search_requests":{searches},"web_fetch_requests":{fetches}}}"#
            ));
        }
        if let Some((paid, output)) = &self.summary {
            let mut iterations = vec![iteration("compaction", paid, *output)];
            if !self.is_summary_only {
                iterations.push(iteration("message", &self.total, self.output));
            }
            details.push_str(&format!(r#","iterations":[{}]"#, iterations.join(",")));
        }
        details
    }
}

fn iteration(kind: &str, paid: &Outcome, output: u64) -> String {
    let (short, long) = (paid.write_5m, paid.write_1h);
    format!(
        "{{\"type\":\"{kind}\",\"input_tokens\":{},\"cache_creation_input_tokens\":{},\
         \"cache_read_input_tokens\":{},\"cache_creation\":{{\"ephemeral_5m_input_tokens\":{short},\
         \"ephemeral_1h_input_tokens\":{long}}},\"output_tokens\":{output}}}",
        paid.uncached,
        short + long,
        paid.read
    )
}
