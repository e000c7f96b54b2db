use antefix_ledger::Account;
use antefix_models::{Counts, Money, PriceBook, Prices, Tokens};
use antefix_session::conversation::{Attempt, Conversation};
use antefix_session::spend::{of_attempt, prices};
use antefix_session::verify::Report;

use super::Outcome;
use crate::commands::verify::relations;
use crate::headline;
use crate::out::{prose, say};
use crate::stream_json::{Object, SCHEMA_VERSION, array, money, write_counts};
use crate::table::Table;
use crate::text::{bar, efficiency, grouped};

/// One request of the demo with its bill.
struct Row {
    n: u64,
    process: u64,
    counts: Counts,
    cost: Option<Money>,
    prices: Option<Prices>,
    /// Input that no earlier request held.
    fresh: u64,
}

impl Row {
    /// What the input cost.
    fn input_cost(&self) -> Option<Money> {
        let prices = self.prices?;
        let counts = Counts { output: Tokens::ZERO, ..self.counts };
        Some(antefix_models::cost(&prices, &counts))
    }

    /// What the input costs at best: what is new written once, all else read.
    fn perfect_cost(&self) -> Option<Money> {
        let prices = self.prices?;
        let prompt = self.counts.prompt().0;
        Some(prices.write_5m * Tokens(self.fresh) + prices.read * Tokens(prompt - self.fresh))
    }

    /// What the request costs if the first byte has changed.
    fn broken_total(&self) -> Option<Money> {
        Some(self.broken_cost()? + self.prices?.output * self.counts.output)
    }

    /// What the input costs if the first byte has changed: all of it written anew.
    fn broken_cost(&self) -> Option<Money> {
        Some(self.prices?.write_5m * self.counts.prompt())
    }
}

/// Prints the bill of the demo.
pub fn print(outcome: &Outcome, colour: bool) {
    let Outcome { session, conversation, report, account } = outcome;
    let rows = rows(conversation);
    let heavy = |text: &str| if colour { format!("\u{1b}[1m{text}\u{1b}[0m") } else { text.to_owned() };
    say!(
        "\n{}",
        heavy(
            "tokens by request, each message of the user from a new process (█ read  ▓ written  ░ uncached)"
        )
    );
    requests(&rows).print();
    say!("* what it would cost had the first byte of the prompt changed");
    summary(&rows, account);
    if report.is_ok() {
        prose!(
            "verify: {} of {} request bodies rebuilt byte for byte; {}",
            report.requests,
            report.requests,
            relations(report)
        );
    }
    for finding in &report.findings {
        prose!("verify: record {}: {}", finding.record, finding.text);
    }
    say!("session {session}");
}

fn requests(rows: &[Row]) -> Table {
    let headings =
        [">n", ">proc", "", ">read", ">written", ">uncached", ">output", ">cache read", ">cost", ">byte 1 *"];
    let mut table = Table::new(&headings).spare(&["output", "uncached"]);
    for row in rows {
        let (n, process) = (row.n.to_string(), row.process.to_string());
        table.line(cells(n, process, &row.counts, row.cost, row.broken_total()));
    }
    let (cost, broken) = (sum(rows, |row| row.cost), sum(rows, Row::broken_total));
    table.line(cells("total".to_owned(), String::new(), &total(rows), cost, broken));
    table
}

fn cells(
    n: String,
    process: String,
    counts: &Counts,
    cost: Option<Money>,
    broken: Option<Money>,
) -> [String; 10] {
    [
        n,
        process,
        bar(counts, 10),
        grouped(counts.read.0),
        grouped((counts.write_5m + counts.write_1h).0),
        grouped(counts.uncached.0),
        grouped(counts.output.0),
        efficiency(counts),
        dollars(cost),
        dollars(broken),
    ]
}

fn total(rows: &[Row]) -> Counts {
    rows.iter().fold(Counts::default(), |sum, row| Counts {
        uncached: sum.uncached + row.counts.uncached,
        read: sum.read + row.counts.read,
        write_5m: sum.write_5m + row.counts.write_5m,
        write_1h: sum.write_1h + row.counts.write_1h,
        output: sum.output + row.counts.output,
    })
}

fn summary(rows: &[Row], account: &Account) {
    say!();
    headline::print(account);
    let input = sum(rows, Row::input_cost);
    prose!(
        "input alone       {}; with a perfect cache {}; with the first byte changed each time {}",
        dollars(input),
        dollars(sum(rows, Row::perfect_cost)),
        dollars(sum(rows, Row::broken_cost)),
    );
    say!("(a simulator's tokens at the list prices of {})", super::MODEL);
}

/// The bill of the demo as JSON.
pub fn json(session: &str, conversation: &Conversation, report: &Report) -> String {
    let rows = rows(conversation);
    let requests = rows.iter().map(|row| {
        let mut object = Object::new();
        object.number("n", row.n).number("process", row.process);
        write_counts(&mut object, &row.counts);
        object.raw("cost_usd", &money(row.cost));
        object.close()
    });
    let mut verified = Object::new();
    verified.boolean("ok", report.is_ok()).number("requests", report.requests);
    let mut object = Object::new();
    object
        .number("schema_version", SCHEMA_VERSION)
        .text("session_id", session)
        .raw("requests", &array(requests));
    object.raw("input_cost_usd", &money(sum(&rows, Row::input_cost)));
    object.raw("perfect_input_cost_usd", &money(sum(&rows, Row::perfect_cost)));
    object.raw("verify", &verified.close());
    object.close()
}

fn rows(conversation: &Conversation) -> Vec<Row> {
    let mut before = 0;
    conversation.attempts().iter().filter_map(|attempt| row(conversation, attempt, &mut before)).collect()
}

fn row(conversation: &Conversation, attempt: &Attempt, before: &mut u64) -> Option<Row> {
    let spec = conversation.lane_of(attempt)?.spec();
    // The demo's own processes have no other prices.
    let book = PriceBook::default();
    let spend = of_attempt(conversation, attempt, &book);
    let prompt = spend.counts.prompt();
    let fresh = prompt.0.saturating_sub(*before);
    *before = prompt.0;
    Some(Row {
        n: attempt.attempt.attempt.0,
        process: attempt.turn,
        counts: spend.counts,
        cost: spend.known_cost(),
        prices: prices(&book, spec.platform, &spec.model, attempt.at, prompt),
        fresh,
    })
}

fn sum(rows: &[Row], of: impl Fn(&Row) -> Option<Money>) -> Option<Money> {
    rows.iter().map(of).sum()
}

fn dollars(cost: Option<Money>) -> String {
    cost.map_or_else(|| "unpriced".to_owned(), |cost| format!("{cost:.5}"))
}
