//! Writes a file as a whole or not at all.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::regular::{Regular, mtime_ns};

/// Puts a new content in the place of a file that was read before, with the mode it has; an error if the file
/// has been changed or replaced in between.
pub(super) fn replace(regular: &Regular, content: &[u8]) -> io::Result<Metadata> {
    let draft = Draft::write(&regular.path, content, Some(regular.metadata.permissions()))?;
    let now = fs::symlink_metadata(&regular.path)?;
    let state = |metadata: &Metadata| (metadata.dev(), metadata.ino(), metadata.len(), mtime_ns(metadata));
    if state(&now) != state(&regular.metadata) {
        return Err(io::Error::other("it was changed by someone else at the same time; read it again first"));
    }
    fs::rename(&draft.path, &regular.path)?;
    sync_folder(&regular.path)?;
    draft.file.metadata()
}

/// Makes a new file, with the folders it needs; an error if there is one by now.
pub(super) fn create(path: &Path, content: &[u8]) -> io::Result<Metadata> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let draft = Draft::write(path, content, None)?;
    // Unlike a rename, a link does not replace what is there.
    fs::hard_link(&draft.path, path)?;
    sync_folder(path)?;
    draft.file.metadata()
}

/// A file beside the one to be written, removed if it does not take its place.
struct Draft {
    path: PathBuf,
    file: File,
}

impl Draft {
    fn write(target: &Path, content: &[u8], permissions: Option<Permissions>) -> io::Result<Self> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let path = target.with_file_name(format!(".antefix-{}-{number}.tmp", std::process::id()));
        let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        let mut draft = Self { path, file };
        draft.file.write_all(content)?;
        if let Some(permissions) = permissions {
            draft.file.set_permissions(permissions)?;
        }
        draft.file.sync_all()?;
        Ok(draft)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // After a rename there is no file of this name.
        let _ = fs::remove_file(&self.path);
    }
}

/// Makes a new name durable.
fn sync_folder(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Context;

    #[test]
    fn a_file_that_changed_in_between_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let context = Context::new(folder.path(), folder.path().join("spill"));
        for change in ["longer", "same"] {
            fs::write(&path, "here").unwrap();
            let regular = Regular::open(&context, &path).unwrap();
            fs::write(folder.path().join("other"), change).unwrap();
            fs::rename(folder.path().join("other"), &path).unwrap();
            let error = replace(&regular, b"mine").unwrap_err().to_string();
            assert_eq!(error, "it was changed by someone else at the same time; read it again first");
            assert_eq!(fs::read_to_string(&path).unwrap(), change);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "a draft is left over");
        let regular = Regular::open(&context, &path).unwrap();
        replace(&regular, b"mine").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    }
}
