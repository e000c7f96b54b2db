//! Servers of the Model Context Protocol: connections, tools as the raw text they came in, calls.
//!
//! [`Hub`] starts all servers at once and waits for none unless asked ([`Hub::ready`]). [`Hub::catalogue`] is what is
//! known of them at a moment, servers in the order of their keys and tools in the order of their names, never in that
//! of arrival. What a server writes (schemas, arguments, results) passes as bytes: the order of members and the
//! spelling of numbers are kept both ways.
//!
//! `rmcp` does the protocol below; it is named in this crate alone and no type of it is in the interface.
//! The crate prints nothing and reads no environment, but for [`scripted::serve_file`], which is a server on the standard
//! streams.

mod call;
pub mod config;
mod error;
mod hub;
mod link;
mod local;
mod name;
mod notes;
mod offer;
mod question;
pub mod scripted;
mod tool;
mod transport;

use std::pin::Pin;

pub use bytes::Bytes;
pub use call::{CallOutput, Content, Progress};
pub use config::{Http, Secret, ServerConfig, Stdio, Transport};
pub use error::McpError;
pub use hub::{Call, Catalogue, Hub, Options, ServerView, State, Wait};
pub use local::LocalServer;
pub use name::{server_part, wire_name};
pub use offer::{PromptArgument, PromptInfo, PromptMessage, ResourceInfo};
pub use question::{Elicitation, Questions, Reply};
pub use tool::ToolInfo;

/// A future on the heap.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Bytes of one message of a server.
pub(crate) const LONGEST_MESSAGE: usize = 32 << 20;
