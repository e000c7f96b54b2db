use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::folder::{Entries, is_absent};

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

/// Rule files of a folder.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Rules {
    /// In order of their paths.
    pub(super) files: Vec<PathBuf>,
    /// There may be more: a folder could not be read, or too much is there.
    pub(super) is_cut_short: bool,
    /// What was left out, and why.
    pub(super) notes: Vec<String>,
    /// Entries that were looked at.
    looked: usize,
}

impl Rules {
    /// The files of `.claude/rules` and its folders.
    pub(super) fn of(place: &Place<'_>) -> Self {
        let mut rules = Self::default();
        rules.collect(&place.folder.join(".claude/rules"), 0);
        if rules.files.len() > MOST_RULES {
            let (left_out, all) = (rules.files.len() - MOST_RULES, rules.files.len());
            rules.leave(place.folder, &format!("has too many rule files: {left_out} of {all} were left out"));
            rules.files.truncate(MOST_RULES);
        }
        rules
    }

    fn collect(&mut self, folder: &Path, depth: usize) {
        let entries = match Entries::of(folder, MOST_ENTRIES.saturating_sub(self.looked)) {
            Ok(entries) => entries,
            Err(error) if is_absent(&error) => return,
            Err(error) => return self.leave(folder, &format!("could not be read: {error}")),
        };
        if let Some(error) = &entries.problem {
            self.leave(folder, &format!("could not be read whole: {error}"));
        }
        self.looked += entries.names.len();
        if entries.is_cut {
            let why = format!(
                "was left out in part: of folders of rules no more than {MOST_ENTRIES} entries are looked at"
            );
            self.leave(folder, &why);
        }
        for name in entries.names {
            let path = folder.join(name);
            // A folder that is a link is left alone: it may lead in a ring.
            let is_folder = path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
            if is_folder && depth < DEEPEST {
                self.collect(&path, depth + 1);
            } else if is_folder {
                let why =
                    format!("was left out: folders of rules are looked into no more than {DEEPEST} deep");
                self.leave(&path, &why);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                self.files.push(path);
            }
        }
    }

    fn leave(&mut self, path: &Path, why: &str) {
        self.notes.push(format!("{} {why}", path.display()));
        self.is_cut_short = true;
    }
}

/// Rule files of one folder.
const MOST_RULES: usize = 48;

/// Entries of `.claude/rules` and its folders that are looked at.
const MOST_ENTRIES: usize = 1_000;

/// How deep folders of rules may be nested.
const DEEPEST: usize = 3;
