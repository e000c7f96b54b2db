//! A bill for people.

use antefix_ledger::Account;

use super::{Bill, Line};
use crate::cli::BillBy;
use crate::headline;
use crate::out::{remark, say};
use crate::screen::harmless;
use crate::table::Table;
use crate::text::{grouped, percent, short};

/// Prints the bill.
pub fn bill(bill: &Bill, breakdown: bool) {
    if bill.lines.is_empty() {
        remark!("the ledger holds no request of that time; `antefix run \"PROMPT\"` makes some");
        return;
    }
    let mut table = Table::new(&[
        heading(bill.by),
        ">requests",
        ">input",
        ">output",
        ">cache read",
        ">prefix kept",
        ">tokens per round",
        ">cost",
        ">without cache",
        ">wasted",
    ])
    .spare(&["output", "without cache", "requests", "tokens per round"]);
    for line in &bill.lines {
        table.line(cells(&line.name, &line.account));
        if breakdown && (line.models.len() > 1 || bill.models.len() > 1) {
            for (model, account) in &line.models {
                table.line(cells(&format!("  {model}"), account));
            }
        }
    }
    table.rule().line(cells("all", &bill.total));
    if breakdown {
        for (model, account) in &bill.models {
            table.line(cells(&format!("  {model}"), account));
        }
    }
    table.print();
    say!();
    headline::print(&bill.total);
    waste(&bill.total);
    summaries(&bill.total);
    bill.lines.iter().for_each(quota);
    remarks(bill);
}

const fn heading(by: BillBy) -> &'static str {
    match by {
        BillBy::Daily => "day",
        BillBy::Weekly => "week from",
        BillBy::Monthly => "month",
        BillBy::Session => "session",
        BillBy::Blocks => "five hours from",
        BillBy::Message => "message",
        BillBy::Request => "request",
    }
}

fn cells(name: &str, account: &Account) -> [String; 10] {
    let totals = &account.totals;
    let estimated = if totals.estimated > 0 { "≈" } else { "" };
    [
        harmless(name).into_owned(),
        grouped(account.requests),
        format!("{estimated}{}", short(totals.counts.prompt().0)),
        format!("{estimated}{}", short(totals.counts.output.0)),
        percent(account.read().permille()),
        percent(account.kept.permille()),
        account.added_per_round().map_or_else(|| "–".to_owned(), |added| short(added.0)),
        money(account, account.actual),
        money(account, account.no_cache),
        money(account, account.waste()),
    ]
}

/// An amount; what has no price is never shown as free.
fn money(account: &Account, amount: antefix_models::Money) -> String {
    match (account.unpriced, account.totals.rows as u64) {
        (0, _) => format!("{amount:.4}"),
        (unpriced, all) if unpriced >= all => "unpriced".to_owned(),
        (unpriced, _) => format!("{amount:.4} + {unpriced} unpriced"),
    }
}

fn waste(account: &Account) {
    if account.unpriced > 0 && account.unpriced >= account.totals.rows as u64 {
        return;
    }
    headline::print_labelled(
        "money",
        &format!(
            "{:.4} as billed, {:.4} had nothing been cached, {:.4} had all been read that could be",
            account.actual, account.no_cache, account.perfect
        ),
    );
    if account.warmings > 0 {
        let (warming, requests) = (account.warming, grouped(account.warmings));
        headline::print_labelled(
            "kept warm",
            &format!("{warming:.4} of that for {requests} requests that kept the cache warm"),
        );
    }
    if account.waste().0 != 0 {
        headline::print_labelled("wasted", &format!("{:.4}, which went to", account.waste()));
    }
    let mut table = Table::new(&["  kind", "", ">requests", ">tokens paid again", ">cost"]);
    for share in &account.shares {
        table.line([
            format!("  {}", harmless(&share.kind)),
            share.severity.word().to_owned(),
            grouped(share.requests),
            grouped(share.tokens.0),
            format!("{:.4}", share.cost),
        ]);
    }
    if account.residual.0 != 0 {
        let cost = format!("{:.4}", account.residual);
        table.line(["  no verdict".to_owned(), "residual".to_owned(), String::new(), String::new(), cost]);
    }
    if !account.shares.is_empty() || account.residual.0 != 0 {
        table.print();
    }
}

fn summaries(account: &Account) {
    if account.compactions > 0 {
        let (cost, count) = (money(account, account.compacting), grouped(account.compactions));
        headline::print_labelled(
            "summaries",
            &format!("{cost} of all for {count} that a conversation was to go on from, as planned"),
        );
    }
}

fn quota(line: &Line) {
    for change in &line.quota {
        let from = change.from.as_deref().unwrap_or("?");
        headline::print_labelled(
            "quota",
            &format!(
                "{}: {} of the {} window used before it, {} after it (what a cache read weighs in it is not public)",
                harmless(&line.name),
                harmless(from),
                harmless(&change.window),
                harmless(&change.to)
            ),
        );
    }
}

fn remarks(bill: &Bill) {
    for (model, rows) in &bill.unpriced {
        remark!(
            "no price is known for `{}` ({rows} rows): it is in no amount; `prices.toml` can name one",
            harmless(model)
        );
    }
    if bill.total.unreported > 0 {
        remark!("{} answered requests reported no usage; they are in no figure", bill.total.unreported);
    }
    if bill.total.totals.estimated > 0 {
        remark!("≈: {} rows hold a number that the provider did not count", bill.total.totals.estimated);
    }
    remark!("costs are list prices of the API (`antefix prices`); a subscription is not billed by them");
}
