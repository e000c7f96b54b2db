//! The MCP servers of a run: those of the settings and those of the flags.

use std::path::{Path, PathBuf};

use antefix_mcp::config::read;
use antefix_mcp::{Options, ServerConfig};
use antefix_tools::is_secret;

use crate::environment::{self, Environment};
use crate::failure::Failure;
use crate::settings::Settings;

/// Servers, in the order of their names, and what is left out and why.
#[derive(Debug, Default)]
pub struct Servers {
    /// Those that can be started.
    pub configs: Vec<ServerConfig>,
    /// What is wrong with others.
    pub notes: Vec<String>,
}

/// Flags that name servers.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ServerFlags {
    /// Start the MCP servers of this file as well, written like `.mcp.json`; or of this JSON text. May be given more
    /// than once; a server of a name that was there before takes its place
    #[arg(long, value_name = "FILE|JSON", global = true)]
    pub mcp_config: Vec<String>,
    /// Start only the MCP servers of --mcp-config
    #[arg(long, global = true)]
    pub strict_mcp_config: bool,
}

/// The servers that hold in a folder.
///
/// # Errors
/// If a file of `--mcp-config` cannot be read or is not understood. What is wrong elsewhere is a note.
pub fn configured(settings: &Settings, flags: &ServerFlags) -> Result<Servers, Failure> {
    let mut drafts: Vec<(_, String)> = Vec::new();
    let mut notes = Vec::new();
    if !flags.strict_mcp_config {
        drafts.extend(settings.servers.iter().map(|(draft, source)| (draft.clone(), source.to_string())));
        notes.clone_from(&settings.notes);
    }
    for named in &flags.mcp_config {
        let (path, text) = text_of(named)?;
        let found = read(&path, &text).map_err(Failure::usage)?;
        if let Some(wrong) = found.wrong.first() {
            return Err(Failure::usage(format!("`{}`: {wrong}", path.display())));
        }
        for draft in found.drafts {
            drafts.retain(|(earlier, _)| earlier.name != draft.name);
            drafts.push((draft, FLAG.to_owned()));
        }
    }
    drafts.sort_by(|(one, _), (other, _)| one.name.cmp(&other.name));
    let mut servers = Servers { configs: Vec::new(), notes };
    for (draft, source) in &drafts {
        match draft.resolve(source, &settings.folder, &environment::variable) {
            Ok(config) => servers.configs.extend(config),
            Err(error) if source == FLAG => return Err(Failure::usage(error)),
            Err(error) => servers.notes.push(format!("{error} ({source})")),
        }
    }
    Ok(servers)
}

/// What servers have in common: the folder, and of the environment what is no key.
pub fn options(folder: &Path, environment: &Environment) -> Options {
    let all = environment::all_but(None).into_iter();
    Options {
        environment: all.filter(|(name, _)| !is_secret(name)).collect(),
        proxies: environment.proxies.clone(),
        ..Options::new(folder)
    }
}

/// The text of a file, or of the flag itself where that is JSON.
fn text_of(named: &str) -> Result<(PathBuf, String), Failure> {
    if named.trim_start().starts_with('{') {
        return Ok((PathBuf::from("--mcp-config"), named.to_owned()));
    }
    let text = std::fs::read_to_string(named)
        .map_err(|error| Failure::usage(format!("`{named}` cannot be read: {error}")))?;
    Ok((PathBuf::from(named), text))
}

const FLAG: &str = "flag --mcp-config";
