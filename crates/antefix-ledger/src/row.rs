use antefix_models::{Counts, Modifiers, Tokens};
use antefix_wire::json::Node;
use antefix_wire::usage::{Iteration, IterationKind, Usage};

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
        } else if ["prompt_tokens", "input_tokens_details", "cached_input_tokens", "promptTokenCount"]
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

/// One of the numbers of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Number {
    /// Input that was neither read from nor written to a cache.
    Ordinary,
    /// Input read from the cache.
    Read,
    /// Input written to live five minutes, or for as long as the vendor's short entries do.
    Write5m,
    /// Input written to live one hour, or for as long as the vendor's long entries do.
    Write1h,
    /// Output, thinking included.
    Output,
    /// Of the output, thinking.
    Reasoning,
    /// Web searches the provider made.
    WebSearches,
}

impl Number {
    /// Every number, in the order in which they are printed.
    pub const ALL: [Self; 7] = [
        Self::Ordinary,
        Self::Read,
        Self::Write5m,
        Self::Write1h,
        Self::Output,
        Self::Reasoning,
        Self::WebSearches,
    ];

    /// The name in files and output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ordinary => "ordinary",
            Self::Read => "read",
            Self::Write5m => "write_5m",
            Self::Write1h => "write_1h",
            Self::Output => "output",
            Self::Reasoning => "reasoning",
            Self::WebSearches => "web_searches",
        }
    }
}

/// Which numbers of a row are estimates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Estimated(u8);

impl Estimated {
    /// The same with one more.
    #[must_use]
    pub const fn with(self, number: Number) -> Self {
        Self(self.0 | 1 << number as u8)
    }

    /// Whether that number is an estimate.
    pub const fn contains(self, number: Number) -> bool {
        self.0 & (1 << number as u8) != 0
    }

    /// Whether no number is.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The estimates, in the order of [`Number::ALL`].
    pub fn numbers(self) -> impl Iterator<Item = Number> {
        Number::ALL.into_iter().filter(move |number| self.contains(*number))
    }

    /// The names of the estimates with commas between them, as files have them.
    pub fn names(self) -> String {
        self.numbers().map(Number::name).collect::<Vec<_>>().join(",")
    }

    /// Reads [`names`](Self::names); `None` if a name is not known.
    pub fn from_names(names: &str) -> Option<Self> {
        let mut all = names.split(',').filter(|name| !name.is_empty());
        all.try_fold(Self::default(), |sum, name| {
            Some(sum.with(*Number::ALL.iter().find(|number| number.name() == name)?))
        })
    }

    fn when(self, missing: bool, number: Number) -> Self {
        if missing { self.with(number) } else { self }
    }
}

/// The usage of one response; the parts do not overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Tokens by billing category.
    pub counts: Counts,
    /// Of the output, thinking.
    pub reasoning: Tokens,
    /// Web searches the provider made, each with a price of its own.
    pub web_searches: u64,
    /// Which of the numbers the provider did not count.
    pub estimated: Estimated,
}

impl Row {
    /// Reads a usage object. What other samplings behind the same response used is not in it: see
    /// [`samplings`].
    ///
    /// Writes without a split by lifetime count as five minutes, as an estimate. A cached part larger than the whole
    /// it should be part of leaves no ordinary input, as an estimate.
    pub fn read(usage: Node<'_>, convention: Convention) -> Self {
        match convention {
            Convention::Exclusive => exclusive(&Usage::read(usage)),
            Convention::Inclusive => inclusive(usage),
            Convention::Telemetry => telemetry(usage),
        }
    }

    /// One of its numbers.
    pub fn number(&self, number: Number) -> u64 {
        match number {
            Number::Ordinary => self.counts.uncached.0,
            Number::Read => self.counts.read.0,
            Number::Write5m => self.counts.write_5m.0,
            Number::Write1h => self.counts.write_1h.0,
            Number::Output => self.counts.output.0,
            Number::Reasoning => self.reasoning.0,
            Number::WebSearches => self.web_searches,
        }
    }

    /// Whether the provider counted that number.
    pub const fn exactness(&self, number: Number) -> Exactness {
        if self.estimated.contains(number) { Exactness::Estimated } else { Exactness::Exact }
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
    /// Web searches the provider made.
    pub web_searches: u64,
    /// How many of the rows hold an estimate.
    pub estimated: usize,
}

impl Totals {
    /// Adds rows up.
    pub fn of<'r>(rows: impl IntoIterator<Item = &'r Row>) -> Self {
        let mut totals = Self::default();
        rows.into_iter().for_each(|row| totals.add(row));
        totals
    }

    /// Adds a row.
    pub fn add(&mut self, row: &Row) {
        let (sum, one) = (&mut self.counts, row.counts);
        sum.uncached += one.uncached;
        sum.read += one.read;
        sum.write_5m += one.write_5m;
        sum.write_1h += one.write_1h;
        sum.output += one.output;
        self.reasoning += row.reasoning;
        self.web_searches = self.web_searches.saturating_add(row.web_searches);
        self.rows += 1;
        self.estimated += usize::from(!row.estimated.is_empty());
    }
}

/// One sampling behind a response: the response itself, or a compaction or an advisor's answer on the way to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sampling {
    /// What it was for.
    pub purpose: Purpose,
    /// The model, where it is another one than the request asked for.
    pub model: Option<String>,
    /// What it used.
    pub row: Row,
}

/// What a sampling was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Purpose {
    /// The response.
    Message,
    /// A summary that the conversation goes on from: a request of its own, or the provider on the way to a response.
    Compaction,
    /// Another model gave advice.
    Advisor,
    /// An earlier request was made once more so that its cache entry lives on.
    Warm,
    /// The response, in the session of a subagent.
    Subagent,
}

impl Purpose {
    /// The name in files and output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Compaction => "compaction",
            Self::Advisor => "advisor",
            Self::Warm => "warm",
            Self::Subagent => "subagent",
        }
    }

    /// The purpose of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [Self::Message, Self::Compaction, Self::Advisor, Self::Warm, Self::Subagent];
        all.into_iter().find(|purpose| purpose.name() == name)
    }
}

/// All samplings that a usage object tells of, each counted once, the response first.
///
/// The top level holds the response, all its message iterations summed; compactions and advisor calls stand in
/// `iterations` alone and are billed too. Source: `beta_usage.py` of the `anthropic` SDK 2.14.0, November 2026.
pub fn samplings(usage: Node<'_>, convention: Convention) -> Vec<Sampling> {
    let main = Sampling { purpose: Purpose::Message, model: None, row: Row::read(usage, convention) };
    let mut all = vec![main];
    if convention == Convention::Exclusive {
        all.extend(Usage::read(usage).extra_iterations().map(|iteration| Sampling {
            purpose: match iteration.kind {
                IterationKind::Compaction => Purpose::Compaction,
                _ => Purpose::Advisor,
            },
            model: iteration.model.clone(),
            row: of_iteration(iteration),
        }));
    }
    all
}

/// What a usage object says of the terms that change the price of the whole request.
///
/// Source: `service_tier`, `speed` and `inference_geo` of `usage.py`, `anthropic` SDK 2.14.0, November 2026.
pub fn modifiers(usage: Node<'_>) -> Modifiers {
    let is = |name: &str, value: &str| usage.get(name).is_some_and(|found| found.is_str(value));
    Modifiers {
        batch: is("service_tier", "batch"),
        fast: is("speed", "fast"),
        geo_us: is("inference_geo", "us"),
        regional: false,
        peak: false,
    }
}

fn exclusive(usage: &Usage) -> Row {
    let given = [
        usage.input,
        usage.cache_read,
        usage.cache_write,
        usage.cache_write_5m,
        usage.cache_write_1h,
        usage.output,
    ];
    Row {
        reasoning: Tokens(usage.thinking.unwrap_or(0)),
        web_searches: usage.web_searches.unwrap_or(0),
        ..outside(given)
    }
}

fn of_iteration(one: &Iteration) -> Row {
    outside([one.input, one.cache_read, one.cache_write, one.cache_write_5m, one.cache_write_1h, one.output])
}

/// A row of counts that stand beside each other: input, read, all writes, short and long ones, output.
fn outside([input, read, write, write_5m, write_1h, output]: [Option<u64>; 6]) -> Row {
    let long = write_1h.unwrap_or(0);
    let short = write.unwrap_or(0).saturating_sub(long).max(write_5m.unwrap_or(0));
    let all = write.unwrap_or_else(|| short.saturating_add(long));
    let split = write_5m.is_some() || write_1h.is_some();
    let fits = all == short.saturating_add(long) && (split || all == 0);
    let counts = Counts {
        uncached: Tokens(input.unwrap_or(0)),
        read: Tokens(read.unwrap_or(0)),
        write_5m: Tokens(short),
        write_1h: Tokens(long),
        output: Tokens(output.unwrap_or(0)),
    };
    let estimated = Estimated::default()
        .when(input.is_none(), Number::Ordinary)
        .when(!fits, Number::Write5m)
        .when(!fits, Number::Write1h)
        .when(output.is_none(), Number::Output);
    Row { counts, estimated, ..Row::default() }
}

/// Gemini's `usageMetadata`: the cached part is inside the prompt, thinking outside the candidates.
fn gemini(usage: Node<'_>) -> Row {
    let count = |name: &str| usage.get(name).and_then(Node::u64);
    let (said, thought) = (count("candidatesTokenCount"), count("thoughtsTokenCount"));
    let output = said.map(|said| said.saturating_add(thought.unwrap_or(0)));
    whole(count("promptTokenCount"), count("cachedContentTokenCount"), None, output, thought)
}

fn inclusive(usage: Node<'_>) -> Row {
    if usage.get("promptTokenCount").is_some() {
        return gemini(usage);
    }
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
    let estimated = Estimated::default()
        .when(input.is_none() || read + write > all, Number::Ordinary)
        .when(output.is_none(), Number::Output);
    Row { counts, reasoning: Tokens(reasoning.unwrap_or(0)), web_searches: 0, estimated }
}

#[cfg(test)]
mod tests {
    use antefix_wire::json::Body;

    use super::*;

    fn check(usage: &str, convention: Convention, expect: ([u64; 5], &str)) {
        let body = Body::parse(usage.as_bytes()).unwrap();
        let row = Row::read(body.root(), convention);
        let counts = row.counts;
        let found =
            [counts.uncached, counts.read, counts.write_5m, counts.write_1h, counts.output].map(|one| one.0);
        assert_eq!((found, row.estimated.names().as_str()), expect, "{usage}");
        assert_eq!(Convention::detect(body.root()), convention, "{usage}");
        assert_eq!(Estimated::from_names(expect.1), Some(row.estimated));
    }

    #[test]
    fn each_convention_comes_to_one_form_and_says_what_is_an_estimate() {
        use Convention::{Exclusive, Inclusive, Telemetry};
        for (usage, convention, counts, estimated) in [
            (
                r#"{"input_tokens":5,"cache_read_input_tokens":100,"cache_creation_input_tokens":30,"cache_creation":{"ephemeral_5m_input_tokens":10,"ephemeral_1h_input_tokens":20},"output_tokens":7}"#,
                Exclusive,
                [5, 100, 10, 20, 7],
                "",
            ),
            (r#"{"input_tokens":5}"#, Exclusive, [5, 0, 0, 0, 0], "output"),
            (r#"{"output_tokens":5}"#, Exclusive, [0, 0, 0, 0, 5], "ordinary"),
            // A message_delta's total without a split: it is known that they were written, not for how long.
            (
                r#"{"input_tokens":5,"cache_creation_input_tokens":30,"output_tokens":7}"#,
                Exclusive,
                [5, 0, 30, 0, 7],
                "write_5m,write_1h",
            ),
            // Totals and split contradict each other.
            (
                r#"{"input_tokens":5,"cache_creation_input_tokens":30,"cache_creation":{"ephemeral_5m_input_tokens":31,"ephemeral_1h_input_tokens":0},"output_tokens":7}"#,
                Exclusive,
                [5, 0, 31, 0, 7],
                "write_5m,write_1h",
            ),
            (
                r#"{"input_tokens":135,"input_tokens_details":{"cached_tokens":100,"cache_write_tokens":30},"output_tokens":7}"#,
                Inclusive,
                [5, 100, 30, 0, 7],
                "",
            ),
            (
                r#"{"promptTokenCount":135,"cachedContentTokenCount":100,"candidatesTokenCount":5,"thoughtsTokenCount":2}"#,
                Inclusive,
                [35, 100, 0, 0, 7],
                "",
            ),
            (
                r#"{"prompt_tokens":135,"prompt_tokens_details":{"cached_tokens":200},"completion_tokens":7}"#,
                Inclusive,
                [0, 200, 0, 0, 7],
                "ordinary",
            ),
            (
                r#"{"gen_ai.usage.input_tokens":135,"gen_ai.usage.cache_read_tokens":100,"gen_ai.usage.output_tokens":7}"#,
                Telemetry,
                [35, 100, 0, 0, 7],
                "",
            ),
        ] {
            check(usage, convention, (counts, estimated));
        }
    }

    /// The top level sums the message iterations, so these are not added; compactions and advisor calls are.
    #[test]
    fn each_sampling_is_counted_once() {
        let usage = r#"{"input_tokens":10,"cache_read_input_tokens":900,"output_tokens":50,"server_tool_use":{"web_search_requests":3},
            "output_tokens_details":{"thinking_tokens":20},"iterations":[
            {"type":"compaction","input_tokens":5000,"output_tokens":300,"cache_creation_input_tokens":70,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":70}},
            {"type":"message","input_tokens":4,"cache_read_input_tokens":400,"output_tokens":20},
            {"type":"advisor_message","model":"claude-opus-5","input_tokens":800,"output_tokens":90},
            {"type":"message","input_tokens":6,"cache_read_input_tokens":500,"output_tokens":30}]}"#;
        let body = Body::parse(usage.as_bytes()).unwrap();
        let counts = |[uncached, read, write_5m, write_1h, output]: [u64; 5]| Counts {
            uncached: Tokens(uncached),
            read: Tokens(read),
            write_5m: Tokens(write_5m),
            write_1h: Tokens(write_1h),
            output: Tokens(output),
        };
        let row = |numbers| Row { counts: counts(numbers), ..Row::default() };
        let main = Row { reasoning: Tokens(20), web_searches: 3, ..row([10, 900, 0, 0, 50]) };
        let sampling =
            |purpose, model: Option<&str>, row| Sampling { purpose, model: model.map(str::to_owned), row };
        assert_eq!(
            samplings(body.root(), Convention::Exclusive),
            [
                sampling(Purpose::Message, None, main),
                sampling(Purpose::Compaction, None, row([5000, 0, 0, 70, 300])),
                sampling(Purpose::Advisor, Some("claude-opus-5"), row([800, 0, 0, 0, 90])),
            ]
        );
        assert_eq!(Totals::of([&main]).web_searches, 3);
    }

    #[test]
    fn the_terms_are_read_from_the_usage() {
        for (usage, expect) in [
            (r#"{"service_tier":"standard","speed":"standard"}"#, Modifiers::default()),
            (r#"{"service_tier":"batch"}"#, Modifiers { batch: true, ..Modifiers::default() }),
            (r#"{"speed":"fast"}"#, Modifiers { fast: true, ..Modifiers::default() }),
            (r#"{"inference_geo":"us"}"#, Modifiers { geo_us: true, ..Modifiers::default() }),
            (r#"{"inference_geo":"global"}"#, Modifiers::default()),
        ] {
            assert_eq!(modifiers(Body::parse(usage.as_bytes()).unwrap().root()), expect, "{usage}");
        }
    }
}
