//! What requests used and cost, from the usage the provider reported.

use antefix_models::{Counts, Modifiers, Money, Platform, PriceBook, Prices, Tokens, cost};
use antefix_wire::json::Body;
use antefix_wire::usage::{ReportedCost, Usage};

use crate::conversation::{Attempt, Conversation, Lane};
use crate::record::Millis;

/// Tokens and cost of one or many requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spend {
    /// Tokens by billing category.
    pub counts: Counts,
    /// Cost of what has a price.
    pub cost: Money,
    /// Requests whose model has no known price.
    pub unpriced: u64,
    /// Requests whose usage was not reported and cannot be estimated.
    pub unreported: u64,
    /// Requests whose usage was not reported: their tokens are estimated from bytes, and none count as read.
    pub estimated: u64,
}

impl Spend {
    /// The cost, unless something in it has no price.
    pub fn known_cost(&self) -> Option<Money> {
        (self.unpriced == 0).then_some(self.cost)
    }

    /// Adds another.
    pub fn add(&mut self, other: &Self) {
        self.counts += other.counts;
        self.cost += other.cost;
        self.unpriced = self.unpriced.saturating_add(other.unpriced);
        self.unreported = self.unreported.saturating_add(other.unreported);
        self.estimated = self.estimated.saturating_add(other.estimated);
    }
}

/// Tokens by billing category of a reported usage, with those of iterations that the top level leaves out.
pub fn counts(usage: &Usage) -> Counts {
    let mut counts = Counts {
        uncached: Tokens(usage.input.unwrap_or(0)),
        read: Tokens(usage.cache_read.unwrap_or(0)),
        write_5m: Tokens(usage.written_5m()),
        write_1h: Tokens(usage.written_1h()),
        output: Tokens(usage.output.unwrap_or(0)),
    };
    for extra in usage.extra_iterations() {
        counts.uncached += Tokens(extra.input.unwrap_or(0));
        counts.read += Tokens(extra.cache_read.unwrap_or(0));
        let long = extra.cache_write_1h.unwrap_or(0);
        counts.write_1h += Tokens(long);
        counts.write_5m += Tokens(extra.cache_write.unwrap_or(0).saturating_sub(long));
        counts.output += Tokens(extra.output.unwrap_or(0));
    }
    counts
}

/// What all requests of a conversation used and cost.
pub fn of_conversation(conversation: &Conversation, book: &PriceBook) -> Spend {
    let mut spent = Spend::default();
    for attempt in conversation.attempts() {
        spent.add(&of_attempt(conversation, attempt, book));
    }
    spent
}

/// What one of them used and cost.
pub fn of_attempt(conversation: &Conversation, attempt: &Attempt, book: &PriceBook) -> Spend {
    match conversation.lane_of(attempt).map(Lane::spec) {
        Some(lane) => spend(attempt, lane.platform, &lane.model, book),
        None => Spend::default(),
    }
}

/// What one request used and cost; nothing if it has no outcome yet or was not answered.
fn spend(attempt: &Attempt, platform: Platform, model: &str, book: &PriceBook) -> Spend {
    let Some((_, outcome)) = &attempt.outcome else {
        return Spend::default();
    };
    if outcome.status != Some(200) && outcome.usage.is_none() {
        return Spend::default();
    }
    let body = outcome.usage.as_ref().and_then(|raw| Body::parse(raw.to_vec()).ok());
    let usage = body.map(|body| Usage::read(body.root()));
    let reported = usage.as_ref().and_then(|usage| reported(usage.reported_cost.as_ref()?));
    let (counts, estimated) = match (usage, outcome.reply_bytes) {
        (Some(usage), _) if usage.says_tokens() => (counts(&usage), 0),
        // Told, but not as numbers of tokens: what cannot be read is not free.
        (_, Some(reply)) => (estimate(attempt.attempt.bytes, reply), 1),
        (Some(usage), None) => (counts(&usage), 0),
        (None, None) => return Spend { unreported: 1, ..Spend::default() },
    };
    let spend = Spend { counts, estimated, ..Spend::default() };
    // What the server says it took is what it took.
    if let Some(cost) = reported {
        return Spend { cost, ..spend };
    }
    match prices(book, platform, model, attempt.at, counts.prompt()) {
        Some(prices) => Spend { cost: cost(&prices, &counts), ..spend },
        None => Spend { unpriced: 1, ..spend },
    }
}

/// The prices that hold at a point in time for a request with so many tokens of input; `None` if it is unpriced.
pub fn prices(
    book: &PriceBook,
    platform: Platform,
    model: &str,
    at: Millis,
    prompt: Tokens,
) -> Option<Prices> {
    book.price(platform, model, date(at), Modifiers::at(platform, timestamp(at)), prompt)
}

/// A cost that the server reported; `None` if it is no amount.
fn reported(cost: &ReportedCost) -> Option<Money> {
    match cost {
        ReportedCost::Dollars(text) => Money::from_number(text),
        // 1e10 of them make a dollar.
        ReportedCost::Ticks(ticks) => Some(Money(i128::from(*ticks) * (Money::DOLLAR.0 / 10_000_000_000))),
    }
}

/// Tokens of a request and its reply of so many bytes, at 3.5 bytes each; nobody knows what of it was read from a
/// cache.
pub fn estimate(request: u64, reply: u64) -> Counts {
    let tokens = Tokens::of_bytes;
    Counts { uncached: tokens(request), output: tokens(reply), ..Counts::default() }
}

/// The UTC date of a point in time: what a dated price is looked up by.
pub fn date(at: Millis) -> jiff::civil::Date {
    timestamp(at).to_zoned(jiff::tz::TimeZone::UTC).date()
}

fn timestamp(at: Millis) -> jiff::Timestamp {
    let timestamp = i64::try_from(at.0).ok().and_then(|at| jiff::Timestamp::from_millisecond(at).ok());
    timestamp.unwrap_or(jiff::Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::record::{AttemptId, AttemptRecord, OutcomeRecord, Planned, Purpose, RecordId};

    fn answered(at: &str, usage: &str) -> Attempt {
        let at: jiff::Timestamp = at.parse().unwrap();
        let at = Millis(u64::try_from(at.as_millisecond()).unwrap());
        let usage = Some(Bytes::copy_from_slice(usage.as_bytes()));
        let outcome = OutcomeRecord { status: Some(200), usage, ..OutcomeRecord::default() };
        let attempt = AttemptRecord {
            attempt: AttemptId(0),
            purpose: Purpose::Turn,
            lane: RecordId(1),
            markers: Vec::new(),
            positions: 1,
            digest: String::new(),
            bytes: 100,
            relation: Planned::First,
        };
        Attempt { record: RecordId(2), attempt, at, outcome: Some((at, outcome)), turn: 1 }
    }

    /// A million tokens of input, of which 900,000 were read, and 10,000 of output; when, where, and what it cost.
    #[test]
    fn a_response_costs_what_the_server_says_or_what_the_hour_makes_it() {
        let usage = |more: &str| {
            format!(
                r#"{{"prompt_tokens":1000000,"completion_tokens":10000,"prompt_tokens_details":{{"cached_tokens":900000}}{more}}}"#
            )
        };
        let (night, day) = ("2026-11-30T02:00:00Z", "2026-11-30T12:00:00Z");
        for (at, platform, more, expect) in [
            (day, Platform::Local, "", Some("0")),
            (day, Platform::DeepSeek, "", Some("0.099")),
            (night, Platform::DeepSeek, "", Some("0.198")),
            (day, Platform::OpenRouter, "", None),
            (day, Platform::OpenRouter, r#","cost":1.25e-3"#, Some("0.00125")),
            (day, Platform::OpenRouter, r#","cost":-1"#, None),
            (day, Platform::Compatible, r#","cost_in_usd_ticks":37500"#, Some("0.00000375")),
            (day, Platform::Compatible, "", None),
        ] {
            let book = PriceBook::default();
            let found = spend(&answered(at, &usage(more)), platform, "deepseek-v4-pro", &book);
            assert_eq!(found.known_cost().map(Money::usd).as_deref(), expect, "{at} {platform} {more}");
            assert_eq!((found.counts.uncached, found.counts.read), (Tokens(100_000), Tokens(900_000)));
        }
    }
}
