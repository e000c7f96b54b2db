//! MCP servers as a catalogue sees them.

use std::sync::Arc;
use std::time::Duration;

use antefix_mcp::{Call, CallOutput, Content as Part, Hub, McpError, ServerView, State, Wait};
use antefix_tools::{BoxFuture, Content, Context, Output, ProgressKind};

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
            given.map(|given| output(given, context)).map_err(|error| failure(server, error))
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

/// What a call gave, within the bounds of a command's output.
fn output(given: CallOutput, context: &Context) -> Output {
    let is_error = given.is_error;
    if given.content.is_empty() {
        return Output { is_error, ..Output::text(within(&given.to_text(), context.limits.shell_bytes)) };
    }
    let mut left = context.limits.shell_bytes;
    let content = given.content.into_iter().map(|part| match part {
        Part::Image { mime, data } if data.len() as u64 <= context.limits.image_bytes && is_image(&mime) => {
            Content::Image { media_type: mime, base64: data }
        }
        part => {
            let text = within(&part.to_text(), left);
            left = left.saturating_sub(text.len());
            Content::Text(text)
        }
    });
    Output { content: content.collect(), is_error, ..Output::default() }
}

/// A text of so many bytes at most, cut in the middle.
fn within(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let mut head = most / 2;
    while !text.is_char_boundary(head) {
        head -= 1;
    }
    let mut tail = text.len() - most / 2;
    while !text.is_char_boundary(tail) {
        tail += 1;
    }
    // INVARIANT: both are boundaries, and the text is longer than what is kept of it.
    format!("{}\n[{} bytes are left out here]\n{}", &text[..head], tail - head, &text[tail..])
}

/// Pictures that the Messages API takes (November 2026).
fn is_image(mime: &str) -> bool {
    matches!(mime, "image/png" | "image/jpeg" | "image/gif" | "image/webp")
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
