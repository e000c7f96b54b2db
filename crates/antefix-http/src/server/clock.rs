//! What time it is for the simulator.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use antefix_sim::Millis;
use tokio::time::{Duration, Instant};

use super::Clock;

/// A clock that never goes back.
#[derive(Debug)]
pub(super) enum ServerClock {
    /// Milliseconds since the Unix epoch: the time of day at the start, and what has passed since.
    Real { epoch: u64, start: Instant },
    /// Milliseconds since the start.
    Virtual { now: AtomicU64 },
}

impl ServerClock {
    pub(super) fn start(clock: Clock) -> Self {
        match clock {
            Clock::Virtual => Self::Virtual { now: AtomicU64::new(0) },
            Clock::Real => Self::Real { epoch: time_of_day(), start: Instant::now() },
        }
    }

    pub(super) fn now(&self) -> Millis {
        match self {
            Self::Virtual { now } => Millis(now.load(Ordering::SeqCst)),
            Self::Real { epoch, start } => Millis(epoch + start.elapsed().as_millis() as u64),
        }
    }

    pub(super) fn is_virtual(&self) -> bool {
        matches!(self, Self::Virtual { .. })
    }

    /// Moves the virtual clock on.
    pub(super) fn advance(&self, milliseconds: u64) {
        if let Self::Virtual { now } = self {
            let later = |now: u64| Some(now.saturating_add(milliseconds));
            let _ = now.fetch_update(Ordering::SeqCst, Ordering::SeqCst, later);
        }
    }

    /// Moves the virtual clock to `moment` unless it is past it.
    pub(super) fn reach(&self, moment: Millis) {
        if let Self::Virtual { now } = self {
            now.fetch_max(moment.0, Ordering::SeqCst);
        }
    }

    /// When to wait for `moment` in real time; `None` on the virtual clock.
    pub(super) fn due(&self, moment: Millis) -> Option<Instant> {
        match self {
            Self::Virtual { .. } => None,
            Self::Real { epoch, start } => {
                start.checked_add(Duration::from_millis(moment.0.saturating_sub(*epoch)))
            }
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the simulator server's clock")]
fn time_of_day() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_millis() as u64)
}
