//! Where a text is in a file, and the file with another text in its place.

use std::ops::Range;

use memchr::{memchr_iter, memmem};

/// What to put in the place of what.
#[derive(Clone, Copy, Debug)]
pub(super) struct Replacement<'a> {
    pub(super) old: &'a str,
    pub(super) new: &'a str,
    pub(super) all: bool,
}

impl Replacement<'_> {
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
        self.find_exactly(content, &with_crlf(self.old), &with_crlf(self.new))
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
pub(super) struct Change {
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
        let got = Replacement { old, new, all }.find(content).map(|changes| apply(content, &changes));
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
    fn lines_of_offsets() {
        assert_eq!(line_numbers(b"a\nb\n\nc", &[0, 2, 5]), "1, 2, 4");
        let many: Vec<_> = (0..21).collect();
        assert!(line_numbers(&[b'\n'; 30], &many).ends_with("19, 20 and further"));
    }
}
