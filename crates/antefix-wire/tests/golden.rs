//! Bytes of marked bodies, spelled out.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail")]

use Ttl::{FiveMinutes, OneHour};
use antefix_wire::anthropic::{Request, Ttl, marker_edit, unmark_edit};
use antefix_wire::json::{Body, Node};
use antefix_wire::splice;

/// A body, the pointer to what is marked, the time to live, and the body that leaves.
const MARKED: &[(&str, &str, Ttl, &str)] = &[
    (
        r#"{"messages":[{"role":"user","content":[{"type":"text","text":"Where is the lock?"}]}]}"#,
        "/messages/0/content/0",
        FiveMinutes,
        r#"{"messages":[{"role":"user","content":[{"type":"text","text":"Where is the lock?","cache_control":{"type":"ephemeral"}}]}]}"#,
    ),
    (
        r#"{"system":[{"type":"text","text":"Be brief."}],"stream":true}"#,
        "/system/0",
        OneHour,
        r#"{"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral","ttl":"1h"}}],"stream":true}"#,
    ),
    (
        r#"{"tools":[{"name":"a","input_schema":{"type":"object"}},{"name":"b","input_schema":{"type":"object","maximum":1.0e2}}]}"#,
        "/tools/1",
        FiveMinutes,
        r#"{"tools":[{"name":"a","input_schema":{"type":"object"}},{"name":"b","input_schema":{"type":"object","maximum":1.0e2},"cache_control":{"type":"ephemeral"}}]}"#,
    ),
    // White space, number text and escapes around the edit stay as they are.
    (
        "{ \"tools\" : [ { \"name\" : \"a\\u00e9\\/\" , \"n\" : [ 0.1000, -0, 12345678901234567890123 ] } ]\n}\r\n",
        "/tools/0",
        FiveMinutes,
        "{ \"tools\" : [ { \"name\" : \"a\\u00e9\\/\" , \"n\" : [ 0.1000, -0, 12345678901234567890123 ],\"cache_control\":{\"type\":\"ephemeral\"} } ]\n}\r\n",
    ),
    // An empty object takes no comma.
    (r#"{"a":{}}"#, "/a", FiveMinutes, r#"{"a":{"cache_control":{"type":"ephemeral"}}}"#),
    (
        "{\"a\":{ \n}}",
        "/a",
        OneHour,
        "{\"a\":{\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":\"1h\"} \n}}",
    ),
    // The automatic marker of a whole request.
    (
        r#"{"messages":[],"max_tokens":1}"#,
        "",
        FiveMinutes,
        r#"{"messages":[],"max_tokens":1,"cache_control":{"type":"ephemeral"}}"#,
    ),
    // A marker that stands there is replaced in its place.
    (
        r#"[{"cache_control": {"type":"ephemeral","ttl":"1h","scope":"global"}, "type":"text","text":"a"}]"#,
        "/0",
        FiveMinutes,
        r#"[{"cache_control": {"type":"ephemeral"}, "type":"text","text":"a"}]"#,
    ),
    (
        r#"[{"type":"text","cache_control":null,"text":"a"}]"#,
        "/0",
        OneHour,
        r#"[{"type":"text","cache_control":{"type":"ephemeral","ttl":"1h"},"text":"a"}]"#,
    ),
    // Content given as a string becomes one marked block.
    (
        r#"{"messages":[{"role":"user","content":"a \"quoted\" \u00e9"}]}"#,
        "/messages/0/content",
        FiveMinutes,
        r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a \"quoted\" \u00e9","cache_control":{"type":"ephemeral"}}]}]}"#,
    ),
];

/// A body, the pointer to what is unmarked, and the body that leaves.
const UNMARKED: &[(&str, &str, &str)] = &[
    (
        r#"[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]"#,
        "/0",
        r#"[{"type":"text","text":"a"}]"#,
    ),
    (
        r#"[{"type":"text" , "cache_control":{"type":"ephemeral"} , "text":"a"}]"#,
        "/0",
        r#"[{"type":"text" , "text":"a"}]"#,
    ),
    (r#"[{ "cache_control":{"type":"ephemeral"}, "type":"text"}]"#, "/0", r#"[{ "type":"text"}]"#),
    (r#"[{ "cache_control":null }]"#, "/0", "[{  }]"),
    (r#"{"a":1,"cache\u005fcontrol":{}}"#, "", r#"{"a":1}"#),
    (r#"{"cache_control":1,"a":2,"cache_control":{}}"#, "", r#"{"cache_control":1,"a":2}"#),
];

#[test]
fn marking_gives_these_bytes() {
    for &(text, pointer, ttl, expect) in MARKED {
        let body = Body::parse(text).unwrap();
        let edit = marker_edit(at(&body, pointer), ttl).unwrap();
        assert_eq!(spliced(&body, edit), expect);
        assert!(Body::parse(expect).is_ok());
    }
}

#[test]
fn unmarking_gives_these_bytes() {
    for &(text, pointer, expect) in UNMARKED {
        let body = Body::parse(text).unwrap();
        let edit = unmark_edit(at(&body, pointer)).unwrap();
        assert_eq!(spliced(&body, edit), expect);
        assert!(Body::parse(expect).is_ok());
    }
}

#[test]
fn unmarking_undoes_marking() {
    for &(text, pointer, ..) in MARKED {
        let body = Body::parse(text).unwrap();
        let node = at(&body, pointer);
        if node.get("cache_control").is_some() || node.str().is_some() {
            continue;
        }
        for ttl in [FiveMinutes, OneHour] {
            let marked = Body::parse(spliced(&body, marker_edit(node, ttl).unwrap())).unwrap();
            let edit = unmark_edit(at(&marked, pointer)).unwrap();
            assert_eq!(spliced(&marked, edit), text);
        }
    }
}

#[test]
fn bodies_without_edits_leave_as_they_came() {
    let all = MARKED
        .iter()
        .flat_map(|&(text, _, _, expect)| [text, expect])
        .chain(UNMARKED.iter().map(|case| case.0));
    for text in all.chain(OTHERS.iter().copied()) {
        let body = Body::parse(text).unwrap();
        // Reading it must not change it either.
        let _ = Request::read(body.root());
        let _ = antefix_wire::openai::Request::read(body.root());
        assert_eq!(splice(body.bytes(), &[]).unwrap(), text.as_bytes());
        assert_eq!(body.into_bytes(), text.as_bytes());
    }
}

#[test]
fn what_cannot_be_marked() {
    for text in ["1", "true", "null", "[]"] {
        let body = Body::parse(text).unwrap();
        assert_eq!((marker_edit(body.root(), OneHour), unmark_edit(body.root())), (None, None), "{text}");
    }
    assert_eq!(unmark_edit(Body::parse(r#"{"a":{"cache_control":{}}}"#).unwrap().root()), None);
}

fn at<'a>(body: &'a Body, pointer: &str) -> Node<'a> {
    body.root().pointer(pointer).unwrap()
}

fn spliced(body: &Body, edit: antefix_wire::Edit) -> String {
    String::from_utf8(splice(body.bytes(), &[edit]).unwrap()).unwrap()
}

const OTHERS: &[&str] = &[
    include_str!("bodies/chat.json"),
    "\t{\"b\":1.0e2,\"a\":0.1000,\"b\":-0}\n",
    r#"{"x":"\u00e9\/\ud83c\udfb9 🎹","n":12345678901234567890123}"#,
    r#"{"messages":[{"role":"user","content":[{"type":"hologram","depth":1.50}]}],"unknown":[{}]}"#,
];
