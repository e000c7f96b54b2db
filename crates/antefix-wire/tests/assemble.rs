//! Streamed messages and the JSON they are sent back as.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail")]

use antefix_wire::anthropic::BlockKind;
use antefix_wire::assemble::{AssembleError, Assembled, Assembler, Delta};
use antefix_wire::json::{Body, Node};
use antefix_wire::sse::{Event, Parser};
use antefix_wire::usage::Usage;

const TOOLS: &str = include_str!("streams/tools.sse");
const SERVER_TOOLS: &str = include_str!("streams/server_tools.sse");

#[test]
fn thinking_text_and_tool_calls() {
    let message = assemble(TOOLS.as_bytes());
    let expect = [
        r#"{"type":"thinking","thinking":"Read the file, then \"edit\" it.\n","signature":"c2lnbmF0dXJl"}"#,
        r#"{"type":"redacted_thinking","data":"b3BhcXVl"}"#,
        r#"{"type":"text","text":"Zwölf études 🎹 / 𝄞"}"#,
        r#"{"type":"tool_use","id":"toolu_01","name":"edit","input":{"zeta":1.0e2,"alpha":[0.1000,-0,12345678901234567890123],"path":"src/\u00e9\/main.rs"},"caller":{"type":"direct"}}"#,
        r#"{"type":"tool_use","id":"toolu_02","name":"status","input":{}}"#,
    ];
    assert_eq!(blocks(&message), expect);
    assert_eq!(String::from_utf8(message.content_json()).unwrap(), format!("[{}]", expect.join(",")));
    assert!(message.blocks.iter().all(|block| block.complete && block.broken_input.is_none()));
    let usage = Usage {
        input: Some(12),
        cache_read: Some(4000),
        cache_write: Some(350),
        cache_write_5m: Some(100),
        cache_write_1h: Some(200),
        output: Some(87),
        thinking: Some(30),
        service_tier: Some("standard".to_owned()),
        ..Usage::default()
    };
    assert_eq!(
        Assembled { blocks: Vec::new(), usage_json: None, ..message },
        Assembled {
            message_id: Some("msg_01A".to_owned()),
            model: Some("claude-opus-5-5".to_owned()),
            stop_reason: Some("tool_use".to_owned()),
            usage,
            complete: true,
            diagnostics: Some(r#"{"cache_miss_reason":null}"#.to_owned()),
            ..Assembled::default()
        }
    );
}

#[test]
fn the_raw_usage_carries_the_later_counts() {
    let usage = String::from_utf8(assemble(TOOLS.as_bytes()).usage_json.unwrap()).unwrap();
    assert_eq!(
        usage,
        r#"{"input_tokens":12,"cache_creation_input_tokens":350,"cache_read_input_tokens":4000,"cache_creation":{"ephemeral_5m_input_tokens":100,"ephemeral_1h_input_tokens":200},"output_tokens":87,"service_tier":"standard","output_tokens_details":{"thinking_tokens":30}}"#
    );
}

#[test]
fn server_tools_citations_compaction_and_what_is_not_known() {
    let message = assemble(SERVER_TOOLS.as_bytes());
    let expect = [
        r#"{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"tide tables"}}"#,
        r#"{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://example.org/tides","title":"Tides","encrypted_content":"eA=="}]}"#,
        r#"{"citations":[{"type":"web_search_result_location","url":"https://example.org/tides","cited_text":"High water"},{"type":"char_location","start_char_index":0}],"type":"text","text":"High water at six."}"#,
        r#"{"type":"compaction","content":"A summary.","encrypted_content":"b3BhcXVl"}"#,
        r#"{"type":"fallback","from":{"model":"claude-sonnet-5-5"},"to":{"model":"claude-haiku-5-5"}}"#,
        r#"{"type":"hologram","depth":1.50}"#,
    ];
    assert_eq!(blocks(&message), expect);
    assert_eq!(message.model.as_deref(), Some("claude-haiku-5-5"));
    assert_eq!(message.unknown, ["content_block_start: hologram", "content_block_delta: depth_delta"]);
    assert_eq!(message.blocks[5].unknown_deltas, 1);
    assert_eq!(message.usage.web_searches, Some(1));
    assert_eq!(message.context_management.as_deref(), Some(r#"{"applied_edits":[]}"#));
}

#[test]
fn a_response_that_was_not_streamed() {
    let text = r#"{"id":"msg_3","type":"message","role":"assistant","model":"claude-opus-5-5","content":[
        {"type":"text","text":"a \u00e9"},{"type":"tool_use","id":"t","name":"n","input":{"b": 1.0,"a":{}}},{"type":"hologram"}],
        "stop_reason":"stop_sequence","stop_sequence":"END","usage":{"input_tokens":3,"output_tokens":4},"diagnostics":null}"#;
    let body = Body::parse(text).unwrap();
    let message = Assembled::read(body.root());
    let expect = [
        r#"{"type":"text","text":"a \u00e9"}"#,
        r#"{"type":"tool_use","id":"t","name":"n","input":{"b":1.0,"a":{}}}"#,
        r#"{"type":"hologram"}"#,
    ];
    assert_eq!(blocks(&message), expect);
    assert!(message.blocks.iter().all(|block| block.complete));
    assert_eq!(
        Assembled { blocks: Vec::new(), usage_json: None, ..message },
        Assembled {
            message_id: Some("msg_3".to_owned()),
            model: Some("claude-opus-5-5".to_owned()),
            stop_reason: Some("stop_sequence".to_owned()),
            stop_sequence: Some("END".to_owned()),
            usage: Usage { input: Some(3), output: Some(4), ..Usage::default() },
            complete: true,
            unknown: vec!["content_block_start: hologram".to_owned()],
            diagnostics: Some("null".to_owned()),
            ..Assembled::default()
        }
    );
    // A request that only warms the cache has no content.
    let warm = Body::parse(r#"{"id":"msg_4","content":[],"stop_reason":"max_tokens"}"#).unwrap();
    assert!(Assembled::read(warm.root()).blocks.is_empty());
    let error =
        Body::parse(r#"{"type":"error","error":{"type":"invalid_request_error","message":"m"}}"#).unwrap();
    let error = Assembled::read(error.root());
    assert_eq!(
        (error.complete, error.error),
        (false, Some(("invalid_request_error".to_owned(), "m".to_owned())))
    );
}

#[test]
fn deltas_for_a_screen() {
    let mut assembler = Assembler::new();
    let deltas: Vec<_> =
        events(TOOLS.as_bytes()).iter().flat_map(|event| assembler.event(event).unwrap()).collect();
    let text = |index, text: &str| Delta::Text { index, text: text.to_owned() };
    assert_eq!(deltas.len(), 22);
    assert!(deltas.contains(&text(2, "études 🎹 / 𝄞")));
    assert_eq!(deltas.last(), Some(&Delta::Finished));
    assert!(deltas.contains(&Delta::BlockStarted {
        index: 3,
        kind: BlockKind::ToolUse,
        id: Some("toolu_01".to_owned()),
        name: Some("edit".to_owned()),
    }));
    assert!(deltas.contains(&Delta::Stop { reason: "tool_use".to_owned(), sequence: None }));
}

#[test]
fn blocks_are_put_together() {
    let cases: &[(&str, &[&str], &str)] = &[
        // Text the block was started with stands in front of the deltas.
        (
            r#"{"type":"text","text":"a"}"#,
            &[r#"{"type":"text_delta","text":"b"}"#],
            r#"{"type":"text","text":"ab"}"#,
        ),
        // A pair of surrogates may be split between two deltas.
        (
            r#"{"type":"text","text":""}"#,
            &[r#"{"type":"text_delta","text":"\ud83c"}"#, r#"{"type":"text_delta","text":"\udfb9"}"#],
            r#"{"type":"text","text":"🎹"}"#,
        ),
        (r#"{"type":"text"}"#, &[r#"{"type":"text_delta","text":"a"}"#], r#"{"type":"text","text":"a"}"#),
        (
            r#"{"type":"text","text":null}"#,
            &[r#"{"type":"text_delta","text":"a"}"#],
            r#"{"type":"text","text":"a"}"#,
        ),
        (r#"{"type":"text","text":""}"#, &[], r#"{"type":"text","text":""}"#),
        // A signature that the start does not announce follows; a second one takes its place.
        (
            r#"{"type":"thinking","thinking":""}"#,
            &[
                r#"{"type":"signature_delta","signature":"a"}"#,
                r#"{"type":"signature_delta","signature":"b"}"#,
            ],
            r#"{"type":"thinking","thinking":"","signature":"b"}"#,
        ),
        (
            r#"{"type":"tool_use","id":"t","name":"n"}"#,
            &[],
            r#"{"type":"tool_use","id":"t","name":"n","input":{}}"#,
        ),
        (r#"{"type":"tool_use","input":null}"#, &[], r#"{"type":"tool_use","input":{}}"#),
        (r#"{"type":"tool_use","input":""}"#, &[], r#"{"type":"tool_use","input":{}}"#),
        (r#"{"type":"tool_use","input":{"a": 1}}"#, &[], r#"{"type":"tool_use","input":{"a":1}}"#),
        (
            r#"{"type":"tool_use","input":{"a":1}}"#,
            &[r#"{"type":"input_json_delta","partial_json":" "}"#],
            r#"{"type":"tool_use","input":{"a":1}}"#,
        ),
        (
            r#"{"type":"tool_use","input":{"a":1}}"#,
            &[r#"{"type":"input_json_delta","partial_json":"{\"b\":2, \"b\":3}"}"#],
            r#"{"type":"tool_use","input":{"b":2,"b":3}}"#,
        ),
        (
            r#"{"type":"text","citations":null,"text":""}"#,
            &[r#"{"type":"citations_delta","citation":{"a":1}}"#],
            r#"{"type":"text","citations":[{"a":1}],"text":""}"#,
        ),
        (
            r#"{"type":"text","text":"","citations":[{"a": 1}]}"#,
            &[r#"{"type":"citations_delta","citation":{"b":2}}"#],
            r#"{"type":"text","text":"","citations":[{"a":1},{"b":2}]}"#,
        ),
        (
            r#"{"type":"mcp_tool_use","input":{}}"#,
            &[
                r#"{"type":"input_json_delta","partial_json":"{\"a\":"}"#,
                r#"{"type":"input_json_delta","partial_json":"1}"}"#,
            ],
            r#"{"type":"mcp_tool_use","input":{"a":1}}"#,
        ),
    ];
    for (start, deltas, expect) in cases {
        let block = one_block(start, deltas);
        assert_eq!(blocks(&block), [*expect], "{start} {deltas:?}");
        assert!(block.blocks[0].complete, "{start} {deltas:?}");
    }
}

#[test]
fn a_tool_input_that_is_not_an_object_is_reported() {
    for input in
        [r#"{"path": "src/ma"#, "{", "[1]", r#""text""#, "12", r#"{"a":1}}"#, r#"{"a":01}"#, r#"{"a":nul"#]
    {
        let mut delta = br#"{"type":"input_json_delta","partial_json":"#.to_vec();
        antefix_wire::json::write_string(&mut delta, input);
        delta.push(b'}');
        let message = one_block(
            r#"{"type":"tool_use","id":"t","name":"n","input":{}}"#,
            &[std::str::from_utf8(&delta).unwrap()],
        );
        let block = &message.blocks[0];
        assert_eq!(blocks(&message), [r#"{"type":"tool_use","id":"t","name":"n","input":{}}"#]);
        assert_eq!((block.complete, block.broken_input.as_deref()), (false, Some(input)));
    }
}

#[test]
fn errors_in_the_stream() {
    let error = |name: &str, data: &str| {
        let mut assembler = Assembler::new();
        assembler.event(&event(name, data)).unwrap();
        assembler.finish().error.unwrap()
    };
    let pair = |kind: &str, message: &str| (kind.to_owned(), message.to_owned());
    let overloaded =
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}"#;
    assert_eq!(error("error", overloaded), pair("overloaded_error", "Overloaded"));
    assert_eq!(error("message", overloaded), pair("overloaded_error", "Overloaded"));
    assert_eq!(error("error", r#"{"type":"api_error","message":"m"}"#), pair("api_error", "m"));
    assert_eq!(error("error", "upstream broke"), pair("upstream broke", ""));
}

#[test]
fn events_that_do_not_fit() {
    let start = r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
    let delta = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}"#;
    let stop = r#"{"type":"content_block_stop","index":0}"#;
    let message = r#"{"type":"message_start","message":{}}"#;
    let lacks = |event: &str, member| AssembleError::Member { event: event.to_owned(), member };
    let cases = [
        (vec![delta], AssembleError::NotOpen { index: 0 }),
        (vec![start, start], AssembleError::BlockAgain { index: 0 }),
        (vec![start, stop, delta], AssembleError::NotOpen { index: 0 }),
        (vec![start, stop, stop], AssembleError::NotOpen { index: 0 }),
        (vec![message, message], AssembleError::MessageAgain),
        (vec![r#"{"type":"message_start"}"#], lacks("message_start", "message")),
        (vec![r#"{"type":"content_block_stop"}"#], lacks("content_block_stop", "index")),
        (vec![r#"{"type":"content_block_stop","index":-1}"#], lacks("content_block_stop", "index")),
        (
            vec![r#"{"type":"content_block_start","index":0,"content_block":1}"#],
            lacks("content_block_start", "content_block"),
        ),
        (vec![start, r#"{"type":"content_block_delta","index":0}"#], lacks("content_block_delta", "delta")),
        (
            vec![start, r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":1}}"#],
            lacks("content_block_delta", "text"),
        ),
    ];
    for (datas, expect) in cases {
        let mut assembler = Assembler::new();
        let results: Vec<_> = datas.iter().map(|data| assembler.event(&event("message", data))).collect();
        assert_eq!(results.last(), Some(&Err(expect)), "{datas:?}");
        assert!(results[..results.len() - 1].iter().all(Result::is_ok), "{datas:?}");
    }
    assert!(
        matches!(Assembler::new().event(&event("x", "{")), Err(AssembleError::Json { event, .. }) if event == "x")
    );
}

/// Events behind one that did not fit were still taken, so that the message looked whole: a call whose start was
/// damaged was missing in it, and a text had a hole. The turn then ended as if the model had been done.
#[test]
fn a_message_is_whole_behind_an_event_that_does_not_fit() {
    let bad = [
        (r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_u"#, "is not JSON"),
        (r#"{"type":"content_block_start","index":1}"#, "lacks `content_block`"),
        (r#"{"type":"content_block_delta","index":5,"delta":{"type":"text_delta","text":"x"}}"#, "index 5"),
    ];
    for (bad, reason) in bad {
        let mut assembler = Assembler::new();
        let mut take = |data: &str| assembler.event(&event("message", data));
        take(r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"So."}}"#)
            .unwrap();
        assert!(take(bad).is_err(), "{bad}");
        for ignored in [
            r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" And"}}"#,
            r#"{"type":"content_block_stop","index":0}"#,
            r#"{"type":"content_block_start","index":2,"content_block":{"type":"text","text":"more"}}"#,
            "{",
        ] {
            assert!(take(ignored).is_err() || take(ignored) == Ok(Vec::new()), "{bad} {ignored}");
        }
        take(r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":7}}"#)
            .unwrap();
        assert_eq!(take(r#"{"type":"message_stop"}"#), Ok(Vec::new()));
        let message = assembler.finish();
        assert!(message.malformed.as_ref().is_some_and(|text| text.contains(reason)), "{message:?}");
        assert_eq!(blocks(&message), [r#"{"type":"text","text":"So."}"#]);
        assert!(!message.complete && !message.blocks[0].complete);
        assert_eq!((message.stop_reason.as_deref(), message.usage.output), (Some("tool_use"), Some(7)));
    }
}

/// What a proxy added behind the end of a message could still fail it. Nothing there is of any account.
#[test]
fn what_follows_the_end_changes_a_message() {
    let whole = assemble(TOOLS.as_bytes());
    let mut assembler = Assembler::new();
    for event in events(TOOLS.as_bytes()) {
        assembler.event(&event).unwrap();
    }
    for data in [
        "{",
        "[DONE]",
        r#"{"type":"error","error":{"type":"api_error","message":"m"}}"#,
        r#"{"type":"message_delta","usage":{"output_tokens":1}}"#,
        r#"{"type":"content_block_start","index":99,"content_block":{"type":"text","text":"x"}}"#,
    ] {
        assert_eq!(assembler.event(&event("message", data)), Ok(Vec::new()), "{data}");
    }
    assert_eq!(assembler.finish(), whole);
}

/// Each unknown event was noted under its name: a flood of them made a line of 39 MB, and a name could be as long
/// as an event.
#[test]
fn a_flood_of_unknown_events_is_noted_one_by_one() {
    let mut assembler = Assembler::new();
    let mut told = 0;
    for number in 0..100 {
        for _ in 0..3 {
            let data = format!(r#"{{"type":"{number}{}"}}"#, "é".repeat(5_000));
            told += assembler.event(&event("message", &data)).unwrap().len();
        }
    }
    let message = assembler.finish();
    assert_eq!((told, message.unknown.len(), message.unknown_left_out), (32, 32, 68 * 3));
    assert_eq!(message.unknown[31], format!("31{}…", "é".repeat(78)));
    assert!(message.malformed.is_none());
}

/// A reply could grow until memory was used up. No request could hold it, so that none of it is kept.
#[test]
fn a_reply_grows_without_bound() {
    let start = |index: usize| {
        let data = format!(
            r#"{{"type":"content_block_start","index":{index},"content_block":{{"type":"text","text":"a"}}}}"#
        );
        event("message", &data)
    };
    let flood = |event: &dyn Fn(usize) -> Event| {
        let mut assembler = Assembler::new();
        assembler.event(&start(0)).unwrap();
        let taken = (1..100_000).take_while(|&at| assembler.event(&event(at)).is_ok()).count();
        let message = assembler.finish();
        assert!(message.blocks.is_empty() && !message.complete);
        (taken, message.malformed.unwrap())
    };
    assert_eq!(flood(&start), (4095, "the reply has more than 4096 blocks".to_owned()));
    let too_large = "the reply is larger than 32 MiB".to_owned();
    let text = "x".repeat((1 << 20) - r#"{"type":"text_delta","text":""}"#.len());
    let piece = event(
        "message",
        &format!(
            r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{text}"}}}}"#
        ),
    );
    assert_eq!(flood(&|_| piece.clone()), (31, too_large.clone()));
    let usage = |at: usize| {
        let key = at.to_string() + text.get(..1 << 12).unwrap();
        event("message", &format!(r#"{{"type":"message_delta","usage":{{"{key}":1}}}}"#))
    };
    assert_eq!(flood(&usage), (63, too_large));
}

/// A block nested as deep as an event may be was taken, and could then not be read within its message.
#[test]
fn a_block_is_too_deep_for_a_request() {
    let nested = |depth: usize| format!("{}{}", r#"{"a":"#.repeat(depth - 1) + "{}", "}".repeat(depth - 1));
    let input = |depth: usize| {
        let mut delta = br#"{"type":"input_json_delta","partial_json":"#.to_vec();
        antefix_wire::json::write_string(&mut delta, &nested(depth));
        delta.push(b'}');
        let delta = String::from_utf8(delta).unwrap();
        one_block(r#"{"type":"tool_use","id":"t","name":"n","input":{}}"#, &[&delta])
    };
    let body = |message: &Assembled| {
        let content = String::from_utf8(message.content_json()).unwrap();
        Body::parse(format!(r#"{{"messages":[{{"role":"assistant","content":{content}}}]}}"#))
    };
    let deepest = input(1016);
    assert!(deepest.blocks[0].complete && body(&deepest).is_ok());
    assert_eq!(input(1017).blocks[0].broken_input, Some(nested(1017)));
    let start = |depth: usize| {
        let block = format!(r#"{{"type":"hologram","a":{}}}"#, nested(depth));
        let data = format!(r#"{{"type":"content_block_start","index":0,"content_block":{block}}}"#);
        let mut assembler = Assembler::new();
        let taken = assembler.event(&event("message", &data)).is_ok();
        assert!(body(&assembler.finish()).is_ok());
        taken
    };
    assert!(start(1014) && !start(1015));
}

#[test]
fn what_is_not_known_is_reported() {
    for (name, data, expect) in [
        ("message", "[DONE]", "[DONE]"),
        ("message", r#"{"type":"trace"}"#, "trace"),
        ("trace", "5", "trace"),
    ] {
        let mut assembler = Assembler::new();
        assert_eq!(assembler.event(&event(name, data)), Ok(vec![Delta::Unknown { what: expect.to_owned() }]));
        assert_eq!(assembler.finish().unknown, [expect]);
    }
}

#[test]
fn the_cut_of_the_bytes_does_not_matter() {
    for stream in [TOOLS, SERVER_TOOLS, &TOOLS.replace('\n', "\r\n"), &TOOLS.replace('\n', "\r")] {
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
    for stream in [TOOLS, SERVER_TOOLS] {
        let whole = assemble(stream.as_bytes());
        let mut earlier: Vec<Vec<u8>> = Vec::new();
        for end in 0..stream.len() {
            let message = assemble(&stream.as_bytes()[..end]);
            assert!(!message.complete, "cut at {end}");
            assert!(message.blocks.len() <= whole.blocks.len());
            for (block, full) in message.blocks.iter().zip(&whole.blocks) {
                let body = Body::parse(block.json.clone()).expect("blocks are JSON wherever the stream ends");
                assert_eq!(
                    body.root().get("type").and_then(Node::str),
                    Body::parse(full.json.clone()).unwrap().root().get("type").and_then(Node::str)
                );
                assert!(!block.complete || block == full, "cut at {end}");
            }
            let complete: Vec<_> =
                message.blocks.into_iter().filter(|block| block.complete).map(|block| block.json).collect();
            assert!(complete.starts_with(&earlier), "a complete block stays as it is; cut at {end}");
            earlier = complete;
        }
    }
}

fn one_block(start: &str, deltas: &[&str]) -> Assembled {
    let mut assembler = Assembler::new();
    let mut take = |data: String| assembler.event(&event("message", &data)).unwrap();
    take(format!(r#"{{"type":"content_block_start","index":7,"content_block":{start}}}"#));
    for delta in deltas {
        take(format!(r#"{{"type":"content_block_delta","index":7,"delta":{delta}}}"#));
    }
    take(r#"{"type":"content_block_stop","index":7}"#.to_owned());
    assembler.finish()
}

fn event(name: &str, data: &str) -> Event {
    Event { name: name.to_owned(), data: data.to_owned(), raw: Vec::new() }
}

fn blocks(message: &Assembled) -> Vec<&str> {
    message.blocks.iter().map(|block| std::str::from_utf8(&block.json).unwrap()).collect()
}

fn assemble(bytes: &[u8]) -> Assembled {
    assemble_parts([bytes])
}

fn assemble_parts<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Assembled {
    let (mut parser, mut assembler) = (Parser::new(), Assembler::new());
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
