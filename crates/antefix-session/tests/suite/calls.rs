//! Calls in a reply as it came over the wire: what is kept of them can be sent back, and the simulator takes it.

use antefix_session::record::{EndReason, Record};
use antefix_wire::assemble::{Assembled, Assembler};
use antefix_wire::json::{Body, Node, write_string};
use antefix_wire::sse::Event;

use crate::stage::{Setup, Stage, text};

/// What a reply is made of: the data of its events between start and end.
type Part = String;

/// What happens to a call's events on their way.
type Damage = Box<dyn Fn(&mut Vec<Part>)>;

/// A stream with these parts in it.
fn stream(parts: &[Part], stop: &str) -> Assembled {
    let start = r#"{"type":"message_start","message":{"id":"msg_9","usage":{"input_tokens":3}}}"#.to_owned();
    let stop = format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":"{stop}"}},"usage":{{"output_tokens":9}}}}"#
    );
    let end = r#"{"type":"message_stop"}"#.to_owned();
    let mut assembler = Assembler::new();
    for data in [start].iter().chain(parts).chain(&[stop, end]) {
        let event = Event { name: "message".to_owned(), data: data.clone(), raw: Vec::new() };
        // Whoever reads a stream may overlook what is wrong in it.
        drop(assembler.event(&event));
    }
    assembler.finish()
}

/// The events of one call: `members` of its start, and its input as it is streamed.
fn call(index: u64, members: &str, input: &str) -> Vec<Part> {
    let mut delta = br#"{"type":"input_json_delta","partial_json":"#.to_vec();
    write_string(&mut delta, input);
    let delta = text(&delta);
    vec![
        format!(
            r#"{{"type":"content_block_start","index":{index},"content_block":{{"type":"tool_use",{members},"input":{{}}}}}}"#
        ),
        format!(r#"{{"type":"content_block_delta","index":{index},"delta":{delta}}}}}"#),
        format!(r#"{{"type":"content_block_stop","index":{index}}}"#),
    ]
}

/// Ids and names of the calls that run, after one reply to a first prompt.
fn running(reply: Assembled) -> (Stage, Vec<(String, String)>) {
    let mut stage = Stage::new(Setup::default());
    stage.prompt("Do it.");
    stage.answer_with(reply);
    let calls = stage.running.iter().map(|call| (call.id.clone(), call.name.clone())).collect();
    (stage, calls)
}

/// The simulator takes the results, and what the user says next.
fn goes_on(stage: &mut Stage) {
    while !stage.running.is_empty() {
        stage.give(0, "Here.", false);
    }
    assert!(stage.in_flight.is_some());
    stage.answer_with(stream(&[], "end_turn"));
    stage.prompt("Next.");
    assert!(stage.in_flight.is_some());
}

fn pair(id: &str, name: &str) -> (String, String) {
    (id.to_owned(), name.to_owned())
}

/// A damaged event in a call made the call vanish from a reply that looked whole: the turn ended with success, or
/// the call was recorded and every later request was rejected for want of its result.
#[test]
fn a_call_damaged_on_its_way_ends_the_turn_with_success() {
    let whole = call(1, r#""id":"toolu_1","name":"read""#, r#"{"a":1}"#);
    let damaged: [(&str, Damage); 7] = [
        ("start cut", Box::new(|parts| parts[0].truncate(60))),
        ("start without index", Box::new(|parts| parts[0] = parts[0].replace("\"index\":1,", ""))),
        ("start lost", Box::new(|parts| drop(parts.remove(0)))),
        ("delta cut", Box::new(|parts| parts[1].truncate(60))),
        ("delta without text", Box::new(|parts| parts[1] = parts[1].replace("partial_json", "partial"))),
        ("end lost", Box::new(|parts| drop(parts.remove(2)))),
        ("all lost", Box::new(Vec::clear)),
    ];
    for (what, damage) in damaged {
        let mut parts = whole.clone();
        damage(&mut parts);
        let (mut stage, calls) = running(stream(&parts, "tool_use"));
        assert!(stage.is_waiting && calls.is_empty(), "{what}");
        stage.due();
        stage.answer_with(stream(&parts, "tool_use"));
        assert_eq!(stage.ends, [EndReason::Failed], "{what}");
        assert!(
            stage.last_words.as_ref().is_some_and(|words| words.contains("stream is malformed")
                || words.contains("holds none")
                || words.contains("without an end")),
            "{what}: {:?}",
            stage.last_words
        );
        stage.prompt("Next.");
        assert!(stage.in_flight.is_some(), "{what}");
        // Made again, it may come as a whole.
        let (mut stage, _) = running(stream(&parts, "tool_use"));
        stage.due();
        stage.answer_with(stream(&whole, "tool_use"));
        assert_eq!(stage.running.len(), 1, "{what}");
        goes_on(&mut stage);
    }
}

/// A call without id, or with one that is no text, was recorded: nothing could answer it, and every later request
/// was rejected.
#[test]
fn a_call_that_nothing_can_answer_is_recorded() {
    let nameless = [
        r#""name":"read""#,
        r#""id":7,"name":"read""#,
        r#""id":null,"name":"read""#,
        r#""id":"","name":"read""#,
        r#""id":"toolu_1""#,
        r#""id":"toolu_1","name":["read"]"#,
        r#""id":"toolu_1","name":"""#,
    ];
    for members in nameless {
        for stop in ["tool_use", "end_turn"] {
            let lost = call(0, members, "{}");
            let (mut stage, calls) = running(stream(&lost, stop));
            assert!(stage.is_waiting && calls.is_empty(), "{members}");
            stage.due();
            stage.answer_with(stream(&lost, stop));
            assert_eq!(stage.ends, [EndReason::Failed], "{members}");
            let words = "the reply holds tool calls without id or name, which nothing can answer";
            assert_eq!(stage.last_words.as_deref(), Some(words));
            stage.prompt("Next.");
        }
        let both = [call(0, members, "{}"), call(1, r#""id":"toolu_1","name":"read""#, "{}")].concat();
        let (mut stage, calls) = running(stream(&both, "tool_use"));
        assert_eq!(calls, [pair("toolu_1", "read")], "{members}");
        goes_on(&mut stage);
    }
}

/// An input that was no JSON object, or was nested too deeply for a request, took its call out of the reply. The
/// model is told instead, with what it wrote.
#[test]
fn a_call_whose_input_cannot_be_read_is_lost() {
    let deep = format!("{}{}", r#"{"a":"#.repeat(1020), "1}".to_owned() + &"}".repeat(1019));
    for input in [r#"{"a":"#, "[1]", "12", r#"{"a":1}}"#, "read it", &deep] {
        let (mut stage, calls) =
            running(stream(&call(0, r#""id":"toolu_1","name":"read""#, input), "tool_use"));
        assert!(calls.is_empty() && stage.in_flight.is_some(), "{input}");
        let result = stage.session.conversation().results().values().last().unwrap().clone();
        assert!(result.is_error && result.call == "toolu_1");
        let body = Body::parse(result.fragment.to_vec()).unwrap();
        let said = body.root().pointer("/content/0/text").and_then(Node::str).unwrap().into_owned();
        let (_, shown) = said.split_once("What was written:\n").unwrap();
        let expect = if input.len() <= 2000 {
            input.to_owned()
        } else {
            format!("{}… ({} bytes in all)", &input[..2000], input.len())
        };
        assert_eq!(shown, expect);
        goes_on(&mut stage);
    }
}

/// An input that the output limit cut off is no mistake of the model's: its call is left out and nothing is answered.
#[test]
fn a_call_that_a_limit_cut_off_is_left_out() {
    let limits =
        [("max_tokens", EndReason::MaxTokens), ("model_context_window_exceeded", EndReason::WindowExceeded)];
    for (stop, end) in limits {
        let (mut stage, calls) =
            running(stream(&call(0, r#""id":"toolu_1","name":"read""#, r#"{"a":"#), stop));
        assert!(calls.is_empty() && stage.session.conversation().results().is_empty());
        assert_eq!(stage.ends, [end]);
        stage.prompt("Next.");
        assert!(!text(&stage.sent.last().unwrap().stripped).contains("toolu_1"));
    }
}

/// Ids that another call had, or that the API's pattern does not take, made every later request fail.
#[test]
fn a_call_has_an_id_that_no_request_may_hold() {
    let ids = [
        (["a", "a", "a"], ["a", "a_2", "a_3"]),
        (["a", "a_2", "a"], ["a", "a_2", "a_3"]),
        (["a.b", "a b", "a_b"], ["a_b", "a_b_2", "a_b_3"]),
        (["call:é", "functions.read:0", "-"], ["call__", "functions_read_0", "-"]),
    ];
    for (ids, expect) in ids {
        let parts: Vec<Part> = (0..)
            .zip(ids)
            .flat_map(|(index, id)| call(index, &format!(r#""id":"{id}","name":"read""#), "{}"))
            .collect();
        let (mut stage, calls) = running(stream(&parts, "tool_use"));
        assert_eq!(calls, expect.map(|id| pair(id, "read")));
        while !stage.running.is_empty() {
            stage.give(0, "Here.", false);
        }
        // The same reply in a later request of a new process.
        stage.kill(stage.entries.len(), Setup::default());
        stage.prompt("Again.");
        stage.answer_with(stream(&parts, "tool_use"));
        assert!(stage.running.iter().all(|call| !expect.contains(&call.id.as_str())));
        goes_on(&mut stage);
    }
    let (mut stage, calls) =
        running(stream(&call(0, r#""name":"functions.read","id":"call:1""#, r#"{"b": 1.0}"#), "tool_use"));
    assert_eq!(calls, [pair("call_1", "functions_read")]);
    let message = stage.session.conversation().path().last().unwrap();
    assert_eq!(
        text(message.fragment()),
        r#"{"role":"assistant","content":[{"type":"tool_use","name":"functions_read","id":"call_1","input":{"b":1.0}}]}"#
    );
    goes_on(&mut stage);
    // Whatever is longer than the API takes would be a tool nobody has.
    let long = "n".repeat(200);
    let (mut stage, calls) =
        running(stream(&call(0, &format!(r#""id":"a","name":"{long}""#), "{}"), "tool_use"));
    assert_eq!(calls, [pair("a", &long[..128])]);
    goes_on(&mut stage);
}

/// Thinking behind a call that is not kept as the model wrote it is bound to what stood there.
#[test]
fn thinking_behind_a_changed_call_is_kept() {
    let think = |index: u64| {
        vec![
            format!(
                r#"{{"type":"content_block_start","index":{index},"content_block":{{"type":"thinking","thinking":"Hm.","signature":"c2ln"}}}}"#
            ),
            format!(r#"{{"type":"content_block_stop","index":{index}}}"#),
        ]
    };
    let kinds = |id: &str, input: &str| {
        let call = call(1, &format!(r#""id":"{id}","name":"read""#), input);
        let mut stage = Stage::new(Setup::default());
        // The simulator would not take these signatures.
        stage.without_provider();
        stage.prompt("Do it.");
        stage.answer_with(stream(&[think(0), call, think(2)].concat(), "tool_use"));
        let reply = stage.session.conversation().path().find(|message| !message.calls().is_empty()).unwrap();
        let body = Body::parse(reply.fragment().to_vec()).unwrap();
        let blocks = body.root().get("content").unwrap().items();
        let kind = |block: Node<'_>| block.get("type").and_then(Node::str).unwrap().into_owned();
        blocks.map(kind).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(kinds("toolu_1", "{}"), "thinking tool_use thinking text");
    assert_eq!(kinds("toolu:1", "{}"), "thinking tool_use");
    assert_eq!(kinds("toolu_1", "{"), "thinking tool_use");
}

/// A call of the provider's tools that was cut off left its result behind, which no request may hold alone.
#[test]
fn a_result_stays_behind_a_cut_call_of_the_provider() {
    let server = |index: u64, id: &str| {
        vec![
            format!(
                r#"{{"type":"content_block_start","index":{index},"content_block":{{"type":"server_tool_use",{id}"name":"web_search","input":{{}}}}}}"#
            ),
            format!(
                r#"{{"type":"content_block_delta","index":{index},"delta":{{"type":"input_json_delta","partial_json":"{{"}}}}"#
            ),
            format!(r#"{{"type":"content_block_stop","index":{index}}}"#),
            format!(
                r#"{{"type":"content_block_start","index":{},"content_block":{{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}}}}"#,
                index + 1
            ),
            format!(r#"{{"type":"content_block_stop","index":{}}}"#, index + 1),
        ]
    };
    for id in [r#""id":"srvtoolu_1","#, ""] {
        let (mut stage, _) = running(stream(&server(0, id), "end_turn"));
        assert!(stage.is_waiting);
        stage.due();
        stage.answer_with(stream(&server(0, id), "end_turn"));
        assert_eq!(stage.ends, [EndReason::Failed]);
        stage.prompt("Next.");
        assert!(!text(&stage.sent.last().unwrap().stripped).contains("srvtoolu"));
    }
}

/// Counts of 2^64 - 1 tokens panicked in sums, which ended the process.
#[test]
fn token_counts_overflow() {
    let most = u64::MAX;
    let usage = format!(
        r#"{{"input_tokens":{most},"cache_read_input_tokens":{most},"cache_creation_input_tokens":{most},"output_tokens":{most},"cache_creation":{{"ephemeral_5m_input_tokens":{most},"ephemeral_1h_input_tokens":{most}}},"iterations":[{{"type":"compaction","input_tokens":{most},"cache_read_input_tokens":{most},"cache_creation_input_tokens":{most},"output_tokens":{most}}}]}}"#
    );
    let mut stage = Stage::new(Setup::default());
    for _ in 0..3 {
        stage.prompt("Do it.");
        let reply = stream(&[], "end_turn");
        stage.answer_with(Assembled { usage_json: Some(usage.clone().into_bytes()), ..reply });
    }
    assert_eq!(stage.ends.len(), 3);
    let report = stage.reports.last().unwrap();
    assert_eq!(report.total.prompt().0, most);
    assert_eq!((report.warning(), report.total_cost.is_some()), (None, true));
    assert_eq!(stage.replayed(&stage.setup).spent(), stage.session.spent());
}

/// A flood of unknown events was put into one line of 39 MB.
#[test]
fn a_notice_of_what_is_unknown_has_no_end() {
    let flood: Vec<Part> = (0..5_000).map(|number| format!(r#"{{"type":"event {number}"}}"#)).collect();
    let (stage, _) = running(stream(&flood, "end_turn"));
    assert!(stage.entries.iter().all(|entry| entry.encode().len() < 10_000));
    assert_eq!(stage.notices.len(), 1);
    assert!(
        stage.notices[0].len() < 1_000 && stage.notices[0].ends_with("event 31, and 4968 of further types")
    );
    let ends = stage.entries.iter().filter(|entry| matches!(entry.record, Record::End { .. })).count();
    assert_eq!(ends, 1);
}
