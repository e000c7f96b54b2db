//! What time says: lifetimes and requests that overlap.

use antefix_models::{Tokens, Ttl};

use super::Observation;

/// The lifetime that was over when the later request left; `None` if the entry still lived or it cannot be told.
///
/// An entry lives from the start of the request that wrote or last read it, its last instant excluded. Source:
/// platform.claude.com/docs/en/build-with-claude/prompt-caching, September 2026.
pub(super) fn expired(earlier: &Observation<'_>, later: &Observation<'_>) -> Option<Ttl> {
    let (Some(from), Some(to), Some(ttl)) = (earlier.started_at, later.started_at, earlier.lifetime()) else {
        return None;
    };
    let lived = to.0.saturating_sub(from.0);
    (lived >= i64::try_from(ttl.seconds()).unwrap_or(i64::MAX).saturating_mul(1000)).then_some(ttl)
}

/// Whether a provider that promises a lifetime only at least, or none, may have dropped the entry in the pause.
///
/// Source: platform.openai.com/docs/guides/prompt-caching, 2026-09: in memory entries go after five to ten idle minutes;
/// an entry that was asked to live 30 minutes, 12 or 24 hours lives at least so long. Gemini promises nothing.
pub(super) fn may_be_gone(earlier: &Observation<'_>, later: &Observation<'_>) -> bool {
    let (Some(from), Some(to), Some(prompt)) = (earlier.started_at, later.started_at, earlier.prompt) else {
        return false;
    };
    let asked = LIFETIMES
        .iter()
        .find(|(pointer, word, _)| prompt.root.pointer(pointer).is_some_and(|value| value.is_str(word)));
    let minutes = asked.map_or(5, |(.., minutes)| *minutes);
    prompt.dialect.is_implicit() && to.0.saturating_sub(from.0) >= minutes * 60_000
}

/// How long an entry lives at least, in minutes, where the request says so.
const LIFETIMES: [(&str, &str, i64); 4] = [
    ("/prompt_cache_options/ttl", "30m", 30),
    ("/prompt_cache_options/ttl", "12h", 12 * 60),
    ("/prompt_cache_retention", "24h", 24 * 60),
    ("/prompt_cache_retention", "in_memory", 5),
];

/// Whether the entry still lived; `None` if it cannot be told.
pub(super) fn is_warm(earlier: &Observation<'_>, later: &Observation<'_>) -> Option<bool> {
    let known = earlier.started_at.is_some() && later.started_at.is_some() && earlier.lifetime().is_some();
    known.then(|| expired(earlier, later).is_none())
}

/// Whether the pause lay between the two lifetimes that the earlier request asked for, and something was left.
pub(super) fn left_the_head(earlier: &Observation<'_>, later: &Observation<'_>) -> bool {
    let (Some(from), Some(to)) = (earlier.started_at, later.started_at) else {
        return false;
    };
    let lived = to.0.saturating_sub(from.0);
    let milliseconds = |ttl: Ttl| i64::try_from(ttl.seconds()).unwrap_or(i64::MAX).saturating_mul(1000);
    let is_between = (milliseconds(Ttl::FiveMinutes)..milliseconds(Ttl::OneHour)).contains(&lived);
    is_between && earlier.asks_for_both() && later.usage.is_some_and(|usage| !usage.read.is_zero())
}

/// Whether the later request left before the earlier one's entry could be read: before its first byte.
pub(super) fn overlap(earlier: &Observation<'_>, later: &Observation<'_>) -> bool {
    matches!((earlier.first_byte_at, later.started_at), (Some(ready), Some(start)) if start < ready)
}

/// What a request lost of what the one before had in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    /// So many tokens were there and not read.
    Lost(Tokens),
    /// All was read again.
    Kept,
    /// The counts do not say.
    Unknown,
}

/// Compares what was read with what was there; `slack` forgives roundings of the providers.
pub(super) fn loss(earlier: &Observation<'_>, later: &Observation<'_>, slack: bool) -> Loss {
    let (Some(cached), Some(usage)) = (earlier.cached(), later.usage) else {
        return Loss::Unknown;
    };
    let forgiven = match (slack, earlier.is_implicit()) {
        (false, _) => 0,
        (true, true) => 2048.max(cached.0 / 20),
        (true, false) => 64.max(cached.0 / 100),
    };
    if usage.read + Tokens(forgiven) >= cached {
        return Loss::Kept;
    }
    Loss::Lost((cached - usage.read).min(usage.prompt() - usage.read))
}
