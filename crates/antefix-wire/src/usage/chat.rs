//! The usage of Chat Completions and what servers of the protocol make of it.
//!
//! | server | cached tokens | written tokens | more |
//! |---|---|---|---|
//! | OpenAI | `prompt_tokens_details.cached_tokens` | `prompt_tokens_details.cache_write_tokens` | |
//! | OpenRouter | the same | the same | `cost` in dollars |
//! | DeepSeek | `prompt_cache_hit_tokens` | | `prompt_cache_miss_tokens` |
//! | Moonshot | `cached_tokens` | | |
//! | Qwen | `prompt_tokens_details.cached_tokens` | `prompt_tokens_details.cache_creation_input_tokens` | |
//! | xAI | `prompt_tokens_details.cached_tokens` | | `cost_in_usd_ticks`, 1e10 for a dollar |
//! | llama.cpp | `prompt_tokens_details.cached_tokens`, `timings.cache_n` | | `timings.prompt_n`, `timings.predicted_n` |
//! | vLLM, SGLang | `prompt_tokens_details.cached_tokens`, if started so | | |
//!
//! All of them count the cached tokens within `prompt_tokens`, only `timings.prompt_n` counts without. Sources: the
//! `openai` SDK 3.57.0, openrouter.ai/docs (usage accounting), api-docs.deepseek.com (kv cache), the llama.cpp server
//! since February 2026 (`cached_tokens`); read in November 2026.

use super::{Usage, count, text};
use crate::json::{Kind, Node};

/// What a server says that a response cost.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReportedCost {
    /// Dollars, as the text of a JSON number: `cost` of OpenRouter.
    Dollars(String),
    /// Parts of a dollar, of which 1e10 make one: `cost_in_usd_ticks` of xAI.
    Ticks(u64),
}

/// Whether a usage object is one of Chat Completions.
pub(super) fn is_chat(usage: Node<'_>) -> bool {
    ["prompt_tokens", "completion_tokens", "timings"].iter().any(|key| usage.get(key).is_some())
}

pub(super) fn read(usage: Node<'_>) -> Usage {
    let at = |pointer: &str| usage.pointer(pointer).and_then(Node::u64);
    let cache_read = at("/prompt_tokens_details/cached_tokens")
        .or_else(|| at("/prompt_cache_hit_tokens"))
        .or_else(|| at("/cached_tokens"))
        .or_else(|| at("/timings/cache_n"));
    let cache_write = at("/prompt_tokens_details/cache_write_tokens")
        .or_else(|| at("/prompt_tokens_details/cache_creation_input_tokens"));
    let cached = cache_read.unwrap_or(0).saturating_add(cache_write.unwrap_or(0));
    let outside = count(usage, "prompt_tokens").map(|all| all.saturating_sub(cached));
    let thinking = at("/completion_tokens_details/reasoning_tokens");
    Usage {
        input: outside.or_else(|| at("/timings/prompt_n")),
        cache_read,
        cache_write,
        output: output(usage, thinking).or_else(|| at("/timings/predicted_n")),
        thinking,
        service_tier: text(usage, "service_tier"),
        reported_cost: reported_cost(usage),
        ..Usage::default()
    }
}

/// All that was generated. xAI counts reasoning beside `completion_tokens`, which the total then shows.
fn output(usage: Node<'_>, thinking: Option<u64>) -> Option<u64> {
    let output = count(usage, "completion_tokens")?;
    let total = count(usage, "prompt_tokens").zip(count(usage, "total_tokens"));
    let with_thinking = output.saturating_add(thinking.unwrap_or(0));
    let is_beside = total.is_some_and(|(prompt, all)| all == prompt.saturating_add(with_thinking));
    Some(if is_beside { with_thinking } else { output })
}

fn reported_cost(usage: Node<'_>) -> Option<ReportedCost> {
    if let Some(ticks) = count(usage, "cost_in_usd_ticks") {
        return Some(ReportedCost::Ticks(ticks));
    }
    let cost = usage.get("cost").filter(|cost| cost.kind() == Kind::Number)?;
    Some(ReportedCost::Dollars(cost.raw().to_owned()))
}
