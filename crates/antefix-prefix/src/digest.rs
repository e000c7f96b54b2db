//! Digests of positions and of prefixes.

use std::fmt;

/// A blake3 digest of a position or of a prefix, version 1 of the layout.
///
/// A position's is over a version byte (1), a domain byte, then each field with its length in bytes as a
/// little-endian `u64` in front:
///
/// | domain | fields |
/// |---|---|
/// | 1 tool, 2 system block, 3 block that does not open its message | the bytes without markers |
/// | 4 block that opens its message | the message without its content's value and its own marker; the block |
/// | 5 message without blocks | the message |
/// | 6 message of Chat Completions, which is one position | the message |
///
/// A prefix's is blake3 keyed with `antefix prefix chain link, ver 1` over the digest of the prefix one
/// position shorter (32 zero bytes for the empty one) and that of the position.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Makes a digest from bytes that were stored.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Reads the 64 lower-case hexadecimal digits that [`Display`](fmt::Display) writes.
    pub fn from_hex(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        let (digits, rest) = text.as_bytes().as_chunks::<2>();
        if digits.len() != bytes.len() || !rest.is_empty() {
            return None;
        }
        for (byte, [high, low]) in bytes.iter_mut().zip(digits) {
            *byte = hex_digit(*high)? << 4 | hex_digit(*low)?;
        }
        Some(Self(bytes))
    }

    /// The 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// What a digest is of; part of the hashed bytes.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(crate) enum Domain {
    Tool = 1,
    System = 2,
    /// A block that does not open its message.
    Block = 3,
    /// The first block of a message, with the message's own members.
    Opening = 4,
    /// A message without blocks.
    Empty = 5,
    /// A message of Chat Completions.
    Chat = 6,
}

/// Takes the digest of fields given in pieces; the pieces of one field are hashed as if they stood together.
///
/// The fields are gathered in a buffer that is used again: hashing one slice in one call is up to twice as
/// fast as feeding the pieces, because chunks are then hashed side by side.
pub(crate) struct FieldHasher<'a> {
    bytes: &'a mut Vec<u8>,
}

impl<'a> FieldHasher<'a> {
    pub(crate) fn new(domain: Domain, buffer: &'a mut Vec<u8>) -> Self {
        buffer.clear();
        buffer.extend_from_slice(&[VERSION, domain as u8]);
        Self { bytes: buffer }
    }

    pub(crate) fn field(&mut self, pieces: &[&[u8]]) -> &mut Self {
        let len: usize = pieces.iter().map(|piece| piece.len()).sum();
        self.bytes.extend_from_slice(&(len as u64).to_le_bytes());
        for piece in pieces {
            self.bytes.extend_from_slice(piece);
        }
        self
    }

    pub(crate) fn finish(&self) -> Digest {
        Digest(*blake3::hash(self.bytes).as_bytes())
    }
}

/// The digest of a prefix one position longer than the prefix `before`.
pub(crate) fn link(before: Digest, position: Digest) -> Digest {
    let mut bytes = [0; 64];
    let (left, right) = bytes.split_at_mut(32);
    left.copy_from_slice(&before.0);
    right.copy_from_slice(&position.0);
    Digest(*blake3::keyed_hash(LINK_KEY, &bytes).as_bytes())
}

fn hex_digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

/// The digest of the empty prefix.
pub(crate) const EMPTY_PREFIX: Digest = Digest([0; 32]);

const VERSION: u8 = 1;

/// Sets links apart from positions and from other versions; two digests then fill one blake3 block.
const LINK_KEY: &[u8; 32] = b"antefix prefix chain link, ver 1";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_reads_what_display_writes() {
        let digest = FieldHasher::new(Domain::Tool, &mut Vec::new()).field(&[b"a"]).finish();
        let text = digest.to_string();
        let cases = [
            (text.clone(), Some(digest)),
            (text.to_uppercase(), None),
            (text[1..].to_owned(), None),
            (format!("{text}0"), None),
            (String::new(), None),
        ];
        for (text, expect) in cases {
            assert_eq!(Digest::from_hex(&text), expect, "{text}");
        }
    }

    #[test]
    fn fields_are_told_apart_and_pieces_are_not() {
        let digest = |fields: &[&[&[u8]]]| {
            let mut buffer = Vec::new();
            let mut hasher = FieldHasher::new(Domain::Block, &mut buffer);
            for field in fields {
                hasher.field(field);
            }
            hasher.finish()
        };
        assert_eq!(digest(&[&[b"ab", b"c"]]), digest(&[&[b"abc"]]));
        assert_ne!(digest(&[&[b"ab"], &[b"c"]]), digest(&[&[b"a"], &[b"bc"]]));
        assert_ne!(digest(&[&[b"ab"]]), digest(&[&[b"ab"], &[]]));
    }

    /// Stored digests must mean the same in every later version.
    #[test]
    fn version_1_stays_as_it_is() {
        let position =
            FieldHasher::new(Domain::Opening, &mut Vec::new()).field(&[b"header"]).field(&[b"body"]).finish();
        assert_eq!(position.to_string(), "e399af5950bda9133f8e05af4e7b23086fa4fc976a0eeb40bae87ac10339d895");
        assert_eq!(
            link(EMPTY_PREFIX, position).to_string(),
            "6813d4ba4b8c3d10b2f94651f8492a723333a17dc2f1f5f6a7d87d4e6ba54627"
        );
    }
}
