//! What a shell line may do: every simple command it may run, wherever it stands, and every file it redirects to.
//!
//! The reader knows the grammar of bash where it is certain of it and notes everything else as *unclear*; nothing
//! that is unclear is allowed by a rule. It never runs and never expands anything.

mod command;
mod dollar;
mod harmless;
mod here;
mod interpreter;
mod options;
mod parse;
mod word;
mod wrapper;

pub(super) use harmless::{Harm, harm};
pub(super) use interpreter::may_run;
pub(super) use word::Word;

use parse::Parser;

/// What a shell line may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    /// Each command that may run, those inside wrappers and substitutions included.
    pub(super) commands: Vec<Simple>,
    /// Each file that is redirected to or from, or given to `tee`.
    pub(super) targets: Vec<Target>,
    /// What is not understood, in words for the user.
    pub(super) unclear: Vec<String>,
}

/// One command with its words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Simple {
    /// Name and arguments; never empty.
    pub(super) words: Vec<Word>,
    /// Only runs another command, which is judged in its place.
    pub(super) transparent: bool,
    /// The name is a file that an interpreter runs.
    pub(super) is_file: bool,
    /// Why its arguments may make it run something that is not seen here; only an exact rule allows it then.
    pub(super) opaque: Option<String>,
}

/// A file that the shell itself opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// As the shell would open it; `None` where it depends on an expansion.
    pub(super) path: Option<String>,
    /// Whether it is written.
    pub(super) write: bool,
}

impl Line {
    /// Reads a line, which may be many lines.
    pub(super) fn read(text: &str) -> Self {
        let mut line = Self::default();
        if let Some(letter) = text.chars().find(|letter| is_deceptive(*letter)) {
            line.note(format!("the character U+{:04X}", u32::from(letter)));
        }
        line.script(text, 0);
        line.unwrap_all();
        line
    }

    /// Notes something that is not understood.
    fn note(&mut self, what: impl Into<String>) {
        let what = what.into();
        if !self.unclear.contains(&what) {
            self.unclear.push(what);
        }
    }

    /// Takes in a script at a depth of nesting.
    fn script(&mut self, text: &str, depth: usize) {
        if depth > DEPTH {
            return self.note("commands nested too deeply");
        }
        if let Err(stuck) = Parser::new(text, self, depth).whole() {
            self.note(stuck.0);
        }
    }

    /// Looks into each command for those that it runs in turn.
    fn unwrap_all(&mut self) {
        let mut at = 0;
        while let Some(command) = self.commands.get(at).cloned() {
            if at > COMMANDS {
                return self.note("too many commands");
            }
            let looked_at = wrapper::look_into(command, self);
            if let Some(place) = self.commands.get_mut(at) {
                *place = looked_at;
            }
            at += 1;
        }
    }
}

impl Simple {
    /// The name as written out; `None` where it is not.
    pub(super) fn name(&self) -> Option<&str> {
        self.words.first().and_then(Word::plain)
    }

    /// The arguments.
    pub(super) fn arguments(&self) -> &[Word] {
        self.words.get(1..).unwrap_or_default()
    }
}

/// The last part of a program's path.
pub(super) fn base(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Characters that a reader does not see, or takes for others: controls, spaces that are none to the shell,
/// marks of direction and width.
fn is_deceptive(letter: char) -> bool {
    match letter {
        ' ' | '\t' | '\n' => false,
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{2800}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{ffff}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        letter => letter.is_control() || letter.is_whitespace(),
    }
}

/// Nesting that is followed.
const DEPTH: usize = 12;

/// Commands of a line that are looked into.
const COMMANDS: usize = 500;
