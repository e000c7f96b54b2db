//! The figures that every report of a bill leads with. docs/glossary.md says what each is of.

use antefix_ledger::{Account, Ratio};

use crate::table::Table;
use crate::text::{grouped, percent, short};

/// Prints the two figures that the bill of an agent hangs on, and what was read of all input.
pub fn print(account: &Account) {
    let kept = ratio(account.kept);
    print_labelled("prefix kept", &format!("{kept} of the tokens that could have been read were read"));
    let added = account.added_per_round().map_or_else(|| "–".to_owned(), |added| grouped(added.0));
    let rounds = grouped(account.rounds);
    print_labelled(
        "tokens per round",
        &format!(
            "{added} on average, by which a request is longer than the one it extends ({rounds} of them)"
        ),
    );
    let read = ratio(account.read());
    print_labelled("cache read", &format!("{read} of all input tokens were read, first requests included"));
}

/// Prints a figure behind its name.
pub fn print_labelled(label: &str, text: &str) {
    let mut table = Table::unheaded(2);
    table.line([format!("{label:<LABEL$}"), text.to_owned()]).print();
}

/// A share, and what it is of.
fn ratio(ratio: Ratio) -> String {
    match ratio.permille() {
        None => "–".to_owned(),
        share => format!("{} ({} of {})", percent(share), short(ratio.part.0), short(ratio.whole.0)),
    }
}

/// How wide the names of figures are.
const LABEL: usize = 16;
