//! A naive judge of bodies: it strips the markers as text, counts brackets, and compares bytes.

/// The body without its markers. No other text in these tests holds an unescaped `"cache_control"`.
pub fn stripped(body: &[u8]) -> Vec<u8> {
    let text = String::from_utf8(body.to_vec()).unwrap();
    text.replace(r#","cache_control":{"type":"ephemeral","ttl":"1h"}"#, "")
        .replace(r#","cache_control":{"type":"ephemeral"}"#, "")
        .into_bytes()
}

/// Whether a stripped body goes on where an earlier one ended, or equals it.
pub fn extends(earlier: &[u8], later: &[u8]) -> bool {
    let open = earlier.strip_suffix(b"]}").unwrap();
    let Some(rest) = later.strip_prefix(open) else { return false };
    rest == b"]}" || rest.starts_with(b",") && rest.ends_with(b"]}")
}

/// What a provider reads of a stripped body, piece by piece: tools but for those that are deferred, system blocks, message blocks; a message's
/// role stands with its first block. In Chat Completions, which these tests tell by their usage option, a message is
/// one piece.
pub fn pieces(body: &[u8]) -> Vec<Vec<u8>> {
    let mut out = elements(body, br#","tools":["#);
    out.retain(|tool| !tool.ends_with(br#","defer_loading":true}"#));
    if body.windows(16).take(200).any(|window| window == br#""stream_options""#) {
        out.extend(elements(body, br#""messages":["#));
        return out;
    }
    out.extend(elements(body, br#","system":["#));
    for message in elements(body, br#""messages":["#) {
        let head = message.windows(11).position(|window| window == br#""content":["#).unwrap();
        for (index, block) in elements(&message, br#""content":["#).into_iter().enumerate() {
            let role = if index == 0 { message[..head].to_vec() } else { Vec::new() };
            out.push([role, block].concat());
        }
    }
    out
}

/// Number of pieces at the start that two bodies share.
pub fn shared(one: &[u8], other: &[u8]) -> usize {
    pieces(one).iter().zip(pieces(other)).take_while(|(left, right)| **left == *right).count()
}

/// The elements of the array that `start` opens, if it is there; members of that name in strings are escaped.
fn elements(text: &[u8], start: &[u8]) -> Vec<Vec<u8>> {
    let Some(at) = text.windows(start.len()).position(|window| window == start) else { return Vec::new() };
    let text = &text[at + start.len()..];
    let mut out = Vec::new();
    let (mut from, mut depth, mut quoted, mut escaped) = (0, 0, false, false);
    for (at, &byte) in text.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'{' | b'[' => depth += 1,
            b']' | b',' if depth == 0 => {
                out.push(text[from..at].to_vec());
                from = at + 1;
                if byte == b']' {
                    break;
                }
            }
            b'}' | b']' => depth -= 1,
            _ => {}
        }
    }
    out.retain(|element| !element.is_empty());
    out
}

#[test]
fn pieces_are_counted_by_brackets() {
    let body = br#"{"model":"m","tools":[{"a":[1,2]},{"b":"],["}],"system":[{"s":1}],"messages":[{"role":"user","content":[{"x":"\"}"},{"y":2}]},{"role":"assistant","content":[{"z":3}]}]}"#;
    let expect = [
        r#"{"a":[1,2]}"#,
        r#"{"b":"],["}"#,
        r#"{"s":1}"#,
        r#"{"role":"user",{"x":"\"}"}"#,
        r#"{"y":2}"#,
        r#"{"role":"assistant",{"z":3}"#,
    ];
    let found: Vec<String> =
        pieces(body).into_iter().map(|piece| String::from_utf8(piece).unwrap()).collect();
    assert_eq!(found, expect);
    assert!(extends(br#"{"messages":[1]}"#, br#"{"messages":[1,2]}"#));
    assert!(extends(br#"{"messages":[1]}"#, br#"{"messages":[1]}"#));
    assert!(!extends(br#"{"messages":[1]}"#, br#"{"messages":[12]}"#));
}
