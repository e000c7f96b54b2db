//! One request: read it, let the simulator answer, send the answer.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use antefix_sim::{HttpRequest, HttpResponse, Millis, ResponseBody};
use antefix_wire::json::{Body, write_string};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{HeaderName, HeaderValue};
use hyper::{Request, Response, StatusCode};

use super::State;
use super::pace::{Mangling, Paced};
use super::socket::Line;
use crate::capture::{Answer, Meta};

/// A request, read.
struct Read {
    method: String,
    path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Read {
    fn as_http(&self) -> HttpRequest<'_> {
        HttpRequest { method: &self.method, path: &self.path, headers: &self.headers, body: &self.body }
    }

    fn number(&self, name: &str) -> Result<Option<u64>, HttpResponse> {
        let Some((_, value)) = self.headers.iter().find(|(key, _)| key == name) else { return Ok(None) };
        let unusable = |_| error(400, "invalid_request_error", &format!("{name}: a whole number is needed"));
        value.trim().parse().map(Some).map_err(unusable)
    }
}

/// An answer before it is paced.
struct Reply {
    response: HttpResponse,
    start: Millis,
    mangling: Mangling,
}

impl Reply {
    fn plain(response: HttpResponse, start: Millis) -> Self {
        Self { response, start, mangling: Mangling::default() }
    }
}

pub(super) async fn serve(
    state: Arc<State>,
    line: Arc<Line>,
    request: Request<Incoming>,
) -> Result<Response<Paced>, Infallible> {
    let reply = match read(request, state.options.body_limit).await {
        Ok(request) => reply(&state, &request),
        Err(refusal) => Reply::plain(refusal, state.clock.now()),
    };
    let HttpResponse { status, headers, body } = reply.response;
    let body = Paced::new(body, reply.start, reply.mangling, Arc::clone(&state.clock), line);
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in &headers {
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(value))
        {
            response.headers_mut().append(name, value);
        }
    }
    Ok(response)
}

/// Reads a request to its end. What is over the limit is read and dropped: a server that closes early resets
/// the connection under the client's feet, and its refusal is lost.
async fn read(request: Request<Incoming>, limit: u64) -> Result<Read, HttpResponse> {
    let (head, mut incoming) = request.into_parts();
    let mut body = Vec::new();
    let mut length = 0u64;
    while let Some(frame) = incoming.frame().await {
        let broken = |_| error(400, "invalid_request_error", "the request's body broke off");
        let Ok(bytes) = frame.map_err(broken)?.into_data() else { continue };
        length += bytes.len() as u64;
        if length <= limit {
            body.extend_from_slice(&bytes);
        } else {
            body = Vec::new();
        }
    }
    if length > limit {
        // https://platform.claude.com/docs/en/api/errors: 413 `request_too_large`
        return Err(error(413, "request_too_large", "Request exceeds the maximum allowed number of bytes."));
    }
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    Ok(Read {
        method: head.method.as_str().to_owned(),
        path: head.uri.path_and_query().map_or_else(|| "/".to_owned(), ToString::to_string),
        headers: head.headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect(),
        body,
    })
}

fn reply(state: &State, request: &Read) -> Reply {
    let path = request.path.split('?').next().unwrap_or_default();
    let response = match (request.method.as_str(), path) {
        ("GET", "/sim/log") => json(200, log(state)),
        ("POST", "/sim/clock") => set_clock(state, &request.body),
        _ => {
            return simulate(state, request)
                .unwrap_or_else(|refusal| Reply::plain(refusal, state.clock.now()));
        }
    };
    Reply::plain(response, state.clock.now())
}

fn simulate(state: &State, request: &Read) -> Result<Reply, HttpResponse> {
    let advance = request.number("x-sim-advance-ms")?.unwrap_or(0);
    let mangling = Mangling {
        cut_after: request.number("x-sim-cut-after")?.or(state.options.cut_after),
        chunk: request.number("x-sim-chunk")?.map(|size| size as usize).or(state.options.chunk),
    };
    let (start, response, captured) = {
        // The time is taken and the body's number given while the simulator is held: its moments never fall,
        // and the files are numbered in the order in which it saw the requests.
        let mut simulator = state.simulator();
        state.clock.advance(advance);
        let start = state.clock.now();
        let captured = state.capture.as_ref().map(|capture| capture.body(&[&request.body])).transpose();
        (start, simulator.handle(&request.as_http(), start), captured)
    };
    if let (Some(capture), Some(number)) = (&state.capture, captured.map_err(|error| not_captured(&error))?) {
        let meta = meta(request, &response, start);
        capture.meta(number, &meta).map_err(|error| not_captured(&error))?;
    }
    Ok(Reply { response, start, mangling })
}

/// What was sent and what it cost, as the simulator had it; a cut on the way to the client changes nothing.
fn meta<'a>(request: &'a Read, response: &HttpResponse, start: Millis) -> Meta<'a> {
    let first_byte = match &response.body {
        ResponseBody::Full(_) => Some(start),
        ResponseBody::Stream { chunks, .. } => chunks.first().map(|chunk| start.after(chunk.at)),
    };
    Meta {
        at_ms: start.0,
        first_byte_at_ms: first_byte.map(|moment| moment.0),
        method: &request.method,
        path: &request.path,
        headers: &request.headers,
        status: Some(response.status),
        answer: Answer::read(&response.bytes()),
        session: None,
    }
}

fn set_clock(state: &State, body: &[u8]) -> HttpResponse {
    let amount =
        Body::parse(body).ok().and_then(|body| body.root().get("advance_ms").and_then(|node| node.u64()));
    let Some(amount) = amount else {
        return error(400, "invalid_request_error", "advance_ms: a whole number of milliseconds is needed");
    };
    if !state.clock.is_virtual() {
        return error(409, "invalid_request_error", "the server runs on the real clock");
    }
    state.clock.advance(amount);
    json(200, format!(r#"{{"now_ms":{}}}"#, state.clock.now().0).into_bytes())
}

fn log(state: &State) -> Vec<u8> {
    let mut out = br#"{"schema_version":1,"requests":["#.to_vec();
    for (index, billed) in state.simulator().log().iter().enumerate() {
        out.extend_from_slice(if index == 0 { b"" } else { b"," });
        let head = format!(r#"{{"n":{},"at_ms":{},"request_id":"#, index + 1, billed.now.0);
        out.extend_from_slice(head.as_bytes());
        write_string(&mut out, &billed.request_id);
        out.extend_from_slice(br#","message_id":"#);
        match &billed.message_id {
            Some(id) => write_string(&mut out, id),
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(br#","model":"#);
        write_string(&mut out, &billed.model);
        let figures = format!(
            r#","status":{},"read":{},"write_5m":{},"write_1h":{},"uncached":{},"output":{}}}"#,
            billed.status, billed.read, billed.write_5m, billed.write_1h, billed.uncached, billed.output
        );
        out.extend_from_slice(figures.as_bytes());
    }
    out.extend_from_slice(b"]}");
    out
}

fn not_captured(cause: &io::Error) -> HttpResponse {
    error(500, "api_error", &format!("the request could not be captured: {cause}"))
}

/// An error in the shape of the Messages API.
fn error(status: u16, kind: &str, message: &str) -> HttpResponse {
    let mut out = br#"{"type":"error","error":{"type":"#.to_vec();
    write_string(&mut out, kind);
    out.extend_from_slice(br#","message":"#);
    write_string(&mut out, message);
    out.extend_from_slice(b"}}");
    json(status, out)
}

fn json(status: u16, body: Vec<u8>) -> HttpResponse {
    let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    HttpResponse { status, headers, body: ResponseBody::Full(body) }
}
