//! The two tools through which all others can be reached.

use std::sync::Arc;

use antefix_tools::{
    Access, BoxFuture, Content, Context, Definition, Failure, Fields, Listing, Output, Tool,
};
use antefix_wire::json::{Body, Node};

use super::Catalogue;
use super::remote::schema_of;
use super::search::find;

/// `tool_search`: finds tools that the model has not been shown.
pub struct ToolSearch {
    definition: Definition,
    catalogue: Arc<Catalogue>,
}

impl ToolSearch {
    /// Makes the tool.
    pub fn new(catalogue: Arc<Catalogue>) -> Self {
        Self { definition: built_in(SEARCH, SEARCH_DESCRIPTION, SEARCH_SCHEMA), catalogue }
    }

    fn search(&self, input: &Body) -> Result<Output, Failure> {
        let fields = Fields::new(input)?;
        let query = fields.string("query", "what the tool is to do")?;
        let most = fields.optional_number("limit", 1)?.map_or(FOUND, |limit| limit.min(MOST_FOUND) as usize);
        let all = self.catalogue.findable();
        let definitions: Vec<&Definition> = all.iter().map(|(definition, _)| definition).collect();
        let places = find(&definitions, &query, most);
        let found: Vec<_> = places.into_iter().filter_map(|place| all.get(place)).collect();
        if found.is_empty() {
            return Ok(Output::text(self.nothing(all.len())));
        }
        // References and texts do not stand in one result; what is shown as text can be called in any case.
        if found.iter().all(|(_, listing)| *listing == Listing::Deferred) {
            let reference = |(definition, _): &&(Definition, Listing)| Content::ToolReference {
                name: definition.name().to_owned(),
            };
            return Ok(Output { content: found.iter().map(reference).collect(), ..Output::default() });
        }
        let texts: Vec<String> = found.iter().map(|(definition, _)| shown(definition)).collect();
        Ok(Output::text(format!("{}\n\nCall these through `{CALL}`.", texts.join("\n\n"))))
    }

    fn nothing(&self, all: usize) -> String {
        let servers = self.catalogue.servers().offers();
        let waiting = servers.iter().filter(|offer| offer.state != super::ServerState::Ready);
        let waiting: Vec<String> = waiting.map(|offer| format!("`{}`", offer.server)).collect();
        let mut text = format!("No tool fits, of {all} that can be searched.");
        if !waiting.is_empty() {
            text.push_str(&format!(" These MCP servers are not ready: {}.", waiting.join(", ")));
        }
        text
    }
}

impl Tool for ToolSearch {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn access(&self, _: &Context, _: &Body) -> Access {
        Access::Session(SEARCH)
    }

    fn call<'a>(&'a self, _: &'a Context, input: Body) -> BoxFuture<'a, Output> {
        Box::pin(async move { self.search(&input).into() })
    }
}

/// `tool_call`: calls a tool that stands in no array. The call that it names is run in its place, so that it is called
/// itself only where it names none.
pub struct ToolCall {
    definition: Definition,
}

impl ToolCall {
    /// Makes the tool.
    pub fn new() -> Self {
        Self { definition: built_in(CALL, CALL_DESCRIPTION, CALL_SCHEMA) }
    }
}

impl Default for ToolCall {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for ToolCall {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn prepare(&self, input: Body) -> Result<Body, Failure> {
        let name = Fields::new(&input)?.string("name", "a tool's name")?;
        Err(Failure::new(match name.as_str() {
            "" => "`name` is empty: expected a tool's name".to_owned(),
            CALL => format!("`{CALL}` does not call itself"),
            _ => "`arguments` is neither an object nor a string that holds one".to_owned(),
        }))
    }

    fn access(&self, _: &Context, _: &Body) -> Access {
        Access::Session(CALL)
    }

    fn call<'a>(&'a self, _: &'a Context, _: Body) -> BoxFuture<'a, Output> {
        Box::pin(async { Output::error("the call names no tool") })
    }
}

/// A tool as the result of a search shows it.
fn shown(definition: &Definition) -> String {
    let body = Body::parse(definition.json()).ok();
    let description = body.as_ref().and_then(|body| body.root().get("description")).and_then(Node::str);
    let description = description.unwrap_or_default();
    format!("{}\n{}\nInput schema: {}", definition.name(), description.trim(), schema_of(definition))
}

fn built_in(name: &str, description: &str, schema: &str) -> Definition {
    // INVARIANT: the texts are constants of this file, and a test makes both tools.
    #[allow(clippy::expect_used)]
    Definition::new(name, description, schema).expect("a built-in definition is valid")
}

/// Tools that are never deferred.
pub(super) const ALWAYS: [&str; 2] = [SEARCH, CALL];

const SEARCH: &str = "tool_search";

const CALL: &str = antefix_session::conversation::TOOL_CALL;

/// Tools that are found where the call does not say how many.
const FOUND: usize = 5;

/// Tools that are found at most.
const MOST_FOUND: u64 = 20;

const SEARCH_DESCRIPTION: &str = "Finds tools that are not in your list: those of MCP servers that are left out of it, \
and those that have come since the session began. What is found is added to your list and then called like the others, \
or it is shown with its input schema and then called through `tool_call`.";

const SEARCH_SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "query": {"type": "string", "description": "What the tool is to do, in a few words, or its name"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 20, "description": "Tools to find at most; 5 if not given"}
    },
    "required": ["query"]
}"#;

const CALL_DESCRIPTION: &str = "Calls a tool that `tool_search` has shown with its input schema. Tools of your list are \
called directly instead.";

const CALL_SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "The tool's name, as it was shown"},
        "arguments": {"type": "object", "description": "The tool's input, by its schema"}
    },
    "required": ["name", "arguments"]
}"#;
