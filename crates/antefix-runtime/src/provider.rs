//! Sends a request to a server and puts its streamed answer together, in whatever dialect they speak.

mod chat;
mod messages;
mod protocol;
mod redact;
mod replay;

pub use replay::{Replay, ReplayError};

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use antefix_http::HttpError;
use antefix_http::capture::{Answer, Capture, Meta};
use antefix_http::client::{Client, Incoming, Outgoing, Secret, retry_after};
use antefix_session::conversation::ComposedBody;
use antefix_session::dialect::Dialect;
use antefix_session::event::{ResponseEnd, ResponseFacts};
use antefix_session::record::{Millis, TooLong};
use antefix_tools::Cancellation;
use antefix_wire::assemble::Delta;
use antefix_wire::json::Body;
use antefix_wire::sse::Parser;

use crate::clock;
use crate::socket::SocketDigest;

/// How requests are authenticated.
#[derive(Clone, Debug)]
pub enum Credential {
    /// Sent as `x-api-key`.
    ApiKey(Secret),
    /// Sent as `authorization: Bearer`.
    Bearer(Secret),
    /// Not at all, as local servers have it.
    None,
}

/// A server with what is needed to ask it.
pub struct Provider {
    client: Client,
    dialect: Dialect,
    credential: Credential,
    headers: Vec<(String, String)>,
    capture: Option<Capture>,
    session: Option<String>,
    replay: Mutex<Replay>,
    digest: Arc<Mutex<SocketDigest>>,
}

/// Bytes of an error's body that are read at most.
const ERROR_LIMIT: usize = 1 << 20;

impl Provider {
    /// A server that speaks `dialect`, with its credential.
    pub fn new(client: Client, dialect: Dialect, credential: Credential) -> Self {
        Self {
            client,
            dialect,
            credential,
            headers: Vec::new(),
            capture: None,
            session: None,
            replay: Mutex::default(),
            digest: Arc::default(),
        }
    }

    /// The same server for another session that asks it at the same time. What it captures goes into a folder of that
    /// name in the one of this one's captures; recorded steps stay with this one.
    ///
    /// # Errors
    /// When that folder cannot be made.
    pub fn beside(&self, session: &str) -> std::io::Result<Self> {
        let folder = self.capture.as_ref().map(|capture| capture.folder().join(session));
        Ok(Self {
            client: self.client.clone(),
            dialect: self.dialect,
            credential: self.credential.clone(),
            headers: self.headers.clone(),
            capture: folder.map(|folder| Capture::open(&folder)).transpose()?,
            session: Some(session.to_owned()),
            replay: Mutex::default(),
            digest: Arc::default(),
        })
    }

    /// The protocol that is spoken.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Sends this header with each request, such as one that keeps a session with the server that has its cache.
    pub fn add_header(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.headers.push((name.into(), value.into()));
    }

    /// Writes each body as sent, and what came of it, into `folder`.
    ///
    /// # Errors
    /// When the folder cannot be made or read.
    pub fn capture(&mut self, folder: &Path) -> std::io::Result<()> {
        self.capture = Some(Capture::open(folder)?);
        Ok(())
    }

    /// Names in what is captured the session that asks.
    pub fn name_session(&mut self, session: &str) {
        self.session = Some(session.to_owned());
    }

    /// Puts recorded steps in the place of what the model answers from now on.
    pub fn replay(&mut self, steps: Replay) {
        self.replay = Mutex::new(steps);
    }

    /// Bytes hashed at the socket so far.
    pub fn hashed(&self) -> u64 {
        self.digest.lock().unwrap_or_else(PoisonError::into_inner).hashed()
    }

    /// Sends a body and reads the answer to its end; `betas` are those of its lane. `on_delta` sees each part as it
    /// comes; `stop` ends the exchange early, keeping what has arrived.
    pub async fn send(
        &self,
        body: ComposedBody,
        betas: &[String],
        stop: &Cancellation,
        mut on_delta: impl FnMut(Delta),
    ) -> ResponseEnd {
        let headers = self.shown_headers(betas);
        let exchange = Exchange { at: clock::now(), number: self.capture_body(&body), headers };
        let digest = Arc::clone(&self.digest);
        digest.lock().unwrap_or_else(PoisonError::into_inner).begin();
        let observer = Arc::clone(&digest);
        let expected = body.digest;
        let outgoing = self.request(body, &exchange.headers).observed(move |piece| {
            observer.lock().unwrap_or_else(PoisonError::into_inner).piece(piece);
        });
        let end = tokio::select! {
            biased;
            () = stop.cancelled() => cut_before_answer(),
            answer = self.client.send(outgoing) => match answer {
                Ok(incoming) => {
                    let sent = digest.lock().unwrap_or_else(PoisonError::into_inner).finish();
                    // An error may come before the body has left; an answer never does.
                    if sent == expected || incoming.status != 200 {
                        let is_replayed = self.steps().is_next();
                        let mut told = |delta| if !is_replayed { on_delta(delta) };
                        read_answer(incoming, self.dialect, stop, &mut told).await
                    } else {
                        let error = "the bytes handed to the connection are not those of the composed body";
                        ResponseEnd::Unreachable { error: error.to_owned(), retryable: false }
                    }
                }
                Err(error) => unreachable_end(&error),
            },
        };
        let end = match &self.credential {
            Credential::ApiKey(secret) | Credential::Bearer(secret) => {
                redact::without_secret(end, secret.expose())
            }
            Credential::None => end,
        };
        self.capture_end(&exchange, &end);
        self.steps().apply(self.dialect, end, &mut on_delta)
    }

    fn steps(&self) -> MutexGuard<'_, Replay> {
        self.replay.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn request(&self, body: ComposedBody, headers: &[(String, String)]) -> Outgoing {
        let mut outgoing = Outgoing::post(protocol::path(self.dialect), body.chunks)
            .header("content-type", "application/json")
            .header("accept", "text/event-stream")
            .header("user-agent", concat!("antefix/", env!("CARGO_PKG_VERSION")));
        for (name, value) in headers.iter().cloned() {
            outgoing = outgoing.header(name, value);
        }
        protocol::authenticated(self.dialect, outgoing, &self.credential)
    }

    /// The headers that say something of the request, and no secret.
    fn shown_headers(&self, betas: &[String]) -> Vec<(String, String)> {
        let mut headers = protocol::headers(self.dialect, betas);
        headers.extend(self.headers.iter().cloned());
        headers
    }

    fn capture_body(&self, body: &ComposedBody) -> Option<u64> {
        self.capture.as_ref()?.body(&body.chunks).ok()
    }

    fn capture_end(&self, exchange: &Exchange, end: &ResponseEnd) {
        let (Some(capture), Some(number)) = (&self.capture, exchange.number) else { return };
        let (facts, answer) = match end {
            ResponseEnd::Message { message, response, .. } => {
                let usage =
                    message.usage_json.as_ref().map(|usage| String::from_utf8_lossy(usage).into_owned());
                (Some(response), Answer { usage, message_id: message.message_id.clone() })
            }
            ResponseEnd::Rejected { response, .. } => (Some(response), Answer::default()),
            ResponseEnd::Unreachable { .. } => (None, Answer::default()),
        };
        // A capture is for looking at; the request stands without it.
        let _ = capture.meta(
            number,
            &Meta {
                at_ms: exchange.at.0,
                first_byte_at_ms: facts.and_then(|facts| facts.first_byte).map(|at| at.0),
                method: "POST",
                path: protocol::path(self.dialect),
                headers: &exchange.headers,
                status: facts.map(|facts| facts.status),
                answer,
                session: self.session.as_deref(),
            },
        );
    }
}

/// What an error's body says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Refusal {
    kind: Option<String>,
    message: Option<String>,
    too_long: Option<TooLong>,
}

struct Exchange {
    at: Millis,
    number: Option<u64>,
    headers: Vec<(String, String)>,
}

async fn read_answer(
    mut incoming: Incoming,
    dialect: Dialect,
    stop: &Cancellation,
    on_delta: &mut impl FnMut(Delta),
) -> ResponseEnd {
    let mut facts = facts_of(&incoming, dialect);
    if incoming.status != 200 {
        return rejected(incoming, dialect, facts).await;
    }
    if !incoming.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")) {
        let kind = incoming.header("content-type").unwrap_or("nothing").to_owned();
        let error = format!("the server answered with `{kind}` where an event stream was asked for");
        return ResponseEnd::Unreachable { error, retryable: false };
    }
    if let Some(coding) = incoming.header("content-encoding").filter(|coding| *coding != "identity") {
        let error = format!("the server sent its answer coded as `{coding}`, which was not asked for");
        return ResponseEnd::Unreachable { error, retryable: false };
    }
    let mut reading = Reading::new(dialect);
    let cut = loop {
        let chunk = tokio::select! {
            biased;
            () = stop.cancelled() => break Some("interrupted".to_owned()),
            chunk = incoming.chunk() => chunk,
        };
        let bytes = match chunk {
            Ok(Some(bytes)) => bytes,
            Ok(None) => break None,
            Err(error) => break Some(error.to_string()),
        };
        facts.first_byte.get_or_insert_with(clock::now);
        if let Err(error) = reading.push(&bytes, on_delta) {
            break Some(format!("the stream is malformed: {error}"));
        }
    };
    let lost = reading.lost;
    let message = Box::new(reading.assembler.finish());
    // What follows the end of the message is of no account.
    let cut = cut.filter(|_| lost || !message.complete);
    ResponseEnd::Message { message, response: facts, cut }
}

/// A stream that is being read.
struct Reading {
    parser: Parser,
    assembler: protocol::Assembler,
    finished: bool,
    /// An event without its data, in front of the message's end, may have held a part of it.
    lost: bool,
}

impl Reading {
    fn new(dialect: Dialect) -> Self {
        let assembler = protocol::Assembler::new(dialect);
        Self { parser: Parser::new(), assembler, finished: false, lost: false }
    }

    /// Takes what has arrived, all of it also where a part is malformed.
    fn push(&mut self, bytes: &[u8], on_delta: &mut impl FnMut(Delta)) -> Result<(), String> {
        let events = self.parser.push(bytes).map_err(|error| error.to_string())?;
        let mut broken = None;
        self.lost = !self.finished && self.parser.without_data() > 0;
        for event in &events {
            match self.assembler.event(event) {
                Ok(deltas) => {
                    self.finished |= deltas.contains(&Delta::Finished);
                    deltas.into_iter().for_each(&mut *on_delta);
                }
                Err(error) => broken = Some(error.to_string()),
            }
        }
        if self.lost {
            broken = Some("an event came without its data".to_owned());
        }
        broken.map_or(Ok(()), Err)
    }
}

fn facts_of(incoming: &Incoming, dialect: Dialect) -> ResponseFacts {
    let start = protocol::quota(dialect);
    let quota = incoming.headers.iter().filter(|(name, _)| name.starts_with(start)).cloned();
    let request_id = incoming.header("request-id").or_else(|| incoming.header("x-request-id"));
    ResponseFacts {
        status: incoming.status,
        request_id: request_id.map(str::to_owned),
        first_byte: None,
        quota: quota.collect(),
        too_long: None,
    }
}

async fn rejected(mut incoming: Incoming, dialect: Dialect, mut response: ResponseFacts) -> ResponseEnd {
    let retry_after = retry_after(&incoming.headers, clock::system_time());
    let retry_after = retry_after.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
    let body = incoming.read_up_to(ERROR_LIMIT).await.map(|(body, _)| body).unwrap_or_default();
    response.first_byte = Some(clock::now());
    let shown = String::from_utf8_lossy(&body).trim().to_owned();
    let refusal = Body::parse(body).map(|body| protocol::refusal(dialect, &body)).unwrap_or_default();
    response.too_long = refusal.too_long;
    let kind = refusal.kind.unwrap_or_else(|| "error".to_owned());
    let mut message = refusal.message.unwrap_or(shown);
    if let Some(hint) = protocol::hint(dialect, response.status, &message) {
        message.push_str(&format!("\nhint: {hint}"));
    }
    ResponseEnd::Rejected { kind, message, retry_after, response }
}

fn unreachable_end(error: &HttpError) -> ResponseEnd {
    let hint = error.hint().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
    ResponseEnd::Unreachable { error: format!("{error}{hint}"), retryable: error.retryable }
}

fn cut_before_answer() -> ResponseEnd {
    ResponseEnd::Unreachable { error: "interrupted".to_owned(), retryable: true }
}
