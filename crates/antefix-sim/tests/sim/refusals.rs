//! Requests the API refuses, next to the nearest ones it takes.

use antefix_models::Support;
use antefix_sim::Config;

use crate::harness::{Lab, body, test_config, test_rules};

/// `expect` is a part of the error's message, or empty if the request is taken.
fn check(name: &str, text: &str, expect: &str) {
    check_with(test_config(), "", name, text, expect);
}

fn check_with(config: Config, betas: &str, name: &str, text: &str, expect: &str) {
    let mut lab = Lab::new(config);
    betas.clone_into(&mut lab.betas);
    let sent = lab.post(0, text);
    let status = if expect.is_empty() { 200 } else { 400 };
    assert_eq!(sent.status, status, "{name}: {}", sent.text);
    let message = sent.text.replace("\\\"", "\"");
    assert!(message.contains(expect), "{name}: `{expect}` is not in {message}");
}

/// A request with these messages.
fn messages(messages: &str) -> String {
    with("", messages)
}

fn with(extra: &str, messages: &str) -> String {
    format!("{{\"model\":\"claude-test\",\"max_tokens\":1000,{extra}\"messages\":[{messages}]}}")
}

const USER: &str = "{\"role\":\"user\",\"content\":\"hi\"}";
const CALL: &str =
    "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"t\",\"input\":{}}]}";
const RESULT: &str =
    "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\"content\":\"x\"}]}";

#[test]
fn markers_are_limited_and_ordered() {
    let cases = [
        ("four", "T100! S100! S100! u100!", ""),
        (
            "five",
            "T100! S100! S100! u100! u100!",
            "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        ),
        ("1h before 5m", "T100H S100! u100!", ""),
        ("1h after 5m", "T100! S100H u100!", "a ttl='1h' cache_control block must not come after a ttl='5m'"),
        ("1h after 5m in messages", "u100! u100H", "messages.0.content.1"),
        (
            "on a deferred tool",
            "T100 D100! u100",
            "cache_control cannot be set on a tool with defer_loading=true",
        ),
        ("on a deferred tool, unmarked", "T100! D100 u100", ""),
        ("on thinking", "u100 k90! a5 u5", "messages.1.content.0.redacted_thinking.cache_control"),
        ("behind thinking", "u100 k90 a5! u5", ""),
        ("all tools deferred", "D100 D100 u100", "At least one tool must have defer_loading=false"),
        ("one is not", "D100 T100 u100", ""),
    ];
    for (name, blocks, expect) in cases {
        check(name, &body(blocks, ""), expect);
    }
}

#[test]
fn the_automatic_marker_takes_a_slot() {
    let five = "\"cache_control\":{\"type\":\"ephemeral\"}";
    let hour = "\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":\"1h\"}";
    let cases = [
        ("alone", "u100", five, ""),
        ("with three", "T100! S100! u100! u100", five, ""),
        ("with four", "T100! S100! S100! u100! u100", five, "A maximum of 4 blocks with cache_control"),
        ("four, the last already marked", "T100! S100! S100! u100!", five, ""),
        ("the last marked with another TTL", "u100H", five, "with another ttl"),
        ("the last marked with another TTL", "u100!", hour, "with another ttl"),
        ("an hour behind five minutes", "S100! u100", hour, "must not come after"),
        ("an hour behind an hour", "S100H u100", hour, ""),
    ];
    for (name, blocks, extra, expect) in cases {
        check(name, &body(blocks, extra), expect);
    }
    let mut rules = test_rules();
    rules.automatic_marker = Support::No;
    let config = Config { rules: vec![("claude-test".to_owned(), rules)], ..test_config() };
    check_with(config, "", "not on this platform", &body("u100", five), "cache_control");
}

#[test]
fn malformed_markers_are_refused() {
    let text = |marker: &str| {
        messages(&format!(
            "{{\"role\":\"user\",\"content\":[{{\"type\":\"text\",\"text\":\"x\",\"cache_control\":{marker}}}]}}"
        ))
    };
    check("null", &text("null"), "");
    check("another type", &text("{\"type\":\"persistent\"}"), "Input should be 'ephemeral'");
    check("another TTL", &text("{\"type\":\"ephemeral\",\"ttl\":\"2h\"}"), "Input should be '5m' or '1h'");
    check("unknown members", &text("{\"type\":\"ephemeral\",\"scope\":\"global\"}"), "");
    let empty = "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"\",\"cache_control\":{\"type\":\"ephemeral\"}}]}";
    check("empty text", &messages(empty), "cache_control cannot be set for empty text blocks");
}

#[test]
fn limits_on_the_answer() {
    let with = |extra: &str| body("u20", extra);
    let cases = [
        ("missing", with("").replace("\"max_tokens\":1000,", ""), "max_tokens: Field required"),
        ("negative", with("\"max_tokens\":-1"), "greater than or equal to 0"),
        ("a fraction", with("\"max_tokens\":1.5"), "valid integer"),
        ("the model's most", with("\"max_tokens\":10000"), ""),
        ("one more", with("\"max_tokens\":10001"), "10001 > 10000"),
        (
            "budget below",
            with("\"max_tokens\":2001,\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":2000}"),
            "",
        ),
        (
            "budget equal",
            with("\"max_tokens\":2000,\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":2000}"),
            "`max_tokens` must be greater than",
        ),
        (
            "budget 1,023",
            with("\"max_tokens\":2000,\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":1023}"),
            "greater than or equal to 1024",
        ),
        ("no budget", with("\"thinking\":{\"type\":\"enabled\"}"), "Field required"),
        ("a kind of thinking", with("\"thinking\":{\"type\":\"deep\"}"), "thinking.type"),
    ];
    for (name, text, expect) in cases {
        check(name, &text, expect);
    }
}

#[test]
fn warming_excludes_what_needs_an_answer() {
    let cases = [
        ("plain", "", ""),
        ("stream", ",\"stream\":true", "stream"),
        ("stream off", ",\"stream\":false", ""),
        (
            "thinking enabled",
            ",\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":2000}",
            "thinking.type=enabled",
        ),
        ("thinking adaptive", ",\"thinking\":{\"type\":\"adaptive\"}", ""),
        ("format", ",\"output_config\":{\"format\":{\"type\":\"json_schema\"}}", "output_config.format"),
        ("tool_choice any", ",\"tool_choice\":{\"type\":\"any\"}", "tool_choice"),
        ("tool_choice tool", ",\"tool_choice\":{\"type\":\"tool\",\"name\":\"t000\"}", "tool_choice"),
        ("tool_choice auto", ",\"tool_choice\":{\"type\":\"auto\"}", ""),
    ];
    for (name, extra, expect) in cases {
        check(name, &body("T100 u100!", &format!("\"max_tokens\":0{extra}")), expect);
    }
    let mut lab = Lab::new(test_config());
    let warm = lab.post(0, &body("S200! u9", "\"max_tokens\":0"));
    assert!(warm.text.contains("\"content\":[],\"stop_reason\":\"max_tokens\""), "{}", warm.text);
    assert!(warm.text.contains("\"output_tokens\":0"), "{}", warm.text);
    assert_eq!(lab.pay(1, "S200! u30~real", ""), "r200 w0 i30");
}

#[test]
fn tool_calls_and_results_belong_together() {
    let other = RESULT.replace("\"a\"", "\"b\"");
    let two = "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"a\",\"name\":\"t\",\"input\":{}},{\"type\":\"tool_use\",\"id\":\"b\",\"name\":\"t\",\"input\":{}}]}";
    let twice = RESULT.replace("]}", ",{\"type\":\"tool_result\",\"tool_use_id\":\"a\"}]}");
    let cases = [
        ("a pair", format!("{USER},{CALL},{RESULT}"), ""),
        ("no call", format!("{USER},{RESULT}"), "unexpected `tool_use_id` found in `tool_result` blocks: a"),
        ("another id", format!("{USER},{CALL},{other}"), "immediately after: a"),
        ("no result", format!("{USER},{CALL},{USER}"), "without `tool_result` blocks immediately after: a"),
        ("open at the end", format!("{USER},{CALL}"), "without `tool_result` blocks immediately after: a"),
        ("one of two results", format!("{USER},{two},{RESULT}"), "immediately after: b"),
        ("both results in two messages", format!("{USER},{two},{RESULT},{other}"), ""),
        (
            "result one turn late",
            format!("{USER},{CALL},{USER},{{\"role\":\"assistant\",\"content\":\"x\"}},{RESULT}"),
            "immediately after: a",
        ),
        ("two results for one call", format!("{USER},{CALL},{twice}"), "must have a single result"),
        (
            "an id used twice",
            format!("{USER},{CALL},{RESULT},{CALL},{RESULT}"),
            "`tool_use` ids must be unique",
        ),
    ];
    for (name, text, expect) in cases {
        check(name, &messages(&text), expect);
    }
}

#[test]
fn messages_have_roles_and_content() {
    let user = |content: &str| format!("{{\"role\":\"user\",\"content\":{content}}}");
    let assistant = |content: &str| format!("{{\"role\":\"assistant\",\"content\":{content}}}");
    let cases = [
        ("none", String::new(), "at least one message is required"),
        ("assistant first", assistant("\"x\""), "first message must use the \"user\" role"),
        ("another role", "{\"role\":\"tool\",\"content\":\"x\"}".to_owned(), "messages.0.role"),
        ("no content", "{\"role\":\"user\"}".to_owned(), "messages.0.content: Field required"),
        ("two users", format!("{USER},{USER}"), ""),
        ("two assistants", format!("{USER},{0},{0},{USER}", assistant("\"x\"")), ""),
        ("an empty string", user("\"\""), "must have non-empty content"),
        ("an empty list", user("[]"), "must have non-empty content"),
        (
            "an empty assistant in the middle",
            format!("{USER},{},{USER}", assistant("[]")),
            "must have non-empty content",
        ),
        ("an empty assistant at the end", format!("{USER},{}", assistant("[]")), ""),
        (
            "an empty text block",
            user("[{\"type\":\"text\",\"text\":\"\"}]"),
            "text content blocks must be non-empty",
        ),
        ("white space", user("\" \\n\""), "must contain non-whitespace text"),
        (
            "trailing white space at the end",
            format!("{USER},{}", assistant("\"x \"")),
            "cannot end with trailing whitespace",
        ),
        ("no trailing white space", format!("{USER},{}", assistant("\" x\"")), ""),
        ("trailing white space in the middle", format!("{USER},{},{USER}", assistant("\"x \"")), ""),
        (
            "a reference to no tool",
            format!(
                "{USER},{CALL},{}",
                RESULT.replace("\"x\"", "[{\"type\":\"tool_reference\",\"tool_name\":\"n\"}]")
            ),
            "Tool reference 'n' not found",
        ),
    ];
    for (name, text, expect) in cases {
        check(name, &messages(&text), expect);
    }
    check(
        "empty system text",
        &with("\"system\":[{\"type\":\"text\",\"text\":\"\"}],", USER),
        "system: text content blocks",
    );
    check("an empty system string", &with("\"system\":\"\",", USER), "");
    check("an image as system", &with("\"system\":[{\"type\":\"image\"}],", USER), "system.0.type");
    let tool = "{\"name\":\"t\",\"input_schema\":{\"type\":\"object\"}}";
    check("one tool", &with(&format!("\"tools\":[{tool}],"), USER), "");
    check("one tool twice", &with(&format!("\"tools\":[{tool},{tool}],"), USER), "Tool names must be unique");
    check("no schema", &with("\"tools\":[{\"name\":\"t\"}],", USER), "input_schema: Field required");
    check(
        "a forced tool",
        &with(&format!("\"tool_choice\":{{\"type\":\"tool\",\"name\":\"t\"}},\"tools\":[{tool}],"), USER),
        "",
    );
    check(
        "a forced tool not there",
        &with(&format!("\"tool_choice\":{{\"type\":\"tool\",\"name\":\"n\"}},\"tools\":[{tool}],"), USER),
        "Tool 'n' not found",
    );
}

#[test]
fn schemas_and_names_of_tools_are_checked() {
    let tool = |name: &str, schema: &str| {
        with(&format!(r#""tools":[{{"name":"{name}","input_schema":{schema}}}],"#), USER)
    };
    let top = "input_schema does not support oneOf, allOf, or anyOf at the top level";
    let key = "tools.0.custom.input_schema.properties: Property keys should match pattern";
    let (most, more) = ("a".repeat(64), "a".repeat(65));
    let cases = [
        ("plain", r#"{"type":"object"}"#, ""),
        ("an alternative inside", r#"{"type":"object","properties":{"a":{"oneOf":[]}}}"#, ""),
        ("oneOf", r#"{"type":"object","oneOf":[]}"#, top),
        ("allOf", r#"{"type":"object","allOf":[]}"#, top),
        ("anyOf", r#"{"type":"object","anyOf":[]}"#, top),
        ("no type", "{}", "tools.0.custom.input_schema.type: Field required"),
        ("another type", r#"{"type":"array"}"#, "input_schema.type: Input should be 'object'"),
        ("two types", r#"{"type":["object","null"]}"#, "input_schema.type: Input should be 'object'"),
        ("no object", "[]", "input_schema: Input should be a valid dictionary"),
        (
            "properties are a list",
            r#"{"type":"object","properties":[]}"#,
            "properties: Input should be a valid",
        ),
        ("a property with all letters", r#"{"type":"object","properties":{"aZ9_.-":{}}}"#, ""),
        ("a space", r#"{"type":"object","properties":{"a b":{}}}"#, key),
        ("an accent", r#"{"type":"object","properties":{"\u00e9":{}}}"#, key),
        ("no name", r#"{"type":"object","properties":{"":{}}}"#, key),
        ("the longest", &format!(r#"{{"type":"object","properties":{{"{most}":{{}}}}}}"#), ""),
        ("one more", &format!(r#"{{"type":"object","properties":{{"{more}":{{}}}}}}"#), key),
    ];
    for (name, schema, expect) in cases {
        check(name, &tool("t", schema), expect);
    }
    let pattern = "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'";
    for (name, expect) in [
        ("aZ9_-", ""),
        ("a.b", pattern),
        ("a b", pattern),
        (&"n".repeat(128), ""),
        (&"n".repeat(129), pattern),
    ] {
        check(name, &tool(name, r#"{"type":"object"}"#), expect);
    }
    let sent = Lab::new(test_config()).post(0, &tool("t", "{}"));
    assert!(sent.text.contains(r#""type":"invalid_request_error""#), "{}", sent.text);
    check("the provider's own", &with(r#""tools":[{"name":"bash","type":"bash_20250124"}],"#, USER), "");
}

#[test]
fn system_messages_have_their_places() {
    let server = "{\"role\":\"assistant\",\"content\":[{\"type\":\"server_tool_use\",\"id\":\"s\",\"name\":\"web_search\",\"input\":{}},{\"type\":\"web_search_tool_result\",\"tool_use_id\":\"s\",\"content\":[]}]}";
    let system = "{\"role\":\"system\",\"content\":\"x\"}";
    let assistant = "{\"role\":\"assistant\",\"content\":\"x\"}";
    let cases = [
        ("last", format!("{USER},{system}"), ""),
        ("before an assistant turn", format!("{USER},{system},{assistant},{USER}"), ""),
        ("behind tool results", format!("{USER},{CALL},{RESULT},{system}"), ""),
        ("between call and result", format!("{USER},{CALL},{system},{RESULT}"), "must follow a user message"),
        ("first", format!("{system},{USER}"), "cannot be the first message"),
        ("behind an assistant turn", format!("{USER},{assistant},{system}"), "must follow a user message"),
        ("behind a server tool's result", format!("{USER},{server},{system}"), ""),
        (
            "before a user turn",
            format!("{USER},{system},{USER}"),
            "must be last or be followed by an assistant",
        ),
        ("two in a row", format!("{USER},{system},{system},{assistant},{USER}"), ""),
        (
            "with an image",
            format!("{USER},{{\"role\":\"system\",\"content\":[{{\"type\":\"image\"}}]}}"),
            "Input should be 'text'",
        ),
        ("empty", format!("{USER},{{\"role\":\"system\",\"content\":[]}}"), "must have non-empty content"),
    ];
    for (name, text, expect) in cases {
        check(name, &messages(&text), expect);
    }
    for support in [Support::No, Support::Unverified] {
        let mut rules = test_rules();
        rules.in_band_system = support;
        let config = Config { rules: vec![("claude-test".to_owned(), rules)], ..test_config() };
        check_with(
            config,
            "",
            "a model without",
            &messages(&format!("{USER},{system}")),
            "not supported on this model",
        );
    }
}

#[test]
fn previews_need_their_beta() {
    let clear = "{\"role\":\"system\",\"content\":\"x\",\"clear_at\":\"next_user_message\"}";
    let marked = "{\"role\":\"system\",\"content\":[{\"type\":\"text\",\"text\":\"x\",\"cache_control\":{\"type\":\"ephemeral\"}}],\"clear_at\":\"next_user_message\"}";
    let effort = "{\"role\":\"system\",\"content\":[],\"output_config\":{\"effort\":\"low\"}}";
    let clear_beta = "mid-conversation-system-clear-at-2026-08-21";
    let cases = [
        ("clear_at", "", messages(&format!("{USER},{clear}")), "clear_at"),
        ("clear_at", clear_beta, messages(&format!("{USER},{clear}")), ""),
        ("clear_at with a marker", clear_beta, messages(&format!("{USER},{marked}")), "with clear_at"),
        ("effort", "", messages(&format!("{USER},{effort}")), "output_config"),
        ("effort", "mid-conversation-output-config-2026-07-01", messages(&format!("{USER},{effort}")), ""),
        ("effort", "per-turn-control-2026-07-01", messages(&format!("{USER},{effort}")), ""),
        (
            "context management",
            "",
            with("\"context_management\":{\"edits\":[]},", USER),
            "context_management",
        ),
        (
            "context management",
            "context-management-2025-06-27",
            with("\"context_management\":{\"edits\":[]},", USER),
            "",
        ),
        ("thread", "", with("\"thread\":{\"type\":\"create\"},", USER), "thread: Extra inputs"),
        ("thread", "message-threads-2026-08-12", with("\"thread\":{\"type\":\"create\"},", USER), ""),
    ];
    for (name, betas, text, expect) in cases {
        check_with(test_config(), betas, name, &text, expect);
    }
}

/// Tools that are offered and withdrawn in system messages.
#[test]
fn tool_changes_are_held_to_their_rules() {
    const TOOLS: &str = r#""tools":[{"name":"open","description":"d","input_schema":{"type":"object"}},{"name":"late","description":"d","input_schema":{"type":"object"},"defer_loading":true}],"#;
    let change = |kind: &str, name: &str| {
        format!(r#"{{"type":"tool_{kind}","tool":{{"type":"tool_reference","name":"{name}"}}}}"#)
    };
    let said =
        |role: &str, blocks: &[String]| format!(r#"{{"role":"{role}","content":[{}]}}"#, blocks.join(","));
    let system = |blocks: &[String]| said("system", blocks);
    let (add, take) = (|name: &str| change("addition", name), |name: &str| change("removal", name));
    let answered = |first: String, then: String| {
        format!(r#"{USER},{first},{{"role":"assistant","content":"yes"}},{USER},{then}"#)
    };
    let behind = |message: String| format!("{USER},{message}");
    let found = RESULT.replace(r#""x""#, r#"[{"type":"tool_reference","tool_name":"late"}]"#);
    let paused = r#"{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{}},{"type":"web_search_tool_result","tool_use_id":"s","content":[]}]}"#;
    let bare = |tool: &str| system(&[format!(r#"{{"type":"tool_addition"{tool}}}"#)]);
    let cleared = system(&[take("open")]).replace("}]}", r#"}],"clear_at":"next_user_message"}"#);
    let (beta, inline) = ("mid-conversation-tool-changes-2026-07-01", "inline-tools-2026-09-15");
    let defined = bare(r#","tool":{"type":"tool_definition","definition":{"name":"new","input_schema":{}}}"#);
    let both = format!("{beta},mid-conversation-system-clear-at-2026-08-21");
    let cases: [(&str, &str, String, &str); 21] = [
        ("added", beta, behind(system(&[add("late")])), ""),
        ("withdrawn", beta, behind(system(&[take("open")])), ""),
        ("without the beta", "", behind(system(&[take("open")])), "Input should be 'text'"),
        ("under the beta of definitions", inline, behind(system(&[take("open")])), ""),
        ("not in the list", beta, behind(system(&[add("nobody")])), "Tool reference 'nobody' not found"),
        (
            "not in the list, withdrawn",
            beta,
            behind(system(&[take("nobody")])),
            "Tool reference 'nobody' not found",
        ),
        ("never offered", beta, behind(system(&[take("late")])), "tool 'late' is not available here"),
        (
            "withdrawn twice",
            beta,
            answered(system(&[take("open")]), system(&[take("open")])),
            "tool 'open' is not available here",
        ),
        ("offered again", beta, answered(system(&[take("open")]), system(&[add("open")])), ""),
        ("found and withdrawn", beta, format!("{USER},{CALL},{found},{}", system(&[take("late")])), ""),
        ("added and withdrawn", beta, answered(system(&[add("late")]), system(&[take("late")])), ""),
        ("by the user", beta, said("user", &[take("open")]), "role 'user' does not support tool_removal"),
        (
            "by the model",
            beta,
            format!("{USER},{},{USER}", said("assistant", &[add("late")])),
            "role 'assistant' does not support",
        ),
        (
            "in front of all",
            beta,
            format!("{},{USER}", system(&[take("open")])),
            "cannot be the first message",
        ),
        (
            "in front of the user",
            beta,
            format!("{USER},{},{USER}", system(&[take("open")])),
            "must be last or be followed by an assistant",
        ),
        (
            "behind a pause",
            beta,
            format!("{USER},{paused},{}", system(&[take("open")])),
            "cannot follow a paused assistant",
        ),
        ("for a turn", &both, behind(cleared), "supports text blocks only"),
        ("without a tool", beta, behind(bare("")), "tool: Field required"),
        (
            "without a name",
            beta,
            behind(bare(r#","tool":{"type":"tool_reference","tool_name":"late"}"#)),
            "tool_reference.name: Field required",
        ),
        ("defined", beta, behind(defined.clone()), "Input should be 'tool_reference'"),
        ("defined, with its beta", inline, behind(defined), ""),
    ];
    for (name, betas, text, expect) in cases {
        check_with(test_config(), betas, name, &with(TOOLS, &text), expect);
    }
    let mut rules = test_rules();
    rules.in_band_tools = Support::No;
    let config = Config { rules: vec![("claude-test".to_owned(), rules)], ..test_config() };
    let text = with(TOOLS, &behind(system(&[take("open")])));
    check_with(config, beta, "a model without", &text, "tool changes are not supported on this model");
}

#[test]
fn a_prompt_must_fit_the_window() {
    check("fits", &body("u200000", ""), "");
    check("one more", &body("u200001", ""), "prompt is too long: 200001 tokens > 200000 maximum");
}

#[test]
fn thinking_first_is_a_knob() {
    let thinking = "\"max_tokens\":5000,\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":2000}";
    let strict = Config { thinking_first: true, ..test_config() };
    let cases = [
        ("off", test_config(), "T100 u9 c100 r60", thinking, ""),
        (
            "on",
            strict.clone(),
            "T100 u9 c100 r60",
            thinking,
            "Expected `thinking` or `redacted_thinking`, but found `tool_use`",
        ),
        ("on, with thinking", strict.clone(), "T100 u9 k90 c100 r60", thinking, ""),
        ("on, thinking not enabled", strict, "T100 u9 c100 r60", "", ""),
    ];
    for (name, config, blocks, extra, expect) in cases {
        check_with(config, "", name, &body(blocks, extra), expect);
    }
}

#[test]
fn nothing_of_a_refused_request_is_cached() {
    let mut lab = Lab::new(test_config());
    assert!(lab.pay(0, "S200! u9", "\"max_tokens\":10001").starts_with("400"));
    assert_eq!(lab.pay(1, "S200! u9", ""), "r0 w200 i9");
    let billed = &lab.simulator.log()[0];
    assert_eq!((billed.status, billed.total(), billed.model.as_str()), (400, 0, "claude-test"));
}
