//! Which requests have equal digests, and which do not.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use antefix_prefix::{
    Chain, Place, Position, PositionKind, Section, View, message_positions, positions, system_position,
    tool_position,
};
use antefix_wire::anthropic::{BlockKind, Message, Request, Role, Ttl};
use antefix_wire::json::Body;
use antefix_wire::{ByteRange, anthropic, splice};

fn body(text: &str) -> Body {
    Body::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn read(text: &str) -> Vec<Position> {
    let body = body(text);
    positions(&Request::read(body.root()).unwrap())
}

/// How the digests of two requests compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Equal {
    Wire,
    Normal,
    Not,
}

fn compare(left: &str, right: &str) -> Equal {
    let (left, right) = (Chain::of(&read(left)), Chain::of(&read(right)));
    if left.last().wire == right.last().wire {
        assert_eq!(left.last().normal, right.last().normal, "equal bytes have an equal meaning");
        Equal::Wire
    } else if left.last().normal == right.last().normal {
        Equal::Normal
    } else {
        Equal::Not
    }
}

#[track_caller]
fn check(left: &str, right: &str, expect: Equal) {
    assert_eq!(compare(left, right), expect, "\n{left}\n{right}");
    assert_eq!(compare(right, left), expect, "\n{right}\n{left}");
}

fn messages(text: &str) -> String {
    format!(r#"{{"messages":[{text}]}}"#)
}

fn block(text: &str) -> String {
    messages(&format!(r#"{{"role":"user","content":[{text}]}}"#))
}

#[test]
fn blocks() {
    use Equal::{Normal, Not, Wire};
    let cases = [
        (r#"{"type":"text","text":"a"}"#, r#"{"type":"text","text":"b"}"#, Not),
        (r#"{"type":"text","text":"a"}"#, r#"{"text":"a","type":"text"}"#, Normal),
        (r#"{"type":"text","text":"a"}"#, r#"{ "type": "text", "text": "a" }"#, Normal),
        (r#"{"type":"text","text":"a"}"#, r#"{"type":"text","text":"a" }"#, Normal),
        (r#"{"type":"x","x":[],"y":{}}"#, r#"{"type":"x","x":[ ],"y":{ }}"#, Normal),
        (r#"{"type":"x","x":[1,2]}"#, r#"{"type":"x","x":[1, 2]}"#, Normal),
        (r#"{"type":"x","x":[1,2]}"#, r#"{"type":"x","x":[1,2 ]}"#, Normal),
        (r#"{"type":"text","text":"é/"}"#, r#"{"type":"text","text":"\u00e9\/"}"#, Normal),
        (r#"{"type":"text","text":"\n"}"#, r#"{"type":"text","text":"\u000A"}"#, Normal),
        (r#"{"type":"text","text":"\u001f"}"#, r#"{"type":"text","text":"\u001F"}"#, Normal),
        (r#"{"type":"text","text":"\\u0041"}"#, r#"{"type":"text","text":"\\u0041"}"#, Wire),
        (r#"{"type":"text","text":"\\u0041"}"#, r#"{"type":"text","text":"\u0041"}"#, Not),
        (r#"{"type":"text","text":"😀"}"#, r#"{"type":"text","text":"\ud83d\ude00"}"#, Normal),
        (r#"{"type":"text","text":"\ud83d"}"#, r#"{"type":"text","text":"\uD83D"}"#, Normal),
        (r#"{"type":"text","text":"\ud83d"}"#, r#"{"type":"text","text":"\ud83e"}"#, Not),
        (r#"{"type":"text","text":"\ud83d"}"#, r#"{"type":"text","text":"�"}"#, Not),
        (r#"{"type":"text","text":"a"}"#, r#"{"\u0074ype":"text","text":"a"}"#, Normal),
        (r#"{"type":"text","text":"a","x":1,"y":2}"#, r#"{"type":"text","y":2,"text":"a","x":1}"#, Normal),
        (r#"{"type":"text","text":"a","x":1.0}"#, r#"{"type":"text","text":"a","x":1}"#, Not),
        (r#"{"type":"text","text":"a"}"#, r#"{"type":"text","text":"a","citations":null}"#, Not),
        (
            r#"{"type":"text","text":"a"}"#,
            r#"{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}"#,
            Wire,
        ),
        (
            r#"{"type":"text","text":"a"}"#,
            r#"{"cache_control":{"type":"ephemeral","ttl":"1h"},"type":"text","text":"a"}"#,
            Wire,
        ),
        (r#"{"type":"text","text":"a"}"#, r#"{"type":"text","cache_control":null,"text":"a"}"#, Wire),
        (
            r#"{"type":"text", "text":"a"}"#,
            r#"{"type":"text", "text":"a", "cache_control":{"type": "ephemeral"}}"#,
            Wire,
        ),
        (
            r#"{"type":"text","text":"a"}"#,
            r#"{"cache_control":1,"cache_control":2,"type":"text","cache_control":3,"text":"a"}"#,
            Wire,
        ),
        (
            r#"{"type":"tool_use","id":"t","name":"n","input":{"a":1,"b":2}}"#,
            r#"{"type":"tool_use","id":"t","name":"n","input":{"b":2,"a":1}}"#,
            Not,
        ),
        (
            r#"{"type":"tool_use","id":"t","name":"n","input":{"a":{"x":1,"y":[{"p":1,"q":2}]}}}"#,
            r#"{"type":"tool_use","id":"t","name":"n","input":{"a":{"x":1,"y":[{"q":2,"p":1}]}}}"#,
            Not,
        ),
        (
            r#"{"type":"tool_use","id":"t","name":"n","input":{"a":1.0}}"#,
            r#"{"type":"tool_use","id":"t","name":"n","input":{"a":1}}"#,
            Not,
        ),
        (
            r#"{"type":"tool_use","id":"t","name":"n","input":{"a":"é"}}"#,
            r#"{"name":"n","id":"t","type":"tool_use","input":{ "a": "\u00e9" }}"#,
            Normal,
        ),
        (
            r#"{"type":"tool_use","id":"t","name":"n","input":{"cache_control":1}}"#,
            r#"{"type":"tool_use","id":"t","name":"n","input":{}}"#,
            Not,
        ),
        (
            r#"{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"a"}]}"#,
            r#"{"type":"tool_result","tool_use_id":"t","content":[{"text":"a","type":"text","cache_control":{}}]}"#,
            Normal,
        ),
        (
            r#"{"type":"tool_result","tool_use_id":"t","content":[{"type":"tool_reference","tool_name":"n"}]}"#,
            r#"{"type":"tool_result","tool_use_id":"t","content":[{"type":"tool_reference","tool_name":"n","cache_control":{}}]}"#,
            Wire,
        ),
        (
            r#"{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"a"}]}"#,
            r#"{"type":"tool_result","tool_use_id":"t","content":"a"}"#,
            Not,
        ),
    ];
    for (left, right, expect) in cases {
        check(&block(left), &block(right), expect);
    }
}

#[test]
fn messages_and_their_borders() {
    use Equal::{Normal, Not, Wire};
    let cases = [
        (
            r#"{"role":"user","content":"a"}"#,
            r#"{"role":"user","content":[{"type":"text","text":"a"}]}"#,
            Normal,
        ),
        (
            r#"{"role":"user","content":"\u00e9"}"#,
            r#"{"role":"user","content":[{"text":"é","type":"text","cache_control":{}}]}"#,
            Normal,
        ),
        (r#"{"role":"user","content":"a"}"#, r#"{"content":"a","role":"user"}"#, Normal),
        (r#"{"role":"user","content":"a"}"#, r#"{"role": "user", "content": "a"}"#, Normal),
        (r#"{"role":"user","content":"a"}"#, r#"{"role":"assistant","content":"a"}"#, Not),
        (r#"{"role":"user","content":"a"}"#, r#"{"role":"user","content":"a","cache_control":{}}"#, Wire),
        (
            r#"{"role":"system","content":"a"}"#,
            r#"{"role":"system","content":"a","output_config":{"effort":"low"}}"#,
            Not,
        ),
        (
            r#"{"role":"system","content":"a","output_config":{"effort":"low"}}"#,
            r#"{"role":"system","output_config":{"effort":"low"},"content":"a"}"#,
            Normal,
        ),
        (
            r#"{"role":"system","content":"a","output_config":{"effort":"low"}}"#,
            r#"{"role":"system","content":"a","output_config":{"effort":"high"}}"#,
            Not,
        ),
        (
            r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#,
            r#"{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"user","content":[{"type":"text","text":"b"}]}"#,
            Not,
        ),
        (
            r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#,
            r#"{"role":"user","content":[{"type":"text","text":"a"} , {"type":"text","text":"b"}]}"#,
            Wire,
        ),
        (
            r#"{"role":"user","content":"a"}"#,
            r#"{"role":"user","content":"a"},{"role":"user","content":[]}"#,
            Not,
        ),
        (r#"{"role":"system","content":[]}"#, r#"{"role":"user","content":[]}"#, Not),
        (
            r#"{"role":"system","content":[],"output_config":{"effort":"low"}}"#,
            r#"{"role":"system","content":[],"output_config":{"effort":"high"}}"#,
            Not,
        ),
        (r#"{"role":"system","content":[]}"#, r#"{"content":[],"role":"system"}"#, Normal),
        (r#"{"role":"tool","content":"a"}"#, r#"{"role":"other","content":"a"}"#, Not),
    ];
    for (left, right, expect) in cases {
        check(&messages(left), &messages(right), expect);
    }
}

#[test]
fn tools_and_system() {
    use Equal::{Normal, Not, Wire};
    let cases = [
        (r#"{"tools":[{"name":"a"},{"name":"b"}]}"#, r#"{"tools":[{"name":"b"},{"name":"a"}]}"#, Not),
        (r#"{"tools":[{"name":"a"}]}"#, r#"{"tools":[{"name":"a"},{"name":"b"}]}"#, Not),
        (
            r#"{"tools":[{"name":"a"}]}"#,
            r#"{"tools":[{"name":"a"},{"name":"b","defer_loading":true}]}"#,
            Wire,
        ),
        (r#"{"tools":[{"name":"a"}]}"#, r#"{"tools":[{"name":"a","description":"d"}]}"#, Not),
        (
            r#"{"tools":[{"name":"a","description":"d"}]}"#,
            r#"{"tools":[{"description":"d","name":"a","cache_control":{}}]}"#,
            Normal,
        ),
        (
            r#"{"tools":[{"name":"a","input_schema":{"type":"object","properties":{"x":1,"y":2}}}]}"#,
            r#"{"tools":[{"name":"a","input_schema":{"type":"object","properties":{"y":2,"x":1}}}]}"#,
            Not,
        ),
        (
            r#"{"tools":[{"name":"a","input_schema":{"properties":{"cache_control":{}}}}]}"#,
            r#"{"tools":[{"name":"a","input_schema":{"properties":{}}}]}"#,
            Not,
        ),
        (r#"{"system":"s"}"#, r#"{"system":[{"type":"text","text":"s","cache_control":{}}]}"#, Normal),
        (r#"{"system":"s"}"#, r#"{"messages":[{"role":"system","content":"s"}]}"#, Not),
        (r#"{"system":"s","model":"a"}"#, r#"{"model":"b","system":"s","stream":true}"#, Wire),
    ];
    for (left, right, expect) in cases {
        check(left, right, expect);
    }
}

#[test]
fn one_position_in_full() {
    let text = r#"{"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"s"},{"type":"text","text":"ok","cache_control":{"type":"ephemeral","ttl":"1h"}}]}]}"#;
    let found = read(text);
    let start = text.find(r#"{"type":"text""#).unwrap();
    let expect = Position {
        section: Section::Messages,
        place: Place::Block { message: 1, block: 1 },
        range: ByteRange::new(start, text.len() - 4),
        role: Role::Assistant,
        kind: PositionKind::Block(BlockKind::Text),
        opens_message: false,
        wire: found[2].wire,
        normal: found[2].wire,
        markable: true,
        marker: Some(Ttl::OneHour),
        clears: false,
        image: false,
        thinks: false,
    };
    assert_eq!(found[2], expect);
    assert_eq!(found.len(), 3);
}

#[test]
fn pointers_resolve_to_the_ranges() {
    let texts = [
        r#"{"tools":[{"name":"d","defer_loading":true},{"name":"a"}],"system":"s","messages":[{"role":"user","content":"a"},{"role":"system","content":[],"output_config":{}}]}"#,
        r#"{"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image"}]}]}"#,
    ];
    for text in texts {
        let body = body(text);
        for position in read(text) {
            let node = body.root().pointer(&position.pointer()).unwrap();
            assert_eq!(node.range(), position.range, "{}", position.pointer());
        }
    }
}

#[test]
fn what_takes_a_marker() {
    let cases = [
        (r#"{"role":"user","content":[{"type":"text","text":"a"}]}"#, true),
        (r#"{"role":"user","content":"a"}"#, true),
        (r#"{"role":"user","content":""}"#, false),
        (r#"{"role":"user","content":[{"type":"text","text":"\n "}]}"#, false),
        (r#"{"role":"user","content":[{"type":"text","text":"\u00e9"}]}"#, true),
        (r#"{"role":"user","content":[{"type":"text"}]}"#, false),
        (r#"{"role":"assistant","content":[{"type":"thinking","thinking":"a"}]}"#, false),
        (r#"{"role":"assistant","content":[{"type":"redacted_thinking","data":"a"}]}"#, false),
        (r#"{"role":"assistant","content":[{"type":"tool_use","id":"a"}]}"#, true),
        (r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}"#, true),
        (r#"{"role":"user","content":[{"type":"image","source":{}}]}"#, true),
        (r#"{"role":"user","content":[{"type":"mystery"}]}"#, false),
        (r#"{"role":"system","content":"a"}"#, true),
        (r#"{"role":"system","content":"a","clear_at":"next_user_message"}"#, false),
        (r#"{"role":"system","content":[]}"#, false),
    ];
    for (message, expect) in cases {
        let found = read(&messages(message));
        assert_eq!(found.len(), 1, "{message}");
        assert_eq!(found[0].markable, expect, "{message}");
    }
}

#[test]
fn images_are_seen() {
    let cases = [
        (r#"{"type":"image","source":{}}"#, true),
        (
            r#"{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"a"},{"type":"image"}]}"#,
            true,
        ),
        (r#"{"type":"tool_result","tool_use_id":"t","content":"image"}"#, false),
        (r#"{"type":"text","text":"a"}"#, false),
    ];
    for (text, expect) in cases {
        assert_eq!(read(&block(text))[0].image, expect, "{text}");
    }
}

/// What is digested alone must fit what is digested in the whole, or appending would not extend.
#[test]
fn parts_alone_have_the_digests_of_the_whole() {
    let tool = r#"{"name":"a", "input_schema":{"b":1,"a":2}}"#;
    let system = r#"{"text":"s","type":"text"}"#;
    let parts = [
        r#"{"role":"user","content":"a"}"#,
        r#"{"content":[{"type":"text","text":"\u0041"},{"type":"text","text":"b"}],"role":"assistant"}"#,
        r#"{"role":"system","content":[],"output_config":{"effort":"low"}}"#,
    ];
    let whole =
        read(&format!(r#"{{"messages":[{}],"tools":[{tool}],"system":[{system}]}}"#, parts.join(", ")));
    let digests = |list: &[Position]| {
        list.iter().map(|p| (p.place, p.wire, p.normal, p.opens_message)).collect::<Vec<_>>()
    };
    let (tool, system) = (body(tool), body(system));
    let mut alone = vec![
        tool_position(&anthropic::Tool::read(tool.root()).unwrap(), 0).unwrap(),
        system_position(&anthropic::Block::read(system.root()).unwrap(), 0),
    ];
    for (index, part) in parts.iter().enumerate() {
        let part = body(part);
        alone.extend(message_positions(&Message::read(part.root()).unwrap(), index));
    }
    assert_eq!(digests(&alone), digests(&whole));
}

/// The planner's markers are spliced in; what was digested before must hold for what is sent.
#[test]
fn markers_spliced_in_leave_digests_as_they_are() {
    let texts = [
        r#"{"tools":[{"name":"a"},{}],"system":[{"type":"text","text":"s"}],"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image"}]}]}"#,
        "{\"tools\": [ {\n\"name\" : \"a\"\n} ], \"messages\": [{\"content\": [{ }, {\"type\": \"text\" }], \"role\": \"user\"}]}",
    ];
    for text in texts {
        let whole = body(text);
        let found = read(text);
        let edits: Vec<_> = found
            .iter()
            .map(|position| {
                anthropic::marker_edit(whole.root().pointer(&position.pointer()).unwrap(), Ttl::OneHour)
            })
            .map(Option::unwrap)
            .collect();
        let marked = String::from_utf8(splice(whole.bytes(), &edits).unwrap()).unwrap();
        assert_eq!(Chain::of(&found).common(&Chain::of(&read(&marked)), View::Wire), found.len(), "{marked}");
        assert!(read(&marked).iter().all(|position| position.marker == Some(Ttl::OneHour)));
    }
}
