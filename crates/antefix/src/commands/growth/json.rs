use super::ride::Piece;
use super::{Growth, Part, Sum, reads::WholeRead};
use crate::stream_json::{Object, SCHEMA_VERSION, array, money};

/// The growth of a history as JSON.
pub fn growth(growth: &Growth) -> String {
    let account = &growth.account;
    let mut object = Object::new();
    object.number("schema_version", SCHEMA_VERSION).text("session_id", &growth.session);
    object.number("requests", account.requests).number("unreported", account.unreported);
    object.number("unpriced", account.unpriced);
    object.raw("prefix_kept_permille", &optional(account.kept.permille()));
    object.raw("tokens_per_round", &optional(account.added_per_round().map(|tokens| tokens.0)));
    object.number("typed_tokens", growth.tokens(|part| *part == Part::Typed).0);
    object.number("returned_tokens", growth.tokens(|part| matches!(part, Part::Results(_))).0);
    let parts = growth.parts.iter().map(|(part, sum)| {
        let mut row = Object::new();
        name(&mut row, part);
        add(&mut row, sum, growth);
        row.close()
    });
    object.raw("parts", &array(parts));
    let files = growth.files.iter().map(|(file, sum)| {
        let mut row = Object::new();
        row.text("file", file);
        add(&mut row, sum, growth);
        row.close()
    });
    object.raw("files", &array(files));
    object.raw("blocks", &array(growth.pieces.iter().map(|piece| block(piece, growth))));
    object.raw("whole_reads", &array(growth.reads.iter().map(|read| whole_read(read, growth))));
    object.close()
}

fn name(row: &mut Object, part: &Part) {
    let (id, which) = part.id();
    row.text("part", id);
    match which {
        Some(which) => row.text("which", which),
        None => row.raw("which", "null"),
    };
}

fn add(row: &mut Object, sum: &Sum, growth: &Growth) {
    row.number("blocks", sum.pieces).number("tokens", sum.tokens.0).number("rode_in", sum.rides);
    counts(row, &sum.sent);
    row.raw("cost_usd", &cost(growth, sum.cost));
}

fn block(piece: &Piece, growth: &Growth) -> String {
    let mut row = Object::new();
    name(&mut row, &piece.part);
    row.number("turn", piece.turn);
    match &piece.file {
        Some(file) => row.text("file", file),
        None => row.raw("file", "null"),
    };
    row.number("tokens", piece.tokens().0).number("rode_in", piece.rides);
    counts(&mut row, &piece.sent);
    row.raw("cost_usd", &cost(growth, piece.cost));
    row.close()
}

fn whole_read(read: &WholeRead, growth: &Growth) -> String {
    let mut row = Object::new();
    row.text("file", &read.file).number("turn", read.turn).number("lines", read.lines);
    let used = read.used.map(|(first, last)| format!("[{first},{last}]"));
    row.raw("used_lines", used.as_deref().unwrap_or("null"));
    row.number("tokens", read.tokens.0).number("rode_in", read.rides);
    row.number("unused_tokens_sent", read.unused.0.0);
    row.raw("unused_cost_usd", &cost(growth, read.unused.1));
    row.close()
}

fn counts(row: &mut Object, counts: &antefix_models::Counts) {
    row.number("read", counts.read.0).number("write_5m", counts.write_5m.0);
    row.number("write_1h", counts.write_1h.0).number("uncached", counts.uncached.0);
}

/// An amount; `null` where a request of the session has no price.
fn cost(growth: &Growth, amount: antefix_models::Money) -> String {
    money(growth.account.is_priced().then_some(amount))
}

fn optional(number: Option<u64>) -> String {
    number.map_or_else(|| "null".to_owned(), |number| number.to_string())
}
