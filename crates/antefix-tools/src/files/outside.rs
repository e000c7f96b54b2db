//! What became of the files the model has seen since it saw them.

use std::io::Read as _;
use std::path::PathBuf;
use std::sync::Arc;

use super::{FileFact, FileTable};
use crate::edit;
use crate::place::{OpenError, Place};
use crate::regular::mtime_ns;

/// A file that the model has seen, as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Present {
    /// The absolute path.
    pub path: PathBuf,
    /// How often the model has learned of the file, by its own changes too.
    pub learned: u64,
    /// What is there now.
    pub now: Now,
}

/// What is in the place of a file that the model has seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Now {
    /// What the model knows, whatever the file's times say.
    Same {
        /// blake3 of it, in hex.
        digest: String,
    },
    /// Another content.
    Changed {
        /// blake3 of it, in hex.
        digest: String,
        /// How it differs from what the model knows, in unified form; `None` if the model has not seen all of it, if it is
        /// no text, or if there are too many changes to show.
        diff: Option<String>,
    },
    /// Nothing.
    Gone,
    /// Something else than a file: a folder, a link, a socket.
    Other(&'static str),
}

/// How much is compared and shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// A file with more bytes than this is not looked into.
    pub most_bytes: u64,
    /// Bytes of one file's diff at most.
    pub diff_bytes: usize,
    /// Bytes of all diffs at most; files behind that have none.
    pub all_diff_bytes: usize,
}

impl FileTable {
    /// Looks at every file the model has seen. One that cannot be looked at now, since the system says no or it is too
    /// large, is left out: nothing is known of it. No symbolic link is followed.
    ///
    /// A file whose size and time of change are those that the model saw is not read.
    pub fn present(&self, comparison: Comparison) -> Vec<Present> {
        let seen: Vec<(FileFact, u64)> =
            self.lock().seen.values().map(|seen| (seen.fact.clone(), seen.learned)).collect();
        let mut room = comparison.all_diff_bytes;
        let mut all = Vec::new();
        for (fact, learned) in seen {
            let Some(mut now) = now(&fact, comparison.most_bytes) else { continue };
            if let Looked::Changed { digest, content } = now {
                let known = self.content(&fact.path);
                let diff =
                    known.and_then(|known| difference(&known, &content, comparison.diff_bytes.min(room)));
                room -= diff.as_ref().map_or(0, |diff| diff.len().min(room));
                now = Looked::Known(Now::Changed { digest, diff });
            }
            if let Looked::Known(now) = now {
                all.push(Present { path: fact.path, learned, now });
            }
        }
        all
    }
}

enum Looked {
    Known(Now),
    Changed { digest: String, content: Vec<u8> },
}

/// What is in a file's place; `None` if that cannot be said.
fn now(fact: &FileFact, most_bytes: u64) -> Option<Looked> {
    let mut file = match Place::new(&fact.path).open_file() {
        Ok(file) => file,
        Err(OpenError::Missing) => return Some(Looked::Known(Now::Gone)),
        Err(OpenError::Folder) => return Some(Looked::Known(Now::Other("a folder"))),
        Err(OpenError::Special(kind)) => return Some(Looked::Known(Now::Other(kind))),
        Err(OpenError::Link) => return Some(Looked::Known(Now::Other("a symbolic link"))),
        Err(OpenError::Io(_)) => return None,
    };
    let same = || Looked::Known(Now::Same { digest: fact.digest.clone() });
    let metadata = file.metadata().ok()?;
    if metadata.len() == fact.size && mtime_ns(&metadata) == fact.mtime_ns {
        return Some(same());
    }
    let mut content = Vec::new();
    file.by_ref().take(most_bytes + 1).read_to_end(&mut content).ok()?;
    if content.len() as u64 > most_bytes {
        return None;
    }
    let digest = blake3::hash(&content).to_hex().to_string();
    Some(if digest == fact.digest { same() } else { Looked::Changed { digest, content } })
}

fn difference(known: &Arc<[u8]>, content: &[u8], cap: usize) -> Option<String> {
    let (before, after) = (std::str::from_utf8(known).ok()?, std::str::from_utf8(content).ok()?);
    if cap < LEAST_DIFF || before.contains('\0') || after.contains('\0') {
        return None;
    }
    Some(edit::compared(before, after, cap)).filter(|diff| diff.starts_with("@@"))
}

/// Bytes that a diff must have room for; less says nothing.
const LEAST_DIFF: usize = 200;

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;
    use crate::Scope;
    use crate::regular::fact;

    const COMPARISON: Comparison = Comparison { most_bytes: 1_000, diff_bytes: 400, all_diff_bytes: 500 };

    /// A table that has seen the file as it is, and a clock that has gone on.
    fn seen(path: &Path, text: &str, scope: Scope) -> FileTable {
        std::fs::write(path, text).unwrap();
        let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000);
        std::fs::File::options().write(true).open(path).unwrap().set_modified(old).unwrap();
        let table = FileTable::default();
        look(&table, path, text, scope);
        table
    }

    fn look(table: &FileTable, path: &Path, text: &str, scope: Scope) {
        let metadata = std::fs::metadata(path).unwrap();
        let fact = fact(path.to_owned(), &metadata, blake3::hash(text.as_bytes()), scope);
        if scope == Scope::Range { table.apply(&fact) } else { table.apply_with(&fact, text.as_bytes()) }
    }

    fn digest(text: &str) -> String {
        blake3::hash(text.as_bytes()).to_hex().to_string()
    }

    #[test]
    fn what_became_of_a_file() {
        type Change = fn(&Path);
        let changed = |text: &str, diff: Option<&str>| {
            Some(Now::Changed { digest: digest(text), diff: diff.map(str::to_owned) })
        };
        let same = || Some(Now::Same { digest: digest("a\nb\nc\n") });
        let rows: Vec<(&str, Scope, Change, Option<Now>)> = vec![
            ("nothing", Scope::Whole, |_| {}, same()),
            ("touched", Scope::Whole, |path| std::fs::write(path, "a\nb\nc\n").unwrap(), same()),
            (
                "changed",
                Scope::Whole,
                |path| std::fs::write(path, "a\nB\nc\n").unwrap(),
                changed("a\nB\nc\n", Some("@@ -1,3 +1,3 @@\n a\n-b\n+B\n c")),
            ),
            (
                "changed behind a range",
                Scope::Range,
                |path| std::fs::write(path, "a\nB\nc\n").unwrap(),
                changed("a\nB\nc\n", None),
            ),
            (
                "made anew",
                Scope::Write,
                |path| {
                    std::fs::remove_file(path).unwrap();
                    std::fs::write(path, "a\nb\n").unwrap();
                },
                changed("a\nb\n", Some("@@ -1,3 +1,2 @@\n a\n b\n-c")),
            ),
            (
                "no text any more",
                Scope::Whole,
                |path| std::fs::write(path, "a\0").unwrap(),
                changed("a\0", None),
            ),
            (
                "emptied",
                Scope::Whole,
                |path| std::fs::write(path, "").unwrap(),
                changed("", Some("@@ -1,3 +0,0 @@\n-a\n-b\n-c")),
            ),
            ("deleted", Scope::Whole, |path| std::fs::remove_file(path).unwrap(), Some(Now::Gone)),
            (
                "a folder in its place",
                Scope::Whole,
                |path| {
                    std::fs::remove_file(path).unwrap();
                    std::fs::create_dir(path).unwrap();
                },
                Some(Now::Other("a folder")),
            ),
            (
                "a link in its place",
                Scope::Whole,
                |path| {
                    std::fs::remove_file(path).unwrap();
                    symlink("/etc/passwd", path).unwrap();
                },
                Some(Now::Other("a symbolic link")),
            ),
            ("too large", Scope::Whole, |path| std::fs::write(path, "x".repeat(1_001)).unwrap(), None),
        ];
        for (name, scope, change, expect) in rows {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().canonicalize().unwrap().join("f");
            let table = seen(&path, "a\nb\nc\n", scope);
            change(&path);
            let found = table.present(COMPARISON);
            let expect: Vec<Present> =
                expect.map(|now| Present { path: path.clone(), learned: 1, now }).into_iter().collect();
            assert_eq!(found, expect, "{name}");
        }
    }

    /// Only what changed is shown, with three lines around it, and no more than there is room for.
    #[test]
    fn diffs_are_small() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("f");
        let text = |first: &str, last: &str| {
            let lines: Vec<String> = (1..=40).map(|line| format!("line {line}")).collect();
            lines.join("\n").replacen("line 2\n", first, 1).replacen("line 39\n", last, 1)
        };
        let table = seen(&path, &text("line 2\n", "line 39\n"), Scope::Whole);
        std::fs::write(&path, text("two\n", "")).unwrap();
        let found = table.present(COMPARISON);
        let Now::Changed { diff: Some(diff), .. } = &found[0].now else { panic!("{found:?}") };
        assert_eq!(
            diff,
            "@@ -1,5 +1,5 @@\n line 1\n-line 2\n+two\n line 3\n line 4\n line 5\n@@ -36,5 +36,4 @@\n line 36\n line 37\n line 38\n-line 39\n line 40\n\\ no line end at the end of the file"
        );
        for all_diff_bytes in [0, 199] {
            let found = table.present(Comparison { all_diff_bytes, ..COMPARISON });
            let Now::Changed { diff, .. } = &found[0].now else { panic!("{found:?}") };
            assert_eq!(*diff, None);
        }
    }

    /// What the diff of one file takes of the room for all is not there for the next.
    #[test]
    fn diffs_share_their_room() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (one, two) = (root.join("1"), root.join("2"));
        let table = seen(&one, &"twenty letters long\n".repeat(8), Scope::Whole);
        std::fs::write(&two, "twenty letters long\n".repeat(8)).unwrap();
        look(&table, &two, &"twenty letters long\n".repeat(8), Scope::Whole);
        for path in [&one, &two] {
            std::fs::write(path, "as many, but others.\n".repeat(8)).unwrap();
        }
        let has_diff = |present: &Present| matches!(&present.now, Now::Changed { diff: Some(_), .. });
        let found: Vec<bool> = table.present(COMPARISON).iter().map(has_diff).collect();
        assert_eq!(found, [true, false]);
    }

    /// What the model itself has changed is what it knows; each time counts.
    #[test]
    fn an_own_change_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("f");
        let table = seen(&path, "a\n", Scope::Whole);
        std::fs::write(&path, "b\n").unwrap();
        look(&table, &path, "b\n", Scope::Edit);
        let now = Now::Same { digest: digest("b\n") };
        assert_eq!(table.present(COMPARISON), [Present { path, learned: 2, now }]);
    }

    /// A name that is too long is refused to everybody, the superuser included.
    #[test]
    fn what_cannot_be_read_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("f");
        let table = seen(&path, "a\n", Scope::Whole);
        let metadata = std::fs::metadata(&path).unwrap();
        let unreadable = path.with_file_name("x".repeat(300));
        table.apply(&fact(unreadable, &metadata, blake3::hash(b"a\n"), Scope::Whole));
        assert_eq!(table.facts().len(), 2);
        let now = Now::Same { digest: digest("a\n") };
        assert_eq!(table.present(COMPARISON), [Present { path, learned: 1, now }]);
    }
}
