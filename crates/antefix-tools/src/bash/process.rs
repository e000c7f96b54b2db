//! A command that was started, and how it is followed and ended.

use std::future::pending;
use std::io::{PipeWriter, Write};
use std::process::ExitStatus;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::process::Child;
use tokio::time::sleep;

use super::group::Group;
use crate::sandbox::{ASK, FORCE, STAY};

/// A command that was started; dropped, it is ended by force with all that came of it.
pub(super) enum Process {
    /// Held by a keeper, which knows of everything that comes of it.
    Kept(Kept),
    /// In a process group; what leaves the group is not known.
    Grouped { child: Child, group: Group, is_gone: bool },
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Code(i32),
    Signal(i32),
    /// Nobody can say.
    Unknown,
}

impl Process {
    /// A command in a process group of its own.
    pub(super) fn grouped(child: Child) -> Self {
        let group = Group::new(child.id());
        Self::Grouped { child, group, is_gone: false }
    }

    /// Waits for the command itself; what came of it may go on.
    pub(super) async fn ended(&mut self) -> Ending {
        match self {
            Self::Kept(kept) => kept.ended().await,
            Self::Grouped { child, .. } => child.wait().await.map_or(Ending::Unknown, ending),
        }
    }

    /// Asks all processes to end.
    pub(super) fn ask(&self) {
        match self {
            Self::Kept(kept) => kept.ask(),
            Self::Grouped { group, .. } => group.ask(),
        }
    }

    /// Ends all processes.
    pub(super) fn force(&self) {
        match self {
            Self::Kept(kept) => kept.force(),
            Self::Grouped { group, .. } => group.force(),
        }
    }

    /// Whether no process is left, as far as has been seen.
    pub(super) fn is_gone(&self) -> bool {
        match self {
            Self::Kept(kept) => kept.is_gone,
            Self::Grouped { is_gone, .. } => *is_gone,
        }
    }

    /// Waits until no process is left.
    pub(super) async fn gone(&mut self) {
        match self {
            Self::Kept(kept) => kept.gone().await,
            Self::Grouped { child, group, is_gone } => {
                // Reaps the command itself, which would otherwise count as a member of the group.
                while !matches!(child.try_wait(), Ok(Some(_)) | Err(_)) || group.is_alive() {
                    sleep(POLL).await;
                }
                *is_gone = true;
            }
        }
    }

    /// What the shell told at its end of where it is and what it exports.
    pub(super) fn take_state(&mut self) -> Option<Vec<u8>> {
        match self {
            Self::Kept(kept) => kept.state.take(),
            Self::Grouped { .. } => None,
        }
    }

    /// What the command printed to its standard error, where that was to be told apart.
    pub(super) fn take_errors(&mut self) -> Vec<u8> {
        match self {
            Self::Kept(kept) => kept.errors.take().unwrap_or_default(),
            Self::Grouped { .. } => Vec::new(),
        }
    }
}

/// A command that a keeper holds.
#[derive(Debug)]
pub(super) struct Kept {
    /// Its end says nothing that its pipe does not say; it is here to be reaped.
    _keeper: Child,
    orders: PipeWriter,
    told: pipe::Receiver,
    unread: Vec<u8>,
    /// What is told in bytes that are still to come, and how many they are.
    coming: Option<(Told, usize)>,
    state: Option<Vec<u8>>,
    errors: Option<Vec<u8>>,
    ending: Option<Ending>,
    group: Option<i32>,
    is_gone: bool,
}

/// What a keeper tells in bytes behind a line.
#[derive(Clone, Copy, Debug)]
enum Told {
    State,
    Errors,
}

impl Kept {
    pub(super) fn new(keeper: Child, orders: PipeWriter, told: pipe::Receiver) -> Self {
        Self {
            _keeper: keeper,
            orders,
            told,
            unread: Vec::new(),
            coming: None,
            state: None,
            errors: None,
            ending: None,
            group: None,
            is_gone: false,
        }
    }

    /// Hands over what the command is to read, in front of all orders; the keeper takes it in first of all.
    pub(super) fn give(&self, input: &[u8]) -> std::io::Result<()> {
        (&self.orders).write_all(input)
    }

    /// Leaves the command running when this is dropped.
    pub(super) fn stay(&self) {
        self.order(STAY);
    }

    /// What is known of the end by now, without waiting.
    pub(super) fn look(&mut self) -> Option<Ending> {
        let mut buffer = [0; 256];
        while !self.is_gone {
            match self.told.try_read(&mut buffer) {
                Ok(0) => self.is_gone = true,
                // INVARIANT: as many bytes were read into it.
                Ok(length) => self.take_in(&buffer[..length]),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
                Err(_) => self.is_gone = true,
            }
        }
        self.ending.clone().or(self.is_gone.then_some(Ending::Unknown))
    }

    /// Whether no process is left, as far as is known by now.
    pub(super) fn is_over(&mut self) -> bool {
        self.look();
        self.is_gone
    }

    /// The process group of the command, which is its session too.
    pub(super) fn group(&self) -> Option<i32> {
        self.group
    }

    /// Asks all processes to end.
    pub(super) fn ask(&self) {
        self.order(ASK);
    }

    /// Ends all processes.
    pub(super) fn force(&self) {
        self.order(FORCE);
    }

    fn order(&self, order: u8) {
        // A keeper that is gone has nothing to hold.
        let _ = (&self.orders).write_all(&[order]);
    }

    async fn ended(&mut self) -> Ending {
        while self.ending.is_none() && !self.is_gone {
            self.listen().await;
        }
        self.ending.clone().unwrap_or(Ending::Unknown)
    }

    async fn gone(&mut self) {
        while !self.is_gone {
            self.listen().await;
        }
    }

    async fn listen(&mut self) {
        let mut buffer = [0; 4096];
        match self.told.read(&mut buffer).await {
            Ok(0) | Err(_) => self.is_gone = true,
            // INVARIANT: as many bytes were read into it.
            Ok(length) => self.take_in(&buffer[..length]),
        }
    }

    fn take_in(&mut self, bytes: &[u8]) {
        self.unread.extend_from_slice(bytes);
        loop {
            if let Some((told, length)) = self.coming {
                if self.unread.len() < length {
                    return;
                }
                let rest = self.unread.split_off(length);
                let bytes = Some(std::mem::replace(&mut self.unread, rest));
                match told {
                    Told::State => self.state = bytes,
                    Told::Errors => self.errors = bytes,
                }
                self.coming = None;
            }
            let Some(end) = memchr::memchr(b'\n', &self.unread) else { return };
            let line: Vec<u8> = self.unread.drain(..=end).collect();
            self.line(String::from_utf8_lossy(&line).trim_end());
        }
    }

    fn line(&mut self, line: &str) {
        let Some((word, number)) = line.split_once(' ') else { return };
        match (word, number.parse::<i32>()) {
            ("started", Ok(id)) => self.group = Some(id),
            ("state", Ok(length)) => self.coming = coming(Told::State, length),
            ("errors", Ok(length)) => self.coming = coming(Told::Errors, length),
            ("exited", Ok(code)) => self.ending = Some(Ending::Code(code)),
            ("killed", Ok(signal)) => self.ending = Some(Ending::Signal(signal)),
            _ => {}
        }
    }
}

fn coming(told: Told, length: i32) -> Option<(Told, usize)> {
    Some((told, usize::try_from(length).ok()?))
}

fn ending(status: ExitStatus) -> Ending {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Code(code),
        (None, Some(signal)) => Ending::Signal(signal),
        (None, None) => Ending::Unknown,
    }
}

/// Waits for `gone`, or for ever once that has been seen.
pub(super) async fn gone_once(process: &mut Process) {
    if process.is_gone() {
        return pending().await;
    }
    process.gone().await;
}

/// How often the end of the processes is looked for: the kernel tells nobody that a group is empty.
const POLL: Duration = Duration::from_millis(5);
