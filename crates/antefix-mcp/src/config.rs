//! Which servers there are, and how each is reached.

mod expand;
mod file;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use antefix_http::client::Secret;

use crate::local::LocalServer;

pub use expand::Unset;
pub use file::{ConfigError, Draft, Found, read};

/// One server.
#[derive(Clone)]
pub struct ServerConfig {
    /// Its name: the key in the configuration.
    pub name: String,
    /// How it is reached.
    pub transport: Transport,
    /// How long it may take from its start to the end of its list of tools.
    pub timeout: Duration,
    /// How long a call may be without an answer or a word of progress.
    pub call_timeout: Duration,
    /// Whether the first request of a session waits for it.
    pub required: bool,
    /// Where it is configured, in words: `project .mcp.json`.
    pub source: String,
    /// How it is reached, in one line, for people: as it is written, with keys that are written there.
    pub shown: String,
    /// Values besides those of [`Stdio::env`] and [`Http::headers`] that must not be shown.
    pub hidden: Vec<Secret>,
}

impl ServerConfig {
    /// A server that is not required, with the default patience.
    pub fn new(name: impl Into<String>, transport: Transport, source: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            shown: transport.text(),
            hidden: Vec::new(),
            transport,
            timeout: START_TIMEOUT,
            call_timeout: CALL_TIMEOUT,
            required: false,
            source: source.into(),
        }
    }

    /// The values of variables and headers, which must not be shown.
    pub(crate) fn secrets(&self) -> Vec<&Secret> {
        let own: Vec<&Secret> = match &self.transport {
            Transport::Stdio(stdio) => stdio.env.values().collect(),
            Transport::Http(http) => http.headers.values().collect(),
            Transport::Local(_) => Vec::new(),
        };
        own.into_iter().chain(&self.hidden).collect()
    }
}

impl fmt::Debug for ServerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `shown` is left out: it holds all arguments, and so keys that are written in them.
        let mut out = f.debug_struct("ServerConfig");
        out.field("name", &self.name).field("transport", &self.transport);
        out.field("timeout", &self.timeout).field("call_timeout", &self.call_timeout);
        out.field("required", &self.required).field("source", &self.source);
        out.finish_non_exhaustive()
    }
}

/// How a server is reached.
#[derive(Clone)]
pub enum Transport {
    /// A process of ours, one JSON message a line on its standard input and output.
    Stdio(Stdio),
    /// Streamable HTTP.
    Http(Http),
    /// In this process.
    Local(Arc<dyn LocalServer>),
}

impl Transport {
    /// In one line.
    fn text(&self) -> String {
        match self {
            Self::Stdio(stdio) => {
                let words = std::iter::once(&stdio.command).chain(&stdio.args);
                words.map(String::as_str).collect::<Vec<_>>().join(" ")
            }
            Self::Http(http) => shown_url(&http.url),
            Self::Local(_) => "in this process".to_owned(),
        }
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdio(stdio) => stdio.fmt(f),
            Self::Http(http) => http.fmt(f),
            Self::Local(_) => f.write_str("Local"),
        }
    }
}

/// A server that is a process.
#[derive(Clone, PartialEq, Eq)]
pub struct Stdio {
    /// The program: a path, or a name that is looked for on `PATH`.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables it gets beside those that all servers get.
    pub env: BTreeMap<String, Secret>,
    /// Its working folder; the session's, if there is none.
    pub cwd: Option<PathBuf>,
}

impl fmt::Debug for Stdio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An argument may be the value of a variable, and so a key.
        let args = format!("{} arguments", self.args.len());
        let mut out = f.debug_struct("Stdio");
        out.field("command", &self.command).field("args", &args).field("env", &self.env);
        out.field("cwd", &self.cwd).finish()
    }
}

/// A server behind an address.
#[derive(Clone, PartialEq, Eq)]
pub struct Http {
    /// `http://` or `https://`; may hold a query.
    pub url: String,
    /// Headers of every request.
    pub headers: BTreeMap<String, Secret>,
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A path may hold the value of a variable, and so a key.
        let shown = shown_url(&self.url);
        let host = shown.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
        f.debug_struct("Http").field("url", &host).field("headers", &self.headers).finish()
    }
}

/// An address without its query and without a user, since both may hold a key.
fn shown_url(url: &str) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let (url, rest) = url.split_at(end);
    let query = if rest.is_empty() { "" } else { "?…" };
    match url.split_once("://") {
        Some((scheme, address)) => {
            let host = address.find('/').unwrap_or(address.len());
            let (authority, path) = address.split_at(host);
            let authority = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            format!("{scheme}://{authority}{path}{query}")
        }
        None => format!("{url}{query}"),
    }
}

/// How long a server may take to start unless the configuration says otherwise.
pub const START_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a call may be silent unless the configuration says otherwise.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(120);

#[cfg(test)]
mod tests {
    use super::*;

    /// A key that was written in an argument was hidden in `args` and shown in the whole line beside it.
    #[test]
    fn a_key_in_an_argument_is_not_for_the_log() {
        let (args, env) = (vec!["--token=abcdef123".to_owned()], BTreeMap::new());
        let stdio = Stdio { command: "serve".to_owned(), args, env, cwd: None };
        assert_eq!(
            format!("{:?}", ServerConfig::new("s", Transport::Stdio(stdio), "test")),
            "ServerConfig { name: \"s\", transport: Stdio { command: \"serve\", args: \"1 arguments\", env: {}, cwd: \
             None }, timeout: 30s, call_timeout: 120s, required: false, source: \"test\", .. }"
        );
    }

    #[test]
    fn addresses_are_shown_without_what_may_be_a_key() {
        for (url, shown) in [
            ("https://a.example/mcp", "https://a.example/mcp"),
            ("https://a.example/mcp?key=1", "https://a.example/mcp?…"),
            ("https://user:pass@a.example:8080", "https://a.example:8080"),
            ("https://user:p@ss@a.example/x#y", "https://a.example/x?…"),
            ("a?b", "a?…"),
        ] {
            assert_eq!(shown_url(url), shown);
        }
    }
}
