//! Opens regular files only: a FIFO or a device could block for ever.

use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::{Context, Failure, FileFact, Scope, read};

/// A regular file that was opened for reading.
#[derive(Debug)]
pub(crate) struct Regular {
    /// The absolute path, symbolic links resolved.
    pub(crate) path: PathBuf,
    pub(crate) file: File,
    pub(crate) metadata: Metadata,
}

impl Regular {
    /// Opens the file at an absolute path.
    ///
    /// # Errors
    /// Where it is not there (with the nearest names), is a folder (with its entries), is something else, or
    /// cannot be opened.
    pub(crate) fn open(context: &Context, path: &Path) -> Result<Self, Failure> {
        let shown = context.shown(path);
        let failed = |error: std::io::Error| match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => read::missing(context, path),
            _ => Failure::new(format!("`{shown}` cannot be read: {error}")),
        };
        let path = path.canonicalize().map_err(failed)?;
        let metadata = path.metadata().map_err(failed)?;
        if metadata.is_dir() {
            return Err(read::folder(context, &path));
        }
        if !metadata.is_file() {
            let kind = kind_name(metadata.file_type());
            return Err(Failure::new(format!("`{shown}` is {kind}, not a file")));
        }
        // Between the look and the opening, the file may have become a FIFO: opening must not wait either.
        let file = open_quietly(&path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        Ok(Self { path, file, metadata })
    }

    /// The content; of a longer file, `most` bytes and one more.
    pub(crate) fn read(&mut self, most: u64, shown: &str) -> Result<Vec<u8>, Failure> {
        let mut content = Vec::new();
        let read = self.file.by_ref().take(most + 1).read_to_end(&mut content);
        read.map_err(|error| Failure::new(format!("`{shown}` cannot be read: {error}")))?;
        Ok(content)
    }

    /// The fact that the model has seen this file with that content.
    pub(crate) fn fact(&self, digest: blake3::Hash, scope: Scope) -> FileFact {
        fact(self.path.clone(), &self.metadata, digest, scope)
    }
}

/// The fact that the model has seen the file of a path with that content.
pub(crate) fn fact(path: PathBuf, metadata: &Metadata, digest: blake3::Hash, scope: Scope) -> FileFact {
    FileFact {
        path,
        digest: digest.to_hex().to_string(),
        size: metadata.len(),
        mtime_ns: mtime_ns(metadata),
        scope,
    }
}

/// When the file was last modified, in nanoseconds since the epoch.
pub(crate) fn mtime_ns(metadata: &Metadata) -> i64 {
    metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec())
}

fn kind_name(kind: FileType) -> &'static str {
    if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

/// Opens a file for reading, without waiting; an error if it is not a regular file.
pub(crate) fn open_quietly(path: &Path) -> std::io::Result<File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(std::io::Error::other("not a regular file")) }
}
