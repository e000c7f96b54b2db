//! `antefix mcp`: the MCP servers of a folder.

mod call;
mod get;
mod list;
mod test;

use std::path::Path;
use std::process::ExitCode;

use antefix_mcp::scripted::serve_file;
use antefix_mcp::{Options, ServerConfig, ServerView, ToolInfo};
use antefix_models::Tokens;
use antefix_tools::Definition;

use crate::cli::{McpAction, McpArgs};
use crate::environment::{self, Environment};
use crate::failure::Failure;
use crate::folders;
use crate::out::tell;
use crate::screen::harmless;
use crate::servers::{configured, options};
use crate::settings::trust::Trust;
use crate::settings::{Flags, Settings, Value};

/// `antefix mcp`
pub fn mcp(args: &McpArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    if let Some(McpAction::Scripted { script }) = &args.action {
        return scripted(script);
    }
    let mut around = Surroundings::read(args, environment)?;
    if matches!(&args.action, None | Some(McpAction::List | McpAction::Test { name: None })) {
        around = around.started()?;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        match &args.action {
            None | Some(McpAction::List | McpAction::Scripted { .. }) => list::list(around, args.json).await,
            Some(McpAction::Get { name }) => get::get(around, name, args.json).await,
            Some(McpAction::Call { server, tool, arguments }) => {
                call::call(around, (server, tool), arguments, args.json).await
            }
            Some(McpAction::Test { name }) => test::test(around, name.as_deref(), args.json).await,
        }
    })
}

/// The servers of a folder, and what they are started with.
struct Surroundings {
    configs: Vec<ServerConfig>,
    options: Options,
    /// Servers of the folder's own files, each as `NAME: how it is reached`, which are not started since the folder is
    /// not trusted.
    held_back: Vec<Value>,
    trust: Trust,
}

impl Surroundings {
    fn read(args: &McpArgs, environment: &Environment) -> Result<Self, Failure> {
        let folder = folders::working_folder(args.cwd.as_deref())?;
        let flags = Flags { trust: args.trust, ..Flags::default() };
        let settings = Settings::read(&folder, environment, &flags)?;
        let servers = configured(&settings, &args.servers)?;
        for note in &servers.notes {
            tell!("note: {}", harmless(note));
        }
        let trust = settings.trust;
        let is_held_back = |value: &Value| value.key == "mcp" && !args.servers.strict_mcp_config;
        let held_back: Vec<Value> = settings.ignored.into_iter().filter(is_held_back).collect();
        for value in &held_back {
            let (text, source) = (harmless(&value.text), value.source.to_string());
            tell!("note: not started, since this folder is {}: {text} ({})", trust.text(), harmless(&source));
        }
        Ok(Self { configs: servers.configs, options: options(&folder, environment), held_back, trust })
    }

    /// The servers, where there are others than those of a folder that is not trusted.
    fn started(self) -> Result<Self, Failure> {
        if self.configs.is_empty() && !self.held_back.is_empty() {
            let what =
                format!("this folder is {}, so that none of its MCP servers is started", self.trust.text());
            return Err(Failure::usage(what).hint(TRUST));
        }
        Ok(self)
    }

    /// The one of a name alone.
    fn only(mut self, name: &str) -> Result<Self, Failure> {
        let is_it = |value: &Value| value.text.strip_prefix(name).is_some_and(|rest| rest.starts_with(": "));
        let is_there = self.configs.iter().any(|config| config.name == name);
        if !is_there && self.held_back.iter().any(is_it) {
            let what =
                format!("the MCP server `{name}` is not started: this folder is {}", self.trust.text());
            return Err(Failure::usage(what).hint(TRUST));
        }
        let known: Vec<_> = self.configs.iter().map(|config| format!("`{}`", config.name)).collect();
        self.configs.retain(|config| config.name == name);
        if self.configs.is_empty() {
            let failure = Failure::usage(format!("there is no MCP server `{name}`"));
            return Err(match known.as_slice() {
                [] => failure.hint("none is configured; docs/mcp.md says how"),
                known => failure.hint(format!("there are {}", known.join(", "))),
            });
        }
        Ok(self)
    }
}

/// `antefix mcp scripted SCRIPT`: is the MCP server that a script describes, until its input ends.
///
/// # Errors
/// If the script cannot be read or is none.
pub fn scripted(script: &Path) -> Result<ExitCode, Failure> {
    serve_file(script, &environment::variable).map(ExitCode::from).map_err(Failure::usage)
}

/// Bytes of a tool's definition as a request carries it; nothing if it cannot be sent.
fn definition_bytes(tool: &ToolInfo) -> u64 {
    let schema = String::from_utf8_lossy(&tool.input_schema);
    Definition::new(&tool.wire_name, &tool.description, &schema).map_or(0, |one| one.json().len() as u64)
}

/// Tokens of all definitions of a server, estimated.
fn definition_tokens(server: &ServerView) -> u64 {
    Tokens::of_bytes(server.tools.iter().map(definition_bytes).sum()).0
}

/// How servers of a folder's own come to be started.
const TRUST: &str =
    "--trust starts them for this run; `antefix run` in a terminal asks, and keeps the answer";
