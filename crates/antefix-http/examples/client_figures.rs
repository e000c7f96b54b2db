//! Prints what the client costs: setting it up, and sending a body of 1 MB over loopback.
#![expect(clippy::disallowed_methods, reason = "it measures wall time for a reader")]

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use antefix_http::client::{Client, ClientOptions, Outgoing};
use antefix_http::{Bytes, HttpError};

const BODY: usize = 1_000_000;
const ROUNDS: usize = 200;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let base_url = format!("http://{}", listener.local_addr()?);
    std::thread::spawn(move || listener.accept().and_then(|(stream, _)| answer(stream)));

    let http = set_up(&base_url)?;
    let http_again = set_up(&base_url)?;
    let https = set_up("https://127.0.0.1:1")?;
    let https_again = set_up("https://127.0.0.1:1")?;
    println!("set up for http: {http:?} the first time, {http_again:?} the second");
    println!("set up for https: {https:?} the first time, {https_again:?} the second");

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut times = runtime.block_on(exchanges(&base_url))?;
    times.sort();
    let median = times.get(ROUNDS / 2).copied().unwrap_or_default();
    let rate = BODY as f64 / median.as_secs_f64() / 1e6;
    println!("send 1 MB in 10 pieces and read the answer: median {median:?} of {ROUNDS} ({rate:.0} MB/s)");
    Ok(())
}

fn set_up(base_url: &str) -> Result<Duration, HttpError> {
    let start = Instant::now();
    let client = Client::new(ClientOptions::new(base_url))?;
    let took = start.elapsed();
    drop(client);
    Ok(took)
}

async fn exchanges(base_url: &str) -> Result<Vec<Duration>, HttpError> {
    let client = Client::new(ClientOptions::new(base_url))?;
    let piece = Bytes::from(vec![b'x'; BODY / 10]);
    let mut times = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let mut incoming = client.send(Outgoing::post("/", vec![piece.clone(); 10])).await?;
        while incoming.chunk().await?.is_some() {}
        times.push(start.elapsed());
    }
    Ok(times)
}

/// Reads requests of that length and answers each.
fn answer(mut stream: TcpStream) -> io::Result<()> {
    let mut buffer = vec![0; 256 * 1024];
    loop {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte)?;
            head.extend_from_slice(&byte);
        }
        let mut left = BODY;
        while left > 0 {
            let most = left.min(buffer.len());
            left -= stream.read(buffer.get_mut(..most).unwrap_or_default())?;
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")?;
    }
}
