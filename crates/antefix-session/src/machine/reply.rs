use antefix_wire::anthropic::BlockKind;
use antefix_wire::assemble::{Assembled, StopReason};
use antefix_wire::json::{Body, Node, compact};
use bytes::Bytes;

use super::calls::result;
use super::kept::{BrokenCall, Kept, kept, unusable};
use super::{Session, SessionError, State, Step};
use crate::closure::{self, text_block};
use crate::conversation::{Lane, Tail};
use crate::event::{Command, ResponseFacts, SessionEvent};
use crate::record::{
    AttemptId, EndReason, LaneRecord, MessageContent, Millis, Origin, OutcomeRecord, Record,
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
        let failed = failure(message, reply.cut, self.lane()?);
        self.outcome(step, outcome_of(message, reply.response, failed.clone(), reply.attempt), now)?;
        if let Some(text) = unknown(message) {
            step.emit(SessionEvent::Notice(text));
        }
        let Some(reason) = failed else { return self.finish_reply(step, message, now) };
        if !self.interrupted && retries < self.settings.retries {
            return self.retry(step, retries, reason, None, now);
        }
        let kept = self.kept(message, false)?;
        self.keep(step, &kept, now)?;
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
        let stop = message.stop().unwrap_or(StopReason::EndTurn);
        if stop == StopReason::Refusal {
            self.leave_behind(step, now)?;
            let text = "the model refused; what was asked in this turn is left out of the conversation";
            return self.end_turn(step, EndReason::Refusal, Some(text.to_owned()), now);
        }
        let kept = self.kept(message, true)?;
        self.keep(step, &kept, now)?;
        for call in &kept.broken {
            self.answer_broken(step, call, now)?;
        }
        let open = match self.conversation.tail() {
            Tail::Calls { open } => open,
            _ => Vec::new(),
        };
        let calls = !open.is_empty() || !kept.broken.is_empty();
        if let Some((reason, text)) = ending(stop, !kept.blocks.is_empty(), calls, message) {
            return self.end_turn(step, reason, text.map(str::to_owned), now);
        }
        if self.interrupted {
            return self.end_turn(step, EndReason::Interrupted, None, now);
        }
        if open.is_empty() {
            return if calls { self.seal_results(step, now) } else { self.request(step, 0, now) };
        }
        for call in &open {
            step.emit(SessionEvent::CallStarted(call.effective().into_owned()));
        }
        self.state = State::Calling { open: open.clone() };
        step.commands.push(Command::Run(open));
        self.plan_warming(step);
        Ok(())
    }

    pub(super) fn lane(&self) -> Result<&LaneRecord, SessionError> {
        self.conversation.lane().map(Lane::spec).ok_or(SessionError::NoLane)
    }

    pub(super) fn kept(&self, message: &Assembled, answers: bool) -> Result<Kept, SessionError> {
        Ok(kept(message, answers, self.conversation.call_ids(), &self.settings.texts, self.lane()?))
    }

    /// Records what of the reply can be sent back, if anything.
    fn keep(&mut self, step: &mut Step, kept: &Kept, now: Millis) -> Result<(), SessionError> {
        if kept.blocks.is_empty() {
            return Ok(());
        }
        let content = MessageContent::Fragment(self.conversation.dialect().reply(&kept.blocks));
        self.message(step, Origin::Assistant, content, now)
    }

    /// Records in a tool's place that the call's input was no JSON object, so that the model can call again.
    fn answer_broken(
        &mut self,
        step: &mut Step,
        broken: &BrokenCall,
        now: Millis,
    ) -> Result<(), SessionError> {
        let BrokenCall { call, written } = broken;
        let text = closure::broken_input(&self.settings.texts, written);
        let fragment = self.conversation.dialect().result(&call.id, &[text_block(&text)], true);
        step.emit(SessionEvent::CallStarted(call.effective().into_owned()));
        self.record(step, Record::Result(result(call, true, fragment, Bytes::from_static(b"[]"))), now)?;
        step.emit(SessionEvent::CallFinished { call: call.clone(), is_error: true, text });
        Ok(())
    }
}

/// What of a reply this version does not know, in words.
fn unknown(message: &Assembled) -> Option<String> {
    if message.unknown.is_empty() {
        return None;
    }
    let named = message.unknown.join(", ");
    let more = match message.unknown_left_out {
        0 => String::new(),
        more => format!(", and {more} of further types"),
    };
    Some(format!("the reply holds parts this version does not know: {named}{more}"))
}

/// Why a reply cannot be taken as it is. A refusal is final wherever the stream ended.
pub(super) fn failure(message: &Assembled, cut: Option<String>, lane: &LaneRecord) -> Option<String> {
    if message.stop() == Some(StopReason::Refusal) {
        return None;
    }
    let error = message.error.as_ref().map(|(kind, text)| format!("{kind}: {text}"));
    let malformed = || message.malformed.as_ref().map(|text| format!("the stream is malformed: {text}"));
    let early = || (!message.complete).then(|| "the stream ended early".to_owned());
    error.or(cut).or_else(malformed).or_else(early).or_else(|| unusable(message, lane).map(str::to_owned))
}

/// Why the turn ends with this reply, in words if need be; `None` if it goes on.
fn ending(
    stop: StopReason,
    kept: bool,
    calls: bool,
    message: &Assembled,
) -> Option<(EndReason, Option<&'static str>)> {
    match stop {
        StopReason::OutputLimit => Some((EndReason::MaxTokens, Some("the reply reached its output limit"))),
        StopReason::WindowExceeded => Some((
            EndReason::WindowExceeded,
            Some("the context window is full; go back with --rewind, or start a new session"),
        )),
        _ if calls => None,
        StopReason::Pause if kept && can_go_on(message) => None,
        _ if !kept => Some((EndReason::Empty, Some("the model sent an empty reply"))),
        StopReason::StopSequence => Some((EndReason::StopSequence, None)),
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

/// The same JSON without white space.
fn compacted(json: &str) -> Option<Bytes> {
    let body = Body::parse(json).ok()?;
    let mut out = Vec::new();
    compact(&mut out, body.root());
    Some(out.into())
}

pub(super) fn outcome_of(
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
        reply_bytes: message.usage_json.is_none().then(|| message.content_json().len() as u64),
        first_byte: response.first_byte,
        error,
        quota: response.quota,
        context_management: message.context_management.as_deref().and_then(compacted),
        too_long: None,
    }
}
