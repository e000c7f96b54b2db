use std::io::{BufRead, BufReader, PipeWriter, Write, pipe, sink};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use antefix_mcp::scripted::{Around, serve};

/// A scripted server behind an address: one thread for each connection, one script for all of them.
pub struct Front {
    pub url: String,
    pub seen: Arc<Mutex<Vec<String>>>,
    shared: Arc<Shared>,
}

/// How it answers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Json,
    Events,
    /// Events, of which the last of a call is missing.
    Cut,
}

struct Shared {
    style: Style,
    token: Option<String>,
    seen: Arc<Mutex<Vec<String>>>,
    server: Mutex<(PipeWriter, Box<dyn BufRead + Send>)>,
    session: Mutex<u32>,
}

impl Front {
    pub fn start(script: &str, style: Style, token: Option<&str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (input, to_server) = pipe().unwrap();
        let (from_server, output) = pipe().unwrap();
        let script = script.to_owned();
        std::thread::spawn(move || {
            let around = Around { input: BufReader::new(input), output, errors: sink(), variable: &|_| None };
            drop(serve(&script, around));
        });
        let seen = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::new(Shared {
            style,
            token: token.map(str::to_owned),
            seen: Arc::clone(&seen),
            server: Mutex::new((to_server, Box::new(BufReader::new(from_server)))),
            session: Mutex::new(1),
        });
        let url = format!("http://{}/mcp?k=v", listener.local_addr().unwrap());
        let accepting = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&accepting);
                std::thread::spawn(move || shared.connection(stream));
            }
        });
        Self { url, seen, shared }
    }

    /// Forgets all sessions.
    pub fn forget(&self) {
        *self.shared.session.lock().unwrap() += 1;
    }
}

impl Shared {
    fn connection(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut writer = stream;
        while let Some((line, head, body)) = request(&mut reader) {
            let answer = self.answer(&line, &head, &body);
            if writer.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
    }

    fn answer(&self, line: &str, head: &str, body: &str) -> String {
        let header = |name: &str| {
            head.lines()
                .find_map(|line| line.split_once(": ").filter(|(key, _)| key.eq_ignore_ascii_case(name)))
        };
        let method = line.split(' ').next().unwrap_or_default();
        let named =
            body.split("\"method\":\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
        let version = header("mcp-protocol-version").map_or("-", |(_, version)| version);
        self.seen.lock().unwrap().push(format!("{line} {named} {version}"));
        let token = header("authorization").map(|(_, token)| token);
        if self.token.is_some() && self.token.as_deref() != token {
            return "HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Bearer\r\ncontent-length: 0\r\n\r\n"
                .to_owned();
        }
        let session = format!("session-{}", self.session.lock().unwrap());
        let has_session = header("mcp-session-id").is_some_and(|(_, id)| id == session);
        match (method, named) {
            ("GET", _) => "HTTP/1.1 405 Method Not Allowed\r\ncontent-length: 0\r\n\r\n".to_owned(),
            ("DELETE", _) => "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_owned(),
            (_, named) if named != "initialize" && !has_session => {
                "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_owned()
            }
            _ => self.posted(body, &session),
        }
    }

    /// What the server says to a message.
    fn posted(&self, body: &str, session: &str) -> String {
        let mut server = self.server.lock().unwrap();
        server.0.write_all(format!("{body}\n").as_bytes()).unwrap();
        if !body.contains("\"id\":") {
            return "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_owned();
        }
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            server.1.read_line(&mut line).unwrap();
            let is_answer = line.contains("\"id\":");
            lines.push(line.trim().to_owned());
            if is_answer {
                break;
            }
        }
        let (kind, text) = match self.style {
            Style::Json => ("application/json; charset=utf-8", lines.pop().unwrap()),
            Style::Events | Style::Cut => {
                if self.style == Style::Cut && body.contains("tools/call") {
                    lines.pop();
                }
                let events: Vec<_> =
                    lines.iter().map(|line| format!(": ping\n\nevent: message\ndata: {line}\n\n")).collect();
                ("text/event-stream", events.concat())
            }
        };
        format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nmcp-session-id: {session}\r\ncontent-length: {}\r\n\r\n{text}",
            text.len()
        )
    }
}

/// A request's first line, head and body.
fn request(reader: &mut impl BufRead) -> Option<(String, String, String)> {
    let (mut head, mut line) = (String::new(), String::new());
    while reader.read_line(&mut line).ok()? > 0 && line != "\r\n" {
        head.push_str(&line);
        line.clear();
    }
    let first = head.lines().next()?.to_owned();
    let length =
        head.lines().find_map(|line| line.strip_prefix("content-length: ")?.trim().parse::<usize>().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some((first, head, String::from_utf8(body).unwrap()))
}
