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

/// Whether the entry still lived; `None` if it cannot be told.
pub(super) fn is_warm(earlier: &Observation<'_>, later: &Observation<'_>) -> Option<bool> {
    let known = earlier.started_at.is_some() && later.started_at.is_some() && earlier.lifetime().is_some();
    known.then(|| expired(earlier, later).is_none())
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
