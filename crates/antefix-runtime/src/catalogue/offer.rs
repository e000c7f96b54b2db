//! What a catalogue needs of servers.

use antefix_tools::{BoxFuture, Context, Output};
use bytes::Bytes;

/// Servers that offer tools.
pub trait Servers: Send + Sync + 'static {
    /// What they offer now.
    fn offers(&self) -> Vec<Offer>;

    /// Has lists that are too old made anew; waits for none.
    fn refresh(&self) {}

    /// Waits until a server is ready or has failed.
    fn settled<'a>(&'a self, server: &'a str) -> BoxFuture<'a, ()>;

    /// Calls a tool.
    fn call<'a>(&'a self, call: RemoteCall<'a>) -> BoxFuture<'a, Result<Output, RemoteFailure>>;
}

/// No servers.
pub struct NoServers;

impl Servers for NoServers {
    fn offers(&self) -> Vec<Offer> {
        Vec::new()
    }

    fn settled<'a>(&'a self, _: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }

    fn call<'a>(&'a self, call: RemoteCall<'a>) -> BoxFuture<'a, Result<Output, RemoteFailure>> {
        let (server, reason) = (call.server.to_owned(), "there are no servers".to_owned());
        Box::pin(async { Err(RemoteFailure::Unreachable { server, reason }) })
    }
}

/// What one server offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The server's key in the settings.
    pub server: String,
    /// How it is.
    pub state: ServerState,
    /// What it says about itself.
    pub instructions: Option<String>,
    /// Its tools, in any order.
    pub tools: Vec<OfferedTool>,
}

/// How a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerState {
    /// It has not answered yet.
    Starting,
    /// It answers.
    Ready,
    /// It could not be started, or is gone for now; why, in words.
    Failed(String),
}

/// A tool as its server describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferedTool {
    /// Its name there.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its input, as the server wrote it.
    pub input_schema: Bytes,
}

/// A call of a server's tool.
pub struct RemoteCall<'a> {
    /// The server's key.
    pub server: &'a str,
    /// The tool's name there.
    pub tool: &'a str,
    /// The arguments, one JSON object.
    pub arguments: Bytes,
    /// Whom the call tells how it gets on, and who may stop it.
    pub context: &'a Context,
}

/// Why a call gave nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RemoteFailure {
    /// The server cannot be reached.
    #[error("the MCP server `{server}` cannot be reached: {reason}")]
    Unreachable {
        /// Its key.
        server: String,
        /// Why.
        reason: String,
    },
    /// No result came; the text says why.
    #[error("{0}")]
    Failed(String),
    /// The server does not take the call.
    #[error("the MCP server `{server}` refused the call: {reason}")]
    Refused {
        /// Its key.
        server: String,
        /// What it said.
        reason: String,
    },
}
