//! The decision about a shell line.

use std::path::{Path, PathBuf};

use globset::GlobBuilder;

use super::rule::{CommandPattern, Likeness, Pattern};
use super::shell::{Harm, Line, Simple, Target, Word, base, harm, may_run};
use super::{Decision, Effect, Mode, Policy, Rule, Verdict};
use crate::paths;

/// A call of the shell and what it is judged by.
pub(super) struct ShellCall<'a> {
    policy: &'a Policy,
    remembered: &'a [Rule],
    /// Where the shell is.
    start: PathBuf,
}

/// What of a line is not allowed, and the rules that would allow it.
#[derive(Default)]
struct Refused {
    what: Vec<String>,
    /// `None` once no rule can.
    remember: Option<Vec<String>>,
}

impl<'a> ShellCall<'a> {
    pub(super) fn new(policy: &'a Policy, remembered: &'a [Rule]) -> Self {
        let start = policy.shell.state().folder.unwrap_or_else(|| policy.root.clone());
        Self { policy, remembered, start }
    }

    pub(super) fn decide(&self, text: &str) -> Decision {
        let line = Line::read(text);
        if let Some(denied) = self.denied(&line) {
            return denied;
        }
        let doubts = self.doubts(&line);
        if self.policy.mode == Mode::Full {
            return match doubts.first() {
                None => self.policy.by_mode(Verdict::Allow, true),
                Some(_) => self.policy.not_free(list(&doubts), Vec::new()),
            };
        }
        let mut refused = Refused { what: Vec::new(), remember: Some(Vec::new()) };
        for doubt in line.unclear.iter().map(|what| format!("not understood: {what}")).chain(doubts) {
            refused.never(doubt);
        }
        let folders = self.folders(&line);
        let mut by = None;
        for command in line.commands.iter().filter(|command| !command.transparent) {
            self.command(command, folders.as_deref(), &mut refused, &mut by);
        }
        for target in &line.targets {
            if let Some(denied) = self.target(target, folders.as_deref(), &mut refused, &mut by) {
                return denied;
            }
        }
        if line.commands.is_empty() && line.targets.is_empty() && refused.what.is_empty() {
            return self.policy.by_mode(Verdict::Allow, true);
        }
        if refused.what.is_empty() {
            return by.unwrap_or_else(|| self.policy.by_mode(Verdict::Allow, true));
        }
        self.policy.not_free(list(&refused.what), refused.remember.unwrap_or_default())
    }

    fn rules(&self, effect: Effect) -> impl Iterator<Item = &Rule> {
        let remembered = self.remembered.iter().filter(move |rule| rule.effect == effect);
        self.policy.rules_of(effect).chain(remembered)
    }

    fn denials(&self) -> impl Iterator<Item = (&Rule, &CommandPattern)> {
        self.rules(Effect::Deny).filter_map(|rule| match &rule.pattern {
            Pattern::Command(pattern) => Some((rule, pattern)),
            _ => None,
        })
    }

    fn denies_paths(&self) -> bool {
        self.rules(Effect::Deny).any(|rule| matches!(rule.pattern, Pattern::Path(_)))
    }

    /// What a deny rule says for certain.
    fn denied(&self, line: &Line) -> Option<Decision> {
        for (rule, pattern) in self.denials() {
            if let Some(command) =
                line.commands.iter().find(|command| pattern.denies(command) == Likeness::Yes)
            {
                return Some(Decision::deny(
                    rule,
                    format!("`{}` is denied by `{}`", shown(command), rule.text()),
                ));
            }
        }
        if !self.denies_paths() {
            return None;
        }
        let words = line.commands.iter().flat_map(Simple::arguments).filter_map(|word| word.text.as_deref());
        let values = words.flat_map(|text| [Some(text), text.split_once('=').map(|(_, value)| value)]);
        let named = values.flatten().chain(line.targets.iter().filter_map(|target| target.path.as_deref()));
        for text in named {
            for path in self.spellings(text) {
                let is_about = |rule: &&Rule| {
                    rule.matches_path("read", false, &path) || rule.matches_path("edit", true, &path)
                };
                if let Some(rule) = self.rules(Effect::Deny).find(is_about) {
                    return Some(Decision::deny(rule, format!("`{text}` is denied by `{}`", rule.text())));
                }
            }
        }
        None
    }

    /// The path that a text names, as it is written and with links resolved.
    fn spellings(&self, text: &str) -> [PathBuf; 2] {
        let path = match (text.strip_prefix("~/"), &self.policy.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => self.start.join(text),
        };
        [super::written(&path), paths::resolve(&path)]
    }

    /// Why something that a rule denies may run all the same.
    fn doubts(&self, line: &Line) -> Vec<String> {
        let mut doubts = Vec::new();
        let mut programs = Vec::new();
        for (rule, pattern) in self.denials() {
            programs.push((rule, pattern.program()));
            let is_maybe = |command: &&Simple| pattern.denies(command) == Likeness::Maybe;
            if let Some(command) = line.commands.iter().find(is_maybe) {
                doubts.push(format!("`{}` may be what `{}` denies", shown(command), rule.text()));
            }
        }
        if programs.is_empty() {
            return doubts;
        }
        doubts.extend(line.unclear.iter().map(|what| format!("not understood: {what}")));
        doubts.extend(line.commands.iter().filter_map(|command| command.opaque.clone()));
        let writes = line.targets.iter().any(|target| target.write && !is_device(target.path.as_deref()))
            || line
                .commands
                .iter()
                .any(|command| command.name().is_some_and(|name| COPIERS.contains(&base(name))));
        let is_looked_at = |command: &&Simple| !command.transparent && !command.is_file;
        let may_run = |command: &&Simple| {
            let name = command.name().map(base).unwrap_or_default();
            harm(command) == Harm::Possible && may_run(name, command.arguments())
        };
        if let Some(command) = line.commands.iter().filter(is_looked_at).find(may_run) {
            doubts.push(format!("`{}` may run what its arguments say", shown(command)));
        }
        let is_file =
            |command: &Simple| command.is_file || command.name().is_some_and(|name| name.contains('/'));
        if writes && line.commands.iter().any(is_file) {
            doubts.push("it writes files and runs one".to_owned());
        }
        for command in line.commands.iter().filter(|command| writes || harm(command) == Harm::Possible) {
            for (rule, program) in &programs {
                if command.arguments().iter().any(|word| mentions(word, program)) {
                    doubts.push(format!("`{}` names what `{}` denies", shown(command), rule.text()));
                }
            }
        }
        doubts
    }

    /// The folders that relative paths may start at: where the shell is, and the one that the line enters first. `None`
    /// where it enters others later.
    fn folders(&self, line: &Line) -> Option<Vec<PathBuf>> {
        let mut folders = vec![self.start.clone()];
        for (at, command) in line.commands.iter().enumerate() {
            match harm(command) {
                Harm::Enters(Some(folder)) if at == 0 => folders.push(self.start.join(folder.plain()?)),
                Harm::Enters(_) => return None,
                _ => {}
            }
        }
        Some(folders)
    }

    fn command(
        &self,
        command: &Simple,
        folders: Option<&[PathBuf]>,
        refused: &mut Refused,
        by: &mut Option<Decision>,
    ) {
        let allows = |rule: &&Rule| {
            rule.tool == "bash"
                && match &rule.pattern {
                    Pattern::All => command.opaque.is_none(),
                    Pattern::Command(pattern) => {
                        (command.opaque.is_none() || pattern.is_exact()) && pattern.allows(command)
                    }
                    Pattern::Path(_) | Pattern::Domain(_) => false,
                }
        };
        if self.has_hidden_paths(command) {
            return refused.never(format!(
                "`{}` with paths that are not written out, while rules deny some",
                shown(command)
            ));
        }
        if let Some(rule) = self.rules(Effect::Allow).find(allows) {
            by.get_or_insert_with(|| Decision::allow(rule));
        } else if !self.is_harmless(command, folders) {
            let why = command.opaque.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
            let rule =
                exact_rule(command).filter(|_| !refused.what.iter().any(|what| what.starts_with("not un")));
            refused.add(format!("`{}`{why}", shown(command)), rule);
        }
    }

    /// Whether a command may name a path that a rule denies without showing it.
    fn has_hidden_paths(&self, command: &Simple) -> bool {
        let is_printer =
            matches!(command.name(), Some("echo" | "printf" | "test" | "[" | "true" | "exit" | "for"));
        let is_hidden = |pair: &[Word]| match pair {
            [before, word] => word.plain().is_none() && (word.splits || !is_message(before)),
            _ => false,
        };
        !is_printer && self.denies_paths() && command.words.windows(2).any(is_hidden)
    }

    fn is_harmless(&self, command: &Simple, folders: Option<&[PathBuf]>) -> bool {
        let is_here = folders.is_some_and(|folders| *folders == [self.policy.root.clone()]);
        match harm(command) {
            Harm::Possible => false,
            Harm::None => command.opaque.is_none(),
            Harm::Git(words) => self.policy.trusted && is_here && self.may_read(&words, folders, false),
            Harm::Reads(words) => {
                let is_deep = matches!(command.name(), Some("grep" | "egrep" | "fgrep" | "rg" | "find"));
                self.may_read(&words, folders, is_deep)
            }
            Harm::Enters(folder) => {
                let root = std::slice::from_ref(&self.start);
                folder.is_some_and(|folder| folders.is_some() && self.may_read(&[folder], Some(root), false))
            }
        }
    }

    /// Whether all the words, taken as paths, may be read without a question.
    fn may_read(&self, words: &[&Word], folders: Option<&[PathBuf]>, is_deep: bool) -> bool {
        let Some(folders) = folders else { return false };
        if folders.len() > 1 && self.denies_paths() {
            return false;
        }
        let operands: Vec<Operand<'_>> = words.iter().map(|word| operand(word)).collect();
        if operands.contains(&Operand::Hidden) {
            return false;
        }
        let path = |operand| if let Operand::Path(path) = operand { Some(path) } else { None };
        let mut paths: Vec<&str> = operands.into_iter().filter_map(path).collect();
        if is_deep {
            paths.push(".");
        }
        let is_free = |path: PathBuf, given: &str| {
            self.policy.decide_path("read", false, &paths::resolve(&path), Some(given)).verdict
                == Verdict::Allow
        };
        paths.iter().all(|text| folders.iter().all(|folder| is_free(folder.join(text), text)))
    }

    fn target(
        &self,
        target: &Target,
        folders: Option<&[PathBuf]>,
        refused: &mut Refused,
        by: &mut Option<Decision>,
    ) -> Option<Decision> {
        let verb = if target.write { "writes" } else { "reads" };
        let Some(path) = &target.path else {
            refused.never(format!("{verb} a file whose name is not written out"));
            return None;
        };
        if is_device(Some(path)) {
            return None;
        }
        let is_absolute = Path::new(path).is_absolute();
        if !is_absolute && folders.is_none_or(|folders| folders.len() > 1) {
            refused.never(format!("{verb} `{path}` in a folder that is not known for certain"));
            return None;
        }
        let tool = if target.write { "edit" } else { "read" };
        let given = self.start.join(path);
        let decision = self.policy.decide_path(tool, target.write, &paths::resolve(&given), given.to_str());
        match &decision.verdict {
            Verdict::Allow => {
                if !decision.by_default {
                    by.get_or_insert(decision);
                }
                None
            }
            Verdict::Deny { .. } if self.policy.mode != Mode::ReadOnly => Some(decision),
            _ => {
                refused.add(format!("{verb} `{path}`"), decision.remember.first().cloned());
                None
            }
        }
    }
}

impl Refused {
    /// Adds what a rule would allow, if there is one.
    fn add(&mut self, what: String, rule: Option<String>) {
        if !self.what.contains(&what) {
            self.what.push(what);
        }
        match (rule, &mut self.remember) {
            (Some(rule), Some(rules)) if !rules.contains(&rule) => rules.push(rule),
            (Some(_), _) => {}
            (None, remember) => *remember = None,
        }
    }

    /// Adds what no rule allows.
    fn never(&mut self, what: String) {
        self.add(what, None);
    }
}

/// What a word is to a program that reads files.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operand<'w> {
    /// A path, or the folder that a pattern starts in.
    Path(&'w str),
    /// An option without a path in it.
    Flag,
    /// It may be any path.
    Hidden,
}

fn operand(word: &Word) -> Operand<'_> {
    let Some(text) = word.text.as_deref() else { return Operand::Hidden };
    if text.starts_with('-') && text.len() > 1 {
        let hides = text.contains(['/', '~']) || text.contains("..");
        return if hides { Operand::Hidden } else { Operand::Flag };
    }
    if text.starts_with('~') {
        return Operand::Hidden;
    }
    if !word.pattern {
        return Operand::Path(text);
    }
    let is_up = |part: &str| part.starts_with('.') && part.contains(['*', '?', '[', '\\']);
    if text.split('/').any(is_up) {
        return Operand::Hidden;
    }
    let literal = text.find(['*', '?', '[']).map_or(text, |at| &text[..at]);
    Operand::Path(literal.rfind('/').map_or(".", |at| &text[..=at]))
}

/// Whether what follows is a text and no path.
fn is_message(option: &Word) -> bool {
    ["-m", "-am", "--message"].iter().any(|text| option.is(text))
}

/// Whether a word names a program that is denied, or a pattern in it may.
fn mentions(word: &Word, program: &str) -> bool {
    let text = word.text.as_deref().unwrap_or(&word.start).to_ascii_lowercase();
    if program.len() < 2 {
        return text == program;
    }
    let in_pattern = || {
        let pattern = GlobBuilder::new(base(&text)).build();
        pattern.map_or(true, |glob| glob.compile_matcher().is_match(program))
    };
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    let is_alone = || {
        text.match_indices(program).any(|(at, _)| {
            let before = text[..at].chars().next_back().is_none_or(|letter| !is_letter(letter));
            let after = text[at + program.len()..].chars().next().is_none_or(|letter| !is_letter(letter));
            after && (before || text.starts_with('-'))
        })
    };
    let found = if program.len() < 4 { is_alone() } else { text.contains(program) };
    found || word.pattern && in_pattern()
}

/// The rule that allows this command and no other.
fn exact_rule(command: &Simple) -> Option<String> {
    let quote = |word: &Word| {
        let text = word.plain()?;
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=+,@%:".contains(letter);
        if text.contains('\'') || text.chars().any(char::is_control) {
            return None;
        }
        let is_plain = !text.is_empty() && text.chars().all(is_plain);
        Some(if is_plain { text.to_owned() } else { format!("'{text}'") })
    };
    let words: Option<Vec<String>> = command.words.iter().map(quote).collect();
    let text = words?.join(" ");
    (!text.ends_with(":*")).then(|| format!("bash({text})"))
}

/// A command as the user sees it.
fn shown(command: &Simple) -> String {
    let word = |word: &Word| match &word.text {
        Some(text) => text.clone(),
        None => format!("{}…", word.start),
    };
    let text = command.words.iter().map(word).collect::<Vec<_>>().join(" ");
    let mut short: String = text.chars().take(SHOWN).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

fn list(what: &[String]) -> String {
    what.join("; ")
}

fn is_device(path: Option<&str>) -> bool {
    matches!(path, Some("/dev/null" | "/dev/stdout" | "/dev/stderr"))
}

/// Programs that put the contents of one file under another name.
const COPIERS: [&str; 8] = ["cp", "mv", "ln", "install", "dd", "rsync", "tee", "patch"];

/// Letters of a command that are shown.
const SHOWN: usize = 200;
