//! What happened to the conversation.

mod block;

pub(super) use block::result_text;

use antefix_wire::anthropic::{BlockKind, Role};

use super::compare;
use super::judge::Draft;
use super::prompt::{Item, Prompt, Turn};
use super::{Finding, Kind};

/// How a conversation stands to the one it should extend.
#[derive(Debug)]
pub(super) enum Said {
    /// It starts with all of it, or is what is in front of its end.
    Extends,
    /// It leaves it where a user speaks anew: a rewind, a fork, a side call.
    Branches(Draft),
    /// It was changed.
    Differs(Vec<Draft>),
}

/// Compares two conversations; positions are those in the earlier one's messages.
pub(super) fn messages(earlier: &Prompt<'_>, later: &Prompt<'_>) -> Said {
    let mut walk =
        Alignment { old: &earlier.turns, new: &later.turns, prints: None, at: 0, to: 0, drafts: Vec::new() };
    // Such caches go by the tokens, not by blocks, so that a text which goes on is an append.
    let is_token_by_token = earlier.dialect.is_implicit();
    loop {
        walk.skip_equal();
        let (Some(old), new) = (walk.old.get(walk.at), walk.new.get(walk.to)) else {
            break;
        };
        let Some(new) = new else {
            // What is in front of an earlier end is a rewind or a retry.
            break;
        };
        let is_last = walk.at + 1 == walk.old.len();
        if is_last && (old.grows_into(new) || is_token_by_token && old.text_grows_into(new)) {
            break;
        }
        if walk.drafts.is_empty() && walk.is_branch() {
            let path = new.path.whole().to_string();
            let finding = Finding { path, offset: None, ..finding(Kind::Rewind, old, new) };
            return Said::Branches(Draft { finding, position: walk.position() });
        }
        if !walk.step(old, new) {
            break;
        }
    }
    if walk.drafts.is_empty() { Said::Extends } else { Said::Differs(walk.drafts) }
}

struct Alignment<'p, 'a> {
    old: &'p [Turn<'a>],
    new: &'p [Turn<'a>],
    /// Fingerprints of all messages, taken at the first difference.
    prints: Option<(Vec<u64>, Vec<u64>)>,
    at: usize,
    to: usize,
    drafts: Vec<Draft>,
}

impl<'a> Alignment<'_, 'a> {
    fn skip_equal(&mut self) {
        while let (Some(old), Some(new)) = (self.old.get(self.at), self.new.get(self.to))
            && old.same(new)
        {
            self.at += 1;
            self.to += 1;
        }
    }

    /// Number of items in front of the earlier message.
    fn position(&self) -> usize {
        self.old.iter().take(self.at).map(|turn| turn.items.len()).sum()
    }

    fn push(&mut self, finding: Finding, offset: usize) {
        let position = self.position() + offset;
        self.drafts.push(Draft { finding, position });
    }

    /// The later request ends with a user who says something else at this point.
    fn is_branch(&self) -> bool {
        let mut rest = self.new.iter().skip(self.to).filter(|turn| turn.role != Role::System);
        let (Some(new), None) = (rest.next(), rest.next()) else {
            return false;
        };
        let speaks = new.role == Role::User
            && new.items.iter().any(|item| item.is(BlockKind::Text))
            && !new.items.iter().any(|item| item.is(BlockKind::ToolResult));
        let old = self.old.get(self.at);
        let same_words = old.is_some_and(|old| block::same_words(old, new));
        let shrinks = self.to == 0 && is_summary(new);
        speaks && !same_words && !shrinks
    }

    /// Says what happened here and goes on behind it; `false` where nothing can be aligned any more.
    fn step(&mut self, old: &Turn<'a>, new: &Turn<'a>) -> bool {
        if self.is_compaction(new) {
            let finding = finding(Kind::Compaction, old, new);
            self.push(finding, 0);
            return false;
        }
        // Where the next messages are the same bytes, this one alone changed, and no others need to be looked at.
        if old.role == new.role && self.goes_on_behind() {
            self.changed(old, new);
            return true;
        }
        if let Some(count) = self.inserted() {
            self.insertion(old, new, count);
            return true;
        }
        if let Some(count) = self.removed() {
            self.removal(old, new, count);
            return true;
        }
        if self.joined(old, new) {
            return true;
        }
        if old.role != new.role {
            let kind = if self.is_permutation() { Kind::Reordered } else { Kind::Rewritten };
            let finding = finding(kind, old, new);
            self.push(finding, 0);
            return false;
        }
        if self.is_permutation() && !block::alike(old, new) {
            let finding = finding(Kind::Reordered, old, new);
            self.push(finding, 0);
            return false;
        }
        self.changed(old, new);
        true
    }

    /// Whether the next two messages, or all that are left if there is but one, are the same bytes on both sides.
    fn goes_on_behind(&self) -> bool {
        let behind = self.old.iter().skip(self.at + 1).zip(self.new.iter().skip(self.to + 1));
        let mut pairs = behind.take(2).peekable();
        pairs.peek().is_some() && pairs.all(|(left, right)| left.node.raw() == right.node.raw())
    }

    /// What happened inside one message.
    fn changed(&mut self, old: &Turn<'a>, new: &Turn<'a>) {
        let is_last = self.at + 1 == self.old.len();
        let behind: Vec<&Item<'_>> = self.new.iter().skip(self.to + 1).flat_map(|turn| &turn.items).collect();
        let before: Vec<&Item<'_>> = self.old.iter().take(self.at).flat_map(|turn| &turn.items).collect();
        for (finding, offset) in block::differences(old, new, &before, &behind, is_last) {
            self.push(finding, offset);
        }
        self.at += 1;
        self.to += 1;
    }

    fn insertion(&mut self, old: &Turn<'a>, new: &Turn<'a>, count: usize) {
        let tail = self.old.len() - self.at;
        let (at, to) = (self.at, self.to);
        let (before, after) = self.prints();
        let known = before.get(..at).unwrap_or_default();
        let inserted = after.get(to..to + count).unwrap_or_default();
        let is_copy = inserted.iter().all(|print| known.contains(print));
        let kind = if is_copy { Kind::Duplicated } else { Kind::InsertedMid };
        let mut finding = finding(kind, old, new);
        finding.evidence.note("inserted_count", count);
        let intact = self.old.iter().skip(self.at).zip(self.new.iter().skip(self.to + count));
        let intact = intact
            .enumerate()
            .all(|(at, (left, right))| left.same(right) || (at + 1 == tail && left.grows_into(right)));
        finding.evidence.note("tail_intact", intact);
        self.push(finding, 0);
        self.to += count;
    }

    fn removal(&mut self, old: &Turn<'a>, new: &Turn<'a>, count: usize) {
        let gone = self.old.iter().skip(self.at).take(count);
        let all_thinking = gone.clone().flat_map(|turn| &turn.items).all(Item::is_thinking);
        let moved = gone.flat_map(|turn| &turn.items).find_map(|item| {
            let behind = self.new.iter().skip(self.to).flat_map(|turn| &turn.items);
            block::found_again(item, behind)
        });
        let kind = match (&moved, all_thinking) {
            (_, true) => Kind::ThinkingDropped,
            (Some(_), _) => Kind::BlockMigrated,
            _ => Kind::Removed,
        };
        let mut finding = finding(kind, old, new);
        finding.evidence.note("removed_count", count);
        if let Some(moved) = moved {
            finding.evidence.note("moved", moved);
        }
        self.push(finding, 0);
        self.at += count;
    }

    /// Two messages became one, or one became two.
    fn joined(&mut self, old: &Turn<'a>, new: &Turn<'a>) -> bool {
        let next_old = self.old.get(self.at + 1).filter(|next| next.role == old.role);
        let next_new = self.new.get(self.to + 1).filter(|next| next.role == new.role);
        if let Some(next) = next_old
            && block::is_join(&[old, next], new)
        {
            let finding = finding(Kind::Merged, old, new);
            self.push(finding, old.items.len());
            self.at += 2;
            self.to += 1;
            return true;
        }
        if let Some(next) = next_new
            && block::is_join(&[new, next], old)
        {
            let finding = finding(Kind::Reserialized, old, new);
            self.push(finding, new.items.len());
            self.at += 1;
            self.to += 2;
            return true;
        }
        false
    }

    fn prints(&mut self) -> &(Vec<u64>, Vec<u64>) {
        let (old, new) = (self.old, self.new);
        let all = |turns: &[Turn<'_>]| turns.iter().map(Turn::fingerprint).collect();
        self.prints.get_or_insert_with(|| (all(old), all(new)))
    }

    /// How many messages were inserted here, if what follows is what was here.
    fn inserted(&mut self) -> Option<usize> {
        let (at, to) = (self.at, self.to);
        let (turns, later) = (self.old, self.new);
        let (old, new) = self.prints();
        (1..=REACH.min(new.len().saturating_sub(to + 1))).find(|&count| {
            let is_last = at + 1 == turns.len();
            let grown = is_last
                && matches!((turns.get(at), later.get(to + count)), (Some(left), Some(right)) if left.grows_into(right));
            grown || resumes(old, at, new, to + count)
        })
    }

    /// How many messages were removed here, if what follows is what followed.
    fn removed(&mut self) -> Option<usize> {
        let (at, to) = (self.at, self.to);
        let (old, new) = self.prints();
        (1..old.len().saturating_sub(at)).find(|&count| resumes(new, to, old, at + count))
    }

    /// The message here stands further on on both sides.
    fn is_permutation(&mut self) -> bool {
        let (at, to) = (self.at, self.to);
        let (old, new) = self.prints();
        let (left, right) = (old.get(at), new.get(to));
        left.is_some_and(|print| new.iter().skip(to + 1).any(|other| other == print))
            && right.is_some_and(|print| old.iter().skip(at + 1).any(|other| other == print))
    }

    /// A summary stands in place of a good part of the conversation.
    fn is_compaction(&self, new: &Turn<'_>) -> bool {
        let bytes = |turns: &[Turn<'_>]| turns.iter().map(|turn| turn.node.range().len()).sum::<usize>();
        let shrinks = bytes(self.new) * 4 < bytes(self.old) * 3 || self.new.len() * 2 < self.old.len();
        is_summary(new) && shrinks && self.old.len() > 1
    }
}

fn finding(kind: Kind, old: &Turn<'_>, new: &Turn<'_>) -> Finding {
    compare::turns(old, new)
        .map_or_else(|| Finding::new(kind, new.path.to_string()), |spot| spot.finding(kind))
}

/// Whether the sequence `one` from `at` on goes on in `other` from `to` on: two messages in a row, or up to an end.
fn resumes(one: &[u64], at: usize, other: &[u64], to: usize) -> bool {
    let mut pairs = one.iter().skip(at).zip(other.iter().skip(to)).take(2).peekable();
    pairs.peek().is_some() && pairs.all(|(left, right)| left == right)
}

/// Whether a message opens with a summary of what was said before.
pub(super) fn is_summary(turn: &Turn<'_>) -> bool {
    turn.items.iter().any(|item| {
        let says = |text: &str| {
            let text = text.get(..text.len().min(400)).unwrap_or(text).to_lowercase();
            SUMMARIES.iter().any(|phrase| text.contains(phrase))
        };
        item.is(BlockKind::Compaction) || item.text().is_some_and(|text| says(&text))
    })
}

/// How clients open a summary.
const SUMMARIES: [&str; 6] = [
    "this session is being continued from a previous conversation",
    "summary of the conversation",
    "conversation summary",
    "<summary>",
    "previous conversation was summarized",
    "summary of our work so far",
];

/// Most messages that are looked for as inserted at one place.
const REACH: usize = 64;
