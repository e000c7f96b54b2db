use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::BlobId;

/// The name of a session, and of its folder: 1 to 64 of `a`–`z`, `0`–`9` and `-`, not starting with `-`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionId(String);

impl SessionId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SessionId {
    type Err = SessionIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let fits = (1..=64).contains(&text.len()) && !text.starts_with('-');
        if fits && text.bytes().all(allowed) { Ok(Self(text.to_owned())) } else { Err(SessionIdError) }
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text that cannot name a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a session id is 1 to 64 lower-case letters, digits and hyphens, and starts with no hyphen")]
pub struct SessionIdError;

/// The paths of one session.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    pub(super) id: SessionId,
    pub(super) folder: PathBuf,
    pub(super) transcript: PathBuf,
    pub(super) index: PathBuf,
    pub(super) blobs: PathBuf,
}

impl Layout {
    pub(super) fn new(sessions: &Path, id: &SessionId) -> Self {
        let folder = sessions.join(id.as_str());
        Self {
            id: id.clone(),
            transcript: folder.join("transcript.jsonl"),
            index: folder.join("index.jsonl"),
            blobs: folder.join("blobs"),
            folder,
        }
    }

    pub(super) fn blob(&self, id: BlobId) -> PathBuf {
        self.blobs.join(id.to_string())
    }

    /// Where a blob is written before it gets its name.
    pub(super) fn unfinished_blob(&self, id: BlobId) -> PathBuf {
        self.blobs.join(format!(".{id}"))
    }
}
