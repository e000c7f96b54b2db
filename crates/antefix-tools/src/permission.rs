//! What a call may do: modes, rules, and the decision about a call.
//!
//! Deny rules beat allow rules, and allow rules beat the mode. Shell commands are parsed: a line is allowed only if
//! each command in it is, and what is not understood is never allowed by a rule. `docs/permissions.md` is the manual.

mod judge;
mod rule;
mod shell;

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use antefix_wire::json::Body;

use crate::registry::speaks_of;
use crate::{Access, Shell, paths, web_fetch};
use judge::ShellCall;
use rule::{PROTECTED, Pattern, written};

pub use rule::{Effect, Rule, RuleError, Source};

/// What happens to calls that no rule speaks of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// What only looks is allowed, the rest is refused.
    ReadOnly,
    /// What only looks at the workspace is allowed, the rest is asked.
    #[default]
    Ask,
    /// As `Ask`, and files of the workspace are edited without a question.
    AcceptEdits,
    /// Everything is allowed.
    Full,
}

impl Mode {
    /// All modes, the strictest first.
    pub const ALL: [Self; 4] = [Self::ReadOnly, Self::Ask, Self::AcceptEdits, Self::Full];

    /// The name in settings and flags.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Ask => "ask",
            Self::AcceptEdits => "accept-edits",
            Self::Full => "full",
        }
    }

    /// The mode of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

/// What is to be done with a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It runs.
    Allow,
    /// The user is asked; without a user it does not run.
    Ask {
        /// Why it is asked, in words.
        question: String,
    },
    /// It does not run.
    Deny {
        /// Why, in words.
        reason: String,
    },
}

/// What is to be done with a call, and who says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What is to be done.
    pub verdict: Verdict,
    /// The rule that decided, or the mode.
    pub rule: String,
    /// Where that comes from.
    pub source: Source,
    /// Allow rules that would answer the question from now on; none where no rule can.
    pub remember: Vec<String>,
    /// No rule spoke: it is the mode that allows it.
    pub by_default: bool,
}

/// Modes and rules of a session. A clone shares the shell and the allow rules that are remembered.
#[derive(Clone, Debug)]
pub struct Policy {
    root: PathBuf,
    home: Option<PathBuf>,
    mode: Mode,
    mode_source: Source,
    rules: Vec<Rule>,
    trusted: bool,
    readable: Vec<PathBuf>,
    shell: Arc<Shell>,
    remembered: Arc<RwLock<Vec<Rule>>>,
}

impl Policy {
    /// A policy without rules for a workspace.
    pub fn new(root: &Path, mode: Mode, source: Source) -> Self {
        Self {
            root: paths::resolve(root),
            home: None,
            mode,
            mode_source: source,
            rules: Vec::new(),
            trusted: false,
            readable: Vec::new(),
            shell: Arc::new(Shell::default()),
            remembered: Arc::default(),
        }
    }

    /// Sets the user's home, at which `~` in rules and command lines starts.
    pub fn with_home(mut self, home: Option<PathBuf>) -> Self {
        self.home = home;
        self
    }

    /// Sets the rules; their order means nothing to the verdict.
    pub fn with_rules(mut self, rules: Vec<Rule>) -> Self {
        self.rules = rules;
        self
    }

    /// Sets whether the folder is trusted; in others, git is asked about, since a repository's settings may name
    /// programs that it runs.
    pub fn with_trust(mut self, trusted: bool) -> Self {
        self.trusted = trusted;
        self
    }

    /// Adds a folder outside the workspace that may be read like it.
    pub fn with_readable(mut self, folder: &Path) -> Self {
        self.readable.push(paths::resolve(folder));
        self
    }

    /// Shares the allow rules that are remembered, and the shell, with another policy from now on.
    pub fn sharing_answers_with(mut self, other: &Self) -> Self {
        self.remembered = Arc::clone(&other.remembered);
        self.shell = Arc::clone(&other.shell);
        self
    }

    /// Whether an allow rule is remembered for the rest of the session.
    pub fn remembers(&self, text: &str) -> bool {
        let remembered = self.remembered.read().unwrap_or_else(PoisonError::into_inner);
        remembered.iter().any(|rule| rule.text() == text)
    }

    /// Sets the shell whose commands are judged: relative paths start where it is.
    pub fn with_shell(mut self, shell: &Arc<Shell>) -> Self {
        self.shell = Arc::clone(shell);
        self
    }

    /// The mode.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Adds an allow rule for the rest of the session.
    ///
    /// # Errors
    /// [`RuleError`] if the text is no rule.
    pub fn remember(&self, text: &str, source: Source) -> Result<(), RuleError> {
        let rule = Rule::parse(text, Effect::Allow, source, &self.root, self.home.as_deref())?;
        self.remembered.write().unwrap_or_else(PoisonError::into_inner).push(rule);
        Ok(())
    }

    /// The deny rule that refuses every call of a tool, if there is one.
    pub fn denies_all_of(&self, tool: &str) -> Option<&Rule> {
        let class = match tool {
            "grep" | "glob" => "read",
            "write" | "multi_edit" => "edit",
            tool => tool,
        };
        let is_meant = |rule: &&Rule| {
            matches!(rule.pattern, Pattern::All) && (speaks_of(&rule.tool, tool) || rule.tool == class)
        };
        self.rules_of(Effect::Deny).find(is_meant)
    }

    /// Decides about a call of a tool: what it may touch, and its input.
    pub fn decide(&self, tool: &str, access: &Access, input: &Body) -> Decision {
        let text =
            |name: &str| input.root().get(name).and_then(|node| node.str()).map(|text| text.into_owned());
        if let Some(rule) = self.rules_of(Effect::Deny).find(|rule| Self::speaks_of_all(rule, tool, access)) {
            return Decision::deny(rule, format!("`{}` is denied", rule.text()));
        }
        match access {
            _ if tool == "bash" => {
                let command = text("command").unwrap_or_default();
                let remembered = self.remembered.read().unwrap_or_else(PoisonError::into_inner);
                ShellCall::new(self, &remembered).decide(&command)
            }
            // A job was decided upon when it was started.
            _ if matches!(tool, "bash_output" | "bash_kill") => self.by_mode(Verdict::Allow, true),
            Access::Reads(path) => self.decide_path(tool, false, path, text("path").as_deref()),
            Access::Writes(path) => self.decide_path(tool, true, path, text("path").as_deref()),
            _ if tool == web_fetch::NAME => self.decide_page(&text("url").unwrap_or_default()),
            Access::Session(_) | Access::Delegated => self.by_mode(Verdict::Allow, true),
            Access::Nothing | Access::Anywhere | Access::Exclusive => self.decide_other(tool),
        }
    }

    fn rules_of(&self, effect: Effect) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(move |rule| rule.effect == effect)
    }

    /// Whether a rule without a pattern is about a tool; denying `read` or `edit` denies all that do so.
    fn speaks_of_all(rule: &Rule, tool: &str, access: &Access) -> bool {
        let class = match access {
            Access::Writes(_) => "edit",
            Access::Reads(_) => "read",
            _ => tool,
        };
        matches!(rule.pattern, Pattern::All) && (speaks_of(&rule.tool, tool) || rule.tool == class)
    }

    fn decide_path(&self, tool: &str, write: bool, path: &Path, given: Option<&str>) -> Decision {
        let as_written = given.map(|given| written(&self.root.join(given)));
        let both = [Some(path), as_written.as_deref()];
        let mut denied = self.rules_of(Effect::Deny);
        let shown = self.shown(path);
        let is_denied = |rule: &&Rule| both.iter().flatten().any(|path| rule.matches_path(tool, write, path));
        if let Some(rule) = denied.find(is_denied) {
            return Decision::deny(rule, format!("`{shown}` is denied by `{}`", rule.text()));
        }
        if !write && let Some((rule, below)) = self.denied_below(tool, path) {
            let reason = format!("`{}` below `{shown}` is denied by `{}`", self.shown(&below), rule.text());
            return Decision::deny(rule, format!("{reason}: name a narrower path"));
        }
        if let Some(rule) = self.allowing_path(tool, write, path) {
            return rule;
        }
        self.by_mode_path(tool, write, path, &shown)
    }

    /// A file that a search of a folder would read although a rule denies it; or the first rule, where the folder
    /// holds too much to look.
    fn denied_below(&self, tool: &str, folder: &Path) -> Option<(&Rule, PathBuf)> {
        let is_about = |rule: &&Rule| {
            matches!(rule.pattern, Pattern::Path(_)) && (rule.tool == tool || rule.tool == "read")
        };
        let rules: Vec<&Rule> = self.rules_of(Effect::Deny).filter(is_about).collect();
        let first = *rules.first()?;
        if !folder.is_dir() {
            return None;
        }
        let walk = ignore::WalkBuilder::new(folder).standard_filters(false).build();
        for (count, entry) in walk.flatten().enumerate() {
            let path = entry.path();
            if let Some(rule) = rules.iter().find(|rule| rule.matches_path(tool, false, path)) {
                return Some((rule, path.to_owned()));
            }
            if count > WALKED {
                return Some((first, folder.to_owned()));
            }
        }
        None
    }

    fn allowing_path(&self, tool: &str, write: bool, path: &Path) -> Option<Decision> {
        let is_protected = write && is_protected(path);
        let fits = |rule: &&Rule| match &rule.pattern {
            Pattern::Path(pattern) => {
                rule.matches_path(tool, write, path) && (!is_protected || pattern.names_protected)
            }
            _ => rule.matches_path(tool, write, path) && !is_protected,
        };
        if let Some(rule) = self.rules_of(Effect::Allow).find(fits) {
            return Some(Decision::allow(rule));
        }
        let remembered = self.remembered.read().unwrap_or_else(PoisonError::into_inner);
        remembered.iter().find(fits).map(Decision::allow)
    }

    fn by_mode_path(&self, tool: &str, write: bool, path: &Path, shown: &str) -> Decision {
        let inside = self.is_inside(path, write);
        let (is_free, what) = match (write, inside) {
            (false, true) => (true, ""),
            (false, false) => (false, "reads outside the workspace"),
            (true, true) if is_protected(path) => (false, "changes files that decide what is run later"),
            (true, true) => (self.mode >= Mode::AcceptEdits, "changes a file"),
            (true, false) => (false, "changes a file outside the workspace"),
        };
        if self.mode == Mode::Full || is_free {
            return self.by_mode(Verdict::Allow, true);
        }
        let remember = if inside && write && !is_protected(path) { shown } else { &path.to_string_lossy() };
        self.not_free(format!("`{tool}` {what}: {shown}"), quoted_path(tool, remember))
    }

    fn decide_page(&self, given: &str) -> Decision {
        let Some(host) = web_fetch::address(given).and_then(|url| Some(url.host_str()?.to_owned())) else {
            // The tool says so itself, and asks nobody.
            return self.by_mode(Verdict::Allow, true);
        };
        let denied = self.rules_of(Effect::Deny).find(|rule| rule.matches_host(&host));
        if let Some(rule) = denied {
            return Decision::deny(rule, format!("`{host}` is denied by `{}`", rule.text()));
        }
        let remembered = self.remembered.read().unwrap_or_else(PoisonError::into_inner);
        let mut allowed = self.rules_of(Effect::Allow).chain(remembered.iter());
        if let Some(rule) = allowed.find(|rule| rule.matches_host(&host)) {
            return Decision::allow(rule);
        }
        if self.mode == Mode::Full {
            return self.by_mode(Verdict::Allow, true);
        }
        let remember = vec![format!("{}(domain:{host})", web_fetch::NAME)];
        self.not_free(format!("`{}` asks {host}: {given}", web_fetch::NAME), remember)
    }

    fn decide_other(&self, tool: &str) -> Decision {
        let names = |rule: &&Rule| speaks_of(&rule.tool, tool) && matches!(rule.pattern, Pattern::All);
        if let Some(rule) = self.rules_of(Effect::Allow).find(names) {
            return Decision::allow(rule);
        }
        let remembered = self.remembered.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(rule) = remembered.iter().find(names) {
            return Decision::allow(rule);
        }
        if self.mode == Mode::Full {
            return self.by_mode(Verdict::Allow, true);
        }
        self.not_free(format!("`{tool}` may do anything"), vec![tool.to_owned()])
    }

    /// What the mode says of a call that it does not allow.
    fn not_free(&self, what: String, remember: Vec<String>) -> Decision {
        let verdict = match self.mode {
            Mode::ReadOnly => Verdict::Deny { reason: format!("{what} (the mode is read-only)") },
            _ => Verdict::Ask { question: what },
        };
        Decision { remember, ..self.by_mode(verdict, false) }
    }

    fn by_mode(&self, verdict: Verdict, by_default: bool) -> Decision {
        let rule = format!("mode {}", self.mode.name());
        Decision { verdict, rule, source: self.mode_source.clone(), remember: Vec::new(), by_default }
    }

    fn is_inside(&self, path: &Path, write: bool) -> bool {
        path.starts_with(&self.root) || !write && self.readable.iter().any(|folder| path.starts_with(folder))
    }

    fn shown(&self, path: &Path) -> String {
        let inside = path.strip_prefix(&self.root).ok().filter(|rest| !rest.as_os_str().is_empty());
        inside.unwrap_or(path).to_string_lossy().into_owned()
    }
}

impl Decision {
    fn allow(rule: &Rule) -> Self {
        Self::by(rule, Verdict::Allow)
    }

    fn deny(rule: &Rule, reason: String) -> Self {
        Self::by(rule, Verdict::Deny { reason })
    }

    fn by(rule: &Rule, verdict: Verdict) -> Self {
        let (text, source) = (rule.text().to_owned(), rule.source.clone());
        Self { verdict, rule: text, source, remember: Vec::new(), by_default: false }
    }
}

/// Whether a path lies in a folder whose files decide what is run later.
fn is_protected(path: &Path) -> bool {
    let is_one = |part: std::path::Component<'_>| {
        PROTECTED.iter().any(|name| part.as_os_str().to_string_lossy().eq_ignore_ascii_case(name))
    };
    path.components().any(is_one)
}

/// The rule for one path; none where its name could be taken for a pattern.
fn quoted_path(tool: &str, path: &str) -> Vec<String> {
    if path.contains(['*', '?', '[', ']', '{', '}', '\\', '\n', '(', ')']) || !path.contains('/') {
        let plain = !path.contains(['*', '?', '[', ']', '{', '}', '\\', '\n', '(', ')', '/']);
        return if plain { vec![format!("{tool}(./{path})")] } else { Vec::new() };
    }
    vec![format!("{tool}({path})")]
}

/// Entries of a folder that are looked at for one that a search must not read.
const WALKED: usize = 50_000;

#[cfg(test)]
mod tests;
