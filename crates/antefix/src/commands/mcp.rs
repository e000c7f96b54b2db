//! `antefix mcp`: the MCP servers of a folder.

mod call;
mod get;
mod list;
mod test;

use std::io::{ErrorKind, stderr, stdin, stdout};
use std::path::Path;
use std::process::ExitCode;

use antefix_mcp::scripted::{Around, serve};
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
use crate::settings::{Flags, Settings};

/// `antefix mcp`
pub fn mcp(args: &McpArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    if let Some(McpAction::Scripted { script }) = &args.action {
        return scripted(script);
    }
    let around = Surroundings::read(args, environment)?;
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
        let ignored: Vec<_> = settings.ignored.iter().filter(|value| value.key == "mcp").collect();
        if !args.servers.strict_mcp_config {
            for value in &ignored {
                tell!(
                    "note: not started, since this folder is {}: {}",
                    settings.trust.text(),
                    harmless(&value.text)
                );
            }
            if !ignored.is_empty() {
                tell!("hint: --trust starts them for this run; `antefix run` in a terminal asks");
            }
        }
        Ok(Self { configs: servers.configs, options: options(&folder, environment) })
    }

    /// The one of a name alone.
    fn only(mut self, name: &str) -> Result<Self, Failure> {
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

/// `antefix mcp scripted SCRIPT`
fn scripted(script: &Path) -> Result<ExitCode, Failure> {
    let text = std::fs::read_to_string(script)
        .map_err(|error| Failure::usage(format!("`{}` cannot be read: {error}", script.display())))?;
    let around = Around {
        input: stdin().lock(),
        output: stdout().lock(),
        errors: stderr(),
        variable: &environment::variable,
    };
    match serve(&text, around) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        served => Ok(ExitCode::from(served?)),
    }
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
