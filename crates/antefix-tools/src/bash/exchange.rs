//! A command of the user's that is given a text and answers with texts: a hook.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use super::capture::Take;
use super::process::Ending;
use super::{End, Running, launch};
use crate::{Context, Failure};

/// What a command is asked.
#[derive(Clone, Debug)]
pub struct Exchange<'a> {
    /// The shell line.
    pub command: &'a str,
    /// What stands on its standard input.
    pub input: &'a [u8],
    /// Variables besides those that all commands get.
    pub variables: Vec<(OsString, OsString)>,
    /// How long it may take.
    pub timeout: Duration,
    /// Bytes of its standard output that are kept at most.
    pub output_bytes: usize,
    /// Bytes of its standard error that are kept at most.
    pub error_bytes: u64,
}

/// What it answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchanged {
    /// How it ended.
    pub end: ExchangeEnd,
    /// The start of its standard output.
    pub output: Vec<u8>,
    /// The start of its standard error.
    pub errors: Vec<u8>,
    /// Whether it printed more than is kept.
    pub is_cut: bool,
}

/// How a command ended that was asked something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangeEnd {
    /// By itself, with this exit code.
    Code(i32),
    /// By a signal.
    Signal(i32),
    /// It took too long and was stopped.
    TimedOut,
    /// It was stopped since the turn was.
    Cancelled,
    /// Nobody can say.
    Unknown,
}

impl Exchange<'_> {
    /// Runs the command in the workspace folder, unconfined, and waits for its end. What it leaves behind is stopped.
    ///
    /// # Errors
    /// [`Failure`] if it cannot be started; without a [`Context::helper`] nothing can.
    pub async fn run(&self, context: &Context) -> Result<Exchanged, Failure> {
        let context = self.context(context);
        let (process, output) =
            launch::launch_with_input(&context, self.command, self.input, self.error_bytes)?;
        let bounded = Bounded { bytes: Vec::new(), room: self.output_bytes, is_cut: false };
        let mut running = Running::new(&context, process, output, bounded);
        let end = match running.until_end(self.timeout).await {
            End::Itself { how: Ending::Code(code), .. } => ExchangeEnd::Code(code),
            End::Itself { how: Ending::Signal(signal), .. } => ExchangeEnd::Signal(signal),
            End::Itself { how: Ending::Unknown, .. } => ExchangeEnd::Unknown,
            End::TimedOut(_) => ExchangeEnd::TimedOut,
            End::Cancelled => ExchangeEnd::Cancelled,
        };
        let errors = running.process.take_errors();
        let Bounded { bytes, is_cut, .. } = running.capture;
        Ok(Exchanged { end, output: bytes, errors, is_cut })
    }

    /// The session's, without what the model's shell has left: the command is the user's, not the model's.
    fn context(&self, context: &Context) -> Context {
        let mut own = context.clone().with_progress(|_| ());
        own.start = crate::ShellState::default();
        own.sandbox = Arc::default();
        let variables = context.environment.iter().chain(&self.variables).cloned();
        own.with_environment(variables.collect())
    }
}

/// The start of an output.
struct Bounded {
    bytes: Vec<u8>,
    room: usize,
    is_cut: bool,
}

impl Take for Bounded {
    fn push(&mut self, bytes: &[u8]) {
        let fits = bytes.len().min(self.room - self.bytes.len());
        self.is_cut |= fits < bytes.len();
        // INVARIANT: `fits` is at most the length.
        self.bytes.extend_from_slice(&bytes[..fits]);
    }
}
