use std::io;
use std::path::{Path, PathBuf};

use antefix_session::line::{BrokenReason, Head, SealError};

use super::{BlobId, SessionId};

/// Why records were not appended.
#[derive(Debug, thiserror::Error)]
pub enum AppendError {
    /// The caller's view of the transcript is not the newest.
    #[error(
        "the transcript has {found} lines where {expected} were expected, or others", 
        found = found.lines, expected = expected.lines
    )]
    Conflict {
        /// What the caller expected.
        expected: Head,
        /// What the store has.
        found: Head,
    },
    /// A record cannot become a line; nothing was written.
    #[error(transparent)]
    Record(#[from] SealError),
    /// The disk is full. The transcript was cut back to its head; once there is room, append again.
    #[error("no space left on the disk for `{path}`")]
    NoSpace {
        /// The file that could not grow.
        path: PathBuf,
    },
    /// Writing failed. The transcript was cut back to its head.
    #[error("cannot write `{path}`: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// What was written could not be made durable, so what is on the disk is unknown. This store takes no
    /// further records: open the session again.
    #[error("cannot make `{path}` durable: {source}; the session must be opened again")]
    Sync {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// An earlier failure left the files in doubt. Open the session again.
    #[error("the session must be opened again after an earlier failure: {reason}")]
    Poisoned {
        /// The failure.
        reason: String,
    },
}

impl AppendError {
    pub(super) fn write(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        if is_full(&source) { Self::NoSpace { path } } else { Self::Write { path, source } }
    }
}

/// Why a session cannot be made, opened, looked at or given a blob.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no such session.
    #[error("there is no session `{id}`")]
    NotFound {
        /// The session.
        id: SessionId,
    },
    /// The id is taken.
    #[error("there already is a session `{id}`")]
    Exists {
        /// The session.
        id: SessionId,
    },
    /// Another process writes to it.
    #[error("session `{id}` is in use by another process; use `--fork` to go on from a copy")]
    InUse {
        /// The session.
        id: SessionId,
    },
    /// Records that were once durable are gone from the end.
    #[error("session `{id}` has lost records: {found} lines are left of at least {expected}")]
    RecordsMissing {
        /// The session.
        id: SessionId,
        /// Lines the index vouches for.
        expected: u64,
        /// Good lines in the transcript.
        found: u64,
    },
    /// The transcript is a good one, but not the one the index was written for.
    #[error("session `{id}`: line {line} is not the one that was written there")]
    Replaced {
        /// The session.
        id: SessionId,
        /// The line the index vouches for.
        line: u64,
    },
    /// A complete line is not what was written.
    #[error("session `{id}`: line {line}, at byte {offset}: {reason}")]
    Broken {
        /// The session.
        id: SessionId,
        /// Number of the line, from 1.
        line: u64,
        /// Byte at which it starts.
        offset: u64,
        /// What is wrong with it.
        reason: BrokenReason,
    },
    /// There is no such blob.
    #[error("blob `{id}` is missing")]
    BlobMissing {
        /// The blob.
        id: BlobId,
    },
    /// A blob's content has another digest than its name says.
    #[error("blob `{id}` is damaged")]
    BlobDamaged {
        /// The blob.
        id: BlobId,
    },
    /// The disk is full.
    #[error("no space left on the disk for `{path}`")]
    NoSpace {
        /// The file that could not be written.
        path: PathBuf,
    },
    /// An earlier failure left the files in doubt. Open the session again.
    #[error("the session must be opened again after an earlier failure: {reason}")]
    Poisoned {
        /// The failure.
        reason: String,
    },
    /// The system refused.
    #[error("`{path}`: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl StoreError {
    /// Names the path in a system error.
    pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| {
            let path = path.to_owned();
            if is_full(&source) { Self::NoSpace { path } } else { Self::Io { path, source } }
        }
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
