//! The answer of OpenAI's Responses API, streamed or whole, for reading.
//!
//! Fields and events are those of the `openai` SDK's `response.py` and `response_stream_event.py` (November 2026).
//!
//! ```
//! use antefix_wire::{responses::StreamReader, sse::Parser};
//! let stream = b"data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":\"reasoning\"}}\n\n";
//! let (mut parser, mut reader) = (Parser::new(), StreamReader::new());
//! parser.push(stream)?.iter().for_each(|event| reader.event(event));
//! let answer = reader.finish();
//! assert_eq!(answer.items, [r#"{"type":"reasoning"}"#]);
//! assert_eq!(answer.status, None, "it was cut off before its end");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeMap;

use crate::json::{Body, Kind, Node};
use crate::sse::Event;

/// What was answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The response's id.
    pub id: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// `completed`, `incomplete` or `failed`; `None` if the stream was cut before it was told.
    pub status: Option<String>,
    /// The items of `output` in order, as raw JSON: what is sent back in the next request's `input`.
    pub items: Vec<String>,
    /// The usage object as raw JSON.
    pub usage: Option<String>,
    /// `prompt_cache_diagnostics` as raw JSON.
    pub diagnostics: Option<String>,
    /// The error, or why the response is incomplete, as raw JSON.
    pub error: Option<String>,
    /// Number of events that were no JSON objects.
    pub malformed: u64,
}

impl Answer {
    /// Reads a response that was not streamed.
    pub fn read(root: Node<'_>) -> Self {
        let mut answer = Self::default();
        answer.take(root, true);
        answer
    }

    /// Takes what a response object tells; only the last one tells the status.
    fn take(&mut self, response: Node<'_>, is_end: bool) {
        let text = |key: &str| response.get(key).and_then(Node::str).map(|text| text.into_owned());
        let raw = |key: &str| {
            response.get(key).filter(|value| !value.is_null()).map(|value| value.raw().to_owned())
        };
        self.id = text("id").or(self.id.take());
        self.model = text("model").or(self.model.take());
        self.usage = raw("usage").or(self.usage.take());
        self.diagnostics = raw("prompt_cache_diagnostics").or(self.diagnostics.take());
        self.error = raw("error").or_else(|| raw("incomplete_details")).or(self.error.take());
        if is_end {
            self.status = text("status");
            self.items = response
                .get("output")
                .into_iter()
                .flat_map(Node::items)
                .map(|item| item.raw().to_owned())
                .collect();
        }
    }
}

/// Takes the events of one streamed response.
#[derive(Clone, Debug, Default)]
pub struct StreamReader {
    answer: Answer,
    /// The items that are done, by their place in the output.
    done: BTreeMap<u64, String>,
}

impl StreamReader {
    /// Makes a reader for one response.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes one event. What is no JSON object is counted and left out, but for the `[DONE]` of some servers.
    pub fn event(&mut self, event: &Event) {
        if event.data.trim() == "[DONE]" {
            return;
        }
        let Some(body) =
            Body::parse(event.data.as_bytes()).ok().filter(|body| body.root().kind() == Kind::Object)
        else {
            self.answer.malformed += 1;
            return;
        };
        let root = body.root();
        let name = root.get("type").and_then(Node::str).unwrap_or_else(|| event.name.as_str().into());
        match &*name {
            "response.output_item.done" => {
                let at = root.get("output_index").and_then(Node::u64).unwrap_or(self.done.len() as u64);
                self.done.extend(root.get("item").map(|item| (at, item.raw().to_owned())));
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                root.get("response").into_iter().for_each(|response| self.answer.take(response, true));
            }
            "error" => {
                let error = root.get("error").filter(|error| error.kind() == Kind::Object);
                self.answer.error = Some(error.unwrap_or(root).raw().to_owned());
            }
            _ => root.get("response").into_iter().for_each(|response| self.answer.take(response, false)),
        }
    }

    /// The answer as far as it came: of a response that was cut, the items that were done.
    pub fn finish(self) -> Answer {
        let mut answer = self.answer;
        if answer.items.is_empty() {
            answer.items = self.done.into_values().collect();
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sse::Parser;

    const EVENTS: [&str; 5] = [
        r#"{"type":"response.created","response":{"id":"resp_1","model":"gpt-5.6-sol","status":"in_progress","usage":null}}"#,
        r#"{"type":"response.output_text.delta","delta":"It"}"#,
        r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","arguments":"{\"b\":1}"}}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","encrypted_content":"x"}}"#,
        r#"{"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[{"type":"reasoning","encrypted_content":"x"},{"type":"function_call","arguments":"{\"b\":1}"}],"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":3},"prompt_cache_diagnostics":{"type":"cache_hit"}}}"#,
    ];

    fn read(stream: &str, cut: usize) -> Answer {
        let (mut parser, mut reader) = (Parser::new(), StreamReader::new());
        for piece in [&stream.as_bytes()[..cut], &stream.as_bytes()[cut..]] {
            parser.push(piece).unwrap().iter().for_each(|event| reader.event(event));
        }
        reader.finish()
    }

    fn stream(events: &[&str]) -> String {
        events.iter().flat_map(|event| ["event: x\ndata: ", event, "\n\n"]).collect()
    }

    #[test]
    fn events_come_together_wherever_they_are_cut() {
        let whole = stream(&EVENTS);
        let answer = Answer {
            id: Some("resp_1".into()),
            model: Some("gpt-5.6-sol".into()),
            status: Some("completed".into()),
            items: vec![
                r#"{"type":"reasoning","encrypted_content":"x"}"#.into(),
                r#"{"type":"function_call","arguments":"{\"b\":1}"}"#.into(),
            ],
            usage: Some(
                r#"{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":3}"#.into(),
            ),
            diagnostics: Some(r#"{"type":"cache_hit"}"#.into()),
            error: None,
            malformed: 0,
        };
        for cut in 0..whole.len() {
            assert_eq!(read(&whole, cut), answer, "cut at {cut}");
        }
    }

    #[test]
    fn of_a_stream_that_was_cut_the_items_that_were_done_are_kept() {
        let answer = read(&stream(&EVENTS[..4]), 0);
        assert_eq!((answer.status, answer.items.len(), answer.usage), (None, 2, None));
        let failed = stream(&["[oops", r#"{"type":"error","error":{"code":"server_error"}}"#, "[DONE]"]);
        let answer = read(&failed, 0);
        assert_eq!((answer.error.as_deref(), answer.malformed), (Some(r#"{"code":"server_error"}"#), 1));
    }
}
