//! `tool_choice` and `parallel_tool_calls`: what a scripted answer has to obey.

use super::answer::Said;
use super::request::{ChatRequest, ToolChoice};

/// Leaves out calls that the request forbids and adds the one it demands.
pub(crate) fn obey(said: &mut Vec<Said>, request: &ChatRequest, id: impl Fn() -> String) {
    let demanded = match &request.choice {
        ToolChoice::Auto => None,
        ToolChoice::None => {
            said.retain(|said| !matches!(said, Said::Call { .. }));
            None
        }
        ToolChoice::Required => request.tools.first().map(|tool| (tool.name.as_str(), false)),
        ToolChoice::Named(name) => Some((name.as_str(), true)),
    };
    if let Some((name, alone)) = demanded {
        let fits = |said: &Said| matches!(said, Said::Call { name: called, .. } if !alone || called == name);
        said.retain(|said| fits(said) || matches!(said, Said::Reasoning(_)));
        if !said.iter().any(fits) {
            said.push(Said::Call { id: id(), name: name.to_owned(), arguments: "{}".to_owned() });
        }
    }
    if !request.parallel {
        let mut calls = 0;
        said.retain(|said| {
            calls += usize::from(matches!(said, Said::Call { .. }));
            calls <= 1 || !matches!(said, Said::Call { .. })
        });
    }
}
