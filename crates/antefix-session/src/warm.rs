//! What the next request would cost with a warm cache and with a cold one, and when it pays to keep the cache warm.
//!
//! Reading an entry starts its life anew
//! (<https://platform.claude.com/docs/en/build-with-claude/prompt-caching>, read 2026-11-30), so the last request is
//! made once more, with a reply of one token, shortly before its entry expires. That is done while a turn waits for its
//! calls: then the next request is sure to come.

use antefix_models::{Counts, Money, PriceBook, Prices, Rules, Tokens, Ttl, cost};
use antefix_wire::json::Body;

use antefix_wire::usage::Usage;
use antefix_wire::{Edit, splice};
use bytes::Bytes;

use crate::conversation::{Attempt, Conversation, Lane, Reach};
use crate::dialect::Dialect;
use crate::record::{Millis, OutcomeRecord, Planned, Purpose};
use crate::spend::{counts, prices};

/// How far a session goes to keep its cache warm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepWarm {
    /// How long after the last request of the turn, in milliseconds, at most.
    pub longest: u64,
    /// After how many milliseconds a request is made once more, if not when nine tenths of its entry's life are over.
    pub after: Option<u64>,
}

/// What the next request is expected to cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlook {
    /// Its tokens, of which those behind the last request are estimated from bytes.
    pub tokens: Tokens,
    /// How many of them it reads if the cache is warm.
    pub reads: Tokens,
    /// Milliseconds until the entry it reads expires, negative once it has; `None` where entries have no known life, or
    /// nothing of it is known to have been in the cache.
    pub expires_in: Option<i64>,
    /// Its input's price if that is read; `None` if the model is unpriced.
    pub warm: Option<Money>,
    /// Its input's price if all of it is sent anew.
    pub cold: Option<Money>,
}

/// When the last request is to be made once more, and what is at stake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Replay {
    /// When.
    pub(crate) due: Millis,
    /// When it is too late: the entry may be gone, and would be written anew.
    pub(crate) latest: Millis,
    /// What it costs.
    pub(crate) price: Money,
    /// What the next request costs more if the entry has expired.
    pub(crate) miss: Money,
}

/// Why a cache cannot be kept warm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotWarmed {
    /// Only an entry that was asked for with a marker has a life that reading it starts anew.
    #[error("no markers are sent")]
    NoMarkers,
    /// Thinking with a budget asks for a longer reply, and with another budget it would be another entry.
    #[error("thinking has a budget")]
    ThinkingBudget,
    /// What it costs cannot be held against what it saves.
    #[error("no price of the model is known")]
    Unpriced,
    /// There is no entry that is known to be there.
    #[error("nothing is known to be in the cache")]
    NothingThere,
}

impl Conversation {
    /// What the next request is expected to cost if it is made at `now`; `None` in front of the first of a lane that no
    /// compaction has opened, and where the provider's own rules decide what is read.
    pub fn outlook(&self, rules: &Rules, book: &PriceBook, now: Millis) -> Option<Outlook> {
        let is_planned = match self.relation() {
            Some(Planned::Extends | Planned::BranchesAt(_)) => true,
            Some(Planned::First | Planned::Allowed(_)) => false,
            None => self.is_fresh(),
        };
        if !is_planned || !self.forecast(rules, now).limits.is_empty() {
            return None;
        }
        let lane = self.lane()?;
        let plan = self.plan(rules);
        let Reach { tokens: reads, touched } = self.within_reach(&plan);
        let tokens = self.estimated_tokens();
        let prices = prices_of(lane, book, now, tokens);
        let input = |read| Some(cost(&prices?, &self.expected(&plan, read)));
        let expires = lane.cache().zip(touched).map(|(ttl, touched)| life(touched, ttl));
        Some(Outlook {
            tokens,
            reads,
            expires_in: expires.map(|expires| signed(expires).saturating_sub(signed(now.0))),
            warm: input(reads),
            cold: input(Tokens::ZERO),
        })
    }

    /// Whether, when and at what price the last request can be made once more so that its entry lives on.
    ///
    /// # Errors
    /// [`NotWarmed`] says why it cannot.
    pub(crate) fn replay(
        &self,
        rules: &Rules,
        book: &PriceBook,
        after: Option<u64>,
    ) -> Result<Replay, NotWarmed> {
        let lane = self.lane().ok_or(NotWarmed::NothingThere)?;
        let ttl = can_be_warmed(lane, book, self.last_read(lane))?;
        let last = self.last_answered().filter(|(last, _)| !is_summarised(last));
        let (last, used) = last.ok_or(NotWarmed::NothingThere)?;
        let kept = used.read + used.write_5m + used.write_1h;
        if kept.is_zero() || !self.has_entry(rules) {
            return Err(NotWarmed::NothingThere);
        }
        let prices = prices_of(lane, book, last.at, used.prompt()).ok_or(NotWarmed::Unpriced)?;
        let read = self.last_read(lane);
        let (expires, life) = (life(read, ttl), ttl.seconds() * 1000);
        let margin = after.map_or((life / 10).max(10_000), |after| life.saturating_sub(after));
        let replayed = Counts { read: kept, uncached: used.uncached, output: Tokens(1), ..Counts::default() };
        Ok(Replay {
            due: Millis(expires.saturating_sub(margin)),
            latest: Millis(expires.saturating_sub(margin / 2)),
            price: cost(&prices, &replayed),
            miss: prices.broken_token(ttl) * kept,
        })
    }

    /// The last request of a turn that was answered in the open lane, and what it used as far as that was told.
    pub(crate) fn last_answered(&self) -> Option<(&Attempt, Counts)> {
        let lane = self.lane()?.record();
        let of_turn =
            |attempt: &&Attempt| attempt.attempt.purpose == Purpose::Turn && attempt.attempt.lane == lane;
        self.attempts().iter().rev().filter(of_turn).find_map(|attempt| Some((attempt, answered(attempt)?)))
    }

    /// When an entry of the lane was last read or written: the start of a request, which is no later than that.
    fn last_read(&self, lane: &Lane) -> Millis {
        let is_own =
            |attempt: &&Attempt| attempt.attempt.lane == lane.record() && answered(attempt).is_some();
        self.attempts().iter().rev().find(is_own).map_or(Millis(0), |attempt| attempt.at)
    }
}

/// Whether entries of a lane can be kept warm at a point in time, and how long they live.
///
/// # Errors
/// [`NotWarmed`] if not.
pub fn can_be_warmed(lane: &Lane, book: &PriceBook, now: Millis) -> Result<Ttl, NotWarmed> {
    let ttl = lane.cache().filter(|_| lane.dialect() == Dialect::Anthropic).ok_or(NotWarmed::NoMarkers)?;
    let spec = lane.spec();
    replay_envelope(&spec.envelope).ok_or(NotWarmed::ThinkingBudget)?;
    prices_of(lane, book, now, Tokens::ZERO).map(|_| ttl).ok_or(NotWarmed::Unpriced)
}

/// The envelope of a request that is made once more for one token of reply; `None` where another limit of the reply
/// would not do.
pub(crate) fn replay_envelope(envelope: &Bytes) -> Option<Bytes> {
    let body = Body::parse(envelope.to_vec()).ok()?;
    let root = body.root();
    let is_budget = root.pointer("/thinking/type").is_some_and(|kind| kind.is_str("enabled"));
    let limit = root.get("max_tokens").filter(|_| !is_budget)?;
    splice(envelope, &[Edit::replace(limit.range(), *b"1")]).ok().map(Bytes::from)
}

/// Whether the provider has summarised the prompt: made once more, the request would be summarised once more, and the
/// next one reads nothing of its messages.
fn is_summarised(attempt: &Attempt) -> bool {
    let outcome = attempt.outcome.as_ref().map(|(_, outcome)| outcome);
    outcome.is_some_and(OutcomeRecord::is_summarised)
}

/// What an answered request used; `None` if it was not answered or that was not told.
fn answered(attempt: &Attempt) -> Option<Counts> {
    let (_, outcome) = attempt.outcome.as_ref()?;
    let usage = outcome.usage.as_ref().filter(|_| outcome.status == Some(200))?;
    let body = Body::parse(usage.to_vec()).ok()?;
    let usage = Usage::read(body.root());
    usage.says_tokens().then(|| counts(&usage))
}

fn prices_of(lane: &Lane, book: &PriceBook, at: Millis, prompt: Tokens) -> Option<Prices> {
    prices(book, lane.spec().platform, &lane.spec().model, at, prompt)
}

fn life(from: Millis, ttl: Ttl) -> u64 {
    from.0.saturating_add(ttl.seconds() * 1000)
}

fn signed(milliseconds: u64) -> i64 {
    i64::try_from(milliseconds).unwrap_or(i64::MAX)
}
