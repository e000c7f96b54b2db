//! The server: state, routes, one request at a time.

use crate::{Config, HttpRequest, HttpResponse, Millis, ResponseBody, Script};

/// A simulated provider.
#[derive(Clone, Debug)]
pub struct Simulator {
    log: Vec<Billed>,
}

impl Simulator {
    /// A provider with an empty cache.
    pub fn new(_config: Config, _script: Script) -> Self {
        Self { log: Vec::new() }
    }

    /// Answers one request that started at `now`; moments must not fall from call to call.
    pub fn handle(&mut self, _request: &HttpRequest<'_>, _now: Millis) -> HttpResponse {
        HttpResponse { status: 404, headers: Vec::new(), body: ResponseBody::Full(Vec::new()) }
    }

    /// What was billed, one entry for each request to `/v1/messages`.
    pub fn log(&self) -> &[Billed] {
        &self.log
    }
}

/// What one request to `/v1/messages` was billed; token figures are zero for a refused one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Billed {
    /// When the request started.
    pub now: Millis,
    /// The `request-id` header of its response.
    pub request_id: String,
    /// The message id, where one was issued.
    pub message_id: Option<String>,
    /// The model asked for.
    pub model: String,
    /// HTTP status.
    pub status: u16,
    /// Tokens read from the cache.
    pub read: u64,
    /// Tokens written with a TTL of 5 minutes.
    pub write_5m: u64,
    /// Tokens written with a TTL of 1 hour.
    pub write_1h: u64,
    /// Input tokens neither read nor written.
    pub uncached: u64,
    /// Output tokens.
    pub output: u64,
}
