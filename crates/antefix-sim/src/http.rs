//! What goes in and out: a request as bytes, a response as bytes with the times they are due.

/// A moment or a span in milliseconds; moments are counted from the Unix epoch or from any fixed start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(pub u64);

impl Millis {
    /// The moment `span` later; stops at the end of time.
    pub fn after(self, span: Millis) -> Millis {
        Millis(self.0.saturating_add(span.0))
    }
}

/// A request as it reached the server.
#[derive(Clone, Copy, Debug)]
pub struct HttpRequest<'a> {
    /// `POST`, `GET`, `HEAD` …
    pub method: &'a str,
    /// Path with query.
    pub path: &'a str,
    /// Header fields, names in lower case.
    pub headers: &'a [(String, String)],
    /// The body, whole.
    pub body: &'a [u8],
}

impl<'a> HttpRequest<'a> {
    /// The first header field of that (lower-case) name.
    pub fn header(&self, name: &str) -> Option<&'a str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpResponse {
    /// HTTP status.
    pub status: u16,
    /// Header fields, names in lower case; `content-length` is the front's business.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: ResponseBody,
}

impl HttpResponse {
    /// The first header field of that (lower-case) name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// All bytes of the body, without their times.
    pub fn bytes(&self) -> Vec<u8> {
        match &self.body {
            ResponseBody::Full(bytes) => bytes.clone(),
            ResponseBody::Stream { chunks, .. } => {
                chunks.iter().flat_map(|chunk| chunk.bytes.clone()).collect()
            }
        }
    }
}

/// The body of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResponseBody {
    /// All at once, as soon as possible.
    Full(Vec<u8>),
    /// In pieces, each due at its own time.
    Stream {
        /// The pieces in order; their times never fall.
        chunks: Vec<Chunk>,
        /// What follows the last piece.
        end: StreamEnd,
    },
}

/// A piece of a response's body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// When it is due, counted from the start of the request.
    pub at: Millis,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// How a stream ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEnd {
    /// As HTTP has it.
    Clean,
    /// The connection is reset.
    Cut,
    /// Nothing more comes and the connection stays open.
    Hang,
}
