//! Lines of a transcript: one JSON object each, linked by a digest in the last member.
//!
//! `docs/formats/transcript.md` draws the bytes. The objects themselves are not looked into here: a line that
//! carries the right digest holds what [`seal`] was given.

mod reader;

pub use reader::{BrokenReason, Line, LineError, Reader};

use std::fmt;
use std::str::FromStr;

/// The digest of a line and of all lines before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Chain(pub [u8; 32]);

impl Chain {
    /// What the first line is chained to: 32 zero bytes.
    pub const START: Self = Self([0; 32]);

    /// The digest of a line whose object, without the `chain` member, is `open` followed by `}`.
    fn link(self, open: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
        hasher.update(&self.0);
        hasher.update(&(open.len() as u64 + 1).to_le_bytes());
        hasher.update(open);
        hasher.update(b"}");
        Self(*hasher.finalize().as_bytes())
    }

    /// Reads 64 lower-case hex digits.
    fn from_hex(digits: &[u8]) -> Option<Self> {
        let digits: &[u8; 64] = digits.try_into().ok()?;
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let [high, low] = pair else { return None };
            *byte = nibble(*high)? << 4 | nibble(*low)?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Chain({self})")
    }
}

impl FromStr for Chain {
    type Err = ChainParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::from_hex(text.as_bytes()).ok_or(ChainParseError)
    }
}

/// A text that is not 64 lower-case hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a chain digest is 64 lower-case hex digits")]
pub struct ChainParseError;

/// The end of a transcript: what the next line is chained to, and where it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Digest of the last line.
    pub chain: Chain,
    /// Number of lines.
    pub lines: u64,
    /// Number of bytes, the last newline included.
    pub bytes: u64,
}

impl Head {
    /// The head of an empty transcript.
    pub const START: Self = Self { chain: Chain::START, lines: 0, bytes: 0 };
}

/// Makes the line of `object`: the object with the `chain` member put last, and a newline.
///
/// # Errors
/// [`SealError`] when `object` is not a JSON object with at least one member, or holds a raw newline.
///
/// ```
/// use antefix_session::line::{Chain, seal};
///
/// let (line, chain) = seal(Chain::START, br#"{"n":1}"#).unwrap();
/// assert_eq!(line, format!("{{\"n\":1,\"chain\":\"{chain}\"}}\n").into_bytes());
/// ```
pub fn seal(previous: Chain, object: &[u8]) -> Result<(Vec<u8>, Chain), SealError> {
    let mut line = Vec::with_capacity(object.len() + MEMBER_LENGTH + 1);
    let chain = seal_into(&mut line, previous, object)?;
    Ok((line, chain))
}

/// Appends the line of `object` to `out`; see [`seal`].
///
/// # Errors
/// As [`seal`]; `out` is then unchanged.
pub fn seal_into(out: &mut Vec<u8>, previous: Chain, object: &[u8]) -> Result<Chain, SealError> {
    let open = object.strip_suffix(b"}").ok_or(SealError::NotAnObject)?;
    if !object.starts_with(b"{\"") {
        return Err(SealError::NotAnObject);
    }
    if object.contains(&b'\n') {
        return Err(SealError::Newline);
    }
    let chain = previous.link(open);
    out.extend_from_slice(open);
    out.extend_from_slice(MEMBER_START);
    out.extend_from_slice(blake3::Hash::from_bytes(chain.0).to_hex().as_bytes());
    out.extend_from_slice(MEMBER_END);
    out.push(b'\n');
    Ok(chain)
}

/// Why an object cannot become a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// It does not read `{"…}`.
    #[error("a transcript record must be a compact JSON object with at least one member")]
    NotAnObject,
    /// A raw newline would end the line early.
    #[error("a transcript record must not hold a raw newline")]
    Newline,
}

fn nibble(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    }
}

/// Separates this digest from every other use of blake3; the version changes with the format.
const CONTEXT: &str = "antefix transcript chain v0";
const MEMBER_START: &[u8] = b",\"chain\":\"";
const MEMBER_END: &[u8] = b"\"}";
/// Bytes from the comma before `"chain"` to the closing brace.
const MEMBER_LENGTH: usize = MEMBER_START.len() + 64 + MEMBER_END.len();

#[cfg(test)]
mod tests;
