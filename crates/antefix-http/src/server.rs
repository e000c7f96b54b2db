//! The simulator's front: a real socket, real HTTP, real server-sent events.
//!
//! | request | answer |
//! |---|---|
//! | `GET /sim/log` | what was billed so far: `{"schema_version":1,"requests":[{"n","at_ms","request_id","message_id","model","status","read","write_5m","write_1h","uncached","output"}]}` |
//! | `POST /sim/clock` | body `{"advance_ms":N}`: moves the virtual clock on; answers `{"now_ms":N}` (also with N = 0); 409 on the real clock |
//! | anything else | the simulator's answer, its pieces sent when they are due, each flushed by itself |
//!
//! Headers of a request that speak to the front and not to the simulator:
//!
//! | header | effect |
//! |---|---|
//! | `x-sim-advance-ms: N` | moves the virtual clock on before the request is handled |
//! | `x-sim-cut-after: N` | resets the connection after N bytes of the answer's body |
//! | `x-sim-chunk: N` | sends the answer's body N bytes at a time |
//!
//! On the virtual clock nothing waits: an answer comes at once, and the clock moves to each piece's time as
//! the piece is sent.

mod answer;
mod clock;
mod pace;
mod socket;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use antefix_sim::Simulator;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use crate::capture::Capture;
use clock::ServerClock;
use socket::Socket;

/// A simulator that listens on a loopback port. Dropping it ends its connections at once.
#[derive(Debug)]
pub struct SimServer {
    addr: SocketAddr,
    state: Arc<State>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl SimServer {
    /// Starts to listen on 127.0.0.1. Runs on the current tokio runtime, whose timer must be on.
    ///
    /// # Errors
    /// When the port is taken or the capture folder cannot be made.
    pub async fn start(options: ServerOptions, simulator: Simulator) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).await?;
        let addr = listener.local_addr()?;
        let state = Arc::new(State {
            capture: options.capture.as_deref().map(Capture::open).transpose()?,
            clock: Arc::new(ServerClock::start(options.clock)),
            simulator: Arc::new(Mutex::new(simulator)),
            options,
        });
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(accept(listener, Arc::clone(&state), stopped));
        Ok(Self { addr, state, stop, task })
    }

    /// Where it listens, with the actual port.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// `http://127.0.0.1:PORT`
    pub fn base_url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// The simulator behind the front; not to be locked across an await.
    pub fn simulator(&self) -> Arc<Mutex<Simulator>> {
        Arc::clone(&self.state.simulator)
    }

    /// Moves the virtual clock on; the real clock stays as it is.
    pub fn advance(&self, milliseconds: u64) {
        self.state.clock.advance(milliseconds);
    }

    /// Stops listening, lets open exchanges end for up to a second, then closes what is left.
    pub async fn shutdown(mut self) {
        self.stop.send_replace(true);
        // A panic of the task has been printed where it happened; there is nothing left to close.
        let _ = (&mut self.task).await;
    }
}

impl Drop for SimServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// How a [`SimServer`] behaves. The default: any free port, the real clock, nothing cut, nothing captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerOptions {
    /// The port on 127.0.0.1; 0 is any free one.
    pub port: u16,
    /// What time it is for the simulator.
    pub clock: Clock,
    /// Where each request and what it cost is written, in the format of [`crate::capture`].
    pub capture: Option<PathBuf>,
    /// Resets the connection after so many bytes of each answer's body.
    pub cut_after: Option<u64>,
    /// Sends each answer's body so many bytes at a time.
    pub chunk: Option<usize>,
    /// The longest request body that is read; a longer one is answered with 413.
    pub body_limit: u64,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            port: 0,
            clock: Clock::Real,
            capture: None,
            cut_after: None,
            chunk: None,
            body_limit: 64 * 1024 * 1024,
        }
    }
}

/// What time it is for the simulator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clock {
    /// The time of day, and answers take as long as the script says.
    #[default]
    Real,
    /// Starts at 0 and moves when it is told to, and to the time of each piece that is sent.
    Virtual,
}

/// What the connections share.
#[derive(Debug)]
struct State {
    options: ServerOptions,
    clock: Arc<ServerClock>,
    simulator: Arc<Mutex<Simulator>>,
    capture: Option<Capture>,
}

impl State {
    /// The simulator. A panic while it was held leaves figures that are still worth reading.
    fn simulator(&self) -> MutexGuard<'_, Simulator> {
        self.simulator.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn accept(listener: TcpListener, state: Arc<State>, mut stopped: watch::Receiver<bool>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            _ = stopped.changed() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connection(stream, Arc::clone(&state), stopped.clone()));
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
    drop(listener);
    let _ = tokio::time::timeout(GRACE, async { while connections.join_next().await.is_some() {} }).await;
}

async fn connection(stream: TcpStream, state: Arc<State>, mut stopped: watch::Receiver<bool>) {
    let (socket, line) = Socket::new(stream);
    let service = service_fn(|request| answer::serve(Arc::clone(&state), Arc::clone(&line), request));
    let serving = http1::Builder::new().serve_connection(TokioIo::new(socket), service);
    let mut serving = std::pin::pin!(serving);
    // An error is the client's doing (it left) or ours on purpose (a cut); neither is news.
    tokio::select! {
        _ = serving.as_mut() => {}
        _ = stopped.changed() => {
            serving.as_mut().graceful_shutdown();
            let _ = serving.await;
        }
    }
}

/// How long open exchanges may go on after a shutdown has been asked for.
const GRACE: Duration = Duration::from_secs(1);
/// How long to wait when no connection can be accepted, for want of file descriptors for one.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);
