use antefix_wire::json::{Body, Kind, Limits, Node, compact};
use bytes::Bytes;

use super::{Session, SessionError, State, Step};
use crate::closure;
use crate::conversation::Call;
use crate::event::{Returned, SessionEvent};
use crate::record::{
    EndReason, MessageContent, MessageRecord, Millis, Origin, PermissionRecord, Record, RecordId,
    ResultRecord,
};
use crate::reminder::neutral_json;

impl Session {
    /// Records what a call returned; with the last one, seals the results and makes the next request.
    pub(super) fn returned(
        &mut self,
        step: &mut Step,
        call: &str,
        output: &Returned,
        now: Millis,
    ) -> Result<(), SessionError> {
        let unexpected = SessionError::Unexpected("returned");
        let State::Calling { open } = &mut self.state else { return Err(unexpected) };
        let index = open.iter().position(|known| known.id == call).ok_or(unexpected)?;
        let content = frozen_blocks("the tool's output", &output.content)?;
        let facts = frozen("what the tool learned", &output.facts, Kind::Array)?;
        let call = open.remove(index);
        let done = open.is_empty();
        let fragment = self.conversation.dialect().result(&call.id, &content, output.is_error);
        self.record(step, Record::Result(result(&call, output.is_error, fragment, facts)), now)?;
        let (call, text) = (call.effective().into_owned(), text_of(&content));
        step.emit(SessionEvent::CallFinished { call, is_error: output.is_error, text });
        if done { self.seal_results(step, now) } else { Ok(()) }
    }

    /// Records what was decided about a call that has not returned.
    pub(super) fn decided(
        &mut self,
        step: &mut Step,
        permission: PermissionRecord,
        now: Millis,
    ) -> Result<(), SessionError> {
        match &self.state {
            State::Calling { open } if open.iter().any(|call| call.id == permission.call) => {
                self.record(step, Record::Permission(permission), now)
            }
            _ => Err(SessionError::Unexpected("decided")),
        }
    }

    pub(super) fn seal_results(&mut self, step: &mut Step, now: Millis) -> Result<(), SessionError> {
        if self.interrupted {
            return self.end_turn(step, EndReason::Interrupted, None, now);
        }
        let named = |(guard, text): (&str, String)| (guard.to_owned(), text);
        let halted = self.halted.take();
        if let Some((guard, text)) = halted.or_else(|| self.guards.before_request(&self.view()).map(named)) {
            // The results stay unsealed and lead the next message of the user.
            return self.stop(step, &guard, text, now);
        }
        self.say(step, Origin::Results, self.conversation.pending(), Vec::new(), now)?;
        self.request(step, 0, now)
    }

    /// Records a message of nothing but results; what waits to be told waits on.
    pub(super) fn seal(
        &mut self,
        step: &mut Step,
        results: Vec<RecordId>,
        now: Millis,
    ) -> Result<(), SessionError> {
        let content = MessageContent::Results { results, inside: Vec::new(), blocks: Vec::new() };
        self.message(step, Origin::Results, content, now)
    }

    /// Records a message that tells nothing of the surroundings.
    pub(super) fn message(
        &mut self,
        step: &mut Step,
        origin: Origin,
        content: MessageContent,
        now: Millis,
    ) -> Result<(), SessionError> {
        self.record(step, Record::Message(MessageRecord { origin, content, says: Vec::new() }), now)
    }
}

pub(super) fn result(call: &Call, is_error: bool, fragment: Bytes, facts: Bytes) -> ResultRecord {
    ResultRecord { call: call.id.clone(), tool: call.effective().name.clone(), is_error, fragment, facts }
}

/// Content blocks without insignificant white space, as they are sent for ever after, and without what could be taken for
/// a reminder. Blocks of blank text are left out: the Messages API refuses them (November 2026).
pub(super) fn frozen_blocks(what: &'static str, blocks: &[Bytes]) -> Result<Vec<Bytes>, SessionError> {
    let frozen = blocks.iter().map(|block| frozen(what, block, Kind::Object));
    let frozen: Vec<Bytes> = frozen.collect::<Result<_, _>>()?;
    let neutral = frozen.iter().map(neutral_json);
    Ok(neutral.filter(|block| !closure::is_blank_text(block)).collect())
}

/// A JSON text without insignificant white space, so that it stands in one line of a transcript.
pub(super) fn frozen(what: &'static str, text: &Bytes, kind: Kind) -> Result<Bytes, SessionError> {
    let unreadable = |reason| SessionError::Unreadable { what, reason };
    let body = Body::parse_with(text.to_vec(), deep()).map_err(|error| unreadable(error.to_string()))?;
    if body.root().kind() != kind {
        return Err(unreadable(format!("a JSON {kind:?} is expected").to_lowercase()));
    }
    let mut out = Vec::with_capacity(text.len());
    compact(&mut out, body.root());
    Ok(out.into())
}

/// How deep a value may be that will stand within its message, the messages and the body.
pub(super) fn deep() -> Limits {
    let all = Limits::default();
    Limits { depth: all.depth.saturating_sub(8), ..all }
}

/// The text of content blocks, for the screen.
fn text_of(content: &[Bytes]) -> String {
    let mut text = String::new();
    for block in content {
        let Ok(body) = Body::parse(block.to_vec()) else { continue };
        if let Some(part) = body.root().get("text").and_then(Node::str) {
            text.push_str(&part);
        }
        if let Some(name) = body.root().get("tool_name").and_then(Node::str) {
            text.push_str(&format!("{name}\n"));
        }
    }
    text
}
