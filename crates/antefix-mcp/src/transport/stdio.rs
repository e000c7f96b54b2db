//! A server that is a process: one message a line on its standard input and output.

use std::process::{ExitStatus, Stdio as Pipe};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;

use crate::config::Stdio;
use crate::error::ConnectError;
use crate::hub::Options;
use crate::link::Carrier;
use crate::notes::{MOST_STRAYS, Notes};
use crate::{BoxFuture, LONGEST_MESSAGE};

/// A server's process; dropped, it is ended with all it has started.
pub(crate) struct Process {
    child: Child,
    group: Option<Pid>,
    input: Arc<Input>,
    /// The readers of its output; they end with it.
    _readers: JoinSet<()>,
}

/// A server's process and its messages.
pub(crate) fn start(
    stdio: &Stdio,
    options: &Options,
    notes: &Notes,
) -> Result<(Process, mpsc::Receiver<Vec<u8>>), ConnectError> {
    let folder = stdio.cwd.as_deref().unwrap_or(&options.folder);
    if !folder.is_dir() {
        let text = format!("its folder `{}` is not there", folder.display());
        return Err(ConnectError::lasting(notes.clean(&text)));
    }
    let mut command = Command::new(&stdio.command);
    command.args(&stdio.args).current_dir(folder).env_clear().envs(options.environment.iter().cloned());
    command.envs(stdio.env.iter().map(|(name, value)| (name, value.expose())));
    command.process_group(0).kill_on_drop(true);
    command.stdin(Pipe::piped()).stdout(Pipe::piped()).stderr(Pipe::piped());
    let mut child = command.spawn().map_err(|error| {
        let text = format!("`{}` could not be started: {error}", stdio.command);
        ConnectError { text: notes.clean(&text), may_pass: false }
    })?;
    let (Some(input), Some(output), Some(errors)) =
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    else {
        return Err(ConnectError::lasting("its pipes could not be made"));
    };
    let (sender, incoming) = mpsc::channel(LINES_WAITING);
    let mut readers = JoinSet::new();
    readers.spawn(read_lines(BufReader::new(output), sender, notes.clone()));
    readers.spawn(read_log(errors, notes.clone()));
    let group = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    let input = Arc::new(Input { pipe: Arc::new(Mutex::new(Some(input))) });
    Ok((Process { child, group, input, _readers: readers }, incoming))
}

impl Process {
    /// Where messages to it go.
    pub(crate) fn carrier(&self) -> Arc<dyn Carrier> {
        Arc::clone(&self.input) as Arc<dyn Carrier>
    }

    /// Closes its input, asks it to end where that is not enough, and forces it where that is not.
    pub(crate) async fn stop(&mut self) {
        self.input.pipe.lock().await.take();
        if self.ends_within(CLOSE_GRACE).await.is_none() {
            self.signal(Signal::TERM);
            self.ends_within(TERM_GRACE).await;
        }
        self.signal(Signal::KILL);
    }

    /// How it ended, if it does within so long.
    pub(crate) async fn ends_within(&mut self, patience: Duration) -> Option<ExitStatus> {
        tokio::time::timeout(patience, self.child.wait()).await.ok()?.ok()
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // Whoever is left of the group; nobody is no fault.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

/// The standard input of a server.
struct Input {
    pipe: Arc<Mutex<Option<ChildStdin>>>,
}

impl Carrier for Input {
    fn send(&self, message: Vec<u8>) -> BoxFuture<'static, std::io::Result<()>> {
        let pipe = Arc::clone(&self.pipe);
        Box::pin(async move {
            let mut pipe = pipe.lock().await;
            let closed = || std::io::Error::new(std::io::ErrorKind::BrokenPipe, "its input is closed");
            let input = pipe.as_mut().ok_or_else(closed)?;
            let line = [message.as_slice(), b"\n"].concat();
            let written = async {
                input.write_all(&line).await?;
                input.flush().await
            };
            // A message that was written in part spoils the one behind it.
            let done = tokio::time::timeout(WRITE_PATIENCE, written).await;
            match done {
                Ok(Ok(())) => Ok(()),
                Ok(Err(error)) => {
                    pipe.take();
                    Err(error)
                }
                Err(_) => {
                    pipe.take();
                    Err(std::io::Error::new(std::io::ErrorKind::TimedOut, "it does not read its input"))
                }
            }
        })
    }
}

/// Hands on lines until the output ends, a line is too long, or too many are no messages.
async fn read_lines(
    mut output: BufReader<impl AsyncRead + Unpin>,
    sender: mpsc::Sender<Vec<u8>>,
    notes: Notes,
) {
    loop {
        let mut line = Vec::new();
        let mut limited = (&mut output).take(LONGEST_MESSAGE as u64 + 1);
        match limited.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) if line.len() > LONGEST_MESSAGE => {
                notes.cut_off("it was cut off: a line on its standard output is longer than 32 MiB");
                return;
            }
            Ok(_) => {}
        }
        if notes.strays() >= MOST_STRAYS {
            notes.cut_off("it was cut off: its standard output is full of lines that are no messages");
            return;
        }
        if sender.send(line).await.is_err() {
            return;
        }
    }
}

async fn read_log(mut errors: impl AsyncRead + Unpin, notes: Notes) {
    let mut buffer = vec![0; 8 << 10];
    while let Ok(read @ 1..) = errors.read(&mut buffer).await {
        // INVARIANT: no more is read than fits.
        notes.log(&buffer[..read]);
    }
}

/// Lines that wait to be read; a server that prints more waits.
const LINES_WAITING: usize = 16;

/// How long a server may take to end once its input is closed.
const CLOSE_GRACE: Duration = Duration::from_millis(500);

/// How long it may take once it was asked to.
const TERM_GRACE: Duration = Duration::from_millis(500);

/// How long a message may wait for a server that does not read.
const WRITE_PATIENCE: Duration = Duration::from_secs(30);
