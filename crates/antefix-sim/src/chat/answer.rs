//! From a scripted reply to a completion.

use crate::binding::Digest;
use crate::config::TemplateClass;
use crate::script::{Reply, Say};

use super::choice::obey;
use super::request::ChatRequest;
use super::template::render_answer;
use super::token::pieces;

/// A completion to be returned.
#[derive(Clone, Debug)]
pub(crate) struct Completion {
    pub id: String,
    /// Seconds since the epoch.
    pub created: u64,
    pub model: String,
    pub said: Vec<Said>,
    pub finish: &'static str,
    pub usage: ChatUsage,
}

/// A part of what the model says, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    Reasoning(String),
    Text(String),
    Call { id: String, name: String, arguments: String },
}

impl Said {
    /// Its generated tokens.
    fn tokens(&self) -> u64 {
        let count = |text: &str| pieces(text).count() as u64;
        match self {
            Self::Reasoning(text) => count(text) + 2,
            Self::Text(text) => count(text),
            Self::Call { name, arguments, .. } => count(name) + count(arguments) + 3,
        }
    }

    /// Cuts it to so many tokens.
    fn shorten(&mut self, tokens: u64) {
        let first = |text: &str, tokens: u64| pieces(text).take(tokens as usize).collect::<String>();
        match self {
            Self::Reasoning(text) => *text = first(text, tokens.saturating_sub(1)),
            Self::Text(text) => *text = first(text, tokens),
            Self::Call { name, arguments, .. } => {
                let named = pieces(name).count() as u64 + 2;
                *arguments = first(arguments, tokens.saturating_sub(named));
            }
        }
    }
}

/// Token figures of a completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChatUsage {
    pub prompt: u64,
    /// Of the prompt's.
    pub cached: u64,
    pub output: u64,
    /// Of the output's.
    pub reasoning: u64,
}

/// Composes what the model says. Ids are derived from the request, so that the same request gets the same
/// answer; what the request forbids is left out, what it demands is there.
pub(crate) fn compose(
    request: &ChatRequest,
    body: &[u8],
    reply: &Reply,
    template: TemplateClass,
) -> (Vec<Said>, &'static str) {
    let mut said = Vec::new();
    for (index, say) in reply.says.iter().enumerate() {
        match say {
            Say::Think(text) if request.thinks => said.push(Said::Reasoning(text.clone())),
            Say::Think(_) | Say::Redacted(_) | Say::Server { .. } => {}
            Say::Text(text) => said.push(Said::Text(text.clone())),
            Say::Tool { name, input } => {
                let (name, arguments) = (name.clone(), input.clone());
                said.push(Said::Call { id: call_id(body, index, template), name, arguments });
            }
        }
    }
    obey(&mut said, request, || call_id(body, reply.says.len(), template));
    let finish = finish(&mut said, request, reply);
    (said, finish)
}

/// The figures of an answer to a prompt.
pub(crate) fn usage(prompt: usize, cached: usize, said: &[Said], reply: &Reply) -> ChatUsage {
    let reasoning = said.iter().filter(|said| matches!(said, Said::Reasoning(_)));
    let output = said.iter().map(Said::tokens).sum::<u64>() + 1;
    ChatUsage {
        prompt: prompt as u64,
        cached: cached as u64,
        output: reply.output_tokens.unwrap_or(output),
        reasoning: reasoning.map(Said::tokens).sum(),
    }
}

fn finish(said: &mut Vec<Said>, request: &ChatRequest, reply: &Reply) -> &'static str {
    if cut_at_stop(said, &request.stop) {
        return "stop";
    }
    if cut_at_limit(said, request.limit.unwrap_or(u64::MAX)) {
        return "length";
    }
    let calls = said.iter().any(|said| matches!(said, Said::Call { .. }));
    match reply.stop.as_ref().map(|(reason, _)| reason.as_str()) {
        Some("max_tokens" | "model_context_window_exceeded") => "length",
        Some("refusal") => "content_filter",
        Some("tool_use") => "tool_calls",
        Some(_) => "stop",
        None if calls => "tool_calls",
        None => "stop",
    }
}

fn cut_at_stop(said: &mut Vec<Said>, stops: &[String]) -> bool {
    for index in 0..said.len() {
        let Some(Said::Text(text)) = said.get_mut(index) else { continue };
        let found =
            stops.iter().filter(|stop| !stop.is_empty()).filter_map(|stop| text.find(stop.as_str())).min();
        let Some(found) = found else { continue };
        text.truncate(found);
        said.truncate(if found > 0 { index + 1 } else { index });
        return true;
    }
    false
}

/// Cuts the answer after `limit` tokens; a call is left with the arguments it had got to. The token that ends
/// an answer counts as well.
fn cut_at_limit(said: &mut Vec<Said>, limit: u64) -> bool {
    let mut used = 0;
    for index in 0..said.len() {
        let Some(part) = said.get_mut(index) else { break };
        let tokens = part.tokens();
        if used + tokens > limit {
            part.shorten(limit - used);
            said.truncate(if limit > used { index + 1 } else { index });
            return true;
        }
        used += tokens;
    }
    used >= limit
}

/// An id in the form that the template takes: nine letters or digits where it insists on them.
fn call_id(body: &[u8], index: usize, template: TemplateClass) -> String {
    let mut digest = Digest::new();
    digest.part("body", &String::from_utf8_lossy(body));
    digest.part("call", &index.to_string());
    if template == TemplateClass::ToolsLate {
        return format!("{:09x}", digest.0 >> 28);
    }
    format!("call_{:016x}{:08x}", digest.0, digest.1 >> 32)
}

/// What the engine has computed once an answer is complete: all generated tokens but the last, which is only
/// read if the conversation goes on.
pub(crate) fn computed(completion: &Completion) -> Vec<super::token::Token> {
    let mut tokens = render_answer(completion);
    tokens.pop();
    if completion.finish == "length" {
        tokens.pop();
    }
    tokens
}
