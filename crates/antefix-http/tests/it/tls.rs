//! The client over TLS, with HTTP/1.1 and HTTP/2.
//!
//! `tls/ca.pem` is a root made for this test, whose key was thrown away; `tls/server.pem` is signed by it for
//! `localhost` and `127.0.0.1`; `tls/server.key` protects nothing.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use antefix_http::client::{Client, ClientOptions, Outgoing};
use antefix_http::{Bytes, Fault, Origin};
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use crate::upstream::{drain, within};

const ROOT: &[u8] = include_bytes!("tls/ca.pem");

/// Answers with what it was asked: version, method, `content-length`, then the body, then a cut where the path
/// says so.
struct TlsServer {
    addr: SocketAddr,
    task: JoinHandle<()>,
}

impl TlsServer {
    async fn start(alpn: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(server_config(alpn)));
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                // A client that does not trust us leaves here.
                let Ok(stream) = acceptor.accept(stream).await else { continue };
                let io = TokioIo::new(stream);
                let _ = match alpn {
                    "h2" => {
                        let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                        builder.serve_connection(io, service_fn(echo)).await
                    }
                    _ => {
                        hyper::server::conn::http1::Builder::new()
                            .serve_connection(io, service_fn(echo))
                            .await
                    }
                };
            }
        });
        Self { addr, task }
    }

    fn client(&self, roots: &[u8]) -> Client {
        let mut options = ClientOptions::new(format!("https://{}", self.addr));
        options.extra_roots = roots.to_vec();
        Client::new(options).unwrap()
    }
}

impl Drop for TlsServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn server_config(alpn: &str) -> rustls::ServerConfig {
    let certificate = CertificateDer::from_pem_slice(include_bytes!("tls/server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("tls/server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    config.alpn_protocols = vec![alpn.as_bytes().to_vec()];
    config
}

async fn echo(request: Request<Incoming>) -> Result<Response<Echo>, Infallible> {
    let length = request.headers().get("content-length").map(|value| value.to_str().unwrap().to_owned());
    let head = format!("{:?} {} {}\n", request.version(), request.method(), length.unwrap_or_default());
    let cut = request.uri().path() == "/cut";
    let body = request.into_body().collect().await.unwrap().to_bytes();
    Ok(Response::new(Echo { left: vec![body, head.into()], cut }))
}

struct Echo {
    left: Vec<Bytes>,
    cut: bool,
}

impl Body for Echo {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        std::task::Poll::Ready(match self.left.pop() {
            Some(bytes) => Some(Ok(Frame::data(bytes))),
            None => self.cut.then(|| Err(std::io::ErrorKind::ConnectionReset.into())),
        })
    }
}

#[tokio::test]
async fn a_body_travels_the_same_over_tls() {
    for (alpn, version) in [("http/1.1", "HTTP/1.1"), ("h2", "HTTP/2.0")] {
        let server = TlsServer::start(alpn).await;
        let body: Vec<u8> = (0..300_000).map(|n| (n * 31 % 251) as u8).collect();
        let observed = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&observed);
        let pieces = vec![Bytes::copy_from_slice(&body[..100]), Bytes::copy_from_slice(&body[100..])];
        let request = Outgoing::post("/v1/messages", pieces)
            .observed(move |piece| into.lock().unwrap().extend_from_slice(piece));
        let mut incoming = within(server.client(ROOT).send(request)).await.unwrap();
        let (answer, end) = drain(&mut incoming).await;
        let expect = [format!("{version} POST 300000\n").as_bytes(), &body].concat();
        assert!(answer == expect && end == Ok(()), "{alpn}: {end:?} after {} bytes", answer.len());
        assert!(*observed.lock().unwrap() == body, "{alpn}");
    }
}

#[tokio::test]
async fn a_stream_cut_over_tls_is_told() {
    for alpn in ["http/1.1", "h2"] {
        let server = TlsServer::start(alpn).await;
        let request = Outgoing::post("/cut", vec![Bytes::from_static(b"{}")]);
        let error = match within(server.client(ROOT).send(request)).await {
            Ok(mut incoming) => drain(&mut incoming).await.1.unwrap_err(),
            Err(error) => error,
        };
        let facts = (error.fault, error.origin, error.retryable, error.sent);
        assert_eq!(facts, (Fault::Cut, Origin::Upstream, true, true), "{alpn}: {error}");
    }
}

#[tokio::test]
async fn a_certificate_nobody_vouches_for_is_refused() {
    let server = TlsServer::start("h2").await;
    let error = within(server.client(b"").send(Outgoing::get("/"))).await.unwrap_err();
    let facts = (error.fault, error.origin, error.retryable, error.sent);
    assert_eq!(facts, (Fault::Tls, Origin::Upstream, false, false), "{error}");
    let text =
        format!("the TLS handshake with `{}` failed: invalid peer certificate: UnknownIssuer", server.addr);
    assert_eq!(error.to_string(), text);
}

#[test]
fn roots_that_cannot_be_read_are_told() {
    let mut options = ClientOptions::new("https://127.0.0.1:1");
    options.extra_roots = b"-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n".to_vec();
    let error = Client::new(options).unwrap_err();
    assert_eq!((error.fault, error.origin), (Fault::Roots, Origin::Ours));
}
