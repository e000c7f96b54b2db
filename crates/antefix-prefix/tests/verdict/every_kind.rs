//! Every kind of the table has a case that expects it.

use std::path::Path;

use antefix_prefix::verdict::Kind;
use antefix_wire::json::Body;

use crate::conversations::BREAKS;
use crate::dice::Dice;
use crate::kinds::ROWS;
use crate::request::{DIALECTS, Request};

/// A row of the table of kinds stays only with a case that expects it: here, among the made conversations, or in
/// the case files.
#[test]
fn every_kind_has_a_case() {
    let mut expected: Vec<String> = ROWS.iter().map(|row| row.1.id().to_owned()).collect();
    for (_, change) in BREAKS {
        let made = (0..100).find_map(|seed| {
            let mut dice = Dice::new(seed);
            let mut request = Request::random(DIALECTS[seed as usize % 4], &mut dice);
            change(&mut request, &mut dice)
        });
        expected.extend(made.map(|(kind, _)| kind.id().to_owned()));
    }
    expected.extend(case_files());
    let without: Vec<_> =
        Kind::ALL.iter().map(|kind| kind.id()).filter(|id| !expected.iter().any(|one| one == id)).collect();
    assert!(without.is_empty(), "no case expects {without:?}");
}

/// The kinds that the case files of `antefix explain` expect.
fn case_files() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../antefix/tests/cases");
    let mut kinds = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let case = Body::parse(std::fs::read(entry.unwrap().path()).unwrap()).unwrap();
        let places: &[&str] = match case.root().get("level") {
            Some(level) if level.is_str("wire") => &["/expected/first_break/kind", "/expected/fault/kind"],
            _ => &["/kind"],
        };
        let found = places.iter().filter_map(|place| case.root().pointer(place)?.str());
        kinds.extend(found.map(|kind| kind.into_owned()));
    }
    kinds
}
