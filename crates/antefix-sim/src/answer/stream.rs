//! The answer as server-sent events, in the shapes and the order of the real API.

use crate::binding::seal;

use super::{Answer, Content, Part, quoted};

/// One event with what it costs to produce.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub name: &'static str,
    pub data: String,
    /// Output tokens generated when the event is sent, from the start.
    pub tokens: u64,
}

impl Event {
    /// The event's bytes.
    pub fn bytes(&self) -> Vec<u8> {
        format!("event: {}\ndata: {}\n\n", self.name, self.data).into_bytes()
    }
}

/// All events of an answer.
pub(crate) fn events(answer: &Answer) -> Vec<Event> {
    let mut events = vec![message_start(answer)];
    let mut tokens = 0;
    for (index, content) in answer.content.iter().enumerate() {
        block(&mut events, index, content, tokens);
        tokens += content.tokens;
    }
    let sequence = answer.stop_sequence.as_deref().map_or("null".to_owned(), quoted);
    let (reason, usage) = (quoted(&answer.stop_reason), answer.usage.delta());
    let data = format!(
        "{{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":{reason},\"stop_sequence\":{sequence}}},\
         \"usage\":{usage}{}}}",
        answer.management()
    );
    events.push(Event { name: "message_delta", data, tokens });
    events.push(Event { name: "message_stop", data: r#"{"type":"message_stop"}"#.to_owned(), tokens });
    events
}

fn message_start(answer: &Answer) -> Event {
    let message = format!(
        r#"{},"content":[],"stop_reason":null,"stop_sequence":null,"usage":{}{}}}"#,
        answer.head(),
        answer.usage.started(),
        answer.tail()
    );
    let data = format!(r#"{{"type":"message_start","message":{message}}}"#);
    Event { name: "message_start", data, tokens: 0 }
}

fn block(events: &mut Vec<Event>, index: usize, content: &Content, before: u64) {
    let start =
        format!(r#"{{"type":"content_block_start","index":{index},"content_block":{}}}"#, content.opening());
    events.push(Event { name: "content_block_start", data: start, tokens: before });
    if index == 0 {
        events.push(Event { name: "ping", data: r#"{"type": "ping"}"#.to_owned(), tokens: before });
    }
    let deltas = deltas(content);
    let count = deltas.len().max(1) as u64;
    for (at, delta) in deltas.into_iter().enumerate() {
        let data = format!(r#"{{"type":"content_block_delta","index":{index},"delta":{delta}}}"#);
        let tokens = before + content.tokens * (at as u64 + 1) / count;
        events.push(Event { name: "content_block_delta", data, tokens });
    }
    let data = format!(r#"{{"type":"content_block_stop","index":{index}}}"#);
    events.push(Event { name: "content_block_stop", data, tokens: before + content.tokens });
}

fn deltas(content: &Content) -> Vec<String> {
    let delta =
        |kind: &str, key: &str, text: &str| format!(r#"{{"type":"{kind}","{key}":{}}}"#, quoted(text));
    match &content.part {
        Part::Text(text) => cut_oddly(text).map(|piece| delta("text_delta", "text", piece)).collect(),
        Part::Thinking { text, signature } => cut_oddly(text)
            .map(|piece| delta("thinking_delta", "thinking", piece))
            .chain([delta("signature_delta", "signature", signature)])
            .collect(),
        Part::ToolUse { input, .. } | Part::ServerToolUse { input, .. } => {
            // The real API opens with an empty part, and sends nothing more for an empty input.
            let input = if input == "{}" { "" } else { input };
            let parts = std::iter::once("").chain(cut_oddly(input));
            parts.map(|piece| delta("input_json_delta", "partial_json", piece)).collect()
        }
        Part::Compaction(text) => {
            let (seal, text) = (quoted(&seal(text)), quoted(text));
            vec![format!(r#"{{"type":"compaction_delta","content":{text},"encrypted_content":{seal}}}"#)]
        }
        Part::Redacted(_) | Part::ServerResult { .. } => Vec::new(),
    }
}

/// Cuts a text at odd places: in the middle of words, escapes and numbers, never inside a character. Long
/// texts get longer pieces, so that there are at most a few hundred.
pub(crate) fn cut_oddly(text: &str) -> impl Iterator<Item = &str> {
    let scale = 1 + text.len() / 2_000;
    let mut sizes = [3, 7, 1, 12, 5, 2, 9].into_iter().cycle();
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut at = (sizes.next().unwrap_or(1) * scale).min(rest.len());
        while !rest.is_char_boundary(at) {
            at += 1;
        }
        let (piece, tail) = rest.split_at(at);
        rest = tail;
        Some(piece)
    })
}
