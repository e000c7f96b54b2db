//! The rows with MCP servers, each a process of its own.

use std::path::Path;

use super::column::Column;
use super::row::{Row, Step};
use Step::{Remove, Say, Servers, ServersOf, With, Write};

/// What changes of servers and their tools.
pub fn rows() -> Vec<Row> {
    vec![
        two("mcp-order", "the server that was ready first is ready last")
            .change([Write("alpha.json", ALPHA_LATE), Write("beta.json", BETA)]),
        two("mcp-gone", "a server is taken out")
            .change([Servers(&["alpha"])])
            .told(&["`beta` is gone"])
            .changes(&["-mcp__beta__count"]),
        two("mcp-back", "a server that was taken out comes back")
            .kept(Column::strips)
            .change([Servers(&["alpha"]), Say("A detour.", &[]), Servers(&["alpha", "beta"])])
            .told(&["`beta` is gone", "The MCP server `beta` has these tools"])
            .changes(&["-mcp__beta__count", "+mcp__beta__count"]),
        two("mcp-new", "a third server is put in")
            .change([Write("gamma.json", GAMMA), Servers(&["alpha", "beta", "gamma"])])
            .told(&["The MCP server `gamma` has these tools"]),
        two("mcp-description", "a tool is described in other words")
            .change([Write("beta.json", BETA_DESCRIBED)])
            .told(&["The tool `mcp__beta__count` has changed", "Counts letters and signs."])
            .changes(&["-mcp__beta__count"]),
        two("mcp-schema", "a tool takes another parameter")
            .change([Write("beta.json", BETA_WITH_SIGNS)])
            .told(&["The tool `mcp__beta__count` has changed", "with_signs"])
            .changes(&["-mcp__beta__count"]),
        two("mcp-slow", "a server takes its time").change([Write("beta.json", BETA_SLOW)]),
        two("mcp-crash", "a server dies at its start").change([Write("beta.json", BETA_DYING)]),
        two("tool-found", "the model finds a tool that was left out, and calls it")
            .before([With(&["--defer-tools", "on"])])
            .offers(&["tool_search"])
            .prompt("Look a word up."),
        two("tool-loaded", "the user wants a tool loaded that was left out")
            .before([With(&["--defer-tools", "on"])])
            .message(&["--load-tool", "mcp__alpha__lookup"])
            .whatever_is_told()
            .changes(&["+mcp__alpha__lookup"])
            .only_in(Column::is_messages),
    ]
}

/// The rows with servers of the user's own.
pub fn peers(file: &Path) -> Vec<Row> {
    let row = |name, about| Row::new(name, about).before([With(&["--trust"]), ServersOf(file.to_owned())]);
    vec![
        row("peers", "servers of one's own are started anew").offers(&["tool_search"]),
        row("peers-gone", "servers of one's own are taken out")
            .change([Remove("project/.mcp.json")])
            .whatever_is_told()
            .changes(&["-mcp__*"]),
        row("peers-back", "servers of one's own that were taken out come back")
            .kept(Column::strips)
            .change([Remove("project/.mcp.json"), Say("A detour.", &[]), ServersOf(file.to_owned())])
            .whatever_is_told()
            .changes(&["-mcp__*", "+mcp__*"]),
    ]
}

/// A row that begins with two servers, one of them late.
fn two(name: &'static str, about: &'static str) -> Row {
    Row::new(name, about)
        .before([
            With(&["--trust"]),
            Write("alpha.json", ALPHA),
            Write("beta.json", BETA_LATE),
            Servers(&["alpha", "beta"]),
        ])
        .offers(&["mcp__alpha__lookup", "mcp__beta__count"])
}

macro_rules! alpha {
    ($more:literal) => {
        concat!(
            r#"{"name":"alpha","#,
            $more,
            r#""tools":[{"name":"lookup","description":"Looks a word up.","inputSchema":{"type":"object","#,
            r#""properties":{"word":{"type":"string"}},"required":["word"]}}]}"#
        )
    };
}

macro_rules! beta {
    ($more:literal, $description:literal, $properties:literal) => {
        concat!(
            r#"{"name":"beta","#,
            $more,
            r#""tools":[{"name":"count","description":""#,
            $description,
            r#"","inputSchema":{"type":"object","properties":{"#,
            $properties,
            r#"}}}]}"#
        )
    };
}

const ALPHA: &str = alpha!("");
const ALPHA_LATE: &str = alpha!(r#""start_delay_ms":120,"#);
const BETA: &str = beta!("", "Counts letters.", r#""text":{"type":"string"}"#);
const BETA_LATE: &str = beta!(r#""start_delay_ms":120,"#, "Counts letters.", r#""text":{"type":"string"}"#);
const BETA_DESCRIBED: &str = beta!("", "Counts letters and signs.", r#""text":{"type":"string"}"#);
const BETA_WITH_SIGNS: &str =
    beta!("", "Counts letters.", r#""text":{"type":"string"},"with_signs":{"type":"boolean"}"#);
const BETA_SLOW: &str = beta!(r#""start_delay_ms":4000,"#, "Counts letters.", r#""text":{"type":"string"}"#);
const BETA_DYING: &str =
    beta!(r#""exit_at":{"initialize":3},"#, "Counts letters.", r#""text":{"type":"string"}"#);
const GAMMA: &str = r#"{"name":"gamma","tools":[{"name":"turn","description":"Turns a text round.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}]}"#;
