//! The one spelling of a tool, block or message that stands for all that mean the same.
//!
//! Two spellings are equal where the provider's API takes them as equal. The rules, one row each:
//!
//! | difference | equal |
//! |---|---|
//! | `cache_control` of a tool, a block or a block inside a block | yes |
//! | white space between tokens | yes |
//! | escapes of a string (`\u00e9` and `é`, `\/` and `/`) | yes |
//! | order of members | yes, but for what is under `input_schema`, `parameters`, `input` or (Gemini) `args` |
//! | content of a message or the system prompt as a string, or as one text block | yes |
//! | content of a tool result as a string, or as one text block | no: not documented to be one |
//! | text of a number (`1.0` and `1`) | no |
//! | a member with its default value, or none | no |
//!
//! Sources: providers' reading order and byte-exactness, platform.claude.com/docs/en/build-with-claude/
//! prompt-caching (September 2026); the order of keys in tool input is named there as part of the key.

use std::borrow::Cow;

use antefix_wire::ByteRange;
use antefix_wire::json::{Kind, Node};

/// What one walk over a tool or a block finds.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// The markers, each with the comma that sets it apart, in ascending order.
    pub(crate) cuts: Vec<ByteRange>,
    /// The value is not in the standard spelling; a marker alone makes it so.
    pub(crate) differs: bool,
}

impl Survey {
    /// Looks over `node`, which replaces what was found before.
    pub(crate) fn look(&mut self, node: Node<'_>) {
        self.cuts.clear();
        self.differs = false;
        self.value(node, false);
    }

    fn value(&mut self, node: Node<'_>, ordered: bool) {
        match node.kind() {
            Kind::Object => self.object(node, ordered),
            Kind::Array => self.array(node, ordered),
            Kind::String => self.differs = self.differs || !is_standard(node),
            Kind::Null | Kind::Bool | Kind::Number => {}
        }
    }

    fn array(&mut self, node: Node<'_>, ordered: bool) {
        let mut at = node.range().start + 1;
        for item in node.items() {
            self.differs |= item.range().start != at;
            self.value(item, ordered);
            at = item.range().end + 1;
        }
        self.differs |= !closes_at(node, at);
    }

    fn object(&mut self, node: Node<'_>, ordered: bool) {
        let mut at = node.range().start + 1;
        let mut rank = (0, "");
        let mut before = None;
        let mut members = node.members().peekable();
        while let Some((key, value)) = members.next() {
            self.differs |= key.range().start != at || value.range().start != key.range().end + 1;
            self.differs = self.differs || !is_standard(key);
            if ordered {
                self.value(value, true);
            } else if key.is_str(MARKER) {
                self.differs = true;
                self.cuts.push(marker_cut(before, key, value, members.peek().map(|(next, _)| *next)));
            } else {
                let next = rank_of(key.raw());
                self.differs |= next < rank;
                rank = next;
                self.value(value, keeps_order(key));
                before = Some(value);
            }
            at = value.range().end + 1;
        }
        self.differs |= !closes_at(node, at);
    }
}

/// The pieces of `node`'s text that are left without `cuts`.
pub(crate) fn without<'a>(node: Node<'a>, cuts: &[ByteRange]) -> Vec<&'a [u8]> {
    let start = node.range().start;
    let raw = node.raw().as_bytes();
    let mut done = start;
    let mut pieces = Vec::with_capacity(cuts.len() + 1);
    for cut in cuts {
        // Two markers in a row share the comma between them.
        // INVARIANT: a cut lies within the value that it was found in.
        pieces.push(&raw[done - start..cut.start.max(done) - start]);
        done = cut.end.max(done);
    }
    pieces.push(&raw[done - start..]);
    pieces
}

/// The message around its content.
pub(crate) fn header(message: Node<'_>) -> (&[u8], &[u8]) {
    let raw = message.raw().as_bytes();
    let Some(content) = message.get("content") else {
        return (raw, &[]);
    };
    let start = message.range().start;
    // INVARIANT: a member's value lies within the object.
    (&raw[..content.range().start - start], &raw[content.range().end - start..])
}

/// The pieces of a message without its content and its own markers.
pub(crate) fn header_without_markers(message: Node<'_>) -> Vec<&[u8]> {
    let content = message.get("content").map(|content| content.range());
    let mut cuts = own_marker_cuts(message);
    cuts.extend(content);
    cuts.sort_unstable();
    without(message, &cuts)
}

/// The markers among the members of `node` itself.
fn own_marker_cuts(node: Node<'_>) -> Vec<ByteRange> {
    let mut cuts = Vec::new();
    let mut before = None;
    let mut members = node.members().peekable();
    while let Some((key, value)) = members.next() {
        if key.is_str(MARKER) {
            cuts.push(marker_cut(before, key, value, members.peek().map(|(next, _)| *next)));
        } else {
            before = Some(value);
        }
    }
    cuts
}

/// Writes the standard spelling of a tool, a block or a message. The value of the member `elided` is left
/// out.
pub(crate) fn write_standard(out: &mut Vec<u8>, node: Node<'_>, elided: Option<&str>) {
    write_value(out, node, false, elided);
}

/// Writes a string's standard spelling: what must be escaped is, in the short form if there is one, and
/// nothing else; half a surrogate pair stays an escape.
pub(crate) fn write_standard_string(out: &mut Vec<u8>, node: Node<'_>) {
    let raw = node.raw().as_bytes();
    if !node.is_escaped() || !may_differ(raw) {
        out.extend_from_slice(raw);
        return;
    }
    let mut done = 0;
    let mut at = 0;
    // INVARIANT: a backslash is found within the rest, and an escape is no longer than what follows it.
    while let Some(found) = find_backslash(&raw[at..]) {
        at += found;
        let escape = &raw[at..at + escape_length(&raw[at..])];
        if !is_short_escape(escape) {
            out.extend_from_slice(&raw[done..at]);
            write_escape(out, escape);
            done = at + escape.len();
        }
        at += escape.len();
    }
    out.extend_from_slice(&raw[done..]);
}

/// Whether the order of members counts below a member of this name.
pub(crate) fn keeps_order(key: Node<'_>) -> bool {
    matches!(
        key.raw(),
        r#""input""# | r#""input_schema""# | r#""parameters""# | r#""parametersJsonSchema""# | r#""args""#
    ) || (key.is_escaped() && ORDERED.iter().any(|name| key.is_str(name)))
}

/// Where a member stands in the standard spelling: in the order in which common clients write them, so that
/// most blocks are in it as sent; any other member comes behind, by its text.
fn rank_of(raw_key: &str) -> (u8, &str) {
    let rank = match raw_key {
        r#""type""# => 0,
        r#""role""# => 1,
        r#""id""# => 2,
        r#""tool_use_id""# => 3,
        r#""name""# => 4,
        r#""description""# => 5,
        r#""input_schema""# => 6,
        r#""input""# => 7,
        r#""text""# => 8,
        r#""thinking""# => 9,
        r#""signature""# => 10,
        r#""content""# => 11,
        r#""is_error""# => 12,
        r#""source""# => 13,
        r#""media_type""# => 14,
        r#""data""# => 15,
        _ => 16,
    };
    (rank, raw_key)
}

fn closes_at(node: Node<'_>, at: usize) -> bool {
    let end = node.range().end;
    // `at` is one behind the last item's comma that is not there, or where the first item would be.
    end == at || (end == at + 1 && node.range().len() == 2)
}

/// What goes with a marker; `before` is the last member in front of it that is none, `next` the key behind
/// it.
fn marker_cut(before: Option<Node<'_>>, key: Node<'_>, value: Node<'_>, next: Option<Node<'_>>) -> ByteRange {
    match (before, next) {
        (Some(before), _) => ByteRange::new(before.range().end, value.range().end),
        (None, Some(next)) => ByteRange::new(key.range().start, next.range().start),
        (None, None) => ByteRange::new(key.range().start, value.range().end),
    }
}

fn write_value(out: &mut Vec<u8>, node: Node<'_>, ordered: bool, elided: Option<&str>) {
    match node.kind() {
        Kind::Object => write_object(out, node, ordered, elided),
        Kind::Array => {
            out.push(b'[');
            for (index, item) in node.items().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_value(out, item, ordered, None);
            }
            out.push(b']');
        }
        Kind::String => write_standard_string(out, node),
        Kind::Null | Kind::Bool | Kind::Number => out.extend_from_slice(node.raw().as_bytes()),
    }
}

fn write_object(out: &mut Vec<u8>, node: Node<'_>, ordered: bool, elided: Option<&str>) {
    let mut members: Vec<_> = node
        .members()
        .filter(|(key, _)| ordered || !key.is_str(MARKER))
        .map(|(key, value)| (standard_key(key), key, value))
        .collect();
    if !ordered {
        members.sort_by(|(left, ..), (right, ..)| rank_of(left).cmp(&rank_of(right)));
    }
    out.push(b'{');
    for (index, (text, key, value)) in members.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(text.as_bytes());
        out.push(b':');
        if elided.is_none_or(|name| !key.is_str(name)) {
            write_value(out, value, ordered || keeps_order(key), None);
        }
    }
    out.push(b'}');
}

fn standard_key(key: Node<'_>) -> Cow<'_, str> {
    if is_standard(key) {
        return Cow::Borrowed(key.raw());
    }
    let mut text = Vec::new();
    write_standard_string(&mut text, key);
    Cow::Owned(String::from_utf8_lossy(&text).into_owned())
}

/// Whether a string is in its standard spelling.
fn is_standard(node: Node<'_>) -> bool {
    if !node.is_escaped() {
        return true;
    }
    let mut rest = node.raw().as_bytes();
    if !may_differ(rest) {
        return true;
    }
    // INVARIANT: as in `write_standard_string`.
    while let Some(at) = find_backslash(rest) {
        rest = &rest[at..];
        if is_short_escape(rest) {
            rest = &rest[2..];
            continue;
        }
        let escape = &rest[..escape_length(rest)];
        let mut standard = Vec::with_capacity(12);
        write_escape(&mut standard, escape);
        if standard != escape {
            return false;
        }
        rest = &rest[escape.len()..];
    }
    true
}

/// Whether a backslash is followed by `u` or `/`: without such a pair every escape is a short one. Written so
/// that it compiles to vector code; the backslash may itself be escaped, so a hit says no more than "look
/// closer".
fn may_differ(bytes: &[u8]) -> bool {
    let pairs = bytes.iter().zip(bytes.get(1..).unwrap_or_default());
    let hits = pairs.fold(0, |hits, (&one, &two)| {
        hits | u8::from(one == b'\\') & (u8::from(two == b'u') | u8::from(two == b'/'))
    });
    hits != 0
}

/// Whether the escape at the start is one of two bytes that the standard spelling keeps: all but `\/`.
fn is_short_escape(escape: &[u8]) -> bool {
    matches!(escape, [b'\\', b'n' | b't' | b'"' | b'\\' | b'r' | b'b' | b'f', ..])
}

/// Length of the escape at the start: a surrogate pair counts as one.
fn escape_length(bytes: &[u8]) -> usize {
    if bytes.get(1) != Some(&b'u') {
        return 2.min(bytes.len());
    }
    let pair = matches!(unit(bytes), Some(0xd800..0xdc00))
        && bytes.get(6..8) == Some(b"\\u")
        && matches!(bytes.get(6..).and_then(unit), Some(0xdc00..0xe000));
    if pair { 12 } else { 6.min(bytes.len()) }
}

/// The code unit of a `\u` escape.
fn unit(bytes: &[u8]) -> Option<u32> {
    u32::from_str_radix(std::str::from_utf8(bytes.get(2..6)?).ok()?, 16).ok()
}

/// Writes the standard spelling of one escape that is not a short one.
fn write_escape(out: &mut Vec<u8>, escape: &[u8]) {
    let Some(first) = unit(escape) else {
        out.push(b'/');
        return;
    };
    let code = match escape.get(6..).and_then(unit) {
        Some(second) => 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00),
        None => first,
    };
    match char::from_u32(code) {
        Some('"') => out.extend_from_slice(b"\\\""),
        Some('\\') => out.extend_from_slice(b"\\\\"),
        Some('\n') => out.extend_from_slice(b"\\n"),
        Some('\t') => out.extend_from_slice(b"\\t"),
        Some('\r') => out.extend_from_slice(b"\\r"),
        Some('\u{8}') => out.extend_from_slice(b"\\b"),
        Some('\u{c}') => out.extend_from_slice(b"\\f"),
        Some(decoded) if decoded >= ' ' => {
            out.extend_from_slice(decoded.encode_utf8(&mut [0; 4]).as_bytes());
        }
        _ => out.extend_from_slice(format!("\\u{code:04x}").as_bytes()),
    }
}

/// Offset of the first backslash; eight bytes at a time.
#[inline]
fn find_backslash(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    // INVARIANT: `at` grows by a word that was found behind it.
    while let Some(word) = bytes[at..].first_chunk::<8>() {
        let word = u64::from_le_bytes(*word) ^ (ONES * b'\\' as u64);
        // The lowest bit set marks the first zero byte, that is, the first backslash.
        let hits = word.wrapping_sub(ONES) & !word & (ONES * 0x80);
        if hits != 0 {
            return Some(at + hits.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    bytes[at..].iter().position(|&byte| byte == b'\\').map(|found| at + found)
}

/// The member that holds a marker.
pub(crate) const MARKER: &str = "cache_control";

const ORDERED: [&str; 5] = ["input", "input_schema", "parameters", "parametersJsonSchema", "args"];

const ONES: u64 = 0x0101_0101_0101_0101;
