//! When the server says to come back.

use std::time::{Duration, SystemTime};

/// How long the answer's headers ask to wait: `retry-after-ms` (milliseconds), else `retry-after` in seconds
/// or as an HTTP date. `None` without a usable one; zero for a date that has passed. Header names are in
/// lower case. The length is not capped.
///
/// Sources: RFC 9110 §10.2.3 (<https://www.rfc-editor.org/rfc/rfc9110#name-retry-after>); `retry-after-ms`
/// and fractions are read by the provider's own SDKs (`@anthropic-ai/sdk`, 2026).
pub fn retry_after(headers: &[(String, String)], now: SystemTime) -> Option<Duration> {
    let value = |name| headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.trim());
    let milliseconds = value("retry-after-ms").and_then(|text| decimal(text, 1));
    milliseconds.or_else(|| {
        let text = value("retry-after")?;
        decimal(text, 1000).or_else(|| until(text, now))
    })
}

fn until(text: &str, now: SystemTime) -> Option<Duration> {
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(now).unwrap_or(Duration::ZERO))
}

/// A decimal number of units of `unit` milliseconds, a part of a millisecond rounded up.
fn decimal(text: &str, unit: u64) -> Option<Duration> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return None;
    }
    let whole: u64 = whole.parse().ok()?;
    let nanos_of_unit = u128::from(unit) * 1_000_000;
    let fraction = fraction.get(..fraction.len().min(9)).unwrap_or_default();
    let part: u128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let part_nanos = part * nanos_of_unit / 10u128.pow(fraction.len() as u32);
    let milliseconds = whole.checked_mul(unit)?.checked_add(part_nanos.div_ceil(1_000_000) as u64)?;
    Some(Duration::from_millis(milliseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(headers: &[(&str, &str)], expect: Option<u64>) {
        let headers: Vec<_> = headers.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        // Sun, 06 Nov 1994 08:49:37 GMT
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        assert_eq!(retry_after(&headers, now), expect.map(Duration::from_millis), "{headers:?}");
    }

    #[test]
    fn reads_every_form() {
        check(&[], None);
        check(&[("retry-after", "7")], Some(7_000));
        check(&[("retry-after", " 0 ")], Some(0));
        check(&[("retry-after", "0.5")], Some(500));
        check(&[("retry-after", "1.0001")], Some(1_001));
        check(&[("retry-after", "-1")], None);
        check(&[("retry-after", "soon")], None);
        check(&[("retry-after", "1e3")], None);
        check(&[("retry-after", ".")], None);
        check(&[("retry-after", "99999999999999999999")], None);
        check(&[("retry-after", "18446744073709551615")], None);
        check(&[("retry-after-ms", "1500")], Some(1_500));
        check(&[("retry-after-ms", "12.25")], Some(13));
        check(&[("retry-after-ms", "20"), ("retry-after", "7")], Some(20));
        check(&[("retry-after-ms", "?"), ("retry-after", "7")], Some(7_000));
        check(&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")], Some(0));
        check(&[("retry-after", "Sun, 06 Nov 1994 08:49:38 GMT")], Some(1_000));
        check(&[("retry-after", "Sunday, 06-Nov-94 08:50:37 GMT")], Some(60_000));
        check(&[("retry-after", "Sun Nov  6 08:49:47 1994")], Some(10_000));
        check(&[("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")], Some(0));
    }
}
