//! What servers refuse although it can be read.

use std::collections::BTreeSet;

use crate::config::{ChatConfig, TemplateClass};
use crate::error::ApiError;

use super::json::unknown_model;
use super::request::{ChatMessage, ChatRequest, ChatRole, ToolChoice};

/// Checks a request against what the server can do and what its template takes.
pub(crate) fn check(request: &ChatRequest, config: &ChatConfig) -> Result<(), ApiError> {
    if !config.accepts(&request.model) {
        return Err(unknown_model(&request.model));
    }
    if request.messages.is_empty() {
        return Err(ApiError::invalid("'messages' must hold at least one message"));
    }
    tools(request, config)?;
    results(&request.messages)?;
    match config.template {
        TemplateClass::StrictAlternation => alternation(&request.messages),
        TemplateClass::ToolsLate => call_ids(&request.messages),
        TemplateClass::AppendOnly | TemplateClass::ReasoningStripping | TemplateClass::Dated => Ok(()),
    }
}

fn tools(request: &ChatRequest, config: &ChatConfig) -> Result<(), ApiError> {
    if !request.tools.is_empty() && !config.tools {
        let message = format!("the model '{}' does not support tools", request.model);
        return Err(ApiError {
            code: Some("unsupported_parameter".to_owned()),
            ..ApiError::invalid(message)
        });
    }
    let offered = |name: &str| request.tools.iter().any(|tool| tool.name == name);
    match &request.choice {
        ToolChoice::Auto | ToolChoice::None => Ok(()),
        ToolChoice::Required if !request.tools.is_empty() => Ok(()),
        ToolChoice::Named(name) if offered(name) => Ok(()),
        _ => Err(ApiError::invalid("'tool_choice' asks for a tool that is not in 'tools'")),
    }
}

/// Each call is answered, once, by the tool messages that follow it, and nothing else is.
fn results(messages: &[ChatMessage]) -> Result<(), ApiError> {
    let mut open: BTreeSet<&str> = BTreeSet::new();
    for (at, message) in messages.iter().enumerate() {
        if message.role == ChatRole::Tool {
            if !open.remove(message.call_id.as_str()) {
                let rule = "a message with role 'tool' must answer a call of the message with 'tool_calls' before it";
                return Err(ApiError::invalid(format!("'messages[{at}]': {rule}")));
            }
            continue;
        }
        unanswered(&open, at)?;
        for call in &message.calls {
            if !open.insert(&call.id) {
                return Err(ApiError::invalid(format!(
                    "'messages[{at}].tool_calls': id '{}' stands twice",
                    call.id
                )));
            }
        }
    }
    unanswered(&open, messages.len())
}

fn unanswered(open: &BTreeSet<&str>, at: usize) -> Result<(), ApiError> {
    if open.is_empty() {
        return Ok(());
    }
    let ids: Vec<&str> = open.iter().copied().collect();
    let rule = "a message with 'tool_calls' must be followed by a tool message for each call; none for";
    Err(ApiError::invalid(format!("'messages[{at}]': {rule} {}", ids.join(", "))))
}

/// A system message first or not at all; then user and assistant in turn. Tool messages, and assistant
/// messages with calls, are not counted, so a user message directly behind a tool's result is one too many
/// (chat templates of the Mistral and Gemma families, 2024 to 2026).
fn alternation(messages: &[ChatMessage]) -> Result<(), ApiError> {
    let mut expected = ChatRole::User;
    for (at, message) in messages.iter().enumerate() {
        let spoken = match message.role {
            ChatRole::System if at == 0 => continue,
            ChatRole::Tool => continue,
            ChatRole::Assistant if !message.calls.is_empty() => continue,
            role => role,
        };
        if spoken != expected {
            let rule = "after an optional system message, roles must alternate user/assistant/user/assistant";
            return Err(ApiError::invalid(format!("'messages[{at}]': {rule}")));
        }
        expected = if spoken == ChatRole::User { ChatRole::Assistant } else { ChatRole::User };
    }
    Ok(())
}

/// Ids are nine letters or digits (chat templates of the Mistral family since 2024-07).
fn call_ids(messages: &[ChatMessage]) -> Result<(), ApiError> {
    let fits = |id: &str| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let ids = messages.iter().flat_map(|message| &message.calls).map(|call| call.id.as_str());
    match ids.into_iter().find(|id| !fits(id)) {
        None => Ok(()),
        Some(id) => {
            Err(ApiError::invalid(format!("tool call ids must be nine letters or digits, not '{id}'")))
        }
    }
}
