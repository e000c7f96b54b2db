//! MCP servers of a case: processes of the program itself that follow a script.

use std::fs;

use crate::case::{Case, Invocation};

/// A server's entry in the configuration; its script is the file that [`write`] makes.
pub fn entry(case: &Case, name: &str, more: &str) -> String {
    let (program, script) = (env!("CARGO_BIN_EXE_antefix"), case.root().join(format!("{name}.json")));
    format!(r#""{name}":{{"command":"{program}","args":["mcp","scripted","{}"]{more}}}"#, script.display())
}

/// Sets what a server does from its next start on.
pub fn write(case: &Case, name: &str, script: &str) {
    fs::write(case.root().join(format!("{name}.json")), script).expect("a script");
}

/// With these servers and no others.
pub fn with(case: &Case, run: Invocation, servers: &[&str]) -> Invocation {
    let entries: Vec<String> = servers.iter().map(|name| entry(case, name, "")).collect();
    with_entries(run, &entries)
}

/// With the servers of these entries and no others.
pub fn with_entries(run: Invocation, entries: &[String]) -> Invocation {
    run.arg("--mcp-config").arg(format!(r#"{{"mcpServers":{{{}}}}}"#, entries.join(",")))
}
