//! What ignore files say, folder by folder.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::Context;
use crate::place::{Entry, EntryKind, Folder, Place};

/// What the ignore files of a folder say, and those of the folders above it. `.ignore` beats `.gitignore`, which beats
/// a repository's `info/exclude`; of one kind the deeper file wins, and a repository is not bound by the `.gitignore`
/// of a folder above it.
#[derive(Debug)]
pub(super) struct Ignored {
    above: Option<Arc<Ignored>>,
    ignore: Option<Gitignore>,
    gitignore: Option<Gitignore>,
    exclude: Option<Gitignore>,
    is_repository: bool,
}

impl Ignored {
    /// What is said above a folder, up to its repository's folder; outside of one, up to the workspace.
    pub(super) fn above(context: &Context, place: &Place) -> Option<Arc<Self>> {
        let mut folders = Vec::new();
        let mut in_repository = false;
        for path in place.path().ancestors() {
            let Ok(folder) = Place::new(path).open_folder() else { break };
            let entries: Vec<_> = NAMES.iter().filter_map(|name| probe(&folder, name)).collect();
            in_repository = entries.iter().any(|entry| entry.name == ".git");
            folders.push((path, folder, entries));
            if in_repository {
                break;
            }
        }
        if !in_repository {
            folders.retain(|(path, ..)| path.starts_with(&context.cwd));
        }
        let above = folders.iter().filter(|(path, ..)| *path != place.path()).rev();
        above.fold(None, |known, (path, folder, entries)| Self::extend(known, folder, path, entries))
    }

    /// What is said in a folder, given what is said above it.
    pub(super) fn extend(
        above: Option<Arc<Self>>,
        folder: &Folder,
        path: &Path,
        entries: &[Entry],
    ) -> Option<Arc<Self>> {
        let has = |name: &str| entries.iter().find(|entry| entry.name == OsStr::new(name));
        let is_file = |name: &str| has(name).is_some_and(|entry| entry.kind == EntryKind::File);
        let git = has(".git");
        let (ignore, gitignore) = (is_file(".ignore"), is_file(".gitignore"));
        if !ignore && !gitignore && git.is_none() {
            return above;
        }
        let is_repository =
            git.is_some_and(|entry| matches!(entry.kind, EntryKind::Folder | EntryKind::File));
        let rules = |wanted: bool, name: &str| wanted.then(|| rules(folder, path, name)).flatten();
        Some(Arc::new(Self {
            above,
            ignore: rules(ignore, ".ignore"),
            gitignore: rules(gitignore, ".gitignore"),
            exclude: rules(is_repository, ".git/info/exclude"),
            is_repository,
        }))
    }

    /// Whether an absolute path is to be left out.
    pub(super) fn names(&self, path: &Path, is_folder: bool) -> bool {
        let said = |rules: &Option<Gitignore>| {
            let found = rules.as_ref()?.matched(path, is_folder);
            (!found.is_none()).then(|| found.is_ignore())
        };
        let (mut gitignore, mut exclude) = (None, None);
        let mut in_repository = true;
        let mut next = Some(self);
        while let Some(here) = next {
            if let Some(said) = said(&here.ignore) {
                return said;
            }
            if in_repository {
                gitignore = gitignore.or_else(|| said(&here.gitignore));
                exclude = exclude.or_else(|| said(&here.exclude));
            }
            in_repository &= !here.is_repository;
            next = here.above.as_deref();
        }
        gitignore.or(exclude).unwrap_or(false)
    }
}

/// A name in a folder, if it is there.
fn probe(folder: &Folder, name: &str) -> Option<Entry> {
    let relative = Path::new(name);
    let kind = if folder.open_file(relative).is_ok() {
        EntryKind::File
    } else {
        folder.open_folder(relative).is_ok().then_some(EntryKind::Folder)?
    };
    Some(Entry { name: name.into(), kind })
}

/// The rules of an ignore file; what cannot be read says nothing.
fn rules(folder: &Folder, path: &Path, name: &str) -> Option<Gitignore> {
    let mut bytes = Vec::new();
    folder.open_file(Path::new(name)).ok()?.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    let mut builder = GitignoreBuilder::new(path);
    for line in String::from_utf8_lossy(&bytes).lines() {
        // A line that is no pattern says nothing.
        drop(builder.add_line(None, line));
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}

const NAMES: [&str; 3] = [".git", ".gitignore", ".ignore"];

/// Bytes of an ignore file that are read.
const MOST_BYTES: u64 = 1 << 20;
