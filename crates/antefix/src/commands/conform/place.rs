use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::environment;
use crate::failure::Failure;

/// A folder with a project, a home and a configuration of its own; removed in the end.
pub struct Place {
    root: PathBuf,
}

impl Place {
    /// Makes one with a small project in a git repository.
    ///
    /// # Errors
    /// If a file cannot be written or `git` fails.
    pub fn make(root: PathBuf) -> Result<Self, Failure> {
        let place = Self { root };
        for (name, text) in FILES {
            place.write(name, text.as_bytes())?;
        }
        place.write("dot.png", DOT)?;
        for folder in ["home", "config/antefix", "state", "tmp", "elsewhere"] {
            std::fs::create_dir_all(place.root.join(folder))?;
        }
        for arguments in GIT {
            place.git(arguments)?;
        }
        Ok(place)
    }

    /// Its own path.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where the agent works.
    pub fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    /// Writes a file and the folders it is in.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), Failure> {
        let path = self.root.join(name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        Ok(std::fs::write(path, content)?)
    }

    /// Removes a file, or a folder and all in it.
    pub fn remove(&self, name: &str) -> Result<(), Failure> {
        let path = self.root.join(name);
        let removed = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
        Ok(removed?)
    }

    /// Runs `git` in the project.
    pub fn git(&self, arguments: &[&str]) -> Result<(), Failure> {
        let mut command = self.command("git");
        command.args(["-c", "user.name=A user", "-c", "user.email=user@example.invalid"]).args(arguments);
        let output = command.output().map_err(|error| {
            Failure::failed(format!("`git` could not be started: {error}"))
                .hint("the scenes are played in real repositories: install git")
        })?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(Failure::failed(format!("`git {}` failed: {said}", arguments.join(" "))))
    }

    /// A program in the project, with nothing of the user's own environment but the path.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.project()).stdin(Stdio::null()).env_clear();
        command.env("PATH", environment::variable("PATH").unwrap_or_default());
        for (name, folder) in FOLDERS {
            command.env(name, self.root.join(folder));
        }
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env("LC_ALL", "C");
        command
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What cannot be removed from the temporary folder is left to the system.
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

/// The project.
const FILES: [(&str, &str); 6] = [
    ("project/AGENTS.md", include_str!("../../../conform/AGENTS.md")),
    ("project/README.md", include_str!("../../../conform/README.md")),
    ("project/sum.sh", include_str!("../../../conform/sum.sh")),
    ("project/test.sh", include_str!("../../../conform/test.sh")),
    ("project/notes.txt", "one\ntwo\nthree\n"),
    ("elsewhere/README.md", "Another folder.\n"),
];

/// What makes it a repository.
const GIT: [&[&str]; 3] =
    [&["init", "-q", "-b", "main"], &["add", "."], &["commit", "-q", "-m", "The beginning"]];

/// Variables that name folders of the place.
const FOLDERS: [(&str, &str); 4] =
    [("HOME", "home"), ("XDG_CONFIG_HOME", "config"), ("XDG_STATE_HOME", "state"), ("TMPDIR", "tmp")];

/// A PNG image of one white pixel.
const DOT: &[u8] = include_bytes!("../../../conform/dot.png");
