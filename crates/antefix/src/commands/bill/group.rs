//! Postings put together by day, week, month, session, block, message or request.

use std::collections::BTreeMap;

use antefix_ledger::{Posting, Purpose};
use jiff::Timestamp;
use jiff::civil::Weekday;
use jiff::tz::TimeZone;

use crate::cli::BillBy;

/// Postings that stand in one line.
pub struct Group<'p> {
    /// What the line is called.
    pub name: String,
    /// The postings in order of time.
    pub postings: Vec<&'p Posting>,
}

/// How far a quota was used up before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaChange {
    /// The window, such as `5h`.
    pub window: String,
    /// Used up before the first request, as the provider wrote it; `None` if no request came before.
    pub from: Option<String>,
    /// Used up after the last one.
    pub to: String,
}

/// Puts postings, which are in order of time, into the lines of a bill.
pub fn groups<'p>(postings: &'p [Posting], by: BillBy, zone: &TimeZone) -> Vec<Group<'p>> {
    let mut lines: BTreeMap<Key, Group<'p>> = BTreeMap::new();
    let mut block_from = None;
    for posting in postings {
        let (key, name) = match by {
            BillBy::Blocks => {
                let from =
                    block_from.filter(|from| posting.at_ms < from + FIVE_HOURS).unwrap_or(posting.at_ms);
                block_from = Some(from);
                (Key::Time(from), block_name(from, zone))
            }
            _ => name(posting, by, zone),
        };
        lines.entry(key).or_insert_with(|| Group { name, postings: Vec::new() }).postings.push(posting);
    }
    let mut groups: Vec<Group<'p>> = lines.into_values().collect();
    groups.sort_by_key(|group| group.postings.first().map(|first| first.at_ms));
    groups
}

/// What the headers of a subscription say about the postings of a line: how much was used up before its first
/// request and after its last. Only that change is told, since what a cache read weighs in it is not public.
pub fn quota_changes(all: &[Posting], line: &[&Posting]) -> Vec<QuotaChange> {
    let mut changes: Vec<QuotaChange> = Vec::new();
    for (window, value) in line.iter().flat_map(|posting| utilizations(posting)) {
        match changes.iter_mut().find(|known| known.window == window) {
            Some(known) => value.clone_into(&mut known.to),
            None => changes.push(QuotaChange { window: window.to_owned(), from: None, to: value.to_owned() }),
        }
    }
    let begins = line.first().map(|first| (first.at_ms, &first.session, first.attempt));
    let before = || {
        all.iter()
            .rev()
            .skip_while(|posting| begins != Some((posting.at_ms, &posting.session, posting.attempt)))
            .skip(1)
    };
    for change in &mut changes {
        let mut values = before().flat_map(utilizations);
        change.from = values.find(|(window, _)| *window == change.window).map(|(_, value)| value.to_owned());
    }
    changes
}

/// The windows of a quota and how much of each is used up, as the provider wrote it.
fn utilizations(posting: &Posting) -> impl Iterator<Item = (&str, &str)> {
    posting.quota.iter().filter_map(|(name, value)| {
        let window = name.strip_prefix(UNIFIED)?.strip_suffix("-utilization")?;
        Some((window, value.as_str()))
    })
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Time(i64),
    Text(String),
    Numbered(String, u64),
}

fn name(posting: &Posting, by: BillBy, zone: &TimeZone) -> (Key, String) {
    let day = moment(posting.at_ms).to_zoned(zone.clone()).date();
    let text = |name: String| (Key::Text(name.clone()), name);
    match by {
        BillBy::Daily | BillBy::Blocks => text(day.to_string()),
        BillBy::Weekly => {
            let back = day.weekday().since(Weekday::Monday);
            let monday = day.checked_sub(jiff::Span::new().days(i64::from(back))).unwrap_or(day);
            text(format!("{monday} …"))
        }
        BillBy::Monthly => text(day.strftime("%Y-%m").to_string()),
        BillBy::Session if posting.purpose == Purpose::Subagent => {
            (Key::Text(posting.session.clone()), format!("{} (subagent)", posting.session))
        }
        BillBy::Session => text(posting.session.clone()),
        BillBy::Message => numbered(posting, "message", posting.message),
        BillBy::Request => numbered(posting, "request", posting.attempt),
    }
}

fn numbered(posting: &Posting, what: &str, number: u64) -> (Key, String) {
    let session = &posting.session;
    (Key::Numbered(session.clone(), number), format!("{session} {what} {number}"))
}

fn block_name(from: i64, zone: &TimeZone) -> String {
    let shown = |at: i64, form: &str| moment(at).to_zoned(zone.clone()).strftime(form).to_string();
    format!("{} – {}", shown(from, "%Y-%m-%d %H:%M"), shown(from + FIVE_HOURS, "%H:%M"))
}

fn moment(at_ms: i64) -> Timestamp {
    Timestamp::from_millisecond(at_ms).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// A block in milliseconds: it begins with a request, and the first one after its end begins the next.
const FIVE_HOURS: i64 = 5 * 3_600_000;

const UNIFIED: &str = "anthropic-ratelimit-unified-";

#[cfg(test)]
mod tests {
    use antefix_ledger::Standing;
    use antefix_models::{Modifiers, Platform};

    use super::*;

    fn posting(session: &str, attempt: u64, at: &str, quota: Option<&str>) -> Posting {
        let name = |field: &str| format!("anthropic-ratelimit-unified-5h-{field}");
        let headers =
            |used: &str| vec![(name("status"), "allowed".to_owned()), (name("utilization"), used.to_owned())];
        Posting {
            session: session.to_owned(),
            attempt,
            part: 0,
            message: attempt.div_ceil(2),
            at_ms: at.parse::<Timestamp>().unwrap().as_millisecond(),
            platform: Platform::Anthropic,
            model: "m".to_owned(),
            purpose: Purpose::Message,
            status: Some(200),
            modifiers: Modifiers::default(),
            row: None,
            standing: Standing::default(),
            quota: quota.map(headers).unwrap_or_default(),
        }
    }

    #[test]
    fn lines_are_made_of_what_belongs_together() {
        let postings = [
            posting("b", 1, "2026-10-31T23:30:00Z", None),
            posting("a", 1, "2026-11-01T01:00:00Z", Some("0.10")),
            posting("a", 2, "2026-11-01T04:29:59Z", Some("0.12")),
            posting("a", 3, "2026-11-01T04:30:00Z", Some("0.20")),
            posting("b", 2, "2026-11-02T00:00:00Z", None),
        ];
        let berlin = TimeZone::fixed(jiff::tz::offset(1));
        for (by, zone, expect) in [
            (BillBy::Daily, TimeZone::UTC, "2026-10-31:1 2026-11-01:3 2026-11-02:1"),
            (BillBy::Daily, berlin.clone(), "2026-11-01:4 2026-11-02:1"),
            (BillBy::Weekly, TimeZone::UTC, "2026-10-26 …:4 2026-11-02 …:1"),
            (BillBy::Monthly, TimeZone::UTC, "2026-10:1 2026-11:4"),
            (BillBy::Monthly, berlin, "2026-11:5"),
            (BillBy::Session, TimeZone::UTC, "b:2 a:3"),
            (
                BillBy::Blocks,
                TimeZone::UTC,
                "2026-10-31 23:30 – 04:30:3 2026-11-01 04:30 – 09:30:1 2026-11-02 00:00 – 05:00:1",
            ),
            (BillBy::Message, TimeZone::UTC, "b message 1:2 a message 1:2 a message 2:1"),
            (
                BillBy::Request,
                TimeZone::UTC,
                "b request 1:1 a request 1:1 a request 2:1 a request 3:1 b request 2:1",
            ),
        ] {
            let groups = groups(&postings, by, &zone);
            let found: Vec<_> =
                groups.iter().map(|group| format!("{}:{}", group.name, group.postings.len())).collect();
            assert_eq!(found.join(" "), expect, "{by:?}");
        }
    }

    #[test]
    fn a_quota_is_told_from_the_request_before_to_the_last() {
        let all = [
            posting("a", 1, "2026-11-01T01:00:00Z", Some("0.10")),
            posting("b", 1, "2026-11-01T02:00:00Z", None),
            posting("a", 2, "2026-11-01T03:00:00Z", Some("0.12")),
            posting("a", 3, "2026-11-01T04:00:00Z", Some("0.20")),
        ];
        let lines: Vec<_> = all.iter().collect();
        let change = |from: Option<&str>, to: &str| QuotaChange {
            window: "5h".to_owned(),
            from: from.map(str::to_owned),
            to: to.to_owned(),
        };
        for (line, expect) in [
            (&lines[..1], vec![change(None, "0.10")]),
            (&lines[2..3], vec![change(Some("0.10"), "0.12")]),
            (&lines[2..], vec![change(Some("0.10"), "0.20")]),
            (&lines[1..2], vec![]),
        ] {
            assert_eq!(quota_changes(&all, line), expect);
        }
    }
}
