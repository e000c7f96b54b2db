use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::servers::ServerFlags;

/// `antefix mcp`
#[derive(Debug, Args)]
pub struct McpArgs {
    /// What to do; lists the servers if nothing is said
    #[command(subcommand)]
    pub action: Option<McpAction>,
    /// The folder whose servers are meant
    #[arg(long, value_name = "DIR", global = true)]
    pub cwd: Option<PathBuf>,
    /// Start the servers of this folder's own files, for this run
    #[arg(long, global = true)]
    pub trust: bool,
    #[command(flatten)]
    /// Which servers.
    pub servers: ServerFlags,
    /// Print as JSON
    #[arg(long, global = true)]
    pub json: bool,
}

/// `antefix mcp …`
#[derive(Debug, Subcommand)]
pub enum McpAction {
    /// Start the MCP servers and list how each is, with its tools and what their definitions weigh
    List,
    /// Show all that one server says: instructions, tools, resources, prompts
    Get {
        /// The server
        name: String,
    },
    /// Call a tool of a server and print what it gives; exit 1 if it fails
    Call {
        /// The server
        server: String,
        /// The tool, as the server calls it
        tool: String,
        /// A JSON object, which the server gets as it is written
        #[arg(default_value = "{}")]
        arguments: String,
    },
    /// List the tools of each server twice, and again after a restart; exit 1 if they are not the same
    Test {
        /// The server; all if nothing is said
        name: Option<String>,
    },
    /// Be a server that follows a script, for tests
    #[command(hide = true)]
    Scripted {
        /// The script
        script: PathBuf,
    },
}
