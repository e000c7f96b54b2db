//! The one place that reads the time.

use std::time::{SystemTime, UNIX_EPOCH};

use antefix_session::record::Millis;

/// The time now, in milliseconds since the Unix epoch.
#[allow(clippy::disallowed_methods)] // This is the clock that the lint names.
pub fn now() -> Millis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// The time now, for headers that name a date.
#[allow(clippy::disallowed_methods)]
pub(crate) fn system_time() -> SystemTime {
    SystemTime::now()
}
