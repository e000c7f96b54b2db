use super::{Kind, Node};
use crate::ByteRange;

/// Decodes the escapes of a string's inner text; a lone surrogate becomes U+FFFD.
pub fn unescape(inner: &str) -> String {
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = rest.find('\\') {
        // INVARIANT: `at` was found in `rest`, and an escape ends on a character boundary within it.
        out.push_str(&rest[..at]);
        let (decoded, used) = escape(&rest[at..]);
        out.push(decoded);
        rest = &rest[at + used..];
    }
    out.push_str(rest);
    out
}

/// Writes `text` as a JSON string: quote, backslash and control characters escaped, all else as it is.
pub fn write_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut done = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        let short = match byte {
            b'"' => b'"',
            b'\\' => b'\\',
            b'\n' => b'n',
            b'\r' => b'r',
            b'\t' => b't',
            0x08 => b'b',
            0x0c => b'f',
            0x00..=0x1f => b'u',
            _ => continue,
        };
        // INVARIANT: `done` lies behind an earlier byte, and half a byte indexes 16 digits.
        out.extend_from_slice(&bytes[done..at]);
        out.extend_from_slice(&[b'\\', short]);
        if short == b'u' {
            out.extend_from_slice(&[b'0', b'0', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
        done = at + 1;
    }
    out.extend_from_slice(&bytes[done..]);
    out.push(b'"');
}

/// Writes a value without insignificant white space; strings, numbers and the order of keys stay as sent.
pub fn compact(out: &mut Vec<u8>, node: Node<'_>) {
    let bytes = node.text.as_bytes();
    let ByteRange { start: mut at, end } = node.range();
    for string in node.subtree().iter().filter(|span| span.kind == Kind::String) {
        // INVARIANT: spans stand in document order, and those of a subtree lie within its value.
        write_tokens(out, &bytes[at..string.start as usize]);
        out.extend_from_slice(&bytes[string.start as usize..string.end as usize]);
        at = string.end as usize;
    }
    write_tokens(out, &bytes[at..end]);
}

/// Writes JSON text that holds no string without its white space.
fn write_tokens(out: &mut Vec<u8>, text: &[u8]) {
    out.extend(text.iter().filter(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r')));
}

/// Decodes the escape at the start of `text` and says how many bytes it takes.
fn escape(text: &str) -> (char, usize) {
    match text.as_bytes().get(1) {
        Some(b'n') => ('\n', 2),
        Some(b't') => ('\t', 2),
        Some(b'r') => ('\r', 2),
        Some(b'b') => ('\u{8}', 2),
        Some(b'f') => ('\u{c}', 2),
        Some(b'u') => unicode_escape(text),
        Some(&byte) if byte.is_ascii() => (char::from(byte), 2),
        _ => (char::REPLACEMENT_CHARACTER, 1),
    }
}

fn unicode_escape(text: &str) -> (char, usize) {
    let unit = |at: usize| u32::from_str_radix(text.get(at..at + 4)?, 16).ok();
    let Some(first) = unit(2) else {
        return (char::REPLACEMENT_CHARACTER, 2);
    };
    if (0xd800..0xdc00).contains(&first)
        && text.get(6..8) == Some("\\u")
        && let Some(second @ 0xdc00..0xe000) = unit(8)
    {
        let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        return (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 12);
    }
    (char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER), 6)
}

const HEX: &[u8; 16] = b"0123456789abcdef";
