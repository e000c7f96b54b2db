use std::cell::Cell;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use antefix_mcp::{Options, Secret, ServerConfig, Stdio, Transport};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// A folder with scripts of servers.
pub struct Place {
    root: tempfile::TempDir,
    count: Cell<u32>,
}

impl Place {
    pub fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap(), count: Cell::new(0) }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub fn options(&self) -> Options {
        Options::new(self.root.path())
    }

    /// A server that follows a script.
    pub fn server(&self, name: &str, script: &str) -> ServerConfig {
        let script = self.script(script);
        let stdio = Stdio {
            command: PROGRAM.to_owned(),
            args: vec![script.display().to_string()],
            env: [].into(),
            cwd: None,
        };
        ServerConfig::new(name, Transport::Stdio(stdio), "test")
    }

    /// The same behind a shell that leaves a process of its own behind.
    pub fn sleeper(&self, name: &str, script: &str) -> ServerConfig {
        let script = self.script(script);
        let line = format!(
            "sleep 1000 & echo $! > {}; exec {PROGRAM} {}",
            self.path("id").display(),
            script.display()
        );
        let stdio =
            Stdio { command: "/bin/sh".to_owned(), args: vec!["-c".into(), line], env: [].into(), cwd: None };
        ServerConfig::new(name, Transport::Stdio(stdio), "test")
    }

    pub fn sleeper_id(&self) -> String {
        std::fs::read_to_string(self.path("id")).unwrap().trim().to_owned()
    }

    pub fn with_variable(mut config: ServerConfig, name: &str, value: &str) -> ServerConfig {
        if let Transport::Stdio(stdio) = &mut config.transport {
            stdio.env.insert(name.to_owned(), Secret::new(value));
        }
        config
    }

    fn script(&self, script: &str) -> PathBuf {
        self.count.set(self.count.get() + 1);
        let path = self.path(&format!("{}.json", self.count.get()));
        std::fs::write(&path, script).unwrap();
        path
    }
}

const PROGRAM: &str = env!("CARGO_BIN_EXE_antefix-mcp-scripted");

/// A process that is not ours to wait for.
pub struct Process(OwnedFd);

impl Process {
    pub fn open(id: &str) -> Self {
        let id = Pid::from_raw(id.parse().unwrap()).unwrap();
        Self(pidfd_open(id, PidfdFlags::empty()).unwrap())
    }

    /// Whether it ends within that time.
    pub fn has_ended(&self, within: Duration) -> bool {
        let within = Timespec::try_from(within).unwrap();
        poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&within)).unwrap() > 0
    }
}
