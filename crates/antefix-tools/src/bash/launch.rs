//! Starts a command: the shell, its environment, its process group or its keeper, its one pipe.

use std::ffi::{OsStr, OsString};
use std::fs::{DirBuilder, File};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::net::unix::pipe;
use tokio::process::Command;

use super::process::{Kept, Process};
use super::state::{self, Environment};
use crate::sandbox::{NAME, Options, carried};
use crate::{Context, Failure};

/// Starts `command`; gives it and the reading end of the pipe that it prints to.
pub(super) fn launch(context: &Context, command: &str) -> Result<(Process, pipe::Receiver), Failure> {
    let start = Start::new(context, command)?;
    let (reader, writer) = std::io::pipe().map_err(failed)?;
    let process = match &context.helper {
        Some(helper) => {
            let options = Options {
                tells_state: start.is_bash && context.carries_over,
                ..context.helper_options(helper)
            };
            Process::Kept(start.kept(helper, options, writer.into())?)
        }
        None => start.grouped(context, writer.into())?,
    };
    Ok((process, pipe::Receiver::from_owned_fd(OwnedFd::from(reader)).map_err(failed)?))
}

/// Starts `command` with its output in a file of at most so many bytes.
pub(super) fn launch_into(context: &Context, command: &str, path: &Path, room: u64) -> Result<Kept, Failure> {
    let start = Start::new(context, command)?;
    let Some(helper) = &context.helper else {
        return Err(Failure::new(
            "commands cannot run in the background here: there is no helper to hold them",
        ));
    };
    let options = Options { output: Some((path.to_owned(), room)), ..context.helper_options(helper) };
    start.kept(helper, options, File::create("/dev/null").map_err(failed)?.into())
}

/// Starts `command` unconfined with something to read, and its standard error told apart up to `room` bytes; gives it
/// and the reading end of the pipe that it prints to.
pub(super) fn launch_with_input(
    context: &Context,
    command: &str,
    input: &[u8],
    room: u64,
) -> Result<(Process, pipe::Receiver), Failure> {
    let start = Start::new(context, command)?;
    let Some(helper) = &context.helper else {
        return Err(Failure::new("there is no helper to hold the command"));
    };
    let (reader, writer) = std::io::pipe().map_err(failed)?;
    let options = Options { input: Some(input.len() as u64), errors: Some(room), ..Options::default() };
    let kept = start.kept(helper, options, writer.into())?;
    kept.give(input).map_err(failed)?;
    Ok((Process::Kept(kept), pipe::Receiver::from_owned_fd(OwnedFd::from(reader)).map_err(failed)?))
}

/// A command that is about to start.
struct Start {
    shell: OsString,
    is_bash: bool,
    command: OsString,
    folder: PathBuf,
    environment: Environment,
}

impl Start {
    fn new(context: &Context, command: &str) -> Result<Self, Failure> {
        if !context.cwd.is_dir() {
            let text = format!("the workspace folder {} is not there", context.cwd.display());
            return Err(Failure::new(text));
        }
        if context.helper.is_none() && context.sandbox.is_on() {
            return Err(Failure::new("commands cannot be confined here: there is no helper to do it"));
        }
        if let Some(temporary) = context.sandbox.temporary.as_ref().filter(|_| context.sandbox.is_on()) {
            DirBuilder::new().recursive(true).mode(0o700).create(temporary).map_err(failed)?;
        }
        let bash = find(context, "bash");
        Ok(Self {
            is_bash: bash.is_some(),
            shell: bash.map_or_else(|| "sh".into(), PathBuf::into_os_string),
            command: command.into(),
            folder: state::folder(context).to_owned(),
            environment: state::environment(context),
        })
    }

    /// Through the helper, which reports and is ordered through pipes.
    fn kept(self, helper: &Path, options: Options, output: OwnedFd) -> Result<Kept, Failure> {
        let (input, orders) = std::io::pipe().map_err(failed)?;
        let (told, report) = std::io::pipe().map_err(failed)?;
        let options = Options { command: vec![self.shell, "-c".into(), self.command], ..options };
        let mut command = Command::new(helper);
        command.arg0(NAME).args(options.arguments()).current_dir(self.folder).env_clear();
        command.envs(self.environment.into_iter().map(|(name, value)| (carried(&name), value)));
        // What ends this process's group must not end the keeper.
        command.process_group(0).stdin(input).stdout(report).stderr(output).kill_on_drop(false);
        let keeper = command.spawn().map_err(failed)?;
        let told = pipe::Receiver::from_owned_fd(OwnedFd::from(told)).map_err(failed)?;
        Ok(Kept::new(keeper, orders, told))
    }

    /// At the head of a process group. Where there is `setsid`, it is in a session of its own, so that programs that
    /// ask for a password find no terminal to ask on and fail instead of waiting.
    fn grouped(self, context: &Context, output: OwnedFd) -> Result<Process, Failure> {
        let mut command = match find(context, "setsid") {
            Some(setsid) => {
                let mut command = Command::new(setsid);
                command.arg(self.shell);
                command
            }
            None => {
                let mut command = Command::new(self.shell);
                command.process_group(0);
                command
            }
        };
        command.arg("-c").arg(self.command).current_dir(self.folder).env_clear().envs(self.environment);
        command.stdin(Stdio::null()).stdout(output.try_clone().map_err(failed)?).stderr(output);
        let child = command.kill_on_drop(true).spawn().map_err(failed)?;
        Ok(Process::grouped(child))
    }
}

fn failed(error: std::io::Error) -> Failure {
    Failure::new(format!("the command could not be started: {error}"))
}

/// The file of a program on the environment's `PATH`.
pub(super) fn find(context: &Context, program: &str) -> Option<PathBuf> {
    let path = context.environment.iter().find(|(name, _)| name == "PATH");
    let path = path.map_or(OsStr::new(DEFAULT_PATH), |(_, value)| value);
    std::env::split_paths(path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Whether a variable of this name may hold a key, and is therefore kept from programs of the agent.
pub fn is_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    SECRET_NAMES.contains(&name.as_str())
        || SECRET_SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
        || SECRET_PARTS.iter().any(|part| name.contains(part))
}

/// Environment variables that commands never get.
pub const SECRET_NAMES: &[&str] = &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_API_KEY"];

/// Ends of names of environment variables that commands never get; case does not matter.
pub const SECRET_SUFFIXES: &[&str] =
    &["_API_KEY", "_TOKEN", "_SECRET", "_PAT", "_CREDENTIALS", "_KEY_HELPER"];

/// Parts of names of environment variables that commands never get; case does not matter.
pub const SECRET_PARTS: &[&str] = &["PASSWORD", "PASSWD", "SECRET_ACCESS_KEY", "SECRET_KEY", "PRIVATE_KEY"];

const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_name() {
        for (name, expect) in [
            ("ANTHROPIC_API_KEY", true),
            ("AWS_SECRET_ACCESS_KEY", true),
            ("DB_PASSWORD", true),
            ("GH_PAT", true),
            ("ANTEFIX_API_KEY_HELPER", true),
            ("ANTHROPIC_AUTH_TOKEN", true),
            ("openai_api_key", true),
            ("GITHUB_TOKEN", true),
            ("AWS_SECRET", true),
            ("TOKEN_COUNT", false),
            ("PATH", false),
            ("SECRETARY", false),
        ] {
            assert_eq!(is_secret(OsStr::new(name)), expect, "{name}");
        }
    }
}
