//! A request on its way out.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use reqwest::header::{HeaderName, HeaderValue};

use crate::error::{Fault, HttpError};

/// Sees each piece of a request body as it is handed to the connection, in order.
pub type Observer = Box<dyn FnMut(&Bytes) + Send>;

/// A request to send.
pub struct Outgoing {
    /// `POST`, `GET`, …
    pub method: String,
    /// Begins with `/`; may hold a query.
    pub path: String,
    /// Sent in this order. `content-length` and `host` are added.
    pub headers: Vec<(String, HeaderText)>,
    /// The body: the pieces one after the other, none of them copied.
    pub body: Vec<Bytes>,
    /// Called with each piece as it is handed to the connection; a piece of the body longer than 64 KiB comes
    /// in several. What it has seen at an error is what may have left.
    pub observe: Option<Observer>,
}

impl Outgoing {
    /// A `POST` without headers.
    pub fn post(path: impl Into<String>, body: Vec<Bytes>) -> Self {
        Self { method: "POST".to_owned(), path: path.into(), headers: Vec::new(), body, observe: None }
    }

    /// A `GET` without headers.
    pub fn get(path: impl Into<String>) -> Self {
        Self { method: "GET".to_owned(), ..Self::post(path, Vec::new()) }
    }

    /// Adds a header that may be shown.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), HeaderText::Plain(value.into())));
        self
    }

    /// Adds a header that is never shown.
    pub fn secret(mut self, name: impl Into<String>, value: Secret) -> Self {
        self.headers.push((name.into(), HeaderText::Secret(value)));
        self
    }

    /// Shows the body's pieces to `observe` as they are handed to the connection.
    pub fn observed(mut self, observe: impl FnMut(&Bytes) + Send + 'static) -> Self {
        self.observe = Some(Box::new(observe));
        self
    }
}

impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outgoing")
            .field("method", &self.method)
            .field("path", &self.path)
            .field("headers", &self.headers)
            .field("body_bytes", &self.body.iter().map(Bytes::len).sum::<usize>())
            .finish_non_exhaustive()
    }
}

/// A header's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderText {
    /// May be shown.
    Plain(String),
    /// Never shown, and never kept in a header compression table.
    Secret(Secret),
}

/// A text that is never shown: `Debug` and `Display` print `[secret]`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself; for the one place that sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

/// How far a request has been handed on.
#[derive(Debug, Default)]
pub(super) struct Progress {
    started: AtomicBool,
    handed: AtomicU64,
}

impl Progress {
    /// Whether the connection has asked for the body, which it does as it writes the head.
    pub(super) fn started(&self) -> bool {
        self.started.load(Ordering::Acquire)
    }

    /// Waits for `work`; `None` once nothing has been handed on for `limit`.
    pub(super) async fn wait<T>(&self, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
        let mut work = pin!(work);
        loop {
            let before = self.handed.load(Ordering::Acquire);
            match tokio::time::timeout(limit, work.as_mut()).await {
                Ok(done) => return Some(done),
                Err(_) if self.handed.load(Ordering::Acquire) != before => {}
                Err(_) => return None,
            }
        }
    }
}

/// A body of known length that shows its pieces to the observer.
pub(super) struct OutgoingBody {
    pieces: VecDeque<Bytes>,
    left: u64,
    /// The connection asks for bodies that are `Sync`; the lock is never contended.
    observe: Option<Mutex<Observer>>,
    progress: Arc<Progress>,
}

impl OutgoingBody {
    pub(super) fn new(body: Vec<Bytes>, observe: Option<Observer>, progress: Arc<Progress>) -> Self {
        let left = body.iter().map(|piece| piece.len() as u64).sum();
        let pieces = body.into_iter().filter(|piece| !piece.is_empty()).collect();
        Self { pieces, left, observe: observe.map(Mutex::new), progress }
    }

    fn next_piece(&mut self) -> Option<Bytes> {
        let mut whole = self.pieces.pop_front()?;
        let piece = whole.split_to(whole.len().min(PIECE));
        if !whole.is_empty() {
            self.pieces.push_front(whole);
        }
        Some(piece)
    }
}

impl Body for OutgoingBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.progress.started.store(true, Ordering::Release);
        let Some(piece) = self.next_piece() else { return Poll::Ready(None) };
        self.left -= piece.len() as u64;
        self.progress.handed.fetch_add(piece.len() as u64, Ordering::AcqRel);
        if let Some(Ok(observe)) = self.observe.as_mut().map(Mutex::get_mut) {
            observe(&piece);
        }
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

pub(super) fn header(name: &str, value: &HeaderText) -> Result<(HeaderName, HeaderValue), HttpError> {
    let unusable = |what: &str| {
        HttpError::new(Fault::Header, false, format!("the header `{}` {what}", name.escape_debug()))
    };
    let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unusable("has no usable name"))?;
    let text = match value {
        HeaderText::Plain(text) => text,
        HeaderText::Secret(secret) => secret.expose(),
    };
    let mut sent = HeaderValue::from_str(text)
        .map_err(|_| unusable("holds a line break or another control character"))?;
    sent.set_sensitive(matches!(value, HeaderText::Secret(_)));
    Ok((parsed, sent))
}

/// The longest piece handed to the connection at once: small enough for the progress of a large body to be
/// seen, large enough to cost nothing.
const PIECE: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_long_upload_is_no_silence() {
        async fn check(step: u64, steps: u64, then: u64, expect: bool) {
            let progress = Progress::default();
            let work = async {
                for _ in 0..steps {
                    tokio::time::sleep(Duration::from_secs(step)).await;
                    progress.handed.fetch_add(1, Ordering::AcqRel);
                }
                tokio::time::sleep(Duration::from_secs(then)).await;
            };
            let done = progress.wait(Duration::from_secs(10), work).await;
            assert_eq!(done.is_some(), expect, "{steps} steps of {step} s, then {then} s");
        }
        check(0, 0, 9, true).await;
        check(0, 0, 11, false).await;
        check(9, 100, 9, true).await;
        check(9, 100, 21, false).await;
        check(21, 1, 0, false).await;
    }
}
