//! What a request would read, write and send if it were made now: what forecasts go by.

use antefix_models::{Counts, Rules, Tokens, Ttl};
use antefix_prefix::CachePlan;

use super::{Conversation, OpenLane};
use crate::record::Millis;

/// What of a conversation's prompt is in the cache, as far as is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reach {
    /// Tokens that are read unless they have expired.
    pub(crate) tokens: Tokens,
    /// When that was read or written last: the start of a request. `None` if there is nothing.
    pub(crate) touched: Option<Millis>,
}

impl Conversation {
    /// From now on nothing counts as cached that was sent before that time.
    pub(crate) fn begin_cache(&mut self, at: Option<Millis>) {
        self.cache_began = at.unwrap_or(Millis(0));
    }

    /// What a request with this plan reads unless it has expired: the newest entry on its path, or what its head shares
    /// with requests of another lane, as behind a compaction.
    ///
    /// Where no markers are sent, a provider that caches is taken to keep all that was sent.
    pub(crate) fn within_reach(&self, plan: &CachePlan) -> Reach {
        let Some(open) = self.open_lane() else { return Reach::default() };
        if open.lane.cache().is_none() {
            return if open.lane.dialect().caches_unasked() { self.unasked(open) } else { Reach::default() };
        }
        let own = plan.reads_to.and_then(|at| Some((at, self.touched_in(open, at)?)));
        let marked = plan.markers.iter().rev().map(|marker| marker.position);
        let mut shared = marked.filter_map(|at| Some((at, self.touched_beside(open, at)?)));
        own.or_else(|| shared.next()).map_or_else(Reach::default, |(at, touched)| Reach {
            tokens: self.estimated_up_to(at + 1),
            touched: Some(touched),
        })
    }

    /// Tokens that a request sent at `at` should read, estimated: those of the entry that is known on its path, if the
    /// provider's rules leave it readable and the request that touched it last began no longer ago than entries live.
    ///
    /// Where no markers are sent, that is taken to be so of the last prompt that was answered, for five minutes, once a
    /// request of the lane has read anything.
    pub fn expects_read(&self, rules: &Rules, at: Millis) -> Tokens {
        let Some(open) = self.open_lane() else { return Tokens::ZERO };
        let found = match open.lane.cache() {
            Some(_) => {
                let entry = open.tree.readable(&self.chain, &self.segments, rules).confirmed;
                entry.and_then(|entry| Some((self.touched_in(open, entry)?, self.estimated_up_to(entry + 1))))
            }
            None if open.has_read => self.last_answer().zip(self.last_answered()).map(|(at, (_, used))| {
                // Of a longer one, behind a rewind, no more than is sent again.
                (at, used.prompt().min(self.estimated_tokens()))
            }),
            None => None,
        };
        let ttl = open.lane.cache().unwrap_or(Ttl::FiveMinutes);
        let living = found.filter(|(last, _)| at.0.saturating_sub(last.0) < ttl.seconds() * 1000);
        living.map_or(Tokens::ZERO, |(_, tokens)| tokens)
    }

    /// Input tokens of a request with this plan by billing category, of which so many are read.
    pub(crate) fn expected(&self, plan: &CachePlan, read: Tokens) -> Counts {
        let tokens = self.estimated_tokens();
        let marked = plan.markers.last();
        let kept = marked.map_or(Tokens::ZERO, |last| self.estimated_up_to(last.position + 1));
        let read = read.min(tokens);
        let written = kept.min(tokens) - read;
        let counts = marked.map_or_else(Counts::default, |last| Counts::written(last.ttl, written));
        Counts { read, uncached: tokens - read - written, ..counts }
    }

    /// What is read of a lane without markers: all that was sent, or, in front of its first request, what its head has
    /// in common with that of the lane that it replaces.
    fn unasked(&self, open: &OpenLane) -> Reach {
        let touched = self.last_answer();
        let tokens = match open.tree.head_len() {
            Some(_) => self.estimated_up_to(self.sent()),
            None => {
                let before = open.replaces.and_then(|lane| self.lanes.get(lane));
                let same = before.map_or(0, |before| shared(before.lane.head(), open.lane.head()));
                Tokens::of_bytes(same as u64)
            }
        };
        if touched.is_none() || tokens.is_zero() { Reach::default() } else { Reach { tokens, touched } }
    }

    /// When the last request that was answered began.
    fn last_answer(&self) -> Option<Millis> {
        let is_answered = |attempt: &&super::Attempt| {
            attempt.outcome.as_ref().is_some_and(|(_, outcome)| outcome.status == Some(200))
        };
        let last = self.attempts.iter().rev().find(is_answered).map(|attempt| attempt.at);
        last.filter(|at| *at >= self.cache_began)
    }

    /// When the entry that ends at a position was last read or written by a request of that lane.
    fn touched_in(&self, lane: &OpenLane, position: usize) -> Option<Millis> {
        let touched = lane.touched.get(&self.chain.link(position + 1)?.normal).copied();
        touched.filter(|at| *at >= self.cache_began)
    }

    /// When it was by one of another lane that shares its cache.
    fn touched_beside(&self, open: &OpenLane, position: usize) -> Option<Millis> {
        let own = open.lane.spec();
        let shares = |lane: &&OpenLane| {
            let spec = lane.lane.spec();
            lane.lane.record() != open.lane.record()
                && (&spec.scope, &spec.model, spec.dialect) == (&own.scope, &own.model, own.dialect)
        };
        self.lanes.iter().filter(shares).filter_map(|lane| self.touched_in(lane, position)).max()
    }
}

/// Number of leading bytes that are the same.
fn shared(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}
