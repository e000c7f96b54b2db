//! Usage objects in every shape the API sends.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail")]

use antefix_wire::json::Body;
use antefix_wire::usage::{Iteration, IterationKind, ReportedCost, Usage, merge_json};

#[test]
fn shapes() {
    let full = r#"{"input_tokens":1,"cache_creation_input_tokens":5,"cache_read_input_tokens":2,
        "cache_creation":{"ephemeral_5m_input_tokens":3,"ephemeral_1h_input_tokens":2},"output_tokens":6,
        "output_tokens_details":{"thinking_tokens":4},"server_tool_use":{"web_search_requests":7,"web_fetch_requests":8},
        "service_tier":"batch","speed":"fast","inference_geo":"us","fallback_credit":{"status": {"type":"redeemed"}},"new":[]}"#;
    check(
        full,
        Usage {
            input: Some(1),
            cache_read: Some(2),
            cache_write: Some(5),
            cache_write_5m: Some(3),
            cache_write_1h: Some(2),
            output: Some(6),
            thinking: Some(4),
            web_searches: Some(7),
            web_fetches: Some(8),
            service_tier: Some("batch".to_owned()),
            speed: Some("fast".to_owned()),
            inference_geo: Some("us".to_owned()),
            fallback_credit: Some(r#"{"status": {"type":"redeemed"}}"#.to_owned()),
            iterations: Vec::new(),
            reported_cost: None,
        },
    );
    check(
        r#"{"input_tokens":1,"output_tokens":0}"#,
        Usage { input: Some(1), output: Some(0), ..Usage::default() },
    );
    check(
        r#"{"input_tokens":null,"cache_creation":null,"server_tool_use":null,"output_tokens_details":null,
        "service_tier":null,"speed":null,"inference_geo":null,"iterations":null,"fallback_credit":null}"#,
        Usage::default(),
    );
    check("{}", Usage::default());
    check("null", Usage::default());
    check("[1]", Usage::default());
    check(
        r#"{"input_tokens":1.0,"output_tokens":-1,"cache_read_input_tokens":"3","speed":1}"#,
        Usage::default(),
    );
    check(r#"{"output_tokens":99999999999999999999}"#, Usage::default());
}

#[test]
fn iterations() {
    let one = |kind, model: Option<&str>, counts: [u64; 4]| Iteration {
        kind,
        model: model.map(str::to_owned),
        input: Some(counts[0]),
        cache_read: Some(counts[1]),
        cache_write: Some(counts[2]),
        cache_write_5m: None,
        cache_write_1h: None,
        output: Some(counts[3]),
    };
    let usage = read(
        r#"{"input_tokens":30,"iterations":[
        {"type":"message","input_tokens":1,"cache_read_input_tokens":2,"cache_creation_input_tokens":3,"output_tokens":4},
        {"type":"compaction","input_tokens":5,"cache_read_input_tokens":6,"cache_creation_input_tokens":7,"output_tokens":8,"cache_creation":null},
        {"type":"advisor_message","model":"claude-haiku-5-5","input_tokens":9,"cache_read_input_tokens":0,"cache_creation_input_tokens":0,"output_tokens":1},
        {"type":"fallback_message","model":"claude-opus-5","input_tokens":20,"cache_read_input_tokens":21,"cache_creation_input_tokens":22,"output_tokens":23},
        {"type":"compaction","input_tokens":99,"cache_read_input_tokens":0,"cache_creation_input_tokens":0,"output_tokens":0},
        {"type":"dream"}]}"#,
    );
    let extra = [
        one(IterationKind::Compaction, None, [5, 6, 7, 8]),
        one(IterationKind::Advisor, Some("claude-haiku-5-5"), [9, 0, 0, 1]),
        one(IterationKind::Compaction, None, [99, 0, 0, 0]),
    ];
    assert_eq!(usage.extra_iterations().cloned().collect::<Vec<_>>(), extra);
    assert_eq!(usage.iterations[0], one(IterationKind::Message, None, [1, 2, 3, 4]));
    assert_eq!(usage.iterations[5].kind, IterationKind::Other);
    // The context is that of the last message, and never of a compaction behind it.
    assert_eq!(usage.context(), Some(63));
    assert_eq!(read(r#"{"input_tokens":3,"cache_read_input_tokens":4}"#).context(), Some(7));
}

#[test]
fn later_totals_replace_and_what_they_leave_out_stays() {
    let start = r#"{"input_tokens":10,"cache_creation_input_tokens":300,"cache_read_input_tokens":4000,
        "cache_creation":{"ephemeral_5m_input_tokens":100,"ephemeral_1h_input_tokens":200},"output_tokens":1,"service_tier":"standard"}"#;
    let later = r#"{"input_tokens":null,"cache_creation_input_tokens":350,"output_tokens":87,"server_tool_use":{"web_search_requests":1},
        "iterations":[{"type":"message"}]}"#;
    let mut usage = read(start);
    usage.merge_cumulative(&read(later));
    let expect = Usage {
        cache_write: Some(350),
        output: Some(87),
        web_searches: Some(1),
        iterations: read(later).iterations,
        ..read(start)
    };
    assert_eq!(usage, expect);
    usage.merge_cumulative(&Usage::default());
    assert_eq!(usage, expect);
    // The raw merge says the same.
    let (start, later) = (Body::parse(start).unwrap(), Body::parse(later).unwrap());
    let merged = Body::parse(merge_json(start.root(), later.root())).unwrap();
    assert_eq!(Usage::read(merged.root()), expect);
}

#[test]
fn raw_objects_merge_member_by_member() {
    let cases = [
        ("{}", "{}", "{}"),
        (r#"{"a": 1}"#, "{}", r#"{"a":1}"#),
        (r#"{"a":1,"b":2}"#, r#"{"b":3,"a":null}"#, r#"{"a":1,"b":3}"#),
        (r#"{"a":null}"#, r#"{"c":1.0e2,"a":[ ]}"#, r#"{"a":[],"c":1.0e2}"#),
        ("{}", r#"{"a":null}"#, r#"{"a":null}"#),
    ];
    for (earlier, later, expect) in cases {
        let (earlier, later) = (Body::parse(earlier).unwrap(), Body::parse(later).unwrap());
        let merged = merge_json(earlier.root(), later.root());
        assert_eq!(String::from_utf8(merged).unwrap(), expect);
    }
}

#[test]
fn writes_beyond_the_split_live_five_minutes() {
    let cases = [
        // total, split 5m, split 1h => written 5m, 1h
        ((Some(350), Some(100), Some(200)), (150, 200)),
        ((Some(300), Some(100), Some(200)), (100, 200)),
        ((Some(300), None, None), (300, 0)),
        ((Some(300), None, Some(300)), (0, 300)),
        ((None, Some(100), Some(200)), (100, 200)),
        ((None, None, None), (0, 0)),
        // A total below its parts does not make any of them disappear.
        ((Some(50), Some(100), Some(200)), (100, 200)),
    ];
    for ((cache_write, cache_write_5m, cache_write_1h), expect) in cases {
        let usage = Usage { cache_write, cache_write_5m, cache_write_1h, ..Usage::default() };
        assert_eq!((usage.written_5m(), usage.written_1h()), expect, "{cache_write:?}");
    }
}

#[test]
fn input_in_total() {
    assert_eq!(Usage::default().total_input(), None);
    assert_eq!(
        read(r#"{"input_tokens":1,"cache_read_input_tokens":2,"cache_creation_input_tokens":4}"#)
            .total_input(),
        Some(7)
    );
    assert_eq!(read(r#"{"input_tokens":1,"cache_creation":{"ephemeral_5m_input_tokens":2,"ephemeral_1h_input_tokens":3}}"#).total_input(), Some(6));
    assert_eq!(
        read(r#"{"input_tokens":18446744073709551615,"cache_read_input_tokens":2}"#).total_input(),
        Some(u64::MAX)
    );
}

/// Usage objects of Chat Completions, server by server, and input, read, written, output and thinking.
type Chat = (&'static str, [Option<u64>; 5], Option<ReportedCost>);

#[test]
fn chat_completions_count_the_cached_tokens_within_the_prompt() {
    let dollars = |text: &str| Some(ReportedCost::Dollars(text.to_owned()));
    let cases: [Chat; 19] = [
        // OpenAI.
        (
            r#"{"prompt_tokens":135,"completion_tokens":7,"total_tokens":142,"prompt_tokens_details":{"cached_tokens":100,"cache_write_tokens":30,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":4}}"#,
            [Some(5), Some(100), Some(30), Some(7), Some(4)],
            None,
        ),
        (r#"{"prompt_tokens":135,"completion_tokens":7}"#, [Some(135), None, None, Some(7), None], None),
        (
            r#"{"prompt_tokens":135,"completion_tokens":7,"prompt_tokens_details":null,"completion_tokens_details":null}"#,
            [Some(135), None, None, Some(7), None],
            None,
        ),
        (
            r#"{"prompt_tokens":135,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":0}}"#,
            [Some(135), Some(0), None, Some(7), None],
            None,
        ),
        // More cached than there was: nothing is left of the input.
        (
            r#"{"prompt_tokens":135,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":200}}"#,
            [Some(0), Some(200), None, Some(7), None],
            None,
        ),
        // OpenRouter says what it cost, as a number of any form.
        (
            r#"{"prompt_tokens":135,"completion_tokens":7,"cost":0.00123,"prompt_tokens_details":{"cached_tokens":100,"cache_write_tokens":0},"cost_details":{"upstream_inference_cost":null}}"#,
            [Some(35), Some(100), Some(0), Some(7), None],
            dollars("0.00123"),
        ),
        (
            r#"{"prompt_tokens":135,"completion_tokens":7,"cost":1.5e-5}"#,
            [Some(135), None, None, Some(7), None],
            dollars("1.5e-5"),
        ),
        (
            r#"{"prompt_tokens":135,"completion_tokens":7,"cost":null}"#,
            [Some(135), None, None, Some(7), None],
            None,
        ),
        // DeepSeek.
        (
            r#"{"prompt_tokens":135,"completion_tokens":7,"total_tokens":142,"prompt_cache_hit_tokens":100,"prompt_cache_miss_tokens":35}"#,
            [Some(35), Some(100), None, Some(7), None],
            None,
        ),
        (
            r#"{"prompt_tokens":135,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":100},"prompt_cache_hit_tokens":100,"prompt_cache_miss_tokens":35}"#,
            [Some(35), Some(100), None, Some(7), None],
            None,
        ),
        // Moonshot, Qwen.
        (
            r#"{"prompt_tokens":135,"completion_tokens":7,"cached_tokens":100}"#,
            [Some(35), Some(100), None, Some(7), None],
            None,
        ),
        (
            r#"{"prompt_tokens":135,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":100,"cache_creation_input_tokens":30}}"#,
            [Some(5), Some(100), Some(30), Some(7), None],
            None,
        ),
        // xAI counts reasoning beside the completion, which the total shows, and its cost in ticks.
        (
            r#"{"prompt_tokens":135,"completion_tokens":7,"total_tokens":182,"completion_tokens_details":{"reasoning_tokens":40},"cost_in_usd_ticks":37500}"#,
            [Some(135), None, None, Some(47), Some(40)],
            Some(ReportedCost::Ticks(37_500)),
        ),
        (
            r#"{"prompt_tokens":135,"completion_tokens":47,"total_tokens":182,"completion_tokens_details":{"reasoning_tokens":40}}"#,
            [Some(135), None, None, Some(47), Some(40)],
            None,
        ),
        // llama.cpp: with and without a usage of its own.
        (
            r#"{"prompt_tokens":135,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":100},"timings":{"cache_n":100,"prompt_n":35,"predicted_n":7}}"#,
            [Some(35), Some(100), None, Some(7), None],
            None,
        ),
        (
            r#"{"prompt_tokens":135,"completion_tokens":7,"timings":{"cache_n":100,"prompt_n":35,"predicted_n":7}}"#,
            [Some(35), Some(100), None, Some(7), None],
            None,
        ),
        (
            r#"{"timings":{"cache_n":100,"prompt_n":35,"predicted_n":7}}"#,
            [Some(35), Some(100), None, Some(7), None],
            None,
        ),
        // Nothing that can be read.
        (r#"{"prompt_tokens":-1,"completion_tokens":"7"}"#, [None; 5], None),
        (r#"{"timings":null}"#, [None; 5], None),
    ];
    for (text, [input, cache_read, cache_write, output, thinking], reported_cost) in cases {
        check(
            text,
            Usage { input, cache_read, cache_write, output, thinking, reported_cost, ..Usage::default() },
        );
    }
    assert_eq!(
        read(r#"{"prompt_tokens":135,"completion_tokens":7,"cached_tokens":100}"#).total_input(),
        Some(135)
    );
}

fn check(text: &str, expect: Usage) {
    assert_eq!(read(text), expect, "{text}");
}

fn read(text: &str) -> Usage {
    Usage::read(Body::parse(text).unwrap().root())
}
