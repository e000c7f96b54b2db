//! Slots: each holds the tokens of its latest request and computes the next one from where they differ.

use crate::Millis;
use crate::chat::token::Token;
use crate::config::SlotRules;

use super::{Ask, Found, Kept};

/// All slots.
#[derive(Clone, Debug)]
pub(crate) struct SlotCache {
    rules: SlotRules,
    slots: Vec<Slot>,
    uses: u64,
}

impl SlotCache {
    pub fn new(rules: SlotRules) -> Self {
        let slots = vec![Slot::default(); rules.count.max(1)];
        Self { rules, slots, uses: 0 }
    }

    /// The slot that takes the request, and how much of the prompt it holds. At least one token is computed.
    pub fn look_up(&self, ask: &Ask<'_>) -> Found {
        let slot = ask.slot.filter(|slot| *slot < self.slots.len()).unwrap_or_else(|| self.choose(ask));
        let Some(chosen) = self.slots.get(slot) else { return Found::default() };
        let common = if ask.reuse { chosen.common(ask.prompt) } else { 0 };
        Found {
            cached: common.min(ask.prompt.len().saturating_sub(1)),
            slot,
            wait: Millis(chosen.busy_until.0.saturating_sub(ask.now.0)),
        }
    }

    /// Leaves a prompt and its answer in the slot that took it.
    pub fn keep(&mut self, ask: &Ask<'_>, slot: usize, kept: &Kept<'_>) {
        self.uses += 1;
        let tokens = ask.prompt.iter().chain(kept.output).copied().collect();
        if let Some(slot) = self.slots.get_mut(slot) {
            *slot = Slot { tokens, used: self.uses, busy_until: kept.finished_at };
        }
    }

    /// Of the slots that are free, the one with the longest common prefix if that is long enough, else the one
    /// unused for longest; if none is free, the one that is free first.
    fn choose(&self, ask: &Ask<'_>) -> usize {
        let numbered = || self.slots.iter().enumerate();
        let free: Vec<(usize, &Slot)> = numbered().filter(|(_, slot)| slot.busy_until <= ask.now).collect();
        if free.is_empty() {
            let first = numbered().min_by_key(|(_, slot)| slot.busy_until);
            return first.map(|(at, _)| at).unwrap_or_default();
        }
        let similar = |slot: &Slot| {
            let common = slot.common(ask.prompt);
            (common * 100 > self.rules.similarity_percent * ask.prompt.len()).then_some(common)
        };
        let longest = free.iter().rev().filter_map(|(at, slot)| Some((similar(slot)?, *at)));
        // Of equals the last is taken, which is the first slot: they come in reverse.
        let longest = longest.max_by_key(|(common, _)| *common).map(|(_, at)| at);
        let oldest = || free.iter().min_by_key(|(_, slot)| slot.used).map(|(at, _)| *at);
        longest.or_else(oldest).unwrap_or_default()
    }
}

#[derive(Clone, Debug, Default)]
struct Slot {
    tokens: Vec<Token>,
    /// Number of its last use.
    used: u64,
    busy_until: Millis,
}

impl Slot {
    fn common(&self, prompt: &[Token]) -> usize {
        self.tokens.iter().zip(prompt).take_while(|(left, right)| left == right).count()
    }
}
