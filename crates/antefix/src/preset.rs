//! The preset in force for a server of Chat Completions: a built-in one or one of the user's own, and what flags and
//! environment put in the place of what it says.

use antefix_http::client::Secret;
use antefix_models::Preset;
use antefix_runtime::provider::Credential;

use crate::environment;
use crate::failure::Failure;
use crate::settings::Settings;

/// What the flags say of a server.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// `--base-url`
    pub base_url: Option<String>,
    /// `--api-key-env`
    pub api_key_env: Option<String>,
}

/// A preset with what is in the place of what it says.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The preset.
    pub preset: Preset,
    flags: Flags,
}

impl Chosen {
    /// The preset of that name: the user's own, else a built-in one.
    ///
    /// # Errors
    /// If there is none.
    pub fn named(name: &str, flags: Flags, settings: &Settings) -> Result<Self, Failure> {
        let own = settings.presets.iter().map(|(preset, _)| preset).find(|preset| preset.name == name);
        let preset = own.or_else(|| Preset::named(name)).cloned().ok_or_else(|| {
            let built_in = Preset::all().iter().map(|preset| preset.name.as_str());
            let own = settings.presets.iter().map(|(preset, _)| preset.name.as_str());
            let names: Vec<_> = ["anthropic", "sim"].into_iter().chain(built_in).chain(own).collect();
            Failure::usage(format!("there is no provider `{name}`"))
                .hint(format!("{}; docs/providers.md says how to add one", names.join(", ")))
        })?;
        Ok(Self { preset, flags })
    }

    /// Where the server is.
    ///
    /// # Errors
    /// If nobody says, or the service is gone.
    pub fn base_url(&self) -> Result<String, Failure> {
        let Preset { name, about, .. } = &self.preset;
        if let Some(url) = &self.flags.base_url {
            return Ok(url.trim_end_matches('/').to_owned());
        }
        if let Some(day) = self.preset.retired {
            return Err(Failure::usage(format!("{about} was retired on {day}"))
                .hint("with `--base-url URL` the preset works against any server of the protocol"));
        }
        let url = self.preset.base_url.as_deref().ok_or_else(|| {
            Failure::usage(format!("`--provider {name}` needs the server's address"))
                .hint("for example `--base-url http://127.0.0.1:8080/v1`")
        })?;
        filled(url).map_err(|variable| {
            Failure::usage(format!("the address of `{name}` needs `{variable}`, which is not set"))
                .hint(format!("set {variable}, or give the address with `--base-url`"))
        })
    }

    /// The server's address as it was written, variables not filled in.
    pub fn written_url(&self) -> Option<&str> {
        self.flags.base_url.as_deref().or(self.preset.base_url.as_deref())
    }

    /// The variable that the key is read from.
    pub fn key_variable(&self) -> Option<&str> {
        self.flags.api_key_env.as_deref().or(self.preset.key_env.as_deref())
    }

    /// The key, if there is one.
    pub fn key(&self) -> Option<Secret> {
        self.key_variable().and_then(environment::key_named)
    }

    /// Whether nothing works without a key: the user names a variable, or the service wants one.
    pub fn needs_key(&self) -> bool {
        self.flags.api_key_env.is_some() || self.preset.key_needed
    }

    /// How requests are authenticated.
    ///
    /// # Errors
    /// If a key is needed and there is none.
    pub fn credential(&self) -> Result<Credential, Failure> {
        match self.key() {
            Some(key) => Ok(Credential::Bearer(key)),
            None if !self.needs_key() => Ok(Credential::None),
            None => {
                let variable = self.key_variable().unwrap_or_default();
                Err(Failure::usage(format!("the environment has no `{variable}`, which is to hold the key"))
                    .hint(if self.flags.api_key_env.is_some() {
                        "`--api-key-env` names the variable that holds the key; leave it out if none is wanted"
                    } else {
                        "set it, or name another variable with `--api-key-env NAME`"
                    }))
            }
        }
    }
}

/// The address with each `{NAME}` filled from the environment, or the variable that is not set.
fn filled(url: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = url;
    while let Some((front, (name, back))) =
        rest.split_once('{').and_then(|(front, tail)| Some((front, tail.split_once('}')?)))
    {
        out.push_str(front);
        out.push_str(&environment::variable(name).ok_or_else(|| name.to_owned())?);
        rest = back;
    }
    out.push_str(rest);
    Ok(out)
}
