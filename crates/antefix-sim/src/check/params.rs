//! Parameters that concern the answer.

use antefix_models::Rules;

use crate::error::ApiError;
use crate::request::{Params, Request, Role};

pub(crate) fn check(request: &Request, rules: &Rules) -> Result<(), ApiError> {
    let params = &request.params;
    let max_tokens = params.max_tokens.ok_or_else(|| ApiError::invalid("max_tokens: Field required"))?;
    let most = rules.max_output.0;
    if max_tokens > most {
        return Err(ApiError::invalid(format!(
            "max_tokens: {max_tokens} > {most}, which is the maximum allowed number of output tokens for {}",
            request.model
        )));
    }
    match params.thinking.kind.as_str() {
        "" | "enabled" | "adaptive" | "disabled" => {}
        _ => {
            return Err(ApiError::invalid(
                "thinking.type: Input should be 'enabled', 'adaptive' or 'disabled'",
            ));
        }
    }
    if max_tokens == 0 {
        return check_warming(request);
    }
    check_budget(params, max_tokens)?;
    check_previews(params)
}

/// `max_tokens: 0` writes the cache without an answer; what needs an answer is refused.
fn check_warming(request: &Request) -> Result<(), ApiError> {
    let params = &request.params;
    let problem = if params.stream {
        "stream"
    } else if params.thinking.is_enabled() {
        "thinking.type=enabled"
    } else if !params.format.is_empty() {
        "output_config.format"
    } else if matches!(params.tool_choice.as_str(), "any" | "tool") {
        "tool_choice any or tool"
    } else if request.messages.last().is_some_and(|message| message.role == Role::Assistant) {
        "a final assistant message"
    } else {
        return check_previews(params);
    };
    Err(ApiError::invalid(format!("max_tokens: 0 cannot be combined with {problem}")))
}

fn check_budget(params: &Params, max_tokens: u64) -> Result<(), ApiError> {
    if !params.thinking.is_enabled() {
        return Ok(());
    }
    match params.thinking.budget {
        None => Err(ApiError::invalid("thinking.enabled.budget_tokens: Field required")),
        Some(budget) if budget < 1024 => Err(ApiError::invalid(
            "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
        )),
        Some(budget) if budget >= max_tokens => {
            Err(ApiError::invalid("`max_tokens` must be greater than `thinking.budget_tokens`."))
        }
        Some(_) => Ok(()),
    }
}

/// Fields that need a beta header.
fn check_previews(params: &Params) -> Result<(), ApiError> {
    let (asks, compacts) = (!params.context_management.is_empty(), params.edits.compact.is_some());
    let gated = [
        (params.thread.is_some(), "thread", THREADS_BETA),
        (asks && (params.edits.clears() || !compacts), "context_management", CONTEXT_BETA),
        (compacts, "context_management", COMPACT_BETA),
        (params.drop_block, "thinking.block_binding", BINDING_BETA),
    ];
    for (used, field, beta) in gated {
        if used && !params.has_beta(beta) {
            return Err(ApiError::invalid(format!("{field}: Extra inputs are not permitted")));
        }
    }
    Ok(())
}

const THREADS_BETA: &str = "message-threads-2026-08-12";
const CONTEXT_BETA: &str = "context-management-2025-06-27";
pub(super) const COMPACT_BETA: &str = "compact-2026-01-12";
const BINDING_BETA: &str = "thinking-binding-controls-2026-08-01";
