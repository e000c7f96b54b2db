//! What can go wrong with a server.

use std::time::Duration;

/// Why something that was asked of a server did not come.
///
/// The texts name servers and tools; they never hold a value of a header or of a variable that a configuration sets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum McpError {
    /// No server of this name is configured.
    #[error("there is no MCP server `{0}`")]
    NoServer(String),
    /// The server has no such tool, as far as it has said.
    #[error("the MCP server `{server}` has no tool `{tool}`")]
    NoTool {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
    },
    /// The server is not connected now; a later call may find it.
    #[error("the MCP server `{server}` is not connected: {why}")]
    NotConnected {
        /// The server.
        server: String,
        /// What is known of the reason.
        why: String,
    },
    /// No answer came in time.
    #[error("the MCP server `{server}` has not answered `{method}` within {} ms", .patience.as_millis())]
    Timeout {
        /// The server.
        server: String,
        /// What was asked.
        method: String,
        /// How long was waited.
        patience: Duration,
    },
    /// The caller has given up; the server has been told.
    #[error("cancelled by the user")]
    Cancelled,
    /// The server answered with an error.
    #[error("the MCP server `{server}` answered `{method}` with error {code}: {message}")]
    Refused {
        /// The server.
        server: String,
        /// What was asked.
        method: String,
        /// JSON-RPC's code, as the server wrote it.
        code: String,
        /// The server's words, shortened.
        message: String,
    },
    /// The answer is not what the protocol says.
    #[error("the MCP server `{server}` answered `{method}` with something that is not understood: {what}")]
    NotUnderstood {
        /// The server.
        server: String,
        /// What was asked.
        method: String,
        /// What is wrong with the answer.
        what: String,
    },
    /// The arguments of a call are not a JSON object.
    #[error("the arguments of `{tool}` are not a JSON object")]
    Arguments {
        /// The tool.
        tool: String,
    },
}

/// Why a server could not be connected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConnectError {
    /// In words.
    pub(crate) text: String,
    /// Whether another attempt can end otherwise.
    pub(crate) may_pass: bool,
}

impl ConnectError {
    pub(crate) fn passing(text: impl Into<String>) -> Self {
        Self { text: text.into(), may_pass: true }
    }

    pub(crate) fn lasting(text: impl Into<String>) -> Self {
        Self { text: text.into(), may_pass: false }
    }
}
