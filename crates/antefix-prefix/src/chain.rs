//! Chains: a digest of each prefix of a request.

use crate::digest::{Digest, EMPTY_PREFIX, link};
use crate::position::{Position, Section};

/// The digests of one prefix. Equal links mean equal prefixes, position for position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Link {
    /// Over the positions' `wire` digests: equal bytes but for markers.
    pub wire: Digest,
    /// Over the positions' `normal` digests: equal meaning.
    pub normal: Digest,
}

impl Link {
    const EMPTY: Self = Self { wire: EMPTY_PREFIX, normal: EMPTY_PREFIX };

    /// The digest for one view.
    pub fn of(&self, view: View) -> Digest {
        match view {
            View::Wire => self.wire,
            View::Normal => self.normal,
        }
    }
}

/// Which of the two digests a comparison goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum View {
    /// The bytes without markers.
    Wire,
    /// The meaning; what the provider's cache goes by.
    Normal,
}

/// The cumulative digests over a request's positions, one [`Link`] for each.
///
/// Two chains have an equal link at length `n` exactly where their first `n` positions are equal, so
/// comparing two requests of any length takes one comparison, and extending one costs only the new positions.
///
/// ```
/// use antefix_prefix::{Chain, View, positions};
/// use antefix_wire::{anthropic::Request, json::Body};
/// let earlier = Body::parse(*br#"{"messages":[{"role":"user","content":"hi"}]}"#).unwrap();
/// let later = Body::parse(
///     *br#"{"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]},{"role":"assistant","content":"yes"}]}"#,
/// )
/// .unwrap();
/// let chain = |body: &Body| Chain::of(&positions(&Request::read(body.root()).unwrap()));
/// assert_eq!(chain(&earlier).common(&chain(&later), View::Normal), 1);
/// assert_eq!(chain(&earlier).common(&chain(&later), View::Wire), 0);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    links: Vec<Link>,
    head: usize,
}

impl Chain {
    /// The chain of no positions.
    pub const fn new() -> Self {
        Self { links: Vec::new(), head: 0 }
    }

    /// The chain over `positions`, which start with a request's first.
    pub fn of(positions: &[Position]) -> Self {
        let mut chain = Self::new();
        chain.extend(positions);
        chain
    }

    /// The chain that was stored as its [`links`](Self::links) and its [`head_len`](Self::head_len).
    pub fn from_links(links: Vec<Link>, head: usize) -> Self {
        let head = head.min(links.len());
        Self { links, head }
    }

    /// Appends one position.
    pub fn push(&mut self, position: &Position) {
        let before = self.last();
        let normal = link(before.normal, position.normal);
        let same = before.wire == before.normal && position.wire == position.normal;
        let wire = if same { normal } else { link(before.wire, position.wire) };
        self.links.push(Link { wire, normal });
        if position.section != Section::Messages {
            self.head = self.links.len();
        }
    }

    /// Appends positions.
    pub fn extend(&mut self, positions: &[Position]) {
        self.links.reserve(positions.len());
        for position in positions {
            self.push(position);
        }
    }

    /// Number of positions.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// Whether there is no position.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// Number of positions in tools and system.
    pub fn head_len(&self) -> usize {
        self.head
    }

    /// The link over the first `len` positions; `None` if there are fewer.
    pub fn link(&self, len: usize) -> Option<Link> {
        match len.checked_sub(1) {
            None => Some(Link::EMPTY),
            Some(index) => self.links.get(index).copied(),
        }
    }

    /// The link over all positions.
    pub fn last(&self) -> Link {
        self.links.last().copied().unwrap_or(Link::EMPTY)
    }

    /// All links in order, to be stored.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Drops the positions behind the first `len`.
    pub fn truncate(&mut self, len: usize) {
        self.links.truncate(len);
        self.head = self.head.min(len);
    }

    /// Number of leading positions that two chains share.
    pub fn common(&self, other: &Self, view: View) -> usize {
        let most = self.len().min(other.len());
        let equal = |len: usize| match (self.link(len), other.link(len)) {
            (Some(left), Some(right)) => left.of(view) == right.of(view),
            _ => false,
        };
        last_true(0, most, equal)
    }

    /// Whether this chain starts with all of `earlier`.
    pub fn extends(&self, earlier: &Self, view: View) -> bool {
        self.link(earlier.len()).is_some_and(|link| link.of(view) == earlier.last().of(view))
    }
}

/// The greatest number in `low..=high` for which `holds`, given that it holds for `low` and, from some number
/// on, no longer. Tries the ends first: most requests extend the one before.
pub(crate) fn last_true(low: usize, high: usize, holds: impl Fn(usize) -> bool) -> usize {
    if high <= low || holds(high) {
        return high.max(low);
    }
    let (mut yes, mut no) = (low, high);
    if !holds(low + 1) {
        return low;
    }
    while yes + 1 < no {
        let middle = yes + (no - yes) / 2;
        if holds(middle) { yes = middle } else { no = middle }
    }
    yes
}
