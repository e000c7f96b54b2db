mod real;

pub use real::RealDisk;

use std::fmt::Debug;
use std::io;
use std::path::Path;

/// The operations on files that a store is built from, so that a test can put a failing disk below it.
pub trait Disk: Clone {
    /// An open file. A lock taken through it ends with it.
    type File: Debug;

    /// Makes one folder that only its owner may enter.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`], [`io::ErrorKind::NotFound`] without a parent, or what the system says.
    fn create_dir(&self, path: &Path) -> io::Result<()>;

    /// Opens a file for reading and writing, and makes it, for its owner only, when it is missing.
    ///
    /// # Errors
    /// What the system says.
    fn create(&self, path: &Path) -> io::Result<Self::File>;

    /// Opens an existing file for reading and writing.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`], or what the system says.
    fn open(&self, path: &Path) -> io::Result<Self::File>;

    /// Takes the exclusive lock of an open file without waiting; `false` when someone else holds it.
    ///
    /// # Errors
    /// What the system says.
    fn lock(&self, file: &Self::File) -> io::Result<bool>;

    /// Writes all of `bytes` at `offset`.
    ///
    /// # Errors
    /// What the system says; part of the bytes may then be written.
    fn write_at(&self, file: &Self::File, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Cuts a file, or extends it with zeros.
    ///
    /// # Errors
    /// What the system says.
    fn truncate(&self, file: &Self::File, length: u64) -> io::Result<()>;

    /// Makes a file's content and size durable. `point` names the place in the code that asks for it.
    ///
    /// # Errors
    /// What the system says; what is on the disk is then unknown, and stays so if asked again.
    fn sync(&self, file: &Self::File, point: SyncPoint) -> io::Result<()>;

    /// Makes the entries of a folder durable.
    ///
    /// # Errors
    /// As [`Disk::sync`].
    fn sync_dir(&self, path: &Path, point: SyncPoint) -> io::Result<()>;

    /// Renames a file over another.
    ///
    /// # Errors
    /// What the system says.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Reads a whole file.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`], or what the system says.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// Reads at most `limit` bytes from the start of a file.
    ///
    /// # Errors
    /// As [`Disk::read`].
    fn read_start(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>>;

    /// Names in a folder, sorted; those that are no UTF-8 are left out.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotFound`], or what the system says.
    fn list(&self, path: &Path) -> io::Result<Vec<String>>;
}

/// The places in the store that wait for the disk. A test leaves out each of them in turn and has to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SyncPoint {
    /// The transcript's new lines, before the index speaks of them.
    Transcript,
    /// The index, before a durable append returns.
    Index,
    /// The entries of a session's folder, before anything is appended.
    SessionDir,
    /// The session's entry among the sessions, before anything is appended.
    SessionsDir,
    /// The entry of the folder of all sessions, before anything is appended.
    StateDir,
    /// A blob's content, before it gets its name.
    Blob,
    /// A blob's name, before a record can refer to it.
    BlobDir,
}

impl SyncPoint {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Transcript,
        Self::Index,
        Self::SessionDir,
        Self::SessionsDir,
        Self::StateDir,
        Self::Blob,
        Self::BlobDir,
    ];
}
