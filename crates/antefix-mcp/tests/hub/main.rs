//! The hub against real processes.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::missing_panics_doc, reason = "a test")]

mod front;
mod hostile;
mod over_http;
mod place;

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use antefix_mcp::{
    BoxFuture, Bytes, Call, CallOutput, Catalogue, Elicitation, Hub, LocalServer, McpError, Questions, Reply,
    ServerConfig, State, ToolInfo, Transport, Wait,
};
use place::{Place, Process};

const TOOL: &str = r#"{"name":"t","description":"d","inputSchema":{"type":"object"}}"#;

async fn call(hub: &Hub, server: &str, tool: &str, arguments: &'static str) -> Result<String, McpError> {
    let call = Call { server, tool, arguments: Bytes::from_static(arguments.as_bytes()) };
    hub.call(call, pending(), |_| ()).await.map(|output| output.to_text())
}

fn names(catalogue: &Catalogue) -> String {
    let names: Vec<_> = catalogue.tools().iter().map(|tool| tool.wire_name.clone()).collect();
    names.join(" ")
}

/// A server per row; how it stands once all have settled.
#[tokio::test]
async fn servers_come_up_or_say_why_not() {
    let place = Place::new();
    for (script, state, tools, notes) in [
        (r#"{"tools":[TOOL]}"#, "ready", "t", ""),
        (
            r#"{"tools":[TOOL],"noise":["listening on 3000","{\"level\":30}x"]}"#,
            "ready",
            "t",
            "it prints 2 lines that are no message to standard output; the first: `listening on 3000`",
        ),
        (
            r#"{"tools":[TOOL],"page":1,"lists":[[{"name":"b","inputSchema":{}},{"name":"a","inputSchema":{}},TOOL]]}"#,
            "ready",
            "a b t",
            "",
        ),
        (r#"{"tools":[TOOL,TOOL]}"#, "ready", "t", "it lists the tool `t` twice; the first holds"),
        (
            r#"{"tools":[{"name":"x","inputSchema":7},TOOL]}"#,
            "ready",
            "t",
            "the tool `x` is left out: its schema is no object",
        ),
        (r#"{"tools":[{"name":"größe 工","inputSchema":{}}]}"#, "ready", "größe 工", ""),
        (
            r#"{"exit_at":{"initialize":3},"log":["no database"]}"#,
            "failed: it ended before it had answered the handshake (exit status: 3); its last words: no database",
            "",
            "",
        ),
        (
            r#"{"exit_at":{"tools/list":3},"log":["no database"]}"#,
            "failed: the MCP server `s` is not connected: the connection was closed; its last words: no database; its last words: no database",
            "",
            "",
        ),
        (r#"{"silent":["initialize"]}"#, "failed: it was not ready within 400 ms", "", ""),
        (r#"{"silent":["tools/list"]}"#, "failed: it was not ready within 400 ms", "", ""),
        (
            r#"{"refuse":{"tools/list":{"code":-32603,"message":"broken"}}}"#,
            "failed: the MCP server `s` answered `tools/list` with error -32603: broken",
            "",
            "",
        ),
        (r#"{"refuse":{"initialize":{"code":-32601,"message":"x"}},"tools":[TOOL]}"#, "ready", "t", ""),
        (
            r#"{"noise":["x"],"flood":20000}"#,
            "failed: it was cut off: its standard output is full of lines that are no messages",
            "",
            "it prints 10000 lines and more that are no message to standard output; the first: `x`",
        ),
    ] {
        let script = script.replace("TOOL", TOOL);
        let mut config = place.server("s", &script);
        if state.contains("400 ms") {
            config.timeout = Duration::from_millis(400);
        }
        let hub = Hub::start(vec![config], place.options());
        hub.ready(Wait::All).await;
        let view = hub.catalogue().server("s").unwrap().clone();
        let why = view.state.why().map(|why| format!(": {why}")).unwrap_or_default();
        let found: Vec<_> = view.tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(
            (
                format!("{}{why}", view.state.word()).as_str(),
                found.join(" ").as_str(),
                view.notes.join("|").as_str()
            ),
            (state, tools, notes),
            "{script}"
        );
        hub.stop().await;
    }
}

#[tokio::test]
async fn arguments_schemas_and_results_pass_as_they_are_written() {
    let place = Place::new();
    let schema =
        r#"{ "type":"object","properties":{"z":{"maximum":1.0e2},"a":{"const":12345678901234567890123}}}"#;
    let script = format!(
        r#"{{"tools":[{{"name":"echo","inputSchema":{schema}}},{{"name":"raw","inputSchema":{{}}}}],
        "calls":{{"raw":{{"result":{{"content":[],"structuredContent":{{"z":1.0e2, "a":-0}}}}}}}}}}"#
    );
    let hub = Hub::start(vec![place.server("s", &script)], place.options());
    hub.ready(Wait::All).await;
    assert_eq!(hub.catalogue().tools()[0].input_schema, schema);
    let text = call(&hub, "s", "echo", r#" {"z": 1.0e2, "a":12345678901234567890123,"\u00e9\/":-0} "#)
        .await
        .unwrap();
    assert!(
        text.starts_with(
            r#"{"name":"echo","arguments":{"z": 1.0e2, "a":12345678901234567890123,"\u00e9\/":-0},"_meta":"#
        ),
        "{text}"
    );
    assert_eq!(call(&hub, "s", "raw", "{}").await.unwrap(), r#"{"z":1.0e2, "a":-0}"#);
}

#[tokio::test]
async fn order_never_depends_on_who_is_first() {
    let place = Place::new();
    let script = |delay: u64| {
        format!(
            r#"{{"start_delay_ms":{delay},"tools":[{{"name":"z","inputSchema":{{}}}},{{"name":"a","inputSchema":{{}}}}]}}"#
        )
    };
    for delays in [[0, 60, 120], [120, 60, 0]] {
        let configs =
            ["c", "a", "b"].into_iter().zip(delays).map(|(name, delay)| place.server(name, &script(delay)));
        let hub = Hub::start(configs.collect(), place.options());
        hub.ready(Wait::All).await;
        assert_eq!(names(&hub.catalogue()), "mcp__a__a mcp__a__z mcp__b__a mcp__b__z mcp__c__a mcp__c__z");
    }
}

#[tokio::test]
async fn only_required_servers_are_waited_for_and_a_dead_one_once() {
    let place = Place::new();
    let mut configs: Vec<ServerConfig> = Vec::new();
    for number in 0..12 {
        let tools: Vec<_> =
            (0..20).map(|tool| format!(r#"{{"name":"t{tool:02}","inputSchema":{{}}}}"#)).collect();
        let mut config =
            place.server(&format!("s{number:02}"), &format!(r#"{{"tools":[{}]}}"#, tools.join(",")));
        config.required = number == 3;
        configs.push(config);
    }
    configs[0] = place.server("s00", r#"{"silent":["initialize"]}"#);
    configs[0].timeout = Duration::from_secs(600);
    configs[1] = ServerConfig { required: true, ..place.server("s01", r#"{"silent":["initialize"]}"#) };
    configs[1].timeout = Duration::from_millis(500);
    let began = tokio::time::Instant::now();
    let hub = Hub::start(configs, place.options());
    hub.ready(Wait::Required).await;
    assert!(began.elapsed() >= Duration::from_millis(500), "the dead one that is required costs its timeout");
    assert!(began.elapsed() < Duration::from_secs(60), "the dead one that is not required is not waited for");
    let state = |name: &str| hub.catalogue().server(name).unwrap().state.clone();
    assert_eq!((state("s00"), state("s03")), (State::Starting, State::Ready));
    assert!(matches!(state("s01"), State::Failed { retries: true, .. }), "{:?}", state("s01"));
    let again = tokio::time::Instant::now();
    for _ in 0..100 {
        hub.ready(Wait::Required).await;
        let error = call(&hub, "s01", "x", "{}").await.unwrap_err();
        assert_eq!(error, McpError::NoTool { server: "s01".into(), tool: "x".into() });
    }
    assert!(again.elapsed() < Duration::from_millis(400), "and it costs it once");
    let mut changed = hub.changed();
    let full = |hub: &Hub| hub.catalogue().tools().len() == 200;
    while !full(&hub) {
        changed.changed().await.unwrap();
    }
    hub.stop().await;
}

#[tokio::test]
async fn calls_end_as_the_server_lets_them() {
    let place = Place::new();
    let mark = place.path("mark");
    let tools = ["text", "fail", "refuse", "silent", "wait", "slow", "huge", "die", "secret", "own"];
    let tools: Vec<_> =
        tools.iter().map(|name| format!(r#"{{"name":"{name}","inputSchema":{{}}}}"#)).collect();
    let script = format!(
        r#"{{"tools":[{}],"calls":{{
        "text":{{"text":"ok","noise":["noise"]}},"fail":{{"text":"no","is_error":true}},
        "refuse":{{"error":{{"code":-32602,"message":"bad key s3cret-value"}}}},"silent":{{"silent":true}},
        "wait":{{"progress":1,"until_cancelled":"{mark}"}},"slow":{{"progress":3,"text":"done"}},"huge":{{"bytes":9000000}},
        "die":{{"exit":7,"log":["out of memory"]}},"secret":{{"env":"PATH"}},"own":{{"env":"OWN"}}}}}}"#,
        tools.join(","),
        mark = mark.display(),
    );
    let config = Place::with_variable(place.server("s", &script), "OWN", "s3cret-value");
    // What else is asked of a busy machine may take longer than this patience.
    let hasty = ServerConfig { call_timeout: Duration::from_millis(500), ..place.server("hasty", &script) };
    let hub = Hub::start(vec![config, hasty], place.options());
    hub.ready(Wait::All).await;
    assert_eq!(call(&hub, "s", "text", "{}").await.unwrap(), "ok");
    let output = Call { server: "s", tool: "fail", arguments: Bytes::from_static(b"{}") };
    assert!(hub.call(output, pending(), |_| ()).await.unwrap().is_error);
    let error = call(&hub, "s", "refuse", "{}").await.unwrap_err().to_string();
    assert_eq!(error, "the MCP server `s` answered `tools/call` with error -32602: bad key [secret]");
    let timeout = call(&hub, "hasty", "silent", "{}").await.unwrap_err().to_string();
    assert_eq!(timeout, "the MCP server `hasty` has not answered `tools/call` within 500 ms");
    assert_eq!(
        call(&hub, "s", "text", "[]").await.unwrap_err().to_string(),
        "the arguments of `text` are not a JSON object"
    );
    assert_eq!(call(&hub, "x", "text", "{}").await.unwrap_err().to_string(), "there is no MCP server `x`");
    let cancelled = Call { server: "s", tool: "wait", arguments: Bytes::from_static(b"{}") };
    let has_begun = tokio::sync::Notify::new();
    let gave_up = hub.call(cancelled, has_begun.notified(), |_| has_begun.notify_one()).await;
    assert_eq!(gave_up, Err(McpError::Cancelled));
    let seen = Mutex::new(Vec::new());
    let slow = Call { server: "s", tool: "slow", arguments: Bytes::from_static(b"{}") };
    let done =
        hub.call(slow, pending(), |progress| seen.lock().unwrap().push(progress.to_text())).await.unwrap();
    assert_eq!(
        (done.to_text().as_str(), seen.into_inner().unwrap().join(", ").as_str()),
        ("done", "1 of 3: step 1, 2 of 3: step 2, 3 of 3: step 3")
    );
    assert!(std::fs::read_to_string(mark).unwrap().contains("cancelled by the user"), "the server was told");
    let huge = call(&hub, "s", "huge", "{}").await.unwrap();
    assert!(huge.len() < 8_400_000 && huge.ends_with("[cut: more than 8 MiB were returned]"));
    assert_eq!(
        call(&hub, "s", "secret", "{}").await.unwrap(),
        "not set",
        "only what the options say is passed on"
    );
    assert_eq!(call(&hub, "s", "own", "{}").await.unwrap(), "s3cret-value");
    let died = call(&hub, "s", "die", "{}").await.unwrap_err().to_string();
    assert_eq!(
        died,
        "the MCP server `s` is not connected: the connection was closed; its last words: out of memory"
    );
}

#[tokio::test]
async fn a_server_that_dies_comes_back_with_its_tools_and_is_missed_by_nobody_meanwhile() {
    let place = Place::new();
    let script = format!(
        r#"{{"starts_file":"{}","tools":[{TOOL}],"calls":{{"t":{{"exit":1}}}},"starts":[{{}},{{"calls":{{"t":{{"text":"back"}}}}}}]}}"#,
        place.path("starts").display()
    );
    let hub = Hub::start(vec![place.server("s", &script)], place.options());
    hub.ready(Wait::All).await;
    let mut changed = hub.changed();
    changed.mark_unchanged();
    call(&hub, "s", "t", "{}").await.unwrap_err();
    let state = || hub.catalogue().server("s").unwrap().state.clone();
    while state() == State::Ready {
        changed.changed().await.unwrap();
    }
    assert_eq!(state(), State::Gone { why: "it ended (exit status: 1)".into(), retries: true });
    assert_eq!(names(&hub.catalogue()), "mcp__s__t", "what cannot be reached is not removed");
    while state() != State::Ready {
        changed.changed().await.unwrap();
    }
    assert_eq!(call(&hub, "s", "t", "{}").await.unwrap(), "back");
}

#[tokio::test]
async fn a_list_is_read_again_when_it_has_outlived_what_it_said() {
    let place = Place::new();
    for (ttl, lists) in [("0", 2), ("600000", 1)] {
        let script = format!(r#"{{"lists":[[{TOOL}],[]],"ttl_ms":{ttl},"cache_scope":"private"}}"#);
        let hub = Hub::start(vec![place.server("s", &script)], place.options());
        hub.ready(Wait::All).await;
        let view = || hub.catalogue().server("s").unwrap().clone();
        assert_eq!(
            (hub.refresh(), view().listed, view().cache_scope.as_deref()),
            (0, 1, Some("private")),
            "not with each message"
        );
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(60)).await;
        tokio::time::resume();
        let mut changed = hub.changed();
        changed.mark_unchanged();
        assert_eq!(hub.refresh(), lists - 1, "{ttl}");
        if lists > 1 {
            changed.changed().await.unwrap();
        }
        assert_eq!((view().listed, names(&hub.catalogue()).is_empty()), (lists as u64, lists == 2), "{ttl}");
    }
}

/// Whoever never answers.
struct Silence(tokio::sync::Notify);

impl Questions for Silence {
    fn ask<'a>(&'a self, _: &'a str, _: Elicitation) -> BoxFuture<'a, Reply> {
        self.0.notify_one();
        Box::pin(pending())
    }
}

/// A server says that its tools have changed and then answers nothing, since it waits for the user. The end of the hub
/// waited for that list, 30 s of a page.
#[tokio::test]
async fn a_list_that_does_not_come_does_not_hold_up_the_end() {
    let place = Place::new();
    let script = format!(
        r#"{{"tools":[{TOOL}],"calls":{{"t":{{"change":[],"ask":{{"message":"who?","requestedSchema":{{}}}}}}}}}}"#
    );
    let silence = Arc::new(Silence(tokio::sync::Notify::new()));
    let mut options = place.options();
    options.questions = Some(Arc::clone(&silence) as Arc<dyn Questions>);
    let mut config = place.server("s", &script);
    config.timeout = Duration::from_secs(600);
    let hub = Arc::new(Hub::start(vec![config], options));
    hub.ready(Wait::All).await;
    let calling = Arc::clone(&hub);
    let waits = tokio::spawn(async move { call(&calling, "s", "t", "{}").await });
    silence.0.notified().await;
    // The keeper was told before; one round lets it ask.
    tokio::task::yield_now().await;
    tokio::time::timeout(Duration::from_secs(60), hub.stop()).await.expect("the end waits for no list");
    waits.await.unwrap().unwrap_err();
}

struct Local;

impl LocalServer for Local {
    fn tools(&self) -> Vec<ToolInfo> {
        vec![ToolInfo::new("b", "B", "{}"), ToolInfo::new("a", "A", r#"{"z":1.0,"a":2}"#)]
    }

    fn call<'a>(&'a self, tool: &'a str, arguments: Bytes) -> BoxFuture<'a, CallOutput> {
        Box::pin(async move {
            if tool == "b" {
                pending::<()>().await;
            }
            CallOutput::text(String::from_utf8_lossy(&arguments))
        })
    }
}

#[tokio::test]
async fn a_server_in_this_process() {
    let place = Place::new();
    let mut config = ServerConfig::new("own", Transport::Local(Arc::new(Local)), "test");
    config.call_timeout = Duration::from_millis(50);
    let hub = Hub::start(vec![config], place.options());
    hub.ready(Wait::All).await;
    assert_eq!(names(&hub.catalogue()), "mcp__own__a mcp__own__b");
    assert_eq!(call(&hub, "own", "a", r#"{"n":1.0e2}"#).await.unwrap(), r#"{"n":1.0e2}"#);
    let error = call(&hub, "own", "b", "{}").await.unwrap_err().to_string();
    assert_eq!(error, "the MCP server `own` has not answered `tools/call` within 50 ms");
    hub.stop().await;
}

#[tokio::test]
async fn changed_tools_are_listed_again() {
    let place = Place::new();
    let script = format!(
        r#"{{"tools":[{TOOL}],"calls":{{"t":{{"change":[{{"name":"new","inputSchema":{{}}}}],"text":"ok"}}}}}}"#
    );
    let hub = Hub::start(vec![place.server("s", &script)], place.options());
    hub.ready(Wait::All).await;
    let mut changed = hub.changed();
    call(&hub, "s", "t", "{}").await.unwrap();
    while names(&hub.catalogue()) != "mcp__s__new" {
        changed.changed().await.unwrap();
    }
}

struct Answers(Mutex<Vec<String>>);

impl Questions for Answers {
    fn ask<'a>(&'a self, server: &'a str, question: Elicitation) -> BoxFuture<'a, Reply> {
        Box::pin(async move {
            self.0.lock().unwrap().push(format!("{server}: {question:?}"));
            Reply::Accept(Some(Bytes::from_static(br#"{"b":1.0e1,"a":"x"}"#)))
        })
    }
}

#[tokio::test]
async fn a_server_asks_the_user() {
    let place = Place::new();
    let script = format!(
        r#"{{"tools":[{TOOL}],"calls":{{"t":{{"ask":{{"message":"who?","requestedSchema":{{"type":"object", "x":1.0}}}}}}}}}}"#
    );
    let answers = Arc::new(Answers(Mutex::default()));
    let mut options = place.options();
    options.questions = Some(Arc::clone(&answers) as Arc<dyn Questions>);
    let hub = Hub::start(vec![place.server("s", &script)], options);
    hub.ready(Wait::All).await;
    assert_eq!(
        call(&hub, "s", "t", "{}").await.unwrap(),
        r#"{"action":"accept","content":{"b":1.0e1,"a":"x"}}"#
    );
    assert_eq!(
        answers.0.lock().unwrap().concat(),
        r#"s: Form { message: "who?", schema: b"{\"type\":\"object\", \"x\":1.0}" }"#
    );
    let alone = Hub::start(vec![place.server("s", &script)], place.options());
    alone.ready(Wait::All).await;
    assert_eq!(call(&alone, "s", "t", "{}").await.unwrap(), r#"{"action":"cancel"}"#);
}

#[tokio::test]
async fn nothing_of_a_server_is_left_when_the_hub_ends() {
    let place = Place::new();
    let script = format!(r#"{{"tools":[{TOOL}]}}"#);
    let hub = Hub::start(vec![place.sleeper("s", &script)], place.options());
    hub.ready(Wait::All).await;
    let sleeper = Process::open(&place.sleeper_id());
    assert!(!sleeper.has_ended(Duration::ZERO));
    hub.stop().await;
    // The signal has been sent when the hub has ended; the system takes its time.
    assert!(sleeper.has_ended(Duration::from_secs(20)), "what the server had started is ended too");
}
