//! The first place where a later request's prompt is not the earlier one's.

pub(crate) mod walk;

use std::borrow::Cow;

use antefix_wire::anthropic::{Message, Request, ViewError};
use antefix_wire::json::{Body, Node};

use crate::position::{Place, Section};
use crate::spelling::{Survey, header, header_without_markers, without};
use walk::{Found, walk, walk_header, walk_text};

/// The first place where a later request stops extending an earlier one.
///
/// The order is that of reading: tools, system, messages. The pointer stops at an element whose identity
/// differs (a tool's name, a block's type, a message's role) and else goes down to the leaf. Markers are no
/// difference; the order of keys is one only below `input_schema`, `parameters` and `input`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// JSON Pointer (RFC 6901) into the later request; into the earlier one where the node is gone.
    pub pointer: String,
    /// The request that the pointer is into.
    pub side: Side,
    /// Whether the meaning differs or the bytes only.
    pub class: Class,
    /// What happened there.
    pub change: Change,
    /// How many bytes of the leaf agree: of a string's decoded text, else of the value as sent. `None` where
    /// the pointer is to no leaf.
    pub offset: Option<usize>,
    /// A short piece of the earlier request around the difference.
    pub earlier: Option<String>,
    /// A short piece of the later request around the difference.
    pub later: Option<String>,
}

/// One of the two requests compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The one sent before.
    Earlier,
    /// The one that should extend it.
    Later,
}

/// How deep a difference goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// The bytes differ and the meaning does not: worth a note, no break.
    Wire,
    /// The meaning differs.
    Normal,
}

/// What happened at the first difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Change {
    /// The later request has something here that the earlier one has not.
    Added,
    /// The later request lacks what the earlier one has here.
    Removed,
    /// Something of another identity stands here.
    Replaced,
    /// The value is another.
    Value,
    /// The same keys stand in another order, where that counts.
    KeyOrder,
    /// It is spelled another way.
    Spelling,
}

/// Finds where `later` stops extending `earlier`; `None` if it extends or equals it with the same bytes.
///
/// A difference of spelling alone ([`Class::Wire`]) is returned only where there is none of meaning.
/// Comparing a request with the one it extends costs one pass over the bytes of the earlier one.
///
/// # Errors
/// [`ViewError`] if one of the two is not a Messages request.
pub fn first_difference(earlier: &Body, later: &Body) -> Result<Option<Difference>, ViewError> {
    Ok(difference(&Request::read(earlier.root())?, &Request::read(later.root())?))
}

/// As [`first_difference`], for requests that were read before.
pub fn difference(earlier: &Request<'_>, later: &Request<'_>) -> Option<Difference> {
    let mut spelling = None;
    let mut right = items(later);
    for old in items(earlier) {
        let Some(new) = right.next() else {
            return Some(removed(&old));
        };
        if old.same_bytes(&new) {
            continue;
        }
        if let Some(found) = compare(&old, &new) {
            return Some(found);
        }
        if spelling.is_none() && !old.same_wire(&new) {
            spelling = Some(Difference {
                class: Class::Wire,
                change: Change::Spelling,
                ..at(Side::Later, &new.place, Found::new(Change::Spelling))
            });
        }
    }
    spelling
}

/// A tool, a block or an empty message.
struct Item<'a> {
    place: Place,
    section: Section,
    node: Node<'a>,
    /// The message that it opens.
    opening: Option<Node<'a>>,
    /// A tool's or block's type, and a tool's name.
    identity: Identity<'a>,
}

impl Item<'_> {
    /// Whether the bytes are equal, which holds for nearly all of a conversation.
    fn same_bytes(&self, other: &Self) -> bool {
        let header = match (self.opening, other.opening) {
            (None, None) => true,
            (Some(left), Some(right)) => header(left) == header(right),
            _ => false,
        };
        header && self.section == other.section && self.node.raw() == other.node.raw()
    }

    /// Whether the bytes are equal but for markers.
    fn same_wire(&self, other: &Self) -> bool {
        let header = match (self.opening, other.opening) {
            (Some(left), Some(right)) => {
                header_without_markers(left).concat() == header_without_markers(right).concat()
            }
            _ => true,
        };
        let bytes = |node: Node<'_>| {
            let mut survey = Survey::default();
            survey.look(node);
            without(node, &survey.cuts).concat()
        };
        header && bytes(self.node) == bytes(other.node)
    }

    /// The element as a whole: the message where the item opens one.
    fn whole(&self) -> Place {
        match (self.opening, self.place) {
            (Some(_), Place::Block { message, .. } | Place::MessageText(message)) => Place::Message(message),
            (_, place) => place,
        }
    }
}

type Identity<'a> = (Cow<'a, str>, Cow<'a, str>);

/// What a provider reads of a request, in its order.
fn items<'r, 'a>(request: &'r Request<'a>) -> impl Iterator<Item = Item<'a>> + use<'r, 'a> {
    let tools =
        request.tools.iter().enumerate().filter(|(_, tool)| !tool.defer_loading).map(|(index, tool)| Item {
            place: Place::Tool(index),
            section: Section::Tools,
            node: tool.node,
            opening: None,
            identity: (tool.type_name(), tool.name.clone()),
        });
    let system = request.system.iter().enumerate().map(|(index, block)| Item {
        place: if block.from_string { Place::SystemText } else { Place::System(index) },
        section: Section::System,
        node: block.node,
        opening: None,
        identity: (block.type_name(), "".into()),
    });
    let messages = request.messages.iter().enumerate().flat_map(|(index, view)| message_items(index, view));
    tools.chain(system).chain(messages)
}

fn message_items<'r, 'a>(
    message: usize,
    view: &'r Message<'a>,
) -> impl Iterator<Item = Item<'a>> + use<'r, 'a> {
    let empty = view.content.is_empty().then(|| Item {
        place: Place::Message(message),
        section: Section::Messages,
        node: view.node,
        opening: Some(view.node),
        identity: ("".into(), "".into()),
    });
    let blocks = view.content.iter().enumerate().map(move |(block, found)| Item {
        place: if found.from_string { Place::MessageText(message) } else { Place::Block { message, block } },
        section: Section::Messages,
        node: found.node,
        opening: (block == 0).then_some(view.node),
        identity: (found.type_name(), "".into()),
    });
    empty.into_iter().chain(blocks)
}

/// The difference of meaning between two items that stand at the same place in the order.
fn compare(old: &Item<'_>, new: &Item<'_>) -> Option<Difference> {
    if old.section != new.section {
        return Some(if old.section < new.section { removed(old) } else { added(new) });
    }
    match (old.opening, new.opening) {
        (Some(_), None) => return Some(added(new)),
        (None, Some(_)) => return Some(removed_place(old, &old.place)),
        (Some(left), Some(right)) => {
            if left.get("role").map(Node::str) != right.get("role").map(Node::str) {
                return Some(both(Change::Replaced, &new.whole(), left, right));
            }
            if let Some(found) = walk_header(left, right) {
                return Some(within(&old.whole(), &new.whole(), found));
            }
        }
        (None, None) => {}
    }
    match (old.place, new.place) {
        (Place::Message(_), Place::Message(_)) => return None,
        (Place::Message(_), _) => return Some(added_place(new, &new.place)),
        (_, Place::Message(_)) => return Some(removed_place(old, &old.place)),
        _ => {}
    }
    if old.identity != new.identity {
        return Some(both(Change::Replaced, &new.place, old.node, new.node));
    }
    let found = if old.node.kind() == new.node.kind() {
        walk(old.node, new.node, false)
    } else {
        walk_text(old.node, new.node)
    };
    found.map(|found| within(&old.place, &new.place, found))
}

fn within(old: &Place, new: &Place, found: Found) -> Difference {
    let (side, place) = match found.change {
        Change::Removed => (Side::Earlier, old),
        _ => (Side::Later, new),
    };
    at(side, place, found)
}

fn at(side: Side, place: &Place, found: Found) -> Difference {
    Difference {
        pointer: format!("{place}{}", found.path()),
        side,
        class: Class::Normal,
        change: found.change,
        offset: found.offset,
        earlier: found.earlier,
        later: found.later,
    }
}

fn both(change: Change, place: &Place, old: Node<'_>, new: Node<'_>) -> Difference {
    at(Side::Later, place, Found::between(change, old, new))
}

/// The item is gone, or its whole message if it opens one.
fn removed(old: &Item<'_>) -> Difference {
    removed_place(old, &old.whole())
}

fn removed_place(old: &Item<'_>, place: &Place) -> Difference {
    at(Side::Earlier, place, Found::removed(old.node))
}

/// The item is new, or its whole message if it opens one.
fn added(new: &Item<'_>) -> Difference {
    added_place(new, &new.whole())
}

fn added_place(new: &Item<'_>, place: &Place) -> Difference {
    at(Side::Later, place, Found::added(new.node))
}
