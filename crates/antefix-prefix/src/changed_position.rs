//! The first place where a request stops extending an earlier one of which only digests were kept.

use crate::chain::{Chain, View};
use crate::difference::Class;
use crate::position::Position;

/// The first position that is not the earlier request's, as far as digests tell it.
///
/// They say which position it is and not what changed in it: the text before, the leaf and the number of bytes that
/// agree are not known. Keep the body, and ask [`first_difference`](crate::first_difference), where those are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangedPosition<'p> {
    /// Number of positions in front of it, all of which are the earlier request's.
    pub index: usize,
    /// What stands there in the later request: its pointer, its kind, who speaks. `None` where that request is over and
    /// the earlier one went on.
    pub position: Option<&'p Position>,
    /// Whether the meaning differs or the bytes only.
    pub class: Class,
}

/// Finds where a request stops extending an earlier one of which the [`Chain`] was stored; `None` if it extends or
/// equals it with the same bytes. A difference of the bytes alone is told only where there is none of meaning.
///
/// Beside the digests of `later`, which are one pass over its bytes, this takes as many comparisons of digests as the
/// number of positions has binary digits.
///
/// ```
/// use antefix_prefix::{Chain, Class, first_changed_position, positions};
/// use antefix_wire::{anthropic::Request, json::Body};
/// let read = |text: &str| {
///     let body = Body::parse(text.as_bytes()).unwrap();
///     positions(&Request::read(body.root()).unwrap())
/// };
/// let earlier = read(r#"{"system":"Be brief.","messages":[{"role":"user","content":"Hi."}]}"#);
/// let chain = Chain::of(&earlier);
/// let stored = (chain.links().to_vec(), chain.head_len());
///
/// let later = read(r#"{"system":"Be kind.","messages":[{"role":"user","content":"Hi."}]}"#);
/// let found = first_changed_position(&Chain::from_links(stored.0, stored.1), &later).unwrap();
/// assert_eq!((found.index, found.class), (0, Class::Normal));
/// assert_eq!(found.position.unwrap().pointer(), "/system");
/// ```
pub fn first_changed_position<'p>(earlier: &Chain, later: &'p [Position]) -> Option<ChangedPosition<'p>> {
    let chain = Chain::of(later);
    let part = |view, class| {
        let index = earlier.common(&chain, view);
        (index < earlier.len()).then(|| ChangedPosition { index, position: later.get(index), class })
    };
    part(View::Normal, Class::Normal).or_else(|| part(View::Wire, Class::Wire))
}
