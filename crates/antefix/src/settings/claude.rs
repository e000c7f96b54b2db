//! Hooks that stand in the settings of Claude Code, whose users know them there.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use antefix_tools::hooks::{HOOK_TIMEOUT, Hook, HookEvent, Matcher};
use antefix_tools::permission::Source;
use antefix_wire::json::{Body, Kind, Limits, Node};

use super::file::File;
use super::hooks::LONGEST_SECONDS;

/// The hooks of a folder and its user, by layer.
pub(super) struct Layers {
    pub(super) user: Layer,
    pub(super) project: Layer,
    pub(super) local: Layer,
}

impl Layers {
    /// Reads `.claude/settings.json` of the user's home and of a folder, and the folder's `settings.local.json`.
    pub(super) fn read(folder: &Path, home: Option<&Path>) -> Self {
        let user = home.map(|home| Layer::read(&home.join(PROJECT), "user settings"));
        // What the user has at home is not a project's, whoever works there.
        let is_home = home.is_some_and(|home| home.canonicalize().is_ok_and(|home| home == folder));
        let project = (!is_home).then(|| Layer::read(&folder.join(PROJECT), "project settings"));
        Self {
            user: user.unwrap_or_default(),
            project: project.unwrap_or_default(),
            local: Layer::read(&folder.join(LOCAL), "local settings"),
        }
    }

    /// What of a folder's own files trust is about.
    pub(super) fn texts(&self) -> [&str; 2] {
        [&self.project.text, &self.local.text]
    }
}

/// What one file says, read leniently: another agent writes it too, and what is wrong with it stops nothing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Layer {
    /// What of the file is about hooks, as it is written; empty if nothing is.
    pub(super) text: String,
    /// Those that are understood.
    pub(super) hooks: Vec<Hook>,
    /// `disableAllHooks`
    pub(super) is_off: bool,
    /// What is not understood, and what is passed over.
    pub(super) notes: Vec<String>,
}

impl Layer {
    fn read(path: &Path, layer: &str) -> Self {
        let shown = path.display();
        match File::text(path) {
            Ok(text) => Self::of(&text, &Source::new(&format!("{layer} {shown}"))).about(&shown.to_string()),
            Err(error) => {
                Self { notes: vec![format!("`{shown}` cannot be read: {error}")], ..Self::default() }
            }
        }
    }

    /// Puts the file's name in front of what is said of it.
    fn about(mut self, path: &str) -> Self {
        for note in &mut self.notes {
            *note = format!("`{path}`: {note}");
        }
        self
    }

    fn of(text: &str, source: &Source) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if text.trim().is_empty() {
            return Self::default();
        }
        let wrong =
            |what: String| Self { notes: vec![format!("no hook of it holds: {what}")], ..Self::default() };
        let body = match Body::parse_with(text, LIMITS) {
            Ok(body) if body.root().kind() == Kind::Object => body,
            Ok(_) => return wrong("it is no object".to_owned()),
            Err(error) => return wrong(format!("it is not JSON: {error}")),
        };
        let is_off = body.root().get("disableAllHooks").and_then(Node::bool).unwrap_or(false);
        let Some(events) = body.root().get("hooks").filter(|hooks| !hooks.is_null()) else {
            let text = if is_off { OFF.to_owned() } else { String::new() };
            return Self { text, is_off, ..Self::default() };
        };
        let text = format!("{}{}", if is_off { OFF } else { "" }, events.raw());
        if events.kind() != Kind::Object {
            return Self { text, is_off, ..wrong("`hooks` is no object".to_owned()) };
        }
        let mut reader = Reader {
            source,
            hooks: Vec::new(),
            notes: Vec::new(),
            events: Names::default(),
            kinds: Names::default(),
        };
        for (name, groups) in events.members() {
            reader.event(&name.str().unwrap_or_default(), groups);
        }
        let (hooks, notes) = reader.end();
        Self { text, hooks, is_off, notes }
    }
}

/// Reads the hooks of a file, and collects what cannot be taken.
struct Reader<'a> {
    source: &'a Source,
    hooks: Vec<Hook>,
    notes: Vec<String>,
    /// Events that are not here.
    events: Names,
    /// Kinds of hooks that are not here.
    kinds: Names,
}

impl Reader<'_> {
    fn event(&mut self, name: &str, groups: Node<'_>) {
        let Some(event) = HookEvent::from_name(name) else {
            self.events.add(name);
            return;
        };
        if groups.kind() != Kind::Array {
            self.notes.push(format!("`hooks.{name}` is left out: it is no list"));
            return;
        }
        for group in groups.items() {
            if let Err(what) = self.group(event, group) {
                self.notes.push(format!("a hook in `hooks.{name}` is left out: {what}"));
            }
        }
    }

    /// Reads a matcher with its hooks.
    fn group(&mut self, event: HookEvent, group: Node<'_>) -> Result<(), String> {
        let matcher = match group.get("matcher").filter(|matcher| !matcher.is_null()) {
            None => String::new(),
            Some(matcher) => matcher.str().ok_or("`matcher` is no text")?.into_owned(),
        };
        let matcher = Matcher::new(&matcher).map_err(|error| error.to_string())?;
        let hooks = group.get("hooks").filter(|hooks| hooks.kind() == Kind::Array);
        for hook in hooks.ok_or("there is no list `hooks` in it")?.items() {
            match self.hook(event, &matcher, hook) {
                Ok(hook) => self.hooks.extend(hook),
                Err(what) => {
                    self.notes.push(format!("a hook in `hooks.{}` is left out: {what}", event.name()));
                }
            }
        }
        Ok(())
    }

    /// Reads one hook; none if it is of a kind that is passed over.
    fn hook(&mut self, event: HookEvent, matcher: &Matcher, node: Node<'_>) -> Result<Option<Hook>, String> {
        if node.kind() != Kind::Object {
            return Err("it is no object".to_owned());
        }
        let kind = node.get("type").and_then(Node::str).unwrap_or("command".into());
        if kind != "command" {
            self.kinds.add(&format!("type {kind}"));
            return Ok(None);
        }
        let says = |value: Node<'_>| !value.is_null() && value.bool() != Some(false);
        for (key, _) in node.members().filter(|(_, value)| says(*value)) {
            let key = key.str().unwrap_or_default();
            // Whatever else a hook says may be about when it runs, and none runs when it should not.
            if !KEYS.contains(&key.as_ref()) {
                self.kinds.add(&key);
                return Ok(None);
            }
        }
        let command = node.get("command").and_then(Node::str).filter(|command| !command.trim().is_empty());
        let command = command.ok_or("it has no `command`")?.into_owned();
        let timeout = match node.get("timeout").filter(|timeout| !timeout.is_null()) {
            None => HOOK_TIMEOUT,
            Some(seconds) => {
                let seconds = seconds.u64().filter(|seconds| *seconds > 0);
                let seconds = seconds.ok_or("`timeout` is no number of seconds above 0")?;
                Duration::from_secs(seconds.min(LONGEST_SECONDS))
            }
        };
        Ok(Some(Hook { event, matcher: matcher.clone(), command, timeout, source: self.source.clone() }))
    }

    fn end(mut self) -> (Vec<Hook>, Vec<String>) {
        self.notes.truncate(MOST_NOTES);
        let events = self
            .events
            .text()
            .map(|names| format!("events that antefix does not have are passed over: {names}"));
        let kinds = self
            .kinds
            .text()
            .map(|names| format!("hooks with what antefix does not have are passed over: {names}"));
        self.notes.extend(events.into_iter().chain(kinds));
        (self.hooks, self.notes)
    }
}

/// Names, each once.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl Names {
    fn add(&mut self, name: &str) {
        self.0.insert(name.chars().take(LONGEST_NAME).collect());
    }

    fn text(&self) -> Option<String> {
        let first: Vec<String> = self.0.iter().take(MOST_NAMES).map(|name| format!("`{name}`")).collect();
        let more = self.0.len().checked_sub(MOST_NAMES).filter(|more| *more > 0);
        let more = more.map(|more| format!(" and {more} more")).unwrap_or_default();
        (!first.is_empty()).then(|| format!("{}{more}", first.join(", ")))
    }
}

/// In the user's home, and in a project.
pub(super) const PROJECT: &str = ".claude/settings.json";

/// The user's own in a project.
pub(super) const LOCAL: &str = ".claude/settings.local.json";

/// Members of a hook that are understood, or say nothing about when it runs.
const KEYS: [&str; 5] = ["type", "command", "timeout", "statusMessage", "description"];

/// What stands for `disableAllHooks` in [`Layer::text`].
const OFF: &str = "off ";

const LIMITS: Limits = Limits { bytes: 1 << 20, depth: 64, spans: 1 << 16 };

const MOST_NOTES: usize = 5;
const MOST_NAMES: usize = 20;
const LONGEST_NAME: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    /// Hooks and notes of a file, each in a line.
    fn check(text: &str) -> String {
        let layer = Layer::of(text, &Source::new("test"));
        let hook = |hook: &Hook| {
            let is_bash = hook.matcher.is_about("bash");
            format!("{} {} {} {is_bash}", hook.event.name(), hook.command, hook.timeout.as_secs())
        };
        layer.hooks.iter().map(hook).chain(layer.notes).collect::<Vec<_>>().join("; ")
    }

    /// A file with one hook at an event.
    fn one(event: &str, hook: &str) -> String {
        format!(r#"{{"hooks":{{"{event}":[{{"matcher":"Bash","hooks":[{hook}]}}]}}}}"#)
    }

    #[test]
    fn hooks_are_read_leniently() {
        let command = r#"{"type":"command","command":"a"}"#;
        for (text, expect) in [
            (String::new(), ""),
            ("{}".to_owned(), ""),
            (r#"{"permissions":{"allow":["Bash(ls)"]},"hooks":null}"#.to_owned(), ""),
            (r#"{"hooks":{}}"#.to_owned(), ""),
            (one("PreToolUse", command), "PreToolUse a 60 true"),
            (format!("\u{feff}{}", one("Stop", command)), "Stop a 60 true"),
            (
                one("Stop", r#"{"command":"a","timeout":5,"statusMessage":"x","async":false}"#),
                "Stop a 5 true",
            ),
            (one("Stop", r#"{"type":"command","command":"a","timeout":86400}"#), "Stop a 600 true"),
            (
                format!(
                    r#"{{"hooks":{{"PostToolUse":[{{"matcher":"Edit|Write","hooks":[{command}]}},{{"hooks":[{command},{command}]}}]}}}}"#
                ),
                "PostToolUse a 60 false; PostToolUse a 60 true; PostToolUse a 60 true",
            ),
            (
                format!(
                    r#"{{"hooks":{{"PreCompact":[],"Stop":[{{"hooks":[{command}]}}],"Notification":7}}}}"#
                ),
                "Stop a 60 true; events that antefix does not have are passed over: `Notification`, `PreCompact`",
            ),
            (
                one(
                    "Stop",
                    r#"{"type":"prompt","prompt":"x"},{"type":"http","url":"u"},{"type":"command","command":"b"},{"type":"prompt"}"#,
                ),
                "Stop b 60 true; hooks with what antefix does not have are passed over: `type http`, `type prompt`",
            ),
            (
                one(
                    "Stop",
                    r#"{"type":"command","command":"a","async":true},{"type":"command","command":"a","if":"Bash(git *)"}"#,
                ),
                "hooks with what antefix does not have are passed over: `async`, `if`",
            ),
            ("{".to_owned(), "no hook of it holds: it is not JSON: unexpected end of JSON at byte 1"),
            ("[]".to_owned(), "no hook of it holds: it is no object"),
            (r#"{"hooks":[]}"#.to_owned(), "no hook of it holds: `hooks` is no object"),
            (r#"{"hooks":{"Stop":{}}}"#.to_owned(), "`hooks.Stop` is left out: it is no list"),
            (
                r#"{"hooks":{"Stop":[7]}}"#.to_owned(),
                "a hook in `hooks.Stop` is left out: there is no list `hooks` in it",
            ),
            (
                r#"{"hooks":{"Stop":[{"matcher":7,"hooks":[]}]}}"#.to_owned(),
                "a hook in `hooks.Stop` is left out: `matcher` is no text",
            ),
            (one("Stop", "7"), "a hook in `hooks.Stop` is left out: it is no object"),
            (one("Stop", r#"{"type":"command"}"#), "a hook in `hooks.Stop` is left out: it has no `command`"),
            (one("Stop", r#"{"command":" "}"#), "a hook in `hooks.Stop` is left out: it has no `command`"),
            (
                one("Stop", r#"{"command":"a","timeout":"1"}"#),
                "a hook in `hooks.Stop` is left out: `timeout` is no number of seconds above 0",
            ),
        ] {
            assert_eq!(check(&text), expect, "{text}");
        }
        let broken = r#"{"hooks":{"Stop":[{"matcher":"(","hooks":[]}]}}"#;
        assert!(check(broken).contains("no regular expression"));
        assert!(check(&format!("{{\"hooks\":{}", "[".repeat(1000))).contains("it is not JSON"));
    }
}
