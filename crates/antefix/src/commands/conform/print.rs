use std::path::Path;

use super::Cell;
use super::captured::Captured;
use super::column::Column;
use super::judge::Share;
use super::row::{Declared, Row, Told};
use super::scene::Played;
use crate::failure::Failure;
use crate::stream_json::{Object, SCHEMA_VERSION, array, money, quoted};
use crate::table::Table;

/// The names of rows and what changes in each.
pub fn list(rows: &[Row]) -> Vec<String> {
    let mut table = Table::new(&["row", "what changes between two messages"]);
    for row in rows {
        table.line([row.name.to_owned(), row.about.to_owned()]);
    }
    table.lines()
}

/// The matrix for people: a line for each row, then what is not as declared, then the reasons for what is lost.
pub fn table(rows: &[Row], columns: &[Column], cells: &[Cell]) -> Vec<String> {
    let mut lines = Vec::new();
    for columns in columns.chunks(WIDEST) {
        lines.extend(part(rows, columns, cells));
        lines.push(String::new());
    }
    lines.push(LEGEND.to_owned());
    lines.extend(reasons(cells));
    let bad: Vec<_> = cells.iter().filter(|cell| !cell.verdict.findings.is_empty()).collect();
    for cell in &bad {
        for finding in &cell.verdict.findings {
            lines.push(format!("✗ {} / {}: {finding}", cell.row.name, cell.column.name()));
        }
    }
    lines.push(format!("{} of {} cells are as declared", cells.len() - bad.len(), cells.len()));
    lines
}

/// Some columns of the matrix.
fn part(rows: &[Row], columns: &[Column], cells: &[Cell]) -> Vec<String> {
    let headings: Vec<_> =
        std::iter::once("row").chain(columns.iter().map(|column| column.heading())).collect();
    let mut table = Table::new(&headings);
    for row in rows {
        let shown = columns.iter().map(|column| {
            let cell = cells.iter().find(|cell| cell.row.name == row.name && cell.column == *column);
            cell.map_or_else(|| "–".to_owned(), shown)
        });
        table.line(std::iter::once(row.name.to_owned()).chain(shown));
    }
    table.lines()
}

/// The matrix for programs.
pub fn json(cells: &[Cell]) -> String {
    let mut object = Object::new();
    object.number("schema_version", SCHEMA_VERSION).raw("cells", &array(cells.iter().map(cell)));
    object.close()
}

/// Writes beside captured requests what a judge has to know of them (docs/conform.md).
pub fn record(
    row: &Row,
    column: Column,
    played: &Played,
    requests: &[Captured],
    folder: &Path,
) -> Result<(), Failure> {
    let number = |at: usize| requests.get(at).map_or(0, |request| request.number);
    let numbers = |range: std::ops::Range<usize>| array(range.map(|at| number(at).to_string()));
    let mut object = Object::new();
    object.number("schema_version", SCHEMA_VERSION).text("row", row.name).text("column", column.name());
    object.text("declared", row.declared(column).word());
    object.number("task", number(played.task.saturating_sub(1)));
    object.raw("message", &numbers(played.message.clone())).raw("again", &numbers(played.again.clone()));
    object
        .boolean("goes_back", row.goes_back)
        .boolean("loses_on", row.loses_on(column))
        .text("prompt", row.prompt)
        .text("again_prompt", super::row::AGAIN);
    let words: &[&str] = if let Told::Words(words) = row.told { words } else { &[] };
    let told = array(words.iter().map(|word| quoted(word)));
    let changes = array(row.changes_in(column).iter().map(|change| quoted(change)));
    object.raw("told", &told).boolean("says_nothing", row.told == Told::Nothing).raw("changes", &changes);
    Ok(std::fs::write(folder.join("cell.json"), object.close() + "\n")?)
}

fn cell(cell: &Cell) -> String {
    let declared = cell.row.declared(cell.column);
    let mut object = Object::new();
    object.text("row", cell.row.name).text("column", cell.column.name()).text("declared", declared.word());
    object
        .raw("old_prefix_kept", &decimal(cell.verdict.kept))
        .raw("cached_share", &decimal(cell.verdict.cached));
    object.raw("expected_share", &decimal(cell.expected));
    match cell.verdict.told {
        Some(told) => object.boolean("told", told),
        None => object.raw("told", "null"),
    };
    match declared {
        Declared::Kept => object.raw("source", "null"),
        Declared::Planned(why) => object.text("source", why).raw("price_usd", &money(cell.verdict.price)),
        Declared::Limited(source) => {
            object.text("source", source).raw("price_usd", &money(cell.verdict.price))
        }
    };
    object.boolean("ok", cell.verdict.findings.is_empty()).text("capture", &cell.capture.to_string_lossy());
    object.close()
}

fn shown(cell: &Cell) -> String {
    let mark = if cell.verdict.findings.is_empty() { "✓" } else { "✗" };
    let (word, price) = match cell.row.declared(cell.column) {
        Declared::Kept => ("kept", String::new()),
        Declared::Planned(_) => ("plan", price(cell)),
        Declared::Limited(_) => ("limit", price(cell)),
    };
    format!("{mark} {word} {}·{}{price}", percent(cell.verdict.kept), percent(cell.verdict.cached))
}

fn price(cell: &Cell) -> String {
    let cost = cell.verdict.price.filter(|price| price.0 > 0);
    cost.map(|price| format!(" {price:.3}")).unwrap_or_default()
}

/// Why cells lose something, each reason once.
fn reasons(cells: &[Cell]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for cell in cells {
        let line = match cell.row.declared(cell.column) {
            Declared::Kept => continue,
            Declared::Planned(why) => format!("{}, planned: {why}", cell.row.name),
            Declared::Limited(source) => format!("{}, the provider's limit: {source}", cell.row.name),
        };
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// In whole per cent, rounded down.
fn percent(share: Share) -> u64 {
    share.millionths() / 10_000
}

fn decimal(share: Share) -> String {
    let millionths = share.millionths();
    format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000)
}

/// The most columns side by side.
const WIDEST: usize = 4;

/// How the table is read.
const LEGEND: &str = "\
word, positions kept (per cent of the old prompt's, with equal bytes) · old prompt read (per cent of its tokens, from the \
cache), price of what was not read (at list prices, the simulator's tokens); – the row is not for that provider";
