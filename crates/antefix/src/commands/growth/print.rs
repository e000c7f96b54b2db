//! The growth of a history for people.

use antefix_models::Money;

use super::ride::Piece;
use super::{Growth, Part, Sum};
use crate::headline;
use crate::out::{prose, say, tell};
use crate::screen::{harmless, one_line};
use crate::table::Table;
use crate::text::{grouped, percent, short};

/// Prints what a history consists of.
pub fn growth(growth: &Growth) {
    if growth.pieces.is_empty() {
        tell!("session {}: no request whose usage is known", growth.session);
        return;
    }
    headline(growth);
    say!();
    sums("part of the prompt", growth.parts.iter().map(|(part, sum)| (part.to_string(), sum)), growth);
    if growth.files.len() > 1 {
        say!();
        let files = growth.files.iter().take(MOST);
        sums("results by file", files.map(|(file, sum)| (one_line(file, 48), sum)), growth);
        more(growth.files.len());
    }
    say!();
    blocks(growth);
    reads(growth);
    remarks(growth);
}

/// The two figures that the bill of an agent hangs on, and who fills the history.
fn headline(growth: &Growth) {
    say!("session {}, {} requests", growth.session, grouped(growth.account.requests));
    headline::print(&growth.account);
    let typed = growth.tokens(|part| *part == Part::Typed);
    let returned = growth.tokens(|part| matches!(part, Part::Results(_)));
    let each = returned.0.checked_div(typed.0);
    let each = each.map_or_else(String::new, |each| format!(", {} for each", grouped(each)));
    let (typed, returned) = (grouped(typed.0), grouped(returned.0));
    headline::print_labelled("typed by you", &format!("{typed} tokens; tools returned {returned}{each}"));
}

fn sums<'g>(heading: &str, named: impl Iterator<Item = (String, &'g Sum)>, growth: &Growth) {
    let mut table = Table::new(&[
        heading,
        ">blocks",
        ">tokens",
        ">rode in",
        ">tokens sent",
        ">cache read",
        ">cost",
        ">of input cost",
    ])
    .spare(&["blocks", "tokens sent"]);
    let all = input_cost(growth);
    for (name, sum) in named {
        let rode = sum.rides.checked_div(sum.pieces).unwrap_or(0);
        table.line([
            harmless(&name).into_owned(),
            grouped(sum.pieces),
            short(sum.tokens.0),
            format!("{rode}×"),
            short(sum.sent.prompt().0),
            share(sum.sent.read.0.into(), sum.sent.prompt().0.into()),
            cost(growth, sum.cost),
            share(sum.cost.0, all.0),
        ]);
    }
    table.print();
}

/// The dearest blocks one by one.
fn blocks(growth: &Growth) {
    let mut dearest: Vec<&Piece> = growth.pieces.iter().filter(|piece| piece.turn > 0).collect();
    dearest.sort_by_key(|piece| std::cmp::Reverse((piece.cost, piece.sent.prompt())));
    let mut table =
        Table::new(&["dearest blocks", ">turn", ">tokens", ">rode in", ">cost", "begins"]).spare(&["turn"]);
    for piece in dearest.iter().take(MOST) {
        table.line([
            harmless(&piece.part.to_string()).into_owned(),
            piece.turn.to_string(),
            short(piece.tokens().0),
            format!("{}×", piece.rides),
            cost(growth, piece.cost),
            begins(piece),
        ]);
    }
    if !dearest.is_empty() {
        table.print();
        more(dearest.len());
    }
}

fn begins(piece: &Piece) -> String {
    let text = |body: &antefix_wire::json::Body, pointer: &str| {
        let found = body.root().pointer(pointer).and_then(antefix_wire::json::Node::str);
        found.map(|text| text.into_owned())
    };
    let named = piece
        .input
        .as_ref()
        .and_then(|input| ["/path", "/command", "/pattern"].iter().find_map(|pointer| text(input, pointer)));
    let own = ["", "/text", "/thinking", "/content/0/text", "/content"];
    let shown = named.or_else(|| own.iter().find_map(|pointer| text(&piece.block, pointer)));
    one_line(&shown.unwrap_or_default(), 40)
}

/// What ranges would have saved.
fn reads(growth: &Growth) {
    if growth.reads.is_empty() {
        return;
    }
    say!();
    let mut table = Table::new(&[
        "read whole",
        ">lines",
        "used later",
        ">tokens",
        ">rode in",
        ">tokens a range saves",
        ">cost",
    ])
    .spare(&["lines"]);
    for read in growth.reads.iter().take(MOST) {
        let used = read.used.map_or_else(|| "nothing".to_owned(), |(first, last)| format!("{first}–{last}"));
        table.line([
            one_line(&read.file, 48),
            grouped(read.lines),
            used,
            short(read.tokens.0),
            format!("{}×", read.rides),
            short(read.unused.0.0),
            cost(growth, read.unused.1),
        ]);
    }
    table.print();
    more(growth.reads.len());
    prose!(
        "`used later` are the lines that were edited or read again, with some around them; what the model only had to \
         see is not known, so a saving is the most that `offset` and `limit`, or `grep`, could have brought.",
    );
}

fn remarks(growth: &Growth) {
    say!();
    prose!(
        "tokens: a block's own, shared out of what the provider reported for whole prompts, by bytes where several \
         blocks came at once. rode in: requests that it was sent in, on average. tokens sent: over all of these. cache read: \
         of the tokens sent. A request's cost lies on its prompt in reading order: read, written, uncached.",
    );
    let account = &growth.account;
    if account.unpriced > 0 {
        say!("{} requests have no known price and are in no amount.", account.unpriced);
    }
    if account.unreported > 0 {
        say!("{} requests whose usage was not reported are left out.", account.unreported);
    }
}

/// What all input cost, web searches and output aside.
fn input_cost(growth: &Growth) -> Money {
    growth.parts.iter().map(|(_, sum)| sum.cost).sum()
}

/// An amount; what has no price is never shown as free.
fn cost(growth: &Growth, amount: Money) -> String {
    let account = &growth.account;
    if account.unpriced > 0 && account.unpriced >= account.totals.rows as u64 {
        return "unpriced".to_owned();
    }
    format!("{amount:.4}")
}

fn share(part: i128, whole: i128) -> String {
    percent((part * 1000).checked_div(whole).and_then(|permille| u64::try_from(permille).ok()))
}

fn more(all: usize) {
    if all > MOST {
        say!("… and {} more; `--json` has them all", all - MOST);
    }
}

/// Lines of a list at most.
const MOST: usize = 8;
