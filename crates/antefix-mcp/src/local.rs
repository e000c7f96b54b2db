//! Servers in this process.

use bytes::Bytes;

use crate::BoxFuture;
use crate::call::CallOutput;
use crate::tool::ToolInfo;

/// A server that is part of this process: no connection, no protocol.
pub trait LocalServer: Send + Sync + 'static {
    /// Its tools, the same every time; the server's name in them is set by the hub.
    fn tools(&self) -> Vec<ToolInfo>;

    /// How it is best used, for the model.
    fn instructions(&self) -> Option<String> {
        None
    }

    /// Calls a tool. `arguments` is the text of a JSON object. Dropped when the call is cancelled.
    fn call<'a>(&'a self, tool: &'a str, arguments: Bytes) -> BoxFuture<'a, CallOutput>;
}
