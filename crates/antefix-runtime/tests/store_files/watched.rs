use std::cell::{Cell, RefCell};
use std::fs;
use std::io;
use std::path::Path;
use std::rc::Rc;

use antefix_runtime::store::{Disk, RealDisk, SyncPoint};

/// The machine's file system, noting each wait, and refusing one kind of operation on demand.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    syncs: Rc<RefCell<Vec<SyncPoint>>>,
    refused: Rc<Cell<Option<Refusal>>>,
}

/// What the disk does not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Room for half of it.
    Write,
    Sync(SyncPoint),
}

impl Watched {
    /// Checks the waits since the last look.
    pub fn since(&self, expect: &[SyncPoint]) {
        assert_eq!(self.syncs.take(), expect);
    }

    pub fn refuse(&self, refusal: Option<Refusal>) {
        self.refused.set(refusal);
    }

    fn ask(&self, operation: Refusal) -> io::Result<()> {
        if self.refused.get() == Some(operation) {
            Err(io::Error::other("input/output error"))
        } else {
            Ok(())
        }
    }
}

impl Disk for Watched {
    type File = fs::File;

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        RealDisk.create_dir(path)
    }

    fn create(&self, path: &Path) -> io::Result<fs::File> {
        RealDisk.create(path)
    }

    fn open(&self, path: &Path) -> io::Result<fs::File> {
        RealDisk.open(path)
    }

    fn lock(&self, file: &fs::File) -> io::Result<bool> {
        RealDisk.lock(file)
    }

    fn write_at(&self, file: &fs::File, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if self.ask(Refusal::Write).is_ok() {
            return RealDisk.write_at(file, offset, bytes);
        }
        RealDisk.write_at(file, offset, &bytes[..bytes.len() / 2])?;
        Err(io::ErrorKind::StorageFull.into())
    }

    fn truncate(&self, file: &fs::File, length: u64) -> io::Result<()> {
        RealDisk.truncate(file, length)
    }

    fn sync(&self, file: &fs::File, point: SyncPoint) -> io::Result<()> {
        self.syncs.borrow_mut().push(point);
        self.ask(Refusal::Sync(point))?;
        RealDisk.sync(file, point)
    }

    fn sync_dir(&self, path: &Path, point: SyncPoint) -> io::Result<()> {
        self.syncs.borrow_mut().push(point);
        self.ask(Refusal::Sync(point))?;
        RealDisk.sync_dir(path, point)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        RealDisk.rename(from, to)
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        RealDisk.read(path)
    }

    fn read_start(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
        RealDisk.read_start(path, limit)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        RealDisk.list(path)
    }
}
