//! Files that were read whole, and how much of each the model went on to use.

use antefix_models::{Money, Tokens};
use antefix_wire::json::{Body, Node};

use super::{Part, Piece};

/// A file that was read whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WholeRead {
    /// The file, as the model named it.
    pub file: String,
    /// The turn it was read in.
    pub turn: u64,
    /// Lines that were shown.
    pub lines: u64,
    /// First and last line of what was edited or read again later, with [`MARGIN`] lines around; `None` if nothing was.
    pub used: Option<(u64, u64)>,
    /// Tokens of the result.
    pub tokens: Tokens,
    /// Requests it rode in.
    pub rides: u64,
    /// What the lines that were not used cost, in tokens sent and in money.
    pub unused: (Tokens, Money),
}

/// The files of [`LEAST`] tokens or more that were read without a range, the dearest first.
pub fn whole(pieces: &[Piece]) -> Vec<WholeRead> {
    let is_result = |piece: &Piece| piece.part == Part::Results("read".to_owned());
    let found = pieces.iter().enumerate().filter(|(_, piece)| is_result(piece) && piece.tokens() >= LEAST);
    let mut reads: Vec<_> =
        found.filter_map(|(at, piece)| whole_read(piece, pieces.get(at + 1..).unwrap_or_default())).collect();
    reads.sort_by_key(|read| std::cmp::Reverse((read.unused.1, read.unused.0)));
    reads
}

fn whole_read(piece: &Piece, later: &[Piece]) -> Option<WholeRead> {
    let input = piece.input.as_ref()?.root();
    if input.get("offset").is_some() || input.get("limit").is_some() {
        return None;
    }
    let file = piece.file.clone()?;
    let text = shown(&piece.block);
    let lines = text.lines().count() as u64;
    let calls = later.iter().filter(|other| matches!(other.part, Part::Calls(_)));
    let own = calls.filter(|call| call.file.as_ref() == Some(&file)).filter_map(|call| call.input.as_ref());
    let used = own.flat_map(|input| places(input.root(), &text));
    let used = used.reduce(|(first, last), (from, to)| (first.min(from), last.max(to)));
    let used = used.map(|(first, last)| (first.saturating_sub(MARGIN).max(1), (last + MARGIN).min(lines)));
    let needed = used.map_or(0, |(first, last)| (last + 1).saturating_sub(first));
    let spared = |amount: i128| amount * i128::from(lines.saturating_sub(needed)) / i128::from(lines.max(1));
    let sent = u64::try_from(spared(piece.sent.prompt().0.into())).unwrap_or(0);
    Some(WholeRead {
        file,
        turn: piece.turn,
        lines,
        used,
        tokens: piece.tokens(),
        rides: piece.rides,
        unused: (Tokens(sent), Money(spared(piece.cost.0))),
    })
}

/// The lines of a file as `read` showed it, without their numbers.
fn shown(block: &Body) -> String {
    let content = block.root().get("content");
    let texts = content.into_iter().flat_map(Node::items).filter_map(|item| item.get("text")?.str());
    let mut out = String::new();
    for text in texts {
        for (_, line) in text.lines().filter_map(|line| line.split_once('\t')) {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

/// First and last lines that a later call on the same file was about.
fn places(input: Node<'_>, text: &str) -> Vec<(u64, u64)> {
    let number = |name| input.get(name).and_then(Node::u64);
    if let Some(offset) = number("offset") {
        return vec![(offset, offset + number("limit").unwrap_or(1).saturating_sub(1))];
    }
    let edits = input.get("edits").into_iter().flat_map(Node::items).chain([input]);
    let old = edits.filter_map(|edit| edit.get("old_string")?.str());
    let place = |old: std::borrow::Cow<'_, str>| {
        let at = text.find(old.as_ref()).filter(|_| !old.is_empty())?;
        let line = |upto: usize| text.get(..upto).map_or(0, |text| text.matches('\n').count() as u64) + 1;
        Some((line(at), line(at + old.trim_end_matches('\n').len())))
    };
    old.filter_map(place).collect()
}

/// Lines around a place that a reader needs to see it in its surroundings.
const MARGIN: u64 = 20;

/// Smaller results are not worth a word.
const LEAST: Tokens = Tokens(500);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_calls_tell_which_lines_were_needed() {
        let text = (1..=9).map(|line| format!("line {line}\n")).collect::<Vec<_>>().concat();
        for (input, expect) in [
            (r#"{"path":"a","old_string":"line 3","new_string":"x"}"#, vec![(3, 3)]),
            (r#"{"path":"a","old_string":"line 3\nline 4\n","new_string":"x"}"#, vec![(3, 4)]),
            (
                r#"{"path":"a","edits":[{"old_string":"line 8"},{"old_string":"line 2"}]}"#,
                vec![(8, 8), (2, 2)],
            ),
            (r#"{"path":"a","offset":4,"limit":3}"#, vec![(4, 6)]),
            (r#"{"path":"a","offset":4}"#, vec![(4, 4)]),
            (r#"{"path":"a","old_string":"gone","new_string":"x"}"#, vec![]),
            (r#"{"path":"a","content":"line 3"}"#, vec![]),
        ] {
            let input = Body::parse(input.as_bytes().to_vec()).unwrap();
            assert_eq!(places(input.root(), &text), expect);
        }
    }
}
