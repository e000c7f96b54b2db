//! Tests of the basket.

#[path = "basket.rs"]
mod basket;

use basket::{Item, receipt, total};

fn screws(count: u64) -> Item {
    Item { name: "screw", cents: 20, count }
}

#[test]
fn few_pieces_cost_their_full_price() {
    assert_eq!(total(&[screws(9)]), 180);
}

#[test]
fn ten_pieces_are_cheaper() {
    assert_eq!(total(&[screws(10)]), 190);
}

#[test]
fn a_receipt_ends_with_the_sum() {
    assert!(receipt(&[screws(1), screws(2)]).trim_end().ends_with("60"));
}
