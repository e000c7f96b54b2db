//! Messages: roles, empty content, tool calls and their results, system messages in their midst.

use std::collections::BTreeSet;

use antefix_models::{Rules, Support};

use crate::binding::seal;
use crate::config::Config;
use crate::error::ApiError;
use crate::request::{Block, Message, Request, Role};

use super::markers::check_block;
use super::params::COMPACT_BETA;

pub(crate) fn check(request: &Request, rules: &Rules, config: &Config) -> Result<(), ApiError> {
    let messages = &request.messages;
    match messages.first().map(|message| message.role) {
        None => return Err(ApiError::invalid("messages: at least one message is required")),
        Some(Role::Assistant) => {
            return Err(ApiError::invalid(r#"messages: first message must use the "user" role"#));
        }
        Some(Role::System | Role::User) => {}
    }
    for (index, message) in messages.iter().enumerate() {
        check_content(index, messages)?;
        message.blocks.iter().try_for_each(check_message_block)?;
        message.blocks.iter().try_for_each(|block| check_compaction(block, request))?;
        if message.role == Role::System {
            check_system(index, request, rules)?;
        } else if let Some(block) = message.blocks.iter().find(|block| is_change(block)) {
            return Err(ApiError::invalid(format!(
                "{}: role '{}' does not support {} blocks",
                block.path,
                message.role.name(),
                block.kind
            )));
        }
    }
    check_offers(request)?;
    check_ending(messages)?;
    check_tool_pairs(messages)?;
    if config.thinking_first && request.params.thinking.is_enabled() {
        check_thinking_first(messages)?;
    }
    Ok(())
}

/// Only the last assistant message, and a system message that carries an effort, may be empty.
fn check_content(index: usize, messages: &[Message]) -> Result<(), ApiError> {
    let Some(message) = messages.get(index) else { return Ok(()) };
    let last = index + 1 == messages.len();
    let allowed = match message.role {
        Role::Assistant => last,
        Role::System => message.effort,
        Role::User => false,
    };
    if !message.blocks.is_empty() || allowed {
        return Ok(());
    }
    Err(ApiError::invalid(format!(
        "messages.{index}: all messages must have non-empty content except for the optional final assistant \
         message"
    )))
}

fn check_message_block(block: &Block) -> Result<(), ApiError> {
    check_block(block)?;
    if block.kind == "text" && block.plain.is_empty() {
        return Err(ApiError::invalid("messages: text content blocks must be non-empty"));
    }
    if block.kind == "text" && block.plain.trim().is_empty() {
        return Err(ApiError::invalid("messages: text content blocks must contain non-whitespace text"));
    }
    if let Some(name) = &block.unknown_reference {
        return Err(ApiError::invalid(format!("Tool reference '{name}' not found in available tools")));
    }
    Ok(())
}

/// A summary goes back as it came, and only with the beta that it came with.
fn check_compaction(block: &Block, request: &Request) -> Result<(), ApiError> {
    if !block.is_compaction() {
        return Ok(());
    }
    if !request.params.has_beta(COMPACT_BETA) {
        return Err(ApiError::invalid(format!("{}.type: Input tag 'compaction' is not known", block.path)));
    }
    if block.signature.is_empty() || block.signature == seal(&block.plain) {
        return Ok(());
    }
    Err(ApiError::invalid(format!("{}: `compaction` blocks cannot be modified", block.path)))
}

/// Placement of a system message: after a user turn or a server tool's result, last or before an assistant
/// turn, never first; text and, behind a user turn, tool changes only (page on mid-conversation system messages and tool
/// changes, August 2026). Several in a row are one turn.
fn check_system(index: usize, request: &Request, rules: &Rules) -> Result<(), ApiError> {
    let messages = &request.messages;
    let Some(message) = messages.get(index) else { return Ok(()) };
    let refuse = |problem: &str| Err(ApiError::invalid(format!("messages.{index}.role: {problem}")));
    if rules.in_band_system != Support::Yes {
        return refuse("role 'system' is not supported on this model; use the top-level system parameter");
    }
    let before = messages.iter().take(index).rev().find(|earlier| earlier.role != Role::System);
    let after = messages.iter().skip(index + 1).find(|later| later.role != Role::System);
    match before {
        None => return refuse("a system message cannot be the first message"),
        Some(before) if before.role == Role::Assistant && !ends_in_server_result(before) => {
            return refuse("a system message must follow a user message or a server tool result");
        }
        Some(_) => {}
    }
    if after.is_some_and(|after| after.role == Role::User) {
        return refuse("a system message must be last or be followed by an assistant message");
    }
    let changes = message.blocks.iter().any(is_change);
    if changes && rules.in_band_tools != Support::Yes {
        return refuse("tool changes are not supported on this model");
    }
    if changes && before.is_some_and(|before| before.role == Role::Assistant) {
        return refuse("tool changes cannot follow a paused assistant message");
    }
    if changes && message.clears {
        return Err(ApiError::invalid(format!(
            "messages.{index}: a turn-scoped system message supports text blocks only (clear_at: 'next_user_message')"
        )));
    }
    check_system_blocks(index, message, request)?;
    if message.clears && message.blocks.iter().any(|block| !block.markers.is_empty()) {
        return refuse("cache_control cannot be set on a system message with clear_at");
    }
    Ok(())
}

fn check_system_blocks(index: usize, message: &Message, request: &Request) -> Result<(), ApiError> {
    for block in &message.blocks {
        let inline = request.params.has_beta(INLINE_TOOLS_BETA);
        let takes_changes = inline || request.params.has_beta(TOOL_CHANGES_BETA);
        if block.kind != "text" && !(is_change(block) && takes_changes) {
            return Err(ApiError::invalid(format!("{}.type: Input should be 'text'", block.path)));
        }
        if block.defines && !inline {
            return Err(ApiError::invalid(format!(
                "{}.{}.tool.type: Input should be 'tool_reference'",
                block.path, block.kind
            )));
        }
    }
    let beta_missing = |names: &[&str]| !names.iter().any(|name| request.params.has_beta(name));
    if message.clears && beta_missing(&[CLEAR_AT_BETA]) {
        return Err(ApiError::invalid(format!("messages.{index}.clear_at: Extra inputs are not permitted")));
    }
    if message.effort && beta_missing(&EFFORT_BETAS) {
        return Err(ApiError::invalid(format!(
            "messages.{index}.output_config: Extra inputs are not permitted"
        )));
    }
    Ok(())
}

fn is_change(block: &Block) -> bool {
    matches!(block.kind.as_str(), "tool_addition" | "tool_removal")
}

/// What is withdrawn has to be before the model: declared without `defer_loading`, referred to, or added, and not
/// withdrawn since. The page does not say what the API makes of another removal; it is refused here, so that no client
/// relies on it.
fn check_offers(request: &Request) -> Result<(), ApiError> {
    let mut offered: BTreeSet<&str> =
        request.tools.iter().filter(|tool| !tool.deferred).map(|tool| tool.name.as_str()).collect();
    for block in request.messages.iter().flat_map(|message| &message.blocks) {
        offered.extend(block.offers.iter().map(String::as_str));
        if let Some(name) = &block.withdraws
            && !offered.remove(name.as_str())
        {
            return Err(ApiError::invalid(format!("{}: tool '{name}' is not available here", block.path)));
        }
    }
    Ok(())
}

fn ends_in_server_result(message: &Message) -> bool {
    message.blocks.last().is_some_and(|block| block.kind.ends_with("_tool_result"))
}

fn check_ending(messages: &[Message]) -> Result<(), ApiError> {
    let last = messages.last().filter(|message| message.role == Role::Assistant);
    let Some(block) = last.and_then(|message| message.blocks.last()) else { return Ok(()) };
    if block.kind == "text" && block.plain.ends_with(char::is_whitespace) {
        return Err(ApiError::invalid(
            "messages: final assistant content cannot end with trailing whitespace",
        ));
    }
    Ok(())
}

/// Every tool call has its result in the next turn, every result its call in the turn before, ids are unique.
/// Consecutive messages of one role are one turn; system messages stand outside.
fn check_tool_pairs(messages: &[Message]) -> Result<(), ApiError> {
    let mut seen = BTreeSet::new();
    let turns = turns(messages);
    for (at, turn) in turns.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| turns.get(at));
        check_results(turn, before)?;
        for call in turn.of_kind("tool_use") {
            if !seen.insert(call.id.as_str()) {
                return Err(ApiError::invalid("messages: `tool_use` ids must be unique"));
            }
        }
        check_calls(turn, turns.get(at + 1))?;
    }
    Ok(())
}

fn check_results(turn: &Turn<'_>, before: Option<&Turn<'_>>) -> Result<(), ApiError> {
    let mut answered = BTreeSet::new();
    for result in turn.of_kind("tool_result") {
        let called = before.is_some_and(|before| before.of_kind("tool_use").any(|call| call.id == result.id));
        if !called {
            return Err(ApiError::invalid(format!(
                "{}: unexpected `tool_use_id` found in `tool_result` blocks: {}. Each `tool_result` block must \
                 have a corresponding `tool_use` block in the previous message.",
                result.path, result.id
            )));
        }
        if !answered.insert(result.id.as_str()) {
            return Err(ApiError::invalid(format!(
                "{}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: {}",
                result.path, result.id
            )));
        }
    }
    Ok(())
}

/// A call in the last turn may still be open only if nothing follows it, which no request can answer: the API
/// refuses it as well.
fn check_calls(turn: &Turn<'_>, after: Option<&Turn<'_>>) -> Result<(), ApiError> {
    let answered =
        |id: &str| after.is_some_and(|after| after.of_kind("tool_result").any(|result| result.id == id));
    let open: Vec<&str> =
        turn.of_kind("tool_use").map(|call| call.id.as_str()).filter(|id| !answered(id)).collect();
    if open.is_empty() {
        return Ok(());
    }
    Err(ApiError::invalid(format!(
        "messages.{}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each \
         `tool_use` block must have a corresponding `tool_result` block in the next message.",
        turn.first,
        open.join(", ")
    )))
}

/// The last assistant turn that calls tools starts with thinking (knob `thinking_first`).
fn check_thinking_first(messages: &[Message]) -> Result<(), ApiError> {
    let turns = turns(messages);
    let last = turns.iter().rev().find(|turn| turn.role == Role::Assistant);
    let Some(turn) = last.filter(|turn| turn.of_kind("tool_use").next().is_some()) else { return Ok(()) };
    match turn.blocks.first() {
        Some(block) if !block.is_thinking() => Err(ApiError::invalid(format!(
            "{}.type: Expected `thinking` or `redacted_thinking`, but found `{}`. When `thinking` is enabled, a \
             final `assistant` message must start with a thinking block",
            block.path, block.kind
        ))),
        _ => Ok(()),
    }
}

/// Consecutive messages of one role.
struct Turn<'a> {
    role: Role,
    /// Index of its first message.
    first: usize,
    blocks: Vec<&'a Block>,
}

impl<'a> Turn<'a> {
    fn of_kind(&self, kind: &'static str) -> impl Iterator<Item = &'a Block> {
        self.blocks.iter().copied().filter(move |block| block.kind == kind)
    }
}

fn turns(messages: &[Message]) -> Vec<Turn<'_>> {
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for (first, message) in messages.iter().enumerate().filter(|(_, message)| message.role != Role::System) {
        match turns.last_mut() {
            Some(turn) if turn.role == message.role => turn.blocks.extend(&message.blocks),
            _ => turns.push(Turn { role: message.role, first, blocks: message.blocks.iter().collect() }),
        }
    }
    turns
}

const CLEAR_AT_BETA: &str = "mid-conversation-system-clear-at-2026-08-21";
const TOOL_CHANGES_BETA: &str = "mid-conversation-tool-changes-2026-07-01";
/// The one for additions that define their tool, which takes references as well.
const INLINE_TOOLS_BETA: &str = "inline-tools-2026-09-15";
/// The documented one and the one an official client sends for the same field.
const EFFORT_BETAS: [&str; 2] = ["mid-conversation-output-config-2026-07-01", "per-turn-control-2026-07-01"];
