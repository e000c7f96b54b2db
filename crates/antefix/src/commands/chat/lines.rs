//! What the user types: edited in a terminal, or line by line from a pipe.

use std::io::{self, BufRead, IsTerminal, Write};
use std::sync::mpsc::{Sender, channel};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use rustyline::Editor;
use rustyline::config::{Behavior, Config};
use rustyline::error::ReadlineError;
use rustyline::history::MemHistory;
use tokio::sync::mpsc;

use crate::failure::Failure;
use crate::out::tell;

/// Reads messages on a thread of its own, one whenever it is asked: reading cannot be stopped, and while a turn runs its
/// questions are what is answered.
pub struct Lines {
    /// The number of the message that is to be read.
    wanted: Sender<u64>,
    messages: mpsc::UnboundedReceiver<Result<Option<String>, Failure>>,
    /// One is being read.
    is_reading: bool,
    /// What the terminal was before it was read from.
    terminal: Option<Termios>,
}

impl Lines {
    /// Nothing is read yet.
    pub fn open() -> Self {
        let (wanted, numbers) = channel();
        let (told, messages) = mpsc::unbounded_channel();
        let terminal = tcgetattr(io::stdin()).ok();
        std::thread::spawn(move || {
            let mut source = Source::open();
            for number in numbers {
                if told.send(source.message(number)).is_err() {
                    return;
                }
            }
        });
        Self { wanted, messages, is_reading: false, terminal }
    }

    /// The next message; `None` at the end. Nothing is lost where the wait for it is given up.
    ///
    /// # Errors
    /// If it cannot be read.
    pub async fn next(&mut self, number: u64) -> Result<Option<String>, Failure> {
        if !self.is_reading {
            self.is_reading = self.wanted.send(number).is_ok();
        }
        let message = self.messages.recv().await;
        self.is_reading = false;
        message.unwrap_or(Ok(None))
    }

    /// Whether somebody types.
    pub fn is_terminal(&self) -> bool {
        self.terminal.is_some()
    }
}

impl Drop for Lines {
    /// A read that goes on while the process ends would leave the terminal without echo, and with marks around what is
    /// pasted.
    fn drop(&mut self) {
        if let Some(terminal) = self.terminal.as_ref().filter(|_| self.is_reading) {
            // A terminal that has gone away needs nothing.
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, terminal);
            let _ = io::stderr().write_all(b"\x1b[?2004l\r\n");
        }
    }
}

enum Source {
    /// What was typed is kept for this process alone.
    Terminal(MemHistory),
    Pipe,
}

impl Source {
    fn open() -> Self {
        if io::stdin().is_terminal() { Self::Terminal(MemHistory::new()) } else { Self::Pipe }
    }

    /// A message of one line, or of more where each but the last ends in `\`; `None` at the end.
    fn message(&mut self, number: u64) -> Result<Option<String>, Failure> {
        let Self::Terminal(history) = self else { return piped(&mut io::stdin().lock()) };
        // An editor takes Ctrl-C for itself for as long as it lives, and a turn wants it.
        let config = Config::builder().behavior(Behavior::PreferTerm).auto_add_history(true).build();
        let mut editor =
            Editor::<(), _>::with_history(config, std::mem::take(history)).map_err(|error| unread(&error))?;
        let message = edited(&mut editor, number);
        *history = std::mem::take(editor.history_mut());
        message
    }
}

fn edited(editor: &mut Editor<(), MemHistory>, number: u64) -> Result<Option<String>, Failure> {
    let mut text = String::new();
    loop {
        let prompt = if text.is_empty() { format!("{number}> ") } else { "… ".to_owned() };
        match editor.readline(&prompt) {
            Ok(line) => match line.strip_suffix('\\') {
                Some(line) => {
                    text.push_str(line);
                    text.push('\n');
                }
                None => return Ok(Some(text + &line)),
            },
            Err(ReadlineError::Interrupted) => text.clear(),
            Err(ReadlineError::Eof) => return Ok((!text.is_empty()).then_some(text)),
            Err(error) => return Err(unread(&error)),
        }
    }
}

fn piped(input: &mut impl BufRead) -> Result<Option<String>, Failure> {
    loop {
        let mut bytes = Vec::new();
        let is_over = loop {
            let begun = bytes.len();
            input.read_until(b'\n', &mut bytes).map_err(|error| unread(&error))?;
            let is_over = bytes.len() == begun || bytes.pop_if(|last| *last == b'\n').is_none();
            bytes.pop_if(|last| *last == b'\r');
            if is_over || bytes.pop_if(|last| *last == b'\\').is_none() {
                break is_over;
            }
            bytes.push(b'\n');
        };
        match String::from_utf8(bytes) {
            Ok(text) if text.is_empty() && is_over => return Ok(None),
            Ok(text) => return Ok(Some(text)),
            Err(_) => tell!("! a message on standard input is not UTF-8 and is left out"),
        }
    }
}

fn unread(error: &impl std::fmt::Display) -> Failure {
    Failure::failed(format!("what is typed cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_gives_messages() {
        for (input, expect) in [
            (&b""[..], &[][..]),
            (b"one", &["one"]),
            (b"one\n", &["one"]),
            (b"one\r\ntwo\n", &["one", "two"]),
            (b"\none\n", &["", "one"]),
            (b"one \\\ntwo\n", &["one \ntwo"]),
            (b"one \\\r\ntwo", &["one \ntwo"]),
            (b"one\\", &["one\\"]),
            (b"one \\\n\xff\\\nthree\nfour\n", &["four"]),
            (b"\xff\n", &[]),
        ] {
            let mut input = input;
            let mut found = Vec::new();
            while let Some(text) = piped(&mut input).unwrap() {
                found.push(text);
            }
            assert_eq!(found, expect);
        }
    }
}
