//! Positions of Chat Completions requests.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use antefix_prefix::{
    Advance, Chain, Position, PositionKind, Relation, Section, Tree, View, chat_message, chat_positions,
};
use antefix_wire::anthropic::{BlockKind, Role};
use antefix_wire::json::Body;

fn read(text: &str) -> Vec<Position> {
    chat_positions(Body::parse(text.as_bytes()).unwrap().root())
}

const WHOLE: &str = r#"{"model":"m","tools":[{"type":"function","function":{"name":"read","parameters":{"z":1,"a":2}}}],"messages":[{"role":"system","content":"Rules."},{"role":"user","content":"go"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{\"z\": 1.50}"}}]},{"role":"tool","tool_call_id":"c1","content":"x"},{"role":"assistant","reasoning_content":"Hm.","content":"ok"},{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:,"}}]},{"role":"system","content":"late"}]}"#;

#[test]
fn each_tool_and_message_is_a_position() {
    use {BlockKind as Is, Role as By, Section as In};
    let found: Vec<_> = read(WHOLE)
        .iter()
        .map(|one| (one.section, one.pointer(), one.role, one.kind, one.image, one.thinks))
        .collect();
    let block = PositionKind::Block;
    let expect = [
        (In::Tools, "/tools/0", By::System, PositionKind::Tool, false, false),
        (In::System, "/messages/0", By::System, block(Is::Text), false, false),
        (In::Messages, "/messages/1", By::User, block(Is::Text), false, false),
        (In::Messages, "/messages/2", By::Assistant, block(Is::ToolUse), false, false),
        (In::Messages, "/messages/3", By::User, block(Is::ToolResult), false, false),
        (In::Messages, "/messages/4", By::Assistant, block(Is::Text), false, true),
        (In::Messages, "/messages/5", By::User, block(Is::Text), true, false),
        (In::Messages, "/messages/6", By::System, block(Is::Text), false, false),
    ];
    let expect = expect.map(|(section, pointer, role, kind, image, thinks)| {
        (section, pointer.to_owned(), role, kind, image, thinks)
    });
    assert_eq!(found, expect);
    let body = Body::parse(WHOLE.as_bytes()).unwrap();
    for position in read(WHOLE) {
        assert_eq!(body.root().pointer(&position.pointer()).unwrap().range(), position.range);
        assert!(!position.markable && position.marker.is_none());
    }
}

#[test]
fn a_message_alone_has_the_digests_it_has_in_its_request() {
    let body = Body::parse(WHOLE.as_bytes()).unwrap();
    for (index, node) in body.root().get("messages").unwrap().items().enumerate().skip(1) {
        let alone = Body::parse(node.raw().as_bytes()).unwrap();
        let (alone, whole) = (chat_message(alone.root(), index), &read(WHOLE)[index + 1]);
        assert_eq!((alone.wire, alone.normal), (whole.wire, whole.normal));
    }
}

/// What a change does: nothing, to the bytes only, or to the meaning from this position on.
#[test]
fn what_counts_as_the_same() {
    let cases = [
        (r#""model":"m""#, r#""model":"n","stream":true"#, (8, 8)),
        (r#"{"role":"user","content":"go"}"#, r#"{"content":"\u0067o","role":"user"}"#, (8, 2)),
        (r#"{"z":1,"a":2}"#, r#"{"a":2,"z":1}"#, (0, 0)),
        ("1.50", "1.5", (3, 3)),
        (r#""tool_call_id":"c1""#, r#""tool_call_id":"c2""#, (4, 4)),
        (r#""Hm.""#, r#""Ha.""#, (5, 5)),
        (r#"{"role":"system","content":"late"}"#, r#"{"role":"user","content":"late"}"#, (7, 7)),
    ];
    for (old, new, expect) in cases {
        let changed = WHOLE.replacen(old, new, 1);
        assert_ne!(changed, WHOLE);
        let (one, other) = (Chain::of(&read(WHOLE)), Chain::of(&read(&changed)));
        let found = (one.common(&other, View::Normal), one.common(&other, View::Wire));
        assert_eq!(found, expect, "{new}");
    }
}

#[test]
fn a_conversation_extends_and_branches_behind_its_head() {
    let (start, end) = (r#"{"tools":[],"messages":[{"role":"system","content":"s"}"#, "]}");
    let (one, two) = (r#",{"role":"user","content":"1"}"#, r#",{"role":"assistant","content":"2"}"#);
    let chain = |parts: &[&str]| Chain::of(&read(&format!("{start}{}{end}", parts.concat())));
    let mut tree = Tree::new();
    tree.insert(&chain(&[one, two]), Advance::Head);
    assert_eq!(chain(&[one]).head_len(), 1);
    assert_eq!(tree.relation(&chain(&[one, two, one])), Relation::Extends);
    assert_eq!(tree.relation(&chain(&[one, one])), Relation::Diverges { at: 2 });
    assert_eq!(tree.relation(&chain(&[one])), Relation::BranchesAt(2));
    assert_eq!(tree.relation(&chain(&[two])), Relation::Diverges { at: 1 });
}
