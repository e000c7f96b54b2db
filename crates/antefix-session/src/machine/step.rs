use crate::event::{Command, SessionEvent};
use crate::record::{EndReason, Entry};

/// Commands of one step, in order.
#[derive(Default)]
pub(super) struct Step {
    pub(super) commands: Vec<Command>,
    /// Said with the next event, so that it does not part records which belong together.
    later: Vec<SessionEvent>,
}

impl Step {
    pub(super) fn append(&mut self, entry: Entry) {
        match self.commands.last_mut() {
            Some(Command::Append { entries, .. }) => entries.push(entry),
            _ => self.commands.push(Command::Append { entries: vec![entry], durable: false }),
        }
    }

    pub(super) fn emit(&mut self, event: SessionEvent) {
        self.commands.extend(self.later.drain(..).chain([event]).map(Command::Emit));
    }

    /// Emits in front of the next event.
    pub(super) fn emit_later(&mut self, event: SessionEvent) {
        self.later.push(event);
    }

    pub(super) fn end(&mut self, turn: u64, reason: EndReason, message: Option<String>) {
        self.emit(SessionEvent::TurnEnded { turn, reason, message });
    }

    /// Makes what was appended so far survive a loss of power before anything further is done.
    pub(super) fn durable(&mut self) {
        match self.commands.iter_mut().rev().find(|command| matches!(command, Command::Append { .. })) {
            Some(Command::Append { durable, .. }) => *durable = true,
            _ => self.commands.push(Command::Append { entries: Vec::new(), durable: true }),
        }
    }
}
