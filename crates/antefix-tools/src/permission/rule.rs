//! Rules: a tool, or a tool and a pattern of commands or paths.

use std::fmt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};

use super::shell::{Simple, Word, base};
use crate::web_fetch;

/// Where a rule or a mode comes from, in words for the user: "flag --deny", "project settings".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source(Arc<str>);

impl Source {
    /// Names a source.
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a rule does with the calls that it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// They run without a question.
    Allow,
    /// They do not run.
    Deny,
}

impl Effect {
    /// The word for it in settings.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
        }
    }
}

/// Why a text is no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// Neither `tool` nor `tool(pattern)`.
    #[error("`{0}` is no rule: expected `tool` or `tool(pattern)`")]
    Form(String),
    /// The tool takes no patterns.
    #[error("`{0}`: rules for this tool take no pattern")]
    NoPattern(String),
    /// The pattern of a command is not understood.
    #[error("`{0}`: expected words of a command, such as `git status` or `cargo test:*`")]
    Command(String),
    /// The pattern of a host is not understood.
    #[error("`{0}`: expected a host, such as `domain:example.com` or `domain:*.example.com`")]
    Domain(String),
    /// The pattern of a path is not understood.
    #[error("`{0}`: expected a path or a glob without `..`, such as `src/**`")]
    Path(String),
}

/// A rule with where it comes from; see `docs/permissions.md` for the grammar.
#[derive(Clone, Debug)]
pub struct Rule {
    text: String,
    pub(super) tool: String,
    pub(super) effect: Effect,
    pub(super) source: Source,
    pub(super) pattern: Pattern,
}

#[derive(Clone, Debug)]
pub(super) enum Pattern {
    /// All calls of the tool.
    All,
    Command(CommandPattern),
    Path(PathPattern),
    Domain(DomainPattern),
}

impl Rule {
    /// Reads a rule. Paths in it start at `root`, the workspace, or at `home` where they begin with `~/`.
    ///
    /// # Errors
    /// [`RuleError`] if the text is no rule.
    pub fn parse(
        text: &str,
        effect: Effect,
        source: Source,
        root: &Path,
        home: Option<&Path>,
    ) -> Result<Self, RuleError> {
        let text = text.trim();
        let form = || RuleError::Form(text.to_owned());
        let (tool, pattern) = match text.split_once('(') {
            Some((tool, rest)) => (tool, Some(rest.strip_suffix(')').ok_or_else(form)?.trim())),
            None => (text, None),
        };
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
        if tool.is_empty() || !tool.chars().all(is_letter) {
            return Err(form());
        }
        let pattern = match (pattern, tool) {
            (None, _) => Pattern::All,
            (Some(pattern), "bash") => {
                let read = CommandPattern::parse(pattern);
                Pattern::Command(read.ok_or_else(|| RuleError::Command(text.to_owned()))?)
            }
            (Some(pattern), tool) if FILE_TOOLS.contains(&tool) => {
                let read = PathPattern::parse(pattern, effect, root, home);
                Pattern::Path(read.ok_or_else(|| RuleError::Path(text.to_owned()))?)
            }
            (Some(pattern), web_fetch::NAME) => {
                let read = DomainPattern::parse(pattern);
                Pattern::Domain(read.ok_or_else(|| RuleError::Domain(text.to_owned()))?)
            }
            (Some(_), _) => return Err(RuleError::NoPattern(text.to_owned())),
        };
        Ok(Self { text: text.to_owned(), tool: tool.to_owned(), effect, source, pattern })
    }

    /// The rule as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What it does.
    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// Where it comes from.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Whether it is about a path that a tool reads or writes. `read` and `edit` speak for all tools that do.
    pub(super) fn matches_path(&self, tool: &str, write: bool, path: &Path) -> bool {
        let is_meant = self.tool == tool || self.tool == if write { "edit" } else { "read" };
        match &self.pattern {
            Pattern::All => self.tool == tool,
            Pattern::Path(pattern) => is_meant && pattern.matches(path),
            Pattern::Command(_) | Pattern::Domain(_) => false,
        }
    }

    /// Whether it is about a page of this host. An allow rule means the host alone, or with `*.` what lies below it; a
    /// deny rule means both.
    pub(super) fn matches_host(&self, host: &str) -> bool {
        match &self.pattern {
            Pattern::All => self.tool == web_fetch::NAME,
            Pattern::Domain(pattern) => pattern.matches(host, self.effect),
            Pattern::Path(_) | Pattern::Command(_) => false,
        }
    }
}

/// Words of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CommandPattern {
    words: Vec<Vec<Piece>>,
    /// More words may follow.
    open: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    Letter(char),
    /// Any letters, none included.
    Any,
}

/// How a command that is denied compares with one that is not wholly known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Likeness {
    No,
    Maybe,
    Yes,
}

impl CommandPattern {
    fn parse(text: &str) -> Option<Self> {
        let (text, open) = match text.strip_suffix(":*") {
            Some(text) => (text, true),
            None => (text, false),
        };
        let mut words = vec![Vec::new()];
        let mut is_word = false;
        let mut quoted = false;
        for letter in text.chars() {
            match letter {
                '\'' => quoted = !quoted,
                letter if letter.is_control() => return None,
                ' ' if !quoted => {
                    if std::mem::take(&mut is_word) {
                        words.push(Vec::new());
                    }
                    continue;
                }
                '*' if !quoted => words.last_mut()?.push(Piece::Any),
                letter => words.last_mut()?.push(Piece::Letter(letter)),
            }
            is_word = true;
        }
        if !is_word {
            words.pop();
        }
        let is_name = words.first().is_some_and(|name| name.iter().any(|piece| *piece != Piece::Any));
        (is_name && !quoted).then_some(Self { words, open })
    }

    /// Whether it allows a command. A word that is not written out is allowed only where more words may follow.
    pub(super) fn allows(&self, command: &Simple) -> bool {
        let fits =
            |(pattern, word): (&Vec<Piece>, &Word)| word.plain().is_some_and(|text| fits(pattern, text));
        let count = command.words.len();
        (count == self.words.len() || self.open && count > self.words.len())
            && self.words.iter().zip(&command.words).all(fits)
    }

    /// Whether it has neither wildcards nor an open end.
    pub(super) fn is_exact(&self) -> bool {
        !self.open && !self.words.iter().flatten().any(|piece| *piece == Piece::Any)
    }

    /// Whether it denies a command: its words come first, whatever follows. The name counts without its folder and
    /// in any case; if the other words come behind
    /// options, or may come, that is a maybe.
    pub(super) fn denies(&self, command: &Simple) -> Likeness {
        let Some((name, rest)) = self.words.split_first() else { return Likeness::No };
        let Some(found) = command.name() else { return Likeness::Maybe };
        if !fits_any_case(name, found) && !fits_any_case(name, base(found)) {
            return Likeness::No;
        }
        let mut wanted = rest.iter().peekable();
        let (mut in_front, mut is_value) = (true, false);
        for word in command.arguments() {
            let Some(pattern) = wanted.peek() else { break };
            let wants_option = pattern.first() == Some(&Piece::Letter('-'));
            match word.plain() {
                Some(text) if fits(pattern, text) => drop(wanted.next()),
                // Options may stand in front of a subcommand, each with a value; another subcommand may not.
                Some(text) if text.starts_with('-') || is_value || wants_option => in_front = false,
                Some(_) => return Likeness::No,
                None => return Likeness::Maybe,
            }
            is_value = word.may_be_option();
        }
        match (wanted.peek().is_none(), in_front) {
            (true, true) => Likeness::Yes,
            (true, false) => Likeness::Maybe,
            (false, _) => Likeness::No,
        }
    }

    /// The letters of the program's name in front of a wildcard, in small letters.
    pub(super) fn program(&self) -> String {
        let name = self.words.first().map(Vec::as_slice).unwrap_or_default();
        let letters = name.iter().map_while(|piece| match piece {
            Piece::Letter(letter) => Some(letter.to_ascii_lowercase()),
            Piece::Any => None,
        });
        base(&letters.collect::<String>()).to_owned()
    }
}

fn fits_any_case(pattern: &[Piece], text: &str) -> bool {
    let lower: Vec<Piece> = pattern
        .iter()
        .map(|piece| match piece {
            Piece::Letter(letter) => Piece::Letter(letter.to_ascii_lowercase()),
            Piece::Any => Piece::Any,
        })
        .collect();
    fits(&lower, &text.to_ascii_lowercase())
}

fn fits(pattern: &[Piece], text: &str) -> bool {
    let Some((first, rest)) = pattern.split_first() else { return text.is_empty() };
    match first {
        Piece::Letter(letter) => text.strip_prefix(*letter).is_some_and(|text| fits(rest, text)),
        Piece::Any => {
            fits(rest, text)
                || text.char_indices().any(|(at, letter)| fits(rest, &text[at + letter.len_utf8()..]))
        }
    }
}

/// A path or glob; what lies below a folder that it names is meant as well.
#[derive(Clone, Debug)]
pub(super) struct PathPattern {
    glob: GlobMatcher,
    /// It names a folder of settings (`.git`, `.antefix`) itself.
    pub(super) names_protected: bool,
}

impl PathPattern {
    fn parse(text: &str, effect: Effect, root: &Path, home: Option<&Path>) -> Option<Self> {
        if text.is_empty() || text.split('/').any(|part| part == "..") {
            return None;
        }
        let below = |folder: &Path, rest: &str| {
            format!("{}/{rest}", globset::escape(&folder.to_string_lossy()).trim_end_matches('/'))
        };
        let names_protected = PROTECTED.iter().any(|name| text.contains(name));
        let text = text.trim_end_matches('/');
        let (text, is_anchored) = text.strip_prefix("./").map_or((text, false), |rest| (rest, true));
        let glob = match text.strip_prefix("~/") {
            Some(rest) => below(home?, rest),
            None if text.is_empty() || text.starts_with('/') => text.to_owned(),
            None if text.contains('/') || is_anchored || text == "**" => below(root, text),
            None if effect == Effect::Deny => format!("/**/{text}"),
            None => below(root, &format!("**/{text}")),
        };
        let glob = if glob.is_empty() { "/" } else { &glob };
        let glob = GlobBuilder::new(glob).literal_separator(true).build().ok()?;
        Some(Self { glob: glob.compile_matcher(), names_protected })
    }

    pub(super) fn matches(&self, path: &Path) -> bool {
        path.ancestors().any(|path| self.glob.is_match(path))
    }
}

/// A host of the web, or all below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DomainPattern {
    host: String,
    is_below: bool,
}

impl DomainPattern {
    fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix("domain:")?;
        let (host, is_below) = text.strip_prefix("*.").map_or((text, false), |rest| (rest, true));
        // As it will be compared: in small letters, names of other scripts in their ASCII form.
        let url = web_fetch::address(&format!("https://{host}/"))?;
        let is_plain = url.path() == "/" && url.port().is_none() && url.query().is_none();
        let host = url.host_str().filter(|host| is_plain && !host.contains('*'))?;
        Some(Self { host: host.trim_end_matches('.').to_owned(), is_below })
    }

    fn matches(&self, host: &str, effect: Effect) -> bool {
        let host = host.trim_end_matches('.');
        let is_below = || host.strip_suffix(&self.host).is_some_and(|rest| rest.ends_with('.'));
        match (effect, self.is_below) {
            (Effect::Deny, _) => host == self.host || is_below(),
            (Effect::Allow, true) => is_below(),
            (Effect::Allow, false) => host == self.host,
        }
    }
}

/// A path without `.` and `..`, links unresolved.
pub(super) fn written(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(out.pop()),
            Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}

/// Folders whose files decide what is run later.
pub(super) const PROTECTED: [&str; 2] = [".git", ".antefix"];

/// Tools whose rules take patterns of paths.
const FILE_TOOLS: [&str; 7] = ["read", "grep", "glob", "edit", "multi_edit", "write", "notebook_edit"];
