use std::collections::BTreeMap;

use antefix_models::Ttl;
use antefix_prefix::Marker;
use bytes::{BufMut, Bytes, BytesMut};

use super::{Lane, Message};
use crate::record::RecordId;

/// How much has been done, in bytes; grows with what is new, never with what is re-sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Bytes scanned for spans and digests.
    pub scanned: u64,
    /// Bytes hashed for bodies' digests.
    pub hashed: u64,
    /// Bytes rendered into fragments.
    pub rendered: u64,
    /// Bytes copied while composing.
    pub copied: u64,
}

/// A request body as the chunks it is sent in.
#[derive(Clone, Debug)]
pub struct ComposedBody {
    /// The body, in order; most chunks are shared with earlier bodies.
    pub chunks: Vec<Bytes>,
    /// Its length in bytes.
    pub len: u64,
    /// blake3 of all of it.
    pub digest: blake3::Hash,
}

/// Composes bodies; keeps what no later marker can touch, hashed and in few chunks.
#[derive(Default)]
pub(super) struct Composer {
    settled: Option<Settled>,
}

struct Settled {
    lane: RecordId,
    head_markers: Vec<Marker>,
    /// Messages in it, as indices into the conversation's messages.
    last: Option<usize>,
    count: usize,
    /// A message stands in the head.
    holds_messages: bool,
    chunks: Vec<Bytes>,
    /// Not yet merged into a chunk.
    small: BytesMut,
    len: u64,
    hasher: blake3::Hasher,
}

impl Composer {
    pub(super) fn compose(
        &mut self,
        lane: &Lane,
        messages: &[Message],
        path: &[usize],
        markers: &[Marker],
        work: &mut Work,
    ) -> ComposedBody {
        let head = lane.positions();
        let markers: BTreeMap<usize, Marker> =
            markers.iter().map(|marker| (marker.position, *marker)).collect();
        let (head_markers, tail_markers): (Vec<Marker>, Vec<Marker>) =
            markers.into_values().partition(|marker| marker.position < head);
        let first_marked = tail_markers.iter().map(|marker| (marker.position - head) as u64).min();
        // INVARIANT: the path holds indices of messages.
        let keep = first_marked
            .map_or(path.len(), |at| path.iter().take_while(|&&index| messages[index].end() <= at).count());
        let mut settled = self
            .settled
            .take()
            .filter(|settled| settled.fits(lane, &head_markers, path, keep))
            .unwrap_or_else(|| Settled::new(lane, head_markers, work));
        for &index in &path[settled.count..keep] {
            settled.add(index, &messages[index], work);
        }
        let body = settled.finish(&path[keep..], messages, &tail_markers, head, work);
        self.settled = Some(settled);
        body
    }
}

impl Settled {
    fn new(lane: &Lane, head_markers: Vec<Marker>, work: &mut Work) -> Self {
        let mut small = BytesMut::new();
        let offsets =
            head_markers.iter().filter_map(|marker| Some((lane.marker_offset(marker.position)?, marker.ttl)));
        put_marked(&mut small, lane.head(), offsets);
        let mut hasher = blake3::Hasher::new();
        hasher.update(&small);
        let len = small.len() as u64;
        work.hashed += len;
        work.copied += len;
        Self {
            lane: lane.record(),
            head_markers,
            last: None,
            count: 0,
            holds_messages: lane.holds_messages(),
            chunks: Vec::new(),
            small,
            len,
            hasher,
        }
    }

    /// Whether the body to be composed starts with what is settled here.
    fn fits(&self, lane: &Lane, head_markers: &[Marker], path: &[usize], keep: usize) -> bool {
        let last = self.count.checked_sub(1).map(|index| path.get(index).copied());
        self.lane == lane.record()
            && self.head_markers == head_markers
            && self.count <= keep
            && last.is_none_or(|last| last == self.last)
    }

    fn add(&mut self, index: usize, message: &Message, work: &mut Work) {
        let before = self.small.len();
        if self.count > 0 || self.holds_messages {
            self.small.put_u8(b',');
        }
        self.small.put_slice(message.fragment());
        let added = &self.small[before..];
        self.hasher.update(added);
        self.len += added.len() as u64;
        work.hashed += added.len() as u64;
        work.copied += added.len() as u64;
        self.count += 1;
        self.last = Some(index);
        if self.small.len() >= CHUNK {
            self.chunks.push(self.small.split().freeze());
        }
    }

    /// The whole body: what is settled, then `rest` with its markers.
    fn finish(
        &mut self,
        rest: &[usize],
        messages: &[Message],
        markers: &[Marker],
        head: usize,
        work: &mut Work,
    ) -> ComposedBody {
        let mut tail = BytesMut::with_capacity(self.small.len() + CHUNK);
        tail.put_slice(&self.small);
        let hashed_from = tail.len();
        for (number, &index) in rest.iter().enumerate() {
            if self.count + number > 0 || self.holds_messages {
                tail.put_u8(b',');
            }
            // INVARIANT: the path holds indices of messages.
            let message = &messages[index];
            let first = head + message.start() as usize;
            let offsets = markers.iter().filter_map(|marker| {
                let offset = message.marker_offset(marker.position.checked_sub(first)?)?;
                Some((offset, marker.ttl))
            });
            put_marked(&mut tail, message.fragment(), offsets);
        }
        tail.put_slice(b"]}");
        let mut hasher = self.hasher.clone();
        hasher.update(&tail[hashed_from..]);
        work.hashed += (tail.len() - hashed_from) as u64;
        work.copied += tail.len() as u64;
        let len = self.len + (tail.len() - hashed_from) as u64;
        let mut chunks = self.chunks.clone();
        chunks.push(tail.freeze());
        ComposedBody { chunks, len, digest: hasher.finalize() }
    }
}

/// Settled bytes are merged into chunks of at least this length, so that a body has few of them.
const CHUNK: usize = 16 * 1024;

/// Writes `text` with a marker at each of the ascending offsets, which are those of closing braces.
fn put_marked(out: &mut BytesMut, text: &[u8], offsets: impl Iterator<Item = (usize, Ttl)>) {
    let mut done = 0;
    for (offset, ttl) in offsets {
        out.put_slice(&text[done..offset]);
        out.put_slice(match ttl {
            Ttl::FiveMinutes => br#","cache_control":{"type":"ephemeral"}"#.as_slice(),
            Ttl::OneHour => br#","cache_control":{"type":"ephemeral","ttl":"1h"}"#.as_slice(),
        });
        done = offset;
    }
    out.put_slice(&text[done..]);
}
