//! Remarks on why a command may have failed here that would work at a terminal, or outside of the sandbox.

use crate::Context;
use crate::sandbox::Confinement;

/// What is said of a command that failed or did not end, from what it printed.
pub(super) fn remarks(context: &Context, printed: &str) -> Vec<String> {
    let mut remarks = Vec::new();
    if wants_terminal(printed) {
        remarks.push(TERMINAL.to_owned());
    }
    if context.sandbox.is_on() && REFUSALS.iter().any(|words| printed.contains(words)) {
        remarks.extend(bounds(context));
    }
    remarks
}

/// Whether it says that it needs a terminal, or ends with a question.
fn wants_terminal(printed: &str) -> bool {
    let last = printed.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let last = last.trim().to_lowercase();
    let all = printed.to_lowercase();
    NO_TERMINAL.iter().any(|words| all.contains(words)) || QUESTIONS.iter().any(|words| last.contains(words))
}

fn bounds(context: &Context) -> Option<String> {
    let files = match context.sandbox.confinement {
        Confinement::Off => None,
        Confinement::Workspace => Some("commands may change only files of the workspace and in $TMPDIR"),
        Confinement::ReadOnly => Some("commands may change only files in $TMPDIR"),
    };
    let network = context.sandbox.offline.then_some("commands have no network");
    let all: Vec<&str> = files.into_iter().chain(network).collect();
    (!all.is_empty()).then(|| format!("sandbox: {}", all.join("; ")))
}

const TERMINAL: &str = "it seems to want a terminal or an answer, and there is none: use options such as --yes, or \
give it its input";

/// The kernel's words for what the sandbox refuses.
const REFUSALS: &[&str] =
    &["Permission denied", "Operation not permitted", "Read-only file system", "Invalid cross-device link"];

const NO_TERMINAL: &[&str] = &[
    "not a terminal",
    "not to a terminal",
    "not from a terminal",
    "not a tty",
    "no tty present",
    "a terminal is required",
    "inappropriate ioctl for device",
    "cannot open /dev/tty",
    "can't open /dev/tty",
    "/dev/tty: no such device",
    "open terminal failed",
    "error opening terminal",
    "term environment variable not set",
    "could not read username",
    "could not read password",
    "terminal prompts disabled",
];

const QUESTIONS: &[&str] = &[
    "password:",
    "password for",
    "passphrase",
    "username:",
    "login:",
    "[y/n]",
    "(y/n)",
    "[yes/no]",
    "(yes/no",
    "press any key",
    "press enter",
    "press return",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::Sandbox;

    #[test]
    fn who_wants_a_terminal() {
        for (printed, expect) in [
            ("Proceed? [Y/n] ", true),
            ("Enter passphrase for key '/k': \n", true),
            ("Are you sure (yes/no/[fingerprint])? ", true),
            ("Vim: Warning: Output is not to a terminal\n", true),
            ("fatal: could not read Username for 'https://x': No such device or address", true),
            ("error opening terminal: unknown.\n", true),
            ("Password: was asked for\nall done\n", false),
            ("error: expected `y`\n", false),
            ("", false),
        ] {
            assert_eq!(wants_terminal(printed), expect, "{printed:?}");
        }
    }

    #[test]
    fn who_met_the_sandbox() {
        let said = |sandbox: Sandbox, printed: &str| {
            let mut context = Context::new("/w", "/s");
            context.sandbox = sandbox.into();
            remarks(&context, printed).join("|")
        };
        let workspace = Sandbox::new(Confinement::Workspace, None);
        let offline = Sandbox { offline: true, ..Sandbox::default() };
        let files = "sandbox: commands may change only files of the workspace and in $TMPDIR";
        assert_eq!(said(workspace.clone(), "f: Permission denied"), files);
        assert_eq!(said(workspace, "f: No such file or directory"), "");
        assert_eq!(said(offline, "socket: Operation not permitted"), "sandbox: commands have no network");
        assert_eq!(said(Sandbox::default(), "f: Permission denied"), "");
    }
}
