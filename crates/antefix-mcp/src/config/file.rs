use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use antefix_wire::json::{Body, Kind, Limits, Node};

use super::expand::{Unset, expand};
use super::{Http, Secret, ServerConfig, Stdio, Transport};

/// What a configuration says about one server, before variables are put in.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Draft {
    /// The key in the configuration.
    pub name: String,
    /// `stdio` or `http`; told by `command` and `url` if there is none.
    pub kind: Option<String>,
    /// The program of a server that is a process.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its variables.
    pub env: BTreeMap<String, String>,
    /// Its working folder; a relative one starts at the folder of the session.
    pub cwd: Option<String>,
    /// The address of a server over HTTP.
    pub url: Option<String>,
    /// Headers of every request to it.
    pub headers: BTreeMap<String, String>,
    /// Milliseconds it may take to start.
    pub timeout_ms: Option<u64>,
    /// Milliseconds a call may be silent.
    pub call_timeout_ms: Option<u64>,
    /// Whether the first request waits for it.
    pub required: bool,
    /// Whether it is left out.
    pub disabled: bool,
}

impl Draft {
    /// How the server is reached, in one line, as it is written: variables are not put in.
    pub fn text(&self) -> String {
        match (&self.command, &self.url) {
            (Some(command), _) => {
                let words = std::iter::once(command).chain(&self.args);
                words.map(String::as_str).collect::<Vec<_>>().join(" ")
            }
            (None, Some(url)) => super::shown_url(url),
            (None, None) => String::new(),
        }
    }

    /// The server, with the values of `variable` put in; `None` if it is left out.
    ///
    /// # Errors
    /// [`ConfigError`] where it cannot be reached as it is described.
    pub fn resolve(
        &self,
        source: &str,
        folder: &Path,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Option<ServerConfig>, ConfigError> {
        if self.disabled {
            return Ok(None);
        }
        let wrong = |what: &str| ConfigError::Server { name: self.name.clone(), what: what.to_owned() };
        if self.name.trim().is_empty() {
            return Err(wrong("the name is empty"));
        }
        let unset = |error: Unset| wrong(&error.to_string());
        let hidden = RefCell::new(Vec::new());
        let variable = |name: &str| {
            let value = variable(name)?;
            if !HARMLESS.contains(&name) {
                hidden.borrow_mut().push(Secret::new(value.clone()));
            }
            Some(value)
        };
        let text = |text: &str| expand(text, &variable).map_err(unset);
        let secrets = |map: &BTreeMap<String, String>| -> Result<BTreeMap<String, Secret>, ConfigError> {
            map.iter().map(|(name, value)| Ok((name.clone(), Secret::new(text(value)?)))).collect()
        };
        let kind = self.kind.as_deref().map(str::to_ascii_lowercase);
        let transport = match (kind.as_deref(), &self.command, &self.url) {
            (None | Some("stdio"), Some(command), None) => Transport::Stdio(Stdio {
                command: text(command)?,
                args: self.args.iter().map(|arg| text(arg)).collect::<Result<_, _>>()?,
                env: secrets(&self.env)?,
                cwd: self.cwd.as_deref().map(|cwd| Ok(folder.join(text(cwd)?))).transpose()?,
            }),
            (None | Some("http" | "streamable-http" | "streamablehttp"), None, Some(url)) => {
                Transport::Http(Http { url: text(url)?, headers: secrets(&self.headers)? })
            }
            (Some("sse"), ..) => {
                return Err(wrong("the transport `sse` was replaced in 2025 and is not spoken; use `http`"));
            }
            (Some(kind), ..) if !KINDS.contains(&kind) => {
                return Err(wrong(&format!("`{kind}` is no transport: `stdio` or `http`")));
            }
            (_, Some(_), Some(_)) => return Err(wrong("it has both a `command` and a `url`")),
            _ => return Err(wrong("it has neither a `command` (stdio) nor a `url` (http)")),
        };
        let mut config = ServerConfig::new(&self.name, transport, source);
        config.required = self.required;
        config.shown = self.text();
        config.hidden = hidden.into_inner();
        if let Some(timeout) = self.timeout_ms {
            config.timeout = Duration::from_millis(timeout);
        }
        if let Some(timeout) = self.call_timeout_ms {
            config.call_timeout = Duration::from_millis(timeout);
        }
        Ok(Some(config))
    }
}

impl std::fmt::Debug for Draft {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Arguments, variables, headers and addresses may hold keys.
        f.debug_struct("Draft").field("name", &self.name).field("kind", &self.kind).finish_non_exhaustive()
    }
}

/// What a file says, and what of it is not understood.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The servers in the order of their names.
    pub drafts: Vec<Draft>,
    /// Those that are left out since what is said about them is not understood.
    pub wrong: Vec<ConfigError>,
}

/// What is wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The file as a whole is not understood.
    #[error("`{}` is no configuration of MCP servers: {what}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// One server is not understood; the others hold.
    #[error("the MCP server `{name}` is left out: {what}")]
    Server {
        /// The key in the configuration.
        name: String,
        /// What is wrong.
        what: String,
    },
}

/// Reads the text of a file like `.mcp.json`: `{"mcpServers": {"name": {…}}}`.
///
/// Members that are not known are left alone, since other agents read the same file.
///
/// # Errors
/// [`ConfigError::File`] if it is not such a file. A server that is not understood is in [`Found::wrong`].
pub fn read(path: &Path, text: &str) -> Result<Found, ConfigError> {
    let wrong = |what: String| ConfigError::File { path: path.to_owned(), what };
    // Some editors put a mark in front of a text, which JSON has not.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let limits = Limits { bytes: 1 << 20, depth: 32, spans: 1 << 16 };
    let body = Body::parse_with(text, limits).map_err(|error| wrong(error.to_string()))?;
    let servers = body.root().get("mcpServers").filter(|servers| servers.kind() == Kind::Object);
    let servers = servers.ok_or_else(|| wrong("there is no object `mcpServers` in it".to_owned()))?;
    let mut found = Found::default();
    for (name, node) in servers.members() {
        let name = name.str().unwrap_or_default().into_owned();
        let other = |draft: &Draft| draft.name == name;
        let draft = if found.drafts.iter().any(other) {
            Err("the name is there twice".to_owned())
        } else {
            draft(&name, node)
        };
        match draft {
            Ok(draft) => found.drafts.push(draft),
            Err(what) => found.wrong.push(ConfigError::Server { name, what }),
        }
    }
    found.drafts.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

fn draft(name: &str, node: Node<'_>) -> Result<Draft, String> {
    if node.kind() != Kind::Object {
        return Err("it is no object".to_owned());
    }
    let member = |key: &str| node.get(key).filter(|value| !value.is_null());
    let string = |key: &str| match member(key) {
        None => Ok(None),
        Some(value) => value.str().map(|text| Some(text.into_owned())).ok_or(format!("`{key}` is no text")),
    };
    let number = |key: &str| match member(key) {
        None => Ok(None),
        Some(value) => value
            .u64()
            .filter(|&number| number > 0)
            .map(Some)
            .ok_or(format!("`{key}` is no number of milliseconds above 0")),
    };
    let flag = |key: &str| match member(key) {
        None => Ok(false),
        Some(value) => value.bool().ok_or(format!("`{key}` is neither true nor false")),
    };
    let map = |key: &str| match member(key) {
        None => Ok(BTreeMap::new()),
        Some(value) if value.kind() == Kind::Object => value
            .members()
            .map(|(name, value)| Some((name.str()?.into_owned(), value.str()?.into_owned())))
            .collect::<Option<_>>()
            .ok_or(format!("a value in `{key}` is no text")),
        Some(_) => Err(format!("`{key}` is no object")),
    };
    let args = match member("args") {
        None => Vec::new(),
        Some(value) if value.kind() == Kind::Array => value
            .items()
            .map(|item| Some(item.str()?.into_owned()))
            .collect::<Option<_>>()
            .ok_or("a value in `args` is no text")?,
        Some(_) => return Err("`args` is no list".to_owned()),
    };
    Ok(Draft {
        name: name.to_owned(),
        kind: string("type")?,
        command: string("command")?,
        args,
        env: map("env")?,
        cwd: string("cwd")?,
        url: string("url")?,
        headers: map("headers")?,
        timeout_ms: number("timeout")?,
        call_timeout_ms: number("callTimeout")?,
        required: flag("required")?,
        disabled: flag("disabled")?,
    })
}

/// Variables whose values are no secrets.
const HARMLESS: [&str; 6] = ["HOME", "PATH", "PWD", "TMPDIR", "USER", "LANG"];

const KINDS: [&str; 4] = ["stdio", "http", "streamable-http", "streamablehttp"];

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(server: &str) -> Result<Option<String>, String> {
        let text = format!("{{\"mcpServers\":{{\"s\":{server}}}}}");
        let found = read(Path::new(".mcp.json"), &text).map_err(|error| error.to_string())?;
        if let Some(error) = found.wrong.first() {
            return Err(error.to_string());
        }
        let variable = |name: &str| (name == "TOKEN").then(|| "t0ken".to_owned());
        let config = found.drafts[0].resolve("test", Path::new("/folder"), &variable);
        let config = config.map_err(|error| error.to_string())?;
        Ok(config.map(|config| {
            let secrets: Vec<_> = config.secrets().iter().map(|secret| secret.expose().to_owned()).collect();
            let patience = (config.timeout.as_millis(), config.call_timeout.as_millis());
            let reached = match &config.transport {
                Transport::Stdio(stdio) => format!("{} {:?} in {:?}", stdio.command, stdio.args, stdio.cwd),
                Transport::Http(http) => http.url.clone(),
                Transport::Local(_) => String::new(),
            };
            let debug = format!("{config:?}");
            assert!(!debug.contains("t0ken"), "{debug}");
            format!("{reached} {secrets:?} {patience:?} {}", config.required)
        }))
    }

    #[test]
    fn servers_are_read() {
        for (server, expect) in [
            (
                r#"{"command":"npx","args":["-y","x","--token=${TOKEN}"],"env":{"K":"${TOKEN}"}}"#,
                r#"npx ["-y", "x", "--token=t0ken"] in None ["t0ken", "t0ken", "t0ken"] (30000, 120000) false"#,
            ),
            (
                r#"{"type":"stdio","command":"./s","cwd":"sub","timeout":5,"callTimeout":7,"required":true,"autoApprove":[1]}"#,
                r#"./s [] in Some("/folder/sub") [] (5, 7) true"#,
            ),
            (
                r#"{"type":"http","url":"https://${HOST:-a.example}/${TOKEN}/mcp?k=v","headers":{"Authorization":"Bearer ${TOKEN}"}}"#,
                r#"https://a.example/t0ken/mcp?k=v ["Bearer t0ken", "t0ken", "t0ken"] (30000, 120000) false"#,
            ),
        ] {
            assert_eq!(resolved(server), Ok(Some(expect.to_owned())), "{server}");
        }
        assert_eq!(resolved(r#"{"command":"x","disabled":true}"#), Ok(None));
    }

    #[test]
    fn what_is_not_understood_is_said() {
        for (server, expect) in [
            ("1", "it is no object"),
            ("{}", "it has neither a `command` (stdio) nor a `url` (http)"),
            (r#"{"command":"a","url":"b"}"#, "it has both a `command` and a `url`"),
            (r#"{"command":1}"#, "`command` is no text"),
            (r#"{"command":"a","args":"b"}"#, "`args` is no list"),
            (r#"{"command":"a","args":[1]}"#, "a value in `args` is no text"),
            (r#"{"command":"a","env":[]}"#, "`env` is no object"),
            (r#"{"command":"a","env":{"A":1}}"#, "a value in `env` is no text"),
            (r#"{"command":"a","args":{}}"#, "`args` is no list"),
            (r#"{"command":"a","cwd":7}"#, "`cwd` is no text"),
            (r#"{"command":"a","type":["stdio"]}"#, "`type` is no text"),
            (r#"{"command":"a","required":1}"#, "`required` is neither true nor false"),
            (r#"{"command":"a","callTimeout":1.5}"#, "`callTimeout` is no number of milliseconds above 0"),
            (r#"{"command":"a","timeout":-1}"#, "`timeout` is no number of milliseconds above 0"),
            (r#"{"url":"https://${NONE}/"}"#, "the variable `NONE` is not set"),
            (r#"{"url":"u","headers":{"A":"${NONE}"}}"#, "the variable `NONE` is not set"),
            (r#"{"type":"stdio"}"#, "it has neither a `command` (stdio) nor a `url` (http)"),
            (r#"{"type":"","command":"a"}"#, "`` is no transport: `stdio` or `http`"),
            (r#"{"command":"a","timeout":0}"#, "`timeout` is no number of milliseconds above 0"),
            (r#"{"command":"${NONE}"}"#, "the variable `NONE` is not set"),
            (
                r#"{"type":"sse","url":"u"}"#,
                "the transport `sse` was replaced in 2025 and is not spoken; use `http`",
            ),
            (r#"{"type":"ws","url":"u"}"#, "`ws` is no transport: `stdio` or `http`"),
            (r#"{"type":"http","command":"u"}"#, "it has neither a `command` (stdio) nor a `url` (http)"),
        ] {
            assert_eq!(
                resolved(server),
                Err(format!("the MCP server `s` is left out: {expect}")),
                "{server}"
            );
        }
        for (text, expect) in [
            ("", "unexpected end of JSON at byte 0"),
            ("{\"mcpServers\":", "unexpected end of JSON at byte 14"),
            ("[]", "there is no object `mcpServers` in it"),
            ("7", "there is no object `mcpServers` in it"),
            ("{\"mcpServers\":7}", "there is no object `mcpServers` in it"),
            ("\u{feff}[]", "there is no object `mcpServers` in it"),
            (
                &format!("{{\"mcpServers\":{{}},\"x\":\"{}\"}}", "x".repeat(5 << 20)),
                "JSON text too long at byte 1048576",
            ),
            (&format!("{{\"mcpServers\":{}", "[".repeat(5000)), "JSON nested too deeply at byte 45"),
            ("{\"mcpServers\":[]}", "there is no object `mcpServers` in it"),
        ] {
            let error = read(Path::new("f"), text).unwrap_err().to_string();
            assert_eq!(error, format!("`f` is no configuration of MCP servers: {expect}"));
        }
    }

    #[test]
    fn names_are_taken_as_they_are_written() {
        for (text, expect) in [
            ("\u{feff}{\"mcpServers\":{\"a\":{\"command\":\"x\"}}}", "a"),
            (r#"{"mcpServers":{"größe 工":{"command":"x"},"a b":{"command":"x"}}}"#, "a b|größe 工"),
            (r#"{"mcpServers":{"\u0061":{"command":"x"}}}"#, "a"),
            (r#"{"mcpServers":{"a":{"command":"x","command":"y"}}}"#, "a"),
        ] {
            let found = read(Path::new("f"), text).unwrap();
            let names: Vec<_> = found.drafts.iter().map(|draft| draft.name.as_str()).collect();
            assert_eq!((names.join("|").as_str(), found.wrong.len()), (expect, 0), "{text}");
        }
    }

    #[test]
    fn one_that_is_wrong_leaves_the_others() {
        let text = r#"{"mcpServers":{"b":{"command":"b"},"a":{"command":"a"},"c":7,"a":{"command":"z"}}}"#;
        let found = read(Path::new("f"), text).unwrap();
        let names: Vec<_> = found.drafts.iter().map(|draft| draft.name.as_str()).collect();
        let wrong: Vec<_> = found.wrong.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(
            wrong,
            [
                "the MCP server `c` is left out: it is no object",
                "the MCP server `a` is left out: the name is there twice"
            ]
        );
    }
}
