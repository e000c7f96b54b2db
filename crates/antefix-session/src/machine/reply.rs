use std::collections::BTreeSet;

use antefix_wire::anthropic::BlockKind;
use antefix_wire::assemble::{Assembled, AssembledBlock};
use antefix_wire::json::{Body, Node};
use bytes::Bytes;

use super::{Session, SessionError, State, Step};
use crate::closure::{self, Texts};
use crate::conversation::{Call, Tail};
use crate::event::{Command, ResponseFacts, SessionEvent};
use crate::record::{
    AttemptId, EndReason, MessageContent, MessageRecord, Millis, Origin, OutcomeRecord, Record, STOP_REFUSAL,
};

/// A streamed message as it came.
pub(super) struct Reply {
    pub(super) attempt: AttemptId,
    pub(super) message: Box<Assembled>,
    pub(super) response: ResponseFacts,
    pub(super) cut: Option<String>,
}

impl Session {
    /// Takes a streamed message, whole or cut: one row of the turn-closure table each way.
    pub(super) fn reply(
        &mut self,
        step: &mut Step,
        reply: Reply,
        retries: u32,
        now: Millis,
    ) -> Result<(), SessionError> {
        let message = &reply.message;
        let failed = failure(message, reply.cut);
        self.outcome(step, outcome_of(message, reply.response, failed.clone(), reply.attempt), now)?;
        if !message.unknown.is_empty() {
            let unknown = message.unknown.join(", ");
            step.emit(SessionEvent::Notice(format!(
                "the reply holds parts this version does not know: {unknown}"
            )));
        }
        let Some(reason) = failed else { return self.finish_reply(step, message, now) };
        if !self.interrupted && retries < self.settings.retries {
            return self.retry(step, retries, reason, None, now);
        }
        self.keep(step, message, now)?;
        if self.interrupted {
            return self.end_turn(step, EndReason::Interrupted, None, now);
        }
        self.end_turn(step, EndReason::Failed, Some(reason), now)
    }

    fn finish_reply(
        &mut self,
        step: &mut Step,
        message: &Assembled,
        now: Millis,
    ) -> Result<(), SessionError> {
        let stop = message.stop_reason.as_deref().unwrap_or("end_turn");
        if stop == STOP_REFUSAL {
            self.leave_behind(step, now)?;
            let text = "the model refused; what was asked in this turn is left out of the conversation";
            return self.end_turn(step, EndReason::Refusal, Some(text.to_owned()), now);
        }
        let kept = self.keep(step, message, now)?;
        let open = match self.conversation.tail() {
            Tail::Calls { open } => open,
            _ => Vec::new(),
        };
        if let Some((reason, text)) = ending(stop, kept, &open, message) {
            return self.end_turn(step, reason, text.map(str::to_owned), now);
        }
        if self.interrupted {
            return self.end_turn(step, EndReason::Interrupted, None, now);
        }
        if open.is_empty() {
            return self.request(step, 0, now);
        }
        for call in &open {
            step.emit(SessionEvent::CallStarted(call.clone()));
        }
        self.state = State::Calling { open: open.clone() };
        step.commands.push(Command::Run(open));
        Ok(())
    }

    /// Records what of the reply can be sent back; whether there was anything.
    fn keep(&mut self, step: &mut Step, message: &Assembled, now: Millis) -> Result<bool, SessionError> {
        let blocks = kept_blocks(message, &self.settings.texts);
        if blocks.is_empty() {
            return Ok(false);
        }
        let content = MessageContent::Fragment(closure::message("assistant", &blocks));
        self.record(step, Record::Message(MessageRecord { origin: Origin::Assistant, content }), now)?;
        Ok(true)
    }
}

/// Why a reply cannot be taken as it is. A refusal is final wherever the stream ended.
fn failure(message: &Assembled, cut: Option<String>) -> Option<String> {
    if message.stop_reason.as_deref() == Some(STOP_REFUSAL) {
        return None;
    }
    let error = message.error.as_ref().map(|(kind, text)| format!("{kind}: {text}"));
    error.or(cut).or_else(|| (!message.complete).then(|| "the stream ended early".to_owned()))
}

/// Why the turn ends with this reply, in words if need be; `None` if it goes on.
fn ending(
    stop: &str,
    kept: bool,
    open: &[Call],
    message: &Assembled,
) -> Option<(EndReason, Option<&'static str>)> {
    match stop {
        "max_tokens" => Some((EndReason::MaxTokens, Some("the reply reached its output limit"))),
        "model_context_window_exceeded" => Some((
            EndReason::WindowExceeded,
            Some("the context window is full; go back with --rewind, or start a new session"),
        )),
        _ if !open.is_empty() => None,
        STOP_PAUSE if kept && can_go_on(message) => None,
        _ if !kept => Some((EndReason::Empty, Some("the model sent an empty reply"))),
        "stop_sequence" => Some((EndReason::StopSequence, None)),
        _ => Some((EndReason::EndTurn, None)),
    }
}

/// Whether a paused reply can be sent back as the end of a request: not if it ends in white space, which the
/// Messages API refuses there (November 2026).
fn can_go_on(message: &Assembled) -> bool {
    let last = message.blocks.last().filter(|block| block.kind == BlockKind::Text);
    last.and_then(|block| Body::parse(block.json.clone()).ok()).is_none_or(|body| {
        let text = body.root().get("text").and_then(Node::str).unwrap_or_default();
        !text.ends_with(char::is_whitespace)
    })
}

/// The blocks that may be sent back: whole ones, and text as far as it came. Unfinished thinking has no signature
/// and an unfinished call no input; both are dropped. So is a server's call whose result did not come, with all that
/// is behind it, unless the provider waits for us to go on. A message may not end in thinking, so that a closing
/// text follows it (Messages API, November 2026).
fn kept_blocks(message: &Assembled, texts: &Texts) -> Vec<Bytes> {
    let usable = |block: &&AssembledBlock| match block.kind {
        BlockKind::Text => !closure::is_blank_text(&block.json),
        _ => block.complete,
    };
    let mut kept: Vec<&AssembledBlock> = message.blocks.iter().filter(usable).collect();
    if !(message.complete && matches!(message.stop_reason.as_deref(), Some(STOP_PAUSE | "tool_use"))) {
        let answered = member_of(&kept, "tool_use_id");
        let open = |block: &&AssembledBlock| {
            let server = matches!(block.kind, BlockKind::ServerToolUse | BlockKind::McpToolUse);
            server && member_of(&[block], "id").is_disjoint(&answered)
        };
        kept.truncate(kept.iter().position(open).unwrap_or(kept.len()));
    }
    let mut out: Vec<Bytes> = kept.iter().map(|block| Bytes::copy_from_slice(&block.json)).collect();
    closure::end_thinking(&mut out, texts);
    out
}

/// The texts of one member of blocks.
fn member_of(blocks: &[&AssembledBlock], name: &str) -> BTreeSet<String> {
    let text = |block: &&AssembledBlock| {
        let body = Body::parse(block.json.clone()).ok()?;
        Some(body.root().get(name)?.str()?.into_owned())
    };
    blocks.iter().filter_map(text).collect()
}

fn outcome_of(
    message: &Assembled,
    response: ResponseFacts,
    error: Option<String>,
    attempt: AttemptId,
) -> OutcomeRecord {
    OutcomeRecord {
        attempt,
        status: Some(response.status),
        message_id: message.message_id.clone(),
        request_id: response.request_id,
        stop_reason: message.stop_reason.clone(),
        usage: message.usage_json.clone().map(Bytes::from),
        first_byte: response.first_byte,
        error,
        quota: response.quota,
    }
}

const STOP_PAUSE: &str = "pause_turn";
