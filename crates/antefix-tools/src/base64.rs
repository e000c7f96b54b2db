//! Standard base64 with padding (RFC 4648).

/// Encodes bytes in standard base64 with padding (RFC 4648).
pub fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let group = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            // INVARIANT: six bits index 64 entries.
            let digit = ALPHABET[(group >> (18 - 6 * place)) as usize & 63];
            out.push(if place <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    out
}

/// The bytes of standard base64 with padding; `None` if it is none. Line ends and missing padding are not taken, since
/// providers do not take them either.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.as_bytes();
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let padding = text.iter().rev().take_while(|byte| **byte == b'=').count();
    if padding > 2 {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    for chunk in text.get(..text.len() - padding)?.chunks(4) {
        let mut group = 0;
        for byte in chunk {
            group = group << 6 | value(*byte)?;
        }
        group <<= 6 * (4 - chunk.len());
        let bytes = group.to_be_bytes();
        // A group of n digits holds n - 1 whole bytes.
        out.extend_from_slice(bytes.get(1..chunk.len())?);
    }
    Some(out)
}

/// The six bits of a digit.
fn value(digit: u8) -> Option<u32> {
    let value = match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

#[cfg(test)]
mod tests {
    #[test]
    fn the_vectors_of_the_standard() {
        for (input, expect) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(super::encode(input.as_bytes()), expect);
            assert_eq!(super::decode(expect).as_deref(), Some(input.as_bytes()));
        }
        assert_eq!(super::encode(&[0xfb, 0xff, 0xfe]), "+//+");
        assert_eq!(super::decode("+//+"), Some(vec![0xfb, 0xff, 0xfe]));
        for wrong in ["Zg", "Zg=", "Zm9v\n", "Z===", "====", "Zm=v", "Zm 9", "-_-_", "é==="] {
            assert_eq!(super::decode(wrong), None, "{wrong}");
        }
    }
}
