//! Goes through a text file once: digest, number of lines, and the lines of a window.

use std::io::{self, Read};

use memchr::{memchr, memchr_iter, memrchr};

/// Which lines to keep, and how much of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// The first line, counted from 1.
    pub(super) first: u64,
    /// Number of lines at most.
    pub(super) lines: usize,
    /// Bytes of text at most; one line is always kept.
    pub(super) bytes: usize,
    /// Bytes of one line at most.
    pub(super) line_bytes: usize,
}

/// What going through a file found.
#[derive(Debug)]
pub(super) struct Scan {
    window: Window,
    pub(super) digest: blake3::Hash,
    pub(super) total_lines: u64,
    total_bytes: u64,
    kept: u64,
    text: String,
    full: bool,
    cut: bool,
    lossy: bool,
    crlf: bool,
    lf: bool,
    /// The start of the line that is being read, and its length.
    line: Vec<u8>,
    line_len: u64,
}

impl Scan {
    /// Goes through a file in bounded memory; `stop` is asked now and then.
    pub(super) fn run(
        file: &mut impl Read,
        window: Window,
        most_bytes: u64,
        stop: impl Fn() -> bool,
    ) -> io::Result<Self> {
        let mut scan = Self::new(window);
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            if stop() {
                return Err(io::Error::other("cancelled by the user"));
            }
            let count = match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let chunk = buffer.get(..count).unwrap_or_default();
            hasher.update(chunk);
            scan.push(chunk);
            if scan.total_bytes > most_bytes {
                return Err(io::Error::other(format!("it does not end within {most_bytes} bytes")));
            }
        }
        if scan.line_len > 0 {
            scan.end_line(false);
        }
        scan.digest = hasher.finalize();
        Ok(scan)
    }

    fn new(window: Window) -> Self {
        Self {
            window,
            digest: blake3::hash(b""),
            total_lines: 0,
            total_bytes: 0,
            kept: 0,
            text: String::new(),
            full: false,
            cut: false,
            lossy: false,
            crlf: false,
            lf: false,
            line: Vec::new(),
            line_len: 0,
        }
    }

    /// Whether every byte of the file is in the text as it is.
    pub(super) fn is_whole(&self) -> bool {
        self.kept == self.total_lines && !self.cut && !self.lossy
    }

    /// The first and the last line that are kept; `None` if there is none.
    pub(super) fn lines(&self) -> Option<(u64, u64)> {
        (self.kept > 0).then(|| (self.window.first, self.window.first + self.kept - 1))
    }

    /// The numbered lines, and remarks; `ranged` says that a part was asked for.
    pub(super) fn render(self, ranged: bool) -> String {
        if self.total_lines == 0 {
            return EMPTY.to_owned();
        }
        let mut text = self.text;
        if self.kept < self.total_lines {
            let (first, total, bytes) = (self.window.first, self.total_lines, self.total_bytes);
            let last = first + self.kept - 1;
            text.push_str(&format!("[lines {first} to {last} of {total}"));
            if !ranged {
                text.push_str(&format!("; {bytes} bytes are too many to show: use a range or grep"));
            }
            text.push_str("]\n");
        }
        if self.lossy {
            text.push_str("[bytes that are not UTF-8 are shown as U+FFFD]\n");
        }
        match (self.crlf, self.lf) {
            (true, false) => {
                text.push_str(CRLF);
                text.push('\n');
            }
            (true, true) => text.push_str("[some line ends are CRLF, some LF]\n"),
            (false, _) => {}
        }
        text.pop();
        text
    }

    fn push(&mut self, chunk: &[u8]) {
        self.total_bytes += chunk.len() as u64;
        let mut rest = chunk;
        while !self.full && !rest.is_empty() {
            let end = memchr(b'\n', rest);
            let (part, behind) = rest.split_at(end.unwrap_or(rest.len()));
            self.extend_line(part);
            rest = behind;
            if end.is_some() {
                self.end_line(true);
                rest = rest.get(1..).unwrap_or_default();
            }
        }
        // Nothing more is kept: only the lines are counted.
        if let Some(last) = memrchr(b'\n', rest) {
            self.total_lines += memchr_iter(b'\n', rest).count() as u64;
            self.line_len = (rest.len() - last - 1) as u64;
        } else {
            self.line_len += rest.len() as u64;
        }
    }

    fn extend_line(&mut self, part: &[u8]) {
        self.line_len += part.len() as u64;
        let room = (self.window.line_bytes + LOOK_AHEAD).saturating_sub(self.line.len());
        self.line.extend_from_slice(part.get(..room).unwrap_or(part));
    }

    fn end_line(&mut self, with_end: bool) {
        self.total_lines += 1;
        let wanted = self.total_lines >= self.window.first && !self.full;
        if wanted {
            self.keep_line(with_end);
        }
        self.line.clear();
        self.line_len = 0;
    }

    fn keep_line(&mut self, with_end: bool) {
        let len_before = self.text.len();
        let is_cut = self.line_len > (self.window.line_bytes + LOOK_AHEAD) as u64;
        let mut bytes = self.line.as_slice();
        let crlf = with_end && !is_cut && bytes.ends_with(b"\r");
        if crlf {
            bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        }
        if self.total_lines == 1 {
            bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
        }
        if is_cut {
            // INVARIANT: `char_start` is at most the length.
            bytes = &bytes[..char_start(bytes, self.window.line_bytes)];
        }
        let line = String::from_utf8_lossy(bytes);
        self.text.push_str(&format!("{:>6}\t{line}", self.total_lines));
        if is_cut {
            self.text.push_str(&format!("… [cut: the line has {} bytes]", self.line_len));
        }
        self.text.push('\n');
        if self.kept > 0 && self.text.len() > self.window.bytes {
            self.text.truncate(len_before);
            self.full = true;
            return;
        }
        self.lossy |= matches!(line, std::borrow::Cow::Owned(_));
        self.cut |= is_cut;
        self.crlf |= crlf;
        self.lf |= with_end && !is_cut && !crlf;
        self.kept += 1;
        self.full = self.kept >= self.window.lines as u64;
    }
}

/// The start of the character that the byte at `at` belongs to; the end where there is no such byte.
pub(crate) fn char_start(bytes: &[u8], at: usize) -> usize {
    let is_start = |at: &usize| bytes.get(*at).is_none_or(|byte| byte & 0xc0 != 0x80);
    (at.saturating_sub(3)..=at).rev().find(is_start).unwrap_or(at).min(bytes.len())
}

/// What is shown of a file without content.
pub(super) const EMPTY: &str = "[the file is empty]";

/// The remark on a file all of whose lines end in CRLF.
pub(super) const CRLF: &str = "[line ends are CRLF]";

const BUFFER_BYTES: usize = 128 << 10;

/// Bytes that a line may have over its limit before it is cut: cutting is to save more than its note takes.
const LOOK_AHEAD: usize = 40;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
