//! Who put a changed span there: recognisers for what clients are known to inject.
//!
//! One row each, asked in order; the first that knows the span names it. A recogniser sees the two texts and the
//! first word that differs. What none knows has no source, which is better than a wrong one.

mod change;
mod date;

use std::borrow::Cow;

use change::{Change, line};

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
        (change.both(date::is_time) && !(change.both(date::is_two_numbers) && change.follows(&PROPORTIONS)))
            || change.is_epoch()
            || change.both_sides(date::then_time)
    }),
    (Source::Date, |change| change.both_sides(date::is_date) && !change.follows(&VERSIONS)),
    (Source::Git, |change| change.is_value_of(&BRANCH) || change.is_below(&GIT, true)),
    (Source::Session, |change| {
        change.is_value_of(&SESSION)
            || (change.on_line(&SESSION_ID) && (change.both(is_mixed) || change.both(has_uuid)))
            || (change.both(is_path) && change.both(has_uuid))
    }),
    (Source::Folder, |change| {
        change.is_value_of(&FOLDER)
            || (change.on_line(&FOLDER) && change.both(has_slash))
            || (change.both(is_deep_path) && !change.follows(&METHODS))
    }),
    (Source::Environment, |change| change.is_value_of(&ENVIRONMENT) && !change.both(is_hex_word)),
    (Source::Nonce, |change| change.is_nonce() && !change.follows(&COLOURS)),
    (Source::Counter, |change| change.both(is_number) && change.is_counted()),
    (Source::SkillList, |change| {
        change.is_inside(&["<skills"])
            || change.is_below(&["skills are available", "available skills", "skill:"], false)
    }),
    (Source::McpServer, |change| {
        change.is_inside(&["<mcp"])
            || change.both(|word| word.contains("mcp__"))
            || change.is_below(&["mcp server", "mcp instructions"], false)
    }),
    (Source::Hook, |change| {
        change.is_inside(&["<hook"])
            || change.is_below(&["hook success", "hook output", "stop hook", "hook additional"], false)
    }),
    (Source::InstructionFile, |change| {
        change.is_below(&["claude.md", "agents.md", "gemini.md", ".cursorrules"], false)
    }),
    (Source::Reminder, |change| change.is_inside(&["<system-reminder", "<total_tokens", "<reminder"])),
];

const GIT: [&str; 4] = ["gitstatus", "git status", "recent commits", "status:"];
const BRANCH: [&str; 4] = ["current branch", "git branch", "main branch", "head is at "];
const SESSION: [&str; 7] = [
    "session",
    "session id",
    "session id ",
    "session_id",
    "sessionid",
    "conversation id",
    "conversation id ",
];
const SESSION_ID: [&str; 5] = ["session id", "session_id", "sessionid", "conversation id", "conversation_id"];
const FOLDER: [&str; 6] =
    ["working directory", "working folder", "current directory", "cwd", "workspace root", "project root"];
const ENVIRONMENT: [&str; 8] =
    ["platform", "os version", "shell", "hostname", "build", "version", "cc_version", "terminal"];

/// Words in front of two numbers with a colon that are no time of day.
const PROPORTIONS: [&str; 9] =
    ["ratio", "aspect", "scale", "verse", "chapter", "score", "odds", "line", "column"];
/// Words in front of what is numbered like a date.
const VERSIONS: [&str; 4] = ["version", "release", "build", "v"];
/// Words in front of a path that is no folder.
const METHODS: [&str; 6] = ["get", "post", "put", "patch", "delete", "head"];
/// Words in front of hexadecimal digits that are not random.
const COLOURS: [&str; 4] = ["color", "colour", "background", "foreground"];

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

/// A path with a folder in it: `/compact` is a command.
fn is_deep_path(word: &str) -> bool {
    is_path(word) && (!word.starts_with('/') || word.matches('/').count() > 1)
}

fn has_slash(word: &str) -> bool {
    word.contains(['/', '\\'])
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
