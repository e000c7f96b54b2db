//! `antefix prices`: what tokens cost, from which day on, and who says so.

use std::process::ExitCode;

use antefix_models::{ListedPrice, Price};
use jiff::civil::Date;

use crate::cli::PricesArgs;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::out::{remark, say};
use crate::price_file;
use crate::screen::harmless;
use crate::stream_json::{Object, SCHEMA_VERSION, array};
use crate::table::Table;
use crate::text::{grouped, today};

/// `antefix prices`
pub fn prices(args: &PricesArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    let book = price_file::book(environment)?;
    let day = args.at.unwrap_or_else(today);
    let is_asked =
        |row: &ListedPrice| args.model.as_ref().is_none_or(|part| row.model.contains(part.as_str()));
    let rows: Vec<ListedPrice> =
        book.rows().filter(is_asked).filter(|row| args.all || row.holds_on(day)).collect();
    if args.json {
        say!("{}", json(&rows, (!args.all).then_some(day)));
        return Ok(ExitCode::SUCCESS);
    }
    if rows.is_empty() {
        let model = args.model.as_deref().unwrap_or_default();
        return Err(Failure::usage(format!(
            "no price of a model whose name has `{model}` in it holds on {day}"
        ))
        .hint("`antefix prices --all` lists every price, whenever it holds"));
    }
    print(&rows);
    let when = if args.all { "whenever they hold".to_owned() } else { format!("that hold on {day}") };
    remark!(
        "{} prices {when}, in US dollars per million tokens, without modifiers (docs/prices.md)",
        rows.len()
    );
    if let Some(path) = price_file::path(environment) {
        let own = rows.iter().filter(|row| row.is_own).count();
        remark!(
            "{own} of them are your own, from {}; they win over the list",
            harmless(&path.to_string_lossy())
        );
    }
    Ok(ExitCode::SUCCESS)
}

fn print(rows: &[ListedPrice]) {
    let mut table = Table::new(&[
        "model",
        "from",
        "until",
        ">prompt over",
        ">input",
        ">write 5m",
        ">write 1h",
        ">read",
        ">output",
        "source",
    ])
    .spare(&["source", "until", "from"]);
    for row in rows {
        let day = |day: Option<Date>| day.map_or_else(|| "–".to_owned(), |day| day.to_string());
        let prices = &row.prices;
        let [input, write_5m, write_1h, read, output] =
            [prices.input, prices.write_5m, prices.write_1h, prices.read, prices.output]
                .map(Price::usd_per_million);
        let platform = row.platform.map_or_else(String::new, |platform| format!(" on {platform}"));
        let above = row.above.map_or_else(|| "–".to_owned(), |above| grouped(above.0));
        table.line([
            harmless(&format!("{}{platform}", row.model)).into_owned(),
            day(row.from),
            day(row.until),
            above,
            input,
            write_5m,
            write_1h,
            read,
            output,
            harmless(&source(row)).into_owned(),
        ]);
    }
    table.print();
}

fn source(row: &ListedPrice) -> String {
    match row.read_on {
        Some(day) => format!("{} (read {day})", row.source),
        None => format!("your own: {}", row.source),
    }
}

fn json(rows: &[ListedPrice], day: Option<Date>) -> String {
    let mut object = Object::new();
    object.number("schema_version", SCHEMA_VERSION).text("unit", "usd_per_million_tokens");
    object.raw("at", &quoted(day.map(|day| day.to_string()).as_deref()));
    object.raw("prices", &array(rows.iter().map(one)));
    object.close()
}

fn one(row: &ListedPrice) -> String {
    let mut object = Object::new();
    object.text("model", &row.model);
    object.raw("platform", &quoted(row.platform.map(antefix_models::Platform::name)));
    object.raw("from", &quoted(row.from.map(|day| day.to_string()).as_deref()));
    object.raw("until", &quoted(row.until.map(|day| day.to_string()).as_deref()));
    object.raw("prompt_over", &row.above.map_or_else(|| "null".to_owned(), |above| above.to_string()));
    let prices = &row.prices;
    for (name, price) in [
        ("input", prices.input),
        ("write_5m", prices.write_5m),
        ("write_1h", prices.write_1h),
        ("read", prices.read),
        ("output", prices.output),
    ] {
        object.text(name, &price.usd_per_million());
    }
    object.text("source", &row.source);
    object.raw("read_on", &quoted(row.read_on.map(|day| day.to_string()).as_deref()));
    object.boolean("own", row.is_own);
    object.close()
}

fn quoted(text: Option<&str>) -> String {
    text.map_or_else(|| "null".to_owned(), crate::stream_json::quoted)
}
