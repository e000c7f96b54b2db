//! Where transcripts live: an append-only store per session, with the files of the default one.
//!
//! What is appended [`Durability::Durable`] survives a power loss; what is appended [`Durability::Buffered`]
//! survives the end of the process. `docs/formats/store.md` draws the files and the order of writes.

mod blob;
mod disk;
mod error;
mod file_store;
mod index;
mod layout;
mod sessions;

pub use antefix_session::line::{Chain, Head};
pub use blob::BlobId;
pub use disk::{Disk, RealDisk, SyncPoint};
pub use error::{AppendError, StoreError};
pub use file_store::FileStore;
pub use layout::{SessionId, SessionIdError};
pub use sessions::{Inspection, Opened, Sessions, Summary, Unfinished};

/// One session's transcript and blobs, open for writing.
pub trait TranscriptStore {
    /// The end of the transcript.
    fn head(&self) -> Head;

    /// Appends one line per object, all of them or none, and returns the new head.
    ///
    /// An object is a compact JSON object without its `chain` member. Without objects, a durable append makes
    /// what was appended before durable.
    ///
    /// # Errors
    /// [`AppendError::Conflict`] when `expected` is not the head. After any error the objects count as not
    /// appended and nothing may be sent that relies on them; [`AppendError::Poisoned`] and those that say so
    /// end the use of this store.
    fn append(
        &mut self,
        expected: Head,
        objects: &[Vec<u8>],
        durability: Durability,
    ) -> Result<Head, AppendError>;

    /// Keeps `content` under its digest; durable on return, and free if it was there already.
    ///
    /// # Errors
    /// [`StoreError`] when the content could not be made durable; no record may then refer to it.
    fn put_blob(&mut self, content: &[u8]) -> Result<BlobId, StoreError>;

    /// Reads a blob and checks its digest.
    ///
    /// # Errors
    /// [`StoreError`] when it is missing, unreadable or damaged.
    fn blob(&self, id: BlobId) -> Result<Vec<u8>, StoreError>;
}

/// What an append has to survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// The end of this process, however it comes.
    Buffered,
    /// A power loss as well, together with all that was appended before. Costs two fsyncs.
    Durable {
        /// The time, in milliseconds since 1970, that the index gives as the session's last use.
        at_ms: u64,
    },
}
