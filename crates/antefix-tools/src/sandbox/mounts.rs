//! A view of the files in which all but what may be changed is read-only.
//!
//! Landlock does not look at what changes a file's mode, owner, times or attributes; a read-only mount does.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind_recursive, mount_change, mount_remount,
};
use rustix::process::{getgid, getuid};
use rustix::thread::UnshareFlags;

/// Gives the calling process, which must have one thread, such a view.
pub(super) fn make_read_only(writable: &[PathBuf]) -> io::Result<()> {
    unshare()?;
    let here = std::env::current_dir()?;
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    // Shared memory is there to be written, and must not be that of others.
    let own = MountFlags::NOSUID | MountFlags::NODEV;
    if Path::new(SHARED_MEMORY).is_dir() {
        mount("tmpfs", SHARED_MEMORY, "tmpfs", own, None)?;
    }
    for folder in writable {
        mount_bind_recursive(folder, folder)?;
    }
    let stays = |point: &Path| {
        point.starts_with(SHARED_MEMORY) || writable.iter().any(|folder| point.starts_with(folder))
    };
    for (point, flags) in points(&fs::read_to_string("/proc/self/mountinfo")?) {
        if !stays(&point) {
            let flags = flags | MountFlags::BIND | MountFlags::RDONLY;
            // What cannot be reached by its path, since another mount lies over it, cannot be changed by it.
            let _ = mount_remount(&point, flags, "");
        }
    }
    // The folder this process is in lies on the view from before.
    std::env::set_current_dir(here)
}

/// Shared memory of the commands' own, once [`make_read_only`] has been called.
pub(super) const SHARED_MEMORY: &str = "/dev/shm";

/// Takes mounts of one's own: as root right away, as a user with a user namespace in which the user stays who they are.
fn unshare() -> io::Result<()> {
    if take(UnshareFlags::NEWNS).is_ok() {
        return Ok(());
    }
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    take(UnshareFlags::NEWUSER | UnshareFlags::NEWNS)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

// The call is unsafe only where it separates the descriptors of threads, which these flags do not.
#[allow(deprecated)]
fn take(flags: UnshareFlags) -> io::Result<()> {
    Ok(rustix::thread::unshare(flags)?)
}

/// The mount points of `/proc/self/mountinfo` with the flags that must not be lost.
fn points(text: &str) -> Vec<(PathBuf, MountFlags)> {
    let point = |line: &str| {
        let mut words = line.split(' ').skip(4);
        Some((PathBuf::from(unescaped(words.next()?)), flags(words.next()?)))
    };
    text.lines().filter_map(point).collect()
}

fn flags(options: &str) -> MountFlags {
    let flag = |option: &str| match option {
        "nosuid" => MountFlags::NOSUID,
        "nodev" => MountFlags::NODEV,
        "noexec" => MountFlags::NOEXEC,
        "noatime" => MountFlags::NOATIME,
        "nodiratime" => MountFlags::NODIRATIME,
        "relatime" => MountFlags::RELATIME,
        _ => MountFlags::empty(),
    };
    options.split(',').map(flag).fold(MountFlags::empty(), |all, flag| all | flag)
}

/// A path as the kernel writes it: space, tab, line end and backslash as three octal digits.
fn unescaped(text: &str) -> String {
    let rows = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    rows.iter().fold(text.to_owned(), |text, (code, letter)| text.replace(code, letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_mountinfo() {
        let text = "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
                    31 22 0:25 / /a\\040b ro,nosuid,nodev,noexec,noatime shared:1 - tmpfs tmpfs rw\nbroken";
        let strict = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::NOATIME;
        assert_eq!(points(text), [("/".into(), MountFlags::RELATIME), ("/a b".into(), strict)]);
    }
}
