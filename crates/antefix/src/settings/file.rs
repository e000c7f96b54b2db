use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use antefix_mcp::config::Draft;
use antefix_models::{Preset, Setting};
use antefix_runtime::catalogue::Deferral;
use antefix_runtime::context::Reminders;
use antefix_tools::hooks::Hook;
use antefix_tools::permission::Source;

use super::reminders::{DIAGNOSTICS, DIAGNOSTICS_TIMEOUT, MEMORY, REMINDERS, Wanted};
use super::{
    ALLOW, AUTO_COMPACT, CLAUDE_HOOKS, DEFER, DENY, KEEP_WARM, LOAD, MODE, PRIVATE_HOSTS, bounds, hooks,
    servers,
};
use crate::cli::parse_auto_compact;
use crate::failure::Failure;

/// One file of settings, read strictly: what is not known is an error, since a rule that is misspelt would not hold.
#[derive(Debug)]
pub(super) struct File {
    path: PathBuf,
    pub(super) source: Source,
    /// Empty if there is no file.
    pub(super) text: String,
    /// Names and values, one for each rule of a list.
    pub(super) values: Vec<(&'static str, String)>,
    /// Own presets.
    pub(super) presets: Vec<Preset>,
    /// Kinds of reminders.
    pub(super) reminders: Vec<(String, Wanted)>,
    /// Hooks, in the order in which they stand there for each event.
    pub(super) hooks: Vec<Hook>,
    /// MCP servers.
    pub(super) servers: Vec<Draft>,
}

impl File {
    pub(super) fn read(path: &Path, layer: &str) -> Result<Self, Failure> {
        let text = Self::text(path)
            .map_err(|error| Failure::usage(format!("`{}` cannot be read: {error}", path.display())))?;
        let source = Source::new(&format!("{layer} {}", path.display()));
        let (values, presets, reminders, hooks) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let servers = Vec::new();
        let mut file =
            Self { path: path.to_owned(), source, text, values, presets, reminders, hooks, servers };
        let table: toml::Table =
            file.text.parse().map_err(|error: toml::de::Error| file.wrong(error.message()))?;
        for (name, value) in &table {
            match name.as_str() {
                "mcp" => file.servers = servers::drafts(value).map_err(|what| file.wrong(&what))?,
                "model" => file.set("model", value)?,
                "base_url" => file.set("base_url", value)?,
                "diagnostics" => file.diagnostics(value)?,
                "key_helper" => file.set("key_helper", value)?,
                "claude_hooks" => {
                    let flag = value.as_bool();
                    let flag = flag.ok_or_else(|| file.wrong("`claude_hooks` is neither true nor false"))?;
                    file.values.push((CLAUDE_HOOKS, flag.to_string()));
                }
                "memory" => file.memory(value)?,
                "hooks" => {
                    file.hooks = hooks::read(value, &file.source)
                        .map_err(|what| file.wrong(&what).hint("docs/hooks.md says how hooks are set"))?;
                }
                "auto_compact" => file.auto_compact(value)?,
                "keep_warm" => file.keep_warm(value)?,
                "permissions" => file.permissions(value)?,
                "provider" => file.providers(value)?,
                REMINDERS => file.reminders(value)?,
                "sandbox" => file.sandbox(value)?,
                "tools" => file.tools(value)?,
                "web" => file.web(value)?,
                _ => return Err(file.wrong(&format!("`{name}` is no setting"))),
            }
        }
        Ok(file)
    }

    /// What stands in a file; nothing if there is none.
    pub(super) fn text(path: &Path) -> std::io::Result<String> {
        let file = match std::fs::metadata(path).and_then(|metadata| {
            if metadata.is_file() {
                std::fs::File::open(path)
            } else {
                Err(std::io::Error::other("it is no file"))
            }
        }) {
            Ok(file) => file,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(String::new());
            }
            Err(error) => return Err(error),
        };
        let mut text = String::new();
        file.take(LARGEST + 1).read_to_string(&mut text)?;
        if text.len() as u64 > LARGEST { Err(std::io::Error::other("it is too large")) } else { Ok(text) }
    }

    pub(super) fn wrong(&self, what: &str) -> Failure {
        Failure::usage(format!("`{}`: {what}", self.path.display()))
            .hint("docs/permissions.md lists the settings")
    }

    fn permissions(&mut self, value: &toml::Value) -> Result<(), Failure> {
        let table = value.as_table().ok_or_else(|| self.wrong("`permissions` is no table"))?;
        for (name, value) in table {
            match name.as_str() {
                "mode" => self.set(MODE, value)?,
                "allow" => self.rules(ALLOW, value)?,
                "deny" => self.rules(DENY, value)?,
                _ => return Err(self.wrong(&format!("`permissions.{name}` is no setting"))),
            }
        }
        Ok(())
    }

    fn auto_compact(&mut self, value: &toml::Value) -> Result<(), Failure> {
        let text = match value {
            toml::Value::Float(share) => share.to_string(),
            toml::Value::String(text) => text.clone(),
            _ => String::new(),
        };
        parse_auto_compact(&text).map_err(|what| self.wrong(&format!("`auto_compact`: {what}")))?;
        self.values.push((AUTO_COMPACT, text));
        Ok(())
    }

    fn keep_warm(&mut self, value: &toml::Value) -> Result<(), Failure> {
        let minutes = value.as_integer().and_then(|minutes| u64::try_from(minutes).ok());
        let minutes = minutes.filter(|minutes| *minutes <= 240);
        let minutes =
            minutes.ok_or_else(|| self.wrong("`keep_warm` is no number of minutes from 0 to 240"))?;
        self.values.push((KEEP_WARM, minutes.to_string()));
        Ok(())
    }

    fn web(&mut self, value: &toml::Value) -> Result<(), Failure> {
        let table = value.as_table().ok_or_else(|| self.wrong("`web` is no table"))?;
        for (name, value) in table {
            match name.as_str() {
                "private_hosts" => self.rules(PRIVATE_HOSTS, value)?,
                _ => return Err(self.wrong(&format!("`web.{name}` is no setting"))),
            }
        }
        Ok(())
    }

    fn providers(&mut self, value: &toml::Value) -> Result<(), Failure> {
        let wrong = |what: String| self.wrong(&what).hint("docs/providers.md lists the keys of a preset");
        let table = value.as_table().ok_or_else(|| wrong("`provider` is no table".to_owned()))?;
        let mut presets = Vec::new();
        for (name, value) in table {
            let keys = value.as_table().ok_or_else(|| wrong(format!("`provider.{name}` is no table")))?;
            if RESERVED.contains(&name.as_str()) {
                return Err(wrong(format!("`provider.{name}`: the name is taken")));
            }
            let mut settings = Vec::new();
            for (key, value) in keys {
                let setting = setting(value)
                    .ok_or_else(|| wrong(format!("`provider.{name}.{key}` is no value of a preset")))?;
                settings.push((key.clone(), setting));
            }
            let preset = Preset::own(name, &settings);
            presets.push(preset.map_err(|error| wrong(format!("`provider.{name}`: {error}")))?);
        }
        self.presets = presets;
        Ok(())
    }

    fn diagnostics(&mut self, value: &toml::Value) -> Result<(), Failure> {
        let table = value.as_table().ok_or_else(|| self.wrong("`diagnostics` is no table"))?;
        for (name, value) in table {
            match name.as_str() {
                "command" => self.set(DIAGNOSTICS, value)?,
                "timeout_s" => {
                    let seconds = value.as_integer().filter(|seconds| (1..=600).contains(seconds));
                    let seconds = seconds.ok_or_else(|| {
                        self.wrong(&format!("`{DIAGNOSTICS_TIMEOUT}` is no number of seconds from 1 to 600"))
                    })?;
                    self.values.push((DIAGNOSTICS_TIMEOUT, seconds.to_string()));
                }
                _ => return Err(self.wrong(&format!("`diagnostics.{name}` is no setting"))),
            }
        }
        Ok(())
    }

    fn memory(&mut self, value: &toml::Value) -> Result<(), Failure> {
        let table = value.as_table().ok_or_else(|| self.wrong("`memory` is no table"))?;
        for (name, value) in table {
            match name.as_str() {
                "file" => {
                    let is_path = |text: &str| text.starts_with("~/") || Path::new(text).is_absolute();
                    if !value.as_str().is_some_and(is_path) {
                        return Err(self.wrong(&format!(
                            "`{MEMORY}` is no absolute path, and none that begins with `~/`"
                        )));
                    }
                    self.set(MEMORY, value)?;
                }
                _ => return Err(self.wrong(&format!("`memory.{name}` is no setting"))),
            }
        }
        Ok(())
    }

    fn reminders(&mut self, value: &toml::Value) -> Result<(), Failure> {
        let table = value.as_table().ok_or_else(|| self.wrong("`reminders` is no table"))?;
        let mut reminders = Vec::new();
        for (kind, value) in table {
            let wanted = Wanted::read(value).ok_or_else(|| {
                self.wrong(&format!("`reminders.{kind}` is neither `true`, `false` nor a number of bytes"))
            })?;
            // A kind that is misspelt would not be switched off, whether or not the file holds.
            let known = wanted.add_to(&mut Reminders::default(), kind);
            known.map_err(|error| self.wrong(&format!("`reminders.{kind}`: {error}")))?;
            reminders.push((kind.clone(), wanted));
        }
        self.reminders = reminders;
        Ok(())
    }

    fn sandbox(&mut self, value: &toml::Value) -> Result<(), Failure> {
        let table = value.as_table().ok_or_else(|| self.wrong("`sandbox` is no table"))?;
        for (name, value) in table {
            match name.as_str() {
                "mode" => self.set(bounds::MODE, value)?,
                "network" => self.set(bounds::NETWORK, value)?,
                "write" => self.rules(bounds::WRITE, value)?,
                _ => return Err(self.wrong(&format!("`sandbox.{name}` is no setting"))),
            }
        }
        Ok(())
    }

    fn tools(&mut self, value: &toml::Value) -> Result<(), Failure> {
        let table = value.as_table().ok_or_else(|| self.wrong("`tools` is no table"))?;
        for (name, value) in table {
            match name.as_str() {
                "defer" => {
                    if value.as_str().and_then(Deferral::from_name).is_none() {
                        return Err(self.wrong(&format!("`{DEFER}` is none of `auto`, `on`, `off`, `all`")));
                    }
                    self.set(DEFER, value)?;
                }
                "load" => self.rules(LOAD, value)?,
                _ => return Err(self.wrong(&format!("`tools.{name}` is no setting"))),
            }
        }
        Ok(())
    }

    fn set(&mut self, key: &'static str, value: &toml::Value) -> Result<(), Failure> {
        let text = value.as_str().ok_or_else(|| self.wrong(&format!("`{key}` is no text")))?;
        self.values.push((key, text.to_owned()));
        Ok(())
    }

    fn rules(&mut self, key: &'static str, value: &toml::Value) -> Result<(), Failure> {
        let list = value.as_array().ok_or_else(|| self.wrong(&format!("`{key}` is no list")))?;
        list.iter().try_for_each(|rule| self.set(key, rule))
    }
}

/// A value of a preset's key.
fn setting(value: &toml::Value) -> Option<Setting> {
    match value {
        toml::Value::String(text) => Some(Setting::Text(text.clone())),
        toml::Value::Boolean(flag) => Some(Setting::Flag(*flag)),
        toml::Value::Datetime(day) => day.to_string().parse().ok().map(Setting::Day),
        toml::Value::Array(list) => {
            let texts = list.iter().map(|item| item.as_str().map(str::to_owned));
            texts.collect::<Option<_>>().map(Setting::Texts)
        }
        _ => None,
    }
}

/// Names of providers that are no presets.
const RESERVED: [&str; 2] = ["anthropic", "sim"];

/// Bytes of a file of settings.
const LARGEST: u64 = 1 << 20;
