//! A server that sends exactly the bytes it is told to, on a real loopback socket.

use std::net::SocketAddr;
use std::time::Duration;

use antefix_http::client::{Client, ClientOptions};
use antefix_http::{Bytes, HttpError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// One step of a scripted connection.
#[derive(Clone, Debug)]
pub enum Act {
    /// Reads to the end of the request's head.
    Head,
    /// Reads as many bytes of the body as the head promised.
    Body,
    /// Reads so many more bytes.
    Read(usize),
    /// Sends bytes.
    Send(Vec<u8>),
    /// Sends bytes one write at a time.
    Drip(Vec<u8>),
    /// Says that nothing more will be sent, and reads until the client closes.
    Finish,
    /// Reads until the client closes, with the connection left open.
    Hold,
    /// Resets the connection.
    Reset,
}

/// What a connection received.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    pub head: String,
    pub body: Vec<u8>,
}

/// The server: plays one script a connection, in order.
pub struct Upstream {
    pub addr: SocketAddr,
    task: JoinHandle<Vec<Seen>>,
}

/// Far longer than anything here takes; reached only when something hangs.
const HANGS: Duration = Duration::from_secs(60);

impl Upstream {
    pub async fn start(scripts: Vec<Vec<Act>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let task = tokio::spawn(async move {
            let mut seen = Vec::new();
            for script in scripts {
                let (mut stream, _) = listener.accept().await.unwrap();
                seen.push(play(&mut stream, script).await);
            }
            seen
        });
        Self { addr, task }
    }

    pub fn base_url(&self) -> String {
        format!("http://{}", self.addr)
    }

    pub fn client(&self) -> Client {
        Client::new(ClientOptions::new(self.base_url())).unwrap()
    }

    /// Waits until every script has been played; what the connections received.
    pub async fn seen(self) -> Vec<Seen> {
        within(self.task).await.unwrap()
    }
}

/// Fails instead of hanging.
pub async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(HANGS, work).await.expect("this hangs")
}

/// Reads an answer to its end: what came, and how it ended.
pub async fn drain(incoming: &mut antefix_http::client::Incoming) -> (Vec<u8>, Result<(), HttpError>) {
    let mut body = Vec::new();
    loop {
        match within(incoming.chunk()).await {
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) => return (body, Ok(())),
            Err(error) => return (body, Err(error)),
        }
    }
}

pub fn bytes(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

/// An answer with a length.
pub fn ok(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

async fn play(stream: &mut TcpStream, script: Vec<Act>) -> Seen {
    let mut seen = Seen::default();
    for act in script {
        match act {
            Act::Head => seen = Seen { head: read_head(stream).await, body: seen.body },
            Act::Body => {
                let length = promised(&seen.head);
                read(stream, &mut seen.body, length).await;
            }
            Act::Read(length) => read(stream, &mut seen.body, length).await,
            Act::Send(bytes) => stream.write_all(&bytes).await.unwrap(),
            Act::Drip(bytes) => {
                stream.set_nodelay(true).unwrap();
                for byte in bytes {
                    stream.write_all(&[byte]).await.unwrap();
                }
            }
            Act::Finish => {
                stream.shutdown().await.unwrap();
                until_closed(stream).await;
            }
            Act::Hold => until_closed(stream).await,
            Act::Reset => stream.set_zero_linger().unwrap(),
        }
    }
    seen
}

async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

async fn read(stream: &mut TcpStream, body: &mut Vec<u8>, length: usize) {
    let mut more = vec![0; length];
    stream.read_exact(&mut more).await.unwrap();
    body.extend_from_slice(&more);
}

async fn until_closed(stream: &mut TcpStream) {
    let mut rest = vec![0; 64 * 1024];
    while stream.read(&mut rest).await.is_ok_and(|length| length > 0) {}
}

fn promised(head: &str) -> usize {
    let line = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    line.expect("a content-length").parse().unwrap()
}
