//! `antefix ledger`: the rows behind the bill.

use std::process::ExitCode;

use antefix_ledger::{Number, Posting};
use antefix_ledger_file::Read;
use antefix_models::Money;

use crate::cli::{ExportFormat, LedgerAction, LedgerArgs};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::ledger::{Ledger, prices_of};
use crate::out::{say, tell};
use crate::price_file;
use crate::screen::harmless;
use crate::stream_json::{Object, SCHEMA_VERSION, quoted};

/// `antefix ledger`
pub fn ledger(args: &LedgerArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    let (mut ledger, notes) = match args.action {
        LedgerAction::Rebuild => Ledger::rebuilt(environment)?,
        LedgerAction::Export { .. } => {
            let mut ledger = Ledger::open(environment)?;
            let notes = ledger.catch_up()?;
            (ledger, notes)
        }
    };
    for note in &notes {
        tell!("note: {}", harmless(note));
    }
    let postings = ledger.postings(Read::default())?;
    match args.action {
        LedgerAction::Rebuild => {
            let mut sessions: Vec<_> = postings.iter().map(|posting| &posting.session).collect();
            sessions.sort_unstable();
            sessions.dedup();
            say!("{} rows of {} sessions", postings.len(), sessions.len());
        }
        LedgerAction::Export { format } => export(&postings, format, environment)?,
    }
    Ok(ExitCode::from(u8::from(!notes.is_empty())))
}

fn export(postings: &[Posting], format: ExportFormat, environment: &Environment) -> Result<(), Failure> {
    let book = price_file::book(environment)?;
    if format == ExportFormat::Csv {
        say!("{}", COLUMNS.join(","));
    }
    for posting in postings {
        let account = antefix_ledger::Account::of([posting], |posting| prices_of(&book, posting));
        let cost = (account.is_priced() && posting.row.is_some()).then_some(account.actual);
        let cells = cells(posting, cost);
        match format {
            ExportFormat::Csv => say!("{}", cells.map(|cell| cell.csv()).join(",")),
            ExportFormat::Jsonl => {
                let mut object = Object::new();
                object.number("schema_version", SCHEMA_VERSION);
                for (name, cell) in COLUMNS.iter().zip(&cells) {
                    object.raw(name, &cell.json());
                }
                object.raw("quota", &quota(posting));
                say!("{}", object.close());
            }
        }
    }
    Ok(())
}

/// A value of a row.
enum Cell {
    Text(String),
    Number(i128),
    Nothing,
}

impl Cell {
    fn json(&self) -> String {
        match self {
            Self::Text(text) => quoted(text),
            Self::Number(number) => number.to_string(),
            Self::Nothing => "null".to_owned(),
        }
    }

    /// As RFC 4180 has it: quotes around what holds a comma, a quote or a line end, and quotes doubled.
    fn csv(&self) -> String {
        match self {
            Self::Text(text) if text.contains([',', '"', '\n', '\r']) => {
                format!("\"{}\"", text.replace('"', "\"\""))
            }
            Self::Text(text) => text.clone(),
            Self::Number(number) => number.to_string(),
            Self::Nothing => String::new(),
        }
    }
}

fn cells(posting: &Posting, cost: Option<Money>) -> [Cell; COLUMNS.len()] {
    let text = |text: &str| Cell::Text(text.to_owned());
    let number = |number: u64| Cell::Number(number.into());
    let told =
        |tokens: Option<antefix_models::Tokens>| tokens.map_or(Cell::Nothing, |tokens| number(tokens.0));
    let used = |which: Number| posting.row.map_or(Cell::Nothing, |row| number(row.number(which)));
    let (standing, modifiers) = (&posting.standing, posting.modifiers);
    let loss = standing.loss.as_ref();
    let terms = [
        (modifiers.batch, "batch"),
        (modifiers.fast, "fast"),
        (modifiers.geo_us, "geo_us"),
        (modifiers.regional, "regional"),
    ];
    let terms: Vec<_> = terms.iter().filter(|(holds, _)| *holds).map(|(_, word)| *word).collect();
    [
        text(&posting.session),
        number(posting.attempt),
        number(posting.part),
        number(posting.message),
        Cell::Number(posting.at_ms.into()),
        text(posting.platform.name()),
        text(&posting.model),
        text(posting.purpose.name()),
        posting.status.map_or(Cell::Nothing, |status| number(status.into())),
        text(&terms.join(" ")),
        used(Number::Ordinary),
        used(Number::Read),
        used(Number::Write5m),
        used(Number::Write1h),
        used(Number::Output),
        used(Number::Reasoning),
        used(Number::WebSearches),
        posting.row.map_or(Cell::Nothing, |row| Cell::Text(row.estimated.names().replace(',', " "))),
        text(standing.relation.name()),
        told(standing.reachable),
        told(standing.before),
        loss.map_or(Cell::Nothing, |loss| text(&loss.kind)),
        loss.map_or(Cell::Nothing, |loss| text(loss.severity.word())),
        loss.map_or(Cell::Nothing, |loss| number(loss.tokens.0)),
        cost.map_or(Cell::Nothing, |cost| Cell::Text(cost.usd())),
    ]
}

fn quota(posting: &Posting) -> String {
    let mut object = Object::new();
    for (name, value) in &posting.quota {
        object.text(name, value);
    }
    object.close()
}

/// Names of the values, in the order in which they are written.
const COLUMNS: [&str; 25] = [
    "session",
    "attempt",
    "part",
    "message",
    "at_ms",
    "platform",
    "model",
    "purpose",
    "status",
    "terms",
    "ordinary",
    "read",
    "write_5m",
    "write_1h",
    "output",
    "reasoning",
    "web_searches",
    "estimated",
    "relation",
    "reachable",
    "before",
    "verdict",
    "severity",
    "lost",
    "cost_usd",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_cannot_leave_its_column() {
        for (text, csv) in
            [("a", "a"), ("a,b", "\"a,b\""), ("say \"x\"", "\"say \"\"x\"\"\""), ("a\nb", "\"a\nb\"")]
        {
            assert_eq!(Cell::Text(text.to_owned()).csv(), csv);
        }
    }
}
