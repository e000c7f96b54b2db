//! An answer's body, sent piece by piece at its times, cut where it is to be cut.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use antefix_sim::{Millis, ResponseBody, StreamEnd};
use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::Sleep;

use super::clock::ServerClock;
use super::socket::Line;

/// A body that hands on one piece, waits until it is out, then hands on the next.
#[derive(Debug)]
pub(super) struct Paced {
    pieces: VecDeque<Piece>,
    end: StreamEnd,
    /// Bytes promised in `content-length`; `None` for a stream.
    promised: Option<u64>,
    clock: Arc<ServerClock>,
    line: Arc<Line>,
    wait: Option<Pin<Box<Sleep>>>,
}

impl Paced {
    /// `start` is when the request came.
    pub(super) fn new(
        body: ResponseBody,
        start: Millis,
        mangling: Mangling,
        clock: Arc<ServerClock>,
        line: Arc<Line>,
    ) -> Self {
        let (pieces, mut end, promised) = match body {
            ResponseBody::Full(bytes) => {
                let length = bytes.len() as u64;
                (vec![Piece { due: start, bytes: bytes.into() }], StreamEnd::Clean, Some(length))
            }
            ResponseBody::Stream { chunks, end } => {
                let piece = |chunk: antefix_sim::Chunk| Piece {
                    due: start.after(chunk.at),
                    bytes: chunk.bytes.into(),
                };
                (chunks.into_iter().map(piece).collect(), end, None)
            }
        };
        let mut pieces = rechunk(pieces, mangling.chunk);
        if let Some(limit) = mangling.cut_after
            && cut(&mut pieces, limit)
        {
            end = StreamEnd::Cut;
        }
        // The head is out before the first piece, and before a cut that leaves none.
        line.handed();
        Self { pieces: pieces.into(), end, promised, clock, line, wait: None }
    }

    fn poll_due(&mut self, due: Millis, cx: &mut Context<'_>) -> Poll<()> {
        if self.wait.is_none() {
            let Some(instant) = self.clock.due(due) else {
                self.clock.reach(due);
                return Poll::Ready(());
            };
            self.wait = Some(Box::pin(tokio::time::sleep_until(instant)));
        }
        if let Some(wait) = &mut self.wait {
            ready!(wait.as_mut().poll(cx));
        }
        self.wait = None;
        Poll::Ready(())
    }
}

impl Body for Paced {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        ready!(self.line.poll_sent(cx));
        let Some(due) = self.pieces.front().map(|piece| piece.due) else {
            return match self.end {
                StreamEnd::Clean => Poll::Ready(None),
                StreamEnd::Hang => Poll::Pending,
                StreamEnd::Cut => {
                    self.line.reset();
                    Poll::Ready(Some(Err(io::ErrorKind::ConnectionReset.into())))
                }
            };
        };
        ready!(self.poll_due(due, cx));
        let Some(piece) = self.pieces.pop_front() else { return Poll::Ready(None) };
        self.line.handed();
        Poll::Ready(Some(Ok(Frame::data(piece.bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty() && self.end == StreamEnd::Clean
    }

    fn size_hint(&self) -> SizeHint {
        self.promised.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

/// What happens to an answer's body on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mangling {
    /// Resets the connection after so many bytes.
    pub(super) cut_after: Option<u64>,
    /// Sends so many bytes at a time.
    pub(super) chunk: Option<usize>,
}

#[derive(Debug, PartialEq, Eq)]
struct Piece {
    due: Millis,
    bytes: Bytes,
}

/// Slices the pieces to `size` bytes, counted over the whole body; a slice is due when its last byte is.
fn rechunk(pieces: Vec<Piece>, size: Option<usize>) -> Vec<Piece> {
    let pieces = pieces.into_iter().filter(|piece| !piece.bytes.is_empty());
    let Some(size) = size.filter(|size| *size > 0) else { return pieces.collect() };
    let mut sliced = Vec::new();
    let mut open = Vec::new();
    let mut last = Millis(0);
    for Piece { due, mut bytes } in pieces {
        last = due;
        while !bytes.is_empty() {
            open.extend_from_slice(&bytes.split_to(bytes.len().min(size - open.len())));
            if open.len() == size {
                sliced.push(Piece { due, bytes: Bytes::from(std::mem::take(&mut open)) });
            }
        }
    }
    if !open.is_empty() {
        sliced.push(Piece { due: last, bytes: Bytes::from(open) });
    }
    sliced
}

/// Leaves the first `limit` bytes; whether the body reaches that far.
fn cut(pieces: &mut Vec<Piece>, limit: u64) -> bool {
    let mut left = limit;
    for index in 0..pieces.len() {
        // INVARIANT: `index` counts up to the length, and the list is only shortened right before a return.
        let length = pieces[index].bytes.len() as u64;
        if length > left {
            pieces[index].bytes.truncate(left as usize);
            pieces.truncate(if left == 0 { index } else { index + 1 });
            return true;
        }
        left -= length;
    }
    left == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(texts: &[(u64, &'static str)]) -> Vec<Piece> {
        texts
            .iter()
            .map(|(due, text)| Piece { due: Millis(*due), bytes: Bytes::from_static(text.as_bytes()) })
            .collect()
    }

    #[test]
    fn slices_over_the_whole_body() {
        let check = |size, expect: &[(u64, &'static str)]| {
            let body = pieces(&[(1, "abc"), (2, ""), (3, "d"), (4, "efgh")]);
            assert_eq!(rechunk(body, size), pieces(expect), "{size:?}");
        };
        check(None, &[(1, "abc"), (3, "d"), (4, "efgh")]);
        check(Some(0), &[(1, "abc"), (3, "d"), (4, "efgh")]);
        check(Some(1), &[(1, "a"), (1, "b"), (1, "c"), (3, "d"), (4, "e"), (4, "f"), (4, "g"), (4, "h")]);
        check(Some(3), &[(1, "abc"), (4, "def"), (4, "gh")]);
        check(Some(4), &[(3, "abcd"), (4, "efgh")]);
        check(Some(100), &[(4, "abcdefgh")]);
    }

    #[test]
    fn cuts_at_any_byte() {
        let check = |limit, expect: &[(u64, &'static str)], reached| {
            let mut body = pieces(&[(1, "abc"), (2, "de")]);
            assert_eq!((cut(&mut body, limit), body), (reached, pieces(expect)), "{limit}");
        };
        check(0, &[], true);
        check(1, &[(1, "a")], true);
        check(3, &[(1, "abc")], true);
        check(4, &[(1, "abc"), (2, "d")], true);
        check(5, &[(1, "abc"), (2, "de")], true);
        check(6, &[(1, "abc"), (2, "de")], false);
    }
}
