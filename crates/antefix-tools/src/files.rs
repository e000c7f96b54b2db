//! The files the model has seen, by path.

mod contents;
mod outside;
mod replay;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use contents::Contents;

pub use outside::{Comparison, Now, Present};
pub use replay::Step;

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
    /// The first and the last line that were shown, counted from 1; for [`Scope::Range`].
    pub lines: Option<(u64, u64)>,
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

/// The files the model has seen, by path: the newest fact of each, what is known of its content, and where it was
/// shown. Derived from the conversation, and rebuilt from it by [`FileTable::replay`].
///
/// Facts are kept for all files; contents for the 100 files that were touched last, up to 25 MB.
#[derive(Debug, Default)]
pub struct FileTable {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    seen: BTreeMap<PathBuf, Seen>,
    contents: Contents,
    batch: u64,
    /// Facts and contents that were taken in, for tests that count work.
    work: u64,
}

/// What is known of a file.
#[derive(Debug)]
struct Seen {
    fact: FileFact,
    /// The model knows all of it.
    whole: bool,
    /// Where lines of this state were shown.
    shown: Vec<Shown>,
    /// How often the model has learned of it.
    learned: u64,
}

/// Lines that were shown.
#[derive(Debug)]
struct Shown {
    /// `None`: all of them.
    lines: Option<(u64, u64)>,
    batch: u64,
}

impl FileTable {
    /// Takes in a fact; the newest of a path wins.
    pub fn apply(&self, fact: &FileFact) {
        self.lock().apply(fact);
    }

    /// Takes in a fact with the file's content in the state that the fact tells of.
    pub fn apply_with(&self, fact: &FileFact, content: &[u8]) {
        let mut inner = self.lock();
        inner.apply(fact);
        inner.contents.put(&fact.path, &fact.digest, content.into());
    }

    /// The newest fact about the file at an absolute path with symbolic links resolved.
    pub fn get(&self, path: &Path) -> Option<FileFact> {
        self.lock().seen.get(path).map(|seen| seen.fact.clone())
    }

    /// Whether the model knows all of the file in the state of the newest fact.
    pub fn is_whole(&self, path: &Path) -> bool {
        self.lock().seen.get(path).is_some_and(|seen| seen.whole)
    }

    /// The file's content in the state of the newest fact, where it is still kept.
    pub fn content(&self, path: &Path) -> Option<Arc<[u8]>> {
        let mut inner = self.lock();
        let digest = inner.seen.get(path)?.fact.digest.clone();
        inner.contents.get(path, &digest)
    }

    /// All facts, by path.
    pub fn facts(&self) -> Vec<FileFact> {
        self.lock().seen.values().map(|seen| seen.fact.clone()).collect()
    }

    /// Begins a batch of calls: what was shown by the batches before is in the conversation.
    pub fn begin_batch(&self) {
        self.lock().batch += 1;
    }

    /// Whether lines of a file in a state were shown by an earlier batch. That is said once: whoever asks again does
    /// not find them, and is shown them.
    pub(crate) fn take_shown(&self, path: &Path, digest: &str, lines: (u64, u64)) -> bool {
        let mut inner = self.lock();
        let batch = inner.batch;
        let Some(seen) = inner.seen.get_mut(path).filter(|seen| seen.fact.digest == digest) else {
            return false;
        };
        let covers = |shown: &Shown| {
            shown.batch < batch && shown.lines.is_none_or(|own| own.0 <= lines.0 && lines.1 <= own.1)
        };
        let found = seen.shown.iter().any(covers);
        seen.shown.retain(|shown| !covers(shown));
        found
    }

    /// How many facts were taken in and contents worked out so far, a measure of work.
    pub fn work(&self) -> u64 {
        self.lock().work
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn apply(&mut self, fact: &FileFact) {
        self.work += 1;
        let before = self.seen.remove(&fact.path);
        let learned = before.as_ref().map_or(0, |seen| seen.learned) + 1;
        let same = before.as_ref().is_some_and(|seen| seen.fact.digest == fact.digest);
        let whole = match fact.scope {
            Scope::Whole | Scope::Write => true,
            Scope::Range => same && before.as_ref().is_some_and(|seen| seen.whole),
            // What is changed has been seen in the state before; without one the change has made the file.
            Scope::Edit => before.as_ref().is_none_or(|seen| seen.whole),
        };
        let mut shown = before.filter(|_| same).map(|seen| seen.shown).unwrap_or_default();
        match (fact.scope, fact.lines) {
            (Scope::Whole, _) => shown.push(Shown { lines: None, batch: self.batch }),
            (Scope::Range, Some(lines)) => shown.push(Shown { lines: Some(lines), batch: self.batch }),
            _ => {}
        }
        if !same {
            self.contents.remove(&fact.path);
        }
        self.seen.insert(fact.path.clone(), Seen { fact: fact.clone(), whole, shown, learned });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn fact(path: &str, digest: &str, scope: Scope) -> FileFact {
        let (path, digest) = (path.into(), digest.to_owned());
        FileFact { path, digest, size: 1, mtime_ns: 2, scope, lines: None }
    }

    #[test]
    fn applying_the_facts_again_gives_the_same_table() {
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
    fn what_is_known_wholly() {
        use Scope::{Edit, Range, Whole, Write};
        for (history, expect) in [
            (&[("1", Whole)][..], true),
            (&[("1", Range)], false),
            (&[("1", Whole), ("1", Range)], true),
            (&[("1", Whole), ("2", Range)], false),
            (&[("1", Whole), ("2", Edit), ("2", Range)], true),
            (&[("1", Range), ("2", Edit)], false),
            (&[("1", Edit)], true),
            (&[("1", Range), ("2", Write), ("3", Edit)], true),
        ] {
            let table = FileTable::default();
            for (digest, scope) in history {
                table.apply(&fact("/f", digest, *scope));
            }
            assert_eq!(table.is_whole(Path::new("/f")), expect, "{history:?}");
        }
    }

    #[test]
    fn what_was_shown_before_this_batch_is_said_once() {
        let table = FileTable::default();
        let path = Path::new("/f");
        table.apply(&FileFact { lines: Some((5, 9)), ..fact("/f", "1", Scope::Range) });
        assert!(!table.take_shown(path, "1", (5, 9)), "it is in this batch only");
        table.begin_batch();
        for (digest, lines, expect) in [
            ("2", (5, 9), false),
            ("1", (4, 9), false),
            ("1", (5, 10), false),
            ("1", (6, 7), true),
            ("1", (6, 7), false),
        ] {
            assert_eq!(table.take_shown(path, digest, lines), expect, "{digest} {lines:?}");
        }
        table.apply(&fact("/f", "1", Scope::Whole));
        table.begin_batch();
        table.apply(&fact("/f", "2", Scope::Edit));
        assert!(!table.take_shown(path, "2", (1, 1)), "the file was shown as it was before");
    }

    #[test]
    fn scopes_have_names() {
        for scope in Scope::ALL {
            assert_eq!(Scope::from_name(scope.name()), Some(scope));
        }
        assert_eq!(Scope::from_name("other"), None);
    }
}
