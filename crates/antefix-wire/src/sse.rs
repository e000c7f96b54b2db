//! Server-sent events from raw bytes, as the HTML standard frames them
//! (<https://html.spec.whatwg.org/multipage/server-sent-events.html>, 2026).
//!
//! Lines end in LF, CR or CRLF; a chunk may be cut anywhere, inside a character or between CR and LF. The
//! events and their bytes do not depend on how the stream was cut.

/// One event of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The event's name; `message` where none is given.
    pub name: String,
    /// Its data lines, joined by LF; bytes that are not UTF-8 become U+FFFD.
    pub data: String,
    /// The event's lines as they came, comments and the closing blank line included.
    pub raw: Vec<u8>,
}

/// A stream that cannot be framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// An event is longer than the parser accepts; the stream cannot be read on.
    #[error("event is longer than {limit} bytes")]
    TooLong {
        /// The parser's limit in bytes.
        limit: usize,
    },
}

/// Cuts a byte stream into events; holds no more than one event.
#[derive(Clone, Debug)]
pub struct Parser {
    limit: usize,
    /// The lines since the last blank one.
    block: Vec<u8>,
    /// No block has ended yet, so a byte order mark may lead this one.
    first: bool,
    /// No byte of the current line has come yet.
    line_is_empty: bool,
    /// The last byte was a CR, whose LF may follow.
    after_cr: bool,
    /// The last line ended in CRLF, so a blank line's CR waits for its LF.
    crlf: bool,
    /// The blank line's CR has come and its LF is awaited.
    awaits_lf: bool,
    too_long: bool,
    without_data: u64,
}

impl Parser {
    /// Makes a parser that accepts events of up to 32 MiB.
    pub fn new() -> Self {
        Self::with_limit(32 << 20)
    }

    /// Makes a parser that accepts events of up to `limit` bytes.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            limit,
            block: Vec::new(),
            first: true,
            line_is_empty: true,
            after_cr: false,
            crlf: false,
            awaits_lf: false,
            too_long: false,
            without_data: 0,
        }
    }

    /// How many events had a name and no data. The standard drops them, and so does the parser; from a server
    /// whose events all have data, one without was spoiled on its way.
    pub fn without_data(&self) -> u64 {
        self.without_data
    }

    /// Takes the next bytes and gives the events that they complete.
    ///
    /// # Errors
    /// [`SseError::TooLong`] once an event has passed the limit, and on every later call. Events completed in
    /// the same call are given first; the error then comes with the next call.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, SseError> {
        let mut events = Vec::new();
        let mut rest = bytes;
        while !self.too_long && !rest.is_empty() {
            let text = rest.iter().position(|byte| matches!(byte, b'\r' | b'\n')).unwrap_or(rest.len());
            let (line, tail) = rest.split_at(text);
            self.text(line, &mut events);
            rest = tail;
            if let Some((&end, tail)) = rest.split_first() {
                self.line_end(end, &mut events);
                rest = tail;
            }
        }
        let fails = self.too_long && events.is_empty();
        if fails { Err(SseError::TooLong { limit: self.limit }) } else { Ok(events) }
    }

    /// Ends the stream and gives the bytes behind the last event, which was cut off before its blank line.
    pub fn finish(self) -> Option<Vec<u8>> {
        (!self.block.is_empty()).then_some(self.block)
    }

    /// Takes bytes without a line end.
    fn text(&mut self, text: &[u8], events: &mut Vec<Event>) {
        if text.is_empty() {
            return;
        }
        self.settle_cr(events);
        self.keep(text);
        self.line_is_empty = false;
    }

    fn line_end(&mut self, end: u8, events: &mut Vec<Event>) {
        if self.after_cr && end == b'\n' {
            self.after_cr = false;
            self.crlf = true;
            self.keep(b"\n");
            if std::mem::take(&mut self.awaits_lf) {
                self.end_block(events);
            }
            return;
        }
        self.settle_cr(events);
        let is_blank = std::mem::replace(&mut self.line_is_empty, true);
        self.keep(&[end]);
        self.after_cr = end == b'\r';
        match (is_blank, self.after_cr && self.crlf) {
            (true, true) => self.awaits_lf = true,
            (true, false) => self.end_block(events),
            (false, _) => {}
        }
        if end == b'\n' {
            self.crlf = false;
        }
    }

    /// Takes note that the byte behind a CR is not its LF.
    fn settle_cr(&mut self, events: &mut Vec<Event>) {
        if std::mem::take(&mut self.after_cr) {
            self.crlf = false;
            if std::mem::take(&mut self.awaits_lf) {
                self.end_block(events);
            }
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = self.limit.saturating_sub(self.block.len());
        self.too_long |= bytes.len() > room;
        let (kept, _) = bytes.split_at(bytes.len().min(room));
        self.block.extend_from_slice(kept);
    }

    fn end_block(&mut self, events: &mut Vec<Event>) {
        let block = std::mem::take(&mut self.block);
        let is_first = std::mem::replace(&mut self.first, false);
        if self.too_long {
            return;
        }
        match decode(block, is_first) {
            Ok(event) => events.push(event),
            Err(WithoutData { named }) => self.without_data += u64::from(named),
        }
    }
}

impl Default for Parser {
    fn default() -> Self {
        Self::new()
    }
}

/// A block that is no event, such as a lone comment.
struct WithoutData {
    named: bool,
}

/// Reads the fields of a block.
fn decode(raw: Vec<u8>, is_first: bool) -> Result<Event, WithoutData> {
    let mut name = Vec::new();
    let mut data: Option<Vec<u8>> = None;
    let start = if is_first && raw.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    for line in raw.get(start..).unwrap_or_default().split(|byte| matches!(byte, b'\r' | b'\n')) {
        let colon = line.iter().position(|&byte| byte == b':').unwrap_or(line.len());
        let (field, value) = line.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"event" => name = value.to_vec(),
            b"data" => match &mut data {
                None => data = Some(value.to_vec()),
                Some(data) => {
                    data.push(b'\n');
                    data.extend_from_slice(value);
                }
            },
            _ => {}
        }
    }
    let Some(data) = data else { return Err(WithoutData { named: !name.is_empty() }) };
    let name = if name.is_empty() { "message".to_owned() } else { text(name) };
    Ok(Event { name, data: text(data), raw })
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
