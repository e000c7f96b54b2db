//! The sandbox that commands run in, and the processes that hold them.
//!
//! A command of the `bash` tool is started through a helper: the program of the caller once more, which passes its
//! arguments to [`helper`]. The helper has two roles. The **keeper** starts the command and outlives it; when whoever
//! started it goes away, however that comes about, it ends the command and everything that came of it. Behind the
//! keeper, the helper **enters** the sandbox and becomes the command. `docs/sandbox.md` says what is confined and
//! what is not.

#[cfg(target_os = "linux")]
mod capabilities;
mod enter;
mod environment;
mod keeper;
#[cfg(target_os = "linux")]
mod mounts;
mod options;
#[cfg(target_os = "linux")]
mod rules;
#[cfg(target_os = "linux")]
mod syscalls;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use crate::paths;
use options::Role;

pub(crate) use environment::carried;
pub use keeper::OWN_PROGRAM;
pub(crate) use keeper::{ASK, FORCE, NAME, STAY};
pub(crate) use options::Options;

/// What commands may change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confinement {
    /// Nothing but their temporary folder.
    ReadOnly,
    /// The workspace and their temporary folder.
    Workspace,
    /// Whatever the user may change.
    #[default]
    Off,
}

impl Confinement {
    /// All of them, the strictest first.
    pub const ALL: [Self; 3] = [Self::ReadOnly, Self::Workspace, Self::Off];

    /// The name in settings and flags.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Workspace => "workspace",
            Self::Off => "off",
        }
    }

    /// The confinement of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|confinement| confinement.name() == name)
    }
}

/// The bounds of the commands of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sandbox {
    /// What they may change.
    pub confinement: Confinement,
    /// Whether they may not use the network.
    pub offline: bool,
    /// Folders besides the workspace that they may change unless nothing may be changed.
    pub writable: Vec<PathBuf>,
    /// Files and folders that they may not read.
    pub hidden: Vec<PathBuf>,
    /// Their temporary folder, which they are told of by `TMPDIR`; made when first needed.
    pub temporary: Option<PathBuf>,
}

impl Sandbox {
    /// The bounds of commands that work for a user: what usually holds keys in the home folder cannot be read.
    pub fn new(confinement: Confinement, home: Option<&Path>) -> Self {
        let hidden = home.map(|home| HIDDEN.iter().map(|name| home.join(name)).collect());
        Self { confinement, hidden: hidden.unwrap_or_default(), ..Self::default() }
    }

    /// Whether commands are confined at all.
    pub fn is_on(&self) -> bool {
        self.confinement != Confinement::Off || self.offline
    }

    /// The helper's options for commands of a workspace.
    pub(crate) fn options(&self, workspace: &Path) -> Options {
        if !self.is_on() {
            return Options::default();
        }
        let resolved = |path: &PathBuf| paths::resolve(path);
        let mut writable: Vec<PathBuf> = self.temporary.iter().map(resolved).collect();
        match self.confinement {
            Confinement::Off => writable.push(PathBuf::from("/")),
            Confinement::Workspace => {
                writable.push(paths::resolve(workspace));
                writable.extend(self.writable.iter().map(resolved));
            }
            Confinement::ReadOnly => {}
        }
        let hides = self.confinement != Confinement::Off;
        let hidden = if hides { self.hidden.iter().map(resolved).collect() } else { Vec::new() };
        Options { confined: true, offline: self.offline, writable, hidden, ..Options::default() }
    }
}

/// What this system has to confine commands with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Available {
    /// Version of Landlock's interface; `None` where there is none, and then there is no sandbox.
    pub landlock: Option<u32>,
    /// Whether system calls can be filtered; without, there is no sandbox either.
    pub filter: bool,
}

impl Available {
    /// Looks what there is. Nothing of the calling process is changed.
    pub fn probe() -> Self {
        #[cfg(target_os = "linux")]
        return Self { landlock: rules::version(), filter: syscalls::is_supported() };
        #[cfg(not(target_os = "linux"))]
        return Self { landlock: None, filter: false };
    }

    /// Why commands cannot be confined here; `None` if they can.
    pub fn lacks(self) -> Option<&'static str> {
        match self {
            Self { landlock: None, .. } => Some("the kernel has no Landlock, or does not allow it here"),
            Self { filter: false, .. } => Some("system calls cannot be filtered here"),
            _ => None,
        }
    }

    /// What a sandbox here does not cover since the kernel is too old for it.
    pub fn gaps(self) -> Vec<&'static str> {
        let version = self.landlock.unwrap_or_default();
        let rows = [
            (3, "files outside can be cut to length 0"),
            (5, "devices that may be written take any ioctl"),
            (6, "commands can send signals to processes outside"),
        ];
        rows.into_iter().filter(|(since, _)| version < *since).map(|(_, gap)| gap).collect()
    }
}

/// Why the helper could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum HelperError {
    /// Its arguments are not those of this version.
    #[error("the helper of the sandbox was started with `{0}`, which it does not know")]
    Usage(String),
    /// The sandbox could not be set up; the command was not started.
    #[error("the sandbox could not be set up, so the command was not started: {0}")]
    Confine(String),
    /// The command could not be started.
    #[error("the command could not be started: {0}")]
    Start(#[from] std::io::Error),
}

/// The first argument of the helper.
pub const HELPER: &str = "__sandbox";

/// Does the helper's work if these are its arguments (without the program's own name), and gives the exit code.
/// The caller's `main` asks this first and ends with the code; it must not have started threads yet.
///
/// # Errors
/// [`HelperError`], which belongs on standard error, that is, in the output of the command.
pub fn helper(
    mut arguments: impl Iterator<Item = OsString>,
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> Option<Result<ExitCode, HelperError>> {
    if arguments.next()? != HELPER {
        return None;
    }
    Some(Options::parse(arguments).and_then(|options| match options.role {
        Role::Keep => keeper::keep(&options),
        Role::Enter => enter::enter(&options, environment).map(|never| match never {}),
        Role::Probe => Ok(ExitCode::from(u8::from(!enter::can_mount()))),
    }))
}

/// Whether the helper can give commands a view of the files in which all but the workspace is read-only. It is a
/// second wall behind Landlock, and the only one against changes of modes, owners and times.
pub fn can_mount(helper: &Path) -> bool {
    let options = Options { role: Role::Probe, command: vec![HELPER.into()], ..Options::default() };
    let probe = Command::new(helper).args(options.arguments()).stdin(Stdio::null()).env_clear().output();
    probe.is_ok_and(|output| output.status.success())
}

/// What usually holds keys and passwords, below the home folder.
pub const HIDDEN: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".netrc",
    ".git-credentials",
    ".pgpass",
    ".npmrc",
    ".pypirc",
    ".docker/config.json",
    ".cargo/credentials.toml",
    ".cargo/credentials",
    ".config/gcloud",
    ".config/gh",
    ".config/op",
    ".config/git/credentials",
    ".config/antefix",
    ".local/share/keyrings",
    ".password-store",
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for confinement in Confinement::ALL {
            assert_eq!(Confinement::from_name(confinement.name()), Some(confinement));
        }
        assert_eq!(Confinement::from_name("on"), None);
    }

    #[test]
    fn bounds_of_a_workspace() {
        let home = Path::new("/home-that-is-not-there");
        let hidden = HIDDEN.iter().map(|name| home.join(name)).collect::<Vec<_>>();
        for (confinement, offline, writable, hides, confined) in [
            (Confinement::Off, false, vec![], false, false),
            (Confinement::Off, true, vec!["/t", "/"], false, true),
            (Confinement::Workspace, false, vec!["/t", "/w", "/more"], true, true),
            (Confinement::ReadOnly, true, vec!["/t"], true, true),
        ] {
            let sandbox = Sandbox {
                offline,
                writable: vec!["/more".into()],
                temporary: Some("/t".into()),
                ..Sandbox::new(confinement, Some(home))
            };
            let expect = Options {
                confined,
                offline,
                writable: writable.into_iter().map(PathBuf::from).collect(),
                hidden: if hides { hidden.clone() } else { Vec::new() },
                ..Options::default()
            };
            assert_eq!(sandbox.options(Path::new("/w")), expect, "{confinement:?} {offline}");
        }
    }

    #[test]
    fn gaps_of_old_kernels() {
        for (landlock, gaps) in [(None, 3), (Some(2), 3), (Some(4), 2), (Some(5), 1), (Some(6), 0)] {
            assert_eq!(Available { landlock, filter: true }.gaps().len(), gaps, "{landlock:?}");
        }
        assert_eq!(Available { landlock: Some(1), filter: true }.lacks(), None);
        assert!(Available { landlock: None, filter: true }.lacks().is_some());
        assert!(Available { landlock: Some(7), filter: false }.lacks().is_some());
    }
}
