//! A server behind an address: streamable HTTP, each message a `POST` that is answered with JSON or a stream of events
//! (<https://modelcontextprotocol.io/specification/2025-11-25/basic/transports>, read 2026-11-30).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use antefix_http::client::{Client, ClientOptions, Incoming, Outgoing, Secret};
use antefix_http::{Fault, HttpError};
use antefix_wire::json::{Body, Kind, Node};
use antefix_wire::sse::Parser;
use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::config::Http;
use crate::error::ConnectError;
use crate::hub::Options;
use crate::link::{Carrier, Era};
use crate::notes::Notes;
use crate::{BoxFuture, LONGEST_MESSAGE};

/// A session with a server behind an address.
pub(crate) struct Session {
    client: Client,
    /// Path and query.
    path: String,
    headers: Vec<(String, Secret)>,
    era: Era,
    notes: Notes,
    state: Mutex<State>,
    itself: Weak<Session>,
}

struct State {
    id: Option<String>,
    version: Option<String>,
    /// Where messages of the server go; `None` once the session is over.
    incoming: Option<mpsc::Sender<Vec<u8>>>,
    /// Streams that are being read; they end with the session.
    streams: JoinSet<()>,
}

/// A session, and the messages of the server. Connects to nothing yet.
pub(crate) fn start(
    http: &Http,
    era: Era,
    silence: Duration,
    options: &Options,
    notes: &Notes,
) -> Result<(Arc<Session>, mpsc::Receiver<Vec<u8>>), ConnectError> {
    let (base, path) = split(&http.url);
    let client = Client::new(ClientOptions {
        header_timeout: silence,
        idle_timeout: silence,
        proxies: options.proxies.clone(),
        ..ClientOptions::new(base)
    });
    let client = client.map_err(|error| ConnectError::lasting(notes.clean(&error.to_string())))?;
    let (sender, incoming) = mpsc::channel(WAITING);
    let version = (era == Era::Discover).then(|| DISCOVER_VERSION.to_owned());
    notes.close_for(None);
    let state = State { id: None, version, incoming: Some(sender), streams: JoinSet::new() };
    let session = Arc::new_cyclic(|itself| Session {
        client,
        path,
        headers: http.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
        era,
        notes: notes.clone(),
        state: Mutex::new(state),
        itself: Weak::clone(itself),
    });
    Ok((session, incoming))
}

impl Session {
    /// Where messages to it go.
    pub(crate) fn carrier(self: &Arc<Self>) -> Arc<dyn Carrier> {
        Arc::new(Handle(Arc::clone(self)))
    }

    /// Tells the server that the session is over; one that does not answer is not waited for.
    pub(crate) async fn stop(&self) {
        let is_open = self.state().id.is_some();
        self.close();
        if is_open {
            let delete = Outgoing { method: "DELETE".to_owned(), ..Outgoing::get(&self.path) };
            let _ = timeout(STOP_GRACE, self.client.send(self.with_headers(delete))).await;
        }
    }

    /// Ends what comes in; whoever waits for an answer gets none.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.incoming = None;
        state.streams.abort_all();
    }

    async fn post(self: Arc<Self>, message: Vec<u8>) -> std::io::Result<()> {
        let sent = Sent::read(&message);
        let mut outgoing = Outgoing::post(&self.path, vec![Bytes::from(message)])
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        if self.era == Era::Discover {
            for (name, value) in [("mcp-method", &sent.method), ("mcp-name", &sent.name)] {
                if let Some(value) =
                    value.as_ref().filter(|value| value.bytes().all(|byte| (b' '..=b'~').contains(&byte)))
                {
                    outgoing = outgoing.header(name, value);
                }
            }
        }
        let answer = self.client.send(self.with_headers(outgoing)).await;
        let answer = answer.map_err(|error| self.unreachable(&error))?;
        self.take_in(answer, sent.id).await?;
        if sent.method.as_deref() == Some("notifications/initialized") {
            self.listen();
        }
        Ok(())
    }

    /// Takes in the answer to a message; `id` is the message's, if it is a request.
    async fn take_in(&self, mut answer: Incoming, id: Option<String>) -> std::io::Result<()> {
        if let Some(session) = answer.header("mcp-session-id") {
            let session = session.to_owned();
            self.state().id.get_or_insert(session);
        }
        let kind = answer.header("content-type").unwrap_or_default().to_ascii_lowercase();
        match answer.status {
            200..300 if kind.starts_with("text/event-stream") => {
                self.read_on(answer, id);
                Ok(())
            }
            200..300 => {
                let (body, is_whole) =
                    answer.read_up_to(LONGEST_MESSAGE).await.map_err(|error| self.unreachable(&error))?;
                if !is_whole {
                    return Err(failed("its answer is longer than 32 MiB"));
                }
                match id {
                    Some(id) if body.trim_ascii().is_empty() => self.unanswered(&id).await,
                    _ => self.deliver(&body).await,
                }
                Ok(())
            }
            status => self.refused(status, answer).await,
        }
    }

    /// What a status of 400 or more comes to. An error in the terms of the protocol is an answer.
    async fn refused(&self, status: u16, mut answer: Incoming) -> std::io::Result<()> {
        let has_session = self.state().id.is_some();
        if status == 401 || status == 403 {
            let names_token = self.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
            let text = if names_token {
                format!("it refuses the token of the header `Authorization` (HTTP {status})")
            } else {
                format!(
                    "it wants to know who asks (HTTP {status}): give it a token in the server's `headers`, such as \
                     `Authorization` = `Bearer ${{NAME_OF_A_VARIABLE}}`; signing in with a browser (OAuth) is not there"
                )
            };
            self.notes.cut_off(&text);
            return Err(failed(&text));
        }
        if status == 404 && has_session {
            let why = "it does not know the session any more (HTTP 404)";
            // Whoever waits may hear of the end before this error.
            self.notes.close_for(Some(why));
            self.close();
            return Err(failed(why));
        }
        let body = answer.read_up_to(ERROR_BYTES).await.map(|(body, _)| body).unwrap_or_default();
        let is_error = Body::parse(body.as_slice()).is_ok_and(|body| {
            body.root().get("error").is_some() && body.root().get("id").is_some_and(|id| !id.is_null())
        });
        if is_error {
            self.deliver(&body).await;
            return Ok(());
        }
        let text = self.notes.short(String::from_utf8_lossy(&body).trim(), 200);
        Err(failed(&format!("it answered HTTP {status}: {text}")))
    }

    /// Reads the stream of events that answers a request on the side.
    fn read_on(&self, answer: Incoming, id: Option<String>) {
        let Some(session) = self.itself.upgrade() else { return };
        let mut state = self.state();
        while state.streams.try_join_next().is_some() {}
        state.streams.spawn(async move {
            let (_, is_answered) = session.events(answer, id.as_deref()).await;
            if let Some(id) = id.filter(|_| !is_answered) {
                session.unanswered(&id).await;
            }
        });
    }

    /// Answers a request that the server has left without an answer, so that nobody waits for it.
    async fn unanswered(&self, id: &str) {
        let error = "{\"code\":-32000,\"message\":\"the answer ended before the result\"}";
        self.deliver(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}").as_bytes()).await;
    }

    /// Hands on the events of a stream; gives how many there were, and whether one answers that request.
    async fn events(&self, mut answer: Incoming, id: Option<&str>) -> (u64, bool) {
        let mut parser = Parser::with_limit(LONGEST_MESSAGE);
        let (mut count, mut is_answered) = (0, false);
        while let Ok(Some(chunk)) = answer.chunk().await {
            let Ok(events) = parser.push(&chunk) else {
                self.notes.add("an event of its stream is longer than 32 MiB");
                break;
            };
            for event in events {
                count += 1;
                is_answered |= id.is_some_and(|id| answers(&event.data, id));
                self.deliver(event.data.as_bytes()).await;
            }
        }
        (count, is_answered)
    }

    /// Listens for what the server says unasked, for as long as it offers to.
    fn listen(&self) {
        let Some(session) = self.itself.upgrade() else { return };
        let listener = async move {
            let mut pause = LISTEN_PAUSE;
            loop {
                let request =
                    session.with_headers(Outgoing::get(&session.path).header("accept", "text/event-stream"));
                let Ok(mut answer) = session.client.send(request).await else { return };
                let kind = answer.header("content-type").unwrap_or_default().to_ascii_lowercase();
                if answer.status != 200 || !kind.starts_with("text/event-stream") {
                    return;
                }
                answer.set_idle_timeout(LISTEN_SILENCE);
                if session.events(answer, None).await.0 > 0 {
                    pause = LISTEN_PAUSE;
                }
                sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        };
        self.state().streams.spawn(listener);
    }

    /// Hands on a message, or several in a list.
    async fn deliver(&self, text: &[u8]) {
        let Ok(body) = Body::parse(text) else {
            if !text.trim_ascii().is_empty() {
                self.notes.add("it sent something that is no message");
            }
            return;
        };
        let root = body.root();
        let messages: Vec<Vec<u8>> = match root.kind() {
            Kind::Array => root.items().map(|item| item.raw().as_bytes().to_vec()).collect(),
            _ => vec![text.to_vec()],
        };
        let version =
            root.pointer("/result/protocolVersion").and_then(Node::str).map(|text| text.into_owned());
        let sender = {
            let mut state = self.state();
            if state.version.is_none() {
                state.version = version;
            }
            state.incoming.clone()
        };
        let Some(sender) = sender else { return };
        for message in messages {
            // Nobody takes it in any more when the connection ends.
            let _ = sender.send(message).await;
        }
    }

    fn with_headers(&self, mut outgoing: Outgoing) -> Outgoing {
        for (name, value) in &self.headers {
            outgoing = outgoing.secret(name, value.clone());
        }
        let state = self.state();
        if let Some(id) = &state.id {
            outgoing = outgoing.secret("mcp-session-id", Secret::new(id));
        }
        if let Some(version) = &state.version {
            outgoing = outgoing.header("mcp-protocol-version", version);
        }
        outgoing
    }

    fn unreachable(&self, error: &HttpError) -> std::io::Error {
        if matches!(error.fault, Fault::Dns | Fault::Refused | Fault::Unreachable | Fault::ConnectTimeout) {
            self.close();
        }
        failed(&self.notes.clean(&error.to_string()))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sending end.
struct Handle(Arc<Session>);

impl Carrier for Handle {
    fn send(&self, message: Vec<u8>) -> BoxFuture<'static, std::io::Result<()>> {
        Box::pin(Arc::clone(&self.0).post(message))
    }
}

/// What a message is about.
struct Sent {
    /// Of a request, as it is written.
    id: Option<String>,
    method: Option<String>,
    /// Of a tool or a prompt, or the address of a resource.
    name: Option<String>,
}

impl Sent {
    fn read(message: &[u8]) -> Self {
        let Ok(body) = Body::parse(message) else { return Self { id: None, method: None, name: None } };
        let root = body.root();
        let text = |node: Option<Node<'_>>| node.and_then(Node::str).map(|text| text.into_owned());
        let params = root.get("params");
        let name = params.and_then(|params| params.get("name").or_else(|| params.get("uri")));
        let id = root.get("id").filter(|_| root.get("method").is_some()).map(|id| id.raw().to_owned());
        Self { id, method: text(root.get("method")), name: text(name) }
    }
}

/// Whether a message is the answer to the request of that id.
fn answers(message: &str, id: &str) -> bool {
    let Ok(body) = Body::parse(message) else { return false };
    let root = body.root();
    root.get("method").is_none() && root.get("id").is_some_and(|found| found.raw().trim_matches('"') == id)
}

/// Cuts an address into what is connected to, and path and query.
fn split(url: &str) -> (&str, String) {
    let url = url.trim();
    let authority = url.find("://").map_or(0, |at| at + 3);
    // INVARIANT: `authority` and `end` are ends of what was found in the text.
    let end = url[authority..].find(['/', '?', '#']).map_or(url.len(), |at| authority + at);
    let (base, rest) = url.split_at(end);
    let rest = rest.split_once('#').map_or(rest, |(rest, _)| rest);
    let path = if rest.starts_with('/') { rest.to_owned() } else { format!("/{rest}") };
    (base, path)
}

fn failed(text: &str) -> std::io::Error {
    std::io::Error::other(text.to_owned())
}

/// The version that `server/discover` is spoken in.
const DISCOVER_VERSION: &str = "2026-07-28";

/// Messages that wait to be read.
const WAITING: usize = 16;

/// Bytes of an answer that is an error.
const ERROR_BYTES: usize = 64 << 10;

/// How long the end of a session may take.
const STOP_GRACE: Duration = Duration::from_secs(1);

/// How long a stream of what is said unasked may be silent.
const LISTEN_SILENCE: Duration = Duration::from_secs(3600);

/// The pause before such a stream is opened again; twice as long each time nothing came.
const LISTEN_PAUSE: Duration = Duration::from_secs(1);

/// The longest of these pauses.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_cut_behind_the_port() {
        for (url, base, path) in [
            ("https://a.example", "https://a.example", "/"),
            ("http://127.0.0.1:80/mcp", "http://127.0.0.1:80", "/mcp"),
            ("https://a/x/y?k=v#z", "https://a", "/x/y?k=v"),
            ("https://a?k=v", "https://a", "/?k=v"),
        ] {
            assert_eq!(split(url), (base, path.to_owned()));
        }
    }
}
