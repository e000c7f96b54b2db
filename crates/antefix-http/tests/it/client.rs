//! What the client sends, and what it hands out of an answer.

use std::sync::{Arc, Mutex};

use antefix_http::client::{Client, ClientOptions, Outgoing, Proxies, Secret};
use antefix_http::{Bytes, Fault, Origin};

use crate::upstream::{Act, Upstream, bytes, drain, ok, within};

/// Server-sent events as a provider sends them, each in an HTTP chunk of its own.
const EVENTS: [&str; 4] = [
    "event: message_start\ndata: {\"type\":\"message_start\"}\n\n",
    "event: ping\ndata: {\"type\": \"ping\"}\n\n",
    "event: content_block_delta\ndata: {\"delta\":{\"text\":\"gr\u{fc}\u{df}e \u{1f600}\"}}\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
];

#[tokio::test]
async fn the_body_leaves_as_it_is_with_its_exact_length() {
    async fn check(pieces: Vec<Bytes>) {
        let whole = pieces.concat();
        let upstream =
            Upstream::start(vec![vec![Act::Head, Act::Body, Act::Send(ok("")), Act::Finish]]).await;
        let observed = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&observed);
        let request = Outgoing::post("/v1/messages", pieces)
            .observed(move |piece| into.lock().unwrap().extend_from_slice(piece));
        let incoming = within(upstream.client().send(request)).await.unwrap();
        assert_eq!(incoming.status, 200);
        drop(incoming);
        let seen = upstream.seen().await.remove(0);
        assert!(!seen.head.to_lowercase().contains("transfer-encoding"), "{}", seen.head);
        assert!(seen.head.contains(&format!("content-length: {}\r\n", whole.len())), "{}", seen.head);
        assert!(seen.body == whole, "{} bytes arrived otherwise", whole.len());
        assert!(*observed.lock().unwrap() == whole, "{} bytes were observed otherwise", whole.len());
    }
    let run = |length: usize| Bytes::from((0..length).map(|n| (n * 31 % 251) as u8).collect::<Vec<_>>());
    check(vec![]).await;
    check(vec![Bytes::new()]).await;
    check(vec![bytes("{}")]).await;
    check(vec![bytes("{\"a\":"), Bytes::new(), bytes("1"), bytes("}")]).await;
    for length in [65_535, 65_536, 65_537, 200_000] {
        check(vec![run(length)]).await;
    }
    check((0..1000).map(run).collect()).await;
    check(vec![run(3_000_000), run(1), run(70_000)]).await;
}

#[tokio::test]
async fn the_head_holds_what_was_given() {
    let script = vec![Act::Head, Act::Body, Act::Send(ok("")), Act::Head, Act::Send(ok("")), Act::Finish];
    let upstream = Upstream::start(vec![script]).await;
    let client = Client::new(ClientOptions::new(format!("{}/proxy/", upstream.base_url()))).unwrap();
    let request = Outgoing::post("/v1/messages?beta=true", vec![bytes("{}")])
        .header("anthropic-beta", "a-2025-01-01,b-2025-02-02")
        .secret("x-api-key", Secret::new("sk-test"))
        .header("anthropic-beta", "c");
    let mut incoming = within(client.send(request)).await.unwrap();
    assert_eq!(drain(&mut incoming).await, (Vec::new(), Ok(())));
    let mut incoming = within(client.send(Outgoing::get("/v1/models"))).await.unwrap();
    assert_eq!(drain(&mut incoming).await, (Vec::new(), Ok(())));
    drop(client);
    let host = upstream.addr.to_string();
    let seen = upstream.seen().await;
    // The second request came over the same connection; its head has taken the first one's place.
    let expect = format!("GET /proxy/v1/models HTTP/1.1\r\naccept: */*\r\nhost: {host}\r\n\r\n");
    assert_eq!((seen.len(), seen[0].head.as_str()), (1, expect.as_str()));

    let upstream = Upstream::start(vec![vec![Act::Head, Act::Body, Act::Send(ok("")), Act::Finish]]).await;
    let request = Outgoing::post("/v1/messages?beta=true", vec![bytes("{}")])
        .header("anthropic-beta", "a")
        .secret("x-api-key", Secret::new("sk-test"))
        .header("anthropic-beta", "b");
    within(upstream.client().send(request)).await.unwrap();
    let host = upstream.addr.to_string();
    let expect = format!(
        "POST /v1/messages?beta=true HTTP/1.1\r\nanthropic-beta: a\r\nanthropic-beta: b\r\nx-api-key: sk-test\r\n\
         accept: */*\r\nhost: {host}\r\ncontent-length: 2\r\n\r\n"
    );
    assert_eq!(upstream.seen().await[0].head, expect);
}

#[test]
fn a_secret_is_never_shown() {
    let key = Secret::new("sk-test");
    let request = Outgoing::post("/", vec![bytes("sk-test")]).secret("x-api-key", key.clone());
    let mut options = ClientOptions::new("http://127.0.0.1:1");
    options.proxies.http = Some(Secret::new("http://user:sk-test@127.0.0.1:2"));
    let client = Client::new(options.clone()).unwrap();
    for shown in
        [format!("{key} {key:?}"), format!("{request:?}"), format!("{options:?}"), format!("{client:?}")]
    {
        assert!(!shown.contains("sk-test"), "{shown}");
    }
}

#[tokio::test]
async fn an_event_stream_cut_at_any_byte_gives_what_came_and_says_so() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let mut raw = head.as_bytes().to_vec();
    // How much of the body has come when so many raw bytes have.
    let mut came: Vec<usize> = vec![0; raw.len()];
    let mut body = 0;
    for event in EVENTS {
        let size = format!("{:x}\r\n", event.len());
        for (text, counts) in [(size.as_str(), 0), (event, 1), ("\r\n", 0)] {
            for byte in text.bytes() {
                raw.push(byte);
                came.push(body);
                body += counts;
            }
        }
    }
    for byte in b"0\r\n\r\n" {
        raw.push(*byte);
        came.push(body);
    }
    came.push(body);
    let whole = EVENTS.concat().into_bytes();
    let scripts = (0..=raw.len()).flat_map(|cut| {
        let close = |last| vec![Act::Head, Act::Body, Act::Send(raw[..cut].to_vec()), last];
        [close(Act::Finish), close(Act::Reset)]
    });
    let upstream = Upstream::start(scripts.collect()).await;
    for cut in 0..=raw.len() {
        for reset in [false, true] {
            let request = Outgoing::post("/", vec![bytes("{}")]);
            let (got, end) = match within(upstream.client().send(request)).await {
                Ok(mut incoming) => drain(&mut incoming).await,
                Err(error) => (Vec::new(), Err(error)),
            };
            if reset {
                assert!(whole[..came[cut]].starts_with(&got), "cut at {cut}");
            } else {
                assert_eq!(
                    String::from_utf8_lossy(&got),
                    String::from_utf8_lossy(&whole[..came[cut]]),
                    "cut at {cut}"
                );
            }
            match end {
                Ok(()) => assert_eq!(cut, raw.len()),
                Err(error) => {
                    let facts = (error.fault, error.origin, error.retryable, error.sent);
                    assert_eq!(facts, (Fault::Cut, Origin::Upstream, true, true), "cut at {cut}: {error}");
                    assert!(cut < raw.len() || reset, "cut at {cut}: {error}");
                }
            }
        }
    }
    upstream.seen().await;
}

#[tokio::test]
async fn the_answer_comes_as_it_was_sent() {
    async fn check(answer: Vec<u8>, expect: &str) {
        for send in [Act::Send(answer.clone()), Act::Drip(answer)] {
            let upstream = Upstream::start(vec![vec![Act::Head, Act::Body, send, Act::Finish]]).await;
            let request = Outgoing::post("/", vec![bytes("{}")]);
            let mut incoming = within(upstream.client().send(request)).await.unwrap();
            assert_eq!(drain(&mut incoming).await, (expect.as_bytes().to_vec(), Ok(())));
            drop(incoming);
            upstream.seen().await;
        }
    }
    check(ok("{ \"a\" : 1.0e2 }"), "{ \"a\" : 1.0e2 }").await;
    check(b"HTTP/1.1 200 OK\r\n\r\nuntil the end".to_vec(), "until the end").await;
    check(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx".to_vec(), "x").await;
    // Neither unpacked nor followed.
    check(b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\nabc".to_vec(), "abc").await;
    check(b"HTTP/1.1 303 S\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 1\r\n\r\nx".to_vec(), "x")
        .await;
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n5\r\ndefgh\r\n0\r\n\r\n";
    check(chunked.as_bytes().to_vec(), "abcdefgh").await;
}

#[tokio::test]
async fn status_and_headers_are_handed_out_in_order() {
    let answer = "HTTP/1.1 529 Overloaded\r\nRetry-After: 3\r\nx-a: 1\r\nX-B: \u{e9}\r\nx-a: 2\r\ncontent-length: 4\r\n\r\nbusy";
    let script = vec![Act::Head, Act::Body, Act::Send(answer.into()), Act::Finish];
    let upstream = Upstream::start(vec![script]).await;
    let mut incoming = within(upstream.client().send(Outgoing::post("/", vec![]))).await.unwrap();
    let pairs =
        [("retry-after", "3"), ("x-a", "1"), ("x-b", "\u{e9}"), ("x-a", "2"), ("content-length", "4")];
    let mut headers = incoming.headers.clone();
    headers.sort();
    let mut expect = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    expect.sort();
    assert_eq!((incoming.status, headers), (529, expect));
    assert_eq!(incoming.header("retry-after"), Some("3"));
    assert_eq!(within(incoming.read_up_to(2)).await, Ok((b"bu".to_vec(), false)));
}

#[tokio::test]
async fn dropping_cancels() {
    let held = vec![Act::Head, Act::Body, Act::Hold];
    let half = vec![Act::Head, Act::Body, Act::Send(b"HTTP/1.1 200 OK\r\n\r\nhalf".to_vec()), Act::Hold];
    let upstream = Upstream::start(vec![held, half]).await;
    let client = upstream.client();
    let sent = Arc::new(tokio::sync::Notify::new());
    let tell = Arc::clone(&sent);
    let request = Outgoing::post("/", vec![bytes("{}")]).observed(move |_| tell.notify_one());
    tokio::select! {
        answer = client.send(request) => panic!("{answer:?}"),
        () = sent.notified() => {}
    }
    let mut incoming = within(client.send(Outgoing::post("/", vec![]))).await.unwrap();
    assert_eq!(within(incoming.chunk()).await, Ok(Some(bytes("half"))));
    drop(incoming);
    assert_eq!(upstream.seen().await.len(), 2);
}

#[tokio::test]
async fn a_proxy_is_used_as_told() {
    let script = vec![Act::Head, Act::Body, Act::Send(ok("from the proxy")), Act::Finish];
    let proxy = Upstream::start(vec![script]).await;
    let mut options = ClientOptions::new("http://provider.invalid/base");
    let address = Secret::new(format!("http://user:word@{}", proxy.addr));
    options.proxies =
        Proxies { http: Some(address), https: None, no_proxy: Some("127.0.0.1, other.invalid".into()) };
    let client = Client::new(options.clone()).unwrap();
    let mut incoming = within(client.send(Outgoing::post("/v1/messages", vec![bytes("{}")]))).await.unwrap();
    assert_eq!(drain(&mut incoming).await, (b"from the proxy".to_vec(), Ok(())));
    drop((client, incoming));
    let head = proxy.seen().await.remove(0).head;
    assert!(head.starts_with("POST http://provider.invalid/base/v1/messages HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("proxy-authorization: Basic dXNlcjp3b3Jk\r\n"), "{head}");

    let direct =
        Upstream::start(vec![vec![Act::Head, Act::Body, Act::Send(ok("direct")), Act::Finish]]).await;
    options.base_url = direct.base_url();
    let client = Client::new(options).unwrap();
    let mut incoming = within(client.send(Outgoing::post("/", vec![bytes("{}")]))).await.unwrap();
    assert_eq!(drain(&mut incoming).await, (b"direct".to_vec(), Ok(())));
    drop((client, incoming));
    assert!(direct.seen().await.remove(0).head.starts_with("POST / HTTP/1.1\r\n"));
}
