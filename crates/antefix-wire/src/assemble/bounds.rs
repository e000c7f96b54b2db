//! What keeps a reply from growing without end, and its notes with it.

use super::{AssembleError, Assembled, Delta};
use crate::json::Node;

/// Bytes of JSON taken into blocks and message.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Taken(usize);

impl Taken {
    /// Counts what is about to be taken, each byte so many times.
    pub(super) fn grow(&mut self, node: Node<'_>, weight: usize) -> Result<(), AssembleError> {
        let taken = self.0.saturating_add(node.raw().len().saturating_mul(weight));
        if taken > MOST_BYTES {
            return Err(AssembleError::TooLarge);
        }
        self.0 = taken;
        Ok(())
    }
}

impl Assembled {
    /// Notes a type that is not known here; tells of it the first time.
    pub(super) fn note(&mut self, what: &str) -> Vec<Delta> {
        let what = shortened(what);
        if self.unknown.contains(&what) {
            return Vec::new();
        }
        if self.unknown.len() >= MOST_UNKNOWN {
            self.unknown_left_out += 1;
            return Vec::new();
        }
        self.unknown.push(what.clone());
        vec![Delta::Unknown { what }]
    }

    /// Notes that the server gave up.
    pub(super) fn fail(&mut self, kind: String, message: String) -> Vec<Delta> {
        self.error = Some((kind.clone(), message.clone()));
        vec![Delta::Error { kind, message }]
    }
}

/// A name from the stream, in a length that fits a message.
pub(super) fn shortened(name: &str) -> String {
    match name.char_indices().nth(MOST_NAME) {
        Some((end, _)) => format!("{}…", name.get(..end).unwrap_or_default()),
        None => name.to_owned(),
    }
}

/// Bytes that one reply may have as JSON. The Messages API takes no request of more than 32 MB (November 2026), so
/// that a larger reply could never be sent back.
const MOST_BYTES: usize = 32 << 20;

/// Blocks that one reply may have; each costs memory beyond its bytes.
pub(super) const MOST_BLOCKS: usize = 4096;

/// Unknown types that are reported by name.
const MOST_UNKNOWN: usize = 32;

/// Characters of such a name.
const MOST_NAME: usize = 80;
