//! What digests of an earlier request tell of where the next one parts from it.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use antefix_prefix::{
    Chain, Class, Digest, Link, Position, PositionKind, first_changed_position, first_difference, positions,
};
use antefix_wire::anthropic::{BlockKind, Request};
use antefix_wire::json::Body;

const EARLIER: &str = r#"{"tools":[{"name":"tide","input_schema":{}},{"name":"star","input_schema":{}}],
"system":[{"type":"text","text":"Be brief."},{"type":"text","text":"Use metres."}],
"messages":[{"role":"user","content":"How high?"},
{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"t1","name":"tide","input":{}}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"Two metres."}]}]}"#;

const TEXT: PositionKind = PositionKind::Block(BlockKind::Text);

/// Positions in front of the place, the pointer to it and what stands there.
type Place = (usize, Option<(&'static str, PositionKind)>, Class);

/// The same with a pointer that was found.
type Found = (usize, Option<(String, PositionKind)>, Class);

/// A piece, what it becomes, and what is then found.
type Case = (&'static str, &'static str, Option<Place>);

const CASES: &[Case] = &[
    ("Use metres.", "Use metres.", None),
    ("metres.\"}]}]}", "metres.\"}]},{\"role\":\"assistant\",\"content\":\"Two.\"}]}", None),
    ("brief.\"}", "brief.\",\"cache_control\":{\"type\":\"ephemeral\"}}", None),
    (r#"},{"name":"star""#, r#"},{"name":"wind","defer_loading":true},{"name":"star""#, None),
    (
        r#""star","#,
        r#""star","description":"Names one.","#,
        Some((1, Some(("/tools/1", PositionKind::Tool)), Class::Normal)),
    ),
    (
        r#"{"name":"tide","input_schema":{}},"#,
        "",
        Some((0, Some(("/tools/0", PositionKind::Tool)), Class::Normal)),
    ),
    (r#",{"name":"star","input_schema":{}}"#, "", Some((1, Some(("/system/0", TEXT)), Class::Normal))),
    ("Use metres.", "Use knots.", Some((3, Some(("/system/1", TEXT)), Class::Normal))),
    ("How high?", "How low?", Some((4, Some(("/messages/0/content", TEXT)), Class::Normal))),
    ("I look.", "I see.", Some((5, Some(("/messages/1/content/0", TEXT)), Class::Normal))),
    (
        r#""input":{}"#,
        r#""input":{"a":1}"#,
        Some((6, Some(("/messages/1/content/1", PositionKind::Block(BlockKind::ToolUse))), Class::Normal)),
    ),
    (
        "Two metres.",
        "Three.",
        Some((7, Some(("/messages/2/content/0", PositionKind::Block(BlockKind::ToolResult))), Class::Normal)),
    ),
    (
        ",\n{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":\"Two metres.\"}]}",
        "",
        Some((7, None, Class::Normal)),
    ),
    ("Be brief.", "B\\u0065 brief.", Some((2, Some(("/system/0", TEXT)), Class::Wire))),
    (
        r#""How high?""#,
        r#"[{"type":"text","text":"How high?"}]"#,
        Some((4, Some(("/messages/0/content/0", TEXT)), Class::Wire)),
    ),
];

#[test]
fn the_place_is_told_from_digests_alone() {
    let stored = stored(EARLIER);
    for (piece, other, expect) in CASES {
        assert_eq!(EARLIER.matches(piece).count(), 1, "{piece}");
        let later = EARLIER.replace(piece, other);
        let later_positions = read(&later);
        let found = first_changed_position(&revived(&stored), &later_positions);
        let pointer = |position: &Position| (position.pointer(), position.kind);
        let said = found.map(|found| (found.index, found.position.map(pointer), found.class));
        let expect = expect.map(|(index, place, class)| {
            (index, place.map(|(pointer, kind)| (pointer.to_owned(), kind)), class)
        });
        assert_eq!(said, expect, "{piece} → {other}");
        agrees_with_the_bodies(&later, said);
    }
}

/// With both bodies at hand, the difference is of the same class and stands at or below the same place.
fn agrees_with_the_bodies(later: &str, said: Option<Found>) {
    let body = |text: &str| Body::parse(text.as_bytes()).unwrap();
    let difference = first_difference(&body(EARLIER), &body(later)).unwrap();
    assert_eq!(
        difference.as_ref().map(|found| found.class),
        said.as_ref().map(|(.., class)| *class),
        "{later}"
    );
    if let (Some(difference), Some((_, Some((pointer, _)), Class::Normal))) = (difference, said) {
        let is_gone = difference.later.is_none();
        assert!(is_gone || difference.pointer.starts_with(&pointer), "{pointer}: {}", difference.pointer);
    }
}

/// A chain as a file would hold it: two digests in hexadecimal for each position, and the length of the head.
fn stored(text: &str) -> (Vec<[String; 2]>, usize) {
    let chain = Chain::of(&read(text));
    let links = chain.links().iter().map(|link| [link.wire.to_string(), link.normal.to_string()]);
    (links.collect(), chain.head_len())
}

fn revived((links, head): &(Vec<[String; 2]>, usize)) -> Chain {
    let digest = |text: &String| Digest::from_hex(text).unwrap();
    let links = links.iter().map(|[wire, normal]| Link { wire: digest(wire), normal: digest(normal) });
    let chain = Chain::from_links(links.collect(), *head);
    assert_eq!(chain, Chain::of(&read(EARLIER)), "what was stored is the chain");
    chain
}

fn read(text: &str) -> Vec<Position> {
    let body = Body::parse(text.as_bytes()).unwrap();
    positions(&Request::read(body.root()).unwrap())
}
