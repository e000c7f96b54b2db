//! What happened inside a message.

use std::borrow::Cow;

use antefix_wire::anthropic::BlockKind;
use antefix_wire::json::{Kind as Json, Node};

use crate::difference::Change;
use crate::position::PositionKind;
use crate::verdict::compare::{self, Spot, differ_in_key_order};
use crate::verdict::prompt::{Item, Turn};
use crate::verdict::recognise::{Source, is_injected, recognise};
use crate::verdict::{Finding, Kind, Value};

/// The differences between two forms of one message, each with the number of items in front of it.
pub(super) fn differences(
    old: &Turn<'_>,
    new: &Turn<'_>,
    before: &[&Item<'_>],
    behind: &[&Item<'_>],
    is_last: bool,
) -> Vec<(Finding, usize)> {
    let Some(spot) = compare::turns(old, new) else {
        return Vec::new();
    };
    let first = first_difference(old, new);
    if let Some(whole) = as_a_whole(old, new, before, behind) {
        let (kind, evidence) = whole;
        let mut finding = spot.finding(kind);
        if let Some((name, value)) = evidence {
            finding.evidence.note(name, value);
        }
        let mut found = vec![(finding, first)];
        if kind == Kind::BlockMigrated {
            found.extend(beside_what_moved(old, new, behind));
        }
        return found;
    }
    if old.items.len() != new.items.len() || first >= old.items.len() {
        let kind = if grew_in_front(old, new, is_last) { Kind::InsertedMid } else { Kind::Rewritten };
        return vec![(spot.finding(kind), first)];
    }
    let pairs = old.items.iter().zip(&new.items).enumerate();
    let found: Vec<_> = pairs
        .filter_map(|(at, (left, right))| Some((one(left, right, compare::items(left, right)?), at)))
        .collect();
    if found.is_empty() { vec![(spot.finding(Kind::Rewritten), first)] } else { found }
}

/// What happened to the items that stayed where others moved away, if each of them can be told.
fn beside_what_moved(old: &Turn<'_>, new: &Turn<'_>, behind: &[&Item<'_>]) -> Vec<(Finding, usize)> {
    let gone = missing(&old.items, &new.items);
    let is_moved = |item: &Item<'_>| {
        gone.iter().any(|other| other.path == item.path)
            && found_again(item, behind.iter().copied()).is_some()
    };
    let stayed: Vec<_> = old.items.iter().enumerate().filter(|(_, item)| !is_moved(item)).collect();
    if stayed.len() != new.items.len() {
        return Vec::new();
    }
    let pairs = stayed.into_iter().zip(&new.items);
    pairs
        .filter_map(|((at, left), right)| Some((one(left, right, compare::items(left, right)?), at)))
        .collect()
}

/// Whether the user's own words, which come last, are the same.
pub(super) fn same_words(old: &Turn<'_>, new: &Turn<'_>) -> bool {
    let words = |turn: &Turn<'_>| {
        let said = turn.items.iter().rev().filter_map(|item| item.text().map(Cow::into_owned));
        said.into_iter().find(|text| !is_injected(text))
    };
    let (left, right) = (words(old), words(new));
    let volatile = match (&left, &right) {
        (Some(left), Some(right)) => {
            recognise(left, right).is_some_and(|found| found.source <= Source::Nonce)
        }
        _ => false,
    };
    old.role == new.role
        && (volatile || (left.is_some() && left == right) || squashed(&[old]) == squashed(&[new]))
}

/// Whether two messages have a block in common, or answer the same call.
pub(super) fn alike(old: &Turn<'_>, new: &Turn<'_>) -> bool {
    old.items.iter().any(|left| {
        new.items
            .iter()
            .any(|right| left.same(right) || (left.call_id().is_some() && left.call_id() == right.call_id()))
    })
}

/// Whether the pieces in a row say what `whole` says.
pub(super) fn is_join(pieces: &[&Turn<'_>], whole: &Turn<'_>) -> bool {
    let items: Vec<&Item<'_>> = pieces.iter().flat_map(|turn| &turn.items).collect();
    let same_items = items.len() == whole.items.len()
        && items.iter().zip(&whole.items).all(|(left, right)| left.same(right));
    let is_text = |turn: &&Turn<'_>| turn.items.iter().all(|item| item.is(BlockKind::Text));
    let texts = pieces.iter().all(is_text) && is_text(&whole);
    same_items || (texts && squashed(pieces) == squashed(&[whole]))
}

/// Where an item that is gone stands now, if it is long enough not to be there by chance.
pub(super) fn found_again<'i, 'a: 'i>(
    item: &Item<'_>,
    mut behind: impl Iterator<Item = &'i Item<'a>>,
) -> Option<Value> {
    let is_telling = item.text().is_some_and(|text| text.len() >= 16) || !item.is(BlockKind::Text);
    let found = behind.find(|other| is_telling && other.kind == item.kind && item.same(other))?;
    Some(Value::Group(vec![("from", item.path.to_string().into()), ("to", found.path.to_string().into())]))
}

type Noted = Option<(&'static str, Value)>;

/// What happened to the message as a whole, if that says more than its items one by one.
fn as_a_whole(
    old: &Turn<'_>,
    new: &Turn<'_>,
    before: &[&Item<'_>],
    behind: &[&Item<'_>],
) -> Option<(Kind, Noted)> {
    let (gone, came) = (missing(&old.items, &new.items), missing(&new.items, &old.items));
    if gone.is_empty() && came.is_empty() {
        return Some((Kind::Reordered, None));
    }
    let thinking = |items: &[&Item<'_>]| items.iter().all(|item| item.is_thinking());
    if !gone.is_empty() && thinking(&gone) && thinking(&came) {
        return Some((Kind::ThinkingDropped, None));
    }
    if let Some(moved) = gone.iter().find_map(|item| found_again(item, behind.iter().copied())) {
        return Some((Kind::BlockMigrated, Some(("moved", moved))));
    }
    if gone.is_empty() {
        let is_copy = came.iter().all(|item| {
            before.iter().copied().chain(&old.items).any(|other| other.kind == item.kind && other.same(item))
        });
        return Some((if is_copy { Kind::Duplicated } else { Kind::InsertedMid }, None));
    }
    let text_only = |items: &[&Item<'_>]| items.iter().all(|item| item.is(BlockKind::Text));
    if text_only(&gone) && text_only(&came) && squashed(&[old]) == squashed(&[new]) {
        return Some((Kind::Reserialized, None));
    }
    if came.is_empty() {
        let all_images = gone.iter().all(|item| item.is(BlockKind::Image));
        return Some((if all_images { Kind::ImageReplaced } else { Kind::Removed }, None));
    }
    None
}

fn grew_in_front(old: &Turn<'_>, new: &Turn<'_>, is_last: bool) -> bool {
    !is_last && old.grows_into(new)
}

/// What happened to one item.
fn one(old: &Item<'_>, new: &Item<'_>, spot: Spot) -> Finding {
    let kind = kind_of(old, new, &spot);
    let mut finding = spot.finding(kind);
    if let (Some(before), Some(after)) = (old.text(), new.text())
        && let Some(found) = recognise(&before, &after)
    {
        finding.evidence.note("source", found.source.words());
        finding.evidence.note("values", vec![found.old, found.new]);
    }
    if kind == Kind::ToolResultCleared {
        finding.evidence.note("call", old.call_id().unwrap_or_default().into_owned());
    }
    finding
}

fn kind_of(old: &Item<'_>, new: &Item<'_>, spot: &Spot) -> Kind {
    let is = |item: &Item<'_>, kind| item.kind == PositionKind::Block(kind);
    if is(old, BlockKind::Image) {
        return Kind::ImageReplaced;
    }
    if old.is_thinking() || SIGNATURES.iter().any(|member| spot.inside == *member) {
        return Kind::ThinkingDropped;
    }
    if is(old, BlockKind::ToolResult) && is(new, BlockKind::ToolResult) {
        return if old.call_id() == new.call_id() { result_kind(old, new) } else { Kind::Rewritten };
    }
    if is(old, BlockKind::ToolUse) && is(new, BlockKind::ToolUse) {
        let leaf = |item: &Item<'_>| {
            item.node.pointer(&spot.inside).and_then(|leaf| leaf.str().map(Cow::into_owned))
        };
        let text = leaf(old).zip(leaf(new));
        let as_text = spot.inside.ends_with("arguments")
            && text.is_some_and(|(old, new)| differ_in_key_order(&old, &new));
        return if spot.change == Change::KeyOrder || as_text {
            Kind::ToolInputKeyOrder
        } else {
            Kind::Rewritten
        };
    }
    match (old.text(), new.text()) {
        (Some(before), Some(after)) if squash(&before) == squash(&after) => Kind::Reserialized,
        (Some(before), Some(after)) => {
            let source = recognise(&before, &after).map(|found| found.source);
            if source == Some(Source::Date) { Kind::DateRollover } else { Kind::Rewritten }
        }
        _ => Kind::Rewritten,
    }
}

/// What happened to a tool's result.
fn result_kind(old: &Item<'_>, new: &Item<'_>) -> Kind {
    let images = |item: &Item<'_>| {
        let parts = content(item).into_iter().flat_map(Node::items);
        let is_image = |part: &Node<'_>| {
            part.get("type").is_some_and(|name| IMAGES.iter().any(|image| name.is_str(image)))
        };
        parts.filter(is_image).count()
    };
    let (before, after) = (result_text(old), result_text(new));
    if images(old) > images(new) && squash(&after).contains(&squash(&before)) {
        return Kind::ImageReplaced;
    }
    if squash(&before) == squash(&after)
        && images(old) == images(new)
        && content(old).map(Node::kind) != content(new).map(Node::kind)
    {
        return Kind::Reserialized;
    }
    if is_placeholder(&after) && !is_placeholder(&before) {
        Kind::ToolResultCleared
    } else {
        Kind::ToolResultRewritten
    }
}

/// Whether a text stands for a result that was taken out.
fn is_placeholder(text: &str) -> bool {
    let lower = text.trim().to_lowercase();
    let says = [
        "cleared",
        "removed",
        "omitted",
        "pruned",
        "elided",
        "truncated",
        "compacted",
        "no longer available",
    ];
    lower.len() <= 200 && (lower.is_empty() || says.iter().any(|word| lower.contains(word)))
}

fn content<'a>(item: &Item<'a>) -> Option<Node<'a>> {
    item.node
        .get("content")
        .or_else(|| item.node.get("output"))
        .or_else(|| antefix_wire::gemini::response(item.node))
}

/// The text of a tool's result; empty for any other item.
pub(in crate::verdict) fn result_text(item: &Item<'_>) -> String {
    let Some(content) = content(item) else {
        return String::new();
    };
    match content.kind() {
        Json::String => content.str().unwrap_or_default().into_owned(),
        // A function's response is an object of the client's own making.
        Json::Object => content.members().filter_map(|(_, value)| value.str()).collect(),
        _ => content.items().filter_map(|part| part.get("text").and_then(Node::str)).collect(),
    }
}

/// Items of `one` that are not in `other`, each counted.
fn missing<'i, 'a>(one: &'i [Item<'a>], other: &[Item<'a>]) -> Vec<&'i Item<'a>> {
    let mut left: Vec<u64> = other.iter().map(Item::fingerprint).collect();
    let mut out = Vec::new();
    for item in one {
        let print = item.fingerprint();
        match left.iter().position(|known| *known == print) {
            Some(at) => drop(left.swap_remove(at)),
            None => out.push(item),
        }
    }
    out
}

/// Members of a call or a text that carry the model's thinking in a sealed form.
const SIGNATURES: [&str; 3] = ["/thoughtSignature", "/thought_signature", "/signature"];

/// The types of an image inside a tool's result.
const IMAGES: [&str; 3] = ["image", "input_image", "image_url"];

fn first_difference(old: &Turn<'_>, new: &Turn<'_>) -> usize {
    let equal = old.items.iter().zip(&new.items).take_while(|(left, right)| left.same(right));
    equal.count()
}

/// The text of messages without white space and the tags that wrap reminders.
fn squashed(turns: &[&Turn<'_>]) -> String {
    let texts = turns.iter().flat_map(|turn| &turn.items).filter_map(Item::text);
    texts.map(|text| squash(&text)).collect()
}

fn squash(text: &str) -> String {
    let bare = text.replace("<system-reminder>", "").replace("</system-reminder>", "");
    bare.split_whitespace().collect()
}
