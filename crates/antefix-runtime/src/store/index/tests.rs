use antefix_session::line::{Chain, Head};

use super::{Entry, Index, SLOT_LENGTH};
use crate::store::SessionId;

fn id() -> SessionId {
    "s-1".parse().unwrap()
}

fn entry(sequence: u64) -> Entry {
    let head = Head { chain: Chain([sequence as u8; 32]), lines: sequence + 1, bytes: 100 * sequence };
    Entry { sequence, head, updated_at_ms: 1_000 + sequence }
}

fn slot(sequence: u64) -> Vec<u8> {
    entry(sequence).slot(&id()).unwrap()
}

/// The first half of an entry over what was there before.
fn torn(sequence: u64, before: &[u8]) -> Vec<u8> {
    [&slot(sequence)[..120], &before[120..]].concat()
}

#[test]
fn the_newer_readable_slot_counts() {
    let blank = vec![0; SLOT_LENGTH];
    let check = |slots: &[&[u8]], expect: Index| assert_eq!(Index::parse(&id(), &slots.concat()), expect);
    check(&[], Index::Blank);
    check(&[&blank], Index::Blank);
    check(&[&blank, &blank], Index::Blank);
    check(&[&slot(0)], Index::Known(entry(0)));
    check(&[&slot(0)[..400]], Index::Known(entry(0)));
    check(&[&slot(0), &slot(1)], Index::Known(entry(1)));
    check(&[&slot(2), &slot(1)], Index::Known(entry(2)));
    check(&[&torn(0, &blank)], Index::Blank);
    check(&[&slot(0), &torn(1, &blank)], Index::Known(entry(0)));
    check(&[&torn(2, &slot(0)), &slot(1)], Index::Known(entry(1)));
    check(&[&torn(2, &slot(0)), &torn(3, &slot(1))], Index::Lost);
    check(&[b"nonsense", &blank], Index::Blank);
}

#[test]
fn an_index_of_another_session_is_none() {
    let other = entry(1).slot(&"s-2".parse().unwrap()).unwrap();
    assert_eq!(Index::parse(&id(), &[slot(0), other.clone()].concat()), Index::Known(entry(0)));
    assert_eq!(Index::parse(&id(), &[other.clone(), other].concat()), Index::Lost);
}

#[test]
fn a_slot_of_version_zero_stays_what_it_is() {
    let text = String::from_utf8(slot(1)).unwrap();
    assert_eq!(text.len(), SLOT_LENGTH);
    assert_eq!(text.trim_end_matches(' ').as_bytes(), GOLDEN);
    assert_eq!(Index::parse(&id(), GOLDEN), Index::Known(entry(1)));
}

/// The first slot, without its padding, as the first release wrote it.
const GOLDEN: &[u8] = include_bytes!("golden.jsonl");
