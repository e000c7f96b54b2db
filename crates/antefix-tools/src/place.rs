//! Opens what a call was allowed to touch, and nothing else.
//!
//! A path is resolved once, by [`Tool::access`](crate::Tool::access), and that is what the permissions judge. The
//! call then opens this very path, and no symbolic link on the way to it is followed: whatever takes the place of a
//! folder or a file in between is refused. Every file tool goes through here; what it gets is an open handle, and
//! further names are opened beneath that.
//!
//! What this does not see: a hard link is the file itself under another name, so a hard link in the workspace to a
//! file elsewhere can be read (writing replaces the name and leaves the other file alone), and so are bind mounts.

mod folder;

use std::fs::File;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;

use crate::{Access, Context, Failure, paths};

pub use folder::{Entry, EntryKind, Folder};

/// An absolute path without symbolic links, `.` and `..` that a call may touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    path: PathBuf,
}

/// What a call wants of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To read the file, or what lies below the folder.
    Read,
    /// To write the file.
    Write,
}

/// Why something could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is nothing of that name.
    #[error("it is not there")]
    Missing,
    /// It is a folder where a file was wanted.
    #[error("it is a folder")]
    Folder,
    /// It is neither a file nor a folder, or no file on a disk.
    #[error("it is {0}, not a file")]
    Special(&'static str),
    /// There is a symbolic link on the way.
    #[error("a symbolic link took its place while the call was decided upon; call again")]
    Link,
    /// The system says no.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl Place {
    /// Takes a path that was resolved by the caller. Links in it will not be followed.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a regular file for reading, without ever waiting.
    ///
    /// # Errors
    /// [`OpenError`], also for FIFOs, sockets, devices and files that the kernel makes up, such as those in `/proc`.
    pub fn open_file(&self) -> Result<File, OpenError> {
        Folder::root()?.open_file(self.below_root())
    }

    /// Opens a folder.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open_folder(&self) -> Result<Folder, OpenError> {
        Folder::root()?.open_folder(self.below_root())
    }

    /// Opens the folder that holds the place.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open_parent(&self) -> Result<Folder, OpenError> {
        Self::new(self.path.parent().unwrap_or(&self.path)).open_folder()
    }

    /// Whether nothing has the name, not even a link to nowhere.
    pub fn is_vacant(&self) -> bool {
        let entry = self.open_parent().map(|folder| {
            let name = self.path.file_name().unwrap_or_default();
            rustix::fs::statat(folder.handle(), name, AtFlags::SYMLINK_NOFOLLOW).map(drop)
        });
        matches!(entry, Err(OpenError::Missing) | Ok(Err(Errno::NOENT)))
    }

    /// Opens the folder that holds the place, and makes it, with the folders above it, where it is not there.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn make_parent(&self) -> Result<Folder, OpenError> {
        let mut folder = Folder::root()?;
        for name in self.below_root().parent().into_iter().flat_map(Path::components) {
            let name = Path::new(name.as_os_str());
            folder = match folder.open_folder(name) {
                Err(OpenError::Missing) => {
                    folder.make_folder(name)?;
                    folder.open_folder(name)?
                }
                other => other?,
            };
        }
        Ok(folder)
    }

    fn below_root(&self) -> &Path {
        self.path.strip_prefix("/").unwrap_or(&self.path)
    }
}

impl Context {
    /// Where a path of a call leads, if the call may go there: what was decided upon, or without a decision the
    /// workspace and, to read, the folders that may be read like it.
    ///
    /// # Errors
    /// Where it leads elsewhere.
    pub fn place(&self, path: &str, purpose: Purpose) -> Result<Place, Failure> {
        if path.contains('\0') {
            let shown = path.replace('\0', "\u{fffd}");
            return Err(Failure::new(format!("`{shown}` cannot be a path: it has a NUL in it")));
        }
        let resolved = match (self.admitted(), purpose) {
            (Some(Access::Writes(path)), _) | (Some(Access::Reads(path)), Purpose::Read) => path.clone(),
            _ => self.inside(path, purpose)?,
        };
        Ok(Place::new(resolved))
    }

    fn inside(&self, path: &str, purpose: Purpose) -> Result<PathBuf, Failure> {
        let resolved = paths::resolve(&self.absolute(path));
        if resolved.starts_with(&self.cwd) || purpose == Purpose::Read && self.is_readable(&resolved) {
            return Ok(resolved);
        }
        Err(Failure::new(format!("`{}` lies outside the workspace", self.shown(&resolved))))
    }
}

impl Folder {
    /// The root folder of the system.
    fn root() -> Result<Self, OpenError> {
        let root =
            rustix::fs::openat(CWD, "/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        Self::of(root.map_err(std::io::Error::from)?)
    }
}

impl From<Errno> for OpenError {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT | Errno::NOTDIR => Self::Missing,
            Errno::LOOP | Errno::XDEV => Self::Link,
            Errno::ISDIR => Self::Folder,
            // A socket, or a device without a driver.
            Errno::NXIO | Errno::NODEV => Self::Special("a socket or a device"),
            other => Self::Io(other.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::folder::{beneath, by_steps};
    use super::*;

    /// A kernel without `openat2`, or one that may not use it, must refuse the same.
    #[test]
    fn both_ways_to_open_agree() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/file"), "x").unwrap();
        symlink("a", root.join("folder-link")).unwrap();
        symlink("a/b/file", root.join("file-link")).unwrap();
        let held = Place::new(&root).open_folder().unwrap();
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        for (path, expect) in [
            ("a/b/file", Ok(())),
            ("a/b", Ok(())),
            ("a/./b/file", Ok(())),
            ("", Ok(())),
            (".", Ok(())),
            ("a/none", Err(Errno::NOENT)),
            ("none/file", Err(Errno::NOENT)),
            ("a/b/file/x", Err(Errno::NOTDIR)),
            ("folder-link", Err(Errno::LOOP)),
            ("folder-link/b/file", Err(Errno::LOOP)),
            ("file-link", Err(Errno::LOOP)),
            ("..", Err(Errno::XDEV)),
            ("a/../../x", Err(Errno::XDEV)),
            ("/etc/passwd", Err(Errno::XDEV)),
        ] {
            let path = Path::new(path);
            let one = beneath(held.handle(), path, flags, Mode::empty()).map(drop);
            let other = by_steps(held.handle(), path, flags, Mode::empty()).map(drop);
            assert_eq!((one, other), (expect, expect), "{path:?}");
        }
    }

    #[test]
    fn what_the_kernel_makes_up_is_not_read() {
        for path in [
            "/proc/self/environ",
            "/proc/version",
            "/sys/kernel/mm/transparent_hugepage/enabled",
            "/dev/null",
        ] {
            let error =
                Place::new(fs::canonicalize(path).unwrap_or_else(|_| path.into())).open_file().unwrap_err();
            assert!(matches!(error, OpenError::Special(_) | OpenError::Missing), "{path}: {error}");
        }
        assert!(matches!(Place::new("/proc/self/environ").open_file(), Err(OpenError::Link)));
        assert!(matches!(Place::new("/proc").open_folder(), Err(OpenError::Special(_))));
    }
}
