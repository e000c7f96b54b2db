//! The files below a folder, without those that ignore files name.

mod ignored;

use std::ffi::{OsStr, OsString};
use std::num::NonZero;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::place::{EntryKind, Folder, OpenError, Place};
use crate::{Cancellation, Context, Failure};
use ignored::Ignored;

/// The regular files below a folder, with the folder held open.
#[derive(Debug)]
pub(crate) struct Walk {
    pub(crate) folder: Folder,
    /// Where the folder is.
    pub(crate) base: PathBuf,
    /// Paths from the folder, in order.
    pub(crate) files: Vec<PathBuf>,
    /// Folders that could not be listed.
    pub(crate) unreadable: u64,
}

impl Walk {
    /// Lists the regular files below a folder; without `.git` and what ignore files name. The user's own ignore file
    /// is not looked at, so that the result depends on the folder alone, on its repository and the workspace. Links
    /// are not followed.
    ///
    /// # Errors
    /// Where it is no folder, is cancelled or holds more than [`MOST_FILES`].
    pub(crate) fn below(context: &Context, place: &Place) -> Result<Self, Failure> {
        let shown = context.shown(place.path());
        let failed = |error: OpenError| Failure::new(format!("`{shown}` cannot be searched: {error}"));
        let folder = place.open_folder().map_err(failed)?;
        let ignored = Ignored::above(context, place);
        let crew = Crew {
            folder: &folder,
            base: place.path(),
            cancellation: &context.cancellation,
            state: Mutex::new(State { jobs: vec![Job { names: Vec::new(), ignored }], busy: 0, files: 0 }),
            ready: Condvar::new(),
        };
        let parts = on_threads(most_threads(), || crew.work());
        if context.cancellation.is_cancelled() {
            return Err(Failure::new("cancelled by the user"));
        }
        if crew.lock().files > MOST_FILES {
            return Err(Failure::new(format!(
                "more than {MOST_FILES} files lie below `{shown}`: name a narrower path"
            )));
        }
        let unreadable = parts.iter().map(|part| part.unreadable).sum();
        let mut files: Vec<Vec<u8>> = parts.into_iter().flat_map(|part| part.files).collect();
        files.sort_unstable();
        let files = files.into_iter().map(path_of).collect();
        Ok(Self { folder, base: place.path().to_owned(), files, unreadable })
    }
}

/// Does the same work on several threads, and gives what each of them gives.
pub(crate) fn on_threads<T: Send>(threads: usize, work: impl Fn() -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..threads).map(|_| scope.spawn(&work)).collect();
        let mut parts = vec![work()];
        // A panic goes on in the thread of the call, where it becomes an error result.
        let joined = helpers.into_iter().map(|helper| helper.join());
        parts.extend(joined.map(|part| part.unwrap_or_else(|panic| std::panic::resume_unwind(panic))));
        parts
    })
}

/// Threads for work on many files.
pub(crate) fn most_threads() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get).min(MOST_THREADS)
}

/// What the threads of a walk share.
struct Crew<'a> {
    folder: &'a Folder,
    base: &'a Path,
    cancellation: &'a Cancellation,
    state: Mutex<State>,
    ready: Condvar,
}

struct State {
    jobs: Vec<Job>,
    /// Threads that may yet find jobs.
    busy: usize,
    files: usize,
}

/// A folder to be listed.
struct Job {
    /// Its path from the base, with NUL between the names: so paths sort by their names.
    names: Vec<u8>,
    ignored: Option<Arc<Ignored>>,
}

/// What one thread has found.
#[derive(Default)]
struct Part {
    files: Vec<Vec<u8>>,
    unreadable: u64,
}

impl Crew<'_> {
    fn work(&self) -> Part {
        let mut part = Part::default();
        while let Some(job) = self.next() {
            let busy = Busy(self);
            let before = part.files.len();
            let jobs = self.list(&job, &mut part);
            let mut state = self.lock();
            state.files += part.files.len() - before;
            if state.files <= MOST_FILES {
                state.jobs.extend(jobs);
            }
            drop(state);
            drop(busy);
        }
        part
    }

    /// The next folder; `None` once there is none left and nobody is at work who could find one.
    fn next(&self) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if self.cancellation.is_cancelled() {
                state.jobs.clear();
            }
            if let Some(job) = state.jobs.pop() {
                state.busy += 1;
                return Some(job);
            }
            if state.busy == 0 {
                return None;
            }
            state = self.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Lists a folder: its files go to `part`, its folders are given back.
    fn list(&self, job: &Job, part: &mut Part) -> Vec<Job> {
        let path = path_of(job.names.clone());
        let listed = if job.names.is_empty() {
            self.folder.entries().map(|entries| (None, entries))
        } else {
            self.folder
                .open_folder(&path)
                .and_then(|folder| folder.entries().map(|entries| (Some(folder), entries)))
        };
        let Ok((folder, entries)) = listed else {
            part.unreadable += 1;
            return Vec::new();
        };
        let folder = folder.as_ref().unwrap_or(self.folder);
        let here = self.base.join(path);
        let ignored = Ignored::extend(job.ignored.clone(), folder, &here, &entries);
        let mut jobs = Vec::new();
        for entry in entries {
            let is_folder = entry.kind == EntryKind::Folder;
            if !is_folder && entry.kind != EntryKind::File || entry.name == OsStr::new(".git") {
                continue;
            }
            if ignored.as_ref().is_some_and(|ignored| ignored.names(&here.join(&entry.name), is_folder)) {
                continue;
            }
            let names = joined(&job.names, &entry.name);
            if is_folder {
                jobs.push(Job { names, ignored: ignored.clone() });
            } else {
                part.files.push(names);
            }
        }
        jobs
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Marks a thread as at work; also a panic ends that, or the others would wait for ever.
struct Busy<'a>(&'a Crew<'a>);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.lock().busy -= 1;
        self.0.ready.notify_all();
    }
}

fn joined(names: &[u8], name: &OsString) -> Vec<u8> {
    let mut out = Vec::with_capacity(names.len() + 1 + name.len());
    if !names.is_empty() {
        out.extend_from_slice(names);
        out.push(0);
    }
    out.extend_from_slice(name.as_bytes());
    out
}

fn path_of(mut names: Vec<u8>) -> PathBuf {
    for byte in &mut names {
        if *byte == 0 {
            *byte = b'/';
        }
    }
    PathBuf::from(OsString::from_vec(names))
}

const MOST_THREADS: usize = 8;

/// Files that a walk lists at most.
pub(crate) const MOST_FILES: usize = 2_000_000;
