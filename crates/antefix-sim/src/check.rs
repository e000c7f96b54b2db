//! What the API refuses before it reads the cache.

mod markers;
mod messages;
mod params;
mod schema;

pub(crate) use markers::markers;

use std::collections::BTreeSet;

use antefix_models::Rules;

use crate::config::Config;
use crate::error::ApiError;
use crate::request::{Request, Tool};

/// Checks a request that may be long enough to be sent to the model; counting tokens needs the same.
pub(crate) fn check(request: &Request, rules: &Rules, config: &Config) -> Result<(), ApiError> {
    tools(request)?;
    system(request)?;
    messages::check(request, rules, config)
}

/// Checks what concerns the answer: `max_tokens`, thinking, pre-warming, thread and preview fields.
pub(crate) fn check_answer(request: &Request, rules: &Rules) -> Result<(), ApiError> {
    params::check(request, rules)
}

fn tools(request: &Request) -> Result<(), ApiError> {
    let tools = &request.tools;
    if !tools.is_empty() && tools.iter().all(|tool| tool.deferred) {
        return Err(ApiError::invalid("tools: At least one tool must have defer_loading=false"));
    }
    let mut names = BTreeSet::new();
    for (index, tool) in tools.iter().enumerate() {
        check_tool(index, tool)?;
        if !names.insert(tool.name.as_str()) {
            return Err(ApiError::invalid("tools: Tool names must be unique."));
        }
    }
    let forced = &request.params.forced_tool;
    if request.params.tool_choice == "tool" && !tools.iter().any(|tool| tool.name == *forced) {
        return Err(ApiError::invalid(format!("tool_choice: Tool '{forced}' not found in provided tools")));
    }
    Ok(())
}

fn check_tool(index: usize, tool: &Tool) -> Result<(), ApiError> {
    if tool.name.is_empty() {
        return Err(ApiError::invalid(format!(
            "tools.{index}.name: String should have at least 1 character"
        )));
    }
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    if tool.custom && (tool.name.len() > 128 || !tool.name.chars().all(plain)) {
        let problem = "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'";
        return Err(ApiError::invalid(format!("tools.{index}.custom.name: {problem}")));
    }
    if let Some(schema) = &tool.schema {
        schema::check(&format!("tools.{index}.custom"), schema)?;
    }
    if tool.deferred && tool.marker.is_some() {
        let problem = "cache_control cannot be set on a tool with defer_loading=true";
        return Err(ApiError::invalid(format!("tools.{index}.cache_control: {problem}")));
    }
    Ok(())
}

fn system(request: &Request) -> Result<(), ApiError> {
    for block in &request.system {
        if block.kind != "text" {
            return Err(ApiError::invalid(format!("{}.type: Input should be 'text'", block.path)));
        }
        markers::check_block(block)?;
        if block.plain.is_empty() {
            return Err(ApiError::invalid("system: text content blocks must be non-empty"));
        }
    }
    Ok(())
}
