//! Reads a preset's keys: those of the data and those of a user's own are the same.

use std::fmt;

use jiff::civil::Date;

use super::{Affinity, ContextProbe, MaxTokens, Preset, Protocol, Reasoning, SystemRole};
use crate::Platform;
use crate::data::{DataError, Field, Row};
use crate::registry::origin;
use crate::rules::Support;
use crate::template::Rewrite;

/// A value of a preset's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// A text.
    Text(String),
    /// `true` or `false`.
    Flag(bool),
    /// A list of texts.
    Texts(Vec<String>),
    /// A day.
    Day(Date),
}

/// What is wrong with a preset.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PresetError {
    /// There is no such key.
    #[error("`{0}` is no key of a preset")]
    Unknown(String),
    /// The value cannot be what it is.
    #[error("`{key}` is to be {expected}")]
    Value {
        /// The key.
        key: String,
        /// What it takes.
        expected: &'static str,
    },
    /// The preset that it starts from is not there.
    #[error("there is no preset `{0}` to start from")]
    NoBase(String),
}

impl Preset {
    /// A user's own preset, from its keys; it starts from the built-in one that `like` names, else from `compatible`.
    ///
    /// ```
    /// use antefix_models::{Platform, Preset, Rewrite, Setting};
    /// let text = |text: &str| Setting::Text(text.to_owned());
    /// let preset = Preset::own("mine", &[
    ///     ("like".to_owned(), text("vllm")),
    ///     ("base_url".to_owned(), text("http://10.0.0.5:8000/v1")),
    ///     ("template".to_owned(), text("reasoning-stripping")),
    /// ])?;
    /// assert_eq!((preset.name.as_str(), preset.platform), ("mine", Platform::Local));
    /// assert!(preset.template("a-model").does(Rewrite::ReasoningStripping));
    /// # Ok::<(), antefix_models::PresetError>(())
    /// ```
    ///
    /// # Errors
    /// [`PresetError`] for a key or a value that is not known.
    pub fn own(name: &str, settings: &[(String, Setting)]) -> Result<Self, PresetError> {
        let like = settings.iter().find(|(key, _)| key == "like");
        let like = match like {
            None => BASE,
            Some((_, Setting::Text(like))) => like,
            Some((key, _)) => return Err(wrong(key, "the name of a preset")),
        };
        let base = Self::named(like).ok_or_else(|| PresetError::NoBase(like.to_owned()))?;
        let mut preset =
            Self { name: name.to_owned(), about: format!("own preset, like {like}"), ..base.clone() };
        for (key, value) in settings.iter().filter(|(key, _)| key != "like") {
            preset.set(key, value)?;
        }
        if preset.template != base.template {
            preset.origin = None;
        }
        Ok(preset)
    }

    /// Reads a row of the data; the first one is what the others start from.
    pub(crate) fn read(row: Row, base: Option<&Self>) -> Result<Self, DataError> {
        let mut row = row;
        let origin = origin(&mut row)?;
        let mut preset = base.cloned().unwrap_or_else(Self::empty);
        preset.notes.clear();
        row.text("name")?.clone_into(&mut preset.name);
        for (key, field) in row.rest() {
            preset.set(key, &setting(field)).map_err(|_| row.missing(key))?;
        }
        preset.origin = Some(origin);
        Ok(preset)
    }

    fn empty() -> Self {
        Self {
            name: String::new(),
            about: String::new(),
            base_url: None,
            key_env: None,
            key_needed: false,
            dialect: Protocol::ChatCompletions,
            platform: Platform::Compatible,
            template: None,
            template_unsure: false,
            strict_alternation: false,
            late_system: None,
            context_probe: ContextProbe::Models,
            affinity: Vec::new(),
            include_usage: true,
            tools: Support::Unverified,
            reasoning: Reasoning::LeftOut,
            system_role: SystemRole::System,
            max_tokens: MaxTokens::MaxTokens,
            retired: None,
            notes: Vec::new(),
            origin: None,
        }
    }

    fn set(&mut self, key: &str, value: &Setting) -> Result<(), PresetError> {
        match key {
            "about" => text(key, value)?.clone_into(&mut self.about),
            "base_url" => self.base_url = Some(text(key, value)?.trim_end_matches('/').to_owned()),
            "key_env" => self.key_env = Some(text(key, value)?.to_owned()),
            "key_needed" => self.key_needed = flag(key, value)?,
            "dialect" => self.dialect = named(key, value)?,
            "platform" => {
                let platform = Platform::from_name(text(key, value)?);
                self.platform = platform.ok_or_else(|| wrong(key, "a platform (docs/providers.md)"))?;
            }
            "template" => {
                let classes = texts(key, value)?;
                let rewrites = Rewrite::of(classes.iter().map(String::as_str));
                let expected = "append-only, or some of reasoning-stripping, tools-late, dated";
                self.template = Some(rewrites.ok_or_else(|| wrong(key, expected))?);
                self.template_unsure = false;
            }
            "template_unsure" => self.template_unsure = flag(key, value)?,
            "strict_alternation" => self.strict_alternation = flag(key, value)?,
            "late_system" => self.late_system = Some(named(key, value)?),
            "context_probe" => self.context_probe = named(key, value)?,
            "affinity" => {
                let all = texts(key, value)?;
                let all: Option<Vec<_>> = all.iter().map(|text| Affinity::parse(text)).collect();
                self.affinity = all.ok_or_else(|| wrong(key, "`header:NAME` or `member:NAME`"))?;
            }
            "include_usage" => self.include_usage = flag(key, value)?,
            "tools" => self.tools = named(key, value)?,
            "reasoning" => self.reasoning = named(key, value)?,
            "system_role" => self.system_role = named(key, value)?,
            "max_tokens" => self.max_tokens = named(key, value)?,
            "retired" => match value {
                Setting::Day(day) => self.retired = Some(*day),
                _ => return Err(wrong(key, "a day")),
            },
            "notes" => self.notes = texts(key, value)?,
            _ => return Err(PresetError::Unknown(key.to_owned())),
        }
        Ok(())
    }
}

impl Affinity {
    fn parse(text: &str) -> Option<Self> {
        let (kind, name) = text.split_once(':')?;
        let is_name = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        match kind {
            "header" if is_name => Some(Self::Header(name.to_ascii_lowercase())),
            "member" if is_name => Some(Self::Member(name.to_owned())),
            _ => None,
        }
    }
}

impl fmt::Display for Affinity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(name) => write!(formatter, "header:{name}"),
            Self::Member(name) => write!(formatter, "member:{name}"),
        }
    }
}

/// A choice among few, each with its name in settings and data.
pub(crate) trait Choice: Copy + PartialEq + 'static {
    const ALL: &'static [(&'static str, Self)];
    const EXPECTED: &'static str;

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, choice)| *choice == self).map_or("", |(name, _)| name)
    }
}

macro_rules! choice {
    ($kind:ty, $expected:literal, $($name:literal => $value:expr),+) => {
        impl Choice for $kind {
            const ALL: &'static [(&'static str, Self)] = &[$(($name, $value)),+];
            const EXPECTED: &'static str = $expected;
        }
    };
}

choice!(Protocol, "openai-chat or anthropic", "openai-chat" => Self::ChatCompletions, "anthropic" => Self::Messages);
choice!(ContextProbe, "models, props, ollama-show or none", "models" => Self::Models, "props" => Self::Props, "ollama-show" => Self::OllamaShow, "none" => Self::None);
choice!(Support, "yes, no or unverified", "yes" => Self::Yes, "no" => Self::No, "unverified" => Self::Unverified);
choice!(Reasoning, "sent-back or left-out", "sent-back" => Self::SentBack, "left-out" => Self::LeftOut);
choice!(SystemRole, "system or developer", "system" => Self::System, "developer" => Self::Developer);
choice!(MaxTokens, "max_tokens or max_completion_tokens", "max_tokens" => Self::MaxTokens, "max_completion_tokens" => Self::MaxCompletionTokens);

impl Protocol {
    /// The name a session's lanes have for it.
    pub fn name(self) -> &'static str {
        Choice::name(self)
    }
}

impl MaxTokens {
    /// The member's name.
    pub fn name(self) -> &'static str {
        Choice::name(self)
    }
}

impl SystemRole {
    /// The role as it stands in a message.
    pub fn name(self) -> &'static str {
        Choice::name(self)
    }
}

fn named<C: Choice>(key: &str, value: &Setting) -> Result<C, PresetError> {
    let name = text(key, value)?;
    let found = C::ALL.iter().find(|(known, _)| *known == name);
    found.map(|(_, choice)| *choice).ok_or_else(|| wrong(key, C::EXPECTED))
}

fn text<'s>(key: &str, value: &'s Setting) -> Result<&'s str, PresetError> {
    match value {
        Setting::Text(text) if !text.is_empty() => Ok(text),
        _ => Err(wrong(key, "a text")),
    }
}

fn flag(key: &str, value: &Setting) -> Result<bool, PresetError> {
    match value {
        Setting::Flag(flag) => Ok(*flag),
        _ => Err(wrong(key, "true or false")),
    }
}

/// A list; one text is a list of one.
fn texts(key: &str, value: &Setting) -> Result<Vec<String>, PresetError> {
    match value {
        Setting::Texts(texts) => Ok(texts.clone()),
        Setting::Text(text) => Ok(vec![text.clone()]),
        _ => Err(wrong(key, "a list of texts")),
    }
}

fn wrong(key: &str, expected: &'static str) -> PresetError {
    PresetError::Value { key: key.to_owned(), expected }
}

fn setting(field: Field) -> Setting {
    match field {
        Field::Text(text) => Setting::Text(text.to_owned()),
        Field::Texts(texts) => Setting::Texts(texts.into_iter().map(str::to_owned).collect()),
        Field::Flag(flag) => Setting::Flag(flag),
        Field::Day(day) => Setting::Day(day),
        Field::Number(number) => Setting::Text(number.to_string()),
    }
}

/// The preset that others start from.
const BASE: &str = "compatible";

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Setting {
        Setting::Text(text.to_owned())
    }

    fn own(settings: &[(&str, Setting)]) -> Result<Preset, PresetError> {
        let settings: Vec<_> =
            settings.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        Preset::own("mine", &settings)
    }

    #[test]
    fn the_built_in_presets_are_there() {
        let names: Vec<&str> = Preset::all().iter().map(|preset| preset.name.as_str()).collect();
        let expect = [
            "compatible",
            "llamacpp",
            "ollama",
            "lm-studio",
            "vllm",
            "sglang",
            "openrouter",
            "deepseek",
            "github-models",
            "workers-ai",
        ];
        assert_eq!(names, expect);
        for preset in Preset::all() {
            assert!(!preset.about.is_empty(), "{}", preset.name);
            // A server of one's own is on this machine, and no key is sent anywhere in the clear.
            let base = preset.base_url.as_deref().unwrap_or("https://");
            let is_local = preset.platform == Platform::Local;
            assert_eq!(base.starts_with("http://127.0.0.1:"), is_local, "{}", preset.name);
            assert_eq!(base.starts_with("https://"), !is_local, "{}", preset.name);
            assert_eq!(preset.key_needed, !is_local && preset.name != BASE, "{}", preset.name);
        }
        assert_eq!(Preset::named("github-models").unwrap().retired, Some(jiff::civil::date(2026, 7, 30)));
    }

    #[test]
    fn an_own_preset_says_what_differs() {
        let preset = own(&[
            ("like", text("sglang")),
            ("base_url", text("http://10.0.0.5:30000/v1/")),
            ("key_env", text("MY_KEY")),
            ("template", Setting::Texts(vec!["dated".to_owned(), "reasoning-stripping".to_owned()])),
            (
                "affinity",
                Setting::Texts(vec!["header:X-Session-Affinity".to_owned(), "member:session_id".to_owned()]),
            ),
        ])
        .unwrap();
        let expect = Preset {
            name: "mine".to_owned(),
            about: "own preset, like sglang".to_owned(),
            base_url: Some("http://10.0.0.5:30000/v1".to_owned()),
            key_env: Some("MY_KEY".to_owned()),
            template: Some(vec![Rewrite::ReasoningStripping, Rewrite::Dated]),
            affinity: vec![
                Affinity::Header("x-session-affinity".to_owned()),
                Affinity::Member("session_id".to_owned()),
            ],
            origin: None,
            ..Preset::named("sglang").unwrap().clone()
        };
        assert_eq!(preset, expect);
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        let value = |key: &str, expected| PresetError::Value { key: key.to_owned(), expected };
        let cases = [
            (("bas_url", text("x")), PresetError::Unknown("bas_url".to_owned())),
            (("name", text("x")), PresetError::Unknown("name".to_owned())),
            (("like", text("none")), PresetError::NoBase("none".to_owned())),
            (("like", Setting::Flag(true)), value("like", "the name of a preset")),
            (("base_url", text("")), value("base_url", "a text")),
            (("key_needed", text("yes")), value("key_needed", "true or false")),
            (("dialect", text("chat")), value("dialect", "openai-chat or anthropic")),
            (("platform", text("moon")), value("platform", "a platform (docs/providers.md)")),
            (
                ("template", text("late")),
                value("template", "append-only, or some of reasoning-stripping, tools-late, dated"),
            ),
            (("affinity", text("x-session-affinity")), value("affinity", "`header:NAME` or `member:NAME`")),
            (("affinity", text("header:a b")), value("affinity", "`header:NAME` or `member:NAME`")),
            (("tools", text("maybe")), value("tools", "yes, no or unverified")),
            (("retired", text("2026-07-30")), value("retired", "a day")),
        ];
        for (setting, expect) in cases {
            assert_eq!(own(std::slice::from_ref(&setting)), Err(expect), "{setting:?}");
        }
    }
}
