//! What goes wrong on the way, and how it is told.

use std::time::Duration;

use antefix_http::client::{Client, ClientOptions, Outgoing, Secret};
use antefix_http::{Bytes, Fault, HttpError, Origin};

use crate::upstream::{Act, Upstream, bytes, drain, ok, within};

async fn outcome(options: ClientOptions, request: Outgoing) -> Result<Vec<u8>, HttpError> {
    let client = Client::new(options)?;
    let mut incoming = within(client.send(request)).await?;
    let (body, end) = drain(&mut incoming).await;
    end.map(|()| body)
}

/// `text` has `HOST` where the host and port stand.
fn told(error: &HttpError, host: &str) -> (Fault, Origin, bool, bool, String) {
    (error.fault, error.origin, error.retryable, error.sent, error.to_string().replace(host, "HOST"))
}

#[tokio::test]
async fn each_fault_is_told_apart() {
    async fn check(script: Vec<Act>, expect: (Fault, Origin, bool, bool, &str)) {
        let upstream = Upstream::start(vec![script.clone()]).await;
        let mut options = ClientOptions::new(upstream.base_url());
        options.header_timeout = Duration::from_millis(200);
        options.idle_timeout = Duration::from_millis(200);
        let error = outcome(options, Outgoing::post("/", vec![bytes("{}")])).await.unwrap_err();
        let (fault, origin, retryable, sent, text) = expect;
        assert_eq!(
            told(&error, &upstream.addr.to_string()),
            (fault, origin, retryable, sent, text.to_owned())
        );
    }
    let send = |text: &str| Act::Send(text.as_bytes().to_vec());
    let cut = (
        Fault::Cut,
        Origin::Upstream,
        true,
        true,
        "`HOST` closed the connection before the end of the answer",
    );
    let not_http = (Fault::NotHttp, Origin::Upstream, false, true, "the answer of `HOST` is not HTTP");
    let too_large =
        (Fault::HeadTooLarge, Origin::Upstream, false, true, "the head of the answer of `HOST` is too large");
    let silent_head =
        (Fault::HeaderTimeout, Origin::Upstream, true, true, "`HOST` sent no answer within 200 ms");
    let silent = (Fault::IdleTimeout, Origin::Upstream, true, true, "`HOST` sent nothing for 200 ms");
    check(vec![Act::Head, Act::Body, Act::Finish], cut).await;
    check(vec![Act::Head, Act::Body, Act::Reset], cut).await;
    check(vec![Act::Head, Act::Finish], cut).await;
    check(
        vec![Act::Head, Act::Body, send("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabc"), Act::Finish],
        cut,
    )
    .await;
    check(vec![Act::Head, Act::Body, send("nonsense\r\n\r\n"), Act::Hold], not_http).await;
    check(vec![Act::Head, Act::Body, send("HTTP/1.1 2x0 OK\r\n\r\n"), Act::Hold], not_http).await;
    check(vec![Act::Head, Act::Body, send("HTTP/1.1 200 OK\r\nno colon\r\n\r\n"), Act::Hold], not_http).await;
    let large = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "y".repeat(1_000_000));
    check(vec![Act::Head, Act::Body, send(&large), Act::Hold], too_large).await;
    check(vec![Act::Head, Act::Body, Act::Hold], silent_head).await;
    check(vec![Act::Head, Act::Body, send("HTTP/1.1 200 OK\r\nx: "), Act::Hold], silent_head).await;
    check(
        vec![Act::Head, Act::Body, send("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabc"), Act::Hold],
        silent,
    )
    .await;
}

#[tokio::test]
async fn a_server_that_is_not_there_took_nothing() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    drop(listener);
    let check = async |base_url: String, text: &str, fault| {
        let error =
            outcome(ClientOptions::new(base_url), Outgoing::post("/", vec![bytes("{}")])).await.unwrap_err();
        let expect = (fault, Origin::Upstream, true, false, text.to_owned());
        assert_eq!(told(&error, &addr.to_string()), expect);
        assert!(error.hint().is_some());
    };
    check(format!("http://{addr}"), "`HOST` refused the connection", Fault::Refused).await;
    check("http://nobody.invalid".into(), "the host of `nobody.invalid` was not found", Fault::Dns).await;
}

#[tokio::test]
async fn what_cannot_be_sent_is_the_callers_fault() {
    let check = async |base_url: &str, request: Outgoing, fault, text: &str| {
        let error = outcome(ClientOptions::new(base_url), request).await.unwrap_err();
        assert_eq!(told(&error, "\0"), (fault, Origin::Client, false, false, text.to_owned()));
    };
    let get = || Outgoing::get("/");
    let local = "http://127.0.0.1:1";
    check("", get(), Fault::Url, "the base URL is not a URL").await;
    check("example", get(), Fault::Url, "the base URL is not a URL").await;
    check("ftp://a", get(), Fault::Url, "the base URL must start with `http://` or `https://`").await;
    check("http://u:p@a", get(), Fault::Url, "the base URL must not hold a user or password").await;
    check("http://a/?k=v", get(), Fault::Url, "the base URL must end with the path, without `?` or `#`")
        .await;
    check(local, Outgoing::get("v1"), Fault::Url, "the request's path cannot be used").await;
    check(local, Outgoing { method: "G T".into(), ..get() }, Fault::Url, "`G T` is not an HTTP method").await;
    check(local, get().header("a b", "c"), Fault::Header, "the header `a b` has no usable name").await;
    let broken = "the header `x-api-key` holds a line break or another control character";
    check(local, get().secret("x-api-key", Secret::new("k\n")), Fault::Header, broken).await;
    let mut options = ClientOptions::new(local);
    options.proxies.http = Some(Secret::new("http://u:pa ss@[nonsense"));
    let error = Client::new(options).unwrap_err();
    let text = "the proxy for http servers is not `http://host:port`";
    assert_eq!(told(&error, "\0"), (Fault::ProxyAddress, Origin::Client, false, false, text.to_owned()));
}

#[tokio::test]
async fn a_refusal_sent_while_the_body_is_on_its_way_is_read() {
    let refusal = b"HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 3\r\n\r\nbig".to_vec();
    let body = Bytes::from(vec![b'x'; 16_000_000]);
    let polite = vec![Act::Head, Act::Read(1000), Act::Send(refusal.clone()), Act::Finish];
    let upstream = Upstream::start(vec![polite]).await;
    let mut incoming = within(upstream.client().send(Outgoing::post("/", vec![body.clone()]))).await.unwrap();
    assert_eq!((incoming.status, drain(&mut incoming).await), (413, (b"big".to_vec(), Ok(()))));
    drop(incoming);
    upstream.seen().await;

    // A server that closes at once resets the connection; its refusal may be lost, but not what happened.
    let upstream = Upstream::start(vec![vec![Act::Head, Act::Read(1000), Act::Send(refusal)]]).await;
    match outcome(ClientOptions::new(upstream.base_url()), Outgoing::post("/", vec![body])).await {
        Ok(text) => assert_eq!(text, b"big"),
        Err(error) => assert_eq!((error.fault, error.sent), (Fault::Cut, true), "{error}"),
    }
    upstream.seen().await;
}

#[tokio::test]
async fn nothing_is_sent_twice() {
    let lost = vec![Act::Head, Act::Body, Act::Reset];
    let upstream =
        Upstream::start(vec![lost, vec![Act::Head, Act::Body, Act::Send(ok("second")), Act::Finish]]).await;
    let client = upstream.client();
    let error = within(client.send(Outgoing::post("/", vec![bytes("1")]))).await.unwrap_err();
    assert_eq!((error.fault, error.sent), (Fault::Cut, true));
    let mut incoming = within(client.send(Outgoing::post("/", vec![bytes("2")]))).await.unwrap();
    assert_eq!(drain(&mut incoming).await, (b"second".to_vec(), Ok(())));
    drop(incoming);
    let bodies: Vec<_> = upstream.seen().await.into_iter().map(|seen| seen.body).collect();
    assert_eq!(bodies, [b"1", b"2"]);
}

#[tokio::test]
async fn a_tls_server_that_is_none_is_told() {
    let check = async |script: Vec<Act>, fault, retryable, text: &str| {
        let upstream = Upstream::start(vec![script]).await;
        let mut options = ClientOptions::new(format!("https://{}", upstream.addr));
        options.connect_timeout = Duration::from_millis(200);
        let error = outcome(options, Outgoing::post("/", vec![bytes("{}")])).await.unwrap_err();
        let (found, origin, again, sent, told) = told(&error, &upstream.addr.to_string());
        assert_eq!((found, origin, again, sent), (fault, Origin::Upstream, retryable, false), "{told}");
        assert!(told.starts_with(text), "{told}");
        upstream.seen().await;
    };
    let plain = vec![Act::Read(10), Act::Send(b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec()), Act::Finish];
    check(plain, Fault::Tls, false, "the TLS handshake with `HOST` failed: ").await;
    check(vec![Act::Read(10), Act::Hold], Fault::ConnectTimeout, true, "connecting to `HOST` took too long")
        .await;
}

#[tokio::test]
async fn a_proxy_that_refuses_is_told() {
    let check = async |answer: &str, text: &str| {
        let script = vec![Act::Head, Act::Send(answer.as_bytes().to_vec()), Act::Finish];
        let upstream = Upstream::start(vec![script]).await;
        let mut options = ClientOptions::new("https://provider.invalid");
        options.proxies.https = Some(Secret::new(format!("http://user:word@{}", upstream.addr)));
        let error = outcome(options, Outgoing::post("/", vec![bytes("{}")])).await.unwrap_err();
        let expect = (Fault::Proxy, Origin::Upstream, false, false, text.to_owned());
        assert_eq!(told(&error, "\0"), expect);
        let head = upstream.seen().await.remove(0).head;
        assert!(head.starts_with("CONNECT provider.invalid:443 HTTP/1.1\r\n"), "{head}");
    };
    let start = "the proxy on the way to `provider.invalid` failed: ";
    check("HTTP/1.1 407 Auth\r\n\r\n", &format!("{start}proxy authorization required")).await;
    check("HTTP/1.1 502 Bad\r\n\r\n", &format!("{start}it would not open a tunnel")).await;

    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut options = ClientOptions::new("https://provider.invalid");
    options.proxies.https = Some(Secret::new(format!("http://user:word@{}", listener.local_addr().unwrap())));
    drop(listener);
    let error = outcome(options, Outgoing::post("/", vec![bytes("{}")])).await.unwrap_err();
    let expect = (Fault::Proxy, Origin::Upstream, false, false, format!("{start}it refused the connection"));
    assert_eq!(told(&error, "\0"), expect);
}
