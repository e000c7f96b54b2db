use antefix_wire::anthropic::BlockKind;
use antefix_wire::assemble::{Assembled, AssembledBlock};
use antefix_wire::json::{Body, Node};
use bytes::Bytes;

use super::{Session, SessionError, State, Step};
use crate::closure;
use crate::conversation::Tail;
use crate::event::{Command, ResponseFacts, SessionEvent};
use crate::record::{
    EndReason, MessageContent, MessageRecord, Millis, Origin, OutcomeRecord, Record, RewindReason,
};

impl Session {
    /// Takes a streamed message, whole or cut: one row of the turn-closure table each way.
    pub(super) fn reply(
        &mut self,
        step: &mut Step,
        message: Assembled,
        response: ResponseFacts,
        cut: Option<String>,
        retries: u32,
        now: Millis,
    ) -> Result<(), SessionError> {
        let failed = message.error.as_ref().map(|(kind, text)| format!("{kind}: {text}")).or(cut);
        let failed = failed.or_else(|| (!message.complete).then(|| "the stream ended early".to_owned()));
        self.outcome(step, outcome_of(&message, response, failed.clone(), self.in_flight()), now)?;
        if !message.unknown.is_empty() {
            let unknown = message.unknown.join(", ");
            step.emit(SessionEvent::Notice(format!(
                "the reply holds parts this version does not know: {unknown}"
            )));
        }
        if let Some(reason) = failed {
            if !self.interrupted && retries < self.settings.retries {
                return self.retry(step, retries, reason, None, now);
            }
            self.keep(step, &message, now)?;
            let end = if self.interrupted { EndReason::Interrupted } else { EndReason::Failed };
            return self.end_turn(step, end, Some(reason).filter(|_| end == EndReason::Failed), now);
        }
        self.finish_reply(step, &message, now)
    }

    fn finish_reply(
        &mut self,
        step: &mut Step,
        message: &Assembled,
        now: Millis,
    ) -> Result<(), SessionError> {
        let stop = message.stop_reason.as_deref().unwrap_or("end_turn");
        if stop == "refusal" {
            let turn = self.conversation.turn();
            let target = self.conversation.before_turn(turn);
            self.go_back(step, target, RewindReason::Refusal, now)?;
            let text = "the model refused; what was asked in this turn is left out of the conversation";
            return self.end_turn(step, EndReason::Refusal, Some(text.to_owned()), now);
        }
        let kept = self.keep(step, message, now)?;
        let open = match self.conversation.tail() {
            Tail::Calls { open } => open,
            _ => Vec::new(),
        };
        let end = match stop {
            "max_tokens" => Some((EndReason::MaxTokens, Some("the reply reached its output limit"))),
            "model_context_window_exceeded" => Some((
                EndReason::WindowExceeded,
                Some("the context window is full; go back with --rewind, or start a new session"),
            )),
            "pause_turn" if kept => None,
            _ if !open.is_empty() => None,
            _ if !kept => Some((EndReason::Empty, Some("the model sent an empty reply"))),
            "stop_sequence" => Some((EndReason::StopSequence, None)),
            _ => Some((EndReason::EndTurn, None)),
        };
        if let Some((reason, text)) = end {
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
        let blocks = kept_blocks(&message.blocks);
        if blocks.is_empty() {
            return Ok(false);
        }
        let content = MessageContent::Fragment(closure::message("assistant", &blocks));
        self.record(step, Record::Message(MessageRecord { origin: Origin::Assistant, content }), now)?;
        Ok(true)
    }

    fn in_flight(&self) -> crate::record::AttemptId {
        match self.state {
            State::InFlight { attempt, .. } => attempt,
            _ => crate::record::AttemptId::default(),
        }
    }
}

/// The blocks that may be sent back: whole ones, and text as far as it came. Unfinished thinking has no signature
/// and an unfinished call no input; both are dropped. A message may not end in thinking (Messages API, November
/// 2026), so that a closing text follows it.
fn kept_blocks(blocks: &[AssembledBlock]) -> Vec<Bytes> {
    let usable = |block: &&AssembledBlock| match block.kind {
        BlockKind::Text => has_text(block),
        _ => block.complete,
    };
    let kept: Vec<&AssembledBlock> = blocks.iter().filter(usable).collect();
    let mut out: Vec<Bytes> = kept.iter().map(|block| Bytes::copy_from_slice(&block.json)).collect();
    if kept.last().is_some_and(|last| matches!(last.kind, BlockKind::Thinking | BlockKind::RedactedThinking))
    {
        out.push(closure::text_block(closure::CUT_OFF));
    }
    out
}

fn has_text(block: &AssembledBlock) -> bool {
    let text = |node: Node<'_>| Some(!node.get("text")?.str()?.trim().is_empty());
    Body::parse(block.json.clone()).is_ok_and(|body| text(body.root()).unwrap_or(false))
}

fn outcome_of(
    message: &Assembled,
    response: ResponseFacts,
    error: Option<String>,
    attempt: crate::record::AttemptId,
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
