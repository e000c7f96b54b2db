//! What an engine keeps of prompts, and how much of the next one it finds.

mod blocks;
mod slots;

use crate::Millis;
use crate::config::Engine;

use super::token::Token;
use blocks::BlockCache;
use slots::SlotCache;

/// An engine's cache.
#[derive(Clone, Debug)]
pub(crate) enum KvCache {
    Blocks(BlockCache),
    Slots(SlotCache),
}

impl KvCache {
    pub fn new(engine: &Engine) -> Self {
        match engine {
            Engine::Blocks(rules) => Self::Blocks(BlockCache::new(rules.clone())),
            Engine::Slots(rules) => Self::Slots(SlotCache::new(rules.clone())),
        }
    }

    /// How much of a prompt need not be computed.
    pub fn look_up(&self, ask: &Ask<'_>) -> Found {
        match self {
            Self::Blocks(cache) => Found { cached: cache.look_up(ask), ..Found::default() },
            Self::Slots(cache) => cache.look_up(ask),
        }
    }

    /// Keeps a prompt and what was computed of its answer.
    pub fn keep(&mut self, ask: &Ask<'_>, found: &Found, kept: &Kept<'_>) {
        match self {
            Self::Blocks(cache) => cache.keep(ask, kept),
            Self::Slots(cache) => cache.keep(ask, found.slot, kept),
        }
    }
}

/// One request as the cache sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask<'a> {
    /// Prompts of other scopes are not seen.
    pub scope: &'a str,
    pub prompt: &'a [Token],
    /// The slot asked for.
    pub slot: Option<usize>,
    /// Whether earlier prompts may be used at all.
    pub reuse: bool,
    /// Start of the request.
    pub now: Millis,
}

/// What was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// Tokens that need not be computed.
    pub cached: usize,
    pub slot: usize,
    /// How long the request waits for a slot.
    pub wait: Millis,
}

/// What an answer leaves behind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept<'a> {
    pub output: &'a [Token],
    /// When the prompt has been computed.
    pub computed_at: Millis,
    /// When the answer is complete.
    pub finished_at: Millis,
}
