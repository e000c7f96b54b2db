//! What a reminder is made of, and how it is told from what only looks like one.
//!
//! A reminder that is no message of its own stands within tags, `<antefix-note kind="git">…</antefix-note>`. Whatever
//! comes from outside (prompts, what tools return, texts of sources, heads) is [`neutral`] before it goes on record: a
//! tag of that name in it gets `quoted-` in front of the name, so that no file, page or server can write a reminder,
//! end one, or be taken for one. What is neutral already stays as it is, so that it does not matter how often, or in
//! which process, this is done.

use std::borrow::Cow;

use antefix_wire::json::{Body, Kind, Node, write_string};
use antefix_wire::{Edit, splice};
use bytes::Bytes;

/// A reminder's text within its tags. The text must be [`neutral`].
pub fn tagged(kind: &str, text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let kind: String = kind.chars().filter(|letter| is_plain(*letter)).collect();
    format!("<{NAME} kind=\"{kind}\">\n{text}\n</{NAME}>")
}

/// Whether a text that is neutral but for reminders is one within its tags.
pub(crate) fn is_tagged(text: &str) -> bool {
    text.strip_prefix('<').is_some_and(|text| text.starts_with(NAME))
}

/// The text, with `quoted-` in front of the name in each tag that could be taken for a reminder's: in any case, with
/// any white space and characters without width in it, with any dash in the middle, and with any of the characters and
/// entities that look like the bracket.
pub fn neutral(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut done = 0;
    for (at, _) in text.char_indices() {
        let Some(rest) = text.get(at..) else { continue };
        let Some(bracket) = bracket(rest) else { continue };
        if rest.get(bracket..).is_some_and(names_a_reminder) {
            // INVARIANT: both ends are ends of characters, and brackets do not overlap.
            out.push_str(&text[done..at + bracket]);
            out.push_str(QUOTED);
            done = at + bracket;
        }
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Cow::Owned(out)
}

/// A JSON text with each string in it made [`neutral`]; all other bytes stay.
pub(crate) fn neutral_json(json: &Bytes) -> Bytes {
    let Ok(body) = Body::parse(json.to_vec()) else { return json.clone() };
    let mut edits = Vec::new();
    neutral_strings(body.root(), &mut edits);
    if edits.is_empty() {
        return json.clone();
    }
    splice(json, &edits).map_or_else(|_| json.clone(), Bytes::from)
}

fn neutral_strings(node: Node<'_>, edits: &mut Vec<Edit>) {
    match node.kind() {
        Kind::Object => {
            for (name, value) in node.members() {
                neutral_strings(name, edits);
                neutral_strings(value, edits);
            }
        }
        Kind::Array => node.items().for_each(|item| neutral_strings(item, edits)),
        Kind::String => {
            let text = node.str().unwrap_or_default();
            if let Cow::Owned(text) = neutral(&text) {
                let mut quoted = Vec::new();
                write_string(&mut quoted, &text);
                edits.push(Edit::replace(node.range(), quoted));
            }
        }
        _ => {}
    }
}

/// Length of what opens a tag, if that is what the text begins with.
fn bracket(text: &str) -> Option<usize> {
    let first = text.chars().next()?;
    if first != '&' {
        return BRACKETS.contains(&first).then(|| first.len_utf8());
    }
    let is_entity =
        |entity: &&&str| text.get(..entity.len()).is_some_and(|start| start.eq_ignore_ascii_case(entity));
    let number = text.strip_prefix("&#").and_then(numeric_bracket).map(|len| len + 2);
    ENTITIES.iter().find(is_entity).map(|entity| entity.len()).or(number)
}

/// Length of the number of `<`, decimal or hexadecimal, with any zeros in front and a semicolon if there is one.
fn numeric_bracket(text: &str) -> Option<usize> {
    let hexadecimal = text.strip_prefix(['x', 'X']);
    let (digits, wanted) = hexadecimal.map_or((text, "60"), |digits| (digits, "3c"));
    let value = digits.trim_start_matches('0');
    let found = value.get(..2).filter(|value| value.eq_ignore_ascii_case(wanted))?;
    let rest = value.get(found.len()..)?;
    let radix = if hexadecimal.is_some() { 16 } else { 10 };
    if rest.starts_with(|letter: char| letter.is_digit(radix)) {
        return None;
    }
    let end = rest.strip_prefix(';').unwrap_or(rest);
    Some(text.len() - end.len())
}

/// Whether what stands behind a bracket is a reminder's name, perhaps behind a slash.
fn names_a_reminder(text: &str) -> bool {
    let letters = text.chars().filter(|letter| !is_invisible(*letter)).flat_map(parted).map(folded);
    let mut expected = NAME.chars().peekable();
    for letter in letters {
        let Some(&next) = expected.peek() else { return true };
        let is_first = next == 'a' && expected.clone().count() == NAME.len();
        match letter {
            _ if letter == next => drop(expected.next()),
            // `antefix note` and `antefixnote` look like it, too.
            'n' if next == '-' => drop((expected.next(), expected.next())),
            '/' | '\\' | '!' | '?' if is_first => {}
            _ => return false,
        }
    }
    expected.peek().is_none()
}

/// The letters of one that is two, and any other as it is.
fn parted(letter: char) -> impl Iterator<Item = char> {
    let is_two = letter == '\u{fb01}';
    let second = is_two.then_some('i');
    std::iter::once(if is_two { 'f' } else { letter }).chain(second)
}

/// A letter as it is compared: small, of the alphabet if it is written otherwise or looks like one of it, and `-` for any
/// dash. Only what the name is made of is looked for.
fn folded(letter: char) -> char {
    match letter {
        '_' | '.' | ':' | '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' => return '-',
        _ => {}
    }
    if let Some(plain) = styled(letter) {
        return plain.to_ascii_lowercase();
    }
    let looks_alike = LOOKALIKES.iter().find(|(_, letters)| letters.contains(letter));
    looks_alike.map_or_else(|| letter.to_ascii_lowercase(), |(plain, _)| *plain)
}

/// The letter of a full-width, mathematical, circled or squared one.
fn styled(letter: char) -> Option<char> {
    let code = u32::from(letter);
    let (first, place) = match code {
        0xff01..=0xff5e => (0x21, code - 0xff01),
        // Each style has the capital letters, and the small ones behind them.
        0x1d400..=0x1d6a3 => {
            let place = (code - 0x1d400) % 52;
            if place < 26 { (0x41, place) } else { (0x61, place - 26) }
        }
        0x249c..=0x24b5 => (0x61, code - 0x249c),
        0x24b6..=0x24cf => (0x41, code - 0x24b6),
        0x24d0..=0x24e9 => (0x61, code - 0x24d0),
        0x1f130..=0x1f149 => (0x41, code - 0x1f130),
        0x1f150..=0x1f169 => (0x41, code - 0x1f150),
        0x1f170..=0x1f189 => (0x41, code - 0x1f170),
        _ => return None,
    };
    char::from_u32(first + place)
}

/// White space and what is not seen at all.
fn is_invisible(letter: char) -> bool {
    letter.is_whitespace()
        || letter.is_control()
        || matches!(
            letter,
            // Accents that are characters of their own among them.
            '\u{ad}' | '\u{300}'..='\u{36f}' | '\u{20d0}'..='\u{20f0}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}'
        )
}

/// The name of a reminder's tag.
const NAME: &str = "antefix-note";

/// What stands in front of the name in a tag that is none of ours.
const QUOTED: &str = "quoted-";

/// Characters that look like the bracket which opens a tag.
const BRACKETS: [char; 8] =
    ['<', '\u{2039}', '\u{2329}', '\u{276e}', '\u{27e8}', '\u{3008}', '\u{fe64}', '\u{ff1c}'];

/// Names of that bracket in HTML.
const ENTITIES: [&str; 4] = ["&lt;", "&amp;lt;", "&LessThan;", "&lt"];

/// Letters that look like those of the name: of other alphabets, with accents, small capitals, letters of formulas and
/// numerals.
const LOOKALIKES: [(char, &str); 8] = [
    ('a', "аАαΑɑᴀªàáâãäåāăąǎȁȃȧạảⱥÀÁÂÃÄÅĀĂĄǍȀȂȦẠẢȺ"),
    ('e', "еЕεΕҽєɛᴇℯℰⅇèéêëēĕėęěȅȇȩẹẻẽɇÈÉÊËĒĔĖĘĚȄȆȨẸẺẼɆ"),
    ('f', "ƒƑꜰℱſẝḟḞꬵϝ"),
    ('i', "іІιΙɩɪıİℐℑⅈℹⅰⅠӏìíîïĩīĭįǐȉȋịỉɨÌÍÎÏĨĪĬĮǏȈȊỊỈƗ"),
    ('n', "ոпΝηɴℕⁿñńņňŋǹɲṅṇṉÑŃŅŇŊǸṄṆṈ"),
    ('o', "оОοΟօσᴏℴºòóôõöøōŏőơǒȍȏȯọỏÒÓÔÕÖØŌŎŐƠǑȌȎȮỌỎ"),
    ('t', "тТτΤᴛţťŧțƫṫṭṯŢŤŦȚṪṬṮ"),
    ('x', "хХχΧⅹⅩ×ẋẍẊẌ"),
];
