//! Rate limits and quotas: what was used in the current window, and the headers that say so.

use std::collections::BTreeMap;

use crate::Millis;
use crate::cache::Outcome;
use crate::config::{Limits, UnifiedQuota};
use crate::error::ApiError;

/// What each organization has used.
#[derive(Clone, Debug, Default)]
pub(crate) struct Meter(BTreeMap<String, Used>);

impl Meter {
    /// Counts a request in, or refuses it.
    pub fn admit(&mut self, organization: &str, limits: &Limits, now: Millis) -> Result<(), ApiError> {
        let used = self.at(organization, now);
        let exhausted = [
            (used.requests, limits.requests, "requests"),
            (used.input, limits.input_tokens, "input tokens"),
            (used.output, limits.output_tokens, "output tokens"),
        ];
        if let Some((_, most, what)) = exhausted.iter().find(|(used, most, _)| used >= most) {
            let wait = used.minute.end(MINUTE).0 - now.0;
            let message = format!(
                "This request would exceed your organization's rate limit of {most} {what} per minute."
            );
            let error = ApiError::new(429, "rate_limit_error", message);
            return Err(ApiError { retry_after: Some(wait.div_ceil(1000)), ..error });
        }
        used.requests += 1;
        Ok(())
    }

    /// Charges what a request paid; cache reads are free.
    pub fn charge(&mut self, organization: &str, paid: &Outcome, output: u64, now: Millis) {
        let used = self.at(organization, now);
        used.input += paid.uncached + paid.write_5m + paid.write_1h;
        used.output = used.output.saturating_add(output);
        let units = paid.uncached + paid.write_5m * 5 / 4 + paid.write_1h * 2 + paid.read / 10;
        let units = units.saturating_add(output.saturating_mul(5));
        used.five_hours_units = used.five_hours_units.saturating_add(units);
        used.week_units = used.week_units.saturating_add(units);
    }

    /// The headers of a response.
    pub fn headers(
        &mut self,
        organization: &str,
        limits: &Limits,
        quota: Option<&UnifiedQuota>,
        now: Millis,
    ) -> Vec<(String, String)> {
        let used = *self.at(organization, now);
        let reset = timestamp(used.minute.end(MINUTE));
        let rows = [
            ("requests", limits.requests, used.requests),
            (
                "tokens",
                limits.input_tokens.saturating_add(limits.output_tokens),
                used.input.saturating_add(used.output),
            ),
            ("input-tokens", limits.input_tokens, used.input),
            ("output-tokens", limits.output_tokens, used.output),
        ];
        let mut headers = Vec::new();
        for (what, limit, used) in rows {
            let name = |field: &str| format!("anthropic-ratelimit-{what}-{field}");
            headers.push((name("limit"), limit.to_string()));
            headers.push((name("remaining"), limit.saturating_sub(used).to_string()));
            headers.push((name("reset"), reset.clone()));
        }
        if let Some(quota) = quota {
            headers.extend(used.unified(quota));
        }
        headers
    }

    fn at(&mut self, organization: &str, now: Millis) -> &mut Used {
        let used = self.0.entry(organization.to_owned()).or_default();
        if used.minute.enter(now, MINUTE) {
            (used.requests, used.input, used.output) = (0, 0, 0);
        }
        if used.five_hours.enter(now, FIVE_HOURS) {
            used.five_hours_units = 0;
        }
        if used.week.enter(now, WEEK) {
            used.week_units = 0;
        }
        used
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Used {
    minute: Window,
    requests: u64,
    input: u64,
    output: u64,
    five_hours: Window,
    five_hours_units: u64,
    week: Window,
    week_units: u64,
}

impl Used {
    /// Utilization with two decimals; resets in seconds of the epoch, as a subscription's responses have
    /// them.
    fn unified(&self, quota: &UnifiedQuota) -> Vec<(String, String)> {
        let rows = [
            ("5h", self.five_hours_units, quota.five_hours, self.five_hours.end(FIVE_HOURS)),
            ("7d", self.week_units, quota.week, self.week.end(WEEK)),
        ];
        let mut headers = Vec::new();
        let mut rejected = false;
        for (name, used, most, reset) in rows {
            let percent = used.saturating_mul(100) / most.max(1);
            rejected |= percent >= 100;
            let status = if percent >= 100 { "rejected" } else { "allowed" };
            let name = |field: &str| format!("{UNIFIED}-{name}-{field}");
            headers.push((name("status"), status.to_owned()));
            headers.push((name("utilization"), format!("{}.{:02}", percent / 100, percent % 100)));
            headers.push((name("reset"), (reset.0 / 1000).to_string()));
        }
        let status = if rejected { "rejected" } else { "allowed" };
        headers.push((format!("{UNIFIED}-status"), status.to_owned()));
        headers.push((format!("{UNIFIED}-overage-status"), "rejected".to_owned()));
        headers
    }
}

/// The number of a fixed window since the start of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Window(u64);

impl Window {
    /// Moves on to the window of `now`; says whether it is a new one.
    fn enter(&mut self, now: Millis, length: u64) -> bool {
        let current = Self(now.0 / length);
        std::mem::replace(self, current) != current
    }

    fn end(self, length: u64) -> Millis {
        Millis((self.0 + 1).saturating_mul(length))
    }
}

/// A moment as RFC 3339 in UTC, whole seconds.
pub(crate) fn timestamp(moment: Millis) -> String {
    let seconds = moment.0 / 1000;
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days since 0000-03-01 split into 400-year eras (Hinnant, "chrono-compatible low-level date
    // algorithms").
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

const MINUTE: u64 = 60_000;
const FIVE_HOURS: u64 = 5 * 3_600_000;
const WEEK: u64 = 7 * 86_400_000;
const UNIFIED: &str = "anthropic-ratelimit-unified";

#[cfg(test)]
mod tests {
    use super::{Millis, timestamp};

    #[test]
    fn moments_are_written_as_dates() {
        let cases = [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (1_796_083_199_000, "2026-11-30T23:59:59Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00Z"),
        ];
        for (moment, expect) in cases {
            assert_eq!(timestamp(Millis(moment)), expect);
        }
    }
}
