//! The view of a request: every shape that clients send.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail")]

use antefix_wire::anthropic::{
    Block, BlockKind, CacheControl, Diagnosis, Message, MissReason, Request, Role, Tool, Ttl, ViewError,
};
use antefix_wire::json::{Body, Node};

#[test]
fn a_whole_request() {
    let body = Body::parse(include_str!("bodies/agent.json")).unwrap();
    let request = Request::read(body.root()).unwrap();
    assert_eq!(request.model.as_deref(), Some("claude-opus-5-5"));
    assert_eq!(request.cache_control.map(|marker| marker.ttl), Some(Ttl::FiveMinutes));
    assert_eq!(outline(&request), include_str!("bodies/agent.outline"));
    assert_eq!(request.param("max_tokens").and_then(Node::u64), Some(32000));
    assert_eq!(
        request.param("context_management").unwrap().raw(),
        r#"{"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}"#
    );
    assert!(request.param("no_such_parameter").is_none());
}

#[test]
fn empty_and_absent_parts() {
    for text in [
        "{}",
        r#"{"tools":[],"system":[],"messages":[]}"#,
        r#"{"tools":null,"system":null,"messages":null,"model":null,"cache_control":null}"#,
    ] {
        let body = Body::parse(text).unwrap();
        let request = Request::read(body.root()).unwrap();
        assert!(
            request.tools.is_empty() && request.system.is_empty() && request.messages.is_empty(),
            "{text}"
        );
        assert!(request.model.is_none() && request.cache_control.is_none(), "{text}");
    }
    for text in [r#"{"role":"user","content":[]}"#, r#"{"role":"user"}"#, r#"{"role":"user","content":null}"#]
    {
        let body = Body::parse(text).unwrap();
        assert!(Message::read(body.root()).unwrap().content.is_empty(), "{text}");
    }
}

#[test]
fn strings_stand_for_one_text_block() {
    let body =
        Body::parse(r#"{"system":"Be \"brief\".","messages":[{"role":"user","content":""}]}"#).unwrap();
    let request = Request::read(body.root()).unwrap();
    let [system] = &request.system[..] else { panic!("one block") };
    assert_eq!(
        (system.kind, system.from_string, system.node.raw()),
        (BlockKind::Text, true, r#""Be \"brief\".""#)
    );
    assert_eq!((system.text().as_deref(), system.type_name().as_ref()), (Some("Be \"brief\"."), "text"));
    assert_eq!(request.messages[0].content[0].text().as_deref(), Some(""));
}

#[test]
fn roles() {
    let cases = [
        (r#"{"role":"user"}"#, Role::User),
        (r#"{"role":"assistant"}"#, Role::Assistant),
        (r#"{"role":"system"}"#, Role::System),
        (r#"{"role":"\u0075ser"}"#, Role::User),
        (r#"{"role":"developer"}"#, Role::Other),
        (r#"{"role":1}"#, Role::Other),
        ("{}", Role::Other),
    ];
    for (text, expect) in cases {
        assert_eq!(Message::read(Body::parse(text).unwrap().root()).unwrap().role, expect, "{text}");
    }
}

#[test]
fn block_kinds() {
    use BlockKind as K;
    let cases = [
        ("text", K::Text, true),
        ("thinking", K::Thinking, false),
        ("redacted_thinking", K::RedactedThinking, false),
        ("tool_use", K::ToolUse, true),
        ("tool_result", K::ToolResult, true),
        ("tool_reference", K::ToolReference, true),
        ("server_tool_use", K::ServerToolUse, true),
        ("web_search_tool_result", K::ServerToolResult, true),
        ("web_fetch_tool_result", K::ServerToolResult, true),
        ("code_execution_tool_result", K::ServerToolResult, true),
        ("bash_code_execution_tool_result", K::ServerToolResult, true),
        ("text_editor_code_execution_tool_result", K::ServerToolResult, true),
        ("tool_search_tool_result", K::ServerToolResult, true),
        ("advisor_tool_result", K::AdvisorResult, true),
        ("mcp_tool_use", K::McpToolUse, true),
        ("mcp_tool_result", K::McpToolResult, true),
        ("mcp_tool_listing", K::McpToolListing, false),
        ("image", K::Image, true),
        ("document", K::Document, true),
        ("search_result", K::SearchResult, true),
        ("container_upload", K::ContainerUpload, true),
        ("compaction", K::Compaction, true),
        ("fallback", K::Fallback, false),
        ("tool_addition", K::ToolAddition, true),
        ("tool_removal", K::ToolRemoval, true),
        ("hologram", K::Other, false),
        ("", K::Other, false),
    ];
    for (name, kind, takes_marker) in cases {
        let body = Body::parse(format!(r#"{{"type":"{name}","field":[1.0]}}"#)).unwrap();
        let block = Block::read(body.root()).unwrap();
        assert_eq!((block.kind, block.kind.takes_marker()), (kind, takes_marker), "{name}");
        assert_eq!((block.type_name().as_ref(), block.param("field").unwrap().raw()), (name, "[1.0]"));
    }
    let untyped = Body::parse("{}").unwrap();
    assert_eq!(Block::read(untyped.root()).unwrap().kind, K::Other);
}

#[test]
fn markers() {
    let cases = [
        (r#"{"type":"ephemeral"}"#, Some(Ttl::FiveMinutes)),
        (r#"{"type":"ephemeral","ttl":"5m"}"#, Some(Ttl::FiveMinutes)),
        (r#"{"ttl":"1h","type":"ephemeral","scope":"global"}"#, Some(Ttl::OneHour)),
        (r#"{"type":"ephemeral","ttl":"30m"}"#, Some(Ttl::FiveMinutes)),
        (r#"{"type":"ephemeral","ttl":null}"#, Some(Ttl::FiveMinutes)),
        ("{}", Some(Ttl::FiveMinutes)),
        ("null", None),
        (r#""ephemeral""#, None),
    ];
    for (marker, expect) in cases {
        let body = Body::parse(format!(r#"{{"cache_control":{marker}}}"#)).unwrap();
        let read = CacheControl::of(body.root());
        assert_eq!(read.map(|read| read.ttl), expect, "{marker}");
        assert!(read.is_none_or(|read| read.node.raw() == marker), "{marker}");
    }
}

#[test]
fn blocks_inside_blocks() {
    let cases = [
        (r#"{"type":"tool_result","tool_use_id":"t","content":"done"}"#, Ok(vec![BlockKind::Text])),
        (
            r#"{"type":"tool_result","content":[{"type":"tool_reference","tool_name":"x"},{"type":"image"}]}"#,
            Ok(vec![BlockKind::ToolReference, BlockKind::Image]),
        ),
        (r#"{"type":"tool_result"}"#, Ok(vec![])),
        (r#"{"type":"tool_result","content":null}"#, Ok(vec![])),
        (r#"{"type":"advisor_tool_result","content":{"type":"advisor_result"}}"#, Ok(vec![BlockKind::Other])),
        (
            r#"{"content":3}"#,
            Err("expected a string or an array of blocks for the content of a block at byte 11"),
        ),
    ];
    for (text, expect) in cases {
        let body = Body::parse(text).unwrap();
        let content = Block::read(body.root()).unwrap().content();
        let kinds = content.map(|blocks| blocks.iter().map(|block| block.kind).collect());
        assert_eq!(kinds.map_err(|error| error.to_string()), expect.map_err(str::to_owned), "{text}");
    }
}

#[test]
fn calls_and_their_results_share_an_id() {
    for (text, expect) in [
        (r#"{"type":"tool_use","id":"toolu_1"}"#, Some("toolu_1")),
        (r#"{"type":"tool_result","tool_use_id":"toolu_1"}"#, Some("toolu_1")),
        (r#"{"type":"text"}"#, None),
    ] {
        assert_eq!(Block::read(Body::parse(text).unwrap().root()).unwrap().call_id().as_deref(), expect);
    }
}

#[test]
fn diagnoses() {
    let missed = |reason, missed_input| Some(Diagnosis::Missed { reason, missed_input });
    let cases = [
        ("null", Some(Diagnosis::NoDivergence)),
        (r#"{"cache_miss_reason":null}"#, Some(Diagnosis::Pending)),
        (
            r#"{"cache_miss_reason":{"type":"model_changed","cache_missed_input_tokens":1}}"#,
            missed(MissReason::Model, Some(1)),
        ),
        (
            r#"{"cache_miss_reason":{"type":"system_changed","cache_missed_input_tokens":2}}"#,
            missed(MissReason::System, Some(2)),
        ),
        (
            r#"{"cache_miss_reason":{"type":"tools_changed","cache_missed_input_tokens":3}}"#,
            missed(MissReason::Tools, Some(3)),
        ),
        (
            r#"{"cache_miss_reason":{"type":"messages_changed","cache_missed_input_tokens":4}}"#,
            missed(MissReason::Messages, Some(4)),
        ),
        (
            r#"{"cache_miss_reason":{"type":"previous_message_not_found"}}"#,
            missed(MissReason::PreviousNotFound, None),
        ),
        (r#"{"cache_miss_reason":{"type":"unavailable"}}"#, missed(MissReason::Unavailable, None)),
        (r#"{"cache_miss_reason":{"type":"moon_phase"}}"#, missed(MissReason::Other, None)),
        (r#"{"cache_miss_reason":{}}"#, None),
        ("{}", None),
        ("1", None),
    ];
    for (text, expect) in cases {
        assert_eq!(Diagnosis::read(Body::parse(text).unwrap().root()), expect, "{text}");
    }
}

#[test]
fn shapes_the_api_does_not_take() {
    let error = |part, expected, offset| ViewError { part, expected, offset };
    let cases = [
        ("[]", error("the request", "an object", 0)),
        (r#"{"tools":{}}"#, error("`tools`", "an array", 9)),
        (r#"{"tools":[1]}"#, error("a tool", "an object", 10)),
        (r#"{"system":1}"#, error("`system`", "a string or an array of blocks", 10)),
        (r#"{"system":[[]]}"#, error("a block", "an object", 11)),
        (r#"{"messages":"a"}"#, error("`messages`", "an array", 12)),
        (r#"{"messages":[null]}"#, error("a message", "an object", 13)),
        (
            r#"{"messages":[{"content":{}}]}"#,
            error("the content of a message", "a string or an array of blocks", 24),
        ),
        (r#"{"messages":[{"content":["a"]}]}"#, error("a block", "an object", 25)),
    ];
    for (text, expect) in cases {
        let body = Body::parse(text).unwrap();
        assert_eq!(Request::read(body.root()).map(|_| ()), Err(expect), "{text}");
    }
}

fn outline(request: &Request<'_>) -> String {
    let tools = request.tools.iter().map(tool_line);
    let system = request.system.iter().map(|block| format!("system {}", block_line(block)));
    let messages = request.messages.iter().flat_map(|message| {
        let extra = message.param("output_config").map_or(String::new(), |node| format!(" {}", node.raw()));
        std::iter::once(format!("{:?}{extra}", message.role))
            .chain(message.content.iter().map(|block| format!("  {}", block_line(block))))
    });
    tools.chain(system).chain(messages).map(|line| line + "\n").collect()
}

fn tool_line(tool: &Tool<'_>) -> String {
    let deferred = if tool.defer_loading { " deferred" } else { "" };
    format!("tool {} {:?}{deferred}{}", tool.type_name(), tool.name, mark(tool.cache_control))
}

fn block_line(block: &Block<'_>) -> String {
    let form = if block.from_string { " from string" } else { "" };
    let inner: Vec<_> = block.content().unwrap().iter().map(|block| format!("{:?}", block.kind)).collect();
    let inner = if inner.is_empty() { String::new() } else { format!(" [{}]", inner.join(", ")) };
    format!("{:?}{form}{}{inner}", block.kind, mark(block.cache_control))
}

fn mark(marker: Option<CacheControl<'_>>) -> String {
    marker.map_or(String::new(), |marker| format!(" marked {:?}", marker.ttl))
}
