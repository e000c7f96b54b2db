//! Where two requests part.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::Path;

use antefix_prefix::{Change, Class, Difference, Side, first_difference};
use antefix_wire::json::Body;

fn body(text: &str) -> Body {
    Body::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn compare(earlier: &str, later: &str) -> Option<Difference> {
    first_difference(&body(earlier), &body(later)).unwrap()
}

/// The pointer, what happened and how much of the leaf agrees.
type Short<'a> = Option<(&'a str, Change, Option<usize>)>;

#[track_caller]
fn check(earlier: &str, later: &str, expect: Short<'_>) {
    let found = compare(earlier, later);
    let short = found.as_ref().map(|found| (found.pointer.as_str(), found.change, found.offset));
    assert_eq!(short, expect, "\n{earlier}\n{later}\n{found:?}");
    assert_eq!(compare(earlier, earlier), None);
    if let Some(found) = found {
        let side = if found.side == Side::Later { later } else { earlier };
        assert!(body(side).root().pointer(&found.pointer).is_some(), "{} leads nowhere", found.pointer);
    }
}

#[test]
fn sections_and_elements() {
    use Change::{Added, Removed, Replaced, Spelling, Value};
    let user = r#"{"role":"user","content":"a"}"#;
    let cases = [
        ("", "", None),
        (r#""system":"s""#, r#""system":"s","stream":true"#, None),
        (r#""tools":[{"name":"a"}]"#, r#""tools":[{"name":"a"},{"name":"d","defer_loading":true}]"#, None),
        (
            r#""tools":[{"name":"a"}]"#,
            r#""tools":[{"name":"a"},{"name":"b"}]"#,
            Some(("/tools/1", Added, None)),
        ),
        (
            r#""tools":[{"name":"a"},{"name":"b"}]"#,
            r#""tools":[{"name":"a"}]"#,
            Some(("/tools/1", Removed, None)),
        ),
        (
            r#""tools":[{"name":"a"},{"name":"b"}]"#,
            r#""tools":[{"name":"b"},{"name":"a"}]"#,
            Some(("/tools/0", Replaced, None)),
        ),
        (
            r#""tools":[{"name":"a","description":"x y"}]"#,
            r#""tools":[{"name":"d","defer_loading":true},{"name":"a","description":"x z"}]"#,
            Some(("/tools/1/description", Value, Some(2))),
        ),
        (r#""system":"s""#, r#""system":"t""#, Some(("/system", Value, Some(0)))),
        (
            r#""system":"st""#,
            r#""system":[{"type":"text","text":"sa"}]"#,
            Some(("/system/0/text", Value, Some(1))),
        ),
        (r#""system":[{"type":"text","text":"sa"}]"#, r#""system":"st""#, Some(("/system", Value, Some(1)))),
        (r#""system":"s""#, r#""system":[{"type":"text","text":"s"}]"#, Some(("/system/0", Spelling, None))),
        (r#""system":"s""#, r#""sys":1"#, Some(("/system", Removed, None))),
        (r#""x":1"#, r#""system":"s""#, Some(("/system", Added, None))),
    ];
    for (earlier, later, expect) in cases {
        let whole =
            |part: &str| format!("{{{part}{}\"messages\":[{user}]}}", if part.is_empty() { "" } else { "," });
        check(&whole(earlier), &whole(later), expect);
    }
}

#[test]
fn messages() {
    use Change::{Added, Removed, Replaced, Spelling, Value};
    let cases = [
        (
            r#"{"role":"user","content":"a"}"#,
            r#"{"role":"user","content":"a"},{"role":"assistant","content":"b"}"#,
            None,
        ),
        (
            r#"{"role":"user","content":[{"type":"text","text":"a"}]}"#,
            r#"{"role":"user","content":[{"type":"text","text":"a","cache_control":{}},{"type":"text","text":"b"}]}"#,
            None,
        ),
        (
            r#"{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":"c"}"#,
            r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},{"role":"assistant","content":"c"}"#,
            Some(("/messages/0/content/1", Added, None)),
        ),
        (
            r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},{"role":"assistant","content":"c"}"#,
            r#"{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":"c"}"#,
            Some(("/messages/0/content/1", Removed, None)),
        ),
        (
            r#"{"role":"user","content":"a"},{"role":"assistant","content":"c"}"#,
            r#"{"role":"user","content":"a"}"#,
            Some(("/messages/1", Removed, None)),
        ),
        (
            r#"{"role":"user","content":"a"},{"role":"assistant","content":"c"}"#,
            r#"{"role":"user","content":"a"},{"role":"system","content":"c"}"#,
            Some(("/messages/1", Replaced, None)),
        ),
        (
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"t"},{"type":"text","text":"a"}]}"#,
            r#"{"role":"assistant","content":[{"type":"text","text":"a"}]}"#,
            Some(("/messages/0/content/0", Replaced, None)),
        ),
        (
            r#"{"role":"system","content":[],"output_config":{"effort":"low"}}"#,
            r#"{"role":"system","content":[],"output_config":{"effort":"high"}}"#,
            Some(("/messages/0/output_config/effort", Value, Some(0))),
        ),
        (
            r#"{"role":"system","content":"a","output_config":{"effort":"low"}}"#,
            r#"{"role":"system","content":"a"}"#,
            Some(("/messages/0/output_config", Removed, None)),
        ),
        (
            r#"{"role":"system","content":[]},{"role":"user","content":"a"}"#,
            r#"{"role":"user","content":"a"}"#,
            Some(("/messages/0", Replaced, None)),
        ),
        (
            r#"{"role":"user","content":[{"type":"text","text":"a/é"}]}"#,
            r#"{"role":"user","content":[{"type":"text","text":"a\/\u00e9"}]}"#,
            Some(("/messages/0/content/0", Spelling, None)),
        ),
        (
            r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#,
            r#"{"role":"user","content":[{"text":"a","type":"text"},{"type":"text","text":"c"}]}"#,
            Some(("/messages/0/content/1/text", Value, Some(0))),
        ),
    ];
    for (earlier, later, expect) in cases {
        let whole = |part: &str| format!(r#"{{"messages":[{part}]}}"#);
        check(&whole(earlier), &whole(later), expect);
    }
}

#[test]
fn inside_blocks() {
    use Change::{Added, KeyOrder, Removed, Replaced, Value};
    let cases = [
        (
            r#"{"type":"text","text":"naïve\nx"}"#,
            r#"{"type":"text","text":"naïve\ny"}"#,
            Some(("/text", Value, Some(7))),
        ),
        // The first byte that differs is the second of `é`; an offset never splits a character.
        (r#"{"type":"text","text":"é"}"#, r#"{"type":"text","text":"è"}"#, Some(("/text", Value, Some(0)))),
        (
            r#"{"type":"text","text":"a"}"#,
            r#"{"type":"text","text":"a","citations":[]}"#,
            Some(("/citations", Added, None)),
        ),
        (r#"{"type":"text","text":"a","x":1}"#, r#"{"type":"text","text":"a"}"#, Some(("/x", Removed, None))),
        (
            r#"{"type":"text","text":"\ud83d"}"#,
            r#"{"type":"text","text":"\ud83e"}"#,
            Some(("/text", Value, Some(3))),
        ),
        (
            r#"{"type":"tool_use","id":"t","name":"n","input":{"a":1,"b":2}}"#,
            r#"{"type":"tool_use","id":"t","name":"n","input":{"b":2,"a":1}}"#,
            Some(("/input", KeyOrder, None)),
        ),
        (
            r#"{"type":"tool_use","id":"t","name":"n","input":{"a":{"x":10}}}"#,
            r#"{"type":"tool_use","id":"t","name":"n","input":{"a":{"x":10.0}}}"#,
            Some(("/input/a/x", Value, Some(2))),
        ),
        (
            r#"{"type":"tool_use","id":"t","name":"n","input":{"a":1}}"#,
            r#"{"type":"tool_use","id":"t","name":"n","input":{"new":0,"a":1}}"#,
            Some(("/input/new", Added, None)),
        ),
        (
            r#"{"type":"tool_use","id":"t","name":"n","input":{"a/b~":1,"c":2}}"#,
            r#"{"type":"tool_use","id":"t","name":"n","input":{"c":2}}"#,
            Some(("/input/a~1b~0", Removed, None)),
        ),
        (
            r#"{"type":"tool_result","tool_use_id":"t","content":"a"}"#,
            r#"{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"a"}]}"#,
            Some(("/content", Value, None)),
        ),
        (
            r#"{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"a"},{"type":"image"}]}"#,
            r#"{"type":"tool_result","tool_use_id":"t","content":[{"text":"a","type":"text","cache_control":{}},{"type":"text","text":"b"}]}"#,
            Some(("/content/1", Replaced, None)),
        ),
        (
            r#"{"type":"image","source":{"type":"base64","data":"AAA"}}"#,
            r#"{"type":"image","source":{"data":"AAB","type":"base64"}}"#,
            Some(("/source/data", Value, Some(2))),
        ),
    ];
    for (earlier, later, expect) in cases {
        let whole = |part: &str| format!(r#"{{"messages":[{{"role":"user","content":[{part}]}}]}}"#);
        let pointer = expect.map(|(path, ..)| format!("/messages/0/content/0{path}"));
        let expect = expect.zip(pointer.as_deref()).map(|((_, change, offset), path)| (path, change, offset));
        check(&whole(earlier), &whole(later), expect);
    }
}

#[test]
fn one_difference_in_full() {
    let earlier = r#"{"system":"You are careful. Today is 2026-10-02. Be brief and answer in one single sentence, always, without fail."}"#;
    let expect = Difference {
        pointer: "/system".to_owned(),
        side: Side::Later,
        class: Class::Normal,
        change: Change::Value,
        offset: Some(34),
        earlier: Some(
            "…reful. Today is 2026-10-02. Be brief and answer in one single sentence, …".to_owned(),
        ),
        later: Some("…reful. Today is 2026-10-13. Be brief and answer in one single sentence, …".to_owned()),
    };
    assert_eq!(compare(earlier, &earlier.replace("-02", "-13")), Some(expect));
}

/// Reported breaks: the bodies of a case file and where it says they part.
#[test]
fn reported_cases() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut checked = 0;
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let case = Body::parse(fs::read(&path).unwrap()).unwrap();
        let expected = case.root().pointer("/expected/first_break").unwrap();
        let between: Vec<_> = expected
            .get("between")
            .map(|pair| pair.items().filter_map(|index| index.u64()).collect())
            .unwrap_or(vec![0, 1]);
        let request =
            |index: u64| body(case.root().pointer(&format!("/input/requests/{index}")).unwrap().raw());
        let found = first_difference(&request(between[0]), &request(between[1])).unwrap();
        let found = found.filter(|found| found.class == Class::Normal);
        let expect = expected.get("path").and_then(|path| path.str());
        assert_eq!(
            found.as_ref().map(|found| found.pointer.as_str()),
            expect.as_deref(),
            "{}",
            path.display()
        );
        if let Some(chars) =
            case.root().pointer("/expected/common_prefix_chars_in_leaf").and_then(|n| n.u64())
        {
            assert_eq!(found.and_then(|found| found.offset), Some(chars as usize), "{}", path.display());
        }
        checked += 1;
    }
    assert_eq!(checked, 11);
}
