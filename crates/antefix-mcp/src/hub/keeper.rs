use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::State;
use super::server::Server;
use crate::config::Transport;
use crate::error::ConnectError;
use crate::link::{Changes, Era, Link, Running, Tap, Wire};
use crate::transport::http::{self, Session};
use crate::transport::stdio::{self, Process};

/// Keeps a server connected until the hub ends; tries again where that may help, each time later.
pub(super) async fn keep(server: Arc<Server>, mut stopping: watch::Receiver<bool>) {
    let mut attempts = 0;
    loop {
        let connected = tokio::select! {
            biased;
            () = told(&mut stopping) => return,
            connected = connect(&server) => connected,
        };
        let came_up = connected.is_ok().then(Instant::now);
        let error = match connected {
            Ok(connection) => match connection.attend(&server, &mut stopping).await {
                Some(error) => error,
                None => return,
            },
            Err(error) => error,
        };
        let was_steady = came_up.is_some_and(|at| at.elapsed() >= STEADY);
        attempts = if was_steady { 1 } else { attempts + 1 };
        let retries = error.may_pass && attempts < ATTEMPTS;
        let why = error.text;
        let was_ready = server.was_ready();
        server.set(if was_ready { State::Gone { why, retries } } else { State::Failed { why, retries } });
        if !retries {
            return;
        }
        let pause = FIRST_PAUSE * 2_u32.pow(attempts - 1);
        tokio::select! {
            biased;
            () = told(&mut stopping) => return,
            () = sleep(pause) => {}
        }
    }
}

/// A connection and what carries it.
struct Connection {
    running: Option<Running>,
    carrier: Carried,
    changes: Option<watch::Receiver<Changes>>,
}

/// What carries its messages.
enum Carried {
    Process(Box<Process>),
    Session(Arc<Session>),
    Nothing,
}

impl Carried {
    async fn stop(&mut self) {
        match self {
            Self::Process(process) => process.stop().await,
            Self::Session(session) => session.stop().await,
            Self::Nothing => {}
        }
    }

    /// How its process has ended, if there is one and it does.
    async fn status(&mut self) -> Option<std::process::ExitStatus> {
        match self {
            Self::Process(process) => process.ends_within(EXIT_GRACE).await,
            Self::Session(_) | Self::Nothing => None,
        }
    }
}

impl Drop for Carried {
    fn drop(&mut self) {
        if let Self::Session(session) = self {
            // Its streams hold it, so that it would not end by itself.
            session.close();
        }
    }
}

impl Connection {
    /// Looks after it until it ends, which gives the reason, or until the hub does.
    async fn attend(mut self, server: &Server, stopping: &mut watch::Receiver<bool>) -> Option<ConnectError> {
        server.set(State::Ready);
        let Some(running) = self.running.take() else {
            told(stopping).await;
            return None;
        };
        let token = running.cancellation_token();
        let mut waiting = Box::pin(running.waiting());
        loop {
            tokio::select! {
                biased;
                () = told(stopping) => {
                    token.cancel();
                    self.carrier.stop().await;
                    return None;
                }
                _ = &mut waiting => return Some(self.ended(server).await),
                why = list_is_due(&mut self.changes, server) => {
                    let listed = tokio::select! {
                        biased;
                        // One that does not answer does not hold up the end.
                        () = told(stopping) => continue,
                        listed = server.list_tools() => listed,
                    };
                    if let Err(error) = listed {
                        server.notes.add(&format!("{why} could not be listed: {error}"));
                    }
                }
            }
        }
    }

    /// Why it ended.
    async fn ended(&mut self, server: &Server) -> ConnectError {
        let how = match self.carrier.status().await {
            Some(status) => format!("it ended ({status})"),
            None => server.notes.closed_for(),
        };
        self.carrier.stop().await;
        if let Some(why) = server.notes.take_cut_off() {
            return ConnectError::lasting(why);
        }
        ConnectError::passing(with_last_words(how, server))
    }
}

/// Connects and lists the tools, within the server's timeout.
async fn connect(server: &Server) -> Result<Connection, ConnectError> {
    let patience = server.config.timeout;
    match timeout(patience, connected(server)).await {
        Ok(connection) => connection,
        Err(_) => {
            let text = format!("it was not ready within {} ms", patience.as_millis());
            Err(ConnectError::passing(with_last_words(text, server)))
        }
    }
}

async fn connected(server: &Server) -> Result<Connection, ConnectError> {
    let connection = match &server.config.transport {
        Transport::Local(_) => Connection { running: None, carrier: Carried::Nothing, changes: None },
        _ => greet(server).await?,
    };
    let listed = server.list_tools().await;
    listed.map_err(|error| ConnectError::passing(with_last_words(error.to_string(), server)))?;
    Ok(connection)
}

/// Greets a server in the one way and, if it refuses, in the other.
async fn greet(server: &Server) -> Result<Connection, ConnectError> {
    let refused = match open(server, Era::Initialize).await {
        Ok(connection) => return Ok(connection),
        Err(error) => error,
    };
    if !refused.text.starts_with(REFUSED) {
        return Err(refused);
    }
    open(server, Era::Discover).await.map_err(|_| refused)
}

async fn open(server: &Server, era: Era) -> Result<Connection, ConnectError> {
    let tap = Arc::new(Tap::new(server.notes.clone()));
    let changes = tap.changes();
    let (incoming, outgoing, carrier) = match &server.config.transport {
        Transport::Stdio(config) => {
            let (process, incoming) = stdio::start(config, &server.options, &server.notes)?;
            (incoming, process.carrier(), Carried::Process(Box::new(process)))
        }
        Transport::Http(config) => {
            let silence = server.config.call_timeout.max(server.config.timeout);
            let (session, incoming) = http::start(config, era, silence, &server.options, &server.notes)?;
            (incoming, session.carrier(), Carried::Session(session))
        }
        Transport::Local(_) => return Err(ConnectError::lasting("there is nothing to connect to")),
    };
    let wire = Wire {
        server: server.config.name.clone(),
        tap,
        incoming,
        outgoing,
        questions: server.options.questions.clone(),
        asked: JoinSet::new(),
    };
    let (name, version) = &server.options.client;
    let greeted = Link::connect(wire, era, (name, version)).await;
    let mut connection = Connection { running: None, carrier, changes: Some(changes) };
    match greeted {
        Ok((link, running)) => {
            server.connected(link);
            connection.running = Some(running);
            Ok(connection)
        }
        Err(error) => {
            if let Some(why) = server.notes.take_cut_off() {
                return Err(ConnectError::lasting(why));
            }
            let text = match connection.carrier.status().await {
                Some(status) => format!("{} ({status})", error.text),
                None => error.text,
            };
            connection.carrier.stop().await;
            Err(ConnectError { text: with_last_words(text, server), may_pass: error.may_pass })
        }
    }
}

fn with_last_words(text: String, server: &Server) -> String {
    match server.notes.last_words() {
        Some(words) => format!("{text}; its last words: {words}"),
        None => text,
    }
}

/// Waits until the tools are to be listed anew, and says why: they have changed, or somebody asks and the list is old.
async fn list_is_due(changes: &mut Option<watch::Receiver<Changes>>, server: &Server) -> &'static str {
    let asked = async {
        loop {
            server.outdated.notified().await;
            // It may have been listed since.
            if server.is_stale() {
                return;
            }
        }
    };
    tokio::select! {
        biased;
        () = changed(changes) => "its tools have changed and",
        () = asked => "its list of tools is older than it says it lives, and they",
    }
}

async fn changed(changes: &mut Option<watch::Receiver<Changes>>) {
    if let Some(changes) = changes
        && changes.changed().await.is_ok()
    {
        return;
    }
    std::future::pending::<()>().await;
}

/// Waits until the hub ends its servers, or is not there any more.
async fn told(stopping: &mut watch::Receiver<bool>) {
    let _ = stopping.wait_for(|stopping| *stopping).await;
}

/// How the text of a refused handshake begins.
const REFUSED: &str = "it refused the handshake";

/// Attempts in a row before a server is given up.
const ATTEMPTS: u32 = 6;

/// The pause behind the first attempt; each next one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// A connection that has lived so long was a good one.
const STEADY: Duration = Duration::from_secs(60);

/// How long a process may take to end once its output is closed.
const EXIT_GRACE: Duration = Duration::from_millis(300);
