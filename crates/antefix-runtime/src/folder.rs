//! What a folder holds, as far as anybody looks.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::Path;

/// The first entries of a folder, in order of their names.
#[derive(Debug)]
pub(crate) struct Entries {
    /// Their names.
    pub(crate) names: BTreeSet<OsString>,
    /// There are more.
    pub(crate) is_cut: bool,
    /// Why some of them could not be read, so that nobody knows them.
    pub(crate) problem: Option<io::Error>,
}

impl Entries {
    /// The first `most` entries of a folder: the same ones wherever the same are there, in whatever order the system
    /// lists them.
    ///
    /// # Errors
    /// The system's, if the folder cannot be opened.
    pub(crate) fn of(folder: &Path, most: usize) -> io::Result<Self> {
        Ok(Self::first(std::fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())), most))
    }

    fn first(listed: impl Iterator<Item = io::Result<OsString>>, most: usize) -> Self {
        let mut entries = Self { names: BTreeSet::new(), is_cut: false, problem: None };
        for name in listed {
            match name {
                Ok(name) => drop(entries.names.insert(name)),
                Err(error) => {
                    // A listing that fails may fail for ever.
                    entries.problem = Some(error);
                    break;
                }
            }
            if entries.names.len() > most {
                entries.names.pop_last();
                entries.is_cut = true;
            }
        }
        entries
    }
}

/// Whether the system says that something is not there, and not that it cannot be looked at.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which entries counted in a large folder depended on the order in which the system listed them.
    #[test]
    fn the_first_by_name_are_taken_in_whatever_order_they_are_listed() {
        let name = |name: &str| Ok(OsString::from(name));
        let failed = || Err(io::ErrorKind::PermissionDenied.into());
        for (listed, expect, is_cut, has_failed) in [
            (vec![name("b"), name("a")], vec!["a", "b"], false, false),
            (vec![name("d"), name("c"), name("b"), name("a")], vec!["a", "b", "c"], true, false),
            (vec![name("a"), name("b"), name("c"), name("d")], vec!["a", "b", "c"], true, false),
            (vec![name("b"), failed(), name("a")], vec!["b"], false, true),
        ] {
            let entries = Entries::first(listed.into_iter(), 3);
            let names: Vec<_> = entries.names.iter().map(|name| name.to_str().unwrap()).collect();
            assert_eq!((names, entries.is_cut, entries.problem.is_some()), (expect, is_cut, has_failed));
        }
    }

    #[test]
    fn a_folder_is_absent_or_cannot_be_read() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("file"), "").unwrap();
        let long = "x".repeat(300);
        for (name, expect) in [("none", true), ("file", true), ("file/x", true), (&*long, false)] {
            let error = Entries::of(&folder.path().join(name), 1).unwrap_err();
            assert_eq!(is_absent(&error), expect, "{name}");
        }
    }
}
