//! A folder that is held open.

use std::ffi::{CStr, OsStr, OsString};
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags, fstat, fstatfs, openat, openat2, statat,
};
use rustix::io::Errno;

use super::OpenError;

/// A folder that is held open. Names are opened beneath it, and links among them are not followed.
#[derive(Debug)]
pub struct Folder {
    handle: OwnedFd,
    device: u64,
}

/// A name in a folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// The name.
    pub name: OsString,
    /// What has the name.
    pub kind: EntryKind,
}

/// What a name in a folder stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A FIFO, a socket or a device.
    Special,
}

impl Folder {
    /// Takes the handle of a folder.
    pub(super) fn of(handle: OwnedFd) -> Result<Self, OpenError> {
        let device = fstat(&handle)?.st_dev;
        Ok(Self { handle, device })
    }

    /// The handle, to open names beneath it with [`rustix`].
    pub fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }

    /// Opens a regular file beneath the folder for reading, without ever waiting.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open_file(&self, relative: &Path) -> Result<File, OpenError> {
        // Opening a device may do something, so it is looked at before.
        let seen = beneath(self.handle(), relative, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        match FileType::from_raw_mode(fstat(&seen)?.st_mode) {
            FileType::RegularFile => self.open_listed(relative),
            FileType::Directory => Err(OpenError::Folder),
            FileType::Symlink => Err(OpenError::Link),
            kind => Err(OpenError::Special(kind_name(kind))),
        }
    }

    /// Opens a regular file that a listing has named as such; what has come in its place meanwhile is refused, and
    /// does not make the call wait.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open_listed(&self, relative: &Path) -> Result<File, OpenError> {
        let file = beneath(self.handle(), relative, READ, Mode::empty())?;
        let stat = fstat(&file)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {}
            FileType::Directory => return Err(OpenError::Folder),
            kind => return Err(OpenError::Special(kind_name(kind))),
        }
        if stat.st_dev != self.device {
            refuse_made_up(file.as_fd(), "a file that the kernel makes up")?;
        }
        Ok(File::from(file))
    }

    /// Opens a folder beneath the folder.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open_folder(&self, relative: &Path) -> Result<Self, OpenError> {
        let folder = Self::of(beneath(self.handle(), relative, READ | OFlags::DIRECTORY, Mode::empty())?)?;
        if folder.device != self.device {
            refuse_made_up(folder.handle(), "a folder that the kernel makes up")?;
        }
        Ok(folder)
    }

    /// Makes a folder with the mode that the process gives to new ones; fine if it is there.
    pub(super) fn make_folder(&self, name: &Path) -> Result<(), OpenError> {
        match rustix::fs::mkdirat(&self.handle, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// What is in the folder, in no order, without `.` and `..`.
    ///
    /// # Errors
    /// [`OpenError`] where it cannot be listed.
    pub fn entries(&self) -> Result<Vec<Entry>, OpenError> {
        let mut buffer = [MaybeUninit::uninit(); LISTING_BYTES];
        let mut listing = RawDir::new(&self.handle, &mut buffer);
        let mut entries = Vec::new();
        while let Some(entry) = listing.next() {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let kind = self.kind(name, entry.file_type());
            entries.push(Entry { name: OsStr::from_bytes(name.to_bytes()).to_owned(), kind });
        }
        Ok(entries)
    }

    fn kind(&self, name: &CStr, listed: FileType) -> EntryKind {
        let kind = match listed {
            // Some file systems do not say.
            FileType::Unknown => statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_or(FileType::Unknown, |stat| FileType::from_raw_mode(stat.st_mode)),
            kind => kind,
        };
        match kind {
            FileType::RegularFile => EntryKind::File,
            FileType::Directory => EntryKind::Folder,
            FileType::Symlink => EntryKind::Link,
            _ => EntryKind::Special,
        }
    }
}

/// Opens something beneath a folder; a link on the way or at the end is an error, and so is a way out.
pub(super) fn beneath(
    folder: BorrowedFd<'_>,
    relative: &Path,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let path = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
    loop {
        match openat2(folder, path, flags, mode, resolve) {
            Err(Errno::INTR) => {}
            // Before Linux 5.6, and under filters that do not know it.
            Err(Errno::NOSYS | Errno::PERM) => return by_steps(folder, path, flags, mode),
            result => return result,
        }
    }
}

/// Does what [`beneath`] does, one name after the other.
pub(super) fn by_steps(
    folder: BorrowedFd<'_>,
    relative: &Path,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    let mut held: Option<OwnedFd> = None;
    let mut names = relative.components().peekable();
    if names.peek().is_none() {
        return openat(folder, ".", flags, mode);
    }
    while let Some(name) = names.next() {
        let name = match name {
            Component::Normal(name) => name,
            Component::CurDir => OsStr::new("."),
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return Err(Errno::XDEV),
        };
        let at = held.as_ref().map_or(folder, OwnedFd::as_fd);
        let is_last = names.peek().is_none();
        let own = if is_last { flags } else { OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC };
        let next = openat(at, name, own | OFlags::NOFOLLOW, mode).map_err(|error| {
            let is_link = |stat: rustix::fs::Stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink;
            // Of a link where a folder is wanted, the system says that it is none.
            let found = statat(at, name, AtFlags::SYMLINK_NOFOLLOW);
            if error == Errno::NOTDIR && found.is_ok_and(is_link) { Errno::LOOP } else { error }
        })?;
        held = Some(next);
    }
    held.ok_or(Errno::NOENT)
}

/// Refuses file systems whose files are not on a disk: reading them may wait for ever, or tell of processes.
fn refuse_made_up(handle: BorrowedFd<'_>, what: &'static str) -> Result<(), OpenError> {
    let kind = fstatfs(handle)?.f_type as u64;
    if MADE_UP.contains(&(kind & 0xffff_ffff)) { Err(OpenError::Special(what)) } else { Ok(()) }
}

fn kind_name(kind: FileType) -> &'static str {
    match kind {
        FileType::Fifo => "a FIFO",
        FileType::Socket => "a socket",
        FileType::Symlink => "a symbolic link",
        _ => "a device",
    }
}

/// A FIFO without a writer must not make the call wait, and no terminal may become the process's own.
const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

const LISTING_BYTES: usize = 16 << 10;

/// Magic numbers of such file systems (`linux/magic.h`, Linux 6.18): proc, sysfs, debugfs, tracefs, securityfs,
/// cgroup and cgroup2, bpf, devpts, efivarfs, configfs, selinuxfs, nsfs, pstore, mqueue.
const MADE_UP: [u64; 15] = [
    0x9fa0,
    0x6265_6572,
    0x6462_6720,
    0x7472_6163,
    0x7363_6673,
    0x0027_e0eb,
    0x6367_7270,
    0xcafe_4a11,
    0x1cd1,
    0xde5e_81e4,
    0x6265_6570,
    0xf97c_ff8c,
    0x6e73_6673,
    0x6165_676c,
    0x1980_0202,
];
