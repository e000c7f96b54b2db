//! The first difference between two values.

use std::collections::BTreeSet;

use antefix_wire::json::{Kind, Node};

use super::Change;
use crate::spelling::{MARKER, keeps_order};

/// A difference below some element.
pub(crate) struct Found {
    /// Tokens of the pointer from the element down, the last one first.
    tokens: Vec<String>,
    pub(crate) change: Change,
    pub(crate) offset: Option<usize>,
    pub(crate) earlier: Option<String>,
    pub(crate) later: Option<String>,
}

impl Found {
    pub(crate) fn new(change: Change) -> Self {
        Self { tokens: Vec::new(), change, offset: None, earlier: None, later: None }
    }

    /// The JSON Pointer from the element down.
    pub(crate) fn path(&self) -> String {
        let mut path = String::new();
        for token in self.tokens.iter().rev() {
            path.push('/');
            path.push_str(&token.replace('~', "~0").replace('/', "~1"));
        }
        path
    }

    fn below(mut self, token: impl Into<String>) -> Self {
        self.tokens.push(token.into());
        self
    }

    pub(crate) fn between(change: Change, old: Node<'_>, new: Node<'_>) -> Self {
        Self { earlier: Some(excerpt(old)), later: Some(excerpt(new)), ..Self::new(change) }
    }

    pub(crate) fn added(new: Node<'_>) -> Self {
        Self { later: Some(excerpt(new)), ..Self::new(Change::Added) }
    }

    pub(crate) fn removed(old: Node<'_>) -> Self {
        Self { earlier: Some(excerpt(old)), ..Self::new(Change::Removed) }
    }
}

/// The first difference of meaning between two values; `ordered` says that the order of keys counts.
pub(crate) fn walk(old: Node<'_>, new: Node<'_>, ordered: bool) -> Option<Found> {
    if old.raw() == new.raw() {
        return None;
    }
    match (old.kind(), new.kind()) {
        (Kind::String, Kind::String) => strings(old, new),
        (Kind::Array, Kind::Array) => arrays(old, new, ordered),
        (Kind::Object, Kind::Object) if ordered => ordered_objects(old, new),
        (Kind::Object, Kind::Object) => objects(old, new, None),
        (left, right) if left == right => Some(leaf(old, new, old.raw(), new.raw())),
        _ => Some(Found::between(Change::Value, old, new)),
    }
}

/// The first difference between two messages, their content aside.
pub(crate) fn walk_header(old: Node<'_>, new: Node<'_>) -> Option<Found> {
    objects(old, new, Some("content"))
}

/// Compares a text given as a string with one given as a block, or the reverse; `None` for any other pair.
pub(crate) fn walk_text(old: Node<'_>, new: Node<'_>) -> Option<Found> {
    match (old.kind(), new.kind()) {
        (Kind::String, Kind::Object) => {
            if let Some(found) = new.get("text").and_then(|text| strings(old, text)) {
                return Some(found.below("text"));
            }
            extra(new).map(|(key, value)| Found::added(value).below(key))
        }
        (Kind::Object, Kind::String) => {
            if let Some(found) = old.get("text").and_then(|text| strings(text, new)) {
                return Some(found);
            }
            extra(old).map(|(key, value)| Found::removed(value).below(key))
        }
        _ => None,
    }
}

/// A short piece of a value as sent.
fn excerpt(node: Node<'_>) -> String {
    cut(node.raw(), 0)
}

/// A member that a text block made of a string would not have.
fn extra(block: Node<'_>) -> Option<(String, Node<'_>)> {
    members(block).find(|(key, _)| key != "type" && key != "text")
}

/// The members but for markers, with decoded keys.
fn members(node: Node<'_>) -> impl Iterator<Item = (String, Node<'_>)> {
    node.members().filter(|(key, _)| !key.is_str(MARKER)).map(|(key, value)| (text(key), value))
}

fn text(node: Node<'_>) -> String {
    node.str().unwrap_or_default().into_owned()
}

fn strings(old: Node<'_>, new: Node<'_>) -> Option<Found> {
    let (left, right) = (old.str()?, new.str()?);
    (left != right || is_lossy(old, new)).then(|| leaf(old, new, &left, &right))
}

/// Two halves of surrogate pairs decode to the same replacement character and are not equal.
fn is_lossy(old: Node<'_>, new: Node<'_>) -> bool {
    let standard = |node| {
        let mut out = Vec::new();
        crate::spelling::write_standard_string(&mut out, node);
        out
    };
    old.is_escaped() && standard(old) != standard(new)
}

fn leaf(old: Node<'_>, new: Node<'_>, left: &str, right: &str) -> Found {
    let agree = left.bytes().zip(right.bytes()).take_while(|(one, two)| one == two).count();
    let offset = (0..=agree).rev().find(|&at| left.is_char_boundary(at) && right.is_char_boundary(at));
    let offset = offset.unwrap_or(0);
    let piece = |node: Node<'_>, text: &str| {
        if node.kind() == Kind::String { cut(text, offset) } else { excerpt(node) }
    };
    Found {
        offset: Some(offset),
        earlier: Some(piece(old, left)),
        later: Some(piece(new, right)),
        ..Found::new(Change::Value)
    }
}

/// A window of `text` that starts a little before `offset`.
fn cut(text: &str, offset: usize) -> String {
    const BEFORE: usize = 24;
    const AFTER: usize = 48;
    let boundary = |at: &usize| text.is_char_boundary(*at);
    let start = (0..=offset.saturating_sub(BEFORE)).rev().find(boundary).unwrap_or(0);
    let end = (offset.saturating_add(AFTER).min(text.len())..text.len()).find(boundary).unwrap_or(text.len());
    let (head, tail) = (if start > 0 { "…" } else { "" }, if end < text.len() { "…" } else { "" });
    // INVARIANT: both ends are character boundaries, and the start is not behind the end.
    format!("{head}{}{tail}", &text[start..end])
}

fn arrays(old: Node<'_>, new: Node<'_>, ordered: bool) -> Option<Found> {
    let mut right = new.items();
    let mut index = 0_usize;
    for left in old.items() {
        let found = match right.next() {
            None => Some(Found::removed(left)),
            Some(right) if !ordered && kind_of(left) != kind_of(right) => {
                Some(Found::between(Change::Replaced, left, right))
            }
            Some(right) => walk(left, right, ordered),
        };
        if let Some(found) = found {
            return Some(found.below(index.to_string()));
        }
        index += 1;
    }
    right.next().map(|added| Found::added(added).below(index.to_string()))
}

/// The type of a block inside a block.
fn kind_of(node: Node<'_>) -> Option<String> {
    node.get("type").map(text)
}

/// Compares members whatever their order; the value of the member `skip` is left out.
fn objects(old: Node<'_>, new: Node<'_>, skip: Option<&str>) -> Option<Found> {
    for (name, value) in new.members().filter(|(key, _)| !key.is_str(MARKER)) {
        let key = text(name);
        if skip == Some(key.as_str()) {
            continue;
        }
        let found = match old.get(&key) {
            Some(before) => walk(before, value, keeps_order(name)),
            None => Some(Found::added(value)),
        };
        if let Some(found) = found {
            return Some(found.below(key));
        }
    }
    let gone = members(old).find(|(key, _)| skip != Some(key.as_str()) && new.get(key).is_none());
    gone.map(|(key, value)| Found::removed(value).below(key))
}

/// Compares members where their order counts.
fn ordered_objects(old: Node<'_>, new: Node<'_>) -> Option<Found> {
    let names = |node: Node<'_>| node.members().map(|(key, _)| text(key)).collect::<BTreeSet<_>>();
    let (before, after) = (names(old), names(new));
    let mut left = old.members();
    for (name, value) in new.members() {
        let key = text(name);
        let found = match left.next() {
            Some((other, earlier)) if text(other) == key => walk(earlier, value, true),
            _ if !before.contains(&key) => Some(Found::added(value)),
            Some((other, earlier)) if !after.contains(&text(other)) => {
                return Some(Found::removed(earlier).below(text(other)));
            }
            _ => return Some(Found::between(Change::KeyOrder, old, new)),
        };
        if let Some(found) = found {
            return Some(found.below(key));
        }
    }
    left.next().map(|(name, value)| Found::removed(value).below(text(name)))
}
