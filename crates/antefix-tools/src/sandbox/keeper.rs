//! The role that starts a command and holds everything that comes of it.
//!
//! The keeper's standard input is a pipe whose other end its starter holds: one letter is an order, and the end of
//! it says that the starter is gone, whatever ended it; what the command is to read may stand in front of the orders.
//! Standard output tells what becomes of the command, one line each: `started PID`, `state LENGTH` and so many bytes
//! behind it, `exited CODE` or `killed SIGNAL`, `errors LENGTH` and so many bytes. The keeper ends when no process is
//! left that came of the command. Standard error is where the command prints.

mod processes;

use std::fs::File;
use std::io::{self, PipeReader, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, AsRawFd, IntoRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::{Errno, FdFlags, fcntl_dupfd_cloexec, fcntl_setfd};
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};

use super::HelperError;
use super::options::{Options, Role};

/// The order to ask all processes to end.
pub(crate) const ASK: u8 = b't';
/// The order to end all processes by force.
pub(crate) const FORCE: u8 = b'k';
/// The order to go on when the starter is gone.
pub(crate) const STAY: u8 = b's';

/// Starts the command and stays until nothing of it is left.
pub(super) fn keep(options: &Options) -> Result<ExitCode, HelperError> {
    // What a command leaves behind becomes a child of the keeper, not of the system's first process.
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).map_err(io::Error::from)?;
    let state = if options.tells_state { Some(inherited_memory("state")?) } else { None };
    let input = options.input.map(given).transpose()?;
    let (sink, copying) = output(options)?;
    let (errors, collecting) = options.errors.map(errors).transpose()?.unzip();
    let command = start(options, state.as_ref(), Streams { input, sink, errors })?;
    tell(format!("started {}\n", command.as_raw_nonzero()).as_bytes());
    thread::spawn(obey);
    let copying = copying.map(|copying| thread::spawn(move || copying.run()));
    let collecting = collecting.map(|collecting| thread::spawn(move || collecting.run()));
    reap(command, state);
    if let Some(Ok(Ok(said))) = collecting.map(thread::JoinHandle::join)
        && !said.is_empty()
    {
        tell(format!("errors {}\n", said.len()).as_bytes());
        tell(&said);
    }
    if let Some(copying) = copying {
        // A copy that failed has shown so in the file's size.
        drop(copying.join());
    }
    Ok(ExitCode::SUCCESS)
}

/// Makes the script that has a shell tell, at its end, where it is and what it exports, on this descriptor; gives the
/// script's own descriptor, which the shell inherits.
pub(super) fn state_script(descriptor: i32) -> io::Result<i32> {
    let mut script = inherited_memory("script")?;
    script.write_all(STATE_SCRIPT.replace("DESCRIPTOR", &descriptor.to_string()).as_bytes())?;
    script.rewind()?;
    Ok(script.into_raw_fd())
}

/// Output that is copied into a file until `room` is used up; what comes then is dropped, so that nobody waits.
struct Copying {
    source: PipeReader,
    path: PathBuf,
    room: u64,
}

impl Copying {
    fn run(mut self) -> io::Result<()> {
        let mut file = File::create(&self.path)?;
        io::copy(&mut self.source.by_ref().take(self.room), &mut file)?;
        io::copy(&mut self.source, &mut io::sink())?;
        Ok(())
    }
}

/// Where the command prints: this process's standard error, or a pipe that is copied into a file.
fn output(options: &Options) -> io::Result<(OwnedFd, Option<Copying>)> {
    match &options.output {
        None => Ok((io::stderr().as_fd().try_clone_to_owned()?, None)),
        Some((path, room)) => {
            let (reader, writer) = io::pipe()?;
            Ok((writer.into(), Some(Copying { source: reader, path: path.clone(), room: *room })))
        }
    }
}

/// What the command reads from and prints to.
struct Streams {
    input: Option<File>,
    sink: OwnedFd,
    /// Where its standard error goes if not to the same place as its output.
    errors: Option<OwnedFd>,
}

/// The bytes in front of the orders, as a file in memory.
fn given(length: u64) -> io::Result<File> {
    let mut memory = File::from(memfd_create("input", MemfdFlags::CLOEXEC)?);
    let copied = io::copy(&mut io::stdin().lock().take(length), &mut memory)?;
    if copied < length {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
    }
    memory.rewind()?;
    Ok(memory)
}

/// A pipe for the command's standard error, and what keeps its first `room` bytes.
fn errors(room: u64) -> io::Result<(OwnedFd, Collecting)> {
    let (source, writer) = io::pipe()?;
    Ok((writer.into(), Collecting { source, room }))
}

/// Output of which the start is kept; what comes then is dropped, so that nobody waits.
struct Collecting {
    source: PipeReader,
    room: u64,
}

impl Collecting {
    fn run(mut self) -> io::Result<Vec<u8>> {
        let mut said = Vec::new();
        self.source.by_ref().take(self.room).read_to_end(&mut said)?;
        io::copy(&mut self.source, &mut io::sink())?;
        Ok(said)
    }
}

fn start(options: &Options, state: Option<&File>, streams: Streams) -> Result<Pid, HelperError> {
    let state = state.map(AsRawFd::as_raw_fd);
    let inner =
        Options { role: Role::Enter, state, output: None, input: None, errors: None, ..options.clone() };
    let mut command = Command::new(OWN_PROGRAM);
    command.arg0(NAME).args(inner.arguments()).stdin(streams.input.map_or_else(Stdio::null, Stdio::from));
    let errors = streams.errors.map_or_else(|| streams.sink.try_clone(), Ok)?;
    command.stdout(streams.sink).stderr(errors);
    let child = command.spawn()?;
    // The starter sees the end of the output when the command's processes have closed it; this one must not hold it.
    drop(command);
    rustix::stdio::dup2_stderr(File::options().write(true).open("/dev/null")?).map_err(io::Error::from)?;
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    id.ok_or_else(|| io::Error::other("it has no process id").into())
}

/// Waits for all children, those left behind by others included; tells the end of the command.
fn reap(command: Pid, state: Option<File>) {
    let mut state = state;
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((id, status))) if id == command => {
                if let Some(state) = state.take() {
                    tell_state(state);
                }
                tell(ending(status).as_bytes());
            }
            Ok(_) | Err(Errno::INTR) => {}
            // There are no children any more.
            Err(_) => return,
        }
    }
}

fn ending(status: WaitStatus) -> String {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => format!("exited {code}\n"),
        (None, signal) => format!("killed {}\n", signal.unwrap_or_default()),
    }
}

fn tell_state(mut state: File) {
    let mut bytes = Vec::new();
    let length = state.seek(SeekFrom::End(0)).unwrap_or_default();
    let read = state.rewind().and_then(|()| state.read_to_end(&mut bytes));
    if length <= STATE_BYTES && read.is_ok() && !bytes.is_empty() {
        tell(format!("state {}\n", bytes.len()).as_bytes());
        tell(&bytes);
    }
}

/// A starter that is gone needs to be told nothing.
fn tell(bytes: &[u8]) {
    let mut out = io::stdout().lock();
    drop(out.write_all(bytes).and_then(|()| out.flush()));
}

/// Carries out orders; ends everything when the starter is gone, unless it was told to stay.
fn obey() {
    let mut stays = false;
    for order in io::stdin().lock().bytes().map_while(Result::ok) {
        match order {
            ASK => {
                processes::signal_all(Signal::TERM);
                // A stopped process takes in the request only when it goes on.
                processes::signal_all(Signal::CONT);
            }
            STAY => stays = true,
            FORCE => {
                stays = false;
                break;
            }
            _ => {}
        }
    }
    if stays {
        return;
    }
    loop {
        processes::end_all();
        // The other thread ends this process once all are gone; the kernel may not have ended them yet.
        thread::sleep(PAUSE);
    }
}

/// A file in memory, empty, that programs started from here inherit under a number they do not use themselves.
fn inherited_memory(name: &str) -> io::Result<File> {
    let memory = memfd_create(name, MemfdFlags::CLOEXEC)?;
    let memory = fcntl_dupfd_cloexec(memory, FIRST_DESCRIPTOR)?;
    fcntl_setfd(&memory, FdFlags::empty())?;
    Ok(File::from(memory))
}

/// This very program, even if another one stands in its place by now.
pub const OWN_PROGRAM: &str = "/proc/self/exe";

/// How the helper is called in lists of processes: whoever ends all `antefix` must not end what would clear up.
pub(crate) const NAME: &str = "shell-keeper";

const PAUSE: Duration = Duration::from_millis(1);

/// Shells use descriptors up to a few dozen.
const FIRST_DESCRIPTOR: i32 = 100;

/// What a shell may tell of its state at most.
const STATE_BYTES: u64 = 256 << 10;

/// Made of builtins only, since the command may have changed `PATH`; what goes wrong stays silent.
const STATE_SCRIPT: &str = r#"unset BASH_ENV
trap '{ builtin set +x; IFS=$'\''\n'\''; builtin printf "%s\0" "$PWD"; for REPLY in $(builtin compgen -e); do builtin printf "%s=%s\0" "$REPLY" "${!REPLY}"; done; } >&DESCRIPTOR 2>/dev/null' EXIT
"#;
