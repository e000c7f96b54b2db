//! What the user types: edited in a terminal, or line by line from a pipe.

use std::io::{BufRead, IsTerminal};
use std::sync::mpsc::{Sender, channel};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use rustyline::Editor;
use rustyline::config::{Behavior, Config};
use rustyline::error::ReadlineError;
use rustyline::history::MemHistory;
use tokio::sync::mpsc;

use crate::out::tell;

/// Reads messages on a thread of its own, one whenever it is asked: reading cannot be stopped, and while a turn runs its
/// questions are what is answered.
pub struct Lines {
    /// The number of the message that is to be read.
    wanted: Sender<u64>,
    messages: mpsc::UnboundedReceiver<Option<String>>,
    /// What the terminal was before it was read from.
    terminal: Option<Termios>,
}

impl Lines {
    /// Nothing is read yet.
    pub fn open() -> Self {
        let (wanted, numbers) = channel();
        let (told, messages) = mpsc::unbounded_channel();
        let terminal = tcgetattr(std::io::stdin()).ok();
        std::thread::spawn(move || {
            let mut source = Source::open();
            for number in numbers {
                if told.send(source.message(number)).is_err() {
                    return;
                }
            }
        });
        Self { wanted, messages, terminal }
    }

    /// The next message; `None` at the end.
    pub async fn next(&mut self, number: u64) -> Option<String> {
        self.wanted.send(number).ok()?;
        self.messages.recv().await.flatten()
    }
}

impl Drop for Lines {
    /// A read that goes on while the process ends would leave the terminal without echo.
    fn drop(&mut self) {
        if let Some(terminal) = &self.terminal {
            // A terminal that has gone away needs nothing.
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, terminal);
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
        if std::io::stdin().is_terminal() { Self::Terminal(MemHistory::new()) } else { Self::Pipe }
    }

    /// A message; `None` at the end.
    fn message(&mut self, number: u64) -> Option<String> {
        let Self::Terminal(history) = self else { return message(|_| piped(&mut std::io::stdin().lock())) };
        // An editor takes Ctrl-C for itself for as long as it lives, and a turn wants it.
        let config = Config::builder().behavior(Behavior::PreferTerm).auto_add_history(true).build();
        let mut editor = match Editor::<(), _>::with_history(config, std::mem::take(history)) {
            Ok(editor) => editor,
            Err(error) => {
                tell!("! the terminal cannot be read: {error}");
                return None;
            }
        };
        let first = format!("{number}> ");
        let message = message(|is_first| edited(&mut editor, if is_first { &first } else { "… " }));
        *history = std::mem::take(editor.history_mut());
        message
    }
}

/// A message of one line, or of more where each but the last ends in `\`; `None` at the end. `line` is told whether its
/// line is the first.
fn message(mut line: impl FnMut(bool) -> Line) -> Option<String> {
    let mut text = String::new();
    loop {
        match line(text.is_empty()) {
            Line::Text(line) => match line.strip_suffix('\\') {
                Some(line) => {
                    text.push_str(line);
                    text.push('\n');
                }
                None => return Some(text + &line),
            },
            Line::Dropped => text.clear(),
            Line::End if text.is_empty() => return None,
            Line::End => return Some(text),
        }
    }
}

fn edited(editor: &mut Editor<(), MemHistory>, prompt: &str) -> Line {
    match editor.readline(prompt) {
        Ok(line) => Line::Text(line),
        Err(ReadlineError::Interrupted) => Line::Dropped,
        Err(ReadlineError::Eof) => Line::End,
        Err(error) => {
            tell!("! the terminal cannot be read: {error}");
            Line::End
        }
    }
}

/// A line that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Line {
    Text(String),
    Dropped,
    End,
}

fn piped(input: &mut impl BufRead) -> Line {
    let mut bytes = Vec::new();
    match input.read_until(b'\n', &mut bytes) {
        Ok(0) => return Line::End,
        Ok(_) => {}
        Err(error) => {
            tell!("! standard input cannot be read: {error}");
            return Line::End;
        }
    }
    let line = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match std::str::from_utf8(line) {
        Ok(line) => Line::Text(line.to_owned()),
        Err(_) => {
            tell!("! a line of standard input is not UTF-8 and is left out");
            Line::Dropped
        }
    }
}
