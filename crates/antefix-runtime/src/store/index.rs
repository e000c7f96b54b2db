//! The index beside a transcript: the newest head that is surely on the disk.
//!
//! Two slots are written in turn, so that a write cut short leaves the older one readable.

use std::io;

use antefix_session::line::{Chain, Head, Reader, seal};
use antefix_wire::json::{Body, Node};

use super::SessionId;
use super::disk::{Disk, SyncPoint};

/// What one slot says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Counts the writes; the higher of the two slots is the newer one.
    pub(super) sequence: u64,
    pub(super) head: Head,
    pub(super) updated_at_ms: u64,
}

/// What an index file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Index {
    /// The newest readable slot.
    Known(Entry),
    /// Nothing was ever durable.
    Blank,
    /// The file is missing, belongs to another session, or is damaged beyond what a crash can do.
    Lost,
}

impl Index {
    pub(super) fn read<D: Disk>(disk: &D, layout: &super::layout::Layout) -> io::Result<Self> {
        match disk.read(&layout.index) {
            Ok(bytes) => Ok(Self::parse(&layout.id, &bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::Lost),
            Err(error) => Err(error),
        }
    }

    fn parse(id: &SessionId, bytes: &[u8]) -> Self {
        let (first, rest) = bytes.split_at(bytes.len().min(SLOT_LENGTH));
        match (Slot::parse(id, first), Slot::parse(id, rest)) {
            (Slot::Good(a), Slot::Good(b)) if a.sequence > b.sequence => Self::Known(a),
            (_, Slot::Good(entry)) | (Slot::Good(entry), _) => Self::Known(entry),
            (Slot::Bad, Slot::Bad) => Self::Lost,
            (Slot::Bad | Slot::Blank, Slot::Bad | Slot::Blank) => Self::Blank,
        }
    }

    /// The head up to which the transcript must be whole.
    pub(super) fn vouched(&self) -> Head {
        match self {
            Self::Known(entry) => entry.head,
            Self::Blank | Self::Lost => Head::START,
        }
    }

    /// The time of the newest durable append; 0 when there was none.
    pub(super) fn updated_at_ms(&self) -> u64 {
        match self {
            Self::Known(entry) => entry.updated_at_ms,
            Self::Blank | Self::Lost => 0,
        }
    }

    /// The number of the next write.
    pub(super) fn next_sequence(&self) -> u64 {
        match self {
            Self::Known(entry) => entry.sequence + 1,
            Self::Blank | Self::Lost => 0,
        }
    }
}

impl Entry {
    /// Writes the entry over the older slot and waits for the disk.
    pub(super) fn write<D: Disk>(&self, disk: &D, file: &D::File, id: &SessionId) -> io::Result<()> {
        let offset = self.sequence % 2 * SLOT_LENGTH as u64;
        disk.write_at(file, offset, &self.slot(id)?)?;
        disk.sync(file, SyncPoint::Index)
    }

    fn slot(&self, id: &SessionId) -> io::Result<Vec<u8>> {
        let object = format!(
            r#"{{"antefix":"index","version":0,"session":"{id}","sequence":{},"head":"{}","lines":{},"bytes":{},"updated_at_ms":{}}}"#,
            self.sequence, self.head.chain, self.head.lines, self.head.bytes, self.updated_at_ms,
        );
        let (mut slot, _) = seal(Chain::START, object.as_bytes()).map_err(io::Error::other)?;
        slot.resize(SLOT_LENGTH, b' ');
        Ok(slot)
    }

    fn parse(id: &SessionId, object: &[u8]) -> Option<Self> {
        let body = Body::parse(object).ok()?;
        let root = body.root();
        let number = |key| root.get(key).and_then(Node::u64);
        let ours = root.get("antefix")?.is_str("index")
            && number("version")? == 0
            && root.get("session")?.is_str(id.as_str());
        let head = Head {
            chain: root.get("head")?.str()?.parse().ok()?,
            lines: number("lines")?,
            bytes: number("bytes")?,
        };
        let entry = Self { sequence: number("sequence")?, head, updated_at_ms: number("updated_at_ms")? };
        ours.then_some(entry)
    }
}

enum Slot {
    Good(Entry),
    /// Never written.
    Blank,
    /// Written in part, or of another session.
    Bad,
}

impl Slot {
    fn parse(id: &SessionId, bytes: &[u8]) -> Self {
        if bytes.iter().all(|byte| *byte == 0) {
            return Self::Blank;
        }
        let entry =
            Reader::new(bytes).next().and_then(Result::ok).and_then(|line| Entry::parse(id, line.object));
        entry.map_or(Self::Bad, Self::Good)
    }
}

/// One page, so that no write touches the page of the other slot.
const SLOT_LENGTH: usize = 4096;

#[cfg(test)]
mod tests;
