//! The arguments that the roles of the helper are started with.

use std::ffi::OsString;
use std::path::PathBuf;

use super::{HELPER, HelperError};

/// What the helper is to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) role: Role,
    /// Whether there is a sandbox.
    pub(crate) confined: bool,
    pub(crate) offline: bool,
    /// Whether it is made of mounts as well.
    pub(crate) mounts: bool,
    /// Folders that may be changed.
    pub(crate) writable: Vec<PathBuf>,
    /// What may not be read.
    pub(crate) hidden: Vec<PathBuf>,
    /// Whether the shell tells, at its end, where it is and what it exports.
    pub(crate) tells_state: bool,
    /// The descriptor it tells that on.
    pub(crate) state: Option<i32>,
    /// Where the keeper puts the output, and how many bytes at most.
    pub(crate) output: Option<(PathBuf, u64)>,
    /// How many bytes come in front of all orders, for the command's standard input; without, that is empty.
    pub(crate) input: Option<u64>,
    /// How many bytes of the command's standard error are told apart from its output, at most; without, the two are
    /// one.
    pub(crate) errors: Option<u64>,
    /// The program and its arguments.
    pub(crate) command: Vec<OsString>,
}

/// A role of the helper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Role {
    #[default]
    Keep,
    Enter,
    Probe,
}

impl Options {
    /// Reads what stands behind [`HELPER`].
    pub(super) fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Self, HelperError> {
        let wrong = |what: &OsString| HelperError::Usage(what.to_string_lossy().into_owned());
        let mut options = Self::default();
        let missing = || HelperError::Usage(String::new());
        let role = arguments.next().ok_or_else(missing)?;
        options.role = match role.to_str() {
            Some("keep") => Role::Keep,
            Some("enter") => Role::Enter,
            Some("probe") => Role::Probe,
            _ => return Err(wrong(&role)),
        };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| wrong(&argument));
            let number = |text: OsString| {
                text.to_str().and_then(|text| text.parse::<u64>().ok()).ok_or_else(|| wrong(&text))
            };
            match argument.to_str() {
                Some("--confined") => options.confined = true,
                Some("--offline") => options.offline = true,
                Some("--mounts") => options.mounts = true,
                Some("--tells-state") => options.tells_state = true,
                Some("--write") => options.writable.push(value()?.into()),
                Some("--hide") => options.hidden.push(value()?.into()),
                Some("--state") => options.state = i32::try_from(number(value()?)?).ok(),
                Some("--output") => options.output = Some((value()?.into(), number(value()?)?)),
                Some("--input") => options.input = Some(number(value()?)?),
                Some("--errors") => options.errors = Some(number(value()?)?),
                Some("--") => break,
                _ => return Err(wrong(&argument)),
            }
        }
        options.command = arguments.collect();
        if options.command.is_empty() { Err(missing()) } else { Ok(options) }
    }

    /// The arguments that [`parse`](Self::parse) reads these options from, with [`HELPER`] in front.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let role = match self.role {
            Role::Keep => "keep",
            Role::Enter => "enter",
            Role::Probe => "probe",
        };
        let mut out: Vec<OsString> = vec![HELPER.into(), role.into()];
        for (flag, is_set) in [
            ("--confined", self.confined),
            ("--offline", self.offline),
            ("--mounts", self.mounts),
            ("--tells-state", self.tells_state),
        ] {
            if is_set {
                out.push(flag.into());
            }
        }
        for (flag, paths) in [("--write", &self.writable), ("--hide", &self.hidden)] {
            for path in paths {
                out.extend([flag.into(), path.into()]);
            }
        }
        if let Some(descriptor) = self.state {
            out.extend(["--state".into(), descriptor.to_string().into()]);
        }
        if let Some((path, room)) = &self.output {
            out.extend(["--output".into(), path.into(), room.to_string().into()]);
        }
        for (flag, count) in [("--input", self.input), ("--errors", self.errors)] {
            if let Some(count) = count {
                out.extend([flag.into(), count.to_string().into()]);
            }
        }
        out.push("--".into());
        out.extend(self.command.iter().cloned());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_survive_the_command_line() {
        let full = Options {
            role: Role::Enter,
            confined: true,
            offline: true,
            mounts: true,
            writable: vec!["/w".into(), "--hide".into()],
            hidden: vec!["/h/.ssh".into()],
            tells_state: true,
            state: Some(100),
            output: Some(("/o/job-1.txt".into(), 5)),
            input: Some(7),
            errors: Some(4096),
            command: vec!["bash".into(), "--".into(), "--offline".into()],
        };
        let plain = Options { command: vec!["true".into()], ..Options::default() };
        for options in [full, plain] {
            let arguments = options.arguments();
            assert_eq!(arguments[0], HELPER);
            assert_eq!(Options::parse(arguments.into_iter().skip(1)).unwrap(), options);
        }
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for line in ["", "other -- true", "keep --new -- true", "keep --confined", "keep --state x -- true"] {
            let arguments = line.split_whitespace().map(OsString::from);
            assert!(Options::parse(arguments).is_err(), "{line}");
        }
    }
}
