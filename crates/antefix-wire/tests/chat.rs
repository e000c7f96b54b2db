//! Streamed Chat Completions and the JSON they are sent back as.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail")]

use std::fmt::Write as _;

use antefix_wire::anthropic::BlockKind;
use antefix_wire::assemble::{AssembleError, Assembled, ChatAssembler, Delta, StopReason};
use antefix_wire::json::{Body, Node, write_string};
use antefix_wire::openai::{Request, ToolCall, assistant_message};
use antefix_wire::sse::{Event, Parser};
use antefix_wire::usage::Usage;
use antefix_wire::{Edit, splice};

const CHAT: &str = include_str!("streams/chat.sse");
const BODY: &str = include_str!("bodies/chat.json");

#[test]
fn reasoning_text_and_tool_calls() {
    let message = assemble(CHAT.as_bytes());
    let calls = [
        r#"{"id":"call_a","type":"function","function":{"name":"edit","arguments":"{\"zeta\": 1.0e2, \"alpha\":[0.1000,-0,12345678901234567890123], \"path\":\"src/\\u00e9\"}"}}"#,
        r#"{"id":"call_b","type":"function","function":{"name":"status","arguments":"{}"}}"#,
    ];
    let expect = [
        (BlockKind::Thinking, r#"{"reasoning_content":"Read it, then \"edit\".\n"}"#),
        (BlockKind::Text, r#"{"type":"text","text":"Zwölf études 🎹 / 𝄞"}"#),
        (BlockKind::ToolUse, calls[0]),
        (BlockKind::ToolUse, calls[1]),
    ];
    assert_eq!(blocks(&message), expect);
    assert!(message.blocks.iter().all(|block| block.complete && block.broken_input.is_none()));
    assert_eq!(
        sent_back(&message, |_| true),
        format!(
            r#"{{"role":"assistant","content":"Zwölf études 🎹 / 𝄞","reasoning_content":"Read it, then \"edit\".\n","tool_calls":[{}]}}"#,
            calls.join(",")
        )
    );
    assert_eq!(
        sent_back(&message, |kind| kind == BlockKind::ToolUse),
        format!(r#"{{"role":"assistant","content":"","tool_calls":[{}]}}"#, calls.join(","))
    );
    assert_eq!(
        Assembled { blocks: Vec::new(), ..message },
        Assembled {
            message_id: Some("chatcmpl-1".to_owned()),
            model: Some("qwen3-coder".to_owned()),
            stop_reason: Some("tool_calls".to_owned()),
            usage: Usage {
                input: Some(362),
                cache_read: Some(4000),
                output: Some(87),
                thinking: Some(30),
                ..Usage::default()
            },
            usage_json: Some(
                br#"{"prompt_tokens":4362,"completion_tokens":87,"total_tokens":4449,"prompt_tokens_details":{"cached_tokens":4000},"completion_tokens_details":{"reasoning_tokens":30},"timings":{"cache_n":4000,"prompt_n":362,"predicted_n":87,"prompt_ms":41.50}}"#.to_vec()
            ),
            complete: true,
            ..Assembled::default()
        }
    );
}

/// A body in which every sort of part stands: it leaves as it came, and the view knows each part.
#[test]
fn a_body_of_every_part() {
    let body = Body::parse(BODY).unwrap();
    let request = Request::read(body.root());
    let mut outline = String::new();
    for tool in &request.tools {
        writeln!(outline, "tool {:?}", tool.name).unwrap();
    }
    for entry in &request.entries {
        writeln!(outline, "{:?}", entry.role).unwrap();
        for part in &entry.parts {
            writeln!(outline, "  {:?} at {:?}", part.kind, part.slot).unwrap();
        }
    }
    assert_eq!(outline, include_str!("bodies/chat.outline"));
    assert_eq!(splice(body.bytes(), &[]).unwrap(), BODY.as_bytes());
    assert_eq!(body.into_bytes(), BODY.as_bytes());
}

/// What was streamed goes into the next request between what stood there, and nothing else changes.
#[test]
fn a_reply_goes_into_the_next_body() {
    let message = sent_back(&assemble(CHAT.as_bytes()), |_| true);
    let body = Body::parse(BODY).unwrap();
    let messages = body.root().get("messages").unwrap();
    let end = messages.range().end - 1;
    let edit = Edit::insert(end, format!(",{message}"));
    let next = splice(body.bytes(), &[edit]).unwrap();
    let (front, back) = BODY.split_at(end);
    assert_eq!(String::from_utf8(next.clone()).unwrap(), format!("{front},{message}{back}"));
    let next = Body::parse(next).unwrap();
    let request = Request::read(next.root());
    let kinds: Vec<_> = request.entries.last().unwrap().parts.iter().map(|part| part.kind).collect();
    use BlockKind::{Text, Thinking, ToolUse};
    assert_eq!(kinds, [Thinking, Text, ToolUse, ToolUse]);
}

#[test]
fn deltas_for_a_screen() {
    let text = |text: &str| text.to_owned();
    let started = |index, kind| Delta::BlockStarted { index, kind, id: None, name: None };
    let call = |index, id: &str, name: &str| Delta::BlockStarted {
        index,
        kind: BlockKind::ToolUse,
        id: Some(text(id)),
        name: Some(text(name)),
    };
    let expect = [
        Delta::Started { message_id: Some(text("chatcmpl-1")), model: Some(text("qwen3-coder")) },
        started(0, BlockKind::Thinking),
        Delta::Thinking { index: 0, text: text("Read it, ") },
        Delta::Thinking { index: 0, text: text("then \"edit\".\n") },
        Delta::BlockStopped { index: 0 },
        started(1, BlockKind::Text),
        Delta::Text { index: 1, text: text("Zwölf études \u{fffd}") },
        Delta::Text { index: 1, text: text("\u{fffd} / 𝄞") },
        Delta::BlockStopped { index: 1 },
        call(2, "call_a", "edit"),
        Delta::InputJson { index: 2, part: text(r#"{"zeta": 1.0e2, "alpha":[0.1000,-0,"#) },
        Delta::InputJson { index: 2, part: text(r#"12345678901234567890123], "path":"src/\u00e9"}"#) },
        Delta::BlockStopped { index: 2 },
        call(3, "call_b", "status"),
        Delta::BlockStopped { index: 3 },
        Delta::Stop { reason: text("tool_calls"), sequence: None },
        Delta::Finished,
    ];
    let mut assembler = ChatAssembler::new();
    let deltas: Vec<_> =
        events(CHAT.as_bytes()).iter().flat_map(|event| assembler.event(event).unwrap()).collect();
    assert_eq!(deltas, expect);
}

/// Deltas of one choice, and the message that goes back.
const MESSAGES: &[(&[&str], &str)] = &[
    (
        &[r#"{"role":"assistant","content":""}"#, r#"{"content":"a"}"#, r#"{"content":"b"}"#],
        r#""content":"ab""#,
    ),
    (
        &[r#"{"content":null,"tool_calls":null,"refusal":null,"reasoning":null,"function_call":null}"#],
        r#""content":"""#,
    ),
    (&[r#"{"content":"\n\n"}"#], r#""content":"\n\n""#),
    (&[r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#], r#""content":"ab""#),
    (&[r#"{"refusal":"I can"}"#, r#"{"refusal":"not."}"#], r#""content":"","refusal":"I cannot.""#),
    (
        &[r#"{"reasoning":"a"}"#, r#"{"reasoning":"b"}"#, r#"{"content":"c"}"#],
        r#""content":"c","reasoning":"ab""#,
    ),
    // The same piece under both names; each goes back.
    (
        &[r#"{"reasoning":"a","reasoning_content":"a"}"#],
        r#""content":"","reasoning":"a","reasoning_content":"a""#,
    ),
    (
        &[
            r#"{"reasoning":"a","reasoning_details":[{"type":"reasoning.text", "text":"a"}]}"#,
            r#"{"reasoning_details":[{"type":"reasoning.encrypted","data":"x"}]}"#,
        ],
        r#""content":"","reasoning":"a","reasoning_details":[{"type":"reasoning.text","text":"a"},{"type":"reasoning.encrypted","data":"x"}]"#,
    ),
    // Members not known here are kept: pieces of text together, else the last value.
    (
        &[r#"{"mood":"ca","depth":1.50}"#, r#"{"mood":"lm","depth":2.0}"#],
        r#""content":"","mood":"calm","depth":2.0"#,
    ),
];

#[test]
fn messages_are_put_together() {
    for (deltas, expect) in MESSAGES {
        let message = one_choice(deltas, "stop");
        assert_eq!(
            sent_back(&message, |_| true),
            format!(r#"{{"role":"assistant",{expect}}}"#),
            "{deltas:?}"
        );
        assert!(message.complete && message.blocks.iter().all(|block| block.complete), "{deltas:?}");
    }
}

/// Values of `tool_calls`, one for each delta, and the calls as id, name and arguments.
type Calls = (&'static [&'static str], &'static [(&'static str, &'static str, &'static str)]);

const CALLS: &[Calls] = &[
    // As the API streams them.
    (
        &[
            r#"[{"index":0,"id":"a","type":"function","function":{"name":"ls","arguments":""}}]"#,
            r#"[{"index":0,"function":{"arguments":"{\"p\""}}]"#,
            r#"[{"index":0,"function":{"arguments":":1}"}}]"#,
        ],
        &[("a", "ls", r#"{"p":1}"#)],
    ),
    // White space, the order of keys, doubled keys and the text of numbers stay as written.
    (
        &[
            r#"[{"index":0,"id":"a","function":{"name":"ls","arguments":" {\"b\" : 1.0e2,\n\"a\":-0, \"a\":2} "}}]"#,
        ],
        &[("a", "ls", " {\"b\" : 1.0e2,\n\"a\":-0, \"a\":2} ")],
    ),
    // Parallel, one piece each in turn.
    (
        &[
            r#"[{"index":0,"id":"a","function":{"name":"x","arguments":"{"}},{"index":1,"id":"b","function":{"name":"y","arguments":"{"}}]"#,
            r#"[{"index":0,"function":{"arguments":"}"}},{"index":1,"function":{"arguments":" }"}}]"#,
        ],
        &[("a", "x", "{}"), ("b", "y", "{ }")],
    ),
    // No arguments, none at all, `null`, white space.
    (&[r#"[{"index":0,"id":"a","function":{"name":"x","arguments":""}}]"#], &[("a", "x", "{}")]),
    (&[r#"[{"index":0,"id":"a","function":{"name":"x"}}]"#], &[("a", "x", "{}")]),
    (&[r#"[{"index":0,"id":"a","function":{"name":"x","arguments":null}}]"#], &[("a", "x", "{}")]),
    (&[r#"[{"index":0,"id":"a","function":{"name":"x","arguments":" \n"}}]"#], &[("a", "x", "{}")]),
    // Arguments as an object.
    (
        &[r#"[{"index":0,"id":"a","function":{"name":"x","arguments":{"q\"": 1.50}}}]"#],
        &[("a", "x", r#"{"q\"":1.50}"#)],
    ),
    // The id repeated, another one made up for each piece, a number, none, an empty one, `null`.
    (
        &[
            r#"[{"index":0,"id":"a","function":{"name":"x","arguments":"{"}}]"#,
            r#"[{"index":0,"id":"a","function":{"arguments":"}"}}]"#,
        ],
        &[("a", "x", "{}")],
    ),
    (
        &[
            r#"[{"index":0,"id":"a","function":{"name":"x","arguments":"{"}}]"#,
            r#"[{"index":0,"id":"b","function":{"name":null,"arguments":"}"}}]"#,
        ],
        &[("a", "x", "{}")],
    ),
    (&[r#"[{"index":0,"id":7,"function":{"name":"x","arguments":"{}"}}]"#], &[("7", "x", "{}")]),
    (
        &[
            r#"[{"index":0,"function":{"name":"x","arguments":"{}"}}]"#,
            r#"[{"index":1,"id":"","function":{"name":"y","arguments":"{}"}}]"#,
            r#"[{"index":2,"id":null,"function":{"name":"z","arguments":"{}"}}]"#,
        ],
        &[("", "x", "{}"), ("", "y", "{}"), ("", "z", "{}")],
    ),
    // The id comes late.
    (
        &[
            r#"[{"index":0,"function":{"name":"x","arguments":"{"}}]"#,
            r#"[{"index":0,"id":"a","function":{"arguments":"}"}}]"#,
        ],
        &[("a", "x", "{}")],
    ),
    // The name repeated with each piece, in pieces, and once more behind the arguments.
    (
        &[
            r#"[{"index":0,"id":"a","function":{"name":"x","arguments":"{"}}]"#,
            r#"[{"index":0,"id":"a","function":{"name":"x","arguments":"}"}}]"#,
        ],
        &[("a", "x", "{}")],
    ),
    (
        &[
            r#"[{"index":0,"id":"a","function":{"name":"get_"}}]"#,
            r#"[{"index":0,"function":{"name":"time"}}]"#,
        ],
        &[("a", "get_time", "{}")],
    ),
    // All under one index, told apart by id and name.
    (
        &[
            r#"[{"index":0,"id":"a","function":{"name":"x","arguments":"{"}}]"#,
            r#"[{"index":0,"function":{"arguments":"}"}}]"#,
            r#"[{"index":0,"id":"b","function":{"name":"x","arguments":"{ "}}]"#,
            r#"[{"index":0,"function":{"arguments":"}"}}]"#,
        ],
        &[("a", "x", "{}"), ("b", "x", "{ }")],
    ),
    // No index: a name begins a call, an id goes on with one.
    (
        &[
            r#"[{"id":"a","function":{"name":"x","arguments":"{}"}},{"id":"b","function":{"name":"x","arguments":"{ }"}}]"#,
        ],
        &[("a", "x", "{}"), ("b", "x", "{ }")],
    ),
    (
        &[
            r#"[{"function":{"name":"x","arguments":"{"}}]"#,
            r#"[{"function":{"arguments":"}"}}]"#,
            r#"[{"function":{"name":"x","arguments":"{}"}}]"#,
        ],
        &[("", "x", "{}"), ("", "x", "{}")],
    ),
    (
        &[
            r#"[{"id":"a","function":{"name":"x","arguments":"{"}}]"#,
            r#"[{"id":"b","function":{"name":"y","arguments":"{"}}]"#,
            r#"[{"id":"a","function":{"arguments":"}"}},{"id":"b","function":{"arguments":" }"}}]"#,
        ],
        &[("a", "x", "{}"), ("b", "y", "{ }")],
    ),
];

#[test]
fn calls_are_put_together() {
    for (deltas, expect) in CALLS {
        let deltas: Vec<String> = deltas.iter().map(|calls| format!(r#"{{"tool_calls":{calls}}}"#)).collect();
        let deltas: Vec<&str> = deltas.iter().map(String::as_str).collect();
        let message = one_choice(&deltas, "tool_calls");
        let expect: Vec<_> = expect.iter().map(|&(id, name, input)| call(id, name, input)).collect();
        assert_eq!(calls_of(&message), expect, "{deltas:?}");
        assert!(message.blocks.iter().all(|block| block.complete), "{deltas:?}");
        assert_eq!(message.unknown, [""; 0], "{deltas:?}");
    }
}

#[test]
fn members_of_a_call_that_are_not_known_go_back() {
    let message = one_choice(
        &[
            r#"{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"x","arguments":"{}"},"extra_content":{"google": {"thought_signature":"s"}}}]}"#,
        ],
        "tool_calls",
    );
    assert_eq!(
        blocks(&message)[0].1,
        r#"{"id":"a","type":"function","function":{"name":"x","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s"}}}"#
    );
}

/// A server that named a call's type `text` had it taken for a text when it was sent back. Found by the fuzzer.
#[test]
fn a_call_is_a_call_whatever_its_type_is_named() {
    let chunk = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","type":"text","text":"x","function":{"name":"ls"}}]},"finish_reason":"stop"}]}"#;
    let message = take(&[chunk]);
    let call = r#"{"id":"c","type":"function","function":{"name":"ls","arguments":"{}"},"text":"x"}"#;
    assert_eq!(blocks(&message), [(BlockKind::ToolUse, call)]);
    assert_eq!(
        sent_back(&message, |_| true),
        format!(r#"{{"role":"assistant","content":"","tool_calls":[{call}]}}"#)
    );
}

#[test]
fn the_call_of_functions_becomes_a_call_without_id() {
    let message = one_choice(
        &[
            r#"{"function_call":{"name":"x","arguments":"{\"a\""}}"#,
            r#"{"function_call":{"arguments":": 1}"}}"#,
        ],
        "function_call",
    );
    assert_eq!(calls_of(&message), [call("", "x", r#"{"a": 1}"#)]);
    assert_eq!(message.stop(), Some(StopReason::Calls));
}

#[test]
fn arguments_that_are_no_object_are_reported() {
    for written in [r#"{"path": "src/ma"#, "{", "[1]", r#""text""#, "12", r#"{"a":1}}"#, r#"{"a":01}"#] {
        let mut quoted = Vec::new();
        write_string(&mut quoted, written);
        let quoted = String::from_utf8(quoted).unwrap();
        let delta = format!(
            r#"{{"tool_calls":[{{"index":0,"id":"a","function":{{"name":"x","arguments":{quoted}}}}}]}}"#
        );
        let message = one_choice(&[&delta], "tool_calls");
        assert_eq!(calls_of(&message), [call("a", "x", "{}")]);
        let block = &message.blocks[0];
        assert_eq!((block.complete, block.broken_input.as_deref()), (false, Some(written)));
    }
}

#[test]
fn finish_reasons() {
    for (name, stop) in [
        ("stop", StopReason::EndTurn),
        ("length", StopReason::OutputLimit),
        ("tool_calls", StopReason::Calls),
        ("function_call", StopReason::Calls),
        ("content_filter", StopReason::Refusal),
        ("insufficient_system_resource", StopReason::Other),
    ] {
        let message = one_choice(&[r#"{"content":"a"}"#], name);
        assert_eq!(
            (message.stop_reason.as_deref(), message.stop(), message.complete),
            (Some(name), Some(stop), true)
        );
    }
    // Servers that name the reason in each chunk leave it empty until the last.
    let chunk = r#"{"choices":[{"delta":{"content":"a"},"finish_reason":""}]}"#;
    assert_eq!(take(&[chunk]).stop_reason, None);
    // vLLM and SGLang tell which stop sequence it was.
    for member in ["stop_reason", "matched_stop"] {
        let chunk = format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":"stop","{member}":"END"}}]}}"#);
        assert_eq!(take(&[&chunk]).stop_sequence.as_deref(), Some("END"));
    }
}

/// Whether a message is complete, its error, and how what does not fit is told.
type End = (bool, Option<(&'static str, &'static str)>, Option<&'static str>);

/// Data of the events behind a first piece of text, and how the message ends.
#[test]
fn streams_end_in_many_ways() {
    let cases: &[(&[&str], End)] = &[
        (&[], (false, None, None)),
        (&[END], (true, None, None)),
        (&[END, "[DONE]"], (true, None, None)),
        (&[END, USAGE, "[DONE]", "{"], (true, None, None)),
        (&["[DONE]"], (false, None, Some("the reply ended without a `finish_reason`"))),
        (
            &[r#"{"error":{"message":"m","type":"server_error","code":500}}"#, "[DONE]"],
            (false, Some(("server_error", "m")), None),
        ),
        (&[r#"{"error":{"message":"m","code":502}}"#], (false, Some(("502", "m")), None)),
        (&[r#"{"error":{"message":"m","type":null,"code":null}}"#], (false, Some(("error", "m")), None)),
        (&[r#"{"error":"out of memory"}"#], (false, Some(("error", "out of memory")), None)),
        (&[r#"{"error":{"reason":"r"}}"#], (false, Some(("error", r#"{"reason":"r"}"#)), None)),
        (
            &[r#"{"object":"error","message":"m","type":"BadRequestError","code":400}"#],
            (false, Some(("BadRequestError", "m")), None),
        ),
        (
            &[
                r#"{"choices":[{"delta":{"content":""},"finish_reason":"error"}],"error":{"code":"server_error","message":"m"}}"#,
            ],
            (false, Some(("server_error", "m")), None),
        ),
        (
            &[r#"{"choices":[{"delta":{},"finish_reason":"error","error":{"code":502,"message":"m"}}]}"#],
            (false, Some(("502", "m")), None),
        ),
        (
            &[r#"{"choices":[{"delta":{},"finish_reason":"error"}]}"#],
            (false, Some(("error", "the server ended the reply with an error and did not say which")), None),
        ),
        (&["{", END], (false, None, Some("data of event `message` is not JSON"))),
        (
            &[r#"{"choices":[{"delta":7}]}"#, END],
            (false, None, Some("event `chat.completion.chunk` lacks `delta`")),
        ),
        (
            &[r#"{"choices":[{"delta":{"content":7}}]}"#, END],
            (false, None, Some("event `chat.completion.chunk` lacks `content`")),
        ),
        (
            &[r#"{"choices":[{"delta":{"tool_calls":[7]}}]}"#, END],
            (false, None, Some("event `chat.completion.chunk` lacks `tool_calls`")),
        ),
        (
            &[r#"{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":7}}]}}]}"#, END],
            (false, None, Some("event `chat.completion.chunk` lacks `tool_calls`")),
        ),
    ];
    for (datas, (complete, error, malformed)) in cases {
        let mut all = vec![r#"{"choices":[{"delta":{"content":"So."}}]}"#];
        all.extend(*datas);
        let message = take(&all);
        assert_eq!(message.complete, *complete, "{datas:?}");
        let found = message.error.as_ref().map(|(kind, text)| (kind.as_str(), text.as_str()));
        assert_eq!(found, *error, "{datas:?}");
        let found = message.malformed.as_deref();
        assert!(
            found.is_some() == malformed.is_some()
                && found.unwrap_or("").starts_with(malformed.unwrap_or("")),
            "{datas:?}: {found:?}"
        );
        assert_eq!(blocks(&message), [(BlockKind::Text, r#"{"type":"text","text":"So."}"#)], "{datas:?}");
        assert_eq!(message.blocks[0].complete, *complete, "{datas:?}");
    }
}

#[test]
fn a_stream_without_choices_says_so() {
    for datas in [&[][..], &[r#"{"id":"c","choices":[]}"#, USAGE], &[r#"{"id":"c","choices":null}"#]] {
        let mut all = datas.to_vec();
        all.push("[DONE]");
        let message = take(&all);
        assert_eq!(message.malformed.as_deref(), Some("the reply ended without a choice"));
        assert!(message.blocks.is_empty() && !message.complete);
    }
}

#[test]
fn what_is_not_known_is_reported() {
    for (data, expect) in [
        (r#"{"object":"trace","x":1}"#, "trace"),
        (r#"{"type":"trace"}"#, "trace"),
        ("5", "message"),
        (r#"{"choices":[{"index":1,"delta":{"content":"b"}}]}"#, "choice 1"),
        (r#"{"choices":[{"delta":{"mood":"calm"}}]}"#, "delta: mood"),
        (r#"{"choices":[{"delta":{"content":[{"type":"hologram"}]}}]}"#, "delta: content hologram"),
    ] {
        let mut assembler = ChatAssembler::new();
        let deltas = assembler.event(&event(data)).unwrap();
        assert!(deltas.contains(&Delta::Unknown { what: expect.to_owned() }), "{data}");
        assert_eq!(assembler.finish().unknown, [expect], "{data}");
    }
    // What stands on a chunk beside its choices says nothing about the message.
    let plain = r#"{"choices":[{"delta":{"content":"a"},"logprobs":null,"native_finish_reason":null}],"provider":"p","system_fingerprint":"f","obfuscation":"x","prompt_filter_results":[]}"#;
    assert_eq!(take(&[plain]).unknown, [""; 0]);
    assert_eq!(ChatAssembler::new().event(&event(" ")), Ok(vec![Delta::Ping]));
}

#[test]
fn usage_may_stand_in_several_places() {
    let usage = r#"{"prompt_tokens":7,"completion_tokens":1}"#;
    let expect = Usage { input: Some(7), output: Some(1), ..Usage::default() };
    for (data, expect) in [
        (format!(r#"{{"choices":[],"usage":{usage}}}"#), expect.clone()),
        (
            format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":"stop","usage":{usage}}}]}}"#),
            expect.clone(),
        ),
        (format!(r#"{{"choices":[],"x_groq":{{"id":"r","usage":{usage}}}}}"#), expect.clone()),
        (
            r#"{"choices":[],"timings":{"cache_n":5,"prompt_n":7,"predicted_n":1}}"#.to_owned(),
            Usage { cache_read: Some(5), ..expect },
        ),
        (r#"{"choices":[],"usage":null}"#.to_owned(), Usage::default()),
    ] {
        // Totals of an earlier chunk are replaced.
        let earlier = r#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":0}}"#;
        let datas = if expect == Usage::default() || data.contains("timings") {
            vec![&*data]
        } else {
            vec![earlier, &data]
        };
        assert_eq!(take(&datas).usage, expect, "{data}");
    }
    assert_eq!(take(&[END]).usage_json, None);
}

#[test]
fn a_completion_that_was_not_streamed() {
    let text = r#"{"id":"c","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"a",
        "tool_calls":[{"id":"x","type":"function","function":{"name":"ls","arguments":"{\"b\": 1.0}"}}]},"finish_reason":"tool_calls"}],
        "usage":{"prompt_tokens":3,"completion_tokens":4}}"#;
    let body = Body::parse(text).unwrap();
    let message = Assembled::read_chat(body.root());
    assert_eq!(
        sent_back(&message, |_| true),
        r#"{"role":"assistant","content":"a","tool_calls":[{"id":"x","type":"function","function":{"name":"ls","arguments":"{\"b\": 1.0}"}}]}"#
    );
    assert_eq!(
        (message.complete, message.usage.input, message.stop()),
        (true, Some(3), Some(StopReason::Calls))
    );
    let error = Body::parse(r#"{"error":{"type":"invalid_request_error","message":"m"}}"#).unwrap();
    let error = Assembled::read_chat(error.root());
    assert_eq!(
        (error.complete, error.error),
        (false, Some(("invalid_request_error".to_owned(), "m".to_owned())))
    );
}

/// A reply could grow until memory was used up. No request could hold it, so that none of it is kept.
#[test]
fn a_reply_grows_without_bound() {
    let flood = |event: &dyn Fn(usize) -> Event| {
        let mut assembler = ChatAssembler::new();
        let taken = (0..100_000).take_while(|&at| assembler.event(&event(at)).is_ok()).count();
        let message = assembler.finish();
        assert!(message.blocks.is_empty() && !message.complete);
        (taken, message.malformed.unwrap())
    };
    let calls =
        |at: usize| event(&format!(r#"{{"choices":[{{"delta":{{"tool_calls":[{{"index":{at}}}]}}}}]}}"#));
    assert_eq!(flood(&calls), (4096, "the reply has more than 4096 blocks".to_owned()));
    let others = |at: usize| event(&format!(r#"{{"choices":[{{"delta":{{"m{at}":1}}}}]}}"#));
    assert_eq!(flood(&others), (4096, "the reply has more than 4096 blocks".to_owned()));
    let piece = "x".repeat((1 << 20) - r#"{"content":""}"#.len());
    let text = event(&format!(r#"{{"choices":[{{"delta":{{"content":"{piece}"}}}}]}}"#));
    assert_eq!(flood(&|_| text.clone()), (32, "the reply is larger than 32 MiB".to_owned()));
}

#[test]
fn the_cut_of_the_bytes_does_not_matter() {
    for stream in [CHAT, &CHAT.replace('\n', "\r\n"), &CHAT.replace('\n', "\r")] {
        let bytes = stream.as_bytes();
        let whole = assemble(bytes);
        assert!(whole.complete);
        for cut in 0..=bytes.len() {
            assert_eq!(assemble_parts([&bytes[..cut], &bytes[cut..]]), whole, "cut at {cut}");
        }
        for size in [1, 2, 3, 7, 64, 1000] {
            assert_eq!(assemble_parts(bytes.chunks(size)), whole, "chunks of {size}");
        }
    }
}

#[test]
fn a_stream_may_end_at_any_byte() {
    let whole = assemble(CHAT.as_bytes());
    let finish = CHAT.find(r#""finish_reason":"tool_calls""#).unwrap();
    let finish = finish + CHAT[finish..].find("\n\n").unwrap() + 2;
    let mut earlier: Vec<Vec<u8>> = Vec::new();
    for end in 0..=CHAT.len() {
        let message = assemble(&CHAT.as_bytes()[..end]);
        // Behind the reason, only the usage can be missing.
        assert_eq!(message.complete, end >= finish, "cut at {end}");
        assert!(Body::parse(sent_back(&message, |_| true)).is_ok(), "cut at {end}");
        for (block, full) in message.blocks.iter().zip(&whole.blocks) {
            assert!(!block.complete || block == full, "cut at {end}");
        }
        let complete: Vec<_> =
            message.blocks.into_iter().filter(|block| block.complete).map(|block| block.json).collect();
        assert!(complete.starts_with(&earlier), "a complete block stays as it is; cut at {end}");
        earlier = complete;
    }
}

fn call(id: &str, name: &str, input: &str) -> (String, String, String) {
    (id.to_owned(), name.to_owned(), input.to_owned())
}

fn calls_of(message: &Assembled) -> Vec<(String, String, String)> {
    let calls = message.blocks.iter().filter(|block| block.kind == BlockKind::ToolUse);
    calls
        .map(|block| {
            let body = Body::parse(block.json.clone()).unwrap();
            let call = ToolCall::read(body.root());
            let arguments = body.root().pointer("/function/arguments").and_then(Node::str);
            assert_eq!(arguments.as_deref(), Some(&*call.input()));
            assert!(call.node.get("type").is_some_and(|name| name.is_str("function")));
            let text = |text: Option<std::borrow::Cow<'_, str>>| text.unwrap_or_default().into_owned();
            (text(call.id.clone()), text(call.name.clone()), call.input().into_owned())
        })
        .collect()
}

fn sent_back(message: &Assembled, keep: impl Fn(BlockKind) -> bool) -> String {
    let kept = message.blocks.iter().filter(|block| keep(block.kind));
    let kept: Vec<&[u8]> = kept.map(|block| block.json.as_slice()).collect();
    String::from_utf8(assistant_message(&kept)).unwrap()
}

fn one_choice(deltas: &[&str], finish_reason: &str) -> Assembled {
    let chunks: Vec<String> = deltas
        .iter()
        .map(|delta| format!(r#"{{"id":"c","model":"m","choices":[{{"index":0,"delta":{delta}}}]}}"#))
        .chain([format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"{finish_reason}"}}]}}"#)])
        .chain(["[DONE]".to_owned()])
        .collect();
    take(&chunks.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The message of events with these data; those that do not fit are passed over.
fn take(datas: &[&str]) -> Assembled {
    let mut assembler = ChatAssembler::new();
    for data in datas {
        drop(assembler.event(&event(data)));
    }
    assembler.finish()
}

fn event(data: &str) -> Event {
    Event { name: "message".to_owned(), data: data.to_owned(), raw: Vec::new() }
}

fn blocks(message: &Assembled) -> Vec<(BlockKind, &str)> {
    message.blocks.iter().map(|block| (block.kind, std::str::from_utf8(&block.json).unwrap())).collect()
}

fn assemble(bytes: &[u8]) -> Assembled {
    assemble_parts([bytes])
}

fn assemble_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Assembled {
    let (mut parser, mut assembler) = (Parser::new(), ChatAssembler::new());
    for part in parts {
        for event in parser.push(part).unwrap() {
            assembler.event(&event).unwrap();
        }
    }
    assembler.finish()
}

fn events(bytes: &[u8]) -> Vec<Event> {
    Parser::new().push(bytes).unwrap()
}

const END: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;

const USAGE: &str = r#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":1}}"#;

#[test]
fn an_event_that_does_not_fit_is_told() {
    let mut assembler = ChatAssembler::new();
    let lacks = AssembleError::Member { event: "chat.completion.chunk".to_owned(), member: "refusal" };
    assert_eq!(assembler.event(&event(r#"{"choices":[{"delta":{"refusal":1}}]}"#)), Err(lacks));
}
