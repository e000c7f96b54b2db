//! Questions in a terminal: is a call allowed, is this folder trusted, what a server wants to know.

mod server;

use server::Declined;
pub use server::ServerQuestions;

use std::io::{self, BufRead, BufReader, IsTerminal, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender};

use antefix_mcp::{Elicitation, Reply};
use antefix_runtime::driver::{Answer, Choice, Question};
use antefix_tools::preview;
use antefix_wire::json::Body;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::{mpsc, oneshot};

use crate::environment::Environment;
use crate::failure::Failure;
use crate::out::tell;
use crate::screen::{harmless, laid_open, one_line};
use crate::settings::Settings;
use crate::settings::trust::Trust;

/// Whether there is a terminal to ask in.
pub fn has_terminal() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks once whether a folder is trusted, and stores a yes.
///
/// # Errors
/// If that cannot be stored.
pub fn about_trust(settings: &mut Settings, environment: &Environment) -> Result<(), Failure> {
    if settings.trust.is_given() {
        return Ok(());
    }
    let why = if settings.trust == Trust::Changed { ": its settings have changed" } else { "" };
    tell!("? Do you trust the files of {}{why}?", laid_open(&settings.folder.to_string_lossy()));
    tell!("  If so, `git` may look at the repository without a question, and its own settings hold:");
    for value in &settings.ignored {
        // A line of its own could be taken for one of ours.
        tell!("    {} = {}", value.key, one_line(&value.text, LONGEST_SETTING));
    }
    if settings.ignored.is_empty() {
        tell!("    (there are none)");
    }
    if answer_of("  [y]es, [n]o (asked again in the next run): ", &mut io::stdin().lock(), false)
        == Choice::Once
    {
        settings.store_trust(environment)?;
        settings.trust = Trust::Stored;
    }
    Ok(())
}

/// A question that waits for the terminal.
pub enum Asked {
    /// Whether a call is allowed.
    OfCall(Question),
    /// What a server wants to know.
    OfServer {
        /// Its key.
        server: String,
        /// What it asks.
        question: Elicitation,
        /// Whom the answer goes to; gone if nobody waits any more.
        reply: oneshot::Sender<Reply>,
    },
}

/// Asks the questions of a turn, one after the other, on a thread of its own, for as long as the terminal is its own.
pub struct Asker {
    questions: Sender<Asked>,
    folder: PathBuf,
    /// A byte stands in the pipe while the terminal is somebody else's.
    shut: (UnixStream, UnixStream),
    is_shut: bool,
}

impl Asker {
    /// Starts asking what comes through the channel; gives where the answers about calls come from.
    ///
    /// # Errors
    /// If the system has no more files to open.
    pub fn start(
        (questions, asked): (Sender<Asked>, Receiver<Asked>),
        settings: Settings,
        state: Option<PathBuf>,
    ) -> io::Result<(Self, mpsc::UnboundedReceiver<Answer>)> {
        let folder = settings.folder.clone();
        let (answers, receiver) = mpsc::unbounded_channel();
        let shut = UnixStream::pair()?;
        let gate = shut.1.try_clone()?;
        std::thread::spawn(move || {
            let mut declined = Declined::default();
            for asked in asked {
                match asked {
                    Asked::OfCall(question) => {
                        let Some(choice) = choice_of(&question, &gate) else { continue };
                        if choice == Choice::Always {
                            remember(&settings, &question, state.as_deref());
                        }
                        if answers.send(Answer { question: question.id, choice }).is_err() {
                            return;
                        }
                    }
                    Asked::OfServer { server, question, reply } => {
                        // A server that is gone meanwhile wants no answer.
                        let _ = reply.send(reply_of(&server, &question, &gate, &mut declined));
                    }
                }
            }
        });
        Ok((Self { questions, folder, shut, is_shut: false }, receiver))
    }

    /// Lets go of what was asked and not answered, and asks nothing more: the terminal is somebody else's.
    pub fn withdraw(&mut self) {
        if !self.is_shut {
            self.is_shut = self.shut.0.write_all(&[0]).is_ok();
        }
    }

    /// Asks again.
    pub fn resume(&mut self) {
        if self.is_shut {
            self.is_shut = self.shut.1.read_exact(&mut [0]).is_err();
        }
    }

    /// Shows a question and has it asked.
    pub fn ask(&self, question: &Question) {
        tell!("? {}", laid_open(&question.text));
        for line in details(question, &self.folder) {
            tell!("  {}", laid_open(&line));
        }
        if !question.remember.is_empty() {
            tell!("  always means: {}", laid_open(&question.remember.join(", ")));
        }
        // Without its thread the question is never answered but by an interrupt.
        let _ = self.questions.send(Asked::OfCall(question.clone()));
    }
}

fn remember(settings: &Settings, question: &Question, state: Option<&Path>) {
    match settings.remember(&question.remember, state) {
        Ok(true) => tell!("· remembered in .antefix/settings.local.toml"),
        Ok(false) => tell!("· remembered for this session: this folder is not trusted"),
        Err(error) => tell!("! remembered for this session only: {}", harmless(&error)),
    }
}

/// What would be done: the whole command, or the edit as a diff.
fn details(question: &Question, folder: &Path) -> Vec<String> {
    let Ok(body) = Body::parse(question.call.input.to_vec()) else { return Vec::new() };
    let text = |name: &str| body.root().get(name).and_then(|node| node.str()).map(|text| text.into_owned());
    let mut lines = Vec::new();
    if let Some(command) = text("command") {
        lines.extend(command.split('\n').map(|line| format!("$ {line}")));
    } else if let Some(diff) = preview(folder, &body) {
        lines.extend(diff.lines().map(str::to_owned));
    } else if let (Some(old), Some(new)) = (text("old_string"), text("new_string")) {
        lines.extend(old.lines().map(|line| format!("- {line}")));
        lines.extend(new.lines().map(|line| format!("+ {line}")));
    } else {
        lines.push(String::from_utf8_lossy(&question.call.input).into_owned());
    }
    lines
}

/// What the user says to a call; `None` if that is not wanted any more.
fn choice_of(question: &Question, gate: &UnixStream) -> Option<Choice> {
    let mut input = Typed::anew(gate)?;
    let can_always = !question.remember.is_empty();
    let prompt = if can_always { "  [y]es, [n]o, [a]lways here: " } else { "  [y]es, [n]o: " };
    let choice = answer_of(prompt, &mut input, can_always);
    (!is_shut(gate)).then_some(choice)
}

/// What the user says to a server; where the terminal is not ours, nobody is asked.
fn reply_of(server: &str, question: &Elicitation, gate: &UnixStream, declined: &mut Declined) -> Reply {
    match Typed::anew(gate) {
        Some(mut input) => server::answer_of(server, question, &mut input),
        None => {
            declined.tell(server, question.message(), "no message is being worked on");
            Reply::Decline
        }
    }
}

fn is_shut(gate: &UnixStream) -> bool {
    let mut waits = [PollFd::new(gate, PollFlags::IN)];
    poll(&mut waits, Some(&Timespec::default())).is_ok_and(|count| count > 0)
}

/// What is typed from now on, for as long as the terminal is ours.
struct Typed<'g> {
    gate: &'g UnixStream,
}

impl<'g> Typed<'g> {
    /// What was typed before the question was there is no answer to it.
    fn anew(gate: &'g UnixStream) -> Option<BufReader<Self>> {
        if is_shut(gate) {
            return None;
        }
        let _ = tcflush(io::stdin(), QueueSelector::IFlush);
        Some(BufReader::new(Self { gate }))
    }
}

impl Read for Typed<'_> {
    /// Ends where the terminal is somebody else's.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let stdin = io::stdin();
        let mut waits = [PollFd::new(self.gate, PollFlags::IN), PollFd::new(&stdin, PollFlags::IN)];
        poll(&mut waits, None)?;
        if !waits[0].revents().is_empty() {
            return Ok(0);
        }
        Ok(rustix::io::read(&stdin, buffer)?)
    }
}

/// The answer to a prompt; the end of the input is a no.
fn answer_of(prompt: &str, input: &mut impl BufRead, can_always: bool) -> Choice {
    loop {
        let mut out = io::stderr().lock();
        let _ = out.write_all(prompt.as_bytes()).and_then(|()| out.flush());
        drop(out);
        let mut line = String::new();
        if !matches!(input.read_line(&mut line), Ok(count) if count > 0) {
            return Choice::No;
        }
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => return Choice::Once,
            "n" | "no" => return Choice::No,
            "a" | "always" if can_always => return Choice::Always,
            _ => {}
        }
    }
}

/// Letters of a setting that are shown at most where a folder's trust is asked about.
const LONGEST_SETTING: usize = 400;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_until_one_is_understood() {
        for (text, can_always, expect) in [
            ("y\n", false, Choice::Once),
            (" YES \n", false, Choice::Once),
            ("n\n", true, Choice::No),
            ("", true, Choice::No),
            ("\nperhaps\na\n", true, Choice::Always),
            ("a\n", false, Choice::No),
        ] {
            assert_eq!(answer_of("", &mut text.as_bytes(), can_always), expect, "{text:?}");
        }
    }
}
