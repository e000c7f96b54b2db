use crate::json::{Kind, Node};
use crate::{ByteRange, Edit};

/// How long a cache entry is asked to live, as a `cache_control` spells it.
///
/// Rules and plans go by `antefix_models::Ttl`; this one is what is read from a request and written into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ttl {
    /// `5m`, the default.
    FiveMinutes,
    /// `1h`
    OneHour,
}

/// A `cache_control` marker.
#[derive(Clone, Copy, Debug)]
pub struct CacheControl<'a> {
    /// The marker's object, with what else it holds (`scope`, a `ttl` not known here).
    pub node: Node<'a>,
    /// Its time to live; [`Ttl::FiveMinutes`] where none, or an unknown one, is given.
    pub ttl: Ttl,
}

impl<'a> CacheControl<'a> {
    /// The marker of a request, tool or block; `None` where it is absent, `null` or not an object.
    pub fn of(holder: Node<'a>) -> Option<Self> {
        let node = holder.get(KEY).filter(|node| node.kind() == Kind::Object)?;
        let hour = node.get("ttl").is_some_and(|ttl| ttl.is_str("1h"));
        Some(Self { node, ttl: if hour { Ttl::OneHour } else { Ttl::FiveMinutes } })
    }
}

/// The edit that marks a block, a tool or a request: the marker becomes the last member of the object.
///
/// A marker that stands there already is replaced in its place. Content given as a string becomes one marked
/// text block, with the text's bytes as they were. `None` for any other value, which cannot carry a marker.
///
/// ```
/// use antefix_wire::{anthropic::{Ttl, marker_edit}, json::Body, splice};
/// let body = Body::parse(*br#"{"type":"text","text":"hi"}"#).unwrap();
/// let edit = marker_edit(body.root(), Ttl::OneHour).unwrap();
/// assert_eq!(
///     splice(body.bytes(), &[edit]).unwrap(),
///     br#"{"type":"text","text":"hi","cache_control":{"type":"ephemeral","ttl":"1h"}}"#
/// );
/// ```
pub fn marker_edit(node: Node<'_>, ttl: Ttl) -> Option<Edit> {
    let marker = marker(ttl);
    match node.kind() {
        Kind::Object => Some(object_edit(node, marker)),
        Kind::String => {
            let block = format!(r#"[{{"type":"text","text":{},"{KEY}":{marker}}}]"#, node.raw());
            Some(Edit::replace(node.range(), block))
        }
        _ => None,
    }
}

/// The edit that takes the marker off a block, a tool or a request, with the comma that sets it apart; `None`
/// where there is no member `cache_control`.
///
/// It undoes [`marker_edit`] on an object byte for byte. Where the key stands twice, the last one goes.
pub fn unmark_edit(node: Node<'_>) -> Option<Edit> {
    let members: Vec<_> = node.members().collect();
    let at = members.iter().rposition(|(key, _)| key.is_str(KEY))?;
    let (key, value) = members.get(at)?;
    let before = at.checked_sub(1).and_then(|index| members.get(index));
    let range = match (before, members.get(at + 1)) {
        (Some((_, earlier)), _) => ByteRange::new(earlier.range().end, value.range().end),
        (None, Some((next, _))) => ByteRange::new(key.range().start, next.range().start),
        (None, None) => ByteRange::new(key.range().start, value.range().end),
    };
    Some(Edit::delete(range))
}

fn object_edit(node: Node<'_>, marker: &str) -> Edit {
    if let Some(old) = node.get(KEY) {
        return Edit::replace(old.range(), marker);
    }
    match node.members().last() {
        Some((_, value)) => Edit::insert(value.range().end, format!(r#","{KEY}":{marker}"#)),
        None => Edit::insert(node.range().start + 1, format!(r#""{KEY}":{marker}"#)),
    }
}

fn marker(ttl: Ttl) -> &'static str {
    match ttl {
        Ttl::FiveMinutes => r#"{"type":"ephemeral"}"#,
        Ttl::OneHour => r#"{"type":"ephemeral","ttl":"1h"}"#,
    }
}

const KEY: &str = "cache_control";
