use super::plain_run::plain_run;
use super::{Kind, Span};

/// What a scan accepts at the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Length of the text in bytes; never above 4 GiB − 1.
    pub bytes: usize,
    /// Nesting of arrays and objects.
    pub depth: usize,
    /// Number of values and keys.
    pub spans: usize,
}

impl Default for Limits {
    /// 256 MiB, 1,024 levels, 32 Mi values.
    fn default() -> Self {
        Self { bytes: 256 << 20, depth: 1024, spans: 32 << 20 }
    }
}

/// A text that is not JSON, or too much of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at byte {offset}")]
pub struct ScanError {
    /// What is wrong.
    pub kind: ScanErrorKind,
    /// Offset of the first byte that cannot be accepted; the text's length if it ends too early.
    pub offset: usize,
}

/// The kinds of [`ScanError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScanErrorKind {
    /// The bytes are not UTF-8.
    #[error("invalid UTF-8")]
    Utf8,
    /// The text ends inside a value.
    #[error("unexpected end of JSON")]
    End,
    /// A value was expected here.
    #[error("expected a value")]
    Value,
    /// A member's key was expected here.
    #[error("expected a key")]
    Key,
    /// A colon was expected here.
    #[error("expected `:`")]
    Colon,
    /// A comma or the closing bracket was expected here.
    #[error("expected `,` or a closing bracket")]
    Comma,
    /// The number is not written as JSON has it.
    #[error("invalid number")]
    Number,
    /// A control character stands unescaped in a string.
    #[error("unescaped control character in a string")]
    Control,
    /// The backslash does not start a known escape.
    #[error("invalid escape")]
    Escape,
    /// Something other than white space follows the value.
    #[error("trailing characters")]
    Trailing,
    /// The text is longer than [`Limits::bytes`].
    #[error("JSON text too long")]
    TooLong,
    /// The text is nested deeper than [`Limits::depth`].
    #[error("JSON nested too deeply")]
    TooDeep,
    /// The text holds more values than [`Limits::spans`].
    #[error("too many JSON values")]
    TooMany,
}

/// Finds the spans of `text`; iterative, so that nesting cannot overflow the stack.
pub(super) fn scan(text: &str, limits: Limits) -> Result<Vec<Span>, ScanError> {
    let max = limits.bytes.min(u32::MAX as usize);
    if text.len() > max {
        return Err(ScanError { kind: ScanErrorKind::TooLong, offset: max });
    }
    let mut scanner = Scanner {
        bytes: text.as_bytes(),
        at: 0,
        spans: Vec::with_capacity(text.len() / 64),
        open: Vec::new(),
        limits,
    };
    scanner.document()?;
    Ok(scanner.spans)
}

type Step<T> = Result<T, ScanError>;

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    spans: Vec<Span>,
    /// Indices of the containers that are still open.
    open: Vec<u32>,
    limits: Limits,
}

impl Scanner<'_> {
    fn document(&mut self) -> Step<()> {
        self.white_space();
        self.value()?;
        while let Some(&container) = self.open.last() {
            self.white_space();
            self.continue_container(container as usize)?;
        }
        self.white_space();
        if self.at < self.bytes.len() { self.fail(ScanErrorKind::Trailing) } else { Ok(()) }
    }

    /// Takes one step in an open container: its end, or its next item or member.
    fn continue_container(&mut self, container: usize) -> Step<()> {
        // INVARIANT: `container` is the index of a span that was pushed when it was opened.
        let is_object = self.spans[container].kind == Kind::Object;
        let is_empty = self.spans.len() == container + 1;
        let close = if is_object { b'}' } else { b']' };
        if self.peek() == Some(close) {
            self.at += 1;
            self.spans[container].end = self.at as u32;
            self.spans[container].next = self.spans.len() as u32;
            self.open.pop();
            return Ok(());
        }
        if !is_empty {
            self.expect(b',', ScanErrorKind::Comma)?;
            self.white_space();
        }
        if is_object {
            if self.peek() != Some(b'"') {
                return self.fail_here(ScanErrorKind::Key);
            }
            self.string()?;
            self.white_space();
            self.expect(b':', ScanErrorKind::Colon)?;
            self.white_space();
        }
        self.value()
    }

    fn value(&mut self) -> Step<()> {
        match self.peek() {
            Some(b'{') => self.open_container(Kind::Object),
            Some(b'[') => self.open_container(Kind::Array),
            Some(b'"') => self.string(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.literal(b"true", Kind::Bool),
            Some(b'f') => self.literal(b"false", Kind::Bool),
            Some(b'n') => self.literal(b"null", Kind::Null),
            _ => self.fail_here(ScanErrorKind::Value),
        }
    }

    fn open_container(&mut self, kind: Kind) -> Step<()> {
        if self.open.len() >= self.limits.depth {
            return self.fail(ScanErrorKind::TooDeep);
        }
        let index = self.spans.len() as u32;
        self.push(self.at, self.at + 1, kind, false)?;
        self.open.push(index);
        self.at += 1;
        Ok(())
    }

    fn literal(&mut self, word: &[u8], kind: Kind) -> Step<()> {
        let start = self.at;
        for &byte in word {
            self.expect(byte, ScanErrorKind::Value)?;
        }
        self.push(start, self.at, kind, false)
    }

    fn number(&mut self) -> Step<()> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'0'..=b'9' | b'.')) {
            return self.fail(ScanErrorKind::Number);
        }
        self.push(start, self.at, Kind::Number, false)
    }

    fn digits(&mut self) -> Step<()> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { self.fail_here(ScanErrorKind::Number) } else { Ok(()) }
    }

    fn string(&mut self) -> Step<()> {
        let start = self.at;
        let mut escaped = false;
        self.at += 1;
        loop {
            // INVARIANT: `at` only moves past bytes that were looked at.
            self.at += plain_run(&self.bytes[self.at..]);
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                Some(_) => return self.fail(ScanErrorKind::Control),
                None => return self.fail(ScanErrorKind::End),
            }
        }
        self.at += 1;
        self.push(start, self.at, Kind::String, escaped)
    }

    fn escape(&mut self) -> Step<()> {
        let start = self.at;
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                self.at += 1;
                for _ in 0..4 {
                    match self.peek() {
                        Some(byte) if byte.is_ascii_hexdigit() => self.at += 1,
                        Some(_) => return Err(ScanError { kind: ScanErrorKind::Escape, offset: start }),
                        None => return self.fail(ScanErrorKind::End),
                    }
                }
            }
            Some(_) => return Err(ScanError { kind: ScanErrorKind::Escape, offset: start }),
            None => return self.fail(ScanErrorKind::End),
        }
        Ok(())
    }

    fn white_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn push(&mut self, start: usize, end: usize, kind: Kind, escaped: bool) -> Step<()> {
        if self.spans.len() >= self.limits.spans {
            return Err(ScanError { kind: ScanErrorKind::TooMany, offset: start });
        }
        let next = self.spans.len() as u32 + 1;
        self.spans.push(Span { start: start as u32, end: end as u32, next, kind, escaped });
        Ok(())
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn expect(&mut self, byte: u8, kind: ScanErrorKind) -> Step<()> {
        if self.peek() == Some(byte) {
            self.at += 1;
            Ok(())
        } else {
            self.fail_here(kind)
        }
    }

    fn fail<T>(&self, kind: ScanErrorKind) -> Step<T> {
        Err(ScanError { kind, offset: self.at })
    }

    /// Fails with `kind`, or with [`ScanErrorKind::End`] where the text is over.
    fn fail_here<T>(&self, kind: ScanErrorKind) -> Step<T> {
        self.fail(if self.at < self.bytes.len() { kind } else { ScanErrorKind::End })
    }
}
