//! Where a text is in a file, and the file with another text in its place.

use std::ops::Range;

use memchr::{memchr_iter, memmem};

use crate::{Failure, Fields};

/// What to put in the place of what.
#[derive(Clone, Debug)]
pub(crate) struct Replacement {
    pub(super) old: String,
    pub(super) new: String,
    pub(super) all: bool,
}

impl Replacement {
    /// Reads the fields `old_string`, `new_string` and `replace_all`.
    pub(crate) fn of(fields: &Fields<'_>) -> Result<Self, Failure> {
        let old = fields.string("old_string", "the text to replace")?;
        let new = fields.string("new_string", "the new text")?;
        Ok(Self { old, new, all: fields.flag("replace_all")? })
    }

    /// Finds what is to change, in order. In a file whose lines end in CRLF, line ends of the two texts that
    /// are only LF are taken as CRLF.
    pub(super) fn find(&self, content: &[u8]) -> Result<Vec<Change>, Unfit> {
        if self.old.is_empty() {
            let change = Change { range: 0..0, new: self.new.as_bytes().to_vec() };
            return if content.is_empty() { Ok(vec![change]) } else { Err(Unfit::Empty) };
        }
        let ends = LineEnds::of(content);
        if ends != LineEnds::AllCrlf {
            match self.find_exactly(content, self.old.as_bytes(), self.new.as_bytes()) {
                Err(Unfit::Missing) if ends == LineEnds::Mixed => {}
                result => return result,
            }
        }
        self.find_exactly(content, &with_crlf(&self.old), &with_crlf(&self.new))
    }

    fn find_exactly(&self, content: &[u8], old: &[u8], new: &[u8]) -> Result<Vec<Change>, Unfit> {
        let offsets: Vec<_> = memmem::find_iter(content, old).collect();
        match offsets.len() {
            0 => Err(Unfit::Missing),
            2.. if !self.all => Err(Unfit::Ambiguous(offsets)),
            _ => Ok(offsets
                .iter()
                .map(|at| Change { range: *at..at + old.len(), new: new.to_vec() })
                .collect()),
        }
    }
}

/// One place of the file, and its new content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(super) range: Range<usize>,
    pub(super) new: Vec<u8>,
}

/// Why a replacement cannot be made.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    /// The text to replace is empty, but the file is not.
    Empty,
    Missing,
    /// With the offsets of all occurrences.
    Ambiguous(Vec<usize>),
}

/// How the lines of a file end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineEnds {
    /// No line ends in CRLF.
    Lf,
    AllCrlf,
    Mixed,
}

impl LineEnds {
    fn of(content: &[u8]) -> Self {
        let ends = memchr_iter(b'\n', content).count();
        match memmem::find_iter(content, b"\r\n").count() {
            0 => Self::Lf,
            crlf if crlf == ends => Self::AllCrlf,
            _ => Self::Mixed,
        }
    }
}

fn with_crlf(text: &str) -> Vec<u8> {
    text.replace("\r\n", "\n").replace('\n', "\r\n").into_bytes()
}

/// The one change that makes one content of another, as small as whole lines allow.
pub(super) fn difference(before: &[u8], after: &[u8]) -> Change {
    let same = before.iter().zip(after).take_while(|(before, after)| before == after).count();
    // INVARIANT: the same bytes at the start, and then at the end of what is left, are in both.
    let start = before[..same].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let (old, new) = (&before[start..], &after[start..]);
    let same = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let tail = &old[old.len() - same..];
    let is_line = |text: &[u8]| text.len() == same || text[text.len() - same - 1] == b'\n';
    let first_line = || tail.iter().position(|byte| *byte == b'\n').map_or(0, |end| tail.len() - end - 1);
    // The end that is kept begins with a line.
    let kept = if is_line(old) && is_line(new) { same } else { first_line() };
    Change { range: start..before.len() - kept, new: new[..new.len() - kept].to_vec() }
}

/// The content with the changes made; they are in order and do not overlap.
pub(super) fn apply(content: &[u8], changes: &[Change]) -> Vec<u8> {
    let mut out = Vec::with_capacity(content.len());
    let mut done = 0;
    // INVARIANT: the changes are places of this content, in order.
    for change in changes {
        out.extend_from_slice(&content[done..change.range.start]);
        out.extend_from_slice(&change.new);
        done = change.range.end;
    }
    out.extend_from_slice(&content[done..]);
    out
}

/// The numbers of the lines in which the offsets are, in words.
pub(super) fn line_numbers(content: &[u8], offsets: &[usize]) -> String {
    let mut done = 0;
    let mut line = 1;
    let mut numbers = Vec::new();
    for offset in offsets.iter().take(LISTED_LINES) {
        // INVARIANT: the offsets are places of this content, in order.
        line += memchr_iter(b'\n', &content[done..*offset]).count();
        done = *offset;
        numbers.push(line.to_string());
    }
    let more = if offsets.len() > LISTED_LINES { " and further" } else { "" };
    format!("{}{more}", numbers.join(", "))
}

const LISTED_LINES: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// `expect` is the content afterwards, or why there is none.
    fn check(content: &str, old: &str, new: &str, all: bool, expect: Result<&str, Unfit>) {
        let content = content.as_bytes();
        let replacement = Replacement { old: old.to_owned(), new: new.to_owned(), all };
        let got = replacement.find(content).map(|changes| apply(content, &changes));
        let got = got.map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(got, expect.map(str::to_owned), "{content:?} {old:?} {new:?}");
    }

    #[test]
    fn replacements() {
        check("a b c", "b", "x", false, Ok("a x c"));
        check("a b b", "b", "x", false, Err(Unfit::Ambiguous(vec![2, 4])));
        check("a b b", "b", "xx", true, Ok("a xx xx"));
        check("aaaa", "aa", "b", true, Ok("bb"));
        check("a", "b", "x", true, Err(Unfit::Missing));
        check("a\nb", "a\n", "", false, Ok("b"));
        check("", "", "x", false, Ok("x"));
        check("a", "", "x", false, Err(Unfit::Empty));
    }

    #[test]
    fn line_ends_stay() {
        check("a\r\nb\r\nc", "a\nb", "x\ny\nz", false, Ok("x\r\ny\r\nz\r\nc"));
        check("a\r\nb\r\n", "a\r\nb", "x\r\ny", false, Ok("x\r\ny\r\n"));
        check("a\r\nb\r\n", "b", "x\ny", false, Ok("a\r\nx\r\ny\r\n"));
        check("a\nb\r\nc\r\n", "a\nb", "x\ny", false, Ok("x\ny\r\nc\r\n"));
        check("a\nb\r\nc\r\n", "b\nc", "x\ny", false, Ok("a\nx\r\ny\r\n"));
        check("a\nb", "a", "x\r\ny", false, Ok("x\r\ny\nb"));
        check("a\nb", "a\r\nb", "x", false, Err(Unfit::Missing));
    }

    #[test]
    fn differences_are_of_whole_lines() {
        for (before, after, old, new) in [
            ("a\nb\nc\n", "a\nx\nc\n", "b\n", "x\n"),
            ("a\nb\n", "a\nb\nc\n", "", "c\n"),
            ("a\nab\nb\n", "a\nb\n", "ab\n", ""),
            ("same\n", "same\n", "", ""),
            ("x", "y", "x", "y"),
            ("", "a\n", "", "a\n"),
            ("a\na\na\n", "a\na\n", "a\n", ""),
        ] {
            let change = difference(before.as_bytes(), after.as_bytes());
            assert_eq!(
                apply(before.as_bytes(), std::slice::from_ref(&change)),
                after.as_bytes(),
                "{before:?} {after:?}"
            );
            assert_eq!(
                (&before[change.range], change.new.as_slice()),
                (old, new.as_bytes()),
                "{before:?} {after:?}"
            );
        }
    }

    #[test]
    fn lines_of_offsets() {
        assert_eq!(line_numbers(b"a\nb\n\nc", &[0, 2, 5]), "1, 2, 4");
        let many: Vec<_> = (0..21).collect();
        assert!(line_numbers(&[b'\n'; 30], &many).ends_with("19, 20 and further"));
    }
}
