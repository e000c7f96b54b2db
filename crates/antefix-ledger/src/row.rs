use antefix_models::{Counts, Tokens};
use antefix_wire::json::Node;
use antefix_wire::usage::Usage;

/// How a vendor counts the cached part of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Convention {
    /// Outside the input: `input_tokens` is what is behind the last cache hit or write. Anthropic.
    Exclusive,
    /// Inside the input: `input_tokens` or `prompt_tokens` is the whole prompt. OpenAI.
    Inclusive,
    /// Inside the input, under the names of the OpenTelemetry conventions for generative AI.
    Telemetry,
}

impl Convention {
    /// The convention of a named dialect.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "anthropic" => Some(Self::Exclusive),
            "otel" | "opentelemetry" => Some(Self::Telemetry),
            name if name.starts_with("openai") || matches!(name, "codex" | "gemini") => Some(Self::Inclusive),
            _ => None,
        }
    }

    /// Guesses from the members of a usage object.
    pub fn detect(usage: Node<'_>) -> Self {
        let has = |name: &str| usage.get(name).is_some();
        if usage.members().any(|(key, _)| key.str().is_some_and(|key| key.starts_with("gen_ai."))) {
            Self::Telemetry
        } else if ["prompt_tokens", "input_tokens_details", "cached_input_tokens"]
            .iter()
            .any(|name| has(name))
        {
            Self::Inclusive
        } else {
            Self::Exclusive
        }
    }
}

/// Whether a number was counted by the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Exactness {
    /// As the provider counted.
    Exact,
    /// Something was missing or contradicted itself, and was filled in.
    Estimated,
}

/// The usage of one response; the parts do not overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Tokens by billing category.
    pub counts: Counts,
    /// Of the output, thinking.
    pub reasoning: Tokens,
    /// Whether all of it was counted by the provider.
    pub exactness: Exactness,
}

impl Row {
    /// Reads a usage object.
    ///
    /// Writes without a split by lifetime count as five minutes. A cached part larger than the whole it should be
    /// part of leaves no ordinary input and makes the row an estimate.
    pub fn read(usage: Node<'_>, convention: Convention) -> Self {
        match convention {
            Convention::Exclusive => exclusive(&Usage::read(usage)),
            Convention::Inclusive => inclusive(usage),
            Convention::Telemetry => telemetry(usage),
        }
    }

    /// The share of the prompt that was read from the cache, in 1/10,000; `None` without a prompt.
    pub fn read_share(&self) -> Option<u64> {
        self.counts.read.0.saturating_mul(10_000).checked_div(self.counts.prompt().0)
    }
}

/// A sum of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Number of rows.
    pub rows: usize,
    /// Tokens by billing category.
    pub counts: Counts,
    /// Of the output, thinking.
    pub reasoning: Tokens,
    /// How many of the rows are estimates.
    pub estimated: usize,
}

impl Totals {
    /// Adds rows up.
    pub fn of<'r>(rows: impl IntoIterator<Item = &'r Row>) -> Self {
        let mut totals = Self::default();
        for row in rows {
            let (sum, one) = (&mut totals.counts, row.counts);
            sum.uncached += one.uncached;
            sum.read += one.read;
            sum.write_5m += one.write_5m;
            sum.write_1h += one.write_1h;
            sum.output += one.output;
            totals.reasoning += row.reasoning;
            totals.rows += 1;
            totals.estimated += usize::from(row.exactness == Exactness::Estimated);
        }
        totals
    }
}

fn exclusive(usage: &Usage) -> Row {
    let counts = Counts {
        uncached: Tokens(usage.input.unwrap_or(0)),
        read: Tokens(usage.cache_read.unwrap_or(0)),
        write_5m: Tokens(usage.written_5m()),
        write_1h: Tokens(usage.written_1h()),
        output: Tokens(usage.output.unwrap_or(0)),
    };
    let split =
        usage.cache_write_5m.zip(usage.cache_write_1h).map(|(short, long)| short.saturating_add(long));
    let fits = split.is_none_or(|split| usage.cache_write.is_none_or(|all| all == split));
    let complete = usage.input.is_some() && usage.output.is_some() && fits;
    Row { counts, reasoning: Tokens(usage.thinking.unwrap_or(0)), exactness: exactness(complete) }
}

fn inclusive(usage: Node<'_>) -> Row {
    let first = |names: &[&str]| names.iter().find_map(|name| usage.pointer(name).and_then(Node::u64));
    whole(
        first(&["/input_tokens", "/prompt_tokens"]),
        first(&[
            "/input_tokens_details/cached_tokens",
            "/prompt_tokens_details/cached_tokens",
            "/cached_input_tokens",
        ]),
        first(&[
            "/input_tokens_details/cache_write_tokens",
            "/prompt_tokens_details/cache_write_tokens",
            "/cache_write_input_tokens",
        ]),
        first(&["/output_tokens", "/completion_tokens"]),
        first(&[
            "/output_tokens_details/reasoning_tokens",
            "/completion_tokens_details/reasoning_tokens",
            "/reasoning_output_tokens",
        ]),
    )
}

fn telemetry(usage: Node<'_>) -> Row {
    let first = |names: &[&str]| names.iter().find_map(|name| usage.get(name).and_then(Node::u64));
    whole(
        first(&["gen_ai.usage.input_tokens"]),
        first(&["gen_ai.usage.cache_read_tokens", "gen_ai.usage.cache_read.input_tokens"]),
        first(&["gen_ai.usage.cache_write_tokens", "gen_ai.usage.cache_creation.input_tokens"]),
        first(&["gen_ai.usage.output_tokens"]),
        first(&["gen_ai.usage.reasoning_tokens"]),
    )
}

/// A row of counts that are parts of a whole.
fn whole(
    input: Option<u64>,
    read: Option<u64>,
    write: Option<u64>,
    output: Option<u64>,
    reasoning: Option<u64>,
) -> Row {
    let (all, read, write) =
        (Tokens(input.unwrap_or(0)), Tokens(read.unwrap_or(0)), Tokens(write.unwrap_or(0)));
    let counts = Counts {
        uncached: all - (read + write),
        read,
        write_5m: write,
        write_1h: Tokens::ZERO,
        output: Tokens(output.unwrap_or(0)),
    };
    let complete = input.is_some() && output.is_some() && read + write <= all;
    Row { counts, reasoning: Tokens(reasoning.unwrap_or(0)), exactness: exactness(complete) }
}

const fn exactness(complete: bool) -> Exactness {
    if complete { Exactness::Exact } else { Exactness::Estimated }
}

#[cfg(test)]
mod tests {
    use antefix_wire::json::Body;

    use super::*;

    fn check(usage: &str, convention: Convention, expect: ([u64; 5], Exactness)) {
        let body = Body::parse(usage.as_bytes()).unwrap();
        let row = Row::read(body.root(), convention);
        let counts = row.counts;
        let found =
            [counts.uncached, counts.read, counts.write_5m, counts.write_1h, counts.output].map(|one| one.0);
        assert_eq!((found, row.exactness), expect, "{usage}");
        assert_eq!(Convention::detect(body.root()), convention, "{usage}");
    }

    #[test]
    fn each_convention_comes_to_one_form() {
        use Exactness::{Estimated, Exact};
        check(
            r#"{"input_tokens":5,"cache_read_input_tokens":100,"cache_creation_input_tokens":30,"cache_creation":{"ephemeral_5m_input_tokens":10,"ephemeral_1h_input_tokens":20},"output_tokens":7}"#,
            Convention::Exclusive,
            ([5, 100, 10, 20, 7], Exact),
        );
        check(r#"{"input_tokens":5}"#, Convention::Exclusive, ([5, 0, 0, 0, 0], Estimated));
        check(
            r#"{"input_tokens":135,"input_tokens_details":{"cached_tokens":100,"cache_write_tokens":30},"output_tokens":7}"#,
            Convention::Inclusive,
            ([5, 100, 30, 0, 7], Exact),
        );
        check(
            r#"{"prompt_tokens":135,"prompt_tokens_details":{"cached_tokens":200},"completion_tokens":7}"#,
            Convention::Inclusive,
            ([0, 200, 0, 0, 7], Estimated),
        );
        check(
            r#"{"gen_ai.usage.input_tokens":135,"gen_ai.usage.cache_read_tokens":100,"gen_ai.usage.output_tokens":7}"#,
            Convention::Telemetry,
            ([35, 100, 0, 0, 7], Exact),
        );
    }
}
