//! Recorded steps in the place of what a model answers, for a model that cannot choose tools itself.
//!
//! The request is made all the same, and its usage, its times and its errors are those of the server; only what the
//! model said is put aside. The format is `docs/formats/replay.md`.

use std::collections::VecDeque;
use std::path::Path;

use antefix_session::closure::text_block;
use antefix_session::conversation::Call;
use antefix_session::dialect::Dialect;
use antefix_session::event::ResponseEnd;
use antefix_wire::anthropic::BlockKind;
use antefix_wire::assemble::{Assembled, AssembledBlock, Delta};
use antefix_wire::json::{Body, Kind, Node, compact};
use bytes::Bytes;

use super::protocol;

/// Steps that are still to come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replay {
    steps: VecDeque<Step>,
    /// Calls made so far, for their ids.
    calls: u64,
}

/// Why steps cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The file cannot be read.
    #[error("cannot read the recorded steps in `{path}`: {source}")]
    File {
        /// Its path.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// A line is no step.
    #[error("line {line} of the recorded steps: {reason}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
}

impl Replay {
    /// Reads the steps of a file.
    ///
    /// # Errors
    /// [`ReplayError`] if it cannot be read or a line is no step.
    pub fn open(path: &Path) -> Result<Self, ReplayError> {
        let text = std::fs::read(path)
            .map_err(|source| ReplayError::File { path: path.display().to_string(), source })?;
        Self::read(&text)
    }

    /// Reads steps: one JSON object a line; empty lines are passed over.
    ///
    /// # Errors
    /// [`ReplayError::Line`] if a line is no step.
    pub fn read(text: &[u8]) -> Result<Self, ReplayError> {
        let lines = text.split(|&byte| byte == b'\n').enumerate();
        let filled = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
        let steps = filled.map(|(index, line)| {
            Step::read(line).map_err(|reason| ReplayError::Line { line: index + 1, reason })
        });
        Ok(Self { steps: steps.collect::<Result<_, _>>()?, calls: 0 })
    }

    /// Whether what the model says now is put aside.
    pub(super) fn is_next(&self) -> bool {
        matches!(self.steps.front(), Some(Step::Recorded { .. }))
    }

    /// The reply with the next step in its place, which is told as it would have been streamed. A request that
    /// failed, or whose answer was cut, uses up no step.
    pub(super) fn apply(
        &mut self,
        dialect: Dialect,
        mut end: ResponseEnd,
        on_delta: &mut impl FnMut(Delta),
    ) -> ResponseEnd {
        let ResponseEnd::Message { message, cut: None, .. } = &mut end else { return end };
        if !message.complete || message.error.is_some() || message.malformed.is_some() {
            return end;
        }
        if let Some(Step::Recorded { say, calls }) = self.steps.pop_front() {
            if let Some(text) = say.clone() {
                on_delta(Delta::BlockStarted { index: 0, kind: BlockKind::Text, id: None, name: None });
                on_delta(Delta::Text { index: 0, text });
                on_delta(Delta::BlockStopped { index: 0 });
            }
            self.put(dialect, message, say, calls);
        }
        end
    }

    fn put(
        &mut self,
        dialect: Dialect,
        message: &mut Assembled,
        say: Option<String>,
        calls: Vec<RecordedCall>,
    ) {
        message.stop_reason = Some(protocol::stop_reason(dialect, !calls.is_empty()).to_owned());
        let text = say.map(|say| block(BlockKind::Text, &text_block(&say)));
        let calls = calls.into_iter().map(|call| self.call(dialect, call));
        message.blocks = text.into_iter().chain(calls).collect();
        message.stop_sequence = None;
        message.unknown.clear();
        message.unknown_left_out = 0;
    }

    fn call(&mut self, dialect: Dialect, recorded: RecordedCall) -> AssembledBlock {
        self.calls += 1;
        // Nine letters and digits, as the strictest template takes them.
        let id = format!("replay{:03}", self.calls);
        let call = Call { id, name: recorded.tool, input: recorded.input };
        block(BlockKind::ToolUse, &dialect.call(&call))
    }
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// The model's own.
    Own,
    /// A recorded one.
    Recorded { say: Option<String>, calls: Vec<RecordedCall> },
}

/// A call of a recorded step.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RecordedCall {
    tool: String,
    /// A JSON object, compact.
    input: Bytes,
}

impl Step {
    fn read(line: &[u8]) -> Result<Self, String> {
        let body = Body::parse(line).map_err(|error| error.to_string())?;
        let root = body.root();
        if root.kind() != Kind::Object {
            return Err("a step is a JSON object".to_owned());
        }
        let mut step = (false, None, Vec::new());
        for (key, value) in root.members() {
            match key.str().as_deref() {
                Some("own") => step.0 = value.bool().ok_or("`own` is true or false")?,
                Some("say") => step.1 = Some(value.str().ok_or("`say` is a text")?.into_owned()),
                Some("calls") if value.kind() == Kind::Array => {
                    step.2 = value.items().map(RecordedCall::read).collect::<Result<_, _>>()?;
                }
                Some("calls") => return Err("`calls` is a list".to_owned()),
                other => return Err(format!("`{}` is not known in a step", other.unwrap_or_default())),
            }
        }
        match step {
            (true, None, calls) if calls.is_empty() => Ok(Self::Own),
            (true, ..) => Err("a step that is the model's own holds nothing else".to_owned()),
            (false, None, calls) if calls.is_empty() => Err("a step says or calls something".to_owned()),
            (false, say, calls) => Ok(Self::Recorded { say, calls }),
        }
    }
}

impl RecordedCall {
    fn read(node: Node<'_>) -> Result<Self, String> {
        let tool = node.get("tool").and_then(Node::str).ok_or("a call has a `tool`")?.into_owned();
        let input = node.get("input").filter(|input| input.kind() == Kind::Object);
        let mut compacted = Vec::new();
        compact(&mut compacted, input.ok_or("a call has an `input`, an object")?);
        Ok(Self { tool, input: compacted.into() })
    }
}

fn block(kind: BlockKind, json: &[u8]) -> AssembledBlock {
    AssembledBlock { json: json.to_vec(), kind, complete: true, broken_input: None, unknown_deltas: 0 }
}

#[cfg(test)]
mod tests {
    use antefix_session::event::ResponseFacts;

    use super::*;

    fn answer(complete: bool) -> ResponseEnd {
        let own = block(BlockKind::Text, &text_block("own words"));
        let message = Assembled { blocks: vec![own], complete, ..Assembled::default() };
        ResponseEnd::Message { message: Box::new(message), response: ResponseFacts::default(), cut: None }
    }

    fn said(end: &ResponseEnd) -> (Vec<String>, Option<&str>) {
        let ResponseEnd::Message { message, .. } = end else { panic!("an answer") };
        let blocks = message.blocks.iter().map(|block| String::from_utf8(block.json.clone()).unwrap());
        (blocks.collect(), message.stop_reason.as_deref())
    }

    #[test]
    fn steps_stand_in_the_place_of_answers_in_either_dialect() {
        let steps = br#"{"say":"Look:","calls":[{"tool":"read","input":{ "path": "a" }}]}

{"own":true}
{"say":"Done."}
"#;
        let own = (vec![r#"{"type":"text","text":"own words"}"#.to_owned()], None);
        let text = |text: &str| format!(r#"{{"type":"text","text":"{text}"}}"#);
        for (dialect, call, stops) in [
            (
                Dialect::Anthropic,
                r#"{"type":"tool_use","id":"replay001","name":"read","input":{"path":"a"}}"#,
                ["tool_use", "end_turn"],
            ),
            (
                Dialect::OpenAiChat,
                r#"{"id":"replay001","type":"function","function":{"name":"read","arguments":"{\"path\":\"a\"}"}}"#,
                ["tool_calls", "stop"],
            ),
        ] {
            let mut replay = Replay::read(steps).unwrap();
            let mut apply = |complete| {
                let end = replay.apply(dialect, answer(complete), &mut |_| {});
                let (blocks, stop) = said(&end);
                (blocks, stop.map(str::to_owned))
            };
            assert_eq!(apply(false), own, "an answer that was cut uses up no step");
            assert_eq!(apply(true), (vec![text("Look:"), call.to_owned()], Some(stops[0].to_owned())));
            assert_eq!(apply(true), own);
            assert_eq!(apply(true), (vec![text("Done.")], Some(stops[1].to_owned())));
            assert_eq!(apply(true), own, "behind the last step the model speaks for itself");
        }
    }

    #[test]
    fn what_is_no_step_is_said_with_its_line() {
        for (text, expect) in [
            ("{\"own\":true}\n[]", "line 2 of the recorded steps: a step is a JSON object"),
            ("{}", "line 1 of the recorded steps: a step says or calls something"),
            (
                "{\"own\":true,\"say\":\"x\"}",
                "line 1 of the recorded steps: a step that is the model's own holds nothing else",
            ),
            ("{\"text\":\"x\"}", "line 1 of the recorded steps: `text` is not known in a step"),
            (
                "{\"calls\":[{\"tool\":\"x\"}]}",
                "line 1 of the recorded steps: a call has an `input`, an object",
            ),
        ] {
            assert_eq!(Replay::read(text.as_bytes()).unwrap_err().to_string(), expect);
        }
    }
}
