//! Who put a changed span there: recognisers for what clients are known to inject.
//!
//! One row each, asked in order; the first that knows the span names it. A recogniser sees the two texts and the
//! first word that differs. What none knows has no source, which is better than a wrong one.

mod date;

use std::borrow::Cow;

/// What a changed span is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// A time of day.
    Clock,
    /// A date.
    Date,
    /// The state of a git repository.
    Git,
    /// A session's or conversation's id.
    Session,
    /// The folder worked in, or another path.
    Folder,
    /// The machine, shell or build.
    Environment,
    /// A uuid or a random token.
    Nonce,
    /// A number that counts.
    Counter,
    /// The list of skills.
    SkillList,
    /// An MCP server's text.
    McpServer,
    /// The output of a hook.
    Hook,
    /// A file of instructions.
    InstructionFile,
    /// A reminder that the client adds.
    Reminder,
}

impl Source {
    /// The words in output.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Clock => "time of day",
            Self::Date => "date",
            Self::Git => "git state",
            Self::Session => "session id",
            Self::Folder => "folder",
            Self::Environment => "environment",
            Self::Nonce => "random token",
            Self::Counter => "counter",
            Self::SkillList => "list of skills",
            Self::McpServer => "MCP server",
            Self::Hook => "hook",
            Self::InstructionFile => "instruction file",
            Self::Reminder => "reminder",
        }
    }
}

/// A changed span that was recognised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Volatile {
    /// What it is.
    pub source: Source,
    /// The word in front of the span that frames it, such as `cch=`; may be empty.
    pub frame: String,
    /// The span in the earlier text.
    pub old: String,
    /// The span in the later text.
    pub new: String,
}

/// Recognises the first span in which two texts differ.
///
/// ```
/// use antefix_prefix::verdict::{Source, recognise};
/// let found = recognise("It is 15:09:20 now.", "It is 15:09:34 now.").unwrap();
/// assert_eq!((found.source, &*found.new), (Source::Clock, "15:09:34"));
/// assert_eq!(recognise("Answer briefly.", "Answer at length."), None);
/// ```
pub fn recognise(old: &str, new: &str) -> Option<Volatile> {
    let change = Change::between(old, new)?;
    let (source, _) = RECOGNISERS.iter().find(|(_, knows)| knows(&change))?;
    Some(Volatile {
        source: *source,
        frame: frame(&change),
        old: change.old.word.to_owned(),
        new: change.new.word.to_owned(),
    })
}

/// Whether a text is one that clients inject beside what the user said.
pub(super) fn is_injected(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with("<system-reminder") || text.starts_with("<total_tokens") || text.starts_with("<env")
}

type Knows = fn(&Change<'_>) -> bool;

/// In order: what a word is by its own shape, what the line around it says, what the paragraph says.
const RECOGNISERS: [(Source, Knows); 13] = [
    (Source::Clock, |change| {
        change.both(date::is_time) || change.is_epoch() || change.both_sides(date::then_time)
    }),
    (Source::Date, |change| change.both_sides(date::is_date)),
    (Source::Git, |change| change.near(&GIT)),
    (Source::Session, |change| change.on_line(&SESSION) || (change.both(is_path) && change.both(has_uuid))),
    (Source::Folder, |change| change.on_line(&FOLDER) || change.both(is_path)),
    (Source::Environment, |change| change.on_line(&ENVIRONMENT) && !change.both(is_hex_word)),
    (Source::Nonce, |change| change.is_nonce()),
    (Source::Counter, |change| change.both(is_number)),
    (Source::SkillList, |change| {
        change.near(&["skills are available", "available skills", "<skills", "skill:"])
    }),
    (Source::McpServer, |change| change.near(&["mcp server", "mcp__", "<mcp", "mcp instructions"])),
    (Source::Hook, |change| {
        change.near(&["hook success", "hook output", "stop hook", "hook additional", "<hook"])
    }),
    (Source::InstructionFile, |change| change.near(&["claude.md", "agents.md", "gemini.md", ".cursorrules"])),
    (Source::Reminder, |change| {
        change.near(&["<system-reminder", "tokens left", "<total_tokens", "<reminder"])
    }),
];

const GIT: [&str; 8] = [
    "gitstatus",
    "git status:",
    "current branch:",
    "git branch:",
    "main branch",
    "recent commits:",
    "\nstatus:\n",
    "head is at",
];
const SESSION: [&str; 5] = ["session id", "session_id", "sessionid", "session:", "conversation id"];
const FOLDER: [&str; 7] = [
    "working directory",
    "working folder",
    "current directory",
    "cwd:",
    "cwd=",
    "workspace root",
    "project root",
];
const ENVIRONMENT: [&str; 8] =
    ["platform:", "os version", "shell:", "hostname", "build:", "version:", "cc_version", "terminal:"];

/// One side of a change.
struct Side<'a> {
    text: &'a str,
    /// Where the texts part.
    at: usize,
    /// The word at that place.
    word: &'a str,
    /// Where the word starts.
    start: usize,
}

/// The first place where two texts part.
struct Change<'a> {
    old: Side<'a>,
    new: Side<'a>,
}

impl<'a> Change<'a> {
    fn between(old: &'a str, new: &'a str) -> Option<Self> {
        if old == new {
            return None;
        }
        let agree = old.bytes().zip(new.bytes()).take_while(|(left, right)| left == right).count();
        let at = (0..=agree).rev().find(|&at| old.is_char_boundary(at) && new.is_char_boundary(at))?;
        Some(Self { old: Side::at(old, at), new: Side::at(new, at) })
    }

    /// Whether both words are of that shape.
    fn both(&self, shape: fn(&str) -> bool) -> bool {
        shape(self.old.word) && shape(self.new.word)
    }

    /// Whether both texts have that at the place where they part.
    fn both_sides(&self, shape: fn(&str, usize) -> bool) -> bool {
        shape(self.old.text, self.old.at) && shape(self.new.text, self.new.at)
    }

    /// Whether the line says one of these, in any case.
    fn on_line(&self, words: &[&str]) -> bool {
        let line = line(self.new.text, self.new.at).to_lowercase();
        words.iter().any(|word| line.contains(word))
    }

    /// Whether the paragraph up to the place, or the line, says one of these, in any case.
    fn near(&self, words: &[&str]) -> bool {
        let before = &self.new.text[..self.new.start];
        let paragraph = before.rfind("\n\n").map_or(before, |at| &before[at + 1..]);
        let paragraph = paragraph.to_lowercase();
        words.iter().any(|word| paragraph.contains(word)) || self.on_line(words)
    }

    /// Two moments in seconds or milliseconds since 1970, at most ten days apart.
    fn is_epoch(&self) -> bool {
        let moment = |word: &str| {
            let is_long = matches!(word.len(), 10 | 13) && word.starts_with('1');
            word.parse::<u64>().ok().filter(|_| is_long).map(|at| if at > 1 << 40 { at / 1000 } else { at })
        };
        match (moment(self.old.word), moment(self.new.word)) {
            (Some(old), Some(new)) => old.abs_diff(new) < 10 * 86_400,
            _ => false,
        }
    }

    /// Random tokens: uuids, long hexadecimal or mixed words, or a short hexadecimal value of a named field.
    fn is_nonce(&self) -> bool {
        let (old, new) = (self.old.word, self.new.word);
        let alike = old.len().abs_diff(new.len()) <= 2;
        let named = self.new.text[..self.new.start].ends_with(['=', ':']) || frame(self).ends_with(": ");
        alike
            && ((has_uuid(old) && has_uuid(new))
                || (self.both(is_mixed_hex) && old.len() >= 8)
                || (self.both(is_mixed) && old.len() >= 16)
                || (named && old.len() == new.len() && old.len() >= 4 && self.both(is_hex_word)))
    }
}

impl<'a> Side<'a> {
    fn at(text: &'a str, at: usize) -> Self {
        let is_word = |character: char| character.is_alphanumeric() || "_-./:+~\\".contains(character);
        let (before, behind) = text.split_at(at);
        let start = before.trim_end_matches(is_word).len();
        let end = at + behind.len() - behind.trim_start_matches(is_word).len();
        let word = &text[start..end];
        // A sentence's point or a field's colon is not part of a word.
        let kept = word.trim_end_matches(['.', ':']);
        let lead = word.len() - word.trim_start_matches(':').len();
        let word = kept.get(lead..).unwrap_or_default();
        Self { text, at, word, start: start + lead }
    }
}

/// The line around an offset.
fn line(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |found| found + 1);
    let end = text[at..].find('\n').map_or(text.len(), |found| at + found);
    &text[start..end]
}

/// What names the span on its line: `cch=`, `Session: `.
fn frame(change: &Change<'_>) -> String {
    let before = &change.new.text[..change.new.start];
    let before = line(before, before.len());
    let start = before.trim_end().rfind([' ', ';', ',']).map_or(0, |at| at + 1);
    let framed: Cow<'_, str> = before.get(start..).unwrap_or_default().into();
    if framed.trim_end().ends_with(['=', ':']) { framed.into_owned() } else { String::new() }
}

fn is_path(word: &str) -> bool {
    let word = word.strip_prefix('~').unwrap_or(word);
    let is_drive = word.get(1..3) == Some(":\\");
    is_drive || (word.starts_with('/') && word.len() > 2 && !word.starts_with("//"))
}

fn has_uuid(word: &str) -> bool {
    word.split(|character: char| character != '-' && !character.is_ascii_hexdigit()).any(|piece| {
        let lengths: Vec<_> = piece.split('-').map(str::len).collect();
        lengths.ends_with(&[8, 4, 4, 4, 12])
    })
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_hex_word(word: &str) -> bool {
    !word.is_empty()
        && word.bytes().all(|byte| byte.is_ascii_hexdigit())
        && word.bytes().any(|b| b.is_ascii_digit())
}

/// Hexadecimal digits, some of which are letters and some not.
fn is_mixed_hex(word: &str) -> bool {
    is_hex_word(word) && word.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Letters and digits in one word, as random tokens have them.
fn is_mixed(word: &str) -> bool {
    let is_token = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    is_token && digits >= 3 && word.bytes().any(|byte| byte.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests;
