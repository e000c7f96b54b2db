//! Tools of servers that are processes: what the model is offered, what is called, and what stays as it was when the
//! servers do not.

use antefix_http::server::ServerOptions;
use antefix_wire::json::{Body, Node};

use crate::case::Case;
use crate::servers::{entry, with, with_entries, write};

const SCRIPT: &str = r#"rule
 on said Count
 on rounds 0
 tool mcp__c__count {"n":"1"}
rule
 on said Search
 on rounds 0
 tool tool_search {"query":"count things"}
rule
 on said Search
 on rounds 1
 tool tool_call {"name":"mcp__c__count","arguments":{"n":"many"}}
rule
 on said Search
 on rounds 2
 tool tool_call {"name":"mcp__c__count","arguments":"{\"n\":2}"}
rule
 on said Note
 on rounds 0
 tool todo {"add":["x"]}
rule
 on any
 text It ends.
"#;

const COUNT: &str = r#"{"tools":[{"name":"count","description":"Counts things.","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}]}"#;

fn case(is_chat: bool) -> Case {
    let case = if is_chat { Case::chat(ServerOptions::default(), SCRIPT) } else { Case::new(SCRIPT) };
    write(&case, "c", COUNT);
    case
}

fn tools(case: &Case) -> Vec<String> {
    let raw = |bytes: &Vec<u8>| {
        let body = Body::parse(bytes.clone()).expect("a body is JSON");
        body.root().get("tools").map(Node::raw).unwrap_or_default().to_owned()
    };
    case.sent().iter().map(|sent| raw(&sent.bytes)).collect()
}

/// The body that was sent last.
fn last(case: &Case) -> String {
    String::from_utf8_lossy(&case.sent().last().expect("a body").bytes).into_owned()
}

/// A server that changed, went or came had the whole prompt written anew.
#[test]
fn the_list_stays_as_it_was_when_servers_change_go_and_come() {
    for is_chat in [false, true] {
        let case = case(is_chat);
        with(&case, case.run("Count"), &["c"]).ends().code(0).stderr("✓ mcp__c__count");
        assert!(last(&case).contains(r#"\"arguments\":{\"n\":1}"#), "{}", last(&case));
        assert!(tools(&case)[0].contains("mcp__c__count"), "{}", tools(&case)[0]);
        write(&case, "c", &COUNT.replace("Counts things", "Counts and adds"));
        with(&case, case.go_on("Count"), &["c"]).ends().code(0).stderr("(tools c)").stderr("✓ mcp__c__count");
        assert!(last(&case).contains("Its description is now: Counts and adds."), "{}", last(&case));
        case.go_on("Count").ends().code(0).stderr("✗ mcp__c__count the MCP server `c` is not there any more");
        assert!(last(&case).contains("The MCP server `c` is gone"), "{}", last(&case));
        let told = case.go_on("And so?").ends().code(0);
        assert!(!told.stderr.contains("the model is told (tools"), "told twice\n{told}");
        write(&case, "new", &COUNT.replace("count", "tally"));
        with(&case, case.go_on("Count"), &["c", "new"]).ends().code(0).stderr("✓ mcp__c__count");
        let body = last(&case);
        assert!(
            body.contains("`new` has these tools, which `tool_search` finds: `mcp__new__tally`"),
            "{body}"
        );
        assert!(body.contains("The MCP server `c` has these tools: `mcp__c__count`."), "{body}");
        assert!(case.relations().iter().all(|relation| relation == "extends"), "{:?}", case.relations());
        let all = tools(&case);
        assert!(all.iter().all(|tools| *tools == all[0]), "the list is another");
        case.is_intact();
    }
}

#[test]
fn tools_that_are_deferred_are_found_and_called() {
    for is_chat in [false, true] {
        let case = case(is_chat);
        let run = with(&case, case.run("Search"), &["c"]).args(["--defer-tools", "on"]);
        let ended = run.ends().code(0).stderr("✓ tool_search").stderr("✓ mcp__c__count").lacks("tool_call");
        ended.stderr("✗ mcp__c__count the call was not made, since its input does not fit the tool's schema");
        let first = String::from_utf8_lossy(&case.sent()[0].bytes).into_owned();
        assert!(first.contains("which `tool_search` finds: `mcp__c__count`"), "{first}");
        let (listed, body) = (tools(&case), last(&case));
        if is_chat {
            assert!(!listed[0].contains("mcp__c__count"));
            assert!(body.contains(r#"Input schema: {\"type\":\"object\""#), "{body}");
        } else {
            assert!(listed[0].contains(r#""required":["n"]},"defer_loading":true}"#), "{}", listed[0]);
            assert!(body.contains(r#"[{"type":"tool_reference","tool_name":"mcp__c__count"}]"#), "{body}");
        }
        assert!(body.contains(r#"\"arguments\":{\"n\":2}"#), "{body}");
        // A later process knows them as well, and has nothing new to tell.
        let later = with(&case, case.go_on("Search"), &["c"]).ends().code(0).stderr("✓ mcp__c__count");
        assert!(!later.stderr.contains("the model is told (tools"), "told twice\n{later}");
        assert!(case.relations().iter().all(|relation| relation == "extends"), "{:?}", case.relations());
        case.is_intact();
    }
}

/// What becomes of a tool of the list is said by the request where the model takes that: once, whatever the reason, and
/// under a beta that is named from the first request on.
#[test]
fn a_tool_is_withdrawn_and_offered_where_the_model_takes_it() {
    let case = case(false);
    let says = |expect: &str| assert_eq!(changes(&last(&case)), expect, "{}", last(&case));
    with(&case, case.run("Hello"), &["c"]).args(["--model", MODEL]).ends().code(0);
    says("");
    case.go_on("Hello")
        .ends()
        .code(0)
        .stderr("(tools c): The MCP server `c` is gone, and its tools with it.");
    says("-");
    case.go_on("Hello").ends().code(0).lacks("the model is told (tools");
    says("-");
    with(&case, case.go_on("Hello"), &["c"]).ends().code(0).stderr("It may call `mcp__c__count`.");
    says("-+");
    let denied = with(&case, case.go_on("Hello"), &["c"]).args(["--deny", "mcp__c__count"]);
    denied.ends().code(0).stderr("It may not call `mcp__c__count` any more.");
    says("-+-");
    with(&case, case.go_on("Hello"), &["c"]).ends().code(0);
    says("-+-+");
    write(&case, "c", &COUNT.replace(r#""required":["n"]"#, r#""required":["n"],"title":"Counting""#));
    let found = with(&case, case.go_on("Search"), &["c"]).ends().code(0);
    found.stderr("It is called through `tool_call` now.").stderr("✓ mcp__c__count");
    says("-+-+-");
    assert!(last(&case).contains(r#"\"title\":\"Counting\""#), "{}", last(&case));
    write(&case, "c", COUNT);
    with(&case, case.go_on("Count"), &["c"]).ends().code(0).stderr("✓ mcp__c__count");
    says("-+-+-+");
    assert!(case.relations().iter().all(|relation| relation == "extends"), "{:?}", case.relations());
    let all = tools(&case);
    assert!(all.iter().all(|tools| *tools == all[0]), "the list is another");
    for n in 1..=all.len() {
        let meta = std::fs::read_to_string(case.capture().join(format!("{n:06}.meta.json"))).expect("a file");
        assert!(meta.contains(BETA), "request {n} is made under other betas: {meta}");
    }
    case.is_intact();
}

/// A tool that was left out is offered to a session that goes on; one that was never in the list cannot be.
#[test]
fn a_deferred_tool_is_loaded_in_the_midst_of_a_session() {
    let case = case(false);
    with(&case, case.run("Hello"), &["c"]).args(["--model", MODEL, "--defer-tools", "on"]).ends().code(0);
    let load = || with(&case, case.go_on("Hello"), &["c"]).args(["--load-tool", "mcp__c__count"]);
    load().ends().code(0).stderr("It may call `mcp__c__count`.").lacks("only holds for a new session");
    assert_eq!(changes(&last(&case)), "+");
    load().ends().code(0).lacks("It may call");
    let other = with(&case, case.go_on("Count"), &["c"]).args(["--load-tool", "mcp__d__x"]);
    other
        .ends()
        .code(0)
        .stderr("`mcp__d__x` is not in the list that this session began with")
        .stderr("✓ mcp__c__count");
    assert_eq!(changes(&last(&case)), "+");
    // A model that takes no changes goes on with words alone, and is not asked under their beta.
    let model = with(&case, case.go_on("Hello"), &[]).args(["--model", "claude-sonnet-4-6"]);
    model.ends().code(0).stderr("(tools c)");
    assert_eq!(changes(&last(&case)), "");
    let n = case.sent().len();
    let meta = std::fs::read_to_string(case.capture().join(format!("{n:06}.meta.json"))).expect("a file");
    assert!(!meta.contains(BETA), "{meta}");
    case.is_intact();
}

/// `+` and `-` for each tool that is offered or withdrawn, in order; there is but one.
fn changes(body: &str) -> String {
    let name = r#"","tool":{"type":"tool_reference","name":"mcp__c__count"}"#;
    let parts: Vec<&str> = body.split(name).collect();
    let sign = |part: &&str| if part.ends_with(r#"{"type":"tool_addition"#) { '+' } else { '-' };
    parts[..parts.len() - 1].iter().map(sign).collect()
}

/// One that takes changes of tools.
const MODEL: &str = "claude-opus-5-5";

const BETA: &str = "mid-conversation-tool-changes-2026-07-01";

/// What a request says of its tools: names that stand in the prompt, names that are deferred, and the head without
/// what is deferred.
fn listing(case: &Case, nth: usize) -> (Vec<String>, Vec<String>, String) {
    let body = Body::parse(case.sent()[nth].bytes.clone()).expect("a body is JSON");
    let name = |tool: &Node<'_>| {
        let named = tool.get("function").unwrap_or(*tool).get("name").and_then(Node::str);
        named.expect("a tool has a name").into_owned()
    };
    let tools: Vec<Node<'_>> = body.root().get("tools").into_iter().flat_map(Node::items).collect();
    let (deferred, open): (Vec<_>, Vec<_>) =
        tools.into_iter().partition(|tool| tool.get("defer_loading").is_some());
    let first = || body.root().get("messages").and_then(|messages| messages.items().next());
    let mut head = body.root().get("system").or_else(first).map_or("", Node::raw).to_owned();
    for tool in &open {
        head.push_str(tool.raw());
    }
    (open.iter().map(name).collect(), deferred.iter().map(name).collect(), head)
}

/// Twelve servers with 200 tools, and one more that never answers: the requests go out, and what is deferred adds
/// nothing to the head.
#[test]
fn two_hundred_tools_stand_where_it_was_asked_for() {
    for is_chat in [false, true] {
        let case = case(is_chat);
        let mut entries = Vec::new();
        for server in 0..12 {
            let count = if server < 8 { 17 } else { 16 };
            let tool = |nth: usize| {
                format!(
                    r#"{{"name":"t{nth:02}","description":"Does the thing {nth} of {server}.","inputSchema":{{"type":"object"}}}}"#
                )
            };
            let tools: Vec<String> = (0..count).map(tool).collect();
            write(&case, &format!("s{server:02}"), &format!(r#"{{"tools":[{}]}}"#, tools.join(",")));
            entries.push(entry(&case, &format!("s{server:02}"), ""));
        }
        write(&case, "dead", r#"{"silent":["initialize","server/discover"]}"#);
        entries.push(entry(&case, "dead", r#","timeout":300"#));
        case.run("Hello").ends().code(0);
        let (own, _, bare) = listing(&case, 0);
        let always = ["tool_search", "tool_call"].map(str::to_owned).to_vec();
        let of_servers: Vec<String> = all_names();
        assert_eq!(of_servers.len(), 200);
        let both = [own.clone(), of_servers.clone()].concat();
        let rest: Vec<String> = both.iter().filter(|name| !always.contains(name)).cloned().collect();
        let rows = [
            // The window of a model that nobody knows is a short one.
            ("auto", (own.clone(), if is_chat { vec![] } else { of_servers.clone() })),
            ("on", (own.clone(), if is_chat { vec![] } else { of_servers })),
            ("off", (both, vec![])),
            ("all", (always, if is_chat { vec![] } else { rest })),
        ];
        for (nth, (mode, (open, deferred))) in rows.into_iter().enumerate() {
            with_entries(case.run("Hello"), &entries).args(["--defer-tools", mode]).ends().code(0);
            let (got_open, got_deferred, head) = listing(&case, nth + 1);
            let is_told = last(&case).contains("which `tool_search` finds: `mcp__s00__t00`, ");
            assert_eq!(is_told, open.len() < 200, "{mode}, {is_chat}");
            if open == own {
                assert_eq!(head, bare, "{mode}, {is_chat}");
            }
            assert_eq!((got_open, got_deferred), (open, deferred), "{mode}, {is_chat}");
        }
    }
}

/// The names of the tools of [`two_hundred_tools_stand_where_it_was_asked_for`], in order.
fn all_names() -> Vec<String> {
    let of = |server: usize| {
        (0..if server < 8 { 17 } else { 16 }).map(move |nth| format!("mcp__s{server:02}__t{nth:02}"))
    };
    (0..12).flat_map(of).collect()
}

/// The list stays through a summary, and the head behind it says what the list does not show.
#[test]
fn a_head_behind_a_summary_says_what_the_list_does_not() {
    let script = "rule\n on said Write a summary\n text All is well.\n";
    let script = format!("{script}{SCRIPT}");
    for case in [Case::new(&script), Case::chat(ServerOptions::default(), &script)] {
        let sum = r#"[{"name":"sum","description":"Adds.","inputSchema":{"type":"object"}},{"name":"count""#;
        write(&case, "c", &COUNT.replace(r#"[{"name":"count""#, sum));
        write(&case, "d", COUNT);
        let compact = || case.go_on_without_words(&["--compact"]);
        let begins = with(&case, case.run("Count"), &["c", "d"]).args(["--deny", "mcp__d"]);
        begins.args(["--defer-tools", "on", "--load-tool", "mcp__c__count"]).ends().code(0);
        with(&case, compact(), &["c", "d"]).ends().code(0).stderr("compacted");
        let later = with(&case, case.go_on("Search"), &["c", "d"]).ends().code(0).stderr("✓ mcp__c__count");
        assert!(!later.stderr.contains("the model is told (tools"), "told twice\n{later}");
        let (body, all) = (last(&case), tools(&case));
        assert!(body.contains("# Tools of the MCP server `c`"), "{body}");
        assert!(body.contains("which `tool_search` finds: `mcp__c__sum`."), "{body}");
        assert!(!body.contains("mcp__d"), "what was chosen when the session began is lost\n{body}");
        case.go_on("Count").ends().code(0).stderr("✗ mcp__c__count the MCP server `c` is not there any more");
        compact().ends().code(0).stderr("compacted");
        let gone = case.go_on("And so?").ends().code(0);
        assert!(!gone.stderr.contains("the model is told (tools"), "told twice\n{gone}");
        let body = last(&case);
        assert!(
            body.contains("The MCP server `c` is gone, and calls of its tools fail: `mcp__c__count`."),
            "{body}"
        );
        assert!(tools(&case).iter().all(|tools| *tools == all[0]), "the list is another");
        case.is_intact();
    }
}

#[test]
fn a_tool_that_is_to_be_loaded_is_in_the_prompt_from_the_start() {
    let case = case(false);
    let run = with(&case, case.run("Count"), &["c"]).args(["--defer-tools", "all"]);
    run.args(["--load-tool", "mcp__c", "--load-tool", "nosuch"])
        .ends()
        .code(0)
        .stderr("✓ mcp__c__count")
        .stderr("`nosuch` is to be in the prompt from the start, and there is no such tool");
    let body = Body::parse(case.sent()[0].bytes.clone()).expect("a body is JSON");
    let is_open = |tool: &Node<'_>| tool.get("defer_loading").is_none();
    let open: Vec<String> = body
        .root()
        .get("tools")
        .into_iter()
        .flat_map(Node::items)
        .filter(is_open)
        .filter_map(|tool| Some(tool.get("name")?.str()?.into_owned()))
        .collect();
    assert_eq!(open, ["tool_search", "tool_call", "mcp__c__count"]);
    case.goes_on();
}

/// Where nobody can be asked, a server's tool runs only by a rule.
#[test]
fn tools_of_servers_are_asked_about() {
    let case = case(false);
    let run = |allow: &str| {
        let run = case.antefix(["run", "Search", "--longest-retry-wait", "0"]);
        let run = with(&case, run, &["c"]);
        if allow.is_empty() { run.ends() } else { run.args(["--allow", allow]).ends() }
    };
    run("")
        .code(0)
        .stderr("! mcp__c__count refused, since nobody can be asked")
        .stderr("--allow 'mcp__c__count'");
    let config = case.settings();
    std::fs::create_dir_all(config.parent().expect("a folder")).expect("it can be made");
    std::fs::write(&config, "[permissions]\nallow = [\"mcp__c\"]\n").expect("a file");
    run("").code(0).stderr("allowed by `mcp__c`").stderr("✓ mcp__c__count");
}

#[test]
fn what_is_denied_meanwhile_is_refused_and_told_once() {
    for is_chat in [false, true] {
        let case = case(is_chat);
        case.run("Note").ends().code(0).stderr("✓ todo");
        let denied = case.go_on("Note").args(["--deny", "todo"]).ends().code(0);
        denied.stderr("`todo` is denied").stderr("the model is told (tools)");
        let still = case.go_on("Note").args(["--deny", "todo"]).ends().code(0).stderr("`todo` is denied");
        assert!(!still.stderr.contains("the model is told (tools)"), "told twice\n{still}");
        case.go_on("Note").ends().code(0).stderr("the model is told (tools)").stderr("✓ todo");
        let body = last(&case);
        assert_eq!(body.matches("does not allow calls of these tools any more").count(), 1, "{body}");
        assert_eq!(body.matches("These tools are not refused any more: `todo`.").count(), 1, "{body}");
        assert!(case.relations().iter().all(|relation| relation == "extends"), "{:?}", case.relations());
        case.is_intact();
    }
}

/// A model that does nothing but call what it may not call is stopped.
#[test]
fn a_turn_of_nothing_but_refused_calls_ends() {
    let script = "rule\n on said Go\n tool todo {\"add\":[\"x\"]}\nrule\n on any\n text Hello.\n";
    let case = Case::new(script);
    case.run("Hello").ends().code(0);
    let ended = case.go_on("Go").args(["--deny", "todo", "--max-turns", "20"]).ends();
    ended.stderr("the last 8 calls of this turn were all refused by one rule");
    let body = last(&case);
    for text in ["Do not try to reach the same", "`todo` was refused twice", "`todo` was refused 7 times"] {
        assert!(body.contains(text), "{text}\n{body}");
    }
}

/// What a server returned went into the prompt whole: ten thousand parts, five hundred images, images that are none. The
/// API refuses such a request, and with it every later one of the session.
#[test]
fn what_a_server_floods_a_result_with_is_bounded() {
    let png = r#""data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAA=""#;
    let script =
        "rule\n on said Flood\n on rounds 0\n tool mcp__c__count {\"n\":1}\nrule\n on any\n text It ends.\n";
    for (call, images, expect) in [
        (r#"{"parts":[[{"type":"text","text":"line"},10000]]}"#.to_owned(), 0, "19999 bytes are left out here"),
        (format!(r#"{{"parts":[[{{"type":"image","mimeType":"image/png",{png}}},500]]}}"#), 20, "[left out: 480 images;"),
        (format!(r#"{{"parts":[[{{"type":"image","mimeType":"image/jpeg",{png}}},1]]}}"#), 1, ""),
        (
            r#"{"parts":[[{"type":"image","mimeType":"image/png","data":"no base64"},1],[{"type":"text","text":""},1]]}"#.to_owned(),
            0,
            "[an image is left out: it is no base64]",
        ),
        (r#"{"image_bytes":6000000}"#.to_owned(), 0, "[an image is left out: it has 6000000 bytes of base64"),
        (r#"{"image_bytes":60000000}"#.to_owned(), 0, "the MCP server `c` cannot be reached"),
        (
            r#"{"parts":[[{"type":"resource_link","uri":"f:///a","name":"n"},1],[{"type":"resource","resource":{"uri":"f:///b","blob":"AAAA"}},1]]}"#.to_owned(),
            0,
            "[resource f:///b: of an unknown type, 4 bytes of base64]",
        ),
    ] {
        for is_chat in [false, true] {
            let case = if is_chat { Case::chat(ServerOptions::default(), script) } else { Case::new(script) };
            let tools = r#"[{"name":"count","inputSchema":{"type":"object"}}]"#;
            write(&case, "c", &format!(r#"{{"tools":{tools},"calls":{{"count":{call}}}}}"#));
            with(&case, case.run("Flood"), &["c"]).ends().code(0).stdout("It ends.");
            let body = last(&case);
            let images = if is_chat { 0 } else { images };
            assert_eq!(body.matches(r#"{"type":"image","source""#).count(), images, "{call}");
            assert!(body.contains(expect) && body.len() < 100_000, "{expect}\n{} bytes", body.len());
            with(&case, case.go_on("And now?"), &["c"]).ends().code(0);
            assert_eq!(case.relations(), ["extends", "extends"], "{call}");
            case.is_intact();
        }
    }
}
