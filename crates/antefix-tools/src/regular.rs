//! Opens regular files for the tools, and says in words for the model why one cannot be opened.

use std::fs::{File, Metadata};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::place::{OpenError, Place};
use crate::{Context, Failure, FileFact, Scope, read};

/// A regular file that was opened for reading.
#[derive(Debug)]
pub(crate) struct Regular {
    pub(crate) place: Place,
    pub(crate) file: File,
    pub(crate) metadata: Metadata,
}

impl Regular {
    /// Opens a file.
    ///
    /// # Errors
    /// Where it is not there (with the nearest names), is a folder (with its entries), is something else, or
    /// cannot be opened.
    pub(crate) fn open(context: &Context, place: Place) -> Result<Self, Failure> {
        let shown = context.shown(place.path());
        let failed = |error: std::io::Error| Failure::new(format!("`{shown}` cannot be read: {error}"));
        let file = place.open_file().map_err(|error| match error {
            OpenError::Missing => read::missing(context, &place),
            OpenError::Folder => read::folder(context, &place),
            OpenError::Special(kind) => Failure::new(format!("`{shown}` is {kind}, not a file")),
            OpenError::Link => read::link(context, &place),
            OpenError::Io(error) => failed(error),
        })?;
        let metadata = file.metadata().map_err(failed)?;
        Ok(Self { place, file, metadata })
    }

    /// The absolute path, symbolic links resolved.
    pub(crate) fn path(&self) -> &Path {
        self.place.path()
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
        fact(self.path().to_owned(), &self.metadata, digest, scope)
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
        lines: None,
    }
}

/// When the file was last modified, in nanoseconds since the epoch.
pub(crate) fn mtime_ns(metadata: &Metadata) -> i64 {
    metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec())
}
