//! The cache: a tree whose edges are the full texts of rendered blocks, so that equal prefixes are equal
//! paths.

use std::collections::BTreeMap;

use antefix_models::Ttl;

use crate::Millis;
use crate::config::{OtherTtl, Refresh};
use crate::render::{Rendered, Run};

/// All entries of all scopes.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    roots: BTreeMap<String, usize>,
    nodes: Vec<Node>,
    rules: CacheRules,
    random: u64,
    /// Number of nodes at which expired entries are next swept out.
    sweep_at: usize,
}

impl Cache {
    pub fn new(rules: CacheRules) -> Self {
        let random = rules.seed | 1;
        Self { roots: BTreeMap::new(), nodes: Vec::new(), rules, random, sweep_at: 100_000 }
    }

    /// Looks a request up, refreshes what it reads and says what it pays.
    pub fn look_up(&mut self, ask: &Ask<'_>) -> Outcome {
        let path = self.path(ask);
        let hit = self.search(ask, &path);
        if let Some((hit, ttl)) = hit {
            self.refresh(&path, hit, ttl, ask.now);
        }
        bill(ask, hit.map(|(index, _)| index))
    }

    /// Writes the entries of an outcome; they can be read from `available_at` on.
    pub fn write(&mut self, ask: &Ask<'_>, outcome: &Outcome, available_at: Millis) {
        let Some(&(last, _)) = outcome.writes.last() else { return };
        let path = self.grow(ask, last);
        for &(index, ttl) in &outcome.writes {
            let entry = Entry { ttl, available_at, expires_at: ask.now.after(lifetime(ttl)) };
            if let Some(node) = path.get(index).and_then(|&node| self.nodes.get_mut(node)) {
                node.entry = Some(match node.entry {
                    Some(old) if ask.now < old.expires_at => old.joined(entry),
                    _ => entry,
                });
            }
        }
        if self.nodes.len() > self.sweep_at {
            self.sweep(ask.now);
            self.sweep_at = self.nodes.len() * 2 + 100_000;
        }
    }

    /// The nodes along the request, as far as they exist.
    fn path(&self, ask: &Ask<'_>) -> Vec<usize> {
        let Some(&root) = self.roots.get(ask.scope) else { return Vec::new() };
        let mut path = Vec::new();
        let mut at = root;
        for block in ask.blocks {
            let Some(&child) = self.nodes.get(at).and_then(|node| node.children.get(&block.identity)) else {
                break;
            };
            path.push(child);
            at = child;
        }
        path
    }

    /// The nodes along the request up to `last`, made where they do not exist.
    fn grow(&mut self, ask: &Ask<'_>, last: usize) -> Vec<usize> {
        let mut at = match self.roots.get(ask.scope) {
            Some(&root) => root,
            None => {
                let root = self.node();
                self.roots.insert(ask.scope.to_owned(), root);
                root
            }
        };
        let mut path = Vec::new();
        for block in ask.blocks.iter().take(last + 1) {
            // INVARIANT: `at` was made by `node` and nodes are only removed by `sweep`, which renumbers all.
            at = match self.nodes[at].children.get(&block.identity) {
                Some(&child) => child,
                None => {
                    let child = self.node();
                    self.nodes[at].children.insert(block.identity.clone(), child);
                    child
                }
            };
            path.push(at);
        }
        path
    }

    fn node(&mut self) -> usize {
        self.nodes.push(Node::default());
        self.nodes.len() - 1
    }

    /// From the last marker to the first: the marked position and those before it, 20 in all, newest first.
    fn search(&mut self, ask: &Ask<'_>, path: &[usize]) -> Option<(usize, Ttl)> {
        let positions = positions(ask.blocks, ask.collapse);
        for &(marked, ttl) in ask.markers.iter().rev() {
            let Some(&own) = positions.get(marked) else { continue };
            for index in (0..=marked).rev() {
                if own - positions.get(index).copied().unwrap_or(own) >= ask.lookback {
                    break;
                }
                if self.readable(path.get(index).copied(), ttl, ask.now) {
                    return Some((index, ttl));
                }
            }
        }
        None
    }

    fn readable(&mut self, node: Option<usize>, ttl: Ttl, now: Millis) -> bool {
        let entry = node.and_then(|node| self.nodes.get(node)).and_then(|node| node.entry);
        let Some(entry) = entry else { return false };
        let live = entry.available_at <= now && now < entry.expires_at;
        let visible = entry.ttl == ttl || self.rules.other_ttl != OtherTtl::Misses;
        if live && visible && self.evicts() {
            if let Some(node) = node.and_then(|node| self.nodes.get_mut(node)) {
                node.entry = None;
            }
            return false;
        }
        live && visible
    }

    /// A seeded draw (xorshift64).
    fn evicts(&mut self) -> bool {
        if self.rules.eviction_per_mille == 0 {
            return false;
        }
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % 1000 < u64::from(self.rules.eviction_per_mille)
    }

    fn refresh(&mut self, path: &[usize], hit: usize, marker: Ttl, now: Millis) {
        let first = match self.rules.refresh {
            Refresh::Path => 0,
            Refresh::EntryOnly => hit,
        };
        for (index, &node) in path.iter().enumerate().take(hit + 1).skip(first) {
            let Some(entry) = self.nodes.get_mut(node).and_then(|node| node.entry.as_mut()) else { continue };
            if index == hit && self.rules.other_ttl == OtherTtl::Converts {
                entry.ttl = marker;
            }
            if entry.available_at <= now && now < entry.expires_at {
                entry.expires_at = now.after(lifetime(entry.ttl));
            }
        }
    }

    /// Drops what has expired. A child is made after its parent, so a pass from the end sees children first.
    fn sweep(&mut self, now: Millis) {
        let mut alive = vec![false; self.nodes.len()];
        for (index, node) in self.nodes.iter_mut().enumerate().rev() {
            node.entry = node.entry.filter(|entry| now < entry.expires_at);
            node.children.retain(|_, child| alive.get(*child) == Some(&true));
            if let Some(slot) = alive.get_mut(index) {
                *slot = node.entry.is_some() || !node.children.is_empty();
            }
        }
        let mut numbers = Vec::with_capacity(alive.len());
        let mut next = 0;
        for &kept in &alive {
            numbers.push(next);
            next += usize::from(kept);
        }
        let renumber = |node: &mut usize| *node = numbers.get(*node).copied().unwrap_or_default();
        self.roots.retain(|_, root| alive.get(*root) == Some(&true));
        self.roots.values_mut().for_each(renumber);
        let mut alive = alive.into_iter();
        self.nodes.retain(|_| alive.next() == Some(true));
        for node in &mut self.nodes {
            node.children.values_mut().for_each(renumber);
        }
    }
}

/// The knobs that concern the cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CacheRules {
    pub refresh: Refresh,
    pub other_ttl: OtherTtl,
    pub eviction_per_mille: u32,
    pub seed: u64,
}

#[derive(Clone, Debug, Default)]
struct Node {
    /// By the identity of the next block.
    children: BTreeMap<String, usize>,
    entry: Option<Entry>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    ttl: Ttl,
    available_at: Millis,
    /// The first moment at which it is gone.
    expires_at: Millis,
}

impl Entry {
    /// Two writes of one prefix, the second while the first still lives: readable from the earlier, kept for
    /// the longer.
    fn joined(self, other: Entry) -> Entry {
        let longer = if self.expires_at > other.expires_at { self } else { other };
        Entry { available_at: self.available_at.min(other.available_at), ..longer }
    }
}

/// One request as the cache sees it.
pub(crate) struct Ask<'a> {
    pub scope: &'a str,
    pub blocks: &'a [Rendered],
    /// Marked blocks in rendering order.
    pub markers: Vec<(usize, Ttl)>,
    pub minimum: u64,
    pub lookback: usize,
    pub collapse: bool,
    /// Start of the request.
    pub now: Millis,
}

/// What was found and what is to be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Index of the last block read.
    pub hit: Option<usize>,
    /// Entries to write: block and TTL.
    pub writes: Vec<(usize, Ttl)>,
    pub read: u64,
    pub write_5m: u64,
    pub write_1h: u64,
    pub uncached: u64,
}

/// How long an entry lives after the start of the request that wrote or last read it.
pub(crate) fn lifetime(ttl: Ttl) -> Millis {
    match ttl {
        Ttl::FiveMinutes => Millis(300_000),
        Ttl::OneHour => Millis(3_600_000),
    }
}

/// The position of each block: its place in the count of the lookback.
fn positions(blocks: &[Rendered], collapse: bool) -> Vec<usize> {
    let mut positions = Vec::with_capacity(blocks.len());
    let mut position = 0;
    let mut previous = Run::Alone;
    for (index, block) in blocks.iter().enumerate() {
        let same_run = collapse && block.run != Run::Alone && block.run == previous;
        if index > 0 && !same_run {
            position += 1;
        }
        previous = block.run;
        positions.push(position);
    }
    positions
}

/// The A/B/C rule: A = end of the highest hit, B = the highest 1h marker behind it, C = the last marker.
/// Up to A is read, A to B written for 1 h, B to C for 5 min, the rest is plain input.
fn bill(ask: &Ask<'_>, hit: Option<usize>) -> Outcome {
    let mut ends = Vec::with_capacity(ask.blocks.len());
    let mut total = 0;
    for block in ask.blocks {
        total += block.tokens;
        ends.push(total);
    }
    let end = |index: usize| ends.get(index).copied().unwrap_or(total);
    let writes: Vec<(usize, Ttl)> = ask
        .markers
        .iter()
        .copied()
        .filter(|&(index, _)| hit.is_none_or(|hit| index > hit) && end(index) >= ask.minimum)
        .collect();
    let a = hit.map_or(0, end);
    let b = writes.iter().rev().find(|(_, ttl)| *ttl == Ttl::OneHour).map_or(a, |&(index, _)| end(index));
    let c = writes.last().map_or(a, |&(index, _)| end(index));
    Outcome { hit, writes, read: a, write_1h: b - a, write_5m: c - b, uncached: total - c }
}
