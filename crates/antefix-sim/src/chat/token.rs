//! Tokens of rendered prompts: made by a rule that anybody can repeat, not a real tokenizer's.

/// One token. Two are equal exactly if they stand for the same text, or for the same special piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Token(u64);

impl Token {
    /// A piece of a template that no text can imitate.
    pub fn special(piece: Special) -> Self {
        Self(SPECIAL | piece as u64)
    }

    /// A piece of an image, told apart by what the image is.
    pub fn image(source: &str) -> Self {
        // FNV-1a, cut to the width that is left.
        let hash = source.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(IMAGE | (hash >> 8))
    }

    /// A piece of text of at most seven bytes.
    fn text(piece: &str) -> Self {
        let bytes = piece.bytes().fold(0, |packed, byte| packed << 8 | u64::from(byte));
        Self((piece.len() as u64) << 56 | bytes)
    }
}

/// Pieces of templates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    Start,
    End,
    Tools,
    EndTools,
    Think,
    EndThink,
    Call,
    EndCall,
}

/// Cuts a text into tokens, from left to right, always the longest piece that fits:
/// - a space or none, then one to six ASCII letters or digits;
/// - else one to seven of space, tab, line feed and carriage return;
/// - else one character.
pub(crate) fn tokens(text: &str) -> impl Iterator<Item = Token> {
    pieces(text).map(Token::text)
}

/// The pieces [`tokens`] makes tokens of.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, tail) = rest.split_at(length(rest)?);
        rest = tail;
        Some(piece)
    })
}

/// Bytes of the first piece.
fn length(text: &str) -> Option<usize> {
    let first = text.chars().next()?;
    let bytes = text.as_bytes();
    let space = usize::from(first == ' ');
    let run = |from: usize, most: usize, fits: fn(&u8) -> bool| {
        bytes.iter().skip(from).take(most).take_while(|byte| fits(byte)).count()
    };
    let word = run(space, 6, |byte| byte.is_ascii_alphanumeric());
    if word > 0 {
        return Some(space + word);
    }
    let blank = run(0, 7, |byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    Some(if blank > 0 { blank } else { first.len_utf8() })
}

const SPECIAL: u64 = 0xff << 56;
const IMAGE: u64 = 0xfe << 56;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_by_the_stated_rule() {
        let check = |text: &str, expect: &[&str]| assert_eq!(pieces(text).collect::<Vec<_>>(), expect);
        check("", &[]);
        check("a", &["a"]);
        check("abcdef", &["abcdef"]);
        check("abcdefg", &["abcdef", "g"]);
        check(" abcdefg", &[" abcdef", "g"]);
        check("two words", &["two", " words"]);
        check("two  words", &["two", "  ", "words"]);
        check("a \n\t b", &["a", " \n\t ", "b"]);
        check("12345678 ", &["123456", "78", " "]);
        check("        x", &["       ", " x"]);
        check("{\"é€😀\"}", &["{", "\"", "é", "€", "😀", "\"", "}"]);
    }

    #[test]
    fn tokens_are_equal_only_if_their_texts_are() {
        let all: Vec<Token> = ["a", " a", "\0a", "\0", "ab", "abcdef", " abcdef", "😀"]
            .iter()
            .map(|text| Token::text(text))
            .chain([Token::special(Special::Start), Token::special(Special::EndCall)])
            .chain([Token::image("a"), Token::image("b")])
            .collect();
        for (at, token) in all.iter().enumerate() {
            assert_eq!(all.iter().filter(|other| *other == token).count(), 1, "{at}");
        }
    }
}
