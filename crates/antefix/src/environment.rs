//! The one place that reads the environment; values are passed down from here.

use std::ffi::OsString;
use std::path::PathBuf;

use antefix_http::client::{Proxies, Secret};
use jiff::tz::TimeZone;

/// What the environment says.
#[derive(Clone, Debug)]
pub struct Environment {
    /// `ANTHROPIC_API_KEY`
    pub api_key: Option<Secret>,
    /// `ANTHROPIC_AUTH_TOKEN`
    pub auth_token: Option<Secret>,
    /// `ANTEFIX_API_KEY_HELPER`: a command that prints a key
    pub key_helper: Option<String>,
    /// `ANTHROPIC_BASE_URL`
    pub base_url: Option<String>,
    /// `HTTP_PROXY`, `HTTPS_PROXY`, `NO_PROXY`
    pub proxies: Proxies,
    /// Where sessions are kept: `$XDG_STATE_HOME/antefix` or `~/.local/state/antefix`
    pub state: Option<PathBuf>,
    /// Where the user's own files are: `$XDG_CONFIG_HOME/antefix` or `~/.config/antefix`
    pub config: Option<PathBuf>,
    /// `HOME`
    pub home: Option<PathBuf>,
    /// Whether colour is wanted: `NO_COLOR` is not set
    pub colour: bool,
}

impl Environment {
    /// Reads it.
    pub fn read() -> Self {
        let home = path("HOME");
        let under_home = |rest: &str| home.as_ref().map(|home| home.join(rest));
        Self {
            api_key: text("ANTHROPIC_API_KEY").map(Secret::new),
            auth_token: text("ANTHROPIC_AUTH_TOKEN").map(Secret::new),
            key_helper: text("ANTEFIX_API_KEY_HELPER"),
            base_url: text("ANTHROPIC_BASE_URL"),
            proxies: Proxies {
                http: text("HTTP_PROXY").or_else(|| text("http_proxy")).map(Secret::new),
                https: text("HTTPS_PROXY").or_else(|| text("https_proxy")).map(Secret::new),
                no_proxy: text("NO_PROXY").or_else(|| text("no_proxy")),
            },
            state: path("XDG_STATE_HOME")
                .or_else(|| under_home(".local/state"))
                .map(|state| state.join("antefix")),
            config: path("XDG_CONFIG_HOME")
                .or_else(|| under_home(".config"))
                .map(|config| config.join("antefix")),
            colour: text("NO_COLOR").is_none(),
            home,
        }
    }

    /// One that says nothing.
    #[cfg(test)]
    pub fn empty() -> Self {
        let proxies = Proxies { http: None, https: None, no_proxy: None };
        let (api_key, auth_token, key_helper, base_url) = (None, None, None, None);
        let (state, config, home, colour) = (None, None, None, false);
        Self { api_key, auth_token, key_helper, base_url, proxies, state, config, home, colour }
    }
}

/// The time zone: what `TZ` says, or else the machine's own.
pub fn zone() -> TimeZone {
    TimeZone::system()
}

/// A variable that an address names.
pub fn variable(name: &str) -> Option<String> {
    text(name)
}

/// The key in a variable that the user named.
pub fn key_named(name: &str) -> Option<Secret> {
    text(name).map(Secret::new)
}

/// The whole environment but for a variable with a key in it, for the commands that tools run.
pub fn all_but(secret: Option<&str>) -> Vec<(OsString, OsString)> {
    std::env::vars_os().filter(|(name, _)| secret.is_none_or(|secret| name != secret)).collect()
}

#[allow(clippy::disallowed_methods)] // This is the place that the lint names.
fn text(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

#[allow(clippy::disallowed_methods)]
fn path(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}
