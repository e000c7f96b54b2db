//! The files below a folder.

use std::ffi::OsStr;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use ignore::{DirEntry, WalkBuilder, WalkState};

use crate::Cancellation;

/// The regular files below a folder, sorted by path; without `.git` and what ignore files name. The user's
/// own ignore file is not looked at, so that the result depends on the folder alone. Links are not followed.
pub(super) fn files(root: &Path, cancellation: &Cancellation) -> Vec<PathBuf> {
    let (sender, receiver) = mpsc::channel();
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(super::MOST_THREADS);
    let walk = WalkBuilder::new(root)
        .hidden(false)
        .require_git(false)
        .git_global(false)
        .threads(threads)
        .filter_entry(|entry| entry.depth() == 0 || entry.file_name() != OsStr::new(".git"))
        .build_parallel();
    walk.run(|| {
        let sender = sender.clone();
        Box::new(move |entry| {
            if cancellation.is_cancelled() {
                return WalkState::Quit;
            }
            if let Ok(entry) = entry
                && entry.file_type().is_some_and(|kind| kind.is_file())
            {
                // The receiver outlives the walk.
                let _ = sender.send(DirEntry::into_path(entry));
            }
            WalkState::Continue
        })
    });
    drop(sender);
    let mut files: Vec<_> = receiver.into_iter().collect();
    files.sort_unstable();
    files
}
