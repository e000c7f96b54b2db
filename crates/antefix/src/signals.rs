//! The signals by which an end is asked for: Ctrl-C, a closed terminal, the system's.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

/// What has been asked for so far.
pub struct Signals {
    interrupts: Signal,
    terminations: Signal,
    hangups: Signal,
    is_to_leave: bool,
}

impl Signals {
    /// Takes the signals in from now on; they end the process no longer.
    ///
    /// # Errors
    /// If the system does not let them be taken.
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupts: signal(SignalKind::interrupt())?,
            terminations: signal(SignalKind::terminate())?,
            hangups: signal(SignalKind::hangup())?,
            is_to_leave: false,
        })
    }

    /// Waits for one.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupts.recv() => {}
            _ = self.terminations.recv() => self.is_to_leave = true,
            _ = self.hangups.recv() => self.is_to_leave = true,
        }
    }

    /// Passes the first one on and returns at the second. What runs is closed and its commands are stopped in either
    /// case.
    pub async fn pass_on(&mut self, interrupt: mpsc::UnboundedSender<()>) {
        for _ in 0..2 {
            self.next().await;
            // A turn that is over has no use for it.
            let _ = interrupt.send(());
        }
    }

    /// Whether one of them wants the whole process to end, and not what it just does.
    pub fn is_to_leave(&self) -> bool {
        self.is_to_leave
    }
}
