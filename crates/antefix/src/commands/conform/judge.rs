use std::ops::Range;

use antefix_models::{Modifiers, Money, Tokens, price};

use super::captured::Captured;
use super::column::Column;
use super::row::{AGAIN, Declared, Row, Told};
use super::scene::Played;
use crate::stream_json::quoted;
use crate::text::today;

/// What came of a scene.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Positions of the old prompt that are still there, bytes equal, in the worst of the requests behind the change.
    pub kept: Share,
    /// Tokens of the old prompt that were read from the cache there.
    pub cached: Share,
    /// What the change cost: tokens of the old prompt that were not read, at the price they were taken in again for.
    pub price: Option<Money>,
    /// Whether the model was told, where it has to be.
    pub told: Option<bool>,
    /// What is not as declared.
    pub findings: Vec<String>,
}

/// A part of a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// The part.
    pub part: u64,
    /// The whole.
    pub of: u64,
}

impl Share {
    /// In millionths, rounded down: all of nothing is all.
    pub fn millionths(self) -> u64 {
        let part = u128::from(self.part.min(self.of)) * 1_000_000;
        part.checked_div(u128::from(self.of)).map_or(1_000_000, |millionths| millionths as u64)
    }

    /// The smaller of two.
    pub fn worst(self, other: Self) -> Self {
        if other.millionths() < self.millionths() { other } else { self }
    }

    /// Whether it is all of it.
    pub fn is_whole(self) -> bool {
        self.part >= self.of
    }
}

impl Default for Share {
    fn default() -> Self {
        Self { part: 1, of: 1 }
    }
}

/// Judges what a server has captured of a scene; `expected` is the share that was read where nothing had changed.
pub fn judge(row: &Row, column: Column, requests: &[Captured], played: &Played, expected: Share) -> Verdict {
    let mut judge = Judge { row, column, requests, played, expected, verdict: Verdict::default() };
    judge.task();
    judge.message();
    judge.again();
    judge.told();
    judge.changed();
    judge.verdict
}

struct Judge<'a> {
    row: &'a Row,
    column: Column,
    requests: &'a [Captured],
    played: &'a Played,
    expected: Share,
    verdict: Verdict,
}

impl Judge<'_> {
    /// The first task, which has to offer the tools that the row is about.
    fn task(&mut self) {
        let Some(first) = self.requests.first() else { return };
        let missing = self.row.offers.iter().filter(|tool| !first.names(tool));
        let missing: Vec<String> =
            missing.map(|tool| format!("the first task does not offer `{tool}`")).collect();
        self.verdict.findings.extend(missing);
    }

    /// The message behind the change, against what is declared.
    fn message(&mut self) {
        let declared = self.row.declared(self.column);
        let (kept, cached) = self.shares(self.played.message.clone());
        let is_kept = kept.is_whole() && self.is_enough(cached);
        self.verdict.kept = kept;
        self.verdict.cached = cached;
        match declared {
            Declared::Kept if !kept.is_whole() => {
                self.finds(format!("{} of {} positions of the old prompt are kept", kept.part, kept.of));
            }
            Declared::Kept if !is_kept => {
                self.finds(format!("{} of {} tokens of the old prompt are read", cached.part, cached.of));
            }
            Declared::Planned(_) if is_kept => {
                self.finds("nothing is lost, though a loss is planned".to_owned());
            }
            Declared::Limited(_) if !kept.is_whole() => {
                self.finds("bytes have changed, which no rule of the provider's asks for".to_owned());
            }
            Declared::Limited(_) if is_kept => {
                self.finds("all is read, though the provider's rules are said not to let it".to_owned());
            }
            _ => {}
        }
        if declared != Declared::Kept {
            self.verdict.price = self.lost(cached);
        }
    }

    /// The message behind that: whatever the change cost, it has cost it once, but for a limit that stays.
    fn again(&mut self) {
        let (kept, cached) = self.shares(self.played.again.clone());
        if !kept.is_whole() || !(self.row.loses_on(self.column) || self.is_enough(cached)) {
            self.finds(format!(
                "the third message keeps {} of {} positions and reads {} of {} tokens",
                kept.part, kept.of, cached.part, cached.of
            ));
        }
        self.only_says(self.played.again.start, AGAIN);
    }

    fn told(&mut self) {
        match self.row.told {
            Told::Nothing => self.only_says(self.played.message.start, self.row.prompt),
            Told::Whatever => {}
            Told::Words(words) => {
                let missing: Vec<_> = words.iter().filter_map(|word| self.said_wrong(word)).collect();
                self.verdict.told = Some(missing.is_empty());
                self.verdict.findings.extend(missing);
            }
        }
    }

    /// Tools are withdrawn and offered once, with the message, and stay so.
    fn changed(&mut self) {
        let expected = self.row.changes_in(self.column);
        let changes = |at: usize| self.requests.get(at).map(Captured::tool_changes).unwrap_or_default();
        let old = changes(self.played.task.saturating_sub(1)).len();
        let ends = [self.played.message.start, self.played.again.end.saturating_sub(1)];
        for (at, when) in ends.into_iter().zip(["with the message", "in the end"]) {
            let found = changes(at).split_off(old.min(changes(at).len()));
            if !are_these(&found, expected) {
                self.finds(format!("tools are changed by {found:?} {when}, and should be by {expected:?}"));
            }
        }
    }

    /// What is wrong with how a change is told: it has to stand once behind the old prompt, from the message on.
    fn said_wrong(&self, word: &str) -> Option<String> {
        let old = self.requests.get(self.played.task.checked_sub(1)?)?.positions.len();
        let times = |at: usize| {
            let said = self.requests.get(at).map(|request| request.said_from(old)).unwrap_or_default();
            said.iter().map(|text| text.matches(word).count()).sum::<usize>()
        };
        let (first, last) =
            (times(self.played.message.start), times(self.played.again.end.saturating_sub(1)));
        match (first, last) {
            (1, 1) => None,
            (0, 0) => Some(format!("the model is not told of `{word}`")),
            (0, _) => Some(format!("the model is told of `{word}` too late")),
            (_, times) => Some(format!("the model is told of `{word}` {times} times")),
        }
    }

    /// A message that says what the user says, and nothing else.
    fn only_says(&mut self, at: usize, prompt: &str) {
        let (Some(request), Some(before)) = (self.requests.get(at), self.before(at)) else { return };
        let expected = quoted(prompt);
        let said = request.said_from(before.positions.len());
        let is_all = matches!(said.as_slice(), [only] if only.contains(&expected));
        if !is_all {
            let text =
                format!("request {} says more than the user does: {}", request.number, shortened(&said));
            self.finds(text);
        }
    }

    /// The worst of some requests, each against the one before it.
    fn shares(&mut self, range: Range<usize>) -> (Share, Share) {
        let (mut kept, mut cached) = (Share::default(), Share::default());
        if range.is_empty() {
            self.finds("no request came".to_owned());
        }
        for at in range {
            let (Some(request), Some(before)) = (self.requests.get(at), self.before(at)) else { continue };
            let whole = before.positions.len() as u64;
            kept = kept.worst(Share { part: request.kept_of(before) as u64, of: whole });
            let old = before.counts.prompt().0;
            cached = cached.worst(Share { part: request.counts.read.0.min(old), of: old });
            if request.status != 200 {
                let text = format!("request {} was answered with {}", request.number, request.status);
                self.finds(text);
            }
        }
        (kept, cached)
    }

    /// The request whose prompt the one at `at` has to keep.
    fn before(&self, at: usize) -> Option<&Captured> {
        let goes_back = self.row.goes_back && at == self.played.message.start;
        let end = if goes_back { self.played.task } else { at };
        self.requests.get(..end)?.iter().rev().find(|request| request.status == 200)
    }

    /// As much as where nothing changes, or all where something always does, but for a block of the engine's that is not full.
    fn is_enough(&self, cached: Share) -> bool {
        // Where the template always moves something, a cell that reads as little as one in which nothing changes has lost.
        let expected = if self.column.limit().is_some() { Share::default() } else { self.expected };
        let expected = u128::from(expected.millionths()) * u128::from(cached.of) / 1_000_000;
        u128::from(cached.part + self.column.grain()) >= expected
    }

    fn lost(&self, cached: Share) -> Option<Money> {
        let lost = Tokens(cached.of.saturating_sub(cached.part));
        let prompt = Tokens(cached.of);
        let (platform, model) = (self.column.platform(), self.column.model());
        let prices = price(platform, model, today(), Modifiers::default(), prompt)?;
        Some(prices.write_5m * lost - prices.read * lost)
    }

    fn finds(&mut self, text: String) {
        self.verdict.findings.push(text);
    }
}

fn shortened(said: &[&str]) -> String {
    let all = said.join(" ");
    let start: String = all.chars().take(200).collect();
    if start.len() < all.len() { format!("{start}…") } else { start }
}

/// Whether changes are those that were declared, in their order; one that ends in `*` stands for one or more that begin
/// so.
fn are_these(mut found: &[String], declared: &[&str]) -> bool {
    for change in declared {
        let count = match change.strip_suffix('*') {
            Some(start) => found.iter().take_while(|found| found.starts_with(start)).count(),
            None => usize::from(found.first().is_some_and(|found| found == change)),
        };
        let Some(rest) = found.get(count..).filter(|_| count > 0) else { return false };
        found = rest;
    }
    found.is_empty()
}
