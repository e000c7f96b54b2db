//! What is left out of a prompt before the model reads it: results of old calls, and what a summary stands for.
//!
//! Each request is edited from what the client sent, so that a later one leaves out what the one before it did, and
//! more. That nothing is remembered between two requests is assumed; what is documented is that each clearing costs the
//! cache from its point on.

use antefix_models::Rules;

use crate::config::Config;
use crate::render::{first_kept_thinking, render};
use crate::request::{Block, ClearToolUses, Message, Request, Trigger};

/// What was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Applied {
    ToolUses { calls: u64, tokens: u64 },
    Thinking { turns: u64, tokens: u64 },
}

impl Applied {
    /// The entry of `applied_edits`.
    pub fn json(self) -> String {
        match self {
            Self::ToolUses { calls, tokens } => format!(
                r#"{{"type":"clear_tool_uses_20250919","cleared_tool_uses":{calls},"cleared_input_tokens":{tokens}}}"#
            ),
            Self::Thinking { turns, tokens } => format!(
                r#"{{"type":"clear_thinking_20251015","cleared_thinking_turns":{turns},"cleared_input_tokens":{tokens}}}"#
            ),
        }
    }
}

/// The request as the model reads it, and what was left out; `None` if it is read as it was sent.
pub(crate) fn edited(request: &Request, rules: &Rules, config: &Config) -> (Option<Request>, Vec<Applied>) {
    let mut prompt = request.clone();
    let is_compacted = drop_compacted(&mut prompt.messages);
    let mut applied = Vec::new();
    let length =
        |prompt: &Request| -> u64 { render(prompt, rules, config).iter().map(|block| block.tokens).sum() };
    if request.params.edits.thinking.is_some() {
        let mut whole = prompt.clone();
        whole.params.edits.thinking = None;
        let [whole_from, kept_from] = [&whole, &prompt].map(|request| first_kept_thinking(request, rules));
        let dropped = prompt.messages.get(whole_from..kept_from).unwrap_or_default();
        let turns =
            dropped.iter().filter(|message| message.blocks.iter().any(Block::is_thinking)).count() as u64;
        let tokens = length(&whole).saturating_sub(length(&prompt));
        applied.extend((turns > 0).then_some(Applied::Thinking { turns, tokens }));
    }
    let mut clears = false;
    if let Some(clear) = &request.params.edits.tool_uses {
        let before = length(&prompt);
        let cleared = cleared(&prompt.messages, clear, before);
        let mut shorter = prompt.clone();
        let calls = leave_out(&mut shorter.messages, &cleared, clear.inputs);
        let tokens = before.saturating_sub(length(&shorter));
        if calls > 0 && tokens >= clear.at_least {
            applied.push(Applied::ToolUses { calls, tokens });
            prompt = shorter;
            clears = true;
        }
    }
    ((is_compacted || clears).then_some(prompt), applied)
}

/// Drops all in front of the last summary; says whether there is one.
pub(crate) fn drop_compacted(messages: &mut Vec<Message>) -> bool {
    let summary = |message: &Message| message.blocks.iter().rposition(Block::is_compaction);
    let Some((at, block)) = messages.iter().enumerate().rev().find_map(|(at, one)| Some((at, summary(one)?)))
    else {
        return false;
    };
    messages.drain(..at);
    messages.iter_mut().take(1).for_each(|first| drop(first.blocks.drain(..block)));
    true
}

/// Ids of the calls whose results are to be left out.
fn cleared(messages: &[Message], clear: &ClearToolUses, tokens: u64) -> Vec<String> {
    let blocks = || messages.iter().flat_map(|message| &message.blocks);
    let calls: Vec<&Block> = blocks().filter(|block| block.kind == "tool_use").collect();
    let is_due = match clear.trigger {
        Trigger::InputTokens(most) => tokens > most,
        Trigger::ToolUses(most) => calls.len() as u64 > most,
    };
    if !is_due {
        return Vec::new();
    }
    let old = calls.len().saturating_sub(usize::try_from(clear.keep).unwrap_or(usize::MAX));
    let stays = |call: &&&Block| !clear.exclude.contains(&call.name);
    calls.iter().take(old).filter(stays).map(|call| call.id.clone()).collect()
}

/// Puts a placeholder where these calls' results stand; how many there are.
fn leave_out(messages: &mut [Message], calls: &[String], inputs: bool) -> u64 {
    let mut count = 0;
    for block in messages.iter_mut().flat_map(|message| &mut message.blocks) {
        if !calls.contains(&block.id) {
            continue;
        }
        match block.kind.as_str() {
            "tool_result" => {
                block.text = format!("tool_use_id=\"{}\"\ntype=\"tool_result\"\n{CLEARED}", block.id);
                block.images = 0;
                count += 1;
            }
            "tool_use" if inputs => {
                let (id, name) = (&block.id, &block.name);
                block.text = format!("id=\"{id}\"\ninput={{}}\nname=\"{name}\"\ntype=\"tool_use\"\n");
            }
            _ => {}
        }
    }
    count
}

/// Stands where a result was.
const CLEARED: &str = "[left out by the server]";
