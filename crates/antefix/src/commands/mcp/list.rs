use std::process::ExitCode;

use antefix_mcp::{Hub, ServerView, State, Wait};

use super::{Surroundings, definition_tokens};
use crate::failure::Failure;
use crate::out::{prose, say};
use crate::screen::harmless;
use crate::stream_json::{Object, SCHEMA_VERSION, array, quoted};
use crate::table::Table;

/// `antefix mcp list`
pub(super) async fn list(around: Surroundings, json: bool) -> Result<ExitCode, Failure> {
    let held_back = around.held_back;
    let hub = Hub::start(around.configs, around.options);
    hub.ready(Wait::All).await;
    let servers = hub.catalogue().servers;
    hub.stop().await;
    if json {
        let mut object = Object::new();
        object.number("schema_version", SCHEMA_VERSION);
        object.raw("servers", &array(servers.iter().map(|server| about(server).close())));
        object.raw("not_started", &array(held_back.iter().map(|server| quoted(&server.text))));
        say!("{}", object.close());
    } else {
        print(&servers);
    }
    // What this folder names and does not start is not ready either.
    let is_ready = held_back.is_empty() && servers.iter().all(|server| server.state == State::Ready);
    Ok(ExitCode::from(u8::from(!is_ready)))
}

/// What all forms say of a server.
pub(super) fn about(server: &ServerView) -> Object {
    let mut object = Object::new();
    object.text("name", &server.name).text("state", server.state.word());
    if let Some(why) = server.state.why() {
        object.text("why", why);
    }
    object.boolean("required", server.config.required).text("source", &server.config.source);
    object.text("reached_by", &server.config.shown);
    if let Some((name, version)) = &server.software {
        object.text("software", name).text("software_version", version);
    }
    if let Some(protocol) = &server.protocol {
        object.text("protocol", protocol);
    }
    object.number("tools", server.tools.len() as u64);
    object.number("definition_tokens_estimated", definition_tokens(server));
    object.raw("notes", &array(server.notes.iter().map(|note| quoted(note))));
    object
}

fn print(servers: &[ServerView]) {
    if servers.is_empty() {
        say!("no MCP server is configured here (docs/mcp.md says how)");
        return;
    }
    let mut table =
        Table::new(&["server", "state", ">tools", ">tokens of definitions", "reached by", "from"])
            .spare(&["from"]);
    for server in servers {
        table.line([
            harmless(&server.name).to_string(),
            server.state.word().to_owned(),
            server.tools.len().to_string(),
            format!("~{}", definition_tokens(server)),
            harmless(&server.config.shown).to_string(),
            harmless(&server.config.source).to_string(),
        ]);
    }
    table.print();
    for server in servers {
        let why = server.state.why().map(|why| format!("{}: {why}", server.state.word()));
        for remark in why.iter().chain(&server.notes) {
            prose!("{}: {}", harmless(&server.name), harmless(remark));
        }
    }
    let (tools, all) = (
        servers.iter().map(|server| server.tools.len()).sum::<usize>(),
        servers.iter().map(definition_tokens).sum::<u64>(),
    );
    say!("{tools} tools, about {all} tokens of definitions (estimated at 3.5 bytes a token)");
}
