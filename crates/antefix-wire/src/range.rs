use std::ops::Range;

/// A half-open range of byte offsets into one body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteRange {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset behind the last byte.
    pub end: usize,
}

impl ByteRange {
    /// Makes a range from its two offsets.
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// The empty range at `offset`: an insertion point.
    pub const fn at(offset: usize) -> Self {
        Self { start: offset, end: offset }
    }

    /// Number of bytes in the range.
    pub const fn len(self) -> usize {
        self.end - self.start
    }

    /// Whether the range holds no byte.
    pub const fn is_empty(self) -> bool {
        self.start == self.end
    }
}

impl From<ByteRange> for Range<usize> {
    fn from(range: ByteRange) -> Self {
        range.start..range.end
    }
}
