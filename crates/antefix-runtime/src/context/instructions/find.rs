use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A folder that instruction files are looked for in.
#[derive(Debug)]
pub(super) struct Place<'a> {
    pub(super) folder: &'a Path,
    /// What its files must not lead out of; the user's own may lead anywhere.
    pub(super) root: Option<&'a Path>,
}

/// The folders whose instructions hold.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Chain {
    /// The repository's root, links resolved; outside a repository the folder itself.
    pub(super) root: PathBuf,
    /// From the root down to the folder.
    pub(super) folders: Vec<PathBuf>,
    /// Folders off that line, within the root, that hold files the model has seen.
    pub(super) below: BTreeSet<PathBuf>,
}

impl Chain {
    pub(super) fn of(folder: &Path, touched: &[PathBuf]) -> Self {
        let mut folders: Vec<PathBuf> = Vec::new();
        let mut found = false;
        for ancestor in folder.ancestors() {
            folders.push(ancestor.to_owned());
            found = ancestor.join(".git").exists();
            if found {
                break;
            }
        }
        if !found {
            folders.truncate(1);
        }
        folders.reverse();
        let root = folders.first().map_or(folder, PathBuf::as_path);
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let known: BTreeSet<PathBuf> =
            folders.iter().filter_map(|folder| folder.canonicalize().ok()).collect();
        let mut below = BTreeSet::new();
        for path in touched {
            let within = path.ancestors().skip(1).take_while(|folder| folder.starts_with(&root));
            below.extend(within.filter(|folder| !known.contains(*folder)).map(Path::to_owned));
        }
        Self { root, folders, below }
    }
}

/// The files of `.claude/rules` and its folders, in order of their paths.
pub(super) fn rules(place: &Place<'_>, notes: &mut Vec<String>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(&place.folder.join(".claude/rules"), 0, &mut found);
    found.sort();
    if found.len() > MOST_RULES {
        notes.push(format!(
            "{}: {} of {} rule files were left out",
            place.folder.display(),
            found.len() - MOST_RULES,
            found.len()
        ));
        found.truncate(MOST_RULES);
    }
    found
}

fn collect(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.take(MOST_ENTRIES).filter_map(Result::ok) {
        let path = entry.path();
        // A folder that is a link is left alone: it may lead in a ring.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_folder && depth < DEEPEST {
            collect(&path, depth + 1, found);
        } else if !is_folder && path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// Rule files of one folder.
const MOST_RULES: usize = 48;

/// Entries of a folder that are looked at.
const MOST_ENTRIES: usize = 1_000;

/// How deep folders of rules may be nested.
const DEEPEST: usize = 3;
