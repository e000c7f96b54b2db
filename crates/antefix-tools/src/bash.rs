//! `bash`: runs a shell command.

mod capture;
mod exchange;
mod group;
mod jobs;
mod launch;
mod process;
mod remark;
mod state;

use std::future::pending;
use std::time::Duration;

use antefix_wire::json::Body;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::time::{Instant, sleep_until};

use crate::tool::built_in;
use crate::{Access, BoxFuture, Context, Definition, Failure, Fields, Output, ProgressKind, Tool};
use capture::{Capture, Take};
use process::{Ending, Process, gone_once};

pub use exchange::{Exchange, ExchangeEnd, Exchanged};
pub use jobs::{BashKill, BashOutput, Jobs};
pub use launch::{SECRET_NAMES, SECRET_PARTS, SECRET_SUFFIXES, is_secret};
pub use state::{Shell, ShellState};

/// `bash`: runs a shell command in the workspace, with standard input closed.
///
/// The result is the output as it arrived, standard output and standard error in one, and then one line in
/// brackets per remark, the last of which says how the command ended: `[exit code 0]`. Output over the cap is
/// shown as its start and its end, and is whole in a file of [`Context::spill`] that is named by its digest.
/// What the command leaves behind is stopped when it ends, times out or is cancelled; without a helper
/// ([`Context::helper`]), what has left its process group stays.
#[derive(Debug)]
pub struct Bash {
    definition: Definition,
}

impl Bash {
    /// Makes the tool.
    pub fn new() -> Self {
        Self { definition: built_in("bash", DESCRIPTION, SCHEMA) }
    }

    /// The name of the shell that commands run in: `sh` where there is no `bash`.
    pub fn shell(context: &Context) -> &'static str {
        launch::find(context, "bash").map_or("sh", |_| "bash")
    }
}

impl Default for Bash {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for Bash {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn access(&self, _: &Context, _: &Body) -> Access {
        Access::Anywhere
    }

    fn call<'a>(&'a self, context: &'a Context, input: Body) -> BoxFuture<'a, Output> {
        Box::pin(async move { run(context, &input).await.into() })
    }
}

async fn run(context: &Context, input: &Body) -> Result<Output, Failure> {
    let fields = Fields::new(input)?;
    let command = fields.string("command", "a shell command")?;
    fields.optional_string("description", "a few words")?;
    let timeout = fields.optional_number("timeout_ms", 1)?.map(Duration::from_millis);
    let timeout = timeout.unwrap_or(context.limits.shell_timeout).min(context.limits.shell_timeout_max);
    if command.trim().is_empty() {
        return Err(Failure::new("`command` is empty: expected a shell command"));
    }
    if let Some(output) = state::lost_folder(context) {
        return Ok(output);
    }
    if fields.flag("background")? {
        return jobs::start(context, &command);
    }
    let (process, output) = launch::launch(context, &command)?;
    let limits = &context.limits;
    let capture = Capture::new(limits.shell_bytes, limits.spill_bytes, context.spill.clone());
    let mut running = Running::new(context, process, output, capture);
    let end = running.until_end(timeout).await;
    Ok(running.report(end))
}

/// How a command ended.
enum End {
    Itself { how: Ending, left_behind: bool },
    TimedOut(Duration),
    Cancelled,
}

/// A command that runs, and what it has printed so far.
struct Running<'a, T> {
    context: &'a Context,
    process: Process,
    /// `None` once every writer has closed it.
    output: Option<pipe::Receiver>,
    buffer: Vec<u8>,
    capture: T,
}

impl<'a, T: Take> Running<'a, T> {
    fn new(context: &'a Context, process: Process, output: pipe::Receiver, capture: T) -> Self {
        Self { context, process, output: Some(output), buffer: Vec::with_capacity(CHUNK_BYTES), capture }
    }

    async fn until_end(&mut self, timeout: Duration) -> End {
        let context = self.context;
        let deadline = Instant::now() + timeout;
        let how = loop {
            tokio::select! {
                how = self.process.ended() => break how,
                () = take(&mut self.output, &mut self.buffer, &mut self.capture, context) => {}
                () = sleep_until(deadline) => {
                    self.stop().await;
                    return End::TimedOut(timeout);
                }
                () = context.cancellation.cancelled() => {
                    self.stop().await;
                    return End::Cancelled;
                }
            }
        };
        End::Itself { how, left_behind: self.clear_up().await }
    }

    /// Takes in what is left in the pipe, and stops the processes that outlive the command; says whether
    /// there were any.
    async fn clear_up(&mut self) -> bool {
        let left_behind = !self.drain(LINGER).await;
        if left_behind {
            self.stop().await;
        }
        left_behind
    }

    /// Ends all processes: asks, waits for the grace period, forces.
    async fn stop(&mut self) {
        self.process.ask();
        if !self.drain(self.context.limits.kill_grace).await {
            self.process.force();
            self.drain(LINGER).await;
        }
    }

    /// Reads until the pipe is closed and all processes are gone; `false` if that took longer than `patience`.
    async fn drain(&mut self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        while self.output.is_some() || !self.process.is_gone() {
            tokio::select! {
                biased;
                () = sleep_until(deadline) => return false,
                () = take(&mut self.output, &mut self.buffer, &mut self.capture, self.context) => {}
                () = gone_once(&mut self.process) => {}
            }
        }
        true
    }
}

impl Running<'_, Capture> {
    fn report(mut self, end: End) -> Output {
        let (mut text, mut notes) = self.capture.finish();
        let is_error = !matches!(&end, End::Itself { how: Ending::Code(0), .. });
        if is_error && !matches!(end, End::Cancelled) {
            notes.extend(remark::remarks(self.context, &text));
        }
        let state = self.process.take_state().and_then(|told| state::read(self.context, &told));
        let shell = state.and_then(|(state, remarks)| {
            notes.extend(remarks);
            (state != self.context.start).then_some(state)
        });
        match end {
            End::Itself { how, left_behind } => {
                if left_behind {
                    notes.push("processes left in the background were stopped".to_owned());
                }
                notes.push(ending(&how));
            }
            End::TimedOut(timeout) => {
                notes.push(format!("stopped: still running after {} ms", timeout.as_millis()));
            }
            End::Cancelled => notes.push("stopped: cancelled by the user".to_owned()),
        }
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        let notes: Vec<_> = notes.iter().map(|note| format!("[{note}]")).collect();
        text.push_str(&notes.join("\n"));
        Output { is_error, shell, ..Output::text(text) }
    }
}

/// Takes in the next piece of output; waits for ever once there is no more.
async fn take(
    output: &mut Option<pipe::Receiver>,
    buffer: &mut Vec<u8>,
    capture: &mut impl Take,
    context: &Context,
) {
    let Some(receiver) = output else {
        return pending().await;
    };
    buffer.clear();
    match receiver.read_buf(buffer).await {
        Ok(0) | Err(_) => *output = None,
        Ok(_) => {
            capture.push(buffer);
            context.report(ProgressKind::Text(String::from_utf8_lossy(buffer).into_owned()));
        }
    }
}

fn ending(how: &Ending) -> String {
    match how {
        Ending::Code(code) => format!("exit code {code}"),
        Ending::Signal(signal) => format!("killed by signal {signal}"),
        Ending::Unknown => "ended, and its exit code is not known".to_owned(),
    }
}

const DESCRIPTION: &str = "Runs a command with `bash -c` in the workspace folder and returns what it printed \
(standard output and standard error together, in order) and its exit code. The next call goes on in the \
folder where this one ends, and with the variables it exports; shell variables, functions and options do not carry \
over. Standard input is empty and there is no terminal. Processes left behind with `&` are stopped when the command \
ends; for a server or a watcher set `background`, and look at it with `bash_output`. Long output is shown as its start and end, and is whole in a file that `read` and `grep` can open. \
To look at files, `read` and `grep` are cheaper than cat and find.";

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "command": {"type": "string", "description": "The command line; may be several lines"},
        "timeout_ms": {"type": "integer", "minimum": 1, "maximum": 600000, "description": "Milliseconds after which the command is stopped; 120000 if not given"},
        "background": {"type": "boolean", "description": "Return at once and let the command run as a job, until it ends, bash_kill ends it, or the agent ends; what it leaves does not carry over"},
        "description": {"type": "string", "description": "What the command does, in a few words, for the person watching"}
    },
    "required": ["command"]
}"#;

/// Bytes of output that are taken in at once.
const CHUNK_BYTES: usize = 64 << 10;

/// How long output and processes that outlive the command are waited for.
const LINGER: Duration = Duration::from_millis(200);
