//! MCP servers as a catalogue sees them.

mod result;

use std::sync::Arc;
use std::time::Duration;

use antefix_mcp::{Call, Hub, McpError, ServerView, State, Wait};
use antefix_tools::{BoxFuture, Output, ProgressKind};

use super::offer::{Offer, OfferedTool, RemoteCall, RemoteFailure, ServerState, Servers};

/// The MCP servers of a session.
pub struct McpServers {
    hub: Arc<Hub>,
}

impl McpServers {
    /// Those of a hub.
    pub fn new(hub: Arc<Hub>) -> Self {
        Self { hub }
    }

    /// Waits until the servers that are required are ready or have failed, and for the others no longer than
    /// [`GRACE`] altogether: what they offer can come later. Gives those that are required and have failed, with why.
    pub async fn arrive(&self) -> Vec<(String, String)> {
        // Both waits begin at once: one that takes long must not add up.
        let others = tokio::time::timeout(GRACE, self.hub.ready(Wait::All));
        let ((), _) = tokio::join!(self.hub.ready(Wait::Required), others);
        let views = self.hub.catalogue().servers;
        let failed = views.iter().filter(|view| view.config.required && view.state != State::Ready);
        let why = |view: &ServerView| view.state.why().unwrap_or("it has not come up").to_owned();
        failed.map(|view| (view.name.clone(), why(view))).collect()
    }
}

impl Servers for McpServers {
    fn offers(&self) -> Vec<Offer> {
        self.hub.catalogue().servers.into_iter().map(offer).collect()
    }

    fn refresh(&self) {
        self.hub.refresh();
    }

    fn settled<'a>(&'a self, server: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let mut changed = self.hub.changed();
            let starts = |state: Option<State>| state == Some(State::Starting);
            while starts(self.hub.catalogue().server(server).map(|view| view.state.clone())) {
                if changed.changed().await.is_err() {
                    return;
                }
            }
        })
    }

    fn call<'a>(&'a self, call: RemoteCall<'a>) -> BoxFuture<'a, Result<Output, RemoteFailure>> {
        Box::pin(async move {
            let RemoteCall { server, tool, arguments, context } = call;
            let asked = Call { server, tool, arguments };
            let progress = |news: antefix_mcp::Progress| {
                context.report(ProgressKind::Text(format!("{}\n", news.to_text())));
            };
            let given = self.hub.call(asked, context.cancellation.cancelled(), progress).await;
            given.map(|given| result::output(given, &context.limits)).map_err(|error| failure(server, error))
        })
    }
}

fn offer(view: ServerView) -> Offer {
    let state = match view.state {
        State::Starting => ServerState::Starting,
        State::Ready => ServerState::Ready,
        State::Failed { why, .. } | State::Gone { why, .. } => ServerState::Failed(why),
    };
    let tool = |tool: &antefix_mcp::ToolInfo| OfferedTool {
        name: tool.name.clone(),
        description: tool.description.clone(),
        input_schema: tool.input_schema.clone(),
    };
    let tools = view.tools.iter().map(tool).collect();
    Offer { server: view.name, state, instructions: view.instructions, tools }
}

fn failure(server: &str, error: McpError) -> RemoteFailure {
    let (server, reason) = (server.to_owned(), error.to_string());
    match error {
        McpError::NotConnected { why, .. } => RemoteFailure::Unreachable { server, reason: why },
        McpError::NoServer(_) => RemoteFailure::Unreachable { server, reason },
        McpError::Refused { code, message, .. } => {
            RemoteFailure::Refused { server, reason: format!("error {code}: {message}") }
        }
        _ => RemoteFailure::Failed(reason),
    }
}

/// How long a session's first request waits for servers that are not required, and every later process's first one:
/// long enough for most processes to come up, short enough not to be noticed where one hangs.
pub const GRACE: Duration = Duration::from_secs(2);
