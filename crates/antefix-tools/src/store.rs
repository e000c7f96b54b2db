//! Writes a file as a whole or not at all.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, Mode, OFlags, linkat, openat, renameat, statat, unlinkat};

use crate::place::{Folder, OpenError, Place};
use crate::regular::{Regular, mtime_ns};

/// Puts a new content in the place of a file that was read before, with the mode and the owner it has; an error if
/// the file has been changed or replaced in between.
pub(crate) fn replace(regular: &Regular, content: &[u8]) -> io::Result<Metadata> {
    let folder = regular.place.open_parent().map_err(plain)?;
    let name = name_of(&regular.place)?;
    let draft = Draft::write(&folder, content, Some(&regular.metadata))?;
    let now = statat(folder.handle(), name, AtFlags::SYMLINK_NOFOLLOW)?;
    let now_ns = now.st_mtime.saturating_mul(1_000_000_000).saturating_add(now.st_mtime_nsec.cast_signed());
    let before = &regular.metadata;
    if (now.st_dev, now.st_ino, now.st_size.cast_unsigned(), now_ns)
        != (before.dev(), before.ino(), before.len(), mtime_ns(before))
    {
        return Err(io::Error::other("it was changed by someone else at the same time; read it again first"));
    }
    renameat(folder.handle(), &draft.name, folder.handle(), name)?;
    sync_folder(&folder)?;
    draft.file.metadata()
}

/// Makes a new file, with the folders it needs; an error if there is one by now.
pub(crate) fn create(place: &Place, content: &[u8]) -> io::Result<Metadata> {
    let folder = place.make_parent().map_err(plain)?;
    let name = name_of(place)?;
    let draft = Draft::write(&folder, content, None)?;
    // Unlike a rename, a link does not replace what is there.
    linkat(folder.handle(), &draft.name, folder.handle(), name, AtFlags::empty())?;
    sync_folder(&folder)?;
    draft.file.metadata()
}

/// A file beside the one to be written, removed if it does not take its place.
struct Draft<'a> {
    folder: &'a Folder,
    name: OsString,
    file: File,
}

impl<'a> Draft<'a> {
    fn write(folder: &'a Folder, content: &[u8], like: Option<&Metadata>) -> io::Result<Self> {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let name = OsString::from(format!(".antefix-{}-{number}.tmp", std::process::id()));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = File::from(openat(folder.handle(), &name, flags, Mode::from_raw_mode(0o666))?);
        let mut draft = Self { folder, name, file };
        draft.file.write_all(content)?;
        if let Some(like) = like {
            draft.liken(like)?;
        }
        draft.file.sync_all()?;
        Ok(draft)
    }

    /// Gives the draft the owner and the mode of the file it will replace.
    fn liken(&self, like: &Metadata) -> io::Result<()> {
        let own = self.file.metadata()?;
        let mut mode = like.mode();
        let is_other = (own.uid(), own.gid()) != (like.uid(), like.gid());
        if is_other && fchown(&self.file, Some(like.uid()), Some(like.gid())).is_err() {
            // A file that changes its owner does not take along what it may do in another's name.
            mode &= 0o1777;
        }
        self.file.set_permissions(Permissions::from_mode(mode))
    }
}

impl Drop for Draft<'_> {
    fn drop(&mut self) {
        // After a rename there is no file of this name.
        let _ = unlinkat(self.folder.handle(), &self.name, AtFlags::empty());
    }
}

fn name_of(place: &Place) -> io::Result<&OsStr> {
    place.path().file_name().ok_or_else(|| io::Error::other("the path names no file"))
}

fn plain(error: OpenError) -> io::Error {
    match error {
        OpenError::Io(error) => error,
        OpenError::Missing => io::Error::other("its folder is not there"),
        other => io::Error::other(other),
    }
}

/// Makes a new name durable.
fn sync_folder(folder: &Folder) -> io::Result<()> {
    // The handle may be one that names the folder only.
    let folder = openat(folder.handle(), ".", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    Ok(rustix::fs::fsync(folder)?)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::Context;

    #[test]
    fn a_file_that_changed_in_between_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("f");
        let context = Context::new(folder.path(), folder.path().join("spill"));
        let open = || Regular::open(&context, Place::new(&path)).unwrap();
        for change in ["longer", "same"] {
            fs::write(&path, "here").unwrap();
            let regular = open();
            fs::write(folder.path().join("other"), change).unwrap();
            fs::rename(folder.path().join("other"), &path).unwrap();
            let error = replace(&regular, b"mine").unwrap_err().to_string();
            assert_eq!(error, "it was changed by someone else at the same time; read it again first");
            assert_eq!(fs::read_to_string(&path).unwrap(), change);
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "a draft is left over");
        let regular = open();
        replace(&regular, b"mine").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    }
}
