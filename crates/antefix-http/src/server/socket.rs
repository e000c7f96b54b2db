//! A connection that tells when what was written is out, and that can be reset.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// The server's end of a TCP connection.
#[derive(Debug)]
pub(super) struct Socket {
    stream: TcpStream,
    line: Arc<Line>,
}

impl Socket {
    pub(super) fn new(stream: TcpStream) -> (Self, Arc<Line>) {
        // Without it small pieces would wait for each other; with it failing they still arrive.
        let _ = stream.set_nodelay(true);
        let line = Arc::new(Line::default());
        (Self { stream, line: Arc::clone(&line) }, line)
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        if self.line.is_reset() {
            // Failing leaves an end without the last chunk, which is no clean end either.
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        if flushed.is_ready() {
            self.line.flushed();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.line.is_reset() {
            return Poll::Ready(Ok(()));
        }
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

/// What an answer's body and the connection that carries it tell each other. Both run in one task; the locks
/// are never contended.
#[derive(Debug, Default)]
pub(super) struct Line {
    unsent: AtomicBool,
    waiting: Mutex<Option<Waker>>,
    reset: AtomicBool,
}

impl Line {
    /// Something has been handed to the connection.
    pub(super) fn handed(&self) {
        self.unsent.store(true, Ordering::SeqCst);
    }

    /// Ready once all that was handed to the connection has been given to the kernel.
    pub(super) fn poll_sent(&self, cx: &Context<'_>) -> Poll<()> {
        if !self.unsent.load(Ordering::SeqCst) {
            return Poll::Ready(());
        }
        *self.waiting.lock().unwrap_or_else(PoisonError::into_inner) = Some(cx.waker().clone());
        Poll::Pending
    }

    /// From now on, closing the connection resets it.
    pub(super) fn reset(&self) {
        self.reset.store(true, Ordering::SeqCst);
    }

    fn flushed(&self) {
        self.unsent.store(false, Ordering::SeqCst);
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waker) = waiting {
            waker.wake();
        }
    }

    fn is_reset(&self) -> bool {
        self.reset.load(Ordering::SeqCst)
    }
}
