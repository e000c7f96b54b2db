//! What may be read, changed and reached, as rules of Landlock.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

use super::options::Options;

/// Confines the calling thread and what it starts from now on.
pub(super) fn restrict(options: &Options) -> Result<(), String> {
    let ruleset = ruleset(options).map_err(|error| error.to_string())?;
    let status = ruleset.restrict_self().map_err(|error| error.to_string())?;
    match status.ruleset {
        RulesetStatus::NotEnforced => Err("Landlock is not there".to_owned()),
        _ => Ok(()),
    }
}

/// Version of the kernel's Landlock, as far as it is known here. A thread of its own is restricted to find out.
pub(super) fn version() -> Option<u32> {
    let probe = || {
        let ruleset = Ruleset::default().handle_access(AccessFs::Execute).ok()?.create().ok()?;
        let status = ruleset.add_rule(beneath(Path::new("/"), AccessFs::Execute.into())?).ok()?;
        match status.restrict_self().ok()?.landlock {
            LandlockStatus::Available { effective_abi, .. } => Some(effective_abi as u32),
            _ => None,
        }
    };
    std::thread::spawn(probe).join().ok().flatten()
}

fn ruleset(options: &Options) -> Result<RulesetCreated, RulesetError> {
    let mut ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
    ruleset = ruleset.handle_access(AccessFs::from_all(NEWEST))?;
    if options.offline {
        ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST))?;
    }
    let mut ruleset = ruleset.scope(Scope::from_all(NEWEST))?.create()?;
    for (path, access) in grants(options) {
        if let Some(rule) = beneath(&path, access) {
            ruleset = ruleset.add_rule(rule)?;
        }
    }
    Ok(ruleset)
}

/// What is granted where; grants add up along a path.
fn grants(options: &Options) -> Vec<(PathBuf, BitFlags<AccessFs>)> {
    let read = AccessFs::ReadFile | AccessFs::Execute;
    // Names may be listed everywhere: to list one folder and not those in it cannot be granted.
    let mut grants = vec![(PathBuf::from("/"), AccessFs::ReadDir.into())];
    let mut closed = options.hidden.clone();
    // The disks would give away all that is hidden.
    closed.push(PathBuf::from("/dev"));
    let mut readable = Vec::new();
    collect_readable(Path::new("/"), &closed, &mut readable);
    grants.extend(readable.into_iter().map(|path| (path, read)));
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev | AccessFs::Truncate;
    grants.extend(DEVICES.iter().map(|path| (PathBuf::from(path), device)));
    // Devices of one's own would be a way to the disks, even for root in the workspace.
    let change =
        AccessFs::from_all(NEWEST) & !(AccessFs::MakeBlock | AccessFs::MakeChar | AccessFs::IoctlDev);
    grants.extend(options.writable.iter().map(|path| (path.clone(), change)));
    if options.mounts {
        grants.push((PathBuf::from(super::mounts::SHARED_MEMORY), change));
    }
    grants
}

/// Collects what may be read below a folder that holds something closed: all its entries but that.
fn collect_readable(folder: &Path, closed: &[PathBuf], readable: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let entries = entries.filter_map(Result::ok);
    // A link gives nothing: a rule for it would hold for its target, which has its own place.
    let entries = entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if closed.contains(&path) {
            continue;
        }
        if closed.iter().any(|one| one.starts_with(&path)) {
            collect_readable(&path, closed, readable);
        } else {
            readable.push(path);
        }
    }
}

/// The rule for a file or folder; `None` where it is not there.
fn beneath(path: &Path, access: BitFlags<AccessFs>) -> Option<PathBeneath<PathFd>> {
    let is_folder = std::fs::metadata(path).ok()?.is_dir();
    let access = if is_folder { access } else { access & AccessFs::from_file(NEWEST) };
    Some(PathBeneath::new(PathFd::new(path).ok()?, access))
}

/// The newest version of Landlock whose rights are asked for; an older kernel takes what it knows of them.
const NEWEST: ABI = ABI::V7;

/// Devices that commands may use.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_is_readable_but_what_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for path in ["a/b/key", "a/b/other", "a/c", "d"] {
            std::fs::create_dir_all(root.join(path)).unwrap();
        }
        std::os::unix::fs::symlink(root.join("a/b/key"), root.join("link")).unwrap();
        let mut readable = Vec::new();
        collect_readable(root, &[root.join("a/b/key"), root.join("gone")], &mut readable);
        let readable: Vec<_> = readable.iter().map(|path| path.strip_prefix(root).unwrap()).collect();
        assert_eq!(readable, ["a/b/other", "a/c", "d"].map(Path::new));
    }
}
