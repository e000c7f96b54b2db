//! What requests cost, what they could have cost, and which verdict has to answer for the difference.

use std::collections::BTreeMap;

use antefix_models::{Counts, Modifiers, Money, Platform, Prices, Tokens, WEB_SEARCH, cost};
use antefix_prefix::verdict::{Observation, Severity};

use crate::{Comparison, Loss, Purpose, Relation, Row, Standing, Totals, rewritten_counts, standings, waste};

/// One line of the ledger: what a request, or a sampling behind it, used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Posting {
    /// Session that the request belongs to.
    pub session: String,
    /// Number of the request in its session, from 1.
    pub attempt: u64,
    /// Number of the sampling within the request; 0 is the response itself.
    pub part: u64,
    /// Number of the user's message that the request works on, from 1.
    pub message: u64,
    /// When the request left, in milliseconds since the Unix epoch.
    pub at_ms: i64,
    /// Where the model runs.
    pub platform: Platform,
    /// The model's name as sent.
    pub model: String,
    /// What the sampling was for.
    pub purpose: Purpose,
    /// HTTP status; `None` if no response arrived.
    pub status: Option<u16>,
    /// What changes the list price of the request.
    pub modifiers: Modifiers,
    /// What it used; `None` if the provider did not say.
    pub row: Option<Row>,
    /// How it stands to the request it goes on from.
    pub standing: Standing,
    /// Quota headers of the response, name and value.
    pub quota: Vec<(String, String)>,
}

/// A part of a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ratio {
    /// The part.
    pub part: Tokens,
    /// The whole it is a part of.
    pub whole: Tokens,
}

impl Ratio {
    /// The part per thousand of the whole, rounded down; `None` of nothing.
    pub fn permille(self) -> Option<u64> {
        let permille = (u128::from(self.part.0) * 1000).checked_div(u128::from(self.whole.0))?;
        u64::try_from(permille).ok()
    }

    fn add(&mut self, part: Tokens, whole: Tokens) {
        self.part += part;
        self.whole += whole;
    }
}

/// What a kind of verdict cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// The id of the kind.
    pub kind: String,
    /// Whether anything is to be mended.
    pub severity: Severity,
    /// How many requests it struck.
    pub requests: u64,
    /// Tokens that were paid for again.
    pub tokens: Tokens,
    /// What these cost more than reading them; of priced requests alone.
    pub cost: Money,
}

/// The sum over some postings: one request, one message, a session or a month.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Requests; samplings behind a request are not counted again.
    pub requests: u64,
    /// Requests whose usage the provider did not report.
    pub unreported: u64,
    /// Tokens by category.
    pub totals: Totals,
    /// Postings whose model has no known price; they are in no amount of money.
    pub unpriced: u64,
    /// As billed.
    pub actual: Money,
    /// Of [`actual`](Self::actual), web searches.
    pub searches: Money,
    /// Of [`actual`](Self::actual), what it took to keep the cache warm while a turn waited.
    pub warming: Money,
    /// Requests made for that.
    pub warmings: u64,
    /// Of [`actual`](Self::actual), what summaries cost that a conversation went on from, the client's own and the
    /// provider's.
    pub compacting: Money,
    /// Samplings made for that.
    pub compactions: u64,
    /// Had nothing been cached: all input at the plain price, and nothing kept warm.
    pub no_cache: Money,
    /// Had all that could be read been read.
    pub perfect: Money,
    /// What each kind of verdict has to answer for, the dearest first.
    pub shares: Vec<Share>,
    /// What no verdict answers for: actual − perfect − Σ shares.
    pub residual: Money,
    /// Prefix kept: tokens read, of those that could have been.
    pub kept: Ratio,
    /// Tokens added by requests that extend another, and their number.
    pub added: Tokens,
    /// Requests that extend another and whose prompts are known.
    pub rounds: u64,
    /// Cache read of all input, first requests, expiry and planned breaks aside.
    pub steady: Steady,
}

/// Cache read of all input, first requests, expiry and planned breaks aside: what a gate is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steady {
    /// Cache read of all input.
    pub read: Ratio,
    /// Requests that are left out.
    pub set_aside: u64,
}

impl Steady {
    /// The share of some requests.
    pub fn of(observations: &[Observation<'_>]) -> Self {
        let mut steady = Self::default();
        for (observation, standing) in observations.iter().zip(standings(observations)) {
            if let Some(counts) = &observation.usage {
                steady.add(counts, &standing);
            }
        }
        steady
    }

    fn add(&mut self, counts: &Counts, standing: &Standing) {
        if standing.is_steady() {
            self.read.add(counts.read, counts.prompt());
        } else {
            self.set_aside += 1;
        }
    }
}

impl Account {
    /// Adds postings up. `prices` gives those of a posting, `None` where none are known.
    pub fn of<'p>(
        postings: impl IntoIterator<Item = &'p Posting>,
        prices: impl Fn(&Posting) -> Option<Prices>,
    ) -> Self {
        let mut account = Self::default();
        let mut shares = BTreeMap::new();
        for posting in postings {
            account.add(posting, prices(posting), &mut shares);
        }
        account.shares = shares.into_values().collect();
        account.shares.sort_by(|one, other| (other.cost, &one.kind).cmp(&(one.cost, &other.kind)));
        let explained: Money = account.shares.iter().map(|share| share.cost).sum();
        account.residual = account.waste() - explained;
        account
    }

    /// What was paid for nothing: actual − perfect.
    pub fn waste(&self) -> Money {
        self.actual - self.perfect
    }

    /// Cache read of all input. It is of all requests in the account and no average of single requests.
    pub fn read(&self) -> Ratio {
        Ratio { part: self.totals.counts.read, whole: self.totals.counts.prompt() }
    }

    /// Tokens added by each request that extends another, on average; `None` without one.
    pub fn added_per_round(&self) -> Option<Tokens> {
        self.added.0.checked_div(self.rounds).map(Tokens)
    }

    /// Whether everything has a price.
    pub fn is_priced(&self) -> bool {
        self.unpriced == 0
    }

    fn add(&mut self, posting: &Posting, prices: Option<Prices>, shares: &mut BTreeMap<String, Share>) {
        self.requests += u64::from(posting.part == 0);
        let is_warming = posting.purpose == Purpose::Warm;
        self.warmings += u64::from(is_warming);
        let is_summary = posting.purpose == Purpose::Compaction;
        self.compactions += u64::from(is_summary);
        let Some(row) = &posting.row else {
            self.unreported += u64::from(posting.part == 0 && posting.status == Some(200));
            return;
        };
        self.totals.add(row);
        if posting.part == 0 {
            self.measure(&row.counts, &posting.standing);
        }
        let loss = posting.standing.loss.as_ref();
        match prices {
            Some(prices) if is_warming => {
                let spent = cost(&prices, &row.counts);
                self.warming += spent;
                self.actual += spent;
                self.perfect += spent;
            }
            Some(prices) => {
                self.charge(row, &posting.standing, &prices);
                self.compacting += if is_summary { cost(&prices, &row.counts) } else { Money::ZERO };
            }
            None => self.unpriced += 1,
        }
        if let Some(loss) = loss {
            let share = shares.entry(loss.kind.clone()).or_insert_with(|| empty(loss));
            share.severity = share.severity.min(loss.severity);
            share.requests += 1;
            share.tokens += loss.tokens;
            share.cost += prices.map_or(Money::ZERO, |prices| price_of(loss, &row.counts, &prices));
        }
    }

    fn charge(&mut self, row: &Row, standing: &Standing, prices: &Prices) {
        let missing = standing.reachable.map_or(Tokens::ZERO, |reachable| reachable - row.counts.read);
        let compared = Comparison::of(prices, &row.counts, missing);
        let searches = Money(WEB_SEARCH.0.saturating_mul(i128::from(row.web_searches)));
        self.searches += searches;
        self.actual += compared.actual + searches;
        self.no_cache += compared.no_cache + searches;
        self.perfect += compared.perfect + searches;
    }

    fn measure(&mut self, counts: &Counts, standing: &Standing) {
        let prompt = counts.prompt();
        if let Some(reachable) = standing.reachable {
            self.kept.add(counts.read.min(reachable), reachable);
        }
        if let (Relation::Extends, Some(before)) = (standing.relation, standing.before) {
            self.added += prompt - before;
            self.rounds += 1;
        }
        self.steady.add(counts, standing);
    }
}

/// What the tokens of a loss cost more than reading them would have.
fn price_of(loss: &Loss, billed: &Counts, prices: &Prices) -> Money {
    waste(prices, &rewritten_counts(billed, loss.tokens))
}

fn empty(loss: &Loss) -> Share {
    let (kind, severity) = (loss.kind.clone(), loss.severity);
    Share { kind, severity, requests: 0, tokens: Tokens::ZERO, cost: Money::ZERO }
}

#[cfg(test)]
mod tests {
    use antefix_models::Price;

    use super::*;

    const PRICES: Prices = Prices {
        input: Price(1000),
        write_5m: Price(1250),
        write_1h: Price(2000),
        read: Price(100),
        output: Price(5000),
    };

    fn posting(
        [uncached, read, write]: [u64; 3],
        relation: Relation,
        [reachable, before]: [u64; 2],
        loss: Option<Loss>,
    ) -> Posting {
        let counts = Counts {
            uncached: Tokens(uncached),
            read: Tokens(read),
            write_5m: Tokens(write),
            ..Counts::default()
        };
        let told = |tokens: u64| (tokens > 0).then_some(Tokens(tokens));
        Posting {
            session: "s".to_owned(),
            attempt: 1,
            part: 0,
            message: 1,
            at_ms: 0,
            platform: Platform::Anthropic,
            model: "m".to_owned(),
            purpose: Purpose::Message,
            status: Some(200),
            modifiers: Modifiers::default(),
            row: Some(Row { counts, ..Row::default() }),
            standing: Standing { relation, reachable: told(reachable), before: told(before), loss },
            quota: Vec::new(),
        }
    }

    fn loss(kind: &str, severity: Severity, tokens: u64) -> Loss {
        Loss { kind: kind.to_owned(), severity, tokens: Tokens(tokens) }
    }

    #[test]
    fn the_parts_of_an_account_add_up_and_ratios_name_their_whole() {
        use Relation::{Extends, First};
        let postings = [
            posting([0, 0, 1000], First, [0, 0], None),
            posting([10, 1000, 200], Extends, [1000, 1000], None),
            posting(
                [0, 400, 900],
                Extends,
                [1200, 1210],
                Some(loss("tools.reordered", Severity::Fault, 800)),
            ),
            posting(
                [0, 0, 1500],
                Extends,
                [1300, 1300],
                Some(loss("expected.ttl_expired", Severity::Expected, 1300)),
            ),
        ];
        let account = Account::of(&postings, |_| Some(PRICES));
        let share = |kind: &str, severity, tokens: u64| Share {
            kind: kind.to_owned(),
            severity,
            requests: 1,
            tokens: Tokens(tokens),
            cost: Money(i128::from(tokens) * 1150),
        };
        let counts =
            Counts { uncached: Tokens(10), read: Tokens(1400), write_5m: Tokens(3600), ..Counts::default() };
        assert_eq!(
            account,
            Account {
                requests: 4,
                totals: Totals { rows: 4, counts, ..Totals::default() },
                actual: Money(10_000 + 140_000 + 4_500_000),
                no_cache: Money(5_010_000),
                perfect: Money(10_000 + 140_000 + 4_500_000 - 2100 * 1150),
                shares: vec![
                    share("expected.ttl_expired", Severity::Expected, 1300),
                    share("tools.reordered", Severity::Fault, 800),
                ],
                residual: Money::ZERO,
                kept: Ratio { part: Tokens(1400), whole: Tokens(3500) },
                added: Tokens(210 + 90 + 200),
                rounds: 3,
                steady: Steady {
                    read: Ratio { part: Tokens(1400), whole: Tokens(1210 + 1300) },
                    set_aside: 2,
                },
                ..Account::default()
            }
        );
        assert_eq!(account.read().permille(), Some(279));
        assert_eq!(account.added_per_round(), Some(Tokens(166)));
        assert_eq!(Ratio::default().permille(), None);
    }

    #[test]
    fn keeping_warm_is_billed_and_would_not_be_without_a_cache() {
        let turn = posting([0, 0, 1000], Relation::First, [0, 0], None);
        let warm = Posting {
            purpose: Purpose::Warm,
            attempt: 2,
            ..posting([0, 1000, 0], Relation::Branches, [0, 0], None)
        };
        let account = Account::of([&turn, &warm], |_| Some(PRICES));
        assert_eq!((account.requests, account.warmings, account.warming), (2, 1, Money(100_000)));
        assert_eq!((account.actual, account.no_cache), (Money(1_350_000), Money(1_000_000)));
        assert_eq!((account.waste(), account.residual), (Money::ZERO, Money::ZERO));
    }

    #[test]
    fn what_no_verdict_answers_for_is_the_residual() {
        let lost = posting([0, 400, 900], Relation::Extends, [1200, 1210], None);
        assert_eq!(Account::of([&lost], |_| Some(PRICES)).residual, Money(800 * 1150));
        let half = posting(
            [0, 400, 900],
            Relation::Extends,
            [1200, 1210],
            Some(loss("unexplained", Severity::Fault, 500)),
        );
        assert_eq!(Account::of([&half], |_| Some(PRICES)).residual, Money(300 * 1150));
    }

    #[test]
    fn what_has_no_price_or_no_usage_is_counted_and_not_charged() {
        let unpriced = posting([5, 0, 0], Relation::First, [0, 0], None);
        let unreported = Posting { row: None, ..unpriced.clone() };
        let refused = Posting { row: None, status: Some(429), ..unpriced.clone() };
        let searching = Posting {
            row: unpriced.row.map(|row| Row { web_searches: 2, ..row }),
            part: 1,
            model: "known".to_owned(),
            ..unpriced.clone()
        };
        let all = [&unpriced, &unreported, &refused, &searching];
        let account = Account::of(all, |posting| (posting.model == "known").then_some(PRICES));
        assert_eq!((account.requests, account.unreported, account.unpriced), (3, 1, 1));
        assert_eq!((account.actual, account.searches), (Money(20_000_005_000), Money(20_000_000_000)));
        assert!(!account.is_priced());
    }
}
