//! What the script lets go wrong on the way back.

use crate::error::ApiError;
use crate::http::{Chunk, StreamEnd};
use crate::script::{Fault, Point};

use super::error_body;

/// Applies a fault to the chunks of a response.
pub(crate) fn spoil(chunks: Vec<Chunk>, fault: Option<&Fault>, request_id: &str) -> (Vec<Chunk>, StreamEnd) {
    match fault {
        None => (chunks, StreamEnd::Clean),
        Some(Fault::Cut(point)) => (cut(chunks, *point), StreamEnd::Cut),
        Some(Fault::Hang(point)) => (cut(chunks, *point), StreamEnd::Hang),
        Some(Fault::Error { kind, message, point }) => {
            let mut kept = cut(chunks, *point);
            let error = ApiError::new(200, kind, message.as_str());
            let at = kept.last().map(|chunk| chunk.at).unwrap_or_default();
            let bytes = format!("event: error\ndata: {}\n\n", error_body(&error, request_id)).into_bytes();
            kept.push(Chunk { at, bytes });
            (kept, StreamEnd::Clean)
        }
        Some(Fault::MalformedSse) => (garble(chunks, "data: ", "dta "), StreamEnd::Clean),
        Some(Fault::MalformedJson) => (garble(chunks, r#""type":"#, r#""type" "#), StreamEnd::Clean),
    }
}

fn cut(chunks: Vec<Chunk>, point: Point) -> Vec<Chunk> {
    let holds = |chunk: &Chunk, text: &str| String::from_utf8_lossy(&chunk.bytes).contains(text);
    match point {
        Point::BeforeFirstByte { .. } => Vec::new(),
        Point::BeforeFirstBlock => {
            chunks.into_iter().take_while(|chunk| !holds(chunk, "content_block_start")).collect()
        }
        Point::MidInput => {
            let last = chunks
                .iter()
                .position(|chunk| holds(chunk, "input_json_delta") && !holds(chunk, r#""partial_json":"""#));
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
