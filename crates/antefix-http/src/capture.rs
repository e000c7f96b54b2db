//! Captured requests: what was sent, byte for byte, and what it cost.
//!
//! For request `n` of a folder there are two files, laid out in `docs/formats/capture.md`:
//! - `000001.body.json`: the request's body exactly as sent;
//! - `000001.meta.json`: times, method, path and headers of the request, and the status, usage and message id
//!   of its answer; written once the answer is known.
//!
//! Times are milliseconds since the Unix epoch, or of a virtual clock. Keys and cookies are left out.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use antefix_wire::json::{Body, Node, write_string};
use antefix_wire::usage::merge_json;

/// A folder of captured requests. Several processes may write to one folder: each request has a number of its
/// own.
#[derive(Debug)]
pub struct Capture {
    folder: PathBuf,
    next: AtomicU64,
}

impl Capture {
    /// Uses a folder, which is made if it is not there; numbers go on after the highest one in it.
    ///
    /// # Errors
    /// When the folder cannot be made or read.
    pub fn open(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let mut highest = 0;
        for entry in fs::read_dir(folder)? {
            let name = entry?.file_name();
            let number =
                name.to_str().and_then(|name| name.split('.').next()).and_then(|text| text.parse().ok());
            highest = highest.max(number.unwrap_or(0));
        }
        Ok(Self { folder: folder.to_owned(), next: AtomicU64::new(u64::saturating_add(highest, 1)) })
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes a request's body, given in pieces, and gives it its number.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn body(&self, pieces: &[impl AsRef<[u8]>]) -> io::Result<u64> {
        let (number, mut file) = self.claim()?;
        for piece in pieces {
            file.write_all(piece.as_ref())?;
        }
        Ok(number)
    }

    /// Writes what is known of request `number` once it has ended.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn meta(&self, number: u64, meta: &Meta<'_>) -> io::Result<()> {
        fs::write(self.path(number, "meta"), meta.render(number))
    }

    /// The next number whose file is not there yet, and that file.
    fn claim(&self) -> io::Result<(u64, File)> {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            match OpenOptions::new().write(true).create_new(true).open(self.path(number, "body")) {
                Ok(file) => return Ok((number, file)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn path(&self, number: u64, part: &str) -> PathBuf {
        self.folder.join(format!("{number:06}.{part}.json"))
    }
}

/// What is kept of a request beside its body.
#[derive(Clone, Debug)]
pub struct Meta<'a> {
    /// When the request started, in milliseconds.
    pub at_ms: u64,
    /// When the first byte of the answer's body came.
    pub first_byte_at_ms: Option<u64>,
    /// `POST`, …
    pub method: &'a str,
    /// With the query.
    pub path: &'a str,
    /// Names in lower case, values that may be shown; keys and cookies among them are left out.
    pub headers: &'a [(String, String)],
    /// The answer's status, if there was an answer.
    pub status: Option<u16>,
    /// What the answer said it cost.
    pub answer: Answer,
    /// The session that the request is of, where whoever captures knows it.
    pub session: Option<&'a str>,
}

impl Meta<'_> {
    fn render(&self, number: u64) -> Vec<u8> {
        let mut out = format!(
            r#"{{"n":{number},"at_ms":{},"first_byte_at_ms":{},"method":"#,
            self.at_ms,
            or_null(self.first_byte_at_ms)
        )
        .into_bytes();
        write_string(&mut out, self.method);
        out.extend_from_slice(br#","path":"#);
        write_string(&mut out, self.path);
        out.extend_from_slice(br#","headers":"#);
        write_headers(&mut out, self.headers);
        let usage = self.answer.usage.as_deref();
        let rest = format!(r#","status":{},"usage":{},"message_id":"#, or_null(self.status), or_null(usage));
        out.extend_from_slice(rest.as_bytes());
        write_text(&mut out, self.answer.message_id.as_deref());
        out.extend_from_slice(br#","session":"#);
        write_text(&mut out, self.session);
        out.extend_from_slice(b"}\n");
        out
    }
}

/// What an answer says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The last usage object, raw JSON.
    pub usage: Option<String>,
    /// The message's id.
    pub message_id: Option<String>,
}

impl Answer {
    /// Reads an answer of the Messages API or of Chat Completions, whole or cut: JSON or server-sent events.
    pub fn read(body: &[u8]) -> Self {
        if let Ok(message) = Body::parse(body) {
            return Self::of_message(message.root());
        }
        let mut answer = Self::default();
        for data in String::from_utf8_lossy(body).lines().filter_map(|line| line.strip_prefix("data:")) {
            if let Ok(event) = Body::parse(data) {
                answer.event(event.root());
            }
        }
        answer
    }

    fn of_message(message: Node<'_>) -> Self {
        let id = message.get("id").and_then(|id| id.str()).map(|id| id.into_owned());
        Self { usage: message.get("usage").map(|usage| usage.raw().to_owned()), message_id: id }
    }

    fn event(&mut self, event: Node<'_>) {
        if let Some(message) = event.get("message") {
            *self = Self::of_message(message);
            return;
        }
        // Each chunk of a chat completion names it; an event of a message has no id.
        if let Some(id) = event.get("id").and_then(|id| id.str()) {
            self.message_id = Some(id.into_owned());
        }
        if let Some(later) = event.get("usage").filter(|usage| !usage.is_null()) {
            self.usage = Some(match self.usage.take().map(Body::parse) {
                Some(Ok(earlier)) => {
                    // INVARIANT: the usage is made of JSON texts, so nothing is replaced.
                    String::from_utf8_lossy(&merge_json(earlier.root(), later)).into_owned()
                }
                _ => later.raw().to_owned(),
            });
        }
    }
}

fn write_headers(out: &mut Vec<u8>, headers: &[(String, String)]) {
    out.push(b'{');
    let mut written: Vec<&str> = Vec::new();
    for (name, _) in headers {
        if SECRET.contains(&name.as_str()) || written.contains(&name.as_str()) {
            continue;
        }
        if !written.is_empty() {
            out.push(b',');
        }
        written.push(name);
        write_string(out, name);
        out.push(b':');
        let values: Vec<_> =
            headers.iter().filter(|(key, _)| key == name).map(|(_, value)| value.as_str()).collect();
        write_string(out, &values.join(", "));
    }
    out.push(b'}');
}

fn write_text(out: &mut Vec<u8>, text: Option<&str>) {
    match text {
        Some(text) => write_string(out, text),
        None => out.extend_from_slice(b"null"),
    }
}

fn or_null<T: std::fmt::Display>(value: Option<T>) -> String {
    value.map_or_else(|| "null".to_owned(), |value| value.to_string())
}

/// Headers whose values are secret.
const SECRET: [&str; 5] = ["authorization", "x-api-key", "cookie", "set-cookie", "proxy-authorization"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_an_answer_cost() {
        let check = |body: &str, usage: Option<&str>, id: Option<&str>| {
            let expect = Answer { usage: usage.map(str::to_owned), message_id: id.map(str::to_owned) };
            assert_eq!(Answer::read(body.as_bytes()), expect, "{body}");
        };
        let event = |data: &str| format!("event: any\ndata: {data}\n\n");
        let start = event(
            r#"{"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":7,"output_tokens":1}}}"#,
        );
        let delta = event(
            r#"{"type":"message_delta","delta":{},"usage":{"output_tokens":9,"cache_read_input_tokens":3}}"#,
        );
        let unsaid = event(r#"{"type":"message_delta","usage":{"input_tokens":null,"output_tokens":9}}"#);
        let merged = r#"{"input_tokens":7,"output_tokens":9,"cache_read_input_tokens":3}"#;
        check("", None, None);
        check("not json", None, None);
        check(r#"{"type":"error","error":{}}"#, None, None);
        check(
            r#"{"id":"msg_2","usage":{ "input_tokens": 1.0e2 }}"#,
            Some(r#"{ "input_tokens": 1.0e2 }"#),
            Some("msg_2"),
        );
        check(&start, Some(r#"{"input_tokens":7,"output_tokens":1}"#), Some("msg_1"));
        check(&format!("{start}{delta}"), Some(merged), Some("msg_1"));
        check(
            &format!("{start}{}", &delta[..delta.len() - 9]),
            Some(r#"{"input_tokens":7,"output_tokens":1}"#),
            Some("msg_1"),
        );
        check(&delta, Some(r#"{"output_tokens":9,"cache_read_input_tokens":3}"#), None);
        let kept = r#"{"input_tokens":7,"output_tokens":9}"#;
        check(&format!("{start}{unsaid}"), Some(kept), Some("msg_1"));
        let chunk = "data: {\"id\":\"chatcmpl-1\",\"choices\":[{}],\"usage\":null}\n\n";
        let last = "data: {\"id\":\"chatcmpl-1\",\"choices\":[],\"usage\":{\"prompt_tokens\":7}}\n\ndata: [DONE]\n\n";
        check(chunk, None, Some("chatcmpl-1"));
        check(&format!("{chunk}{last}"), Some(r#"{"prompt_tokens":7}"#), Some("chatcmpl-1"));
    }

    #[test]
    fn writes_two_files_a_request_and_no_secret() {
        let folder = tempfile::tempdir().unwrap();
        let capture = Capture::open(folder.path()).unwrap();
        let other = Capture::open(folder.path()).unwrap();
        let text = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        let headers = [
            ("x-api-key", "k1"),
            ("accept", "a"),
            ("authorization", "k2"),
            ("accept", "b\n"),
            ("cookie", "k3"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(capture.body(&["{\"a\":", "1}"]).unwrap(), 1);
        assert_eq!(other.body(&["{}"]).unwrap(), 2, "a number is given once");
        let mut meta = Meta {
            at_ms: 5,
            first_byte_at_ms: Some(6),
            method: "POST",
            path: "/v1/messages?beta=true",
            headers: &headers,
            status: Some(200),
            answer: Answer { usage: Some("{}".to_owned()), message_id: Some("msg_1".to_owned()) },
            session: Some("s1"),
        };
        capture.meta(1, &meta).unwrap();
        meta.status = None;
        meta.first_byte_at_ms = None;
        meta.answer = Answer::default();
        meta.headers = &[];
        meta.session = None;
        capture.meta(2, &meta).unwrap();
        assert_eq!(text("000001.body.json"), "{\"a\":1}");
        assert_eq!(
            text("000001.meta.json"),
            "{\"n\":1,\"at_ms\":5,\"first_byte_at_ms\":6,\"method\":\"POST\",\"path\":\"/v1/messages?beta=true\",\
             \"headers\":{\"accept\":\"a, b\\n\"},\"status\":200,\"usage\":{},\"message_id\":\"msg_1\",\"session\":\"s1\"}\n"
        );
        assert_eq!(
            text("000002.meta.json"),
            "{\"n\":2,\"at_ms\":5,\"first_byte_at_ms\":null,\"method\":\"POST\",\"path\":\"/v1/messages?beta=true\",\
             \"headers\":{},\"status\":null,\"usage\":null,\"message_id\":null,\"session\":null}\n"
        );
        assert_eq!(Capture::open(folder.path()).unwrap().body(&["x"]).unwrap(), 3, "numbers go on");
    }
}
