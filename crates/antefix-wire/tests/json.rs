//! Spans of JSON texts: properties over random texts, errors, limits.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail")]

use std::fmt::Write as _;

use antefix_wire::json::{
    Body, Kind, Limits, Node, ScanError, ScanErrorKind, compact, unescape, write_string,
};
use antefix_wire::{Edit, splice};
use proptest::prelude::*;

proptest! {
    #[test]
    fn spans_cover_the_text(value in value(), spaces in any::<u64>()) {
        let text = value.written(spaces);
        let body = Body::parse(text.clone()).unwrap();
        prop_assert_eq!(body.text(), &text);
        prop_assert_eq!(body.root().raw(), text.trim_matches([' ', '\t', '\n', '\r']));
        prop_assert_eq!(cover(body.root()), Ok(()));
        prop_assert_eq!(body.root().span_count(), body.span_count());
        prop_assert_eq!(body.span_count(), value.count());
        prop_assert!(value.same(body.root()), "{} read as {:?}", text, body.root());
    }

    #[test]
    fn a_splice_without_edits_is_the_text(value in value(), spaces in any::<u64>()) {
        let body = Body::parse(value.written(spaces)).unwrap();
        prop_assert_eq!(splice(body.bytes(), &[]).unwrap(), body.bytes());
        let copies: Vec<_> = body.root().items().chain(body.root().members().map(|(_, value)| value))
            .map(|node| Edit::replace(node.range(), node.raw().as_bytes()))
            .collect();
        prop_assert_eq!(splice(body.bytes(), &copies).unwrap(), body.bytes());
    }

    #[test]
    fn compacting_keeps_the_leaves(value in value(), spaces in any::<u64>()) {
        let body = Body::parse(value.written(spaces)).unwrap();
        let mut once = Vec::new();
        compact(&mut once, body.root());
        prop_assert_eq!(std::str::from_utf8(&once).unwrap(), value.written(0));
        let again = Body::parse(once.clone()).unwrap();
        prop_assert!(value.same(again.root()));
        let mut twice = Vec::new();
        compact(&mut twice, again.root());
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn members_and_pointers_are_found(value in value(), spaces in any::<u64>()) {
        let body = Body::parse(value.written(spaces)).unwrap();
        let mut paths = Vec::new();
        value.paths(&mut String::new(), &mut paths);
        for (pointer, expect) in paths {
            let node = body.root().pointer(&pointer);
            prop_assert!(node.is_some_and(|node| expect.same(node)), "{} gave {:?}", pointer, node);
        }
        prop_assert!(body.root().pointer("/no such key/0").is_none());
        prop_assert!(body.root().pointer("no slash").is_none());
    }

    #[test]
    fn strings_come_back(text in any::<String>()) {
        let mut json = Vec::new();
        write_string(&mut json, &text);
        let body = Body::parse(json).unwrap();
        prop_assert_eq!(body.root().str().unwrap(), text);
    }

    #[test]
    fn no_text_makes_it_panic(text in r#"[\[\]{}",:\\u0-9a-f truenlsE.+é\n-]{0,40}"#) {
        if let Ok(body) = Body::parse(text.clone()) {
            prop_assert_eq!(cover(body.root()), Ok(()));
        }
        let _ = unescape(&text);
    }
}

#[test]
fn escapes() {
    let cases = [
        (r"\u00e9\/\n\r\t\b\f\\", "é/\n\r\t\u{8}\u{c}\\"),
        (r#"\""#, "\""),
        (r"\ud834\udd1e", "𝄞"),
        (r"\uD834\uDD1E!", "𝄞!"),
        (r"\ud834", "\u{fffd}"),
        (r"\udd1e", "\u{fffd}"),
        (r"\ud834\ud834\udd1e", "\u{fffd}𝄞"),
        (r"\ud834x", "\u{fffd}x"),
        (r"\ud834\n", "\u{fffd}\n"),
        (r"\u0000", "\0"),
    ];
    for (inner, expect) in cases {
        let body = Body::parse(format!("\"{inner}\"")).unwrap();
        assert_eq!(body.root().str().unwrap(), expect, "{inner}");
        assert!(body.root().is_escaped() && body.root().is_str(expect));
    }
}

#[test]
fn strings_are_written_with_the_shortest_escapes() {
    let cases = [
        ("", r#""""#),
        ("a/é𝄞\u{7f}\u{2028}", "\"a/é𝄞\u{7f}\u{2028}\""),
        ("\"\\\n\r\t\u{8}\u{c}", r#""\"\\\n\r\t\b\f""#),
        ("\0\u{1}\u{b}\u{1f}", r#""\u0000\u0001\u000b\u001f""#),
        ("a\tb", r#""a\tb""#),
    ];
    for (text, expect) in cases {
        let mut out = Vec::new();
        write_string(&mut out, text);
        assert_eq!(String::from_utf8(out).unwrap(), expect);
    }
}

#[test]
fn numbers_are_read_only_where_they_fit() {
    let cases = [
        ("0", Some(0)),
        ("18446744073709551615", Some(u64::MAX)),
        ("18446744073709551616", None),
        ("-0", None),
        ("1.0", None),
        ("1e3", None),
        ("\"1\"", None),
        ("null", None),
    ];
    for (text, expect) in cases {
        assert_eq!(Body::parse(text).unwrap().root().u64(), expect, "{text}");
    }
}

#[test]
fn pointers() {
    let body = Body::parse(r#"{"a":[10,{"":11,"/~":12}],"b":{"0":13}}"#).unwrap();
    let cases = [
        ("/a/0", Some("10")),
        ("/a/1/", Some("11")),
        ("/a/1/~1~0", Some("12")),
        ("/b/0", Some("13")),
        ("/a/2", None),
        ("/a/-", None),
        ("/a/00", None),
        ("/a/+0", None),
        ("/a/", None),
        ("/a/0/0", None),
        ("a", None),
        ("/a/1/~01~0", None),
    ];
    for (pointer, expect) in cases {
        assert_eq!(body.root().pointer(pointer).map(Node::raw), expect, "{pointer}");
    }
    assert_eq!(body.root().pointer("").map(Node::raw), Some(body.text()));
}

#[test]
fn errors_name_the_byte() {
    use ScanErrorKind::{Colon, Comma, Control, End, Escape, Key, Number, Trailing, Utf8, Value};
    let cases: &[(&[u8], ScanErrorKind, usize)] = &[
        (b"", End, 0),
        (b"  ", End, 2),
        (b"nul", End, 3),
        (b"nulx", Value, 3),
        (b"True", Value, 0),
        (b"'a'", Value, 0),
        (b"\xef\xbb\xbf1", Value, 0),
        (b"[1,]", Value, 3),
        (b"[,1]", Value, 1),
        (b"[1 2]", Comma, 3),
        (b"[1", End, 2),
        (b"[1}", Comma, 2),
        (b"]", Value, 0),
        (b"{\"a\":1,}", Key, 7),
        (b"{a:1}", Key, 1),
        (b"{1:1}", Key, 1),
        (b"{\"a\" 1}", Colon, 5),
        (b"{\"a\"}", Colon, 4),
        (b"{\"a\":}", Value, 5),
        (b"{\"a\":1 \"b\":2}", Comma, 7),
        (b"{\"a\":1]", Comma, 6),
        (b"{\"a\":1", End, 6),
        (b"{\"a\"", End, 4),
        (b"{", End, 1),
        (b"01", Number, 1),
        (b"-", End, 1),
        (b"-a", Number, 1),
        (b"+1", Value, 0),
        (b".5", Value, 0),
        (b"1.", End, 2),
        (b"1.x", Number, 2),
        (b"1e", End, 2),
        (b"1e+", End, 3),
        (b"1e+x", Number, 3),
        (b"1.2.3", Number, 3),
        (b"1x", Trailing, 1),
        (b"1 1", Trailing, 2),
        (b"{}}", Trailing, 2),
        (b"\"a", End, 2),
        (b"\"a\n\"", Control, 2),
        (b"\"a\x00\"", Control, 2),
        (b"\"abcdefghijk\x1f\"", Control, 12),
        (b"\"\\", End, 2),
        (b"\"\\x\"", Escape, 1),
        (b"\"\\u12g4\"", Escape, 1),
        (b"\"\\u12", End, 5),
        (b"\"\\u12\"", Escape, 1),
        (b"\"\\u123\"", Escape, 1),
        (b"\"\\u123g\"", Escape, 1),
        (b"\"\xff\"", Utf8, 1),
        (b"\"\xc3", Utf8, 1),
        (b"\"\xed\xa0\x80\"", Utf8, 1),
        (b"/* note */ 1", Value, 0),
        (b"NaN", Value, 0),
        (b"[1]\x0b", Trailing, 3),
    ];
    for &(text, kind, offset) in cases {
        let error = Body::parse(text).map(|body| body.text().to_owned()).unwrap_err();
        assert_eq!(error, ScanError { kind, offset }, "{}", text.escape_ascii());
    }
    let error = ScanError { kind: Colon, offset: 4 };
    assert_eq!(error.to_string(), "expected `:` at byte 4");
}

#[test]
fn limits_hold() {
    use ScanErrorKind::{TooDeep, TooLong, TooMany};
    let unlimited = Limits { bytes: usize::MAX, depth: usize::MAX, spans: usize::MAX };
    let cases = [
        ("[[1]]", Limits { depth: 2, ..unlimited }, None),
        ("[[1]]", Limits { depth: 1, ..unlimited }, Some((TooDeep, 1))),
        ("{\"a\":{}}", Limits { depth: 1, ..unlimited }, Some((TooDeep, 5))),
        ("[[],[],[]]", Limits { depth: 2, ..unlimited }, None),
        ("1", Limits { depth: 0, ..unlimited }, None),
        ("[1,2]", Limits { spans: 3, ..unlimited }, None),
        ("[1,2]", Limits { spans: 2, ..unlimited }, Some((TooMany, 3))),
        ("{\"a\":1}", Limits { spans: 2, ..unlimited }, Some((TooMany, 5))),
        ("[1,2]", Limits { bytes: 5, ..unlimited }, None),
        ("[1,2]", Limits { bytes: 4, ..unlimited }, Some((TooLong, 4))),
    ];
    for (text, limits, expect) in cases {
        let error = Body::parse_with(text, limits).err().map(|error| (error.kind, error.offset));
        assert_eq!(error, expect, "{text} {limits:?}");
    }
}

#[test]
fn a_million_brackets_are_an_error_and_no_crash() {
    for unit in ["[", "{\"a\":"] {
        let text = unit.repeat(1_000_000);
        let error = Body::parse(text).map(|_| ()).unwrap_err();
        assert_eq!(error, ScanError { kind: ScanErrorKind::TooDeep, offset: unit.len() * 1024 });
    }
}

#[test]
fn depth_that_is_allowed_does_not_overflow_the_stack() {
    let depth = 1_000_000;
    let text = "[".repeat(depth) + &"]".repeat(depth);
    let body = Body::parse_with(text.clone(), Limits { depth, ..Limits::default() }).unwrap();
    let mut out = Vec::new();
    compact(&mut out, body.root());
    assert!(out == text.as_bytes());
}

#[test]
fn a_body_of_50_mb_is_read() {
    let block = format!(r#"{{"type":"text","text":"{}"}}"#, "0123456789 ".repeat(90));
    let mut text = String::from("[");
    while text.len() < 50_000_000 {
        text.push_str(&block);
        text.push(',');
    }
    text.push_str("null]");
    let body = Body::parse(text).unwrap();
    let root = body.root();
    assert_eq!(
        root.items().filter(|item| item.get("type").is_some_and(|kind| kind.is_str("text"))).count(),
        (root.span_count() - 2) / 5
    );
    assert!(root.items().last().unwrap().is_null());
}

/// A reference value that knows its own text.
#[derive(Clone, Debug)]
enum Value {
    /// Anything but a string or a container, as its text.
    Plain(String),
    String(String),
    Array(Vec<Value>),
    Object(Vec<(String, Value)>),
}

impl Value {
    /// The JSON text; the bits of `spaces` choose white space, and none is written for zero.
    fn written(&self, spaces: u64) -> String {
        let mut writer = Writer { out: String::new(), spaces };
        writer.space();
        writer.value(self);
        writer.space();
        writer.out
    }

    fn count(&self) -> usize {
        1 + match self {
            Self::Plain(_) | Self::String(_) => 0,
            Self::Array(items) => items.iter().map(Self::count).sum(),
            Self::Object(members) => members.iter().map(|(_, value)| 1 + value.count()).sum(),
        }
    }

    fn same(&self, node: Node<'_>) -> bool {
        match self {
            Self::Plain(text) => node.raw() == text,
            Self::String(text) => node.is_str(text) && node.kind() == Kind::String,
            Self::Array(items) => {
                node.kind() == Kind::Array
                    && node.items().count() == items.len()
                    && items.iter().zip(node.items()).all(|(item, node)| item.same(node))
            }
            Self::Object(members) => {
                node.kind() == Kind::Object
                    && node.members().count() == members.len()
                    && members
                        .iter()
                        .zip(node.members())
                        .all(|((key, value), (name, node))| name.is_str(key) && value.same(node))
            }
        }
    }

    /// All pointers into the value; of members with one key, the last one.
    fn paths<'a>(&'a self, at: &mut String, out: &mut Vec<(String, &'a Value)>) {
        out.push((at.clone(), self));
        let children: Vec<(String, &Value)> = match self {
            Self::Plain(_) | Self::String(_) => Vec::new(),
            Self::Array(items) => {
                items.iter().enumerate().map(|(index, item)| (index.to_string(), item)).collect()
            }
            Self::Object(members) => members
                .iter()
                .enumerate()
                .filter(|(index, (key, _))| members[index + 1..].iter().all(|(later, _)| later != key))
                .map(|(_, (key, value))| (key.replace('~', "~0").replace('/', "~1"), value))
                .collect(),
        };
        for (token, child) in children {
            let len = at.len();
            write!(at, "/{token}").unwrap();
            child.paths(at, out);
            at.truncate(len);
        }
    }
}

struct Writer {
    out: String,
    spaces: u64,
}

impl Writer {
    fn space(&mut self) {
        let choice = self.spaces & 7;
        self.spaces = self.spaces.rotate_right(3);
        self.out.push_str(["", " ", "\n", "\t ", "", "", "\r\n", "  "][choice as usize]);
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Plain(text) => self.out.push_str(text),
            Value::String(text) => self.string(text),
            Value::Array(items) => {
                self.out.push('[');
                for (index, item) in items.iter().enumerate() {
                    self.separate(index);
                    self.value(item);
                }
                self.space();
                self.out.push(']');
            }
            Value::Object(members) => {
                self.out.push('{');
                for (index, (key, value)) in members.iter().enumerate() {
                    self.separate(index);
                    self.string(key);
                    self.space();
                    self.out.push(':');
                    self.space();
                    self.value(value);
                }
                self.space();
                self.out.push('}');
            }
        }
    }

    fn separate(&mut self, index: usize) {
        self.space();
        if index > 0 {
            self.out.push(',');
            self.space();
        }
    }

    /// Writes every third character as an escape, so that both forms occur.
    fn string(&mut self, text: &str) {
        self.out.push('"');
        for (index, letter) in text.chars().enumerate() {
            if index % 3 == 2 || letter < ' ' || letter == '"' || letter == '\\' {
                for unit in letter.encode_utf16(&mut [0; 2]) {
                    write!(self.out, "\\u{unit:04x}").unwrap();
                }
            } else {
                self.out.push(letter);
            }
        }
        self.out.push('"');
    }
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Plain("null".to_owned())),
        Just(Value::Plain("true".to_owned())),
        Just(Value::Plain("false".to_owned())),
        r"-?(0|[1-9][0-9]{0,29})(\.[0-9]{1,6})?([eE][+-]?[0-9]{1,4})?".prop_map(Value::Plain),
        any::<String>().prop_map(Value::String),
        r"[ -~]{0,40}".prop_map(Value::String),
    ];
    // Few keys, so that some stand twice, and some with the signs that a pointer escapes.
    let key = prop_oneof!["[ab]", "[a-z~/\"\\\\é]{0,4}"];
    leaf.prop_recursive(8, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::vec((key.clone(), inner), 0..6).prop_map(Value::Object),
        ]
    })
}

/// Checks that the children of each container stand in it in order, with nothing but signs and white space
/// between them.
fn cover(node: Node<'_>) -> Result<(), String> {
    let children: Vec<_> = match node.kind() {
        Kind::Array => node.items().collect(),
        Kind::Object => node.members().flat_map(|(key, value)| [key, value]).collect(),
        _ => return if node.raw().is_empty() { Err("an empty leaf".to_owned()) } else { Ok(()) },
    };
    let mut left = String::new();
    let (base, mut at) = (node.range().start, node.range().start);
    for child in &children {
        let range = child.range();
        left.push_str(node.raw().get(at - base..range.start - base).ok_or("spans out of order")?);
        at = range.end;
        cover(*child)?;
    }
    left.push_str(node.raw().get(at - base..).ok_or("a span past its container")?);
    let signs = |sign: &char| !matches!(sign, '[' | ']' | '{' | '}' | ',' | ':' | ' ' | '\t' | '\n' | '\r');
    left.chars().find(signs).map_or(Ok(()), |sign| Err(format!("{sign:?} lies outside of any span")))
}
