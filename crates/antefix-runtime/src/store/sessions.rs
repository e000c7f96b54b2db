use std::io;
use std::path::{Path, PathBuf};

use antefix_session::line::{Head, LineError, Reader};
use antefix_wire::json::{Body, Node};

use super::disk::{Disk, RealDisk, SyncPoint};
use super::error::StoreError;
use super::file_store::{FileStore, read_blob};
use super::index::{Entry, Index};
use super::layout::Layout;
use super::{BlobId, SessionId};

/// All sessions below one state directory.
#[derive(Clone, Debug)]
pub struct Sessions<D: Disk = RealDisk> {
    disk: D,
    state: PathBuf,
    sessions: PathBuf,
}

/// A session opened for writing.
#[derive(Debug)]
pub struct Opened<D: Disk = RealDisk> {
    /// Takes the next records.
    pub store: FileStore<D>,
    /// The transcript up to its head, with every line's chain checked.
    pub transcript: Vec<u8>,
    /// What a crash had left at the end, now cut off.
    pub cut: Option<Unfinished>,
    /// The index was missing or unreadable, so nobody can say whether records are missing at the end.
    pub index_lost: bool,
}

/// A session looked at, with nothing changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// The transcript up to its head, with every line's chain checked.
    pub transcript: Vec<u8>,
    /// The end of the last good line.
    pub head: Head,
    /// The head up to which the index vouches for the transcript.
    pub durable: Head,
    /// What stands behind the head; a writer would cut it off.
    pub unfinished: Option<Unfinished>,
    /// The index was missing or unreadable, so nobody can say whether records are missing at the end.
    pub index_lost: bool,
}

/// The rest of an append that a crash cut short, behind everything that was ever reported durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfinished {
    /// Number of bytes.
    pub bytes: u64,
    /// Where it starts and what is wrong there.
    pub reason: LineError,
}

/// One line of a list of sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The session.
    pub id: SessionId,
    /// The object of the transcript's first line.
    pub header: Vec<u8>,
    /// The header's `cwd`.
    pub cwd: Option<String>,
    /// The newest head known to be durable.
    pub head: Head,
    /// Time of the newest durable append, in milliseconds since 1970.
    pub updated_at_ms: u64,
}

impl Sessions<RealDisk> {
    /// The sessions below the directory `state`; it need not exist yet.
    pub fn at(state: impl Into<PathBuf>) -> Self {
        Self::on(RealDisk, state)
    }
}

impl<D: Disk> Sessions<D> {
    /// The sessions below the directory `state` of a disk.
    pub fn on(disk: D, state: impl Into<PathBuf>) -> Self {
        let state = state.into();
        let sessions = state.join("sessions");
        Self { disk, state, sessions }
    }

    /// Makes an empty session and takes its lock. Waits for the disk, so that its files cannot get lost later.
    ///
    /// # Errors
    /// [`StoreError::Exists`], [`StoreError::NoSpace`] or [`StoreError::Io`].
    pub fn create(&self, id: &SessionId) -> Result<FileStore<D>, StoreError> {
        let layout = self.layout(id);
        self.create_dirs(&self.sessions).map_err(StoreError::at(&self.sessions))?;
        self.disk.create_dir(&layout.folder).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => StoreError::Exists { id: id.clone() },
            _ => StoreError::at(&layout.folder)(error),
        })?;
        let transcript = self.disk.create(&layout.transcript).map_err(StoreError::at(&layout.transcript))?;
        self.lock(&layout, &transcript)?;
        let index = self.found(&layout)?;
        Ok(FileStore::new(self.disk.clone(), layout, (transcript, index), Head::START, &Index::Blank))
    }

    /// Opens a session for writing: takes its lock, checks every line, and cuts off what a crash left at the end.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::InUse`]; [`StoreError::Broken`], [`StoreError::RecordsMissing`] and
    /// [`StoreError::Replaced`] when the transcript is not what was written, and then nothing is changed.
    pub fn open(&self, id: &SessionId) -> Result<Opened<D>, StoreError> {
        let layout = self.layout(id);
        let file = match self.disk.open(&layout.transcript) {
            Ok(file) => file,
            Err(error) => return Err(self.absent(&layout, error)),
        };
        self.lock(&layout, &file)?;
        let (index, survey) = self.survey(&layout)?;
        self.mend(&layout, &file, &survey, index.vouched())?;
        let index_file = match &index {
            // Whoever wrote the index had waited for the folders before.
            Index::Known(entry) => self.confirm(&layout, entry)?,
            Index::Blank | Index::Lost => self.found(&layout)?,
        };
        let store = FileStore::new(self.disk.clone(), layout, (file, index_file), survey.head, &index);
        let index_lost = index == Index::Lost;
        Ok(Opened { store, transcript: survey.transcript, cut: survey.unfinished, index_lost })
    }

    /// Looks at a session without changing it and without its lock; a writer may be at work.
    ///
    /// # Errors
    /// As [`Sessions::open`], but never [`StoreError::InUse`].
    pub fn inspect(&self, id: &SessionId) -> Result<Inspection, StoreError> {
        let (index, survey) = self.survey(&self.layout(id))?;
        Ok(Inspection {
            transcript: survey.transcript,
            head: survey.head,
            durable: index.vouched(),
            unfinished: survey.unfinished,
            index_lost: index == Index::Lost,
        })
    }

    /// Whether there is a session of that name, in whatever state.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn exists(&self, id: &SessionId) -> Result<bool, StoreError> {
        let layout = self.layout(id);
        match self.disk.read_start(&layout.transcript, 0) {
            Err(error) if is_absent(&error) => Ok(false),
            read => read.map(|_| true).map_err(StoreError::at(&layout.transcript)),
        }
    }

    /// Reads a blob of a session without its lock.
    ///
    /// # Errors
    /// [`StoreError::BlobMissing`], [`StoreError::BlobDamaged`] or [`StoreError::Io`].
    pub fn blob(&self, session: &SessionId, id: BlobId) -> Result<Vec<u8>, StoreError> {
        read_blob(&self.disk, &self.layout(session), id)
    }

    /// The sessions of the working directory `cwd`, or all of them, the last used first. Reads the first line of
    /// each transcript and its index only; folders without a first line, or that cannot be read, are left out, and so
    /// are sessions of which nothing was ever durable: no request of theirs was made.
    ///
    /// # Errors
    /// [`StoreError::Io`].
    pub fn list(&self, cwd: Option<&str>) -> Result<Vec<Summary>, StoreError> {
        let names = match self.disk.list(&self.sessions) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            names => names.map_err(StoreError::at(&self.sessions))?,
        };
        let mut found = Vec::new();
        for id in names.iter().filter_map(|name| name.parse().ok()) {
            // One session that cannot be read must not hide the others.
            let summary = self.summary(&id).ok().flatten();
            found.extend(summary.filter(|one| cwd.is_none() || one.cwd.as_deref() == cwd));
        }
        found.sort_by(|a, b| (b.updated_at_ms, &b.id).cmp(&(a.updated_at_ms, &a.id)));
        Ok(found)
    }

    fn layout(&self, id: &SessionId) -> Layout {
        Layout::new(&self.sessions, id)
    }

    /// Makes a folder and those above it, and waits for the entry of each new one but the sessions' folder, which
    /// [`Self::found`] waits for in any case.
    fn create_dirs(&self, path: &Path) -> io::Result<()> {
        let made = match (self.disk.create_dir(path), path.parent()) {
            (Err(error), Some(above)) if error.kind() == io::ErrorKind::NotFound => {
                self.create_dirs(above)?;
                self.disk.create_dir(path)
            }
            (made, _) => made,
        };
        match (made, path.parent()) {
            (Err(error), _) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            (Ok(()), Some(above)) if path != self.sessions => self.disk.sync_dir(above, SyncPoint::StateDir),
            (made, _) => made,
        }
    }

    /// Makes what is missing of a session besides its transcript, and waits until no file of it can get lost.
    fn found(&self, layout: &Layout) -> Result<D::File, StoreError> {
        match self.disk.create_dir(&layout.blobs) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(StoreError::at(&layout.blobs)(error));
            }
            _ => {}
        }
        let index = self.disk.create(&layout.index).map_err(StoreError::at(&layout.index))?;
        let wait = |path, point| self.disk.sync_dir(path, point).map_err(StoreError::at(path));
        wait(&layout.folder, SyncPoint::SessionDir)?;
        wait(&self.sessions, SyncPoint::SessionsDir)?;
        wait(&self.state, SyncPoint::StateDir)?;
        Ok(index)
    }

    fn lock(&self, layout: &Layout, file: &D::File) -> Result<(), StoreError> {
        let locked = self.disk.lock(file).map_err(StoreError::at(&layout.transcript))?;
        if locked { Ok(()) } else { Err(StoreError::InUse { id: layout.id.clone() }) }
    }

    /// Reads the index before the transcript: a writer at work may add to both in between, in the other order.
    fn survey(&self, layout: &Layout) -> Result<(Index, Survey), StoreError> {
        let index = Index::read(&self.disk, layout).map_err(StoreError::at(&layout.index))?;
        let transcript = match self.disk.read(&layout.transcript) {
            Ok(bytes) => bytes,
            Err(error) => return Err(self.absent(layout, error)),
        };
        let survey = Survey::of(&layout.id, transcript, &index)?;
        Ok((index, survey))
    }

    /// The error for a transcript that cannot be read.
    fn absent(&self, layout: &Layout, error: io::Error) -> StoreError {
        if error.kind() != io::ErrorKind::NotFound {
            return StoreError::at(&layout.transcript)(error);
        }
        let id = layout.id.clone();
        match Index::read(&self.disk, layout).map(|index| index.vouched().lines) {
            Ok(expected @ 1..) => StoreError::RecordsMissing { id, expected, found: 0 },
            _ => StoreError::NotFound { id },
        }
    }

    /// Cuts off what is unfinished, and writes anew what the index does not vouch for: after a failed fsync of an
    /// earlier process the kernel may hold those pages for clean although the disk never got them.
    fn mend(
        &self,
        layout: &Layout,
        file: &D::File,
        survey: &Survey,
        vouched: Head,
    ) -> Result<(), StoreError> {
        let at = StoreError::at(&layout.transcript);
        let write = || {
            if survey.unfinished.is_some() {
                self.disk.truncate(file, survey.head.bytes)?;
            }
            match survey.transcript.get(vouched.bytes as usize..) {
                Some(tail) if !tail.is_empty() => self.disk.write_at(file, vouched.bytes, tail),
                _ => Ok(()),
            }
        };
        write().map_err(at)
    }

    /// Makes sure that the entry just read is on the disk and not only in the page cache: the next one goes over
    /// the one before it. The bytes are the same, so that nothing is lost if this is cut short.
    fn confirm(&self, layout: &Layout, entry: &Entry) -> Result<D::File, StoreError> {
        let write = || {
            let file = self.disk.open(&layout.index)?;
            entry.write(&self.disk, &file, &layout.id)?;
            Ok(file)
        };
        write().map_err(StoreError::at(&layout.index))
    }

    fn summary(&self, id: &SessionId) -> Result<Option<Summary>, StoreError> {
        let layout = self.layout(id);
        let Some(header) = self.header(&layout)? else { return Ok(None) };
        let index = Index::read(&self.disk, &layout).map_err(StoreError::at(&layout.index))?;
        if index == Index::Blank {
            return Ok(None);
        }
        let cwd = Body::parse(header.clone())
            .ok()
            .and_then(|body| body.root().get("cwd").and_then(Node::str).map(String::from));
        let (head, updated_at_ms) = (index.vouched(), index.updated_at_ms());
        Ok(Some(Summary { id: id.clone(), header, cwd, head, updated_at_ms }))
    }

    /// The first line's object; `None` without a transcript, or without a good first line in it.
    fn header(&self, layout: &Layout) -> Result<Option<Vec<u8>>, StoreError> {
        let mut limit = 4096;
        loop {
            let start = match self.disk.read_start(&layout.transcript, limit) {
                Err(error) if is_absent(&error) => return Ok(None),
                start => start.map_err(StoreError::at(&layout.transcript))?,
            };
            if start.contains(&b'\n') || (start.len() as u64) < limit {
                let line = Reader::new(&start).next().and_then(Result::ok);
                return Ok(line.map(|line| line.object.to_vec()));
            }
            limit *= 4;
        }
    }
}

/// A transcript as it was found, cut in two at its head.
struct Survey {
    transcript: Vec<u8>,
    head: Head,
    unfinished: Option<Unfinished>,
}

impl Survey {
    fn of(id: &SessionId, mut transcript: Vec<u8>, index: &Index) -> Result<Self, StoreError> {
        let (head, error) = read(id, &transcript, index.vouched())?;
        let lost = head.lines < index.vouched().lines;
        let unfinished = match error {
            // A crash can leave anything behind what was durable; before that, and where nobody knows what was
            // durable, a complete line with a wrong digest is damage.
            Some(LineError::Broken { line, offset, reason }) if lost || *index == Index::Lost => {
                return Err(StoreError::Broken { id: id.clone(), line, offset, reason });
            }
            _ if lost => {
                let expected = index.vouched().lines;
                return Err(StoreError::RecordsMissing { id: id.clone(), expected, found: head.lines });
            }
            error => error.map(|reason| Unfinished { bytes: transcript.len() as u64 - head.bytes, reason }),
        };
        transcript.truncate(head.bytes as usize);
        Ok(Self { transcript, head, unfinished })
    }
}

/// Reads all lines, and checks that the vouched head is one of them if they reach that far.
fn read(id: &SessionId, transcript: &[u8], vouched: Head) -> Result<(Head, Option<LineError>), StoreError> {
    let mut reader = Reader::new(transcript);
    while let Some(line) = reader.next() {
        if let Err(error) = line {
            return Ok((reader.head(), Some(error)));
        }
        if reader.head().lines == vouched.lines && reader.head() != vouched {
            return Err(StoreError::Replaced { id: id.clone(), line: vouched.lines });
        }
    }
    Ok((reader.head(), None))
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
