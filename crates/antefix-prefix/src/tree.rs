//! The tree of the requests that were sent in one lane.

use std::collections::BTreeMap;

use antefix_models::Rules;

use crate::chain::{Chain, Link, last_true};
use crate::digest::Digest;
use crate::effective::effective;
use crate::segment::Segment;

/// How a request stands to those sent before it in its lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Relation {
    /// It starts with all of the lane's head, or equals it (a retry). So does the first request of a lane.
    Extends,
    /// It leaves the sent requests behind this many positions, and that was planned: the point was recorded
    /// with [`Tree::mark`] (a rewind, a fork, a side call), or the request is itself a prefix of one sent.
    BranchesAt(usize),
    /// It leaves the sent requests behind this many positions without plan: what follows was edited,
    /// reordered, inserted or removed.
    Diverges {
        /// Number of leading positions that were sent before.
        at: usize,
    },
}

/// A relation with the extent to which the bytes agree as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// By meaning, which is what a cache goes by.
    pub relation: Relation,
    /// Number of leading positions that were sent before, by meaning.
    pub common: usize,
    /// Number of leading positions that were sent before with the same bytes, markers aside. Less than
    /// `common` is worth a note and no break.
    pub wire_common: usize,
}

/// Whether a request becomes the one that the next must extend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Advance {
    /// A turn of the conversation.
    Head,
    /// A side call (a title, a suggestion, a probe): it is known from now on, and the head stays.
    Side,
}

/// What is known of a cache entry at the end of a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Entry {
    /// The request that carried the marker was cut before its first byte: the entry may exist or not.
    Doubtful,
    /// The provider read or wrote it.
    Confirmed,
}

/// The entries on one path, as indices of their last positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entries {
    /// The longest one that exists.
    pub confirmed: Option<usize>,
    /// The longest one in doubt, if longer than `confirmed`.
    pub doubtful: Option<usize>,
}

/// The requests that were sent in one lane, as the set of their prefixes.
///
/// Relating a request that extends the head takes a few look-ups, whatever its length; inserting it costs its
/// new positions only, and every prefix is kept once.
///
/// A request that leaves the tree exactly behind an earlier request's end is *not* planned by that alone: a
/// thinking block dropped from the answer looks the same. Plans are recorded with [`mark`](Self::mark), side
/// calls inserted with [`Advance::Side`]; a point inside tools or system is never planned.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    prefixes: BTreeMap<Digest, Prefix>,
    head: Option<Head>,
}

impl Tree {
    /// The tree of a lane in which nothing was sent.
    pub const fn new() -> Self {
        Self { prefixes: BTreeMap::new(), head: None }
    }

    /// How `chain` stands to what was sent.
    pub fn relation(&self, chain: &Chain) -> Relation {
        let Some(head) = &self.head else {
            return Relation::Extends;
        };
        if chain.link(head.len).is_some_and(|link| link.normal == head.link.normal) {
            return Relation::Extends;
        }
        let at = self.common(chain);
        let marked = self.prefix(chain, at).is_some_and(|prefix| prefix.marked);
        if at > 0 && at >= chain.head_len() && (marked || at == chain.len()) {
            Relation::BranchesAt(at)
        } else {
            Relation::Diverges { at }
        }
    }

    /// As [`relation`](Self::relation), with the extent to which the bytes agree.
    pub fn standing(&self, chain: &Chain) -> Standing {
        let common = self.common(chain);
        let same_bytes = |len: &usize| {
            let wire = chain.link(*len).map(|link| link.wire);
            self.prefix(chain, *len).is_some_and(|prefix| Some(prefix.wire) == wire)
        };
        let wire_common = (1..=common).rev().find(same_bytes).unwrap_or(0);
        Standing { relation: self.relation(chain), common, wire_common }
    }

    /// Number of leading positions of `chain` that were sent before, by meaning.
    pub fn common(&self, chain: &Chain) -> usize {
        let low = match &self.head {
            Some(head) if chain.link(head.len).is_some_and(|link| link.normal == head.link.normal) => {
                head.len
            }
            _ => 0,
        };
        last_true(low, chain.len(), |len| self.prefix(chain, len).is_some())
    }

    /// Adds a request that was sent.
    pub fn insert(&mut self, chain: &Chain, advance: Advance) {
        for len in self.common(chain) + 1..=chain.len() {
            if let Some(link) = chain.link(len) {
                self.prefixes.insert(link.normal, Prefix { wire: link.wire, marked: false, entry: None });
            }
        }
        if advance == Advance::Head || self.head.is_none() {
            self.head = Some(Head { len: chain.len(), link: chain.last() });
        }
    }

    /// Records that a coming request may leave the tree behind the first `len` positions of `chain`.
    ///
    /// Returns whether that prefix was sent; nothing is recorded otherwise.
    pub fn mark(&mut self, chain: &Chain, len: usize) -> bool {
        match self.prefix_mut(chain, len) {
            Some(prefix) => {
                prefix.marked = true;
                true
            }
            None => false,
        }
    }

    /// Moves the head back to the first `len` positions of `chain`: what follows extends from there.
    ///
    /// Returns whether that prefix was sent; the head stays otherwise.
    pub fn rewind(&mut self, chain: &Chain, len: usize) -> bool {
        let Some(link) = chain.link(len).filter(|link| self.prefixes.contains_key(&link.normal)) else {
            return false;
        };
        self.head = Some(Head { len, link });
        true
    }

    /// Records what is known of the entry that ends at position `last` of `chain`. A confirmed entry stays
    /// so.
    ///
    /// Returns whether that prefix was sent; nothing is recorded otherwise.
    pub fn note_entry(&mut self, chain: &Chain, last: usize, entry: Entry) -> bool {
        match self.prefix_mut(chain, last + 1) {
            Some(prefix) => {
                prefix.entry = prefix.entry.max(Some(entry));
                true
            }
            None => false,
        }
    }

    /// Forgets all entries: they expired.
    pub fn forget_entries(&mut self) {
        self.prefixes.values_mut().for_each(|prefix| prefix.entry = None);
    }

    /// The newest entries on `chain`'s path that end within its first `below` positions.
    pub fn entries(&self, chain: &Chain, below: usize) -> Entries {
        let mut found = Entries::default();
        for len in (1..=self.common(chain).min(below)).rev() {
            match self.entry(chain, len) {
                Some(Entry::Confirmed) => {
                    found.confirmed = Some(len - 1);
                    return found;
                }
                Some(Entry::Doubtful) if found.doubtful.is_none() => found.doubtful = Some(len - 1),
                _ => {}
            }
        }
        found
    }

    /// The newest entries on `chain`'s path that the provider still renders as they were written; `segments`
    /// are those of the request that `chain` is of.
    ///
    /// An entry that a documented rule of the provider puts out of reach is passed over; one that a rule may
    /// put out of reach counts as doubtful. See [`effective`].
    pub fn readable(&self, chain: &Chain, segments: &[Segment], rules: &Rules) -> Entries {
        let mut found = Entries::default();
        for len in (1..=self.common(chain).min(segments.len())).rev() {
            let Some(entry) = self.entry(chain, len) else {
                continue;
            };
            let extension = effective(segments, len, rules);
            if extension.kept_at_most() < len {
                continue;
            }
            if entry == Entry::Confirmed && extension.extends() {
                found.confirmed = Some(len - 1);
                break;
            }
            found.doubtful = found.doubtful.or(Some(len - 1));
        }
        found
    }

    /// Number of positions of the request that the next one must extend.
    pub fn head_len(&self) -> Option<usize> {
        self.head.as_ref().map(|head| head.len)
    }

    /// Number of different prefixes kept.
    pub fn prefix_count(&self) -> usize {
        self.prefixes.len()
    }

    fn prefix(&self, chain: &Chain, len: usize) -> Option<&Prefix> {
        self.prefixes.get(&chain.link(len)?.normal)
    }

    fn entry(&self, chain: &Chain, len: usize) -> Option<Entry> {
        self.prefix(chain, len)?.entry
    }

    fn prefix_mut(&mut self, chain: &Chain, len: usize) -> Option<&mut Prefix> {
        self.prefixes.get_mut(&chain.link(len)?.normal)
    }
}

/// A prefix of a sent request.
#[derive(Clone, Copy, Debug)]
struct Prefix {
    /// Its digest by bytes, as first sent.
    wire: Digest,
    marked: bool,
    entry: Option<Entry>,
}

#[derive(Clone, Copy, Debug)]
struct Head {
    len: usize,
    link: Link,
}
