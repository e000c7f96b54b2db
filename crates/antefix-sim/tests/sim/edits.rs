//! What the server leaves out of a prompt: results of old calls, thinking, and all that a summary stands for.

use antefix_wire::json::{Body, Node};

use crate::harness::{Lab, body, test_config};

const CLEARS: &str = "context-management-2025-06-27";
const COMPACTS: &str = "compact-2026-01-12";

fn managed(edits: &str) -> String {
    format!(r#""context_management":{{"edits":[{edits}]}}"#)
}

fn lab(betas: &str, script: &str) -> Lab {
    Lab { betas: betas.to_owned(), ..Lab::scripted(test_config(), script) }
}

/// What is paid, and what the answer says was left out.
fn pay(lab: &mut Lab, now: u64, blocks: &str, extra: &str) -> String {
    let paid = lab.pay(now, blocks, extra);
    let sent = lab.post(now + 1, &body(blocks, extra));
    let answer = Body::parse(sent.text.clone()).unwrap();
    let applied = answer.root().pointer("/context_management/applied_edits").map_or("none", Node::raw);
    format!("{paid} {applied}")
}

/// Two results of 500 tokens become two of 62; what stands in front of the first is read, all else is written anew.
#[test]
fn results_of_old_calls_are_left_out_from_their_trigger_on() {
    let mut lab = lab(CLEARS, "rule\n  text ok\n");
    let two = "T200! u50 c100 r500 c100 r500";
    let edit = |more: &str| {
        managed(&format!(
            r#"{{"type":"clear_tool_uses_20250919","trigger":{{"type":"tool_uses","value":2}},"keep":{{"type":"tool_uses","value":1}}{more}}}"#
        ))
    };
    let left_out = |calls: u64, tokens: u64| {
        format!(
            r#"[{{"type":"clear_tool_uses_20250919","cleared_tool_uses":{calls},"cleared_input_tokens":{tokens}}}]"#
        )
    };
    let three = format!("{two} c100 r500!");
    let cases = [
        ("below the trigger", format!("{two}!"), edit(""), "r0 w1450 i0 []".to_owned()),
        ("above it", three.clone(), edit(""), format!("r200 w974 i0 {}", left_out(2, 876))),
        ("once more", three.clone(), edit(""), format!("r1174 w0 i0 {}", left_out(2, 876))),
        (
            "another call: one result more",
            format!("{two} c100 r500 c100 r500!"),
            edit(""),
            format!("r200 w1136 i0 {}", left_out(3, 1314)),
        ),
        (
            "too little to be worth it",
            three.clone(),
            edit(r#","clear_at_least":{"type":"input_tokens","value":877}"#),
            "r1450 w600 i0 []".to_owned(),
        ),
        (
            "tools that are left alone",
            three.clone(),
            edit(r#","exclude_tools":["t000"]"#),
            "r2050 w0 i0 []".to_owned(),
        ),
        (
            "inputs as well",
            three.clone(),
            edit(r#","clear_tool_inputs":true"#),
            format!("r200 w868 i0 {}", left_out(2, 982)),
        ),
        (
            "by length",
            three,
            managed(
                r#"{"type":"clear_tool_uses_20250919","trigger":{"type":"input_tokens","value":2049},"keep":{"type":"tool_uses","value":2}}"#,
            ),
            format!("r200 w1412 i0 {}", left_out(1, 438)),
        ),
        (
            "the defaults",
            format!("{two}!"),
            managed(r#"{"type":"clear_tool_uses_20250919"}"#),
            "r1450 w0 i0 []".to_owned(),
        ),
        ("nothing asked", format!("{two}!"), String::new(), "r1450 w0 i0 none".to_owned()),
    ];
    for (at, (name, blocks, extra, expect)) in cases.into_iter().enumerate() {
        assert_eq!(pay(&mut lab, at as u64 * 10, &blocks, &extra), expect, "{name}");
    }
}

/// Thinking of a turn that is over is left out, and said to be.
#[test]
fn thinking_that_is_cleared_is_told() {
    let mut lab = lab(CLEARS, "rule\n  text ok\n");
    let keep = managed(r#"{"type":"clear_thinking_20251015","keep":{"type":"thinking_turns","value":1}}"#);
    let paid = pay(&mut lab, 0, "T200! u50 k90 a10 u50 k90 a10 u50!", &keep);
    let expect =
        r#"[{"type":"clear_thinking_20251015","cleared_thinking_turns":2,"cleared_input_tokens":180}]"#;
    assert_eq!(paid, format!("r0 w370 i0 {expect}"));
}

/// The summary reads the whole prompt, the answer behind it the head alone; the next request begins with the summary,
/// whatever stands in front of it.
#[test]
fn a_conversation_is_summarised_as_the_script_has_it() {
    let script = "rule\n  times 1\n  on turn 2\n  summary Short.\n  text Seen.\nrule\n  text ok\n";
    let mut lab = lab(COMPACTS, script);
    let extra = managed(r#"{"type":"compact_20260112"}"#);
    assert_eq!(lab.pay(0, "T200! S100 u500!", &extra), "r0 w800 i0");
    let sent = lab.post(10, &body("T200! S100 u500 a10 u40!", &extra));
    let answer = Body::parse(sent.text).unwrap();
    let root = answer.root();
    let block = root.pointer("/content/0").unwrap().raw().to_owned();
    let rendered = 86;
    assert_eq!(
        block,
        r#"{"type":"compaction","content":"Short.","encrypted_content":"AFSIM+SUMMARY+8d08a4e0d1a0a9d0"}"#
            .replace("8d08a4e0d1a0a9d0", &block[block.len() - 18..block.len() - 2])
    );
    let usage = root.get("usage").unwrap();
    let figure = |pointer: &str| usage.pointer(pointer).and_then(Node::u64).unwrap();
    let of = |at: &str| {
        ["cache_read_input_tokens", "cache_creation_input_tokens", "input_tokens", "output_tokens"]
            .map(|name| figure(&format!("{at}/{name}")))
    };
    assert_eq!(of("/iterations/0"), [800, 50, 0, 6], "the summary");
    assert_eq!(of("/iterations/1"), [200, 0, 100 + rendered, 5], "the answer");
    assert_eq!(of(""), of("/iterations/1"), "the summary is not in the sum");
    let billed = lab.simulator.log().last().unwrap();
    assert_eq!((billed.summary_input, billed.summary_output, billed.total()), (850, 6, 300 + rendered));

    let go_on = |block: &str| {
        let said = format!(r#"{{"role":"assistant","content":[{block},{{"type":"text","text":"Seen."}}]}}"#);
        let body = body("T200! S100 u500 a10 u40 a1 u60!", &extra);
        body.replacen(r#"{"role":"assistant","content":[{"type":"text","text":"a"}]}"#, &said, 1)
    };
    let next = lab.post(20, &go_on(&block));
    assert_eq!(next.status, 200, "{}", next.text);
    let billed = lab.simulator.log().last().unwrap();
    assert_eq!((billed.read, billed.write_5m), (200, 100 + rendered + 5 + 60));
    let changed = lab.post(30, &go_on(&block.replace("Short.", "Other.")));
    assert!(changed.text.contains("`compaction` blocks cannot be modified"), "{}", changed.text);
    lab.betas.clear();
    let unasked = lab.post(40, &go_on(&block).replace(&format!("{extra},"), ""));
    assert!(unasked.text.contains("Input tag 'compaction'"), "{}", unasked.text);
}

/// From its trigger on, and with a pause: then nothing but the summary is answered.
#[test]
fn a_long_conversation_is_summarised_by_its_length() {
    let mut lab = lab(COMPACTS, "rule\n  text ok\n");
    let edit = |pause: bool| {
        managed(&format!(
            r#"{{"type":"compact_20260112","trigger":{{"type":"input_tokens","value":50000}},"pause_after_compaction":{pause}}}"#
        ))
    };
    for (blocks, pause, kinds, stop) in [
        ("T200 u49799!", false, "text", "end_turn"),
        ("T200 u49800!", false, "compaction text", "end_turn"),
        ("T200 u49800!", true, "compaction", "compaction"),
    ] {
        for stream in [false, true] {
            let extra = format!(r#"{},"stream":{stream}"#, edit(pause));
            let sent = lab.post(0, &body(blocks, &extra));
            let (found, reason) = outline(&sent.text, stream);
            assert_eq!((found.as_str(), reason.as_str()), (kinds, stop), "{blocks} {pause} {stream}");
        }
    }
    let sent = lab.post(0, &body("T200 u49800!", &edit(true)));
    assert!(sent.text.contains(r#""usage":{"input_tokens":0,"#), "{}", sent.text);
}

/// Kinds of the blocks, and the reason for the end.
fn outline(text: &str, stream: bool) -> (String, String) {
    use antefix_wire::{assemble::Assembler, sse::Parser};
    if stream {
        let (mut parser, mut assembler) = (Parser::new(), Assembler::new());
        for event in parser.push(text.as_bytes()).unwrap() {
            assembler.event(&event).unwrap();
        }
        let message = assembler.finish();
        let kinds: Vec<String> = message.blocks.iter().map(|block| kind(&block.json)).collect();
        return (kinds.join(" "), message.stop_reason.unwrap_or_default());
    }
    let body = Body::parse(text).unwrap();
    let blocks = body.root().get("content").unwrap().items();
    let kinds: Vec<String> = blocks.map(|block| kind(block.raw().as_bytes())).collect();
    (kinds.join(" "), body.root().get("stop_reason").unwrap().str().unwrap().into_owned())
}

fn kind(block: &[u8]) -> String {
    Body::parse(block).unwrap().root().get("type").unwrap().str().unwrap().into_owned()
}

#[test]
fn edits_are_checked() {
    let both = format!("{CLEARS},{COMPACTS}");
    for (name, betas, edits, expect) in [
        ("clears without its beta", COMPACTS, r#"{"type":"clear_tool_uses_20250919"}"#, "context_management"),
        ("compacts without its beta", CLEARS, r#"{"type":"compact_20260112"}"#, "context_management"),
        ("compacts", COMPACTS, r#"{"type":"compact_20260112"}"#, ""),
        ("both", &both, r#"{"type":"clear_tool_uses_20250919"},{"type":"compact_20260112"}"#, ""),
        (
            "thinking first",
            CLEARS,
            r#"{"type":"clear_thinking_20251015"},{"type":"clear_tool_uses_20250919"}"#,
            "",
        ),
        (
            "thinking later",
            CLEARS,
            r#"{"type":"clear_tool_uses_20250919"},{"type":"clear_thinking_20251015"}"#,
            "must be the first edit",
        ),
        ("unknown", CLEARS, r#"{"type":"clear_all"}"#, "edits.0.type"),
        ("twice", COMPACTS, r#"{"type":"compact_20260112"},{"type":"compact_20260112"}"#, "once"),
        (
            "too early",
            COMPACTS,
            r#"{"type":"compact_20260112","trigger":{"type":"input_tokens","value":49999}}"#,
            "greater than or equal to 50000",
        ),
        (
            "not a number of calls",
            CLEARS,
            r#"{"type":"clear_tool_uses_20250919","keep":{"type":"input_tokens","value":1}}"#,
            "edits.0.keep",
        ),
    ] {
        let sent = lab(betas, "rule\n  text ok\n").post(0, &body("u20", &managed(edits)));
        assert_eq!(sent.status, if expect.is_empty() { 200 } else { 400 }, "{name}: {}", sent.text);
        assert!(sent.text.contains(expect), "{name}: {}", sent.text);
    }
}

/// Counting shows what clearing would leave, and what was there.
#[test]
fn counting_shows_what_is_left() {
    let mut lab = lab(CLEARS, "rule\n  text ok\n");
    let edits = managed(
        r#"{"type":"clear_tool_uses_20250919","trigger":{"type":"tool_uses","value":0},"keep":{"type":"tool_uses","value":0}}"#,
    );
    let counted = lab.request(0, "POST", "/v1/messages/count_tokens", &body("u50 c100 r500", &edits));
    assert_eq!(counted.text, r#"{"input_tokens":212,"context_management":{"original_input_tokens":650}}"#);
}
