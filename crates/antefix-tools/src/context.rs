//! What a call may use: where it runs, what it may spend, whom it reports to.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::sandbox::{self, Options, Sandbox};
use crate::{Access, Cancellation, FileTable, Jobs, Shell, ShellState, TodoList, paths};

/// What a call may use; cheap to clone, and shared by the calls of a session.
#[derive(Clone)]
pub struct Context {
    /// The workspace root: relative paths start here and commands run here.
    pub cwd: PathBuf,
    /// Where outputs over their cap are written in full; made when first needed.
    pub spill: PathBuf,
    /// Folders outside the workspace that may be read like it, without symbolic links in their paths.
    pub readable: Vec<PathBuf>,
    /// The environment for commands, before secrets are taken out (see
    /// [`SECRET_NAMES`](crate::SECRET_NAMES)).
    pub environment: Arc<Vec<(OsString, OsString)>>,
    /// Tells the call to stop.
    pub cancellation: Cancellation,
    /// The files the model has seen.
    pub files: Arc<FileTable>,
    /// Where the next shell command starts.
    pub shell: Arc<Shell>,
    /// The commands in the background.
    pub jobs: Arc<Jobs>,
    /// The program that holds and confines commands, which passes its arguments to
    /// [`sandbox::helper`](crate::sandbox::helper). Without one, commands are not confined, begin afresh each time, and
    /// what leaves their process group is not known.
    pub helper: Option<Arc<Path>>,
    /// Whether a command starts where the one before it has ended; with a helper only.
    pub carries_over: bool,
    /// The bounds of commands.
    pub sandbox: Arc<Sandbox>,
    /// The list of what is to be done.
    pub todo: Arc<TodoList>,
    /// How much a call may return, read and wait.
    pub limits: Limits,
    /// Where this call's shell command starts: as the shell was when its batch began, and so when it was judged.
    pub(crate) start: ShellState,
    /// Whether the helper can mount, once that is known.
    can_mount: Arc<OnceLock<bool>>,
    call_id: Arc<str>,
    admitted: Option<Arc<Access>>,
    progress: Arc<dyn Fn(Progress) + Send + Sync>,
}

impl Context {
    /// Makes a context with an empty environment, default limits, and nobody listening.
    pub fn new(cwd: impl Into<PathBuf>, spill: impl Into<PathBuf>) -> Self {
        Self {
            cwd: paths::resolve(&cwd.into()),
            spill: paths::resolve(&spill.into()),
            readable: Vec::new(),
            environment: Arc::new(Vec::new()),
            cancellation: Cancellation::new(),
            files: Arc::new(FileTable::default()),
            shell: Arc::new(Shell::default()),
            jobs: Arc::new(Jobs::default()),
            helper: None,
            carries_over: true,
            sandbox: Arc::new(Sandbox::default()),
            start: ShellState::default(),
            todo: Arc::new(TodoList::default()),
            limits: Limits::default(),
            can_mount: Arc::default(),
            call_id: Arc::from(""),
            admitted: None,
            progress: Arc::new(|_| ()),
        }
    }

    /// The context of another session with the same places and bounds, in which nothing has been seen or done; `spill` is
    /// its folder for long outputs.
    pub fn afresh(&self, spill: impl Into<PathBuf>) -> Self {
        Self {
            readable: self.readable.clone(),
            environment: Arc::clone(&self.environment),
            helper: self.helper.clone(),
            carries_over: self.carries_over,
            sandbox: Arc::clone(&self.sandbox),
            limits: self.limits.clone(),
            can_mount: Arc::clone(&self.can_mount),
            ..Self::new(&self.cwd, spill)
        }
    }

    /// Sets the environment for commands.
    pub fn with_environment(mut self, environment: Vec<(OsString, OsString)>) -> Self {
        self.environment = Arc::new(environment);
        self
    }

    /// Sets who is told of progress; called from any thread, so it must be quick.
    pub fn with_progress(mut self, listener: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.progress = Arc::new(listener);
        self
    }

    /// Sets the token that stops the calls.
    pub fn with_cancellation(mut self, cancellation: Cancellation) -> Self {
        self.cancellation = cancellation;
        self
    }

    /// Sets the program that holds commands, and their bounds.
    pub fn with_helper(mut self, program: &Path, sandbox: Sandbox) -> Self {
        self.helper = Some(Arc::from(program));
        self.sandbox = Arc::new(sandbox);
        self
    }

    /// The context of one call of a batch: the same, with progress reported under `call_id`, and with the shell as it
    /// is now.
    pub fn for_call(&self, call_id: &str) -> Self {
        Self { call_id: Arc::from(call_id), start: self.shell.state(), ..self.clone() }
    }

    /// Says what the call was allowed to touch when it was decided upon; `None` where nobody decided.
    pub(crate) fn with_admitted(mut self, access: Option<Access>) -> Self {
        self.admitted = access.map(Arc::new);
        self
    }

    /// What the call was allowed to touch when it was decided upon.
    pub(crate) fn admitted(&self) -> Option<&Access> {
        self.admitted.as_deref()
    }

    /// Adds a folder outside the workspace that may be read like it.
    pub fn with_readable(mut self, folder: &Path) -> Self {
        self.readable.push(paths::resolve(folder));
        self
    }

    /// The id of the call this context was made for; empty outside a batch.
    pub fn call_id(&self) -> &str {
        &self.call_id
    }

    /// Tells the listener how the call is getting on.
    pub fn report(&self, kind: ProgressKind) {
        (self.progress)(Progress { call_id: self.call_id.clone(), kind });
    }

    /// The options that a command's helper is started with.
    pub(crate) fn helper_options(&self, helper: &Path) -> Options {
        let options = self.sandbox.options(&self.cwd);
        // There is nothing to mount where all may be changed.
        let wanted = options.confined && !options.writable.iter().any(|path| path == Path::new("/"));
        let mounts = wanted && *self.can_mount.get_or_init(|| sandbox::can_mount(helper));
        Options { mounts, ..options }
    }

    /// The absolute path of what a model wrote as a path; symbolic links and `..` stay as they are.
    pub fn absolute(&self, path: &str) -> PathBuf {
        self.cwd.join(path)
    }

    /// How a path is shown to the model: relative to the workspace where it lies inside, else absolute.
    pub fn shown(&self, path: &Path) -> String {
        let inside = path.strip_prefix(&self.cwd).ok().filter(|rest| !rest.as_os_str().is_empty());
        printable(&inside.unwrap_or(path).to_string_lossy())
    }

    /// Whether a path without links lies where calls may read without a decision.
    pub(crate) fn is_readable(&self, path: &Path) -> bool {
        let roots = self.readable.iter().chain([&self.cwd, &self.spill]);
        roots.into_iter().any(|root| path.starts_with(root))
    }
}

/// A name as it is shown: letters that could forge a line, or steer a terminal, are replaced.
pub(crate) fn printable(name: &str) -> String {
    if name.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return name.to_owned();
    }
    let is_hidden = |letter: char| letter.is_control() || BIDIRECTIONAL.contains(&letter);
    name.chars().map(|letter| if is_hidden(letter) { '\u{fffd}' } else { letter }).collect()
}

/// Letters that change the order in which others are shown.
const BIDIRECTIONAL: [char; 9] = [
    '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}', '\u{2066}', '\u{2067}', '\u{2068}',
    '\u{2069}',
];

impl fmt::Debug for Context {
    /// Leaves out the environment, which may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("cwd", &self.cwd)
            .field("spill", &self.spill)
            .field("call_id", &self.call_id)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// News of a running call; for a screen, never for the prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The call's id.
    pub call_id: Arc<str>,
    /// What happened.
    pub kind: ProgressKind,
}

/// What happened to a running call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProgressKind {
    /// The call has started.
    Started,
    /// A piece of output as it arrived, decoded lossily.
    Text(String),
    /// The call has ended.
    Finished {
        /// Whether its result is an error.
        is_error: bool,
    },
}

/// How much a call may return, read and wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Lines that `read` returns at most, and its default.
    pub read_lines: usize,
    /// Bytes of text that `read` returns at most.
    pub read_bytes: usize,
    /// Bytes of one line that `read` shows; the rest of the line is cut with a note.
    pub line_bytes: usize,
    /// Bytes of a file that `read` will scan at most.
    pub file_bytes: u64,
    /// Bytes of an image, in base64, that are passed on at most: 5 MiB is what the Messages API takes per
    /// image (<https://platform.claude.com/docs/en/build-with-claude/vision>, 2026-11-30).
    pub image_bytes: u64,
    /// Bytes of a PDF, in base64, that are passed on at most.
    pub document_bytes: u64,
    /// Bytes of a notebook that is shown as its cells; a larger one is shown as the text it is.
    pub notebook_bytes: u64,
    /// Names that an error lists at most.
    pub listed_names: usize,
    /// Bytes of a file that `edit` will change at most.
    pub edit_bytes: u64,
    /// Bytes of the diff that `edit` returns at most.
    pub diff_bytes: usize,
    /// Lines or paths that `grep` returns where the call does not say.
    pub grep_lines: usize,
    /// Bytes that `grep` returns at most.
    pub grep_bytes: usize,
    /// Files that `glob` returns where the call does not say.
    pub glob_files: usize,
    /// Bytes of an output of `grep` or `glob` that are kept in a file at most, once it is over its cap.
    pub kept_bytes: usize,
    /// Bytes of one line that `grep` shows.
    pub grep_line_bytes: usize,
    /// Bytes of a subagent's report that are returned at most.
    pub report_bytes: usize,
    /// Bytes of a command's output that are returned at most, half from its start and half from its end.
    pub shell_bytes: usize,
    /// Bytes of a command's output that are kept in a file at most.
    pub spill_bytes: u64,
    /// Bytes of exported variables that carry over from one command to the next at most.
    pub shell_state_bytes: usize,
    /// How long a command may run where the call does not say.
    pub shell_timeout: Duration,
    /// How long a command may run at most.
    pub shell_timeout_max: Duration,
    /// How long a command has between SIGTERM and SIGKILL.
    pub kill_grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            read_lines: 2_000,
            read_bytes: 50_000,
            line_bytes: 2_000,
            file_bytes: 2 << 30,
            image_bytes: 5 << 20,
            document_bytes: 20 << 20,
            notebook_bytes: 32 << 20,
            listed_names: 100,
            edit_bytes: 64 << 20,
            diff_bytes: 4_000,
            grep_lines: 200,
            grep_bytes: 30_000,
            glob_files: 200,
            kept_bytes: 8 << 20,
            grep_line_bytes: 400,
            report_bytes: 30_000,
            shell_bytes: 30_000,
            spill_bytes: 256 << 20,
            shell_state_bytes: 16 << 10,
            shell_timeout: Duration::from_secs(120),
            shell_timeout_max: Duration::from_secs(600),
            kill_grace: Duration::from_secs(2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_shown_from_the_workspace() {
        let context = Context::new("/w/app", "/tmp/spill");
        for (path, expect) in [
            ("/w/app/src/a.rs", "src/a.rs"),
            ("/w/apple", "/w/apple"),
            ("/w/app", "/w/app"),
            ("/w/app/a\nb", "a\u{fffd}b"),
        ] {
            assert_eq!(context.shown(Path::new(path)), expect);
        }
        assert_eq!(context.absolute("src"), Path::new("/w/app/src"));
        assert_eq!(context.absolute("/etc"), Path::new("/etc"));
    }

    #[test]
    fn debug_leaves_the_environment_out() {
        let context = Context::new("/w", "/s").with_environment(vec![("KEY".into(), "hidden-value".into())]);
        assert!(!format!("{context:?}").contains("hidden-value"));
    }
}
