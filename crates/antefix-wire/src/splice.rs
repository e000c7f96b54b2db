use crate::ByteRange;

/// One change to a body: the bytes in `range` are replaced by `bytes`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// What is replaced; empty for an insertion.
    pub range: ByteRange,
    /// What takes its place; empty for a deletion.
    pub bytes: Vec<u8>,
}

impl Edit {
    /// An insertion of `bytes` in front of the byte at `offset`.
    pub fn insert(offset: usize, bytes: impl Into<Vec<u8>>) -> Self {
        Self { range: ByteRange::at(offset), bytes: bytes.into() }
    }

    /// A replacement of `range` by `bytes`.
    pub fn replace(range: ByteRange, bytes: impl Into<Vec<u8>>) -> Self {
        Self { range, bytes: bytes.into() }
    }

    /// A deletion of `range`.
    pub const fn delete(range: ByteRange) -> Self {
        Self { range, bytes: Vec::new() }
    }
}

/// Why a list of edits cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpliceError {
    /// An edit starts before the one in front of it ends; sort the edits and merge what overlaps.
    #[error(
        "edit {index} starts at byte {start}, before the end of the edit in front of it at byte {earlier_end}"
    )]
    Overlap {
        /// Position of the offending edit in the list.
        index: usize,
        /// Where it starts.
        start: usize,
        /// Where the edit in front of it ends.
        earlier_end: usize,
    },
    /// An edit reaches past the end of the body, or its range ends before it starts.
    #[error("edit {index} covers bytes {start}..{end} of a body of {len} bytes")]
    OutOfBounds {
        /// Position of the offending edit in the list.
        index: usize,
        /// Where its range starts.
        start: usize,
        /// Where its range ends.
        end: usize,
        /// Length of the body.
        len: usize,
    },
}

/// Applies `edits`, which are in ascending order and do not overlap, to `bytes`.
///
/// Without edits the result equals `bytes`.
///
/// # Errors
/// [`SpliceError`] names the first edit that is out of order or out of bounds.
///
/// ```
/// use antefix_wire::{Edit, splice};
/// let body = br#"{"a":1}"#;
/// assert_eq!(splice(body, &[]).unwrap(), body);
/// assert_eq!(splice(body, &[Edit::insert(6, *br#","b":2"#)]).unwrap(), br#"{"a":1,"b":2}"#);
/// ```
pub fn splice(bytes: &[u8], edits: &[Edit]) -> Result<Vec<u8>, SpliceError> {
    let added: usize = edits.iter().map(|edit| edit.bytes.len()).sum();
    let mut out = Vec::with_capacity(bytes.len() + added);
    let mut done = 0;
    for (index, edit) in edits.iter().enumerate() {
        let ByteRange { start, end } = edit.range;
        if start > end || end > bytes.len() {
            return Err(SpliceError::OutOfBounds { index, start, end, len: bytes.len() });
        }
        if start < done {
            return Err(SpliceError::Overlap { index, start, earlier_end: done });
        }
        // INVARIANT: `done <= start <= end <= bytes.len()`, as was checked above.
        out.extend_from_slice(&bytes[done..start]);
        out.extend_from_slice(&edit.bytes);
        done = end;
    }
    out.extend_from_slice(&bytes[done..]);
    Ok(out)
}
