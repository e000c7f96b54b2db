//! The files the model has seen, by path.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Something the model learned about a file, with the state the file was in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFact {
    /// The absolute path, symbolic links resolved.
    pub path: PathBuf,
    /// blake3 of the whole file, in hex, whatever part of it was shown.
    pub digest: String,
    /// The file's size in bytes.
    pub size: u64,
    /// When the file was last modified, in nanoseconds since the epoch.
    pub mtime_ns: i64,
    /// How much of it the model has seen.
    pub scope: Scope,
}

/// How much of a file the model has seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// All of it, uncut.
    Whole,
    /// A part of it.
    Range,
    /// A change made by the model itself.
    Edit,
    /// All of it, as the model itself has written it.
    Write,
}

impl Scope {
    const ALL: [Self; 4] = [Self::Whole, Self::Range, Self::Edit, Self::Write];

    /// The name in stored facts: `whole`, `range`, `edit` or `write`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Range => "range",
            Self::Edit => "edit",
            Self::Write => "write",
        }
    }

    /// Reads a name as [`Scope::name`] writes it.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.name() == name)
    }
}

/// The files the model has seen, by path: the newest fact of each. Derived from the facts of a session and
/// rebuilt by applying them again in order.
#[derive(Debug, Default)]
pub struct FileTable {
    seen: Mutex<BTreeMap<PathBuf, FileFact>>,
}

impl FileTable {
    /// Takes in a fact; the newest of a path wins.
    pub fn apply(&self, fact: &FileFact) {
        self.lock().insert(fact.path.clone(), fact.clone());
    }

    /// The newest fact about the file at an absolute path with symbolic links resolved.
    pub fn get(&self, path: &Path) -> Option<FileFact> {
        self.lock().get(path).cloned()
    }

    /// All facts, by path.
    pub fn facts(&self) -> Vec<FileFact> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, FileFact>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn applying_the_facts_again_gives_the_same_table() {
        let fact = |path: &str, digest: &str, scope| FileFact {
            path: path.into(),
            digest: digest.to_owned(),
            size: 1,
            mtime_ns: 2,
            scope,
        };
        let facts =
            [fact("/b", "1", Scope::Whole), fact("/a", "2", Scope::Range), fact("/b", "3", Scope::Edit)];
        let table = FileTable::default();
        for fact in &facts {
            table.apply(fact);
        }
        assert_eq!(table.facts(), [facts[1].clone(), facts[2].clone()]);
        assert_eq!(table.get(Path::new("/b")), Some(facts[2].clone()));
        assert_eq!(table.get(Path::new("/c")), None);
        let again = FileTable::default();
        for fact in table.facts() {
            again.apply(&fact);
        }
        assert_eq!(again.facts(), table.facts());
    }

    #[test]
    fn scopes_have_names() {
        for scope in Scope::ALL {
            assert_eq!(Scope::from_name(scope.name()), Some(scope));
        }
        assert_eq!(Scope::from_name("other"), None);
    }
}
