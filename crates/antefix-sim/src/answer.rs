//! From a scripted reply to the message the API returns.

mod faults;
mod json;
mod stream;

pub(crate) use faults::{Marks, spoil};
pub(crate) use json::{as_message, error_body, message_body, quoted};
pub(crate) use stream::{cut_oddly, events};

use crate::binding::{Digest, Dropped, Signature, next_ordinal};
use crate::cache::Outcome;
use crate::config::Tokenizer;
use crate::request::Request;
use crate::script::{Reply, Say};

/// A message to be returned.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub id: String,
    pub model: String,
    pub content: Vec<Content>,
    pub stop_reason: String,
    pub stop_sequence: Option<String>,
    pub usage: Usage,
    /// The `diagnostics` member, as JSON; `None` if not asked for.
    pub diagnostics: Option<String>,
    pub dropped: Vec<Dropped>,
    /// The `applied_edits`, as JSON; `None` if none were asked for.
    pub applied: Option<String>,
}

/// A content block with its output tokens.
#[derive(Clone, Debug)]
pub(crate) struct Content {
    pub part: Part,
    pub tokens: u64,
}

impl Content {
    /// A summary of all that was said.
    pub fn summary(text: &str) -> Self {
        Self { part: Part::Compaction(text.to_owned()), tokens: 0 }
    }

    fn new(part: Part, tokenizer: Tokenizer) -> Self {
        let tokens = match &part {
            Part::Text(text) | Part::Thinking { text, .. } => tokenizer.text(text.len()),
            Part::ToolUse { name, input, .. } | Part::ServerToolUse { name, input, .. } => {
                tokenizer.text(name.len() + input.len())
            }
            Part::Redacted(data) => tokenizer.text(data.len()),
            Part::ServerResult { .. } => 0,
            // Counted apart, with the sampling that made it.
            Part::Compaction(_) => 0,
        };
        Self { part, tokens }
    }
}

/// What a content block is.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    Text(String),
    Thinking {
        text: String,
        signature: String,
    },
    Redacted(String),
    ToolUse {
        id: String,
        name: String,
        input: String,
    },
    ServerToolUse {
        id: String,
        name: String,
        input: String,
    },
    ServerResult {
        id: String,
        name: String,
        content: String,
    },
    /// A summary of all that was said.
    Compaction(String),
}

/// Token figures of an answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Usage {
    /// What the first, or only, iteration paid: the figures of `message_start`.
    pub start: Outcome,
    /// Sum over all iterations of server tools.
    pub total: Outcome,
    pub output: u64,
    pub thinking: u64,
    pub searches: u64,
    pub fetches: u64,
    pub speed: String,
    /// What the provider's own summary took, and the tokens it wrote for it.
    pub summary: Option<(Outcome, u64)>,
    /// The answer ends behind that summary.
    pub is_summary_only: bool,
}

/// Composes the content: signatures and ids are derived from the request's digest, so that the same request
/// gets the same answer. Thinking is only shown if the request switched it on.
pub(crate) fn compose(
    request: &Request,
    digest: Digest,
    model: &str,
    reply: &Reply,
    tokenizer: Tokenizer,
) -> Vec<Content> {
    let mut ordinal = next_ordinal(request);
    let mut content = Vec::new();
    let thinks = request.params.thinking.is_on();
    for (index, say) in reply.says.iter().enumerate() {
        let id = |kind: &str| {
            let mut digest = digest;
            digest.part(kind, &index.to_string());
            format!("{kind}_{:016x}{:08x}", digest.0, digest.1 >> 32)
        };
        let mut add = |part| content.push(Content::new(part, tokenizer));
        match say {
            Say::Think(text) if thinks => {
                let signature = Signature::issue(digest, model, ordinal, text).text();
                ordinal = ordinal.saturating_add(1);
                add(Part::Thinking { text: text.clone(), signature });
            }
            Say::Redacted(data) if thinks => add(Part::Redacted(data.clone())),
            Say::Think(_) | Say::Redacted(_) => {}
            Say::Text(text) => add(Part::Text(text.clone())),
            Say::Tool { name, input } => {
                add(Part::ToolUse { id: id("toolu"), name: name.clone(), input: input.clone() });
            }
            Say::Server { name, input, result } => {
                let id = id("srvtoolu");
                add(Part::ServerToolUse { id: id.clone(), name: name.clone(), input: input.clone() });
                add(Part::ServerResult { id, name: name.clone(), content: result.clone() });
            }
        }
    }
    content
}

/// Why and where the model stops: as the script says, at a stop sequence, at `max_tokens`, or by itself.
pub(crate) fn stop(
    content: &mut Vec<Content>,
    request: &Request,
    reply: &Reply,
    tokenizer: Tokenizer,
) -> (String, Option<String>) {
    let limit = request.params.max_tokens.unwrap_or(u64::MAX);
    if let Some(sequence) = cut_at_sequence(content, &request.params.stop_sequences, tokenizer) {
        return ("stop_sequence".to_owned(), Some(sequence));
    }
    if cut_at_limit(content, limit, tokenizer) {
        return ("max_tokens".to_owned(), None);
    }
    if let Some(stop) = &reply.stop {
        return stop.clone();
    }
    let calls = content.iter().any(|content| matches!(content.part, Part::ToolUse { .. }));
    (if calls { "tool_use" } else { "end_turn" }.to_owned(), None)
}

fn cut_at_sequence(content: &mut Vec<Content>, sequences: &[String], tokenizer: Tokenizer) -> Option<String> {
    for index in 0..content.len() {
        let Some(Part::Text(text)) = content.get(index).map(|content| &content.part) else { continue };
        let found =
            sequences.iter().filter_map(|sequence| Some((text.find(sequence.as_str())?, sequence))).min();
        let Some((at, sequence)) = found else { continue };
        let (kept, sequence) = (text.get(..at).unwrap_or_default().to_owned(), sequence.clone());
        content.truncate(index);
        if !kept.is_empty() {
            content.push(Content::new(Part::Text(kept), tokenizer));
        }
        return Some(sequence);
    }
    None
}

/// Cuts the content after `limit` tokens; a tool call is left with the input it had got to.
fn cut_at_limit(content: &mut Vec<Content>, limit: u64, tokenizer: Tokenizer) -> bool {
    let mut used = 0;
    for index in 0..content.len() {
        let Some(block) = content.get_mut(index) else { break };
        if used + block.tokens <= limit {
            used += block.tokens;
            continue;
        }
        let room = limit - used;
        match &mut block.part {
            Part::Text(text) | Part::Thinking { text, .. } => shorten(text, room, tokenizer),
            Part::ToolUse { name, input, .. } | Part::ServerToolUse { name, input, .. } => {
                let room = room.saturating_sub(tokenizer.text(name.len()));
                shorten(input, room, tokenizer);
            }
            Part::Redacted(_) | Part::ServerResult { .. } | Part::Compaction(_) => {}
        }
        block.tokens = room;
        let keep = if room > 0 { index + 1 } else { index };
        content.truncate(keep);
        return true;
    }
    false
}

fn shorten(text: &mut String, tokens: u64, tokenizer: Tokenizer) {
    while !text.is_empty() && tokenizer.text(text.len()) > tokens {
        text.pop();
    }
}
