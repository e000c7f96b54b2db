//! A bill as JSON: docs/formats/output.md lists its members.

use antefix_ledger::{Account, Number, Ratio, Row, Share};

use super::{Bill, Line};
use crate::cli::BillArgs;
use crate::stream_json::{Object, SCHEMA_VERSION, array, quoted};

/// The bill as one object.
pub fn bill(bill: &Bill, args: &BillArgs) -> String {
    let mut object = Object::new();
    object.number("schema_version", SCHEMA_VERSION).text("by", &word(args));
    let zone = bill.zone.iana_name().unwrap_or("system");
    object.text("timezone", zone);
    let day = |day: Option<jiff::civil::Date>| {
        day.map_or_else(|| "null".to_owned(), |day| quoted(&day.to_string()))
    };
    object.raw("since", &day(args.since)).raw("until", &day(args.until));
    object.raw("lines", &array(bill.lines.iter().map(line)));
    object.raw("total", &account(&bill.total)).raw("models", &models(&bill.models));
    let unpriced = bill.unpriced.iter().map(|(model, postings)| {
        let mut one = Object::new();
        one.text("model", model).number("rows", *postings);
        one.close()
    });
    object.raw("unpriced_models", &array(unpriced));
    object.close()
}

fn word(args: &BillArgs) -> String {
    use clap::ValueEnum;
    args.by.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}

fn line(line: &Line) -> String {
    let mut object = Object::new();
    object.text("name", &line.name).raw("from_ms", &line.from_ms.to_string());
    object.raw("account", &account(&line.account)).raw("models", &models(&line.models));
    let quota = line.quota.iter().map(|change| {
        let mut one = Object::new();
        one.text("window", &change.window);
        one.raw("from", &change.from.as_deref().map_or_else(|| "null".to_owned(), quoted))
            .text("to", &change.to);
        one.close()
    });
    object.raw("quota", &array(quota));
    object.close()
}

fn models(models: &[(String, Account)]) -> String {
    array(models.iter().map(|(name, found)| {
        let mut one = Object::new();
        one.text("model", name).raw("account", &account(found));
        one.close()
    }))
}

/// An account as JSON. Amounts are dollars as text, exact; those of an account in which something has no price
/// are of what has one.
pub fn account(account: &Account) -> String {
    let mut object = Object::new();
    object.number("requests", account.requests).number("unreported", account.unreported);
    object.number("unpriced", account.unpriced).number("with_estimates", account.totals.estimated as u64);
    let totals = &account.totals;
    let sums = Row {
        counts: totals.counts,
        reasoning: totals.reasoning,
        web_searches: totals.web_searches,
        ..Row::default()
    };
    let mut tokens = Object::new();
    for number in Number::ALL {
        tokens.number(number.name(), sums.number(number));
    }
    object.number("kept_warm_requests", account.warmings).number("summaries", account.compactions);
    object.raw("used", &tokens.close());
    for (name, amount) in [
        ("actual_usd", account.actual),
        ("web_searches_usd", account.searches),
        ("kept_warm_usd", account.warming),
        ("summaries_usd", account.compacting),
        ("no_cache_usd", account.no_cache),
        ("perfect_usd", account.perfect),
        ("waste_usd", account.waste()),
        ("residual_usd", account.residual),
    ] {
        object.text(name, &amount.usd());
    }
    object.raw("waste", &array(account.shares.iter().map(share)));
    object.raw("read_of_input", &ratio(account.read()));
    object.raw("prefix_kept", &ratio(account.kept));
    object
        .raw("steady_read_of_input", &ratio(account.steady.read))
        .number("set_aside", account.steady.set_aside);
    object.number("added_tokens", account.added.0).number("rounds", account.rounds);
    object.close()
}

fn share(share: &Share) -> String {
    let mut object = Object::new();
    object.text("kind", &share.kind).text("severity", share.severity.word());
    object.number("requests", share.requests).number("tokens", share.tokens.0).text("usd", &share.cost.usd());
    object.close()
}

fn ratio(ratio: Ratio) -> String {
    let mut object = Object::new();
    object.number("part", ratio.part.0).number("whole", ratio.whole.0);
    let permille = ratio.permille().map(|permille| format!("{}.{:03}", permille / 1000, permille % 1000));
    object.raw("ratio", &permille.unwrap_or_else(|| "null".to_owned()));
    object.close()
}
