//! The first place where two texts part, and what stands around it.

use super::{frame, has_uuid, is_hex_word, is_mixed, is_mixed_hex};

/// One side of a change.
pub(super) struct Side<'a> {
    pub(super) text: &'a str,
    /// Where the texts part.
    pub(super) at: usize,
    /// The word at that place.
    pub(super) word: &'a str,
    /// Where the word starts.
    pub(super) start: usize,
}

/// The first place where two texts part.
pub(super) struct Change<'a> {
    pub(super) old: Side<'a>,
    pub(super) new: Side<'a>,
}

impl<'a> Change<'a> {
    pub(super) fn between(old: &'a str, new: &'a str) -> Option<Self> {
        if old == new {
            return None;
        }
        let agree = old.bytes().zip(new.bytes()).take_while(|(left, right)| left == right).count();
        let at = (0..=agree).rev().find(|&at| old.is_char_boundary(at) && new.is_char_boundary(at))?;
        Some(Self { old: Side::at(old, at), new: Side::at(new, at) })
    }

    /// Whether both words are of that shape.
    pub(super) fn both(&self, shape: fn(&str) -> bool) -> bool {
        shape(self.old.word) && shape(self.new.word)
    }

    /// Whether both texts have that at the place where they part.
    pub(super) fn both_sides(&self, shape: fn(&str, usize) -> bool) -> bool {
        shape(self.old.text, self.old.at) && shape(self.new.text, self.new.at)
    }

    /// Whether the line says one of these, in any case.
    pub(super) fn on_line(&self, words: &[&str]) -> bool {
        let line = line(self.new.text, self.new.at).to_lowercase();
        words.iter().any(|word| line.contains(word))
    }

    /// Whether one of these words stands right in front of the place or up to three words before it, on its line.
    pub(super) fn follows(&self, words: &[&str]) -> bool {
        let before = self.before(self.new.start);
        let near =
            before.split(|one: char| !one.is_alphanumeric()).filter(|word| !word.is_empty()).rev().take(3);
        near.into_iter().any(|word| words.contains(&word))
    }

    /// Whether the place is the value of a field of one of these names: `name: …`, `name=…`, `<name>…`; a name that ends
    /// with a space needs no sign behind it. What stands in front of the name is at most one word, or ends a clause:
    /// `rules for this platform: …` is no field.
    pub(super) fn is_value_of(&self, names: &[&str]) -> bool {
        [self.new.start, self.new.at].into_iter().any(|end| {
            let before = self.before(end);
            names.iter().any(|name| is_field(&before, name))
        })
    }

    /// Whether a line of the paragraph up to the place is headed by one of these, in any case; `alone`: it says nothing
    /// else in front of them, unless they end it.
    pub(super) fn is_below(&self, heads: &[&str], alone: bool) -> bool {
        let before = &self.new.text[..self.new.start];
        let paragraph = before.rfind("\n\n").map_or(before, |at| &before[at + 1..]).to_lowercase();
        paragraph.lines().any(|line| heads.iter().any(|head| is_headed(line, head, alone)))
    }

    /// Whether one of these tags was opened not far in front of the place, and not closed.
    pub(super) fn is_inside(&self, tags: &[&str]) -> bool {
        let before = last(&self.new.text[..self.new.start], 1 << 14);
        tags.iter().any(|tag| {
            let close = tag.replace('<', "</");
            before.rfind(tag).is_some_and(|at| !before[at..].contains(&close))
        })
    }

    /// Whether the number counts something by what stands beside it: `#17`, `turn 17`, `messages so far: 17`.
    pub(super) fn is_counted(&self) -> bool {
        let before = self.before(self.new.start);
        let behind = self.new.text[self.new.start + self.new.word.len()..].trim_start();
        let label = before.trim_end_matches([' ', ':', '=', '#']);
        let is_signed = before.trim_end().len() > label.len();
        let words = label.split(|one: char| !one.is_alphanumeric()).filter(|word| !word.is_empty()).rev();
        let is_counted = |word: &str| COUNTED.contains(&word.trim_end_matches('s'));
        before.ends_with('#')
            || words.take(if is_signed { 3 } else { 1 }).any(is_counted)
            || ["tokens left", "tokens remaining", "tokens used"]
                .iter()
                .any(|words| behind.starts_with(words))
    }

    /// What stands in front of an offset on its line, in lower case; no more than counts.
    fn before(&self, end: usize) -> String {
        let before = last(&self.new.text[..end], 256);
        line(before, before.len()).to_lowercase()
    }

    /// Two moments in seconds or milliseconds since 1970, at most ten days apart.
    pub(super) fn is_epoch(&self) -> bool {
        let moment = |word: &str| {
            let is_long = matches!(word.len(), 10 | 13) && word.starts_with('1');
            let seconds = |at: u64| if at > 1 << 40 { at / 1000 } else { at };
            word.parse::<u64>().ok().filter(|_| is_long).map(seconds).filter(|at| *at >= YEAR_2020)
        };
        match (moment(self.old.word), moment(self.new.word)) {
            (Some(old), Some(new)) => old.abs_diff(new) < 10 * 86_400,
            _ => false,
        }
    }

    /// Random tokens: uuids, long hexadecimal or mixed words, or a short hexadecimal value of a named field.
    pub(super) fn is_nonce(&self) -> bool {
        let (old, new) = (self.old.word, self.new.word);
        let alike = old.len().abs_diff(new.len()) <= 2;
        let named = self.new.text[..self.new.start].ends_with(['=', ':']) || frame(self).ends_with(": ");
        alike
            && ((has_uuid(old) && has_uuid(new))
                || (self.both(is_mixed_hex) && old.len() >= 8)
                || (self.both(is_mixed) && old.len() >= 16)
                || (named
                    && old.len() == new.len()
                    && old.len() >= 4
                    && self.both(is_hex_word)
                    && (is_mixed_hex(old) || is_mixed_hex(new))))
    }
}

impl<'a> Side<'a> {
    fn at(text: &'a str, at: usize) -> Self {
        let is_word = |character: char| character.is_alphanumeric() || "_-./:+~\\".contains(character);
        let (before, behind) = text.split_at(at);
        let start = before.trim_end_matches(is_word).len();
        let end = at + behind.len() - behind.trim_start_matches(is_word).len();
        let word = &text[start..end];
        // A sentence's point or a field's colon is not part of a word.
        let kept = word.trim_end_matches(['.', ':']);
        let lead = word.len() - word.trim_start_matches(':').len();
        let word = kept.get(lead..).unwrap_or_default();
        Self { text, at, word, start: start + lead }
    }
}

/// The line around an offset.
pub(super) fn line(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |found| found + 1);
    let end = text[at..].find('\n').map_or(text.len(), |found| at + found);
    &text[start..end]
}

/// The end of a text, of so many bytes or a little less.
fn last(text: &str, bytes: usize) -> &str {
    let start = (text.len().saturating_sub(bytes)..=text.len()).find(|at| text.is_char_boundary(*at));
    start.map_or(text, |start| &text[start..])
}

/// Whether the start of a line ends in a field of that name, see [`Change::is_value_of`].
fn is_field(before: &str, name: &str) -> bool {
    let Some(at) = before.rfind(name) else { return false };
    let (front, rest) = (&before[..at], &before[at + name.len()..]);
    let has_sign = if name.ends_with(' ') {
        rest.is_empty()
    } else {
        let rest = rest.trim_start_matches(['"', '\'', '`', '*', ' ']);
        let rest =
            rest.strip_prefix('(').and_then(|inner| inner.split_once(')')).map_or(rest, |(_, rest)| rest);
        rest.starts_with([':', '=', '>'])
    };
    let clause = front.rsplit([';', ',', '.', ':', '<', '>', '|', '(']).next().unwrap_or_default();
    let words = clause.split(|one: char| !one.is_alphanumeric()).filter(|word| !word.is_empty());
    has_sign && words.count() <= 1
}

/// Whether a line is headed by something, see [`Change::is_below`].
fn is_headed(line: &str, head: &str, alone: bool) -> bool {
    let is_title = line.trim_start().starts_with('#');
    let line = line.trim_start_matches(['#', '-', '*', '<', '[', ' ']).trim_end();
    let Some(at) = line.find(head) else { return false };
    let rest = &line[at + head.len()..];
    let label = rest.split(':').next().filter(|label| label.len() < rest.len());
    let is_label = label.is_some_and(|label| label.len() <= 24 && !label.contains('.'));
    let ends_the_line = rest.is_empty() || (rest.ends_with(':') && !rest.contains(". "));
    is_title || ends_the_line || (is_label && (at == 0 || !alone)) || (at == 0 && head.ends_with(':'))
}

/// What is counted from request to request, in the singular.
const COUNTED: [&str; 9] =
    ["request", "turn", "message", "call", "count", "counter", "seq", "iteration", "run"];

/// Seconds from 1970 to 2020: smaller numbers are no moments that a client would tell.
const YEAR_2020: u64 = 1_577_836_800;
