//! What the provider has done to a prompt because the user's `context_management` asks for that: told from what its
//! answer says, with its price.

use antefix_models::{Counts, Money, PriceBook, Tokens, cost};
use antefix_prefix::verdict::{Edits, ServerEdit};
use antefix_wire::anthropic::Cleared;
use antefix_wire::json::Body;
use antefix_wire::usage::{Iteration, IterationKind, Usage};

use crate::conversation::{Attempt, Conversation};
use crate::record::{OutcomeRecord, Purpose};
use crate::spend::prices;

/// What the provider has done to a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditReport {
    /// A summary stands for all that was said.
    Summarised {
        /// What it took to write it.
        counts: Counts,
        /// What that cost; `None` if the model is unpriced.
        cost: Option<Money>,
        /// Tokens of the prompt that the answer was given behind; `None` if the answer is the summary alone.
        left: Option<Tokens>,
    },
    /// Old results or thinking are left out.
    Cleared {
        /// What it was.
        cleared: Cleared,
        /// Tokens of the prompt that were not read from the cache.
        anew: Tokens,
        /// What these cost; `None` if the model is unpriced.
        cost: Option<Money>,
    },
}

impl EditReport {
    /// What it is, without the figures.
    pub const fn edit(&self) -> ServerEdit {
        match self {
            Self::Summarised { .. } => ServerEdit::Summarised,
            Self::Cleared { .. } => ServerEdit::Cleared,
        }
    }
}

impl OutcomeRecord {
    /// What the provider says was done to the prompt; `None` if it has said nothing.
    pub fn edits(&self) -> Option<Edits> {
        let edits = Edits { summarised: self.is_summarised(), cleared: self.cleared() };
        (self.usage.is_some() || edits != Edits::default()).then_some(edits)
    }

    /// Whether the provider has summarised the prompt.
    pub fn is_summarised(&self) -> bool {
        !summaries(&self.read_usage()).is_empty()
    }

    /// What of the prompt was left out; `None` if nothing was.
    pub fn cleared(&self) -> Option<Cleared> {
        let body = Body::parse(self.context_management.as_ref()?.to_vec()).ok()?;
        Cleared::read(body.root())
    }

    /// The usage that was told, as far as it can be read.
    pub(crate) fn read_usage(&self) -> Usage {
        let usage = self.usage.as_ref().and_then(|raw| Body::parse(raw.to_vec()).ok());
        usage.map(|usage| Usage::read(usage.root())).unwrap_or_default()
    }
}

impl Conversation {
    /// What the provider has newly done to the prompt of a request, in order. One that leaves out no more than the
    /// request before has cleared nothing new.
    pub(crate) fn edit_reports(&self, attempt: &Attempt, book: &PriceBook) -> Vec<EditReport> {
        let (Some((_, outcome)), Some(lane)) = (&attempt.outcome, self.lane_of(attempt)) else {
            return Vec::new();
        };
        let (spec, usage) = (lane.spec(), outcome.read_usage());
        let priced = |counts: Counts| {
            let prices = prices(book, spec.platform, &spec.model, attempt.at, counts.prompt())?;
            Some(cost(&prices, &counts))
        };
        let before = self.cleared_before(attempt).unwrap_or_default();
        let cleared = outcome.cleared().filter(|cleared| cleared.exceeds(&before)).map(|cleared| {
            let counts = taken_in(&usage);
            EditReport::Cleared { cleared, anew: counts.prompt(), cost: priced(counts) }
        });
        let summarised = outcome.is_summarised().then(|| {
            let counts = summed_up(&usage);
            let is_answered = usage.iterations.iter().any(|one| one.kind == IterationKind::Message);
            let left = usage.context().filter(|_| is_answered).map(Tokens);
            EditReport::Summarised { counts, cost: priced(counts), left }
        });
        cleared.into_iter().chain(summarised).collect()
    }

    /// What the last request that was answered in front of `attempt` says was left out.
    fn cleared_before(&self, attempt: &Attempt) -> Option<Cleared> {
        let earlier = self.attempts().iter().rev().filter(|earlier| {
            earlier.attempt.attempt < attempt.attempt.attempt
                && earlier.attempt.lane == attempt.attempt.lane
                && earlier.attempt.purpose != Purpose::Warm
        });
        let mut outcomes = earlier.filter_map(|earlier| Some(&earlier.outcome.as_ref()?.1));
        outcomes.find(|outcome| outcome.status == Some(200))?.cleared()
    }
}

/// The samplings that were made for summaries.
fn summaries(usage: &Usage) -> Vec<&Iteration> {
    usage.iterations.iter().filter(|one| one.kind == IterationKind::Compaction).collect()
}

/// What it took to write them.
fn summed_up(usage: &Usage) -> Counts {
    summaries(usage).into_iter().map(counts_of).fold(Counts::default(), |mut sum, one| {
        sum += one;
        sum
    })
}

/// Tokens of the prompt that were not read.
fn taken_in(usage: &Usage) -> Counts {
    Counts {
        uncached: Tokens(usage.input.unwrap_or(0)),
        write_5m: Tokens(usage.written_5m()),
        write_1h: Tokens(usage.written_1h()),
        ..Counts::default()
    }
}

fn counts_of(one: &Iteration) -> Counts {
    let long = one.cache_write_1h.unwrap_or(0);
    Counts {
        uncached: Tokens(one.input.unwrap_or(0)),
        read: Tokens(one.cache_read.unwrap_or(0)),
        write_5m: Tokens(one.cache_write.unwrap_or(0).saturating_sub(long)),
        write_1h: Tokens(long),
        output: Tokens(one.output.unwrap_or(0)),
    }
}
