use std::fmt;
use std::str::FromStr;

/// The blake3 digest of a blob's content, which is also its name; 64 lower-case hex digits as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobId([u8; 32]);

impl BlobId {
    /// The id of `content`.
    pub fn of(content: &[u8]) -> Self {
        Self(*blake3::hash(content).as_bytes())
    }
}

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl FromStr for BlobId {
    type Err = antefix_session::line::ChainParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<antefix_session::line::Chain>().map(|chain| Self(chain.0))
    }
}
