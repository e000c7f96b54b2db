//! Settings in layers: built-in, the user's, the project's, local ones, flags. Each value knows where it comes from.

mod bounds;
mod claude;
mod file;
mod hooks;
mod remember;
mod reminders;
mod servers;
#[cfg(test)]
mod tests;
pub mod trust;
mod watch;

use std::path::{Path, PathBuf};
use std::time::Duration;

use antefix_mcp::config::Draft;
use antefix_models::Preset;
use antefix_runtime::catalogue::Deferral;
use antefix_runtime::context::Reminders;
use antefix_tools::hooks::Hook;
use antefix_tools::permission::{Effect, Mode, Policy, Rule, Source};
use antefix_tools::sandbox::Confinement;

use crate::cli::{AgentArgs, AutoCompact, Switch, parse_auto_compact};
use crate::environment::Environment;
use crate::failure::Failure;
use bounds::Bounds;
use file::File;
use reminders::{DIAGNOSTICS, DIAGNOSTICS_TIMEOUT, MEMORY, REMINDERS};
use trust::{Trust, digest};
pub use watch::Watch;

/// What holds in a folder.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder.
    pub folder: PathBuf,
    /// Whether what its files say holds in full.
    pub trust: Trust,
    /// What happens to calls that no rule speaks of.
    pub mode: (Mode, Source),
    /// The bounds of commands.
    pub bounds: Bounds,
    /// All rules that hold.
    pub rules: Vec<Rule>,
    /// `model`, `base_url` and `key_helper`, where a file sets them.
    pub values: Vec<Value>,
    /// Commands that are asked at certain moments, in the order in which they count.
    pub hooks: Vec<Hook>,
    /// Own presets for servers of Chat Completions.
    pub presets: Vec<(Preset, Source)>,
    /// What of its surroundings the model is told.
    pub reminders: Reminders,
    /// MCP servers; of a name, the last layer's holds.
    pub servers: Vec<(Draft, Source)>,
    /// What is wrong with `.mcp.json`, which other agents write too and which stops nothing.
    pub notes: Vec<String>,
    /// What is wrong with hooks in the settings of Claude Code, which stops nothing either.
    pub hook_notes: Vec<String>,
    /// What project and local files say and what does not hold, since the folder is not trusted.
    pub ignored: Vec<Value>,
    digest: String,
    home: Option<PathBuf>,
}

/// One value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// The name: `base_url`, `permissions.mode`.
    pub key: &'static str,
    /// The value.
    pub text: String,
    /// Where it comes from.
    pub source: Source,
}

/// What the flags say about permissions.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// `--permission-mode`
    pub mode: Option<Mode>,
    /// The rules of `--allow`.
    pub allow: Vec<String>,
    /// The rules of `--deny`.
    pub deny: Vec<String>,
    /// `--sandbox`
    pub sandbox: Option<Confinement>,
    /// `--network`
    pub network: Option<bool>,
    /// `--trust`
    pub trust: bool,
    /// `--no-reminder`
    pub no_reminder: Vec<String>,
}

impl Flags {
    /// Those of `run`: tools alone in `--deny` are refused as well as not offered, those in `--allow` only offered, but
    /// for tools of servers, which then run without a question.
    pub fn of(args: &AgentArgs) -> Self {
        let is_rule = |text: &String| text.contains('(') || text.starts_with(SERVERS_TOOL);
        let rules = |list: &[String]| split(list).into_iter().filter(is_rule).collect();
        Self {
            mode: args.permission_mode.map(Into::into),
            allow: rules(args.allow.as_deref().unwrap_or_default()),
            deny: split(&args.deny),
            sandbox: args.sandbox.map(Into::into),
            network: args.network.map(|network| network == Switch::On),
            trust: args.trust,
            no_reminder: args.no_reminder.clone(),
        }
    }
}

impl Settings {
    /// Reads what holds in a folder.
    ///
    /// # Errors
    /// If a file cannot be read or says something that is not understood, or a flag is no rule.
    pub fn read(folder: &Path, environment: &Environment, flags: &Flags) -> Result<Self, Failure> {
        let user = environment
            .config
            .as_ref()
            .map(|config| File::read(&config.join("settings.toml"), "user settings"));
        let project = File::read(&folder.join(PROJECT), "project settings")?;
        let local = File::read(&folder.join(LOCAL), "local settings")?;
        let shared = servers::Shared::read(&folder.join(SHARED));
        let claude = claude::Layers::read(folder, environment.home.as_deref());
        let digest = digest([&project.text, &local.text], &shared.text, claude.texts());
        let stored = environment
            .state
            .as_deref()
            .map_or(Trust::Unknown, |state| trust::stored(state, folder, &digest));
        let mut settings = Self {
            folder: folder.to_owned(),
            trust: if flags.trust { Trust::Flag } else { stored },
            mode: (Mode::default(), Source::new("built-in")),
            bounds: Bounds::default(),
            rules: Vec::new(),
            values: Vec::new(),
            hooks: Vec::new(),
            presets: Vec::new(),
            reminders: Reminders::default(),
            servers: Vec::new(),
            notes: shared.notes,
            hook_notes: Vec::new(),
            ignored: Vec::new(),
            digest,
            home: environment.home.clone(),
        };
        if let Some(user) = user.transpose()? {
            settings.add(&user, true)?;
        }
        settings.add_claude(&claude.user, true);
        settings.add_servers(shared.drafts, &shared.source, false);
        for (file, claude) in [(&project, &claude.project), (&local, &claude.local)] {
            settings.add(file, false)?;
            settings.add_claude(claude, false);
        }
        settings.silence_claude(&claude);
        settings.add_flags(flags)?;
        Ok(settings)
    }

    /// The policy for tools that work in the folder.
    pub fn policy(&self) -> Policy {
        let (mode, source) = self.mode.clone();
        Policy::new(&self.folder, mode, source)
            .with_home(self.home.clone())
            .with_rules(self.rules.clone())
            .with_trust(self.trust.is_given())
    }

    /// A value that a file sets.
    pub fn value(&self, key: &str) -> Option<&str> {
        self.found(key).map(|value| value.text.as_str())
    }

    /// Such a value with where it comes from.
    pub fn found(&self, key: &str) -> Option<&Value> {
        self.values.iter().find(|value| value.key == key)
    }

    /// When a session goes on from a summary without being asked, if a file says so.
    pub fn auto_compact(&self) -> Option<AutoCompact> {
        parse_auto_compact(self.value(AUTO_COMPACT)?).ok()
    }

    /// The file of notes that the user keeps for all sessions, if one is named.
    pub fn memory(&self) -> Option<PathBuf> {
        bounds::folder(self.value(MEMORY)?, self.home.as_deref()).ok()
    }

    /// The command that says what is wrong behind edits, and how long it may run, if one is named.
    pub fn diagnostics(&self) -> Option<(String, Duration)> {
        let seconds = self.value(DIAGNOSTICS_TIMEOUT).and_then(|text| text.parse().ok());
        Some((self.value(DIAGNOSTICS)?.to_owned(), Duration::from_secs(seconds.unwrap_or(60))))
    }

    /// Which tools are left out of a new session's prompt.
    pub fn deferral(&self) -> Deferral {
        self.value(DEFER).and_then(Deferral::from_name).unwrap_or_default()
    }

    /// Tools that are in a new session's prompt whatever is deferred, of all layers.
    pub fn loaded(&self) -> Vec<String> {
        let loaded = self.values.iter().filter(|value| value.key == LOAD);
        loaded.map(|value| value.text.clone()).collect()
    }

    /// Hosts that may be fetched from although they are private, of all layers.
    pub fn private_hosts(&self) -> Vec<String> {
        let hosts = self.values.iter().filter(|value| value.key == PRIVATE_HOSTS);
        hosts.map(|value| value.text.clone()).collect()
    }

    /// Trusts the folder as its files are now, from now on.
    ///
    /// # Errors
    /// If that cannot be stored.
    pub fn store_trust(&self, environment: &Environment) -> Result<(), Failure> {
        let Some(state) = &environment.state else { return Ok(()) };
        trust::store(state, &self.folder, &self.digest).map_err(|error| {
            Failure::failed(format!("the trust in this folder could not be stored: {error}"))
        })
    }

    /// Adds allow rules to the folder's local settings, if the folder is trusted.
    ///
    /// # Errors
    /// In words, if they cannot be added.
    pub fn remember(&self, rules: &[String], state: Option<&Path>) -> Result<bool, String> {
        if !self.trust.is_given() {
            return Ok(false);
        }
        let before = self.current_digest()?;
        remember::add(&self.folder, rules)?;
        if let (Trust::Stored, Some(state)) = (self.trust, state)
            && trust::stored(state, &self.folder, &before) == Trust::Stored
        {
            // Only what was added here is new.
            let after = self.current_digest()?;
            trust::store(state, &self.folder, &after).map_err(|error| error.to_string())?;
        }
        Ok(true)
    }

    fn current_digest(&self) -> Result<String, String> {
        let text = |name: &str| File::text(&self.folder.join(name)).map_err(|error| error.to_string());
        let shared = servers::Shared::read(&self.folder.join(SHARED));
        let claude = claude::Layers::read(&self.folder, self.home.as_deref());
        Ok(digest([&text(PROJECT)?, &text(LOCAL)?], &shared.text, claude.texts()))
    }

    /// Adds what a file says; of one that is not the user's own, only what makes things stricter, until it is trusted.
    fn add(&mut self, file: &File, is_own: bool) -> Result<(), Failure> {
        let holds = is_own || self.trust.is_given();
        file.values.iter().try_for_each(|(key, text)| self.add_value(file, (*key, text), holds))?;
        for (kind, wanted) in &file.reminders {
            if holds {
                wanted.add_to(&mut self.reminders, kind).map_err(|error| file.wrong(&error.to_string()))?;
            }
            let text = format!("{kind} = {}", wanted.text());
            let value = Value { key: REMINDERS, text, source: file.source.clone() };
            if holds { self.values.push(value) } else { self.ignored.push(value) }
        }
        self.add_hooks(&file.hooks, is_own);
        self.add_servers(file.servers.clone(), &file.source, is_own);
        for preset in &file.presets {
            if holds {
                self.presets.retain(|(earlier, _)| earlier.name != preset.name);
                self.presets.push((preset.clone(), file.source.clone()));
            } else {
                let (text, source) = (preset.name.clone(), file.source.clone());
                self.ignored.push(Value { key: PRESET, text, source });
            }
        }
        Ok(())
    }

    fn add_value(
        &mut self,
        file: &File,
        (key, text): (&'static str, &str),
        holds: bool,
    ) -> Result<(), Failure> {
        let value = Value { key, text: text.to_owned(), source: file.source.clone() };
        match key {
            MODE => {
                let mode =
                    Mode::from_name(text).ok_or_else(|| file.wrong(&format!("`{text}` is no mode")))?;
                if holds || mode < self.mode.0 {
                    self.mode = (mode, file.source.clone());
                } else if mode > self.mode.0 {
                    self.ignored.push(value);
                }
            }
            bounds::MODE | bounds::NETWORK | bounds::WRITE => {
                let row = (key, text, &file.source);
                let added = self.bounds.add(row, holds, self.home.as_deref());
                if !added.map_err(|error| file.wrong(&error))? {
                    self.ignored.push(value);
                }
            }
            DENY => self.rules.push(self.rule(text, Effect::Deny, &file.source)?),
            ALLOW if holds => self.rules.push(self.rule(text, Effect::Allow, &file.source)?),
            PRIVATE_HOSTS | LOAD if holds => self.values.push(value),
            _ if holds => {
                self.values.retain(|earlier| earlier.key != key);
                self.values.push(value);
            }
            _ => self.ignored.push(value),
        }
        Ok(())
    }

    /// Adds hooks, which are commands: of a folder that is not trusted, none.
    fn add_hooks(&mut self, hooks: &[Hook], is_own: bool) {
        if is_own || self.trust.is_given() {
            self.hooks.extend_from_slice(hooks);
            return;
        }
        let ignored = |hook: &Hook| {
            let text = format!("{} {}", hook.event.name(), hook.command);
            Value { key: HOOKS, text, source: hook.source.clone() }
        };
        self.ignored.extend(hooks.iter().map(ignored));
    }

    /// Adds the hooks of a file of Claude Code's.
    fn add_claude(&mut self, layer: &claude::Layer, is_own: bool) {
        self.add_hooks(&layer.hooks, is_own);
        self.hook_notes.extend_from_slice(&layer.notes);
    }

    /// Takes the hooks of all files of Claude Code's out again, if a layer that holds does not want them.
    fn silence_claude(&mut self, claude: &claude::Layers) {
        let is_trusted = self.trust.is_given();
        let layers = [(&claude.user, true), (&claude.project, is_trusted), (&claude.local, is_trusted)];
        let is_off = layers.iter().any(|(layer, holds)| layer.is_off && *holds);
        if !is_off && self.value(CLAUDE_HOOKS) != Some("false") {
            return;
        }
        let hooks = layers.iter().flat_map(|(layer, _)| &layer.hooks);
        let sources: Vec<&Source> = hooks.map(|hook| &hook.source).collect();
        self.hooks.retain(|hook| !sources.contains(&&hook.source));
        self.ignored.retain(|value| !sources.contains(&&value.source));
        self.hook_notes.clear();
    }

    /// Adds MCP servers, which are programs: of a folder that is not trusted, none.
    fn add_servers(&mut self, drafts: Vec<Draft>, source: &Source, is_own: bool) {
        let holds = is_own || self.trust.is_given();
        for draft in drafts {
            if holds {
                self.servers.retain(|(earlier, _)| earlier.name != draft.name);
                self.servers.push((draft, source.clone()));
            } else {
                let text = format!("{}: {}", draft.name, draft.text());
                self.ignored.push(Value { key: SERVER, text, source: source.clone() });
            }
        }
    }

    fn add_flags(&mut self, flags: &Flags) -> Result<(), Failure> {
        if let Some(mode) = flags.mode {
            self.mode = (mode, Source::new("flag --permission-mode"));
        }
        if let Some(sandbox) = flags.sandbox {
            self.bounds.set_mode(sandbox, &Source::new("flag --sandbox"), true);
        }
        if let Some(network) = flags.network {
            self.bounds.set_network(network, &Source::new("flag --network"), true);
        }
        for kind in &flags.no_reminder {
            self.reminders.switch_off(kind).map_err(|error| Failure::usage(&error))?;
        }
        for text in &flags.allow {
            self.rules.push(self.rule(text, Effect::Allow, &Source::new("flag --allow"))?);
        }
        for text in &flags.deny {
            self.rules.push(self.rule(text, Effect::Deny, &Source::new("flag --deny"))?);
        }
        Ok(())
    }

    fn rule(&self, text: &str, effect: Effect, source: &Source) -> Result<Rule, Failure> {
        Rule::parse(text, effect, source.clone(), &self.folder, self.home.as_deref()).map_err(|error| {
            Failure::usage(format!("{source}: {error}")).hint("docs/permissions.md has the grammar")
        })
    }
}

/// The tools that a list names, without the rules in it.
pub fn tools(list: &[String]) -> Vec<String> {
    split(list).into_iter().filter(|text| !text.contains('(')).collect()
}

/// Splits at commas outside parentheses.
fn split(list: &[String]) -> Vec<String> {
    let mut out = Vec::new();
    for text in list {
        let (mut depth, mut part) = (0_usize, String::new());
        for letter in text.chars() {
            match letter {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                ',' if depth == 0 => {
                    out.push(std::mem::take(&mut part));
                    continue;
                }
                _ => {}
            }
            part.push(letter);
        }
        out.push(part);
    }
    out.iter().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()).collect()
}

/// How names of servers' tools begin.
pub const SERVERS_TOOL: &str = "mcp__";

const PROJECT: &str = ".antefix/settings.toml";
const LOCAL: &str = ".antefix/settings.local.toml";
/// MCP servers of a project, in the form that other agents read too.
const SHARED: &str = ".mcp.json";
const PRESET: &str = "provider";
const HOOKS: &str = "hooks";
/// Whether hooks in the settings of Claude Code hold.
const CLAUDE_HOOKS: &str = "claude_hooks";
/// When a session goes on from a summary without being asked.
const AUTO_COMPACT: &str = "auto_compact";
/// For how many minutes a cache is kept warm at most.
pub const KEEP_WARM: &str = "keep_warm";
const SERVER: &str = "mcp";
const MODE: &str = "permissions.mode";
const ALLOW: &str = "permissions.allow";
const PRIVATE_HOSTS: &str = "web.private_hosts";
const DEFER: &str = "tools.defer";
const LOAD: &str = "tools.load";
const DENY: &str = "permissions.deny";
