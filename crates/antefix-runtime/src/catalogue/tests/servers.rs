//! A catalogue over real MCP servers.

use std::sync::Arc;
use std::time::Duration;

use antefix_mcp::{Bytes, CallOutput, Hub, LocalServer, Options, ServerConfig, Stdio, ToolInfo, Transport};
use antefix_session::dialect::Dialect;
use antefix_tools::{Listing, Output};
use tokio::time::Instant;

use super::{NUMBER, Tools, spec};
use crate::catalogue::{Deferral, GRACE, McpServers, Servers};

/// A server in this process with so many tools.
struct Lists(usize);

impl LocalServer for Lists {
    fn tools(&self) -> Vec<ToolInfo> {
        let tool = |at| ToolInfo::new(&format!("tool_{at:02}"), &format!("Does thing {at}."), NUMBER);
        (0..self.0).map(tool).collect()
    }

    fn call<'a>(&'a self, tool: &'a str, arguments: Bytes) -> antefix_mcp::BoxFuture<'a, CallOutput> {
        Box::pin(async move {
            let text = format!("{tool} {}", String::from_utf8_lossy(&arguments));
            if text.contains('9') {
                return CallOutput { is_error: true, ..CallOutput::text(text) };
            }
            CallOutput::text(text.repeat(if text.contains('8') { 3_000 } else { 1 }))
        })
    }
}

/// Eleven servers with 200 tools, and one that never answers.
fn twelve(is_required: bool) -> Vec<ServerConfig> {
    let count = |server| if server < 2 { 19 } else { 18 };
    let lists = |server: usize| {
        let transport = Transport::Local(Arc::new(Lists(count(server))));
        ServerConfig::new(format!("s{server:02}"), transport, "test")
    };
    let sleep = Stdio {
        command: "/bin/sleep".to_owned(),
        args: vec!["1000".to_owned()],
        env: std::collections::BTreeMap::new(),
        cwd: None,
    };
    let mut dead = ServerConfig::new("dead", Transport::Stdio(sleep), "test");
    dead.timeout = Duration::from_secs(7);
    dead.required = is_required;
    (0..11).map(lists).chain([dead]).collect()
}

/// The first request waits for a dead server that is required as long as that server may take, and for one that is not
/// no longer than for all others; a later request waits for neither.
#[tokio::test(start_paused = true)]
async fn a_dead_server_costs_its_timeout_once() {
    for (is_required, waited) in [(true, Duration::from_secs(7)), (false, GRACE)] {
        let begin = Instant::now();
        let servers = McpServers::new(Arc::new(Hub::start(twelve(is_required), Options::new("/"))));
        let missing = servers.arrive().await;
        assert_eq!(begin.elapsed().as_millis() / 100, waited.as_millis() / 100);
        assert_eq!(missing.len(), usize::from(is_required), "{missing:?}");
        if is_required {
            let again = Instant::now();
            servers.arrive().await;
            assert_eq!(again.elapsed().as_millis(), 0, "it is not waited for again");
        }
        let tools: usize = servers.offers().iter().map(|offer| offer.tools.len()).sum();
        assert_eq!(tools, 200);
    }
}

#[tokio::test]
async fn calls_go_to_the_server_and_results_are_bounded() {
    let lists = ServerConfig::new("s", Transport::Local(Arc::new(Lists(10))), "test");
    let servers = Arc::new(McpServers::new(Arc::new(Hub::start(vec![lists], Options::new("/")))));
    servers.arrive().await;
    let session = Tools::begin(&servers, &spec(Deferral::On, Dialect::Anthropic));
    assert_eq!(session.catalogue.listing("mcp__s__tool_03"), Some(Listing::Deferred));
    let call = async |tool: &str| session.call(tool, r#"{"n":"1"}"#).await;
    assert_eq!(call("mcp__s__tool_03").await, Output::text(r#"tool_03 {"n":1}"#));
    assert_eq!(call("mcp__s__tool_09").await, Output::error(r#"tool_09 {"n":1}"#));
    let long = call("mcp__s__tool_08").await.as_text();
    assert!(long.len() < 30_100 && long.contains("bytes are left out here"), "{} bytes", long.len());
}
