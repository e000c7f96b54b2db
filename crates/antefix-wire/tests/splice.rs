//! Edits of a body, and edits that cannot be applied.

use antefix_wire::{ByteRange, Edit, SpliceError, splice};

#[test]
fn edits() {
    check(&[], Ok("0123456789"));
    check(&[Edit::insert(0, *b"a")], Ok("a0123456789"));
    check(&[Edit::insert(10, *b"a")], Ok("0123456789a"));
    check(&[Edit::insert(3, *b"a"), Edit::insert(3, *b"b")], Ok("012ab3456789"));
    check(&[Edit::delete(range(0, 10))], Ok(""));
    check(&[Edit::delete(range(2, 4)), Edit::replace(range(4, 5), *b"abc")], Ok("01abc56789"));
    check(&[Edit::delete(range(2, 4)), Edit::insert(4, *b"a"), Edit::delete(range(4, 6))], Ok("01a6789"));
    check(&[Edit::replace(range(9, 10), *b"")], Ok("012345678"));
}

#[test]
fn edits_that_do_not_fit() {
    let overlap = |index, start, earlier_end| Err(SpliceError::Overlap { index, start, earlier_end });
    let outside = |index, start, end| Err(SpliceError::OutOfBounds { index, start, end, len: 10 });
    check(&[Edit::delete(range(2, 5)), Edit::delete(range(4, 6))], overlap(1, 4, 5));
    check(&[Edit::insert(5, *b"a"), Edit::insert(4, *b"b")], overlap(1, 4, 5));
    check(&[Edit::insert(0, *b"a"), Edit::delete(range(2, 11))], outside(1, 2, 11));
    check(&[Edit::insert(11, *b"a")], outside(0, 11, 11));
    check(&[Edit::delete(range(5, 4))], outside(0, 5, 4));
}

fn check(edits: &[Edit], expect: Result<&str, SpliceError>) {
    let expect = expect.map(|text| text.as_bytes().to_vec());
    assert_eq!(splice(b"0123456789", edits), expect, "{edits:?}");
}

fn range(start: usize, end: usize) -> ByteRange {
    ByteRange::new(start, end)
}
