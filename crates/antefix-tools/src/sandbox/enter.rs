//! The role that confines itself and becomes the command.

use std::convert::Infallible;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::Signal;

use super::environment::delivered;
use super::options::Options;
use super::{HelperError, keeper};

/// Leaves the terminal, ends with the keeper, confines itself, becomes the command.
pub(super) fn enter(
    options: &Options,
    environment: impl Iterator<Item = (OsString, OsString)>,
) -> Result<Infallible, HelperError> {
    let [program, arguments @ ..] = options.command.as_slice() else {
        return Err(HelperError::Usage(String::new()));
    };
    rustix::process::setsid().map_err(std::io::Error::from)?;
    if options.confined {
        confine(options)?;
    }
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(std::io::Error::from)?;
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(delivered(environment));
    if let Some(descriptor) = options.state {
        let script = keeper::state_script(descriptor)?;
        command.env("BASH_ENV", format!("/proc/self/fd/{script}"));
    }
    Err(command.exec().into())
}

/// Whether this process, which is made for the question, can have a view of the files of its own.
pub(super) fn can_mount() -> bool {
    #[cfg(target_os = "linux")]
    return super::mounts::make_read_only(&[]).is_ok();
    #[cfg(not(target_os = "linux"))]
    return false;
}

#[cfg(target_os = "linux")]
fn confine(options: &Options) -> Result<(), HelperError> {
    if options.mounts {
        let failed = |error| HelperError::Confine(format!("the files cannot be mounted read-only: {error}"));
        super::mounts::make_read_only(&options.writable).map_err(failed)?;
    }
    super::capabilities::give_up().map_err(|error| HelperError::Confine(error.to_string()))?;
    super::rules::restrict(options).map_err(HelperError::Confine)?;
    super::syscalls::restrict(options.offline).map_err(HelperError::Confine)
}

#[cfg(not(target_os = "linux"))]
fn confine(_: &Options) -> Result<(), HelperError> {
    Err(HelperError::Confine("this system has no Landlock".to_owned()))
}
