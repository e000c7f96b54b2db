//! What the script lets go wrong on the way back.

use crate::http::{Chunk, StreamEnd};
use crate::script::{Fault, Point};

/// Where the parts of an answer are found in its bytes, and how the dialect tells of an error in their midst.
pub(crate) struct Marks<'a> {
    /// Whether a piece belongs to the first content or stands behind it.
    pub begins: fn(&str) -> bool,
    /// Whether a piece holds a part of a call's input.
    pub input: fn(&str) -> bool,
    /// A text of each piece, and what it is replaced by to make it no JSON.
    pub json: (&'static str, &'static str),
    /// The event of an error of that type, with that message.
    pub error: &'a dyn Fn(&str, &str) -> String,
}

/// Applies a fault to the chunks of a response.
pub(crate) fn spoil(chunks: Vec<Chunk>, fault: Option<&Fault>, marks: &Marks<'_>) -> (Vec<Chunk>, StreamEnd) {
    match fault {
        None => (chunks, StreamEnd::Clean),
        Some(Fault::Cut(point)) => (cut(chunks, *point, marks), StreamEnd::Cut),
        Some(Fault::Hang(point)) => (cut(chunks, *point, marks), StreamEnd::Hang),
        Some(Fault::Error { kind, message, point }) => {
            let mut kept = cut(chunks, *point, marks);
            let at = kept.last().map(|chunk| chunk.at).unwrap_or_default();
            kept.push(Chunk { at, bytes: (marks.error)(kind, message).into_bytes() });
            (kept, StreamEnd::Clean)
        }
        Some(Fault::MalformedSse) => (garble(chunks, "data: ", "dta "), StreamEnd::Clean),
        Some(Fault::MalformedJson) => (garble(chunks, marks.json.0, marks.json.1), StreamEnd::Clean),
    }
}

fn cut(chunks: Vec<Chunk>, point: Point, marks: &Marks<'_>) -> Vec<Chunk> {
    let is = |chunk: &Chunk, mark: fn(&str) -> bool| mark(&String::from_utf8_lossy(&chunk.bytes));
    match point {
        Point::BeforeFirstByte { .. } => Vec::new(),
        Point::BeforeFirstBlock => chunks.into_iter().take_while(|chunk| !is(chunk, marks.begins)).collect(),
        Point::MidInput => {
            let last = chunks.iter().position(|chunk| is(chunk, marks.input));
            chunks.into_iter().take(last.map_or(usize::MAX, |last| last + 1)).collect()
        }
        Point::Bytes(limit) => cut_bytes(chunks, limit),
    }
}

fn cut_bytes(chunks: Vec<Chunk>, limit: usize) -> Vec<Chunk> {
    let mut left = limit;
    let mut kept = Vec::new();
    for mut chunk in chunks {
        if left == 0 {
            break;
        }
        chunk.bytes.truncate(left);
        left -= chunk.bytes.len();
        kept.push(chunk);
    }
    kept
}

/// Spoils the middle chunk: of a stream an event in its midst, of a whole body that body.
fn garble(mut chunks: Vec<Chunk>, from: &str, to: &str) -> Vec<Chunk> {
    let middle = chunks.len() / 2;
    if let Some(chunk) = chunks.get_mut(middle) {
        chunk.bytes = String::from_utf8_lossy(&chunk.bytes).replacen(from, to, 1).into_bytes();
    }
    chunks
}
