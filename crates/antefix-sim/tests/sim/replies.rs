//! Scripts: which rule answers, what it says, and what goes wrong on the way back.

use antefix_sim::{Config, Latency, Millis, ResponseBody, Script, StreamEnd};
use antefix_wire::json::Body;

use crate::harness::{Lab, Sent, body, test_config};

const STREAM: &str = "\"stream\":true";

/// The texts and calls of a message that was not streamed: `Hello | read{"path":"x"} | tool_use`.
fn outline(sent: &Sent) -> String {
    assert_eq!(sent.status, 200, "{}", sent.text);
    let body = Body::parse(sent.text.as_str()).unwrap();
    let text = |node: antefix_wire::json::Node<'_>, key: &str| {
        node.get(key).and_then(|node| node.str()).unwrap_or_default().into_owned()
    };
    let mut parts = Vec::new();
    for block in body.root().get("content").unwrap().items() {
        parts.push(match text(block, "type").as_str() {
            "thinking" => format!("({})", text(block, "thinking")),
            "tool_use" | "server_tool_use" => {
                format!("{}{}", text(block, "name"), block.get("input").unwrap().raw())
            }
            "text" => text(block, "text"),
            other => other.to_owned(),
        });
    }
    parts.push(text(body.root(), "stop_reason"));
    parts.join(" | ")
}

fn ask(script: &str, messages: &str) -> String {
    let tools = "{\"name\":\"read\",\"input_schema\":{\"type\":\"object\"}}";
    let request = format!(
        "{{\"model\":\"claude-test\",\"max_tokens\":900,\"tools\":[{tools}],\"messages\":[{messages}]}}"
    );
    outline(&Lab::scripted(test_config(), script).post(0, &request))
}

fn user(text: &str) -> String {
    format!("{{\"role\":\"user\",\"content\":\"{text}\"}}")
}

fn round(id: &str, tool: &str, result: &str) -> String {
    format!(
        ",{{\"role\":\"assistant\",\"content\":[{{\"type\":\"tool_use\",\"id\":\"{id}\",\"name\":\"{tool}\",\"input\":{{}}}}]}},\
         {{\"role\":\"user\",\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"{id}\",\"content\":\"{result}\"}}]}}"
    )
}

#[test]
fn the_first_rule_that_fits_answers() {
    let script = "\
# A task of three steps.
rule
  on said fix
  on rounds 0
  think hidden
  text Looking.
  tool read {\"path\":\"a.rs\"}
  tool read
rule
  on said fix
  on results 2..3
  tool write {\"text\":\"{{results}}\"}
rule
  on result write
  text Done, {{said}}.
rule
  on text \"multi\\nline\"
  text <<END
first
  second
END
rule
  on turn 2..
  text Turn {{turn}}.
";
    let fix = user("please fix it");
    let two = format!("{fix}{}{}", round("a", "read", "x"), round("b", "read", "say \\\"y\\\""));
    let other = ",{\"role\":\"assistant\",\"content\":\"ok\"},";
    let cases = [
        (fix.clone(), "Looking. | read{\"path\":\"a.rs\"} | read{} | tool_use"),
        (two.clone(), "write{\"text\":\"say \\\"y\\\"\"} | tool_use"),
        (
            format!("{two}{}{}", round("c", "read", "x"), round("d", "write", "x")),
            "Done, please fix it. | end_turn",
        ),
        (user("multi\\nline"), "first\n  second | end_turn"),
        (format!("{}{other}{}", user("a"), user("b")), "Turn 2. | end_turn"),
        (user("nothing"), "antefix-sim: no rule of the script matches this request | end_turn"),
        // A reminder behind the user's words, or beside the results, is not the user's words.
        (
            format!("{fix},{}", user("<system-reminder>fix</system-reminder>")),
            "Looking. | read{\"path\":\"a.rs\"} | read{} | tool_use",
        ),
        (
            format!("{fix},{}", user("<antefix-note kind=\\\"git\\\">fix</antefix-note>")),
            "Looking. | read{\"path\":\"a.rs\"} | read{} | tool_use",
        ),
        (
            format!("{fix},{{\"role\":\"system\",\"content\":\"x\"}}"),
            "Looking. | read{\"path\":\"a.rs\"} | read{} | tool_use",
        ),
    ];
    for (messages, expect) in cases {
        assert_eq!(ask(script, &messages), expect, "{messages}");
    }
}

#[test]
fn scripts_say_what_is_wrong_with_them() {
    let cases = [
        ("text x", "line 1: expected `rule` first"),
        ("rule\n\n  dance", "line 3: unknown line `dance `"),
        ("rule\n  omit tokens", "line 2: expected `choices`, `usage`, `finish` or `done`, not `tokens`"),
        ("rule\n  arguments all", "line 2: expected a number, not `all`"),
        ("rule\n  on full moon", "line 2: unknown condition `full`"),
        ("rule\n  tool read [1]", "line 2: the input is no JSON object"),
        ("rule\n  tool read {", "line 2: the input is no JSON: unexpected end of JSON at byte 1"),
        ("rule\n  text <<END\nx", "line 2: no line `END` follows"),
        (
            "rule\n  stop now",
            "line 2: unknown stop reason `now`; known are end_turn, max_tokens, stop_sequence, tool_use, pause_turn, refusal, model_context_window_exceeded",
        ),
        ("rule\n  error 200 x y", "line 2: expected a status from 400 to 599"),
        ("rule\n  retry-after 3", "line 2: `retry-after` belongs after `error`"),
        ("rule\n  times many", "line 2: expected a number, not `many`"),
        ("rule\n  on results 1..x", "line 2: expected a number, not `x`"),
    ];
    for (script, expect) in cases {
        assert_eq!(Script::parse(script).unwrap_err().to_string(), expect);
    }
}

#[test]
fn the_default_script_can_be_played_with() {
    let ask = |messages: &str| {
        let tools = "{\"name\":\"read\",\"input_schema\":{\"type\":\"object\"}}";
        let request = format!(
            "{{\"model\":\"claude-test\",\"max_tokens\":900,\"tools\":[{tools}],\"messages\":[{messages}]}}"
        );
        let mut lab = Lab::new(test_config());
        lab.simulator = antefix_sim::Simulator::new(test_config(), Script::default_script());
        outline(&lab.post(0, &request))
    };
    assert!(ask(&user("hello")).starts_with("This is antefix-sim, a simulator"));
    let both = user("please\\nuse read {\\\"path\\\":\\\"a\\\"}\\nuse read {}\\nuse nothing {}");
    assert_eq!(
        ask(&both),
        "read{\"path\":\"a\"} | read{} | There is no tool named `nothing` in this request. | tool_use"
    );
    let result = ask(&format!("{}{}", user("use read {}"), round("a", "read", "content")));
    assert!(result.starts_with("`read` returned 7 bytes: content"), "{result}");
}

#[test]
fn limits_and_sequences_stop_the_model() {
    let say = |script: &str, extra: &str| {
        outline(&Lab::scripted(test_config(), script).post(0, &body("u9", extra)))
    };
    let cases = [
        ("rule\n  text 0123456789", "\"max_tokens\":10", "0123456789 | end_turn"),
        ("rule\n  text 0123456789", "\"max_tokens\":9", "012345678 | max_tokens"),
        ("rule\n  text 01234\n  text 56789", "\"max_tokens\":5", "01234 | max_tokens"),
        ("rule\n  text a\n  tool t {\"x\":\"yyyy\"}", "\"max_tokens\":8", "a | t{} | max_tokens"),
        ("rule\n  text one two three", "\"stop_sequences\":[\" th\",\" tw\"]", "one | stop_sequence"),
        ("rule\n  text one", "\"stop_sequences\":[\"x\"]", "one | end_turn"),
        ("rule\n  text one\n  stop pause_turn", "", "one | pause_turn"),
        ("rule\n  stop refusal", "", "refusal"),
        ("rule\n  stop model_context_window_exceeded", "", "model_context_window_exceeded"),
        ("rule\n  think x\n  text y", "", "y | end_turn"),
        ("rule\n  think x\n  text y", "\"thinking\":{\"type\":\"adaptive\"}", "(x) | y | end_turn"),
    ];
    for (script, extra, expect) in cases {
        assert_eq!(say(script, extra), expect, "{script} {extra}");
    }
}

#[test]
fn a_stream_says_the_same_as_a_whole_message() {
    let script = "rule\n  think Hm.\n  text Grüße, \"du\"!\n  tool read {\"path\":\"ä\\\\n\"}\n  tool read\n";
    let mut lab = Lab::scripted(test_config(), script);
    let extra = "\"thinking\":{\"type\":\"adaptive\"}";
    let whole = lab.post(0, &body("u200!", extra));
    let stream = lab.post(1, &body("u200!", &format!("{extra},{STREAM}")));
    assert_eq!(stream.response.header("content-type"), Some("text/event-stream; charset=utf-8"));
    let mut blocks: Vec<String> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for event in stream.text.trim_end().split("\n\n") {
        let (name, data) = event.split_once('\n').unwrap();
        let name = name.strip_prefix("event: ").unwrap();
        let body = Body::parse(data.strip_prefix("data: ").unwrap()).unwrap();
        assert!(body.root().get("type").unwrap().is_str(name), "{event}");
        if names.last().is_none_or(|last| last != name) {
            names.push(name.to_owned());
        }
        let text =
            |pointer: &str| body.root().pointer(pointer).and_then(|node| node.str()).unwrap_or_default();
        match name {
            "content_block_start" => blocks.push(String::new()),
            "content_block_delta" => {
                for key in ["text", "thinking", "partial_json"] {
                    blocks.last_mut().unwrap().push_str(&text(&format!("/delta/{key}")));
                }
            }
            _ => {}
        }
    }
    assert_eq!(blocks, ["Hm.", "Grüße, \"du\"!", "{\"path\":\"ä\\\\n\"}", ""]);
    let block = ["content_block_start", "content_block_delta", "content_block_stop"];
    let mut expect =
        vec!["message_start", "content_block_start", "ping", "content_block_delta", "content_block_stop"];
    expect.extend(block.repeat(3));
    expect.extend(["message_delta", "message_stop"]);
    assert_eq!(names, expect);
    assert_eq!(outline(&whole), "(Hm.) | Grüße, \"du\"! | read{\"path\":\"ä\\\\n\"} | read{} | tool_use");
    let log = lab.simulator.log();
    assert_eq!((log[0].write_5m, log[1].read, log[0].output), (200, 200, log[1].output));
}

/// Usage as the documentation shapes it: all of the input with the split by TTL at the start, cumulative
/// figures without it in the delta.
#[test]
fn usage_has_the_documented_shape() {
    let mut lab = Lab::scripted(test_config(), "rule\n  text four\n");
    let stream = lab.post(0, &body("S200H u100! u7", STREAM)).text;
    let start = "\"usage\":{\"input_tokens\":7,\"cache_creation_input_tokens\":300,\"cache_read_input_tokens\":0,\
        \"cache_creation\":{\"ephemeral_5m_input_tokens\":100,\"ephemeral_1h_input_tokens\":200},\"output_tokens\":1,\
        \"service_tier\":\"standard\"}}}";
    let delta = "{\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\
        \"usage\":{\"input_tokens\":7,\"cache_creation_input_tokens\":300,\"cache_read_input_tokens\":0,\"output_tokens\":4}}";
    assert!(stream.contains(start), "{stream}");
    assert!(stream.contains(delta), "{stream}");
}

#[test]
fn a_server_tool_writes_what_it_found_for_five_minutes() {
    let script = "rule\n  server web_search {\"query\":\"x\"} => []\n  text Found.\n";
    let run = |config: Config, blocks: &str| {
        let mut lab = Lab::scripted(config, script);
        let sent = lab.post(0, &body(blocks, ""));
        let billed = lab.simulator.log()[0].clone();
        (sent.text, billed)
    };
    let (text, billed) = run(test_config(), "u200H");
    assert!(text.contains("\"web_search_requests\":1"), "{text}");
    assert!(text.contains("{\"type\":\"web_search_tool_result\",\"tool_use_id\":\"srvtoolu_"), "{text}");
    assert_eq!((billed.write_1h, billed.read), (200, 200), "the second iteration reads the first's prompt");
    assert!(billed.write_5m > 0, "and writes the result for 5 minutes");
    let (_, billed) = run(test_config(), "u200");
    assert_eq!((billed.write_5m, billed.write_1h, billed.read), (0, 0, 0), "no marker of one's own");
    let (_, billed) = run(Config { server_tool_marker: false, ..test_config() }, "u200!");
    assert_eq!((billed.write_5m, billed.read), (200, 200));
}

fn stream_of(script: &str) -> (Vec<u8>, StreamEnd) {
    let sent = Lab::scripted(test_config(), script).post(0, &body("u9", STREAM));
    match sent.response.body {
        ResponseBody::Stream { ref chunks, end } => {
            (chunks.iter().flat_map(|chunk| chunk.bytes.clone()).collect(), end)
        }
        ResponseBody::Full(_) => panic!("no stream"),
    }
}

#[test]
fn streams_end_where_the_script_says() {
    let rule = |fault: &str| {
        format!("rule\n  text Hello there.\n  tool read {{\"path\":\"some/file.rs\"}}\n  {fault}\n")
    };
    let (whole, end) = stream_of(&rule(""));
    assert_eq!(end, StreamEnd::Clean);
    for (fault, expect) in [("cut", StreamEnd::Cut), ("hang", StreamEnd::Hang)] {
        assert_eq!(stream_of(&rule(&format!("{fault} before-first-byte"))), (Vec::new(), expect));
        for bytes in [1, 100, whole.len() - 1, whole.len(), whole.len() + 1] {
            let (part, end) = stream_of(&rule(&format!("{fault} {bytes}")));
            assert_eq!(part, whole[..bytes.min(whole.len())], "{fault} {bytes}");
            assert_eq!(end, expect);
        }
        let (part, _) = stream_of(&rule(&format!("{fault} before-first-block")));
        let text = String::from_utf8(part).unwrap();
        assert!(text.contains("message_start") && !text.contains("content_block_start"), "{text}");
        let (part, _) = stream_of(&rule(&format!("{fault} mid-input")));
        let text = String::from_utf8(part).unwrap();
        assert!(text.contains("\"partial_json\":\"{"), "{text}");
        assert_eq!(text.matches("input_json_delta").count(), 2, "{text}");
    }
    let (part, end) = stream_of(&rule("stream-error 200 overloaded_error Overloaded"));
    let text = String::from_utf8(part).unwrap();
    assert!(text.contains("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}"), "{text}");
    assert_eq!(end, StreamEnd::Clean);
    let (part, _) = stream_of(&rule("malformed sse"));
    assert!(String::from_utf8(part).unwrap().contains("\ndta {"));
    let (part, _) = stream_of(&rule("malformed json"));
    let text = String::from_utf8(part).unwrap();
    let bad = text
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .filter(|data| Body::parse(*data).is_err());
    assert_eq!(bad.count(), 1);
}

/// A request that was cut before its first byte may or may not have written the cache: the script says which.
#[test]
fn a_cut_before_the_first_byte_may_have_written() {
    for (written, expect) in [("", "r0 w200 i0"), (" written", "r200 w0 i0")] {
        let script = format!("rule\n  times 1\n  text x\n  cut before-first-byte{written}\nrule\n  text y\n");
        let mut lab = Lab::scripted(test_config(), &script);
        lab.post(0, &body("u200!", ""));
        assert_eq!(lab.pay(1, "u200!", ""), expect, "{written}");
    }
}

#[test]
fn errors_come_as_often_as_they_should() {
    let script =
        "rule\n  times 2\n  error 529 overloaded_error Overloaded\n  retry-after 7\nrule\n  text ok\n";
    let mut lab = Lab::scripted(test_config(), script);
    let mut statuses =
        |blocks: &str| -> Vec<u16> { (0..4).map(|_| lab.post(0, &body(blocks, "")).status).collect() };
    assert_eq!(statuses("u200!"), [529, 529, 200, 200]);
    assert_eq!(statuses("u200~b!"), [529, 529, 200, 200], "each conversation counts for itself");
    let global = script.replace("times 2", "times 2 global");
    let mut lab = Lab::scripted(test_config(), &global);
    let first = lab.post(0, &body("u200!", ""));
    assert_eq!(first.response.header("retry-after"), Some("7"));
    assert_eq!(first.response.header("x-should-retry"), Some("true"));
    assert!(first.text.starts_with("{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"},\"request_id\":\"req_"), "{}", first.text);
    assert_eq!(lab.post(0, &body("u200~b!", "")).status, 529);
    assert_eq!(lab.pay(0, "u200!", ""), "r0 w200 i0", "errors write nothing");
}

#[test]
fn chunks_come_in_time() {
    let latency = Latency { first_byte: Millis(500), per_1k_uncached: Millis(1_000), tokens_per_second: 10 };
    let times = |script: &str, extra: &str| {
        let mut lab = Lab::scripted(Config { latency, ..test_config() }, script);
        match lab.post(0, &body("u2000", extra)).response.body {
            ResponseBody::Stream { chunks, .. } => chunks.iter().map(|chunk| chunk.at.0).collect::<Vec<_>>(),
            ResponseBody::Full(_) => Vec::new(),
        }
    };
    assert_eq!(times("rule\n  text 0123456789", ""), [3_500]);
    let stream = times("rule\n  text 0123456789", STREAM);
    assert_eq!((stream.first(), stream.last()), (Some(&2_500), Some(&3_500)));
    assert!(stream.is_sorted());
    let slow = times("rule\n  first-byte 9\n  chunk-delay 100\n  output 1\n  text ab", STREAM);
    assert_eq!(slow, [9, 109, 209, 509, 609, 709, 809]);
}

/// Ids are derived from the request: the same request gets the same calls, different ones never share an id.
#[test]
fn tool_ids_are_stable_and_unique() {
    let script = "rule\n  tool read\n  tool read\n";
    let ids = |lab: &mut Lab, blocks: &str| -> Vec<String> {
        let sent = lab.post(0, &body(blocks, ""));
        let body = Body::parse(sent.text.as_str()).unwrap();
        let blocks = body.root().get("content").unwrap().items();
        blocks.map(|block| block.get("id").unwrap().str().unwrap().into_owned()).collect()
    };
    let mut lab = Lab::scripted(test_config(), script);
    let first = ids(&mut lab, "u20");
    let again = ids(&mut Lab::scripted(test_config(), script), "u20");
    let other = ids(&mut lab, "u20~b");
    assert_eq!(first, again);
    assert_ne!(first[0], first[1]);
    assert!(first.iter().all(|id| id.starts_with("toolu_") && !other.contains(id)));
}
