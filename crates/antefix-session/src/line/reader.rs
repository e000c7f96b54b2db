use antefix_wire::ByteRange;

use super::{Chain, Head, MEMBER_END, MEMBER_LENGTH, MEMBER_START};

/// Reads the lines of a transcript in order and checks the chain.
///
/// Ends after the last complete line, or with the first [`LineError`]; [`Reader::head`] then tells how far the
/// transcript is good.
///
/// ```
/// use antefix_session::line::{Chain, LineError, Reader, seal};
///
/// let (mut bytes, chain) = seal(Chain::START, br#"{"n":1}"#).unwrap();
/// bytes.extend_from_slice(br#"{"n":2"#);
/// let mut reader = Reader::new(&bytes);
/// assert_eq!(reader.next().unwrap().unwrap().chain, chain);
/// assert_eq!(reader.next(), Some(Err(LineError::Torn { offset: reader.head().bytes })));
/// assert_eq!(reader.next(), None);
/// ```
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    head: Head,
    stopped: bool,
}

impl<'a> Reader<'a> {
    /// Reads a transcript from its first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, head: Head::START, stopped: false }
    }

    /// The end of the last good line.
    pub fn head(&self) -> Head {
        self.head
    }

    fn read(&mut self, rest: &'a [u8]) -> Result<Line<'a>, LineError> {
        let offset = self.head.bytes;
        let end = rest.iter().position(|byte| *byte == b'\n').ok_or(LineError::Torn { offset })?;
        let (object, _) = rest.split_at(end);
        let broken = |reason| LineError::Broken { line: self.head.lines + 1, offset, reason };
        let chain = check(self.head.chain, object).map_err(broken)?;
        let start = offset as usize;
        let after = start + end + 1;
        self.head = Head { chain, lines: self.head.lines + 1, bytes: after as u64 };
        Ok(Line { object, chain, range: ByteRange::new(start, after) })
    }
}

impl<'a> Iterator for Reader<'a> {
    type Item = Result<Line<'a>, LineError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.bytes.get(self.head.bytes as usize..)?;
        if self.stopped || rest.is_empty() {
            return None;
        }
        let line = self.read(rest);
        self.stopped = line.is_err();
        Some(line)
    }
}

/// One complete line whose digest is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// The object's text, its `chain` member included, without the newline.
    pub object: &'a [u8],
    /// Digest of this line and all before it.
    pub chain: Chain,
    /// Where the line stands in the transcript, its newline included.
    pub range: ByteRange,
}

/// Why reading ended before the end of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// The last line has no newline: whatever it holds, it was never completely written.
    #[error("the line at byte {offset} has no end")]
    Torn {
        /// Where the line starts.
        offset: u64,
    },
    /// A complete line is not what was written.
    #[error("line {line}, at byte {offset}: {reason}")]
    Broken {
        /// Number of the line, from 1.
        line: u64,
        /// Where the line starts.
        offset: u64,
        /// What is wrong with it.
        reason: BrokenReason,
    },
}

/// What is wrong with a complete line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrokenReason {
    /// It does not read `{"…}`.
    #[error("not a JSON object")]
    NotAnObject,
    /// It does not end in a `chain` member of 64 lower-case hex digits.
    #[error("no `chain` at its end")]
    NoChain,
    /// It, or a line before it, was changed, removed or added.
    #[error("its content does not match its `chain`")]
    WrongDigest,
}

fn check(previous: Chain, object: &[u8]) -> Result<Chain, BrokenReason> {
    if !object.starts_with(b"{\"") || !object.ends_with(b"}") {
        return Err(BrokenReason::NotAnObject);
    }
    let (open, chain) = split_chain(object).ok_or(BrokenReason::NoChain)?;
    if previous.link(open) == chain { Ok(chain) } else { Err(BrokenReason::WrongDigest) }
}

/// Splits a line's object into what stands before the `chain` member, and the digest.
fn split_chain(object: &[u8]) -> Option<(&[u8], Chain)> {
    let (open, member) = object.split_at_checked(object.len().checked_sub(MEMBER_LENGTH)?)?;
    let digits = member.strip_prefix(MEMBER_START)?.strip_suffix(MEMBER_END)?;
    Some((open, Chain::from_hex(digits)?))
}
