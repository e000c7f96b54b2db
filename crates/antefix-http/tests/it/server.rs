//! The simulator's front, seen through the client and through a bare socket.

use std::sync::Arc;
use std::time::Duration;

use antefix_http::client::{Client, ClientOptions, Incoming, Outgoing};
use antefix_http::server::{Clock, ServerOptions, SimServer};
use antefix_http::{Bytes, Fault};
use antefix_sim::{Config, Script, Simulator};
use antefix_wire::json::Body;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::upstream::{bytes, drain, within};

const MESSAGE: &str = r#"{"model":"claude-sonnet-4-5","max_tokens":100,"stream":true,"messages":[{"role":"user","content":"hello"}]}"#;

struct Front {
    server: SimServer,
    client: Client,
}

impl Front {
    async fn start(options: ServerOptions) -> Self {
        Self::scripted(options, Script::default_script()).await
    }

    async fn scripted(options: ServerOptions, script: Script) -> Self {
        let simulator = Simulator::new(Config::default(), script);
        let server = SimServer::start(options, simulator).await.unwrap();
        let client = Client::new(ClientOptions::new(server.base_url())).unwrap();
        Self { server, client }
    }

    async fn on_virtual_clock() -> Self {
        Self::start(ServerOptions { clock: Clock::Virtual, ..ServerOptions::default() }).await
    }

    async fn send(&self, request: Outgoing) -> Incoming {
        within(self.client.send(request)).await.unwrap()
    }

    async fn text(&self, request: Outgoing) -> (u16, String) {
        let mut incoming = self.send(request).await;
        let (body, end) = drain(&mut incoming).await;
        end.unwrap();
        (incoming.status, String::from_utf8(body).unwrap())
    }

    async fn log(&self) -> Body {
        Body::parse(self.text(Outgoing::get("/sim/log")).await.1).unwrap()
    }
}

fn message() -> Outgoing {
    Outgoing::post("/v1/messages?beta=true", vec![bytes(MESSAGE)])
        .header("anthropic-version", "2023-06-01")
        .header("content-type", "application/json")
        .header("x-api-key", "test")
}

#[tokio::test]
async fn a_message_streams_and_is_billed() {
    let front = Front::on_virtual_clock().await;
    let mut incoming = front.send(message()).await;
    let (body, end) = drain(&mut incoming).await;
    let text = String::from_utf8(body).unwrap();
    assert_eq!((incoming.status, end), (200, Ok(())));
    assert!(
        incoming.header("content-type").unwrap().starts_with("text/event-stream"),
        "{:?}",
        incoming.headers
    );
    assert!(text.starts_with("event: message_start\ndata: {"), "{text}");
    assert!(text.ends_with("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"), "{text}");
    let log = front.log().await;
    let entry = log.root().pointer("/requests/0").unwrap();
    let keys: Vec<_> = entry.members().map(|(key, _)| key.str().unwrap().into_owned()).collect();
    let expect =
        ["n", "at_ms", "request_id", "message_id", "model", "status", "read", "write_5m", "write_1h"];
    assert_eq!(keys, [expect.as_slice(), &["uncached", "output"]].concat());
    assert_eq!(entry.get("n").unwrap().u64(), Some(1));
    assert_eq!(entry.get("model").unwrap().str().as_deref(), Some("claude-sonnet-4-5"));
    assert!(text.contains(entry.get("message_id").unwrap().raw()), "{}", entry.raw());
    assert_eq!(front.server.simulator().lock().unwrap().log().len(), 1);
}

#[tokio::test]
async fn the_stream_is_cut_at_any_byte() {
    let front = Front::on_virtual_clock().await;
    let length = front.text(message()).await.1.len();
    for cut in 0..=length + 1 {
        let mut incoming = front.send(message().header("x-sim-cut-after", cut.to_string())).await;
        let (body, end) = drain(&mut incoming).await;
        assert_eq!((incoming.status, body.len()), (200, cut.min(length)), "cut at {cut}");
        assert_eq!(end.err().map(|error| error.fault), (cut <= length).then_some(Fault::Cut), "cut at {cut}");
    }
}

#[tokio::test]
async fn a_cut_resets_the_connection() {
    let options = ServerOptions { cut_after: Some(3), ..ServerOptions::default() };
    let front = Front::start(options).await;
    let mut stream = TcpStream::connect(front.server.addr()).await.unwrap();
    let request = format!(
        "POST /v1/messages HTTP/1.1\r\nhost: a\r\nx-api-key: k\r\nanthropic-version: 2023-06-01\r\ncontent-length: {}\r\n\r\n{MESSAGE}",
        MESSAGE.len()
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let error = within(stream.read_to_end(&mut answer)).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    assert!(answer.ends_with(b"\r\n\r\n3\r\neve\r\n"), "{}", String::from_utf8_lossy(&answer));
}

#[tokio::test]
async fn the_stream_is_sliced_as_asked() {
    let front = Front::on_virtual_clock().await;
    let plain = front.text(message()).await.1;
    for size in [1usize, 7, 100, 1_000_000] {
        let mut stream = TcpStream::connect(front.server.addr()).await.unwrap();
        let request = format!(
            "POST /v1/messages HTTP/1.1\r\nhost: a\r\nconnection: close\r\nx-api-key: k\r\nanthropic-version: 2023-06-01\r\nx-sim-chunk: {size}\r\ncontent-length: {}\r\n\r\n{MESSAGE}",
            MESSAGE.len()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        within(stream.read_to_string(&mut answer)).await.unwrap();
        let (_, mut chunked) = answer.split_once("\r\n\r\n").unwrap();
        let mut sizes = Vec::new();
        while let Some((length, rest)) = chunked.split_once("\r\n") {
            let length = usize::from_str_radix(length, 16).unwrap();
            sizes.push(length);
            chunked = &rest[length + 2..];
        }
        assert_eq!(sizes.pop(), Some(0));
        let last = sizes.pop().unwrap();
        assert!(sizes.iter().all(|length| *length == size) && last <= size, "{size}: {sizes:?} {last}");
        assert!(sizes.iter().sum::<usize>() + last >= plain.len() - 20);
    }
}

#[tokio::test]
async fn the_virtual_clock_moves_when_told() {
    let front = Front::on_virtual_clock().await;
    let clock = |body: &str| Outgoing::post("/sim/clock", vec![bytes(body)]);
    assert_eq!(front.text(clock("{\"advance_ms\":0}")).await, (200, "{\"now_ms\":0}".into()));
    assert_eq!(front.text(clock("{\"advance_ms\":250}")).await, (200, "{\"now_ms\":250}".into()));
    front.text(message().header("x-sim-advance-ms", "1000")).await;
    assert_eq!(front.log().await.root().pointer("/requests/0/at_ms").unwrap().u64(), Some(1250));
    for wrong in ["", "{}", "{\"advance_ms\":-1}", "{\"advance_ms\":1.5}"] {
        assert_eq!(front.text(clock(wrong)).await.0, 400, "{wrong}");
    }
    let refused = front.text(message().header("x-sim-advance-ms", "soon")).await;
    let text = r#"{"type":"error","error":{"type":"invalid_request_error","message":"x-sim-advance-ms: a whole number is needed"}}"#;
    assert_eq!(refused, (400, text.into()));
    let front = Front::start(ServerOptions::default()).await;
    assert_eq!(front.text(clock("{\"advance_ms\":1}")).await.0, 409);
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_and_the_connection_lives() {
    let options = ServerOptions { body_limit: 1_000_000, ..ServerOptions::default() };
    let front = Front::start(options).await;
    let big = |length| Outgoing::post("/v1/messages", vec![Bytes::from(vec![b'x'; length])]);
    let text = r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum allowed number of bytes."}}"#;
    assert_eq!(front.text(big(1_000_001)).await, (413, text.into()));
    assert_ne!(front.text(big(1_000_000)).await.0, 413);
    assert_eq!(front.text(big(20_000_000)).await.0, 413);
}

#[tokio::test]
async fn captured_bodies_are_those_sent() {
    let folder = tempfile::tempdir().unwrap();
    let capture = Some(folder.path().join("deep/er"));
    let front =
        Front::start(ServerOptions { clock: Clock::Virtual, capture, ..ServerOptions::default() }).await;
    front.text(message().header("x-sim-advance-ms", "40")).await;
    front.text(Outgoing::post("/v1/messages", vec![bytes("{\"a\" : 1.0e2")])).await;
    front.log().await;
    let file = |name: &str| std::fs::read(folder.path().join("deep/er").join(name)).unwrap();
    assert_eq!(file("000001.body.json"), MESSAGE.as_bytes());
    assert_eq!(file("000002.body.json"), b"{\"a\" : 1.0e2");
    let meta = Body::parse(file("000001.meta.json")).unwrap();
    let raw = |pointer| meta.root().pointer(pointer).map_or("none", |node| node.raw());
    assert_eq!(
        [raw("/n"), raw("/at_ms"), raw("/method"), raw("/path"), raw("/status")],
        ["1", "40", "\"POST\"", "\"/v1/messages?beta=true\"", "200"]
    );
    assert_eq!(raw("/headers/x-api-key"), "none");
    assert_eq!(raw("/headers/anthropic-version"), "\"2023-06-01\"");
    assert!(
        meta.root().pointer("/usage/output_tokens").is_some_and(|node| node.u64() > Some(0)),
        "{}",
        meta.text()
    );
    let log = front.log().await;
    assert_eq!(raw("/message_id"), log.root().pointer("/requests/0/message_id").unwrap().raw());
    assert_eq!(std::fs::read_dir(folder.path().join("deep/er")).unwrap().count(), 4);
}

#[tokio::test]
async fn shutting_down_frees_the_port_and_ends_idle_connections() {
    let front = Front::start(ServerOptions::default()).await;
    front.text(message()).await;
    let addr = front.server.addr();
    within(front.server.shutdown()).await;
    assert_eq!(within(front.client.send(message())).await.unwrap_err().fault, Fault::Refused);
    let options = ServerOptions { port: addr.port(), ..ServerOptions::default() };
    let again =
        SimServer::start(options, Simulator::new(Config::default(), Script::default_script())).await.unwrap();
    assert_eq!(again.addr(), addr);
}

#[tokio::test]
async fn scripted_ends_reach_the_client() {
    let script = "rule\n on turn 1\n text Hello.\n hang 40\n";
    let front = Front::scripted(ServerOptions::default(), Script::parse(script).unwrap()).await;
    let mut incoming = front.send(message()).await;
    incoming.set_idle_timeout(Duration::from_millis(200));
    let (body, end) = drain(&mut incoming).await;
    assert_eq!((body.len(), end.unwrap_err().fault), (40, Fault::IdleTimeout));
    // The silent exchange is still open; shutting down ends it.
    within(front.server.shutdown()).await;
    assert_eq!(within(incoming.chunk()).await.unwrap_err().fault, Fault::Cut);

    let script = "rule\n on turn 1\n text Hello.\n cut 40\n";
    let front = Front::scripted(ServerOptions::default(), Script::parse(script).unwrap()).await;
    let (body, end) = drain(&mut front.send(message()).await).await;
    assert_eq!((body.len(), end.unwrap_err().fault), (40, Fault::Cut));
}

#[tokio::test]
async fn pieces_are_sent_when_they_are_due() {
    let script = "rule\n on turn 1\n text Hello.\n first-byte 120\n chunk-delay 5\n";
    let script = Script::parse(script).unwrap();
    let front = Front::scripted(ServerOptions::default(), script.clone()).await;
    let start = tokio::time::Instant::now();
    let mut incoming = front.send(message()).await;
    within(incoming.chunk()).await.unwrap();
    // The simulator counts whole milliseconds.
    assert!(start.elapsed() >= Duration::from_millis(119), "{:?}", start.elapsed());
    drain(&mut incoming).await.1.unwrap();
    assert!(start.elapsed() >= Duration::from_millis(124), "{:?}", start.elapsed());

    let options = ServerOptions { clock: Clock::Virtual, ..ServerOptions::default() };
    let front = Front::scripted(options, script).await;
    front.text(message()).await;
    front.text(message()).await;
    let log = front.log().await;
    let at = |n: usize| log.root().pointer(&format!("/requests/{n}/at_ms")).unwrap().u64().unwrap();
    assert_eq!(at(0), 0);
    assert!((125..1000).contains(&at(1)), "the clock moved with the answer: {}", at(1));
}

#[tokio::test]
async fn many_clients_at_once_are_all_answered() {
    let front = Arc::new(Front::on_virtual_clock().await);
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let front = Arc::clone(&front);
        tasks.spawn(async move { front.text(message()).await.0 });
    }
    assert_eq!(within(tasks.join_all()).await, vec![200; 50]);
    assert_eq!(front.server.simulator().lock().unwrap().log().len(), 50);
}
