use std::sync::Arc;

use antefix_tools::{Access, BoxFuture, Context, Definition, Failure, Output, Tool, schema};
use antefix_wire::json::{Body, Node};
use bytes::Bytes;

use super::entry::{Entry, entries};
use super::offer::{RemoteCall, RemoteFailure, ServerState, Servers};

/// A tool of a server, by the definition that the model was shown.
pub(super) struct RemoteTool {
    servers: Arc<dyn Servers>,
    server: String,
    definition: Definition,
    /// Its name at the server; `None` while the server has not answered.
    tool: Option<String>,
}

impl RemoteTool {
    pub(super) fn shown(servers: &Arc<dyn Servers>, entry: Entry) -> Self {
        let Entry { definition, server, tool } = entry;
        Self { servers: Arc::clone(servers), server, definition, tool: Some(tool) }
    }

    /// A tool of a server that is not ready; `None` if no tool can have that name.
    pub(super) fn awaited(servers: &Arc<dyn Servers>, name: &str, server: String) -> Option<Self> {
        let definition = Definition::new(name, "", "{}").ok()?;
        Some(Self { servers: Arc::clone(servers), server, definition, tool: None })
    }

    async fn run(&self, context: &Context, input: Body) -> Output {
        self.servers.settled(&self.server).await;
        let now = match self.now() {
            Ok(now) => now,
            Err(gone) => return Output::error(gone),
        };
        let input = match &self.tool {
            Some(_) => input,
            // Nobody could look at it before.
            None => match fitting(&now.definition, input) {
                Ok(input) => input,
                Err(failure) => return Output::error(failure.0),
            },
        };
        let arguments = Bytes::from(input.into_bytes());
        let call = RemoteCall { server: &self.server, tool: &now.tool, arguments, context };
        match self.servers.call(call).await {
            Ok(output) if output.is_error => self.with_change(output, &now),
            Ok(output) => output,
            Err(failure @ RemoteFailure::Refused { .. }) => {
                self.with_change(Output::error(failure.to_string()), &now)
            }
            Err(failure) => Output::error(failure.to_string()),
        }
    }

    /// The tool as its server has it now.
    fn now(&self) -> Result<Entry, String> {
        let server = &self.server;
        let offers = self.servers.offers();
        let Some(offer) = offers.iter().find(|offer| offer.server == *server) else {
            return Err(format!(
                "the MCP server `{server}` is not there any more: its tools cannot be called"
            ));
        };
        if let ServerState::Failed(reason) = &offer.state {
            let (server, reason) = (server.clone(), reason.clone());
            return Err(RemoteFailure::Unreachable { server, reason }.to_string());
        }
        let (entries, _) = entries(std::slice::from_ref(offer));
        let is_this = |entry: &Entry| match &self.tool {
            Some(tool) => entry.tool == *tool,
            None => entry.definition.name() == self.definition.name(),
        };
        let missing = || {
            let name = self.tool.as_deref().unwrap_or(self.definition.name());
            format!("the MCP server `{server}` does not offer `{name}` any more")
        };
        entries.into_iter().find(is_this).ok_or_else(missing)
    }

    /// A failed result, with what the server wants now, if that is not what the model was shown.
    fn with_change(&self, mut output: Output, now: &Entry) -> Output {
        let (shown, wanted) = (schema_of(&self.definition), schema_of(&now.definition));
        if self.tool.is_some() && shown != wanted {
            let text = format!(
                "The input schema of this tool is not the one you were shown any more. It is now: {wanted}"
            );
            output.content.extend(Output::text(text).content);
        }
        output
    }
}

impl Tool for RemoteTool {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    /// The input as it fits what the model was shown, or what its server wants now: of that the model is told.
    fn prepare(&self, input: Body) -> Result<Body, Failure> {
        let now = self.tool.as_ref().and_then(|_| self.now().ok());
        let now = now.filter(|now| schema_of(&now.definition) != schema_of(&self.definition));
        let Some(now) = now else { return fitting(&self.definition, input) };
        let again = input.clone();
        fitting(&self.definition, input).or_else(|_| fitting(&now.definition, again))
    }

    /// What a server touches is not known: as with shell commands, which look after themselves.
    fn access(&self, _: &Context, _: &Body) -> Access {
        Access::Anywhere
    }

    fn call<'a>(&'a self, context: &'a Context, input: Body) -> BoxFuture<'a, Output> {
        Box::pin(self.run(context, input))
    }
}

/// The input as it fits the schema that the model was shown.
fn fitting(definition: &Definition, input: Body) -> Result<Body, Failure> {
    let Ok(schema) = Body::parse(schema_of(definition)) else { return Ok(input) };
    schema::checked(&schema, input).map_err(|problems| {
        Failure::new(format!(
            "the call was not made, since its input does not fit the tool's schema: {}. The schema: {}",
            problems.join("; "),
            schema.text()
        ))
    })
}

/// The schema of a definition's input.
pub(super) fn schema_of(definition: &Definition) -> String {
    let body = Body::parse(definition.json()).ok();
    let schema = body.as_ref().and_then(|body| body.root().get("input_schema"));
    schema.map_or("{}", Node::raw).to_owned()
}
