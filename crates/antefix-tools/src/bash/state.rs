//! Where the next command starts: the folder it begins in and the variables it is given.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::launch::is_secret;
use crate::{Context, Output};

/// What a command leaves to the next one. It is recorded with the call's result; after a resume, the newest record
/// holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellState {
    /// The folder, absolute and within the workspace; `None` is the workspace itself.
    pub folder: Option<PathBuf>,
    /// Exported variables that differ from the session's environment.
    pub set: BTreeMap<String, String>,
    /// Variables of the session's environment that are gone.
    pub unset: BTreeSet<String>,
}

/// The state of a session's shell; shared by its calls.
#[derive(Debug, Default)]
pub struct Shell {
    state: Mutex<ShellState>,
}

impl Shell {
    /// A shell that goes on from a state.
    pub fn new(state: ShellState) -> Self {
        Self { state: Mutex::new(state) }
    }

    /// The state that the next command starts from.
    pub fn state(&self) -> ShellState {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets the state that the next command starts from.
    pub fn set(&self, state: ShellState) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
    }
}

/// The variables of a command.
pub(super) type Environment = Vec<(OsString, OsString)>;

/// The folder that a command starts in.
pub(super) fn folder(context: &Context) -> &Path {
    context.start.folder.as_ref().unwrap_or(&context.cwd)
}

/// What a call is answered whose command would start in a folder that is gone, or leads out of the workspace by now.
/// It does not run elsewhere instead: its relative paths were judged in that folder.
pub(super) fn lost_folder(context: &Context) -> Option<Output> {
    let lost = context.start.folder.as_ref().filter(|folder| !is_within(context, folder))?;
    let shown = context.shown(lost);
    let text = format!("{shown}, where the shell was, is gone; the next command starts in the workspace");
    let state = ShellState { folder: None, ..context.start.clone() };
    Some(Output { shell: Some(state), ..Output::error(text) })
}

/// The variables that a command is given: those of the session without secrets, and what earlier ones left.
pub(super) fn environment(context: &Context) -> Environment {
    let state = &context.start;
    let mut variables: BTreeMap<OsString, OsString> = session_environment(context).collect();
    variables.retain(|name, _| name.to_str().is_none_or(|name| !state.unset.contains(name)));
    variables.extend(state.set.iter().map(|(name, value)| (name.into(), value.into())));
    variables.into_iter().collect()
}

/// What a shell told at its end, as the state of the next one, and remarks on what does not carry over.
pub(super) fn read(context: &Context, told: &[u8]) -> Option<(ShellState, Vec<String>)> {
    let mut parts = told.split(|byte| *byte == 0);
    let mut notes = Vec::new();
    let folder = folder_of(context, Path::new(std::str::from_utf8(parts.next()?).ok()?), &mut notes);
    let pairs = parts.filter_map(|part| std::str::from_utf8(part).ok()?.split_once('='));
    let exported: BTreeMap<&str, &str> = pairs.collect();
    if exported.is_empty() {
        // A shell that cannot list its variables; what was known of them stays.
        return Some((ShellState { folder, ..context.start.clone() }, notes));
    }
    let session: BTreeMap<OsString, OsString> = session_environment(context).collect();
    let is_new =
        |name: &str, value: &str| session.get(name.as_ref() as &std::ffi::OsStr) != Some(&value.into());
    let is_carried = |name: &str| !OWN.contains(&name) && !is_secret(name.as_ref());
    let mut set = BTreeMap::new();
    for (name, value) in exported.iter().filter(|(name, value)| is_carried(name) && is_new(name, value)) {
        set.insert((*name).to_owned(), (*value).to_owned());
    }
    let size: usize = set.iter().map(|(name, value)| name.len() + value.len()).sum();
    if size > context.limits.shell_state_bytes {
        let cap = context.limits.shell_state_bytes;
        notes.push(format!(
            "{size} bytes of exported variables are more than the {cap} that carry over: none do"
        ));
        set = context.start.set.clone();
    }
    let names = session.keys().filter_map(|name| name.to_str());
    let unset =
        names.filter(|name| is_carried(name) && !exported.contains_key(name)).map(str::to_owned).collect();
    Some((ShellState { folder, set, unset }, notes))
}

fn folder_of(context: &Context, told: &Path, notes: &mut Vec<String>) -> Option<PathBuf> {
    if !is_within(context, told) {
        notes.push("the next command starts in the workspace again".to_owned());
        return None;
    }
    let folder = (told != context.cwd).then(|| told.to_owned());
    if folder != context.start.folder {
        let shown =
            folder.as_ref().map_or_else(|| "the workspace".to_owned(), |folder| context.shown(folder));
        notes.push(format!("the next command starts in {shown}"));
    }
    folder
}

/// Whether a folder is there and lies in the workspace, links resolved.
fn is_within(context: &Context, folder: &Path) -> bool {
    folder.is_absolute()
        && folder.canonicalize().is_ok_and(|real| real.is_dir() && real.starts_with(&context.cwd))
}

fn session_environment(context: &Context) -> impl Iterator<Item = (OsString, OsString)> {
    let own = context.environment.iter().filter(|(name, _)| !is_secret(name)).cloned();
    let temporary = context.sandbox.temporary.as_ref().filter(|_| context.sandbox.is_on());
    own.chain(temporary.map(|folder| ("TMPDIR".into(), folder.into())))
}

/// Variables that belong to each shell itself.
const OWN: &[&str] = &["PWD", "OLDPWD", "SHLVL", "_", "BASH_ENV", "SHELLOPTS", "BASHOPTS"];

#[cfg(test)]
mod tests {
    use super::*;

    fn context() -> (tempfile::TempDir, Context) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("w/sub")).unwrap();
        std::os::unix::fs::symlink("/", folder.path().join("w/out")).unwrap();
        let environment = [("PATH", "/bin"), ("A", "1"), ("MY_TOKEN", "hidden")];
        let environment = environment.map(|(name, value)| (name.into(), value.into()));
        let context = Context::new(folder.path().join("w"), folder.path().join("spill"));
        (folder, context.with_environment(environment.to_vec()))
    }

    fn check(told: &str, expect: &str) {
        let (_folder, context) = context();
        let workspace = context.cwd.to_str().unwrap();
        let told = told.replace("$W", workspace);
        let (state, notes) = read(&context, told.as_bytes()).unwrap();
        let folder = state.folder.map(|folder| context.shown(&folder)).unwrap_or_default();
        assert_eq!(format!("{folder}|{:?}|{:?}|{notes:?}", state.set, state.unset), expect, "{told:?}");
    }

    #[test]
    fn what_a_shell_tells() {
        const SAME: &str = "PATH=/bin\0A=1\0SHLVL=2\0PWD=/x\0";
        for (told, expect) in [
            (format!("$W\0{SAME}"), "|{}|{}|[]"),
            (format!("$W/sub\0{SAME}"), r#"sub|{}|{}|["the next command starts in sub"]"#),
            (format!("$W/gone\0{SAME}"), r#"|{}|{}|["the next command starts in the workspace again"]"#),
            (format!("$W/out\0{SAME}"), r#"|{}|{}|["the next command starts in the workspace again"]"#),
            (format!("/\0{SAME}"), r#"|{}|{}|["the next command starts in the workspace again"]"#),
            (format!("$W\0{SAME}B=x=y\nz\0"), r#"|{"B": "x=y\nz"}|{}|[]"#),
            (format!("$W\0{SAME}OTHER_API_KEY=s\0MY_TOKEN=new\0"), "|{}|{}|[]"),
            ("$W\0PATH=/bin:/opt\0".to_owned(), r#"|{"PATH": "/bin:/opt"}|{"A"}|[]"#),
            ("$W\0".to_owned(), "|{}|{}|[]"),
        ] {
            check(&told, expect);
        }
        let large = "x".repeat(20_000);
        check(
            &format!("$W\0{SAME}BIG={large}\0"),
            r#"|{}|{}|["20003 bytes of exported variables are more than the 16384 that carry over: none do"]"#,
        );
    }

    #[test]
    fn the_next_command_gets_what_was_left() {
        let (_folder, mut context) = context();
        context.start.set.insert("B".to_owned(), "2".to_owned());
        context.start.unset.insert("A".to_owned());
        context.start.folder = Some(context.cwd.join("sub"));
        assert_eq!(environment(&context), [("B".into(), "2".into()), ("PATH".into(), "/bin".into())]);
        assert_eq!(folder(&context), context.cwd.join("sub"));
        assert_eq!(lost_folder(&context), None);
        for lost in [Path::new("/"), &context.cwd.join("gone"), &context.cwd.join("out")] {
            context.start.folder = Some(lost.to_owned());
            let output = lost_folder(&context).unwrap();
            assert_eq!(output.shell, Some(ShellState { folder: None, ..context.start.clone() }));
            assert!(output.is_error, "{output:?}");
        }
    }
}
