//! A completion as server-sent events.

use crate::answer::{cut_oddly, quoted};
use crate::config::ChatConfig;
use crate::script::Lacks;

use super::answer::{Completion, Said};

/// One piece of a stream with what it costs to produce.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChatChunk {
    pub text: String,
    /// Output tokens generated when it is sent, from the start.
    pub tokens: u64,
}

/// How a stream is to be cut and what it is to lack.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shape {
    pub include_usage: bool,
    pub lacks: Lacks,
    /// A comment in front of each event.
    pub keep_alive: bool,
    /// Bytes of arguments in one delta; `None`: at odd places.
    pub arguments: Option<usize>,
}

/// All pieces of a streamed completion.
pub(crate) fn chunks(completion: &Completion, chat: &ChatConfig, shape: Shape) -> Vec<ChatChunk> {
    let mut writer = Writer { completion, shape, chunks: Vec::new(), tokens: 0 };
    writer.delta(r#""role":"assistant","content":"""#);
    let mut calls = 0;
    for said in &completion.said {
        match said {
            Said::Reasoning(text) => writer.texts(&chat.reasoning_field, text),
            Said::Text(text) => writer.texts("content", text),
            Said::Call { id, name, arguments } => {
                writer.call(calls, id, name, arguments);
                calls += 1;
            }
        }
    }
    writer.tokens = completion.usage.output;
    if !shape.lacks.finish {
        let timings = if shape.include_usage { String::new() } else { completion.timings(chat) };
        writer.choice("", completion.finish, &timings);
    }
    if shape.include_usage && !shape.lacks.usage {
        let text = format!(r#"{}"choices":[]{}}}"#, completion.head(CHUNK), completion.tail(chat));
        writer.event(&text);
    }
    if !shape.lacks.done {
        writer.event("[DONE]");
    }
    writer.chunks
}

struct Writer<'a> {
    completion: &'a Completion,
    shape: Shape,
    chunks: Vec<ChatChunk>,
    tokens: u64,
}

impl Writer<'_> {
    fn event(&mut self, data: &str) {
        let comment = if self.shape.keep_alive { ": keep-alive\n\n" } else { "" };
        self.chunks.push(ChatChunk { text: format!("{comment}data: {data}\n\n"), tokens: self.tokens });
    }

    fn delta(&mut self, members: &str) {
        self.choice(members, "", "");
    }

    /// A chunk with one choice, and what stands behind it; with an empty reason it goes on.
    fn choice(&mut self, members: &str, finish: &str, tail: &str) {
        let finish = if finish.is_empty() { "null".to_owned() } else { quoted(finish) };
        let choice =
            format!(r#"{{"index":0,"delta":{{{members}}},"logprobs":null,"finish_reason":{finish}}}"#);
        let choices = if self.shape.lacks.choices { String::new() } else { choice };
        let text = format!(r#"{}"choices":[{choices}]{tail}}}"#, self.completion.head(CHUNK));
        self.event(&text);
    }

    fn texts(&mut self, field: &str, text: &str) {
        for piece in cut_oddly(text) {
            self.tokens += 1;
            self.delta(&format!("{}:{}", quoted(field), quoted(piece)));
        }
    }

    fn call(&mut self, index: usize, id: &str, name: &str, arguments: &str) {
        let (id, name) = (quoted(id), quoted(name));
        self.delta(&format!(
            "\"tool_calls\":[{{\"index\":{index},\"id\":{id},\"type\":\"function\",\
             \"function\":{{\"name\":{name},\"arguments\":\"\"}}}}]"
        ));
        let pieces: Vec<&str> = match self.shape.arguments {
            None => cut_oddly(arguments).collect(),
            Some(size) => cut_evenly(arguments, size),
        };
        for piece in pieces {
            self.tokens += 1;
            let piece = quoted(piece);
            self.delta(&format!(r#""tool_calls":[{{"index":{index},"function":{{"arguments":{piece}}}}}]"#));
        }
    }
}

/// Pieces of `size` bytes, longer where a character would be cut.
fn cut_evenly(text: &str, size: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let mut at = size.clamp(1, rest.len());
        while !rest.is_char_boundary(at) {
            at += 1;
        }
        let (piece, tail) = rest.split_at(at);
        pieces.push(piece);
        rest = tail;
    }
    pieces
}

const CHUNK: &str = "chat.completion.chunk";
