//! The first difference between two items or messages that stand at the same place.

use antefix_wire::json::{Body, Node};

use super::prompt::{Item, Turn};
use super::{Finding, Kind};
use crate::difference::Change;
use crate::difference::walk::{Found, walk, walk_header, walk_text};

/// Where two items part.
#[derive(Debug)]
pub(super) struct Spot {
    pub(super) pointer: String,
    /// The pointer from the item down.
    pub(super) inside: String,
    pub(super) change: Change,
    pub(super) offset: Option<usize>,
    pub(super) earlier: Option<String>,
    pub(super) later: Option<String>,
}

impl Spot {
    fn of(prefix: String, found: Found) -> Self {
        let inside = found.path();
        Self {
            pointer: format!("{prefix}{inside}"),
            inside,
            change: found.change,
            offset: found.offset,
            earlier: found.earlier,
            later: found.later,
        }
    }

    /// The item is new.
    pub(super) fn added(new: &Item<'_>) -> Self {
        Self::of(new.path.to_string(), Found::added(new.node))
    }

    /// The item is gone.
    pub(super) fn removed(old: &Item<'_>) -> Self {
        Self::of(old.path.to_string(), Found::removed(old.node))
    }

    /// The finding of that kind at this place.
    pub(super) fn finding(self, kind: Kind) -> Finding {
        Finding {
            offset: self.offset,
            earlier: self.earlier,
            later: self.later,
            ..Finding::new(kind, self.pointer)
        }
    }
}

/// Where two items part; `None` if they mean the same.
pub(super) fn items(old: &Item<'_>, new: &Item<'_>) -> Option<Spot> {
    if old.node.raw() == new.node.raw() {
        return None;
    }
    if old.identity() != new.identity() {
        let path = match (old.path.member(), new.path.member()) {
            (left, right) if left == right => new.path,
            // One of the two is an entry as a whole, the other stands inside its entry.
            ("", _) | (_, "") => new.path.whole(),
            // Members of one message: this one is gone.
            _ => return Some(Spot::removed(old)),
        };
        return Some(Spot::of(path.to_string(), Found::between(Change::Replaced, old.node, new.node)));
    }
    let found = if old.node.kind() == new.node.kind() {
        walk(old.node, new.node, false)
    } else {
        walk_text(old.node, new.node)
    };
    found.map(|found| {
        let path = if found.change == Change::Removed { old.path } else { new.path };
        Spot::of(path.to_string(), found)
    })
}

/// Where two messages part; `None` if they mean the same.
pub(super) fn turns(old: &Turn<'_>, new: &Turn<'_>) -> Option<Spot> {
    if old.role != new.role {
        let found = Found::between(Change::Replaced, old.node, new.node);
        return Some(Spot::of(new.path.whole().to_string(), found));
    }
    if let (Some(left), Some(right)) = (old.header, new.header)
        && let Some(found) = walk_header(left, right)
    {
        return Some(Spot::of(new.path.whole().to_string(), found));
    }
    let both = old.items.iter().zip(&new.items).find_map(|(left, right)| items(left, right));
    both.or_else(|| new.items.get(old.items.len()).map(Spot::added))
        .or_else(|| old.items.get(new.items.len()).map(Spot::removed))
}

/// Whether two texts are JSON and equal but for the order of their keys.
pub(super) fn differ_in_key_order(old: &str, new: &str) -> bool {
    let parse = |text: &str| Body::parse(text.as_bytes().to_vec()).ok();
    let (Some(left), Some(right)) = (parse(old), parse(new)) else {
        return false;
    };
    old != new && sorted(left.root()) == sorted(right.root())
}

/// A value's text with sorted keys.
fn sorted(node: Node<'_>) -> String {
    let mut members: Vec<_> =
        node.members().map(|(key, value)| format!("{}:{}", key.raw(), sorted(value))).collect();
    let items: Vec<_> = node.items().map(sorted).collect();
    members.sort_unstable();
    match node.kind() {
        antefix_wire::json::Kind::Object => format!("{{{}}}", members.join(",")),
        antefix_wire::json::Kind::Array => format!("[{}]", items.join(",")),
        _ => node.raw().to_owned(),
    }
}
