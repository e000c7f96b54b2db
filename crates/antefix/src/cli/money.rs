//! The commands that are about money, and about whether a forecast of it holds.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// `antefix bill`
#[derive(Debug, Args)]
pub struct BillArgs {
    /// What stands in one line
    #[arg(value_enum, default_value_t)]
    pub by: BillBy,
    /// Of this session alone, or of the one whose name begins so
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// From this day on, in the time zone of the bill
    #[arg(long, value_name = "DATE")]
    pub since: Option<jiff::civil::Date>,
    /// Up to this day, itself included
    #[arg(long, value_name = "DATE")]
    pub until: Option<jiff::civil::Date>,
    /// Whose days, weeks and months are meant, such as Europe/Berlin or UTC [default: the system's]
    #[arg(long, value_name = "NAME")]
    pub timezone: Option<String>,
    /// Each model by itself as well
    #[arg(long)]
    pub breakdown: bool,
    /// Exit with 1 if less than this share of the input was read from the cache, first requests, expiry and planned
    /// breaks aside
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    pub fail_under: Option<Share>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// `antefix growth`
#[derive(Debug, Args)]
pub struct GrowthArgs {
    /// The session, or the first characters of its name; the last one of this folder if nothing is said
    pub session: Option<String>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// `antefix whatif`
#[derive(Debug, Args)]
pub struct WhatifArgs {
    /// The session, or the first characters of its name
    pub session: String,
    /// Two conditions message by message, in place of all conditions
    #[arg(long, value_enum, num_args = 2, value_names = ["A", "B"])]
    pub ab: Vec<What>,
    /// The model of `other-model`
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// A text in the reminders that `no-reminder` leaves out
    #[arg(long, value_name = "TEXT")]
    pub reminder: Option<String>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// A condition to replay a session under.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum What {
    /// As it was sent
    AsSent,
    /// Without markers
    NoCache,
    /// Entries live one hour
    OneHour,
    /// A further marker in steps that are wider than the lookback
    MoreMarkers,
    /// Another model (`--model`)
    OtherModel,
    /// Without a kind of reminder (`--reminder`)
    NoReminder,
    /// Tools that were never called are deferred
    DeferralOn,
    /// No tool is deferred
    DeferralOff,
    /// Entries are read again before they expire
    KeepWarm,
    /// Old turns are dropped when the history is long
    DropOldest,
    /// Old tool results are cleared when the history is long
    ClearResults,
    /// Old turns are summarised when the history is long
    Summarise,
}

impl What {
    /// Every condition, in the order in which they are printed.
    pub const ALL: [Self; 12] = [
        Self::AsSent,
        Self::NoCache,
        Self::OneHour,
        Self::MoreMarkers,
        Self::OtherModel,
        Self::NoReminder,
        Self::DeferralOn,
        Self::DeferralOff,
        Self::KeepWarm,
        Self::DropOldest,
        Self::ClearResults,
        Self::Summarise,
    ];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AsSent => "as-sent",
            Self::NoCache => "no-cache",
            Self::OneHour => "one-hour",
            Self::MoreMarkers => "more-markers",
            Self::OtherModel => "other-model",
            Self::NoReminder => "no-reminder",
            Self::DeferralOn => "deferral-on",
            Self::DeferralOff => "deferral-off",
            Self::KeepWarm => "keep-warm",
            Self::DropOldest => "drop-oldest",
            Self::ClearResults => "clear-results",
            Self::Summarise => "summarise",
        }
    }
}

/// `antefix ledger`
#[derive(Debug, Args)]
pub struct LedgerArgs {
    #[command(subcommand)]
    /// What to do.
    pub action: LedgerAction,
}

/// `antefix ledger …`
#[derive(Debug, Subcommand)]
pub enum LedgerAction {
    /// Print every row, one a line (docs/formats/ledger.md)
    Export {
        /// How a row is written
        #[arg(long, value_enum, default_value_t)]
        format: ExportFormat,
    },
    /// Forget every row and read all transcripts anew
    Rebuild,
}

/// How a row of the ledger is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// One JSON object a line
    #[default]
    Jsonl,
    /// Commas between the values, names in the first line
    Csv,
}

/// What stands in one line of a bill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum BillBy {
    /// A day
    #[default]
    Daily,
    /// A week, from Monday on
    Weekly,
    /// A month
    Monthly,
    /// A session
    Session,
    /// Five hours from a first request on, as subscriptions count them
    Blocks,
    /// A message of the user and all requests it took
    Message,
    /// A request
    Request,
}

/// `antefix prices`
#[derive(Debug, Args)]
pub struct PricesArgs {
    /// Prices that hold on this day [default: today]
    #[arg(long, value_name = "DATE", conflicts_with = "all")]
    pub at: Option<jiff::civil::Date>,
    /// Every price, whenever it holds
    #[arg(long)]
    pub all: bool,
    /// Of models whose name has this in it
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// `antefix check`
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// A request body, in the form of any dialect that antefix reads
    pub body: PathBuf,
    /// The baseline to hold it against
    #[arg(long, value_name = "FILE")]
    pub baseline: PathBuf,
    /// Write the baseline from the body
    #[arg(long)]
    pub write: bool,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// A share of a whole in thousandths, at most 1,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(pub u64);

/// `antefix selftest`
#[derive(Debug, Args)]
pub struct SelftestArgs {
    /// Send the requests; without it, only say what they would be and cost
    #[arg(long)]
    pub live: bool,
    /// Refuse if they could cost more than this
    #[arg(long, value_name = "USD", default_value = "0.50")]
    pub max_usd: String,
    /// The model
    #[arg(long, default_value = "claude-haiku-4-5")]
    pub model: String,
    /// The provider's address, in place of ANTHROPIC_BASE_URL
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// Print the comparison as JSON
    #[arg(long)]
    pub json: bool,
}

/// A share such as `0.5`, `0.875` or `1`, exactly.
///
/// # Errors
/// What was expected.
pub fn parse_share(text: &str) -> Result<Share, String> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = !part.is_empty() && part.len() <= 3 && part.bytes().all(|byte| byte.is_ascii_digit());
    let part = format!("{part:0<3}").parse::<u64>().ok().filter(|_| digits);
    let share = match (whole, part) {
        ("0", Some(part)) => Some(part),
        ("1", Some(0)) => Some(1_000),
        _ => None,
    };
    share.map(Share).ok_or_else(|| "expected a share from 0 to 1, such as `0.5`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_have_one_name() {
        for what in What::ALL {
            assert_eq!(What::from_str(what.name(), false), Ok(what));
        }
        assert_eq!(What::value_variants().len(), What::ALL.len());
    }

    #[test]
    fn shares_are_read_exactly() {
        for (text, expect) in [
            ("0.5", Some(500)),
            ("0.875", Some(875)),
            ("0", Some(0)),
            ("1", Some(1_000)),
            ("1.0", Some(1_000)),
            ("1.1", None),
            ("0.0001", None),
            (".5", None),
            ("50", None),
            ("0.-5", None),
        ] {
            assert_eq!(parse_share(text).ok().map(|share| share.0), expect, "{text}");
        }
    }
}
