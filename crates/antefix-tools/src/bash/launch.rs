//! Starts a command: the shell, its environment, its process group, its one pipe.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Stdio;

use tokio::net::unix::pipe;
use tokio::process::{Child, Command};

use crate::{Context, Failure};

/// Starts `command`; gives it and the reading end of the pipe that it prints to.
pub(super) fn launch(context: &Context, command: &str) -> Result<(Child, pipe::Receiver), Failure> {
    if !context.cwd.is_dir() {
        return Err(Failure::new(format!("the workspace folder {} is not there", context.cwd.display())));
    }
    let failed = |error: std::io::Error| Failure::new(format!("the command could not be started: {error}"));
    let (reader, writer) = std::io::pipe().map_err(failed)?;
    let mut shell = shell(context);
    shell
        .arg("-c")
        .arg(command)
        .current_dir(&context.cwd)
        .stdin(Stdio::null())
        .stdout(writer.try_clone().map_err(failed)?)
        .stderr(writer)
        .kill_on_drop(true);
    let child = shell.spawn().map_err(failed)?;
    let receiver = pipe::Receiver::from_owned_fd(OwnedFd::from(reader)).map_err(failed)?;
    Ok((child, receiver))
}

/// The shell at the head of a process group. Where there is `setsid`, it is in a session of its own, so that
/// programs that ask for a password find no terminal to ask on and fail instead of waiting.
fn shell(context: &Context) -> Command {
    let bash = find(context, "bash").unwrap_or_else(|| "sh".into());
    let mut command = match find(context, "setsid") {
        Some(setsid) => {
            let mut command = Command::new(setsid);
            command.arg(bash);
            command
        }
        None => {
            let mut command = Command::new(bash);
            command.process_group(0);
            command
        }
    };
    command.env_clear().envs(environment(context));
    command
}

/// The environment without secrets.
fn environment(context: &Context) -> impl Iterator<Item = (&OsString, &OsString)> {
    let all = context.environment.iter().map(|(name, value)| (name, value));
    all.filter(|(name, _)| !is_secret(name))
}

fn is_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    SECRET_NAMES.contains(&name.as_str())
        || SECRET_SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
        || SECRET_PARTS.iter().any(|part| name.contains(part))
}

/// The file of a program on the environment's `PATH`.
fn find(context: &Context, program: &str) -> Option<PathBuf> {
    let path = context.environment.iter().find(|(name, _)| name == "PATH");
    let path = path.map_or(OsStr::new(DEFAULT_PATH), |(_, value)| value);
    std::env::split_paths(path).map(|folder| folder.join(program)).find(|file| file.is_file())
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
