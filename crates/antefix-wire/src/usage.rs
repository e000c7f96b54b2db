//! The usage object of a response: what a request read from, wrote to and left out of the cache.
//!
//! Fields are those of the `anthropic` SDK 2.14.0 (`usage.py`, `beta_usage.py`, `message_delta_usage.py`,
//! November 2026) and, in `usage/chat.rs`, those of Chat Completions. All of them may be absent or `null`; a count
//! that was not given stays `None` and never becomes zero. What is not a whole number in range counts as not given.

mod chat;

pub use chat::ReportedCost;

use crate::json::{Kind, Node, compact};

/// Token counts and terms of one response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens behind the last cache hit or write, at the full price: `input_tokens`.
    pub input: Option<u64>,
    /// Tokens read from the cache: `cache_read_input_tokens`.
    pub cache_read: Option<u64>,
    /// Tokens written to the cache: `cache_creation_input_tokens`.
    pub cache_write: Option<u64>,
    /// Of these, to live five minutes: `cache_creation.ephemeral_5m_input_tokens`.
    pub cache_write_5m: Option<u64>,
    /// Of these, to live one hour: `cache_creation.ephemeral_1h_input_tokens`.
    pub cache_write_1h: Option<u64>,
    /// Tokens generated: `output_tokens`.
    pub output: Option<u64>,
    /// Of these, thinking: `output_tokens_details.thinking_tokens`.
    pub thinking: Option<u64>,
    /// Web searches made by the server: `server_tool_use.web_search_requests`.
    pub web_searches: Option<u64>,
    /// Web pages fetched by the server: `server_tool_use.web_fetch_requests`.
    pub web_fetches: Option<u64>,
    /// `standard`, `priority` or `batch`.
    pub service_tier: Option<String>,
    /// `standard` or `fast`.
    pub speed: Option<String>,
    /// Where inference was performed.
    pub inference_geo: Option<String>,
    /// The outcome of a fallback credit, as raw JSON.
    pub fallback_credit: Option<String>,
    /// The sampling iterations behind the response, in order; empty where none are given.
    pub iterations: Vec<Iteration>,
    /// What the server says the response cost, where it says so.
    pub reported_cost: Option<ReportedCost>,
}

impl Usage {
    /// Whether it says how many tokens were read or written at all, as whole numbers.
    pub fn says_tokens(&self) -> bool {
        self.input.is_some() || self.output.is_some()
    }

    /// Reads a usage object of either API, which the names of its members tell; an empty usage for anything else.
    ///
    /// The counts of Chat Completions include the cached ones; here `input` is always what is left without them.
    pub fn read(node: Node<'_>) -> Self {
        if chat::is_chat(node) { chat::read(node) } else { Self::read_messages(node) }
    }

    fn read_messages(node: Node<'_>) -> Self {
        let nested = |key: &str, inner: &str| node.get(key).and_then(|value| count(value, inner));
        let text = |key: &str| text(node, key);
        let [input, cache_read, cache_write, cache_write_5m, cache_write_1h, output] = counts(node);
        Self {
            input,
            cache_read,
            cache_write,
            cache_write_5m,
            cache_write_1h,
            output,
            thinking: nested("output_tokens_details", "thinking_tokens"),
            web_searches: nested("server_tool_use", "web_search_requests"),
            web_fetches: nested("server_tool_use", "web_fetch_requests"),
            service_tier: text("service_tier"),
            speed: text("speed"),
            inference_geo: text("inference_geo"),
            fallback_credit: node
                .get("fallback_credit")
                .filter(|value| !value.is_null())
                .map(|value| value.raw().to_owned()),
            iterations: node
                .get("iterations")
                .map(|list| list.items().map(Iteration::read).collect())
                .unwrap_or_default(),
            reported_cost: None,
        }
    }

    /// Takes over what a later usage object of the same response gives.
    ///
    /// The counts of a `message_delta` are totals, so they replace and are not added; what it leaves out or
    /// gives as `null` keeps the value of `message_start`, the split of the writes by TTL among it.
    pub fn merge_cumulative(&mut self, later: &Usage) {
        replace(&mut self.input, later.input.as_ref());
        replace(&mut self.cache_read, later.cache_read.as_ref());
        replace(&mut self.cache_write, later.cache_write.as_ref());
        replace(&mut self.cache_write_5m, later.cache_write_5m.as_ref());
        replace(&mut self.cache_write_1h, later.cache_write_1h.as_ref());
        replace(&mut self.output, later.output.as_ref());
        replace(&mut self.thinking, later.thinking.as_ref());
        replace(&mut self.web_searches, later.web_searches.as_ref());
        replace(&mut self.web_fetches, later.web_fetches.as_ref());
        replace(&mut self.service_tier, later.service_tier.as_ref());
        replace(&mut self.speed, later.speed.as_ref());
        replace(&mut self.inference_geo, later.inference_geo.as_ref());
        replace(&mut self.fallback_credit, later.fallback_credit.as_ref());
        replace(&mut self.reported_cost, later.reported_cost.as_ref());
        if !later.iterations.is_empty() {
            self.iterations.clone_from(&later.iterations);
        }
    }

    /// All input tokens: read, written and uncached; `None` where none of the three is given.
    pub fn total_input(&self) -> Option<u64> {
        total([self.input, self.cache_read, self.cache_write.or_else(|| self.split_sum())])
    }

    /// Tokens written to live one hour.
    pub fn written_1h(&self) -> u64 {
        self.cache_write_1h.unwrap_or(0)
    }

    /// Tokens written to live five minutes: all that the split does not name as one hour.
    ///
    /// A `message_delta` carries no split, and markers the server adds after its own tools live five minutes,
    /// so what its total shows beyond the split of `message_start` belongs here. Without any split all writes
    /// count as five minutes.
    pub fn written_5m(&self) -> u64 {
        let beyond = self.cache_write.unwrap_or(0).saturating_sub(self.written_1h());
        beyond.max(self.cache_write_5m.unwrap_or(0))
    }

    /// The iterations whose tokens the counts above leave out: compactions and advisor calls.
    pub fn extra_iterations(&self) -> impl Iterator<Item = &Iteration> {
        self.iterations
            .iter()
            .filter(|one| matches!(one.kind, IterationKind::Compaction | IterationKind::Advisor))
    }

    /// The input tokens of the last message iteration, which is the size of the context; without iterations,
    /// all input tokens.
    pub fn context(&self) -> Option<u64> {
        let is_message =
            |one: &&Iteration| matches!(one.kind, IterationKind::Message | IterationKind::Fallback);
        match self.iterations.iter().rfind(is_message) {
            Some(last) => last.total_input(),
            None => self.total_input(),
        }
    }

    fn split_sum(&self) -> Option<u64> {
        total([self.cache_write_5m, self.cache_write_1h])
    }
}

/// What an iteration was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IterationKind {
    /// `message`
    Message,
    /// `compaction`; not part of the response's own counts.
    Compaction,
    /// `advisor_message`; not part of the response's own counts.
    Advisor,
    /// `fallback_message`: a fallback model served the response.
    Fallback,
    /// Any other type, or none.
    Other,
}

/// One sampling iteration behind a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iteration {
    /// What it was for.
    pub kind: IterationKind,
    /// The model it ran on, where it is told.
    pub model: Option<String>,
    /// `input_tokens`
    pub input: Option<u64>,
    /// `cache_read_input_tokens`
    pub cache_read: Option<u64>,
    /// `cache_creation_input_tokens`
    pub cache_write: Option<u64>,
    /// `cache_creation.ephemeral_5m_input_tokens`
    pub cache_write_5m: Option<u64>,
    /// `cache_creation.ephemeral_1h_input_tokens`
    pub cache_write_1h: Option<u64>,
    /// `output_tokens`
    pub output: Option<u64>,
}

impl Iteration {
    /// Reads one entry of `iterations`.
    pub fn read(node: Node<'_>) -> Self {
        let [input, cache_read, cache_write, cache_write_5m, cache_write_1h, output] = counts(node);
        let kind = match text(node, "type").as_deref() {
            Some("message") => IterationKind::Message,
            Some("compaction") => IterationKind::Compaction,
            Some("advisor_message") => IterationKind::Advisor,
            Some("fallback_message") => IterationKind::Fallback,
            _ => IterationKind::Other,
        };
        let model = text(node, "model");
        Self { kind, model, input, cache_read, cache_write, cache_write_5m, cache_write_1h, output }
    }

    /// All input tokens: read, written and uncached; `None` where none of the three is given.
    pub fn total_input(&self) -> Option<u64> {
        total([self.input, self.cache_read, self.cache_write])
    }
}

/// Writes the usage object that `later` makes of `earlier`: members that `later` gives and that are not
/// `null` take the place of the earlier ones, new ones follow; the raw counterpart of
/// [`Usage::merge_cumulative`].
pub fn merge_json(earlier: Node<'_>, later: Node<'_>) -> Vec<u8> {
    let mut out = vec![b'{'];
    let mut write = |key: Node<'_>, value: Node<'_>| {
        if out.len() > 1 {
            out.push(b',');
        }
        compact(&mut out, key);
        out.push(b':');
        compact(&mut out, value);
    };
    let given = |holder: Node<'_>, key: Node<'_>| key.str().is_some_and(|key| holder.get(&key).is_some());
    for (key, value) in earlier.members() {
        let newer = key.str().and_then(|key| later.get(&key)).filter(|value| !value.is_null());
        write(key, newer.unwrap_or(value));
    }
    for (key, value) in later.members().filter(|(key, _)| !given(earlier, *key)) {
        write(key, value);
    }
    out.push(b'}');
    out
}

fn counts(node: Node<'_>) -> [Option<u64>; 6] {
    let written = |key: &str| node.get("cache_creation").and_then(|value| count(value, key));
    [
        count(node, "input_tokens"),
        count(node, "cache_read_input_tokens"),
        count(node, "cache_creation_input_tokens"),
        written("ephemeral_5m_input_tokens"),
        written("ephemeral_1h_input_tokens"),
        count(node, "output_tokens"),
    ]
}

fn count(node: Node<'_>, key: &str) -> Option<u64> {
    node.get(key).and_then(Node::u64)
}

fn text(node: Node<'_>, key: &str) -> Option<String> {
    let value = node.get(key).filter(|value| value.kind() == Kind::String)?;
    value.str().map(|text| text.into_owned())
}

fn replace<T: Clone>(earlier: &mut Option<T>, later: Option<&T>) {
    if let Some(later) = later {
        *earlier = Some(later.clone());
    }
}

fn total<const N: usize>(parts: [Option<u64>; N]) -> Option<u64> {
    let given = parts.into_iter().flatten();
    given.reduce(u64::saturating_add)
}
