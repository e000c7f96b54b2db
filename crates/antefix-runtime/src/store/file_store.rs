use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use antefix_session::line::{Head, SealError, seal_into};

use super::disk::{Disk, RealDisk, SyncPoint};
use super::error::{AppendError, StoreError};
use super::index::{Entry, Index};
use super::layout::Layout;
use super::{BlobId, Durability, SessionId, TranscriptStore};

/// One session's files, open for writing; made by [`super::Sessions`]. The kernel holds its lock until it is
/// dropped or the process ends.
#[derive(Debug)]
pub struct FileStore<D: Disk = RealDisk> {
    disk: D,
    layout: Layout,
    transcript: D::File,
    index: D::File,
    head: Head,
    /// The head the index vouches for.
    durable: Head,
    next_sequence: u64,
    /// Blobs this process knows to be durable.
    blobs: BTreeSet<BlobId>,
    poisoned: Option<String>,
}

impl<D: Disk> FileStore<D> {
    pub(super) fn new(disk: D, layout: Layout, files: (D::File, D::File), head: Head, index: &Index) -> Self {
        let (transcript, index_file) = files;
        Self {
            disk,
            layout,
            transcript,
            index: index_file,
            head,
            durable: index.vouched(),
            next_sequence: index.next_sequence(),
            blobs: BTreeSet::new(),
            poisoned: None,
        }
    }

    /// The session.
    pub fn id(&self) -> &SessionId {
        &self.layout.id
    }

    /// The session's folder; files that go with the session may be kept beside the store's own.
    pub fn folder(&self) -> &Path {
        &self.layout.folder
    }

    /// The head up to which a power loss takes nothing.
    pub fn durable_head(&self) -> Head {
        self.durable
    }

    fn write(&mut self, lines: &[u8]) -> Result<(), AppendError> {
        if lines.is_empty() {
            return Ok(());
        }
        self.disk.write_at(&self.transcript, self.head.bytes, lines).map_err(|error| {
            self.take_back();
            AppendError::write(&self.layout.transcript, error)
        })
    }

    /// Cuts off what a failed append left behind the head.
    fn take_back(&mut self) {
        if let Err(error) = self.disk.truncate(&self.transcript, self.head.bytes) {
            self.poison(&self.layout.transcript.clone(), &error);
        }
    }

    /// Makes everything up to `head` durable, then the index say so.
    fn settle(&mut self, head: Head, at_ms: u64) -> Result<(), AppendError> {
        if head == self.durable {
            return Ok(());
        }
        if let Err(source) = self.disk.sync(&self.transcript, SyncPoint::Transcript) {
            self.take_back();
            return Err(self.doubt(self.layout.transcript.clone().as_path(), source));
        }
        let entry = Entry { sequence: self.next_sequence, head, updated_at_ms: at_ms };
        if let Err(source) = entry.write(&self.disk, &self.index, &self.layout.id) {
            // The lines stay: the index may speak of them already.
            return Err(self.doubt(self.layout.index.clone().as_path(), source));
        }
        self.next_sequence += 1;
        self.durable = head;
        Ok(())
    }

    fn doubt(&mut self, path: &Path, source: io::Error) -> AppendError {
        self.poison(path, &source);
        AppendError::Sync { path: path.to_owned(), source }
    }

    /// After a failed fsync the kernel may take the pages for clean although they never reached the disk: a
    /// second fsync would succeed without having done anything.
    fn poison(&mut self, path: &Path, error: &io::Error) {
        self.poisoned = Some(format!("`{}`: {error}", path.display()));
    }

    fn write_blob(&self, id: BlobId, content: &[u8]) -> Result<(), StoreError> {
        let unfinished = self.layout.unfinished_blob(id);
        let write = || {
            let file = self.disk.create(&unfinished)?;
            self.disk.write_at(&file, 0, content)?;
            self.disk.sync(&file, SyncPoint::Blob)?;
            self.disk.rename(&unfinished, &self.layout.blob(id))
        };
        write().map_err(StoreError::at(&unfinished))
    }
}

impl<D: Disk> TranscriptStore for FileStore<D> {
    fn head(&self) -> Head {
        self.head
    }

    fn append(
        &mut self,
        expected: Head,
        objects: &[Vec<u8>],
        durability: Durability,
    ) -> Result<Head, AppendError> {
        if let Some(reason) = &self.poisoned {
            return Err(AppendError::Poisoned { reason: reason.clone() });
        }
        if expected != self.head {
            return Err(AppendError::Conflict { expected, found: self.head });
        }
        let (lines, head) = seal_all(self.head, objects)?;
        self.write(&lines)?;
        if let Durability::Durable { at_ms } = durability {
            self.settle(head, at_ms)?;
        }
        self.head = head;
        Ok(head)
    }

    fn put_blob(&mut self, content: &[u8]) -> Result<BlobId, StoreError> {
        if let Some(reason) = &self.poisoned {
            return Err(StoreError::Poisoned { reason: reason.clone() });
        }
        let id = BlobId::of(content);
        if self.blobs.contains(&id) {
            return Ok(id);
        }
        match self.blob(id) {
            Ok(_) => {}
            Err(StoreError::BlobMissing { .. } | StoreError::BlobDamaged { .. }) => {
                self.write_blob(id, content)?;
            }
            Err(error) => return Err(error),
        }
        // A blob found here may owe its name to a process that was killed before this.
        if let Err(error) = self.disk.sync_dir(&self.layout.blobs, SyncPoint::BlobDir) {
            self.poison(&self.layout.blobs.clone(), &error);
            return Err(StoreError::at(&self.layout.blobs)(error));
        }
        self.blobs.insert(id);
        Ok(id)
    }

    fn blob(&self, id: BlobId) -> Result<Vec<u8>, StoreError> {
        read_blob(&self.disk, &self.layout, id)
    }
}

pub(super) fn read_blob<D: Disk>(disk: &D, layout: &Layout, id: BlobId) -> Result<Vec<u8>, StoreError> {
    let path = layout.blob(id);
    let content = disk.read(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => StoreError::BlobMissing { id },
        _ => StoreError::at(&path)(error),
    })?;
    if BlobId::of(&content) == id { Ok(content) } else { Err(StoreError::BlobDamaged { id }) }
}

/// The lines of `objects` behind `head`, and the head after them.
fn seal_all(head: Head, objects: &[Vec<u8>]) -> Result<(Vec<u8>, Head), SealError> {
    let mut lines = Vec::new();
    let mut chain = head.chain;
    for object in objects {
        chain = seal_into(&mut lines, chain, object)?;
    }
    let head =
        Head { chain, lines: head.lines + objects.len() as u64, bytes: head.bytes + lines.len() as u64 };
    Ok((lines, head))
}
