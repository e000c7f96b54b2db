//! A text in a state: the digests of its lines, so that what changed can be told without keeping the text twice.

use std::fmt::Write;

use bytes::Bytes;
use similar::{Algorithm, DiffOp, capture_diff_slices, group_diff_ops};

/// The state of a text: a JSON string of ten hexadecimal digits a line.
pub(super) fn state(text: &str) -> Bytes {
    let mut out = String::with_capacity(text.len() / 4 + 2);
    out.push('"');
    for digest in digests(text) {
        // Writing to a string does not fail.
        let _ = write!(out, "{digest:010x}");
    }
    out.push('"');
    out.into()
}

/// The lines that are other than the known ones, in the form of a diff. Lines that are gone are counted, not quoted:
/// only their digests are known. `None` where the known state is none of a text, or nothing is other.
pub(super) fn changes(known: &[u8], text: &str) -> Option<String> {
    let known = parse(known)?;
    let lines: Vec<&str> = text.lines().collect();
    let now: Vec<u64> = digests(text).collect();
    let groups = group_diff_ops(capture_diff_slices(Algorithm::Myers, &known, &now), 1);
    let mut out = String::new();
    for group in &groups {
        let first = group.first().map_or(0, |op| op.new_range().start) + 1;
        let _ = writeln!(out, "@@ line {first} @@");
        for op in group {
            write_op(&mut out, op, &lines);
        }
    }
    (!out.is_empty()).then_some(out)
}

/// What the model is told of an edited text, whose name `what` begins with: what changed in it, or the whole of it where
/// that is shorter.
pub(super) fn edited(what: &str, known: &[u8], text: &str) -> String {
    let whole = text.trim_end();
    match changes(known, text).filter(|changes| changes.len() < whole.len()) {
        Some(changes) => format!(
            "{what}, and hold as they are now. What changed, counted in lines of the file as it is now:\n{}",
            changes.trim_end()
        ),
        None => format!("{what}. In place of what they said, this holds:\n{whole}"),
    }
}

fn write_op(out: &mut String, op: &DiffOp, lines: &[&str]) {
    let gone = match op {
        DiffOp::Delete { old_len, .. } | DiffOp::Replace { old_len, .. } => *old_len,
        _ => 0,
    };
    if gone > 0 {
        let word = if gone == 1 { "line is" } else { "lines are" };
        let _ = writeln!(out, "[{gone} {word} gone from here]");
    }
    let sign = if matches!(op, DiffOp::Equal { .. }) { ' ' } else { '+' };
    for line in lines.get(op.new_range()).unwrap_or_default() {
        let _ = writeln!(out, "{sign}{line}");
    }
}

fn digests(text: &str) -> impl Iterator<Item = u64> {
    text.lines().map(|line| {
        let digest = blake3::hash(line.as_bytes());
        digest.as_bytes().iter().take(5).fold(0, |sum, byte| sum << 8 | u64::from(*byte))
    })
}

fn parse(state: &[u8]) -> Option<Vec<u64>> {
    let digits = std::str::from_utf8(state).ok()?.strip_prefix('"')?.strip_suffix('"')?;
    let digest = |chunk: &[u8]| u64::from_str_radix(std::str::from_utf8(chunk).ok()?, 16).ok();
    digits.as_bytes().chunks(10).map(digest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_told_line_by_line() {
        let old = "one\ntwo\nthree\nfour\nfive\nsix\n";
        for (new, expect) in [
            (old, None),
            ("one\ntwo\nthree\nfour\nfive\nsix", None),
            (
                "one\n2\nthree\nfour\nfive\nsix\n",
                Some("@@ line 1 @@\n one\n[1 line is gone from here]\n+2\n three\n"),
            ),
            ("one\ntwo\nfive\nsix\n", Some("@@ line 2 @@\n two\n[2 lines are gone from here]\n five\n")),
            (
                "zero\none\ntwo\nthree\nfour\nfive\nsix\nseven\n",
                Some("@@ line 1 @@\n+zero\n one\n@@ line 7 @@\n six\n+seven\n"),
            ),
            ("", Some("@@ line 1 @@\n[6 lines are gone from here]\n")),
        ] {
            assert_eq!(changes(&state(old), new).as_deref(), expect, "{new:?}");
        }
        for known in ["null", "{}", "\"xyz\""] {
            assert_eq!(changes(known.as_bytes(), old), None, "{known}");
        }
    }
}
