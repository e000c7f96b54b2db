//! The answer of a `generateContent` call, streamed or whole.

use crate::json::{Body, Kind, Node};
use crate::sse::Event;

/// What was answered: the first candidate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// `responseId`.
    pub id: Option<String>,
    /// `modelVersion`.
    pub model: Option<String>,
    /// The parts in order; pieces of text that follow each other in the stream are one part.
    pub parts: Vec<AnswerPart>,
    /// Why the model stopped, as the API names it; `None` if the stream was cut before.
    pub finish_reason: Option<String>,
    /// The last `usageMetadata`, whose counts are totals, as raw JSON.
    pub usage: Option<String>,
    /// The error that came instead of the rest, as raw JSON.
    pub error: Option<String>,
    /// Number of further candidates that were left out.
    pub other_candidates: u64,
    /// Number of events that were no JSON objects.
    pub malformed: u64,
}

/// One part of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerPart {
    /// What the model said.
    Text(String),
    /// What it thought.
    Thought(String),
    /// Anything else, calls of functions among it, as raw JSON.
    Other(String),
}

impl Answer {
    /// Reads a response that was not streamed.
    pub fn read(root: Node<'_>) -> Self {
        let mut answer = Self::default();
        answer.take(root);
        answer
    }

    fn take(&mut self, chunk: Node<'_>) {
        let text = |key: &str| chunk.get(key).and_then(Node::str).map(|text| text.into_owned());
        self.id = text("responseId").or(self.id.take());
        self.model = text("modelVersion").or(self.model.take());
        let raw =
            |key: &str| chunk.get(key).filter(|value| !value.is_null()).map(|value| value.raw().to_owned());
        self.usage = raw("usageMetadata").or(self.usage.take());
        self.error = raw("error").or(self.error.take());
        let mut candidates = chunk.get("candidates").into_iter().flat_map(Node::items);
        if let Some(first) = candidates.next() {
            let parts = first.get("content").and_then(|content| content.get("parts"));
            parts.into_iter().flat_map(Node::items).for_each(|part| self.part(part));
            let reason = first.get("finishReason").and_then(Node::str);
            self.finish_reason = reason.map(|text| text.into_owned()).or(self.finish_reason.take());
        }
        self.other_candidates = self.other_candidates.max(candidates.count() as u64);
    }

    /// A signature ends a piece of text: what carries one is a part of its own, kept as it came.
    fn part(&mut self, part: Node<'_>) {
        let plain = part.members().all(|(key, _)| key.is_str("text") || key.is_str("thought"));
        let text = part.get("text").and_then(Node::str).filter(|_| plain);
        let Some(text) = text else {
            return self.parts.push(AnswerPart::Other(part.raw().to_owned()));
        };
        let is_thought = part.get("thought").and_then(Node::bool) == Some(true);
        match (self.parts.last_mut(), is_thought) {
            (Some(AnswerPart::Text(open)), false) | (Some(AnswerPart::Thought(open)), true) => {
                open.push_str(&text);
            }
            (_, false) => self.parts.push(AnswerPart::Text(text.into_owned())),
            (_, true) => self.parts.push(AnswerPart::Thought(text.into_owned())),
        }
    }
}

/// Takes the events of one streamed response (`alt=sse`).
#[derive(Clone, Debug, Default)]
pub struct StreamReader {
    answer: Answer,
}

impl StreamReader {
    /// Makes a reader for one response.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes one event. What is no JSON object is counted and left out.
    pub fn event(&mut self, event: &Event) {
        match Body::parse(event.data.as_bytes()) {
            Ok(body) if body.root().kind() == Kind::Object => self.answer.take(body.root()),
            _ => self.answer.malformed += 1,
        }
    }

    /// The answer as far as it came.
    pub fn finish(self) -> Answer {
        self.answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sse::Parser;

    const CHUNKS: [&str; 4] = [
        r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"Hm","thought":true}]}},{"content":{}}],"responseId":"r1","modelVersion":"gemini-3.8-flash","usageMetadata":{"promptTokenCount":9}}"#,
        r#"{"candidates":[{"content":{"parts":[{"text":".","thought":true},{"text":"It "}]}}]}"#,
        r#"{"candidates":[{"content":{"parts":[{"text":"is 5."},{"functionCall":{"name":"ls","args":{"z":1,"a":2.0}},"thoughtSignature":"x"}]}}]}"#,
        r#"{"candidates":[{"content":{"parts":[]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":9,"cachedContentTokenCount":4,"candidatesTokenCount":3}}"#,
    ];

    #[test]
    fn chunks_come_together_wherever_they_are_cut() {
        let stream: String = CHUNKS.iter().flat_map(|chunk| ["data: ", chunk, "\r\n\r\n"]).collect();
        let answer = Answer {
            id: Some("r1".into()),
            model: Some("gemini-3.8-flash".into()),
            parts: vec![
                AnswerPart::Thought("Hm.".into()),
                AnswerPart::Text("It is 5.".into()),
                AnswerPart::Other(
                    r#"{"functionCall":{"name":"ls","args":{"z":1,"a":2.0}},"thoughtSignature":"x"}"#.into(),
                ),
            ],
            finish_reason: Some("STOP".into()),
            usage: Some(
                r#"{"promptTokenCount":9,"cachedContentTokenCount":4,"candidatesTokenCount":3}"#.into(),
            ),
            other_candidates: 1,
            ..Answer::default()
        };
        for cut in 0..stream.len() {
            let (mut parser, mut reader) = (Parser::new(), StreamReader::new());
            for piece in [&stream.as_bytes()[..cut], &stream.as_bytes()[cut..]] {
                parser.push(piece).unwrap().iter().for_each(|event| reader.event(event));
            }
            assert_eq!(reader.finish(), answer, "cut at {cut}");
        }
    }

    #[test]
    fn what_went_wrong_is_kept() {
        let mut reader = StreamReader::new();
        let event = |data: &str| Event { name: String::new(), data: data.into(), raw: Vec::new() };
        reader.event(&event(CHUNKS[1]));
        reader.event(&event("[oops"));
        reader.event(&event(r#"{"error":{"code":503}}"#));
        let answer = reader.finish();
        assert_eq!((answer.finish_reason, answer.malformed), (None, 1));
        assert_eq!(answer.error.as_deref(), Some(r#"{"code":503}"#));
    }
}
