use std::sync::Arc;

use antefix_models::PriceBook;

use super::compaction::CompactionSettings;
use crate::closure::Texts;
use crate::conversation::ApplyError;
use crate::guard::Limits;
use crate::record::Millis;
use crate::warm::KeepWarm;

/// What a session keeps to.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Limits of the built-in guards.
    pub limits: Limits,
    /// How often a request is made again before the turn fails.
    pub retries: u32,
    /// Longest wait before a request is made again, in milliseconds; asked to wait longer, the turn fails.
    pub longest_wait: u64,
    /// Whether a request may be sent that neither extends nor branches from an earlier one as planned.
    pub allow_break: bool,
    /// How far the cache is kept warm while a turn waits for its calls; not at all without.
    pub keep_warm: Option<KeepWarm>,
    /// What turn closure says. Once said it is on record, so that another build's texts change nothing.
    pub texts: Texts,
    /// When the conversation goes on from a summary.
    pub compaction: CompactionSettings,
    /// When the provider's cache is known to have begun, with nothing in it; `None` where nobody knows.
    pub cache_began: Option<Millis>,
    /// What tokens cost: the list, or the user's own prices in front of it.
    pub prices: Arc<PriceBook>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            retries: 6,
            longest_wait: 10 * 60 * 1000,
            allow_break: false,
            keep_warm: None,
            texts: Texts::default(),
            compaction: CompactionSettings::default(),
            cache_began: None,
            prices: Arc::default(),
        }
    }
}

/// An event that does not fit the session's state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// A turn is running; wait for its end or interrupt it.
    #[error("a turn is still running")]
    Busy,
    /// No lane is open; open one first.
    #[error("the session has no lane yet")]
    NoLane,
    /// The event answers something that was not asked.
    #[error("`{0}` was not asked for")]
    Unexpected(&'static str),
    /// There is no such turn to go back to.
    #[error("there is no turn {0}")]
    NoTurn(u64),
    /// The lane's dialect has no such place for reminders.
    #[error("reminders cannot stand in the place `{0}` in the dialect `{1}`")]
    Misplaced(&'static str, &'static str),
    /// What is to be said is not JSON of the right shape.
    #[error("{what} cannot be sent: {reason}")]
    Unreadable {
        /// What it is.
        what: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A record does not fit; the transcript or the code that made it is at fault.
    #[error(transparent)]
    Apply(#[from] ApplyError),
}
