use std::process::ExitCode;

use antefix_mcp::{Hub, PromptInfo, ResourceInfo, ServerView, State, Wait};
use antefix_models::Tokens;

use super::list::about;
use super::{Surroundings, definition_bytes, definition_tokens};
use crate::failure::Failure;
use crate::out::say;
use crate::screen::harmless;
use crate::stream_json::{Object, SCHEMA_VERSION, array, quoted};

/// `antefix mcp get NAME`
pub(super) async fn get(around: Surroundings, name: &str, json: bool) -> Result<ExitCode, Failure> {
    let around = around.only(name)?;
    let hub = Hub::start(around.configs, around.options);
    hub.ready(Wait::All).await;
    let catalogue = hub.catalogue();
    let Some(server) = catalogue.server(name) else {
        return Err(Failure::failed(format!("there is no MCP server `{name}`")));
    };
    let offers = |what: &str| server.state == State::Ready && server.offers.contains(&what);
    let resources = if offers("resources") { hub.resources(name).await } else { Ok(Vec::new()) };
    let prompts = if offers("prompts") { hub.prompts(name).await } else { Ok(Vec::new()) };
    hub.stop().await;
    let mut problems = Vec::new();
    let resources = resources.unwrap_or_else(|error| {
        problems.push(error.to_string());
        Vec::new()
    });
    let prompts = prompts.unwrap_or_else(|error| {
        problems.push(error.to_string());
        Vec::new()
    });
    let page = Page { server, resources, prompts, problems };
    if json {
        say!("{}", page.json());
    } else {
        page.print();
    }
    let is_fine = server.state == State::Ready && page.problems.is_empty();
    Ok(ExitCode::from(u8::from(!is_fine)))
}

/// All about one server.
struct Page<'a> {
    server: &'a ServerView,
    resources: Vec<ResourceInfo>,
    prompts: Vec<PromptInfo>,
    problems: Vec<String>,
}

impl Page<'_> {
    fn json(&self) -> String {
        let server = self.server;
        let mut object = Object::new();
        object.number("schema_version", SCHEMA_VERSION).raw("server", &about(server).close());
        if let Some(instructions) = &server.instructions {
            object.text("instructions", instructions);
        }
        let tools = server.tools.iter().map(|tool| {
            let mut object = Object::new();
            object.text("name", &tool.name).text("wire_name", &tool.wire_name);
            object.text("description", &tool.description);
            object.raw("input_schema", &String::from_utf8_lossy(&tool.input_schema));
            object.boolean("says_read_only", tool.says_read_only);
            object.number("definition_bytes", definition_bytes(tool));
            object.close()
        });
        object.raw("tools", &array(tools));
        object.raw("listed_order", &array(server.listed_order.iter().map(|name| quoted(name))));
        if let Some(ttl) = server.ttl {
            object.number("ttl_ms", ttl.as_millis() as u64);
        }
        if let Some(scope) = &server.cache_scope {
            object.text("cache_scope", scope);
        }
        object.raw("resources", &array(self.resources.iter().map(resource)));
        object.raw("prompts", &array(self.prompts.iter().map(prompt)));
        object.raw("problems", &array(self.problems.iter().map(|problem| quoted(problem))));
        object.text("log", &server.log);
        object.close()
    }

    fn print(&self) {
        let server = self.server;
        let why = server.state.why().map(|why| format!(": {why}")).unwrap_or_default();
        say!("{}: {}{}", harmless(&server.name), server.state.word(), harmless(&why));
        say!("reached by  {} ({})", harmless(&server.config.shown), harmless(&server.config.source));
        if let Some((name, version)) = &server.software {
            let protocol = server.protocol.as_deref().unwrap_or("?");
            say!("software    {} {}, protocol {}", harmless(name), harmless(version), harmless(protocol));
        }
        if let Some(ttl) = server.ttl {
            say!(
                "list        holds for {} ms, {}",
                ttl.as_millis(),
                server.cache_scope.as_deref().unwrap_or("scope not said")
            );
        }
        for remark in server.notes.iter().chain(&self.problems) {
            say!("note        {}", harmless(remark));
        }
        if let Some(instructions) = &server.instructions {
            say!("\ninstructions\n{}", harmless(instructions));
        }
        say!(
            "\n{} tools, about {} tokens of definitions (estimated at 3.5 bytes a token)",
            server.tools.len(),
            definition_tokens(server)
        );
        for tool in server.tools.iter() {
            say!("  {}  ~{} tokens", harmless(&tool.wire_name), Tokens::of_bytes(definition_bytes(tool)).0);
            let first = tool.description.lines().next().unwrap_or_default();
            say!("      {}", harmless(first));
        }
        for resource in &self.resources {
            say!("resource {}  {}", harmless(&resource.uri), harmless(&resource.name));
        }
        for prompt in &self.prompts {
            let names: Vec<_> = prompt.arguments.iter().map(|argument| argument.name.as_str()).collect();
            say!("prompt {}({})", harmless(&prompt.name), harmless(&names.join(", ")));
        }
        if !server.log.trim().is_empty() {
            say!("\nthe end of its standard error\n{}", harmless(server.log.trim_end()));
        }
    }
}

fn resource(resource: &ResourceInfo) -> String {
    let mut object = Object::new();
    object.text("uri", &resource.uri).text("name", &resource.name).text("description", &resource.description);
    if let Some(mime) = &resource.mime {
        object.text("mime", mime);
    }
    object.close()
}

fn prompt(prompt: &PromptInfo) -> String {
    let arguments = prompt.arguments.iter().map(|argument| {
        let mut object = Object::new();
        object.text("name", &argument.name).text("description", &argument.description);
        object.boolean("required", argument.required);
        object.close()
    });
    let mut object = Object::new();
    object.text("name", &prompt.name).text("description", &prompt.description);
    object.raw("arguments", &array(arguments));
    object.close()
}
