use bytes::Bytes;
use jiff::Timestamp;

use super::{Sighting, Source, Surroundings, Unavailable, object_of, text_of};

/// The date and the time zone. The time of day is never told: it would be news each time.
#[derive(Debug, Default)]
pub struct Date;

impl Source for Date {
    fn kind(&self) -> &'static str {
        "date"
    }

    fn observe(&mut self, around: &Surroundings) -> Result<Vec<Sighting>, Unavailable> {
        Ok(vec![Sighting::new("", state(around)?)])
    }

    fn baseline(&self, sighting: &Sighting) -> Option<String> {
        let [date, zone] = read(&sighting.state)?;
        Some(format!("Date at the start of the session: {date} ({zone})"))
    }

    fn drift(&self, known: &[u8], now: &Sighting) -> Option<String> {
        let [date, zone] = read(&now.state)?;
        match read(known) {
            Some([_, before]) if before == zone => Some(format!("The date is now {date}.")),
            Some([_, before]) => Some(format!(
                "The time zone of this machine is now {zone}; it was {before}. The date there is {date}."
            )),
            None => Some(format!("The date is {date} ({zone}).")),
        }
    }

    fn is_instant(&self) -> bool {
        true
    }
}

fn state(around: &Surroundings) -> Result<Bytes, Unavailable> {
    let time = i64::try_from(around.now.0).ok().and_then(|now| Timestamp::from_millisecond(now).ok());
    let time = time.ok_or_else(|| Unavailable("the clock shows no date".to_owned()))?;
    let zoned = time.to_zoned(around.zone.clone());
    let zone = match around.zone.iana_name() {
        Some(name) => name.to_owned(),
        None if around.zone.is_unknown() => "UTC".to_owned(),
        None => format!("UTC{}", zoned.offset()),
    };
    Ok(object_of([("date", &zoned.date().to_string()), ("zone", &zone)]))
}

fn read(state: &[u8]) -> Option<[String; 2]> {
    Some([text_of(state, "date")?, text_of(state, "zone")?])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::watcher::tests::{around, at};

    #[test]
    fn the_date_is_that_of_the_zone() {
        let utc = r#"{"date":"2026-11-30","zone":"UTC"}"#;
        for (zone, known, baseline, drift) in [
            ("UTC", utc, "2026-11-30 (UTC)", "The date is now 2026-11-30."),
            (
                "Asia/Tokyo",
                utc,
                "2026-12-01 (Asia/Tokyo)",
                "The time zone of this machine is now Asia/Tokyo; it was UTC. The date there is 2026-12-01.",
            ),
            (
                "America/New_York",
                "null",
                "2026-11-30 (America/New_York)",
                "The date is 2026-11-30 (America/New_York).",
            ),
        ] {
            let zone = jiff::tz::TimeZone::get(zone).unwrap();
            let around = Surroundings { zone, ..around("/w", at("2026-11-30T23:30:00Z")) };
            let seen = Date.observe(&around).unwrap();
            let said = Date.baseline(&seen[0]).unwrap();
            assert_eq!(said, format!("Date at the start of the session: {baseline}"));
            assert_eq!(Date.drift(known.as_bytes(), &seen[0]).as_deref(), Some(drift));
        }
    }
}
