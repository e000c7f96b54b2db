//! `antefix bill`: what sessions cost, what they could have cost, and what the difference went to.

mod group;
mod json;
mod print;

use std::process::ExitCode;

use antefix_ledger::{Account, Posting, Steady};
use antefix_ledger_file::Read;
use antefix_models::PriceBook;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::cli::{BillArgs, BillBy, Share};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::folders;
use crate::ledger::{Ledger, prices_of};
use crate::out::{say, tell};
use crate::price_file;
use crate::screen::harmless;
use crate::text::percent;

use group::groups;

/// A bill, ready to be written.
pub struct Bill {
    /// What stands in one line.
    pub by: BillBy,
    /// Whose days these are.
    pub zone: TimeZone,
    /// The lines, the oldest first.
    pub lines: Vec<Line>,
    /// All of it.
    pub total: Account,
    /// Each model by itself.
    pub models: Vec<(String, Account)>,
    /// Models without a known price, with their number of requests.
    pub unpriced: Vec<(String, u64)>,
}

/// A line of a bill.
pub struct Line {
    /// What it is called: a day, a session.
    pub name: String,
    /// When its first request left, in milliseconds since the Unix epoch.
    pub from_ms: i64,
    /// The sum of it.
    pub account: Account,
    /// Each model by itself.
    pub models: Vec<(String, Account)>,
    /// What the quota headers did, where there are any.
    pub quota: Vec<group::QuotaChange>,
}

/// `antefix bill`
pub fn bill(args: &BillArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    let zone = zone(args.timezone.as_deref())?;
    let book = price_file::book(environment)?;
    let mut ledger = Ledger::open(environment)?;
    for note in ledger.catch_up()? {
        tell!("note: {}", harmless(&note));
    }
    let session = session(args, environment)?;
    let since_ms = args.since.map(|day| start(day, &zone)).transpose()?;
    let until_ms = args.until.map(|day| start(next(day)?, &zone)).transpose()?;
    let postings = ledger.postings(Read { session: session.as_deref(), since_ms, until_ms })?;
    let bill = Bill::of(&postings, args.by, zone, &book);
    if args.json {
        say!("{}", json::bill(&bill, args));
    } else {
        print::bill(&bill, args.breakdown);
    }
    Ok(gate(bill.total.steady, args.fail_under))
}

impl Bill {
    fn of(postings: &[Posting], by: BillBy, zone: TimeZone, book: &PriceBook) -> Self {
        let account =
            |postings: &[&Posting]| Account::of(postings.iter().copied(), |posting| prices_of(book, posting));
        let models = |postings: &[&Posting]| {
            let mut names: Vec<&str> = postings.iter().map(|posting| posting.model.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            let of = |name: &str| {
                let own: Vec<&Posting> =
                    postings.iter().copied().filter(|posting| posting.model == name).collect();
                (name.to_owned(), account(&own))
            };
            names.into_iter().map(of).collect::<Vec<_>>()
        };
        let lines = groups(postings, by, &zone).into_iter().map(|group| Line {
            from_ms: group.postings.first().map_or(0, |first| first.at_ms),
            account: account(&group.postings),
            models: models(&group.postings),
            quota: group::quota_changes(postings, &group.postings),
            name: group.name,
        });
        let lines = lines.collect();
        let all: Vec<&Posting> = postings.iter().collect();
        let (total, models) = (account(&all), models(&all));
        let unpriced = models.iter().filter(|(_, account)| account.unpriced > 0);
        let unpriced = unpriced.map(|(name, account)| (name.clone(), account.unpriced)).collect();
        Self { by, zone, lines, total, models, unpriced }
    }
}

/// The exit code for the share that was read, and why it is none of success.
pub fn gate(steady: Steady, fail_under: Option<Share>) -> ExitCode {
    ExitCode::from(u8::from(!fail_under.is_none_or(|least| reads_enough(steady, least))))
}

/// Whether that share was read; says so where it was not, or where there is nothing to hold against it.
pub fn reads_enough(steady: Steady, Share(least): Share) -> bool {
    let Some(found) = steady.read.permille() else {
        tell!(
            "no request extends another one within its lifetime: there is nothing to hold against the share"
        );
        return true;
    };
    if found < least {
        tell!(
            "below {}: {} of the input was read from the cache, {} requests set aside (first ones, expiry, planned breaks)",
            percent(Some(least)),
            percent(Some(found)),
            steady.set_aside,
        );
    }
    found >= least
}

fn zone(name: Option<&str>) -> Result<TimeZone, Failure> {
    let Some(name) = name else { return Ok(TimeZone::system()) };
    if name.eq_ignore_ascii_case("utc") {
        // Known without a database of time zones, which a small system may lack.
        return Ok(TimeZone::UTC);
    }
    TimeZone::get(name).map_err(|error| {
        Failure::usage(error).hint("names are those of the tz database, such as Europe/Berlin")
    })
}

fn session(args: &BillArgs, environment: &Environment) -> Result<Option<String>, Failure> {
    let Some(asked) = &args.session else { return Ok(None) };
    let sessions = folders::sessions(environment)?;
    let id = folders::find(&sessions, Some(asked), &folders::working_folder(None)?)?;
    Ok(Some(id.as_str().to_owned()))
}

fn start(day: Date, zone: &TimeZone) -> Result<i64, Failure> {
    let start = day.to_zoned(zone.clone()).map_err(Failure::usage)?;
    Ok(start.timestamp().as_millisecond())
}

fn next(day: Date) -> Result<Date, Failure> {
    day.tomorrow().map_err(Failure::usage)
}
