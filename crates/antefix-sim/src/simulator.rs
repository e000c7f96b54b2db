//! The server: state, routes, one request at a time.

mod accepted;
mod completions;
mod messages;
mod tenant;

use crate::answer::{Marks, error_body, spoil};
use crate::cache::{Cache, CacheRules};
use crate::catalogue;
use crate::chat::{self, KvCache};
use crate::error::ApiError;
use crate::http::{Chunk, StreamEnd};
use crate::memory::Memory;
use crate::meter::Meter;
use crate::script::{Fired, Reply};
use crate::threads::Threads;
use crate::{Config, HttpRequest, HttpResponse, Millis, ResponseBody, Script};

use tenant::Tenant;

/// A simulated provider.
#[derive(Clone, Debug)]
pub struct Simulator {
    config: Config,
    script: Script,
    cache: Cache,
    fired: Fired,
    memory: Memory,
    threads: Threads,
    kv_cache: Option<KvCache>,
    meter: Meter,
    requests: u64,
    log: Vec<Billed>,
}

impl Simulator {
    /// A provider with an empty cache.
    pub fn new(config: Config, script: Script) -> Self {
        let rules = CacheRules {
            refresh: config.refresh,
            other_ttl: config.other_ttl,
            eviction_per_mille: config.eviction_per_mille,
            seed: config.seed,
        };
        let kv_cache = config.chat.as_ref().map(|chat| KvCache::new(&chat.engine));
        Self {
            config,
            script,
            cache: Cache::new(rules),
            fired: Fired::default(),
            memory: Memory::default(),
            threads: Threads::default(),
            kv_cache,
            meter: Meter::default(),
            requests: 0,
            log: Vec::new(),
        }
    }

    /// Answers one request that started at `now`. Moments may fall a little from call to call, as those of
    /// requests that arrive together do.
    pub fn handle(&mut self, request: &HttpRequest<'_>, now: Millis) -> HttpResponse {
        self.requests += 1;
        let request_id = format!("req_sim{:012}", self.requests);
        let (routed, header) = match self.config.chat.clone() {
            None => {
                let routed = self.route(request, &request_id, now);
                (routed.map_err(|error| refused(&error, error_body(&error, &request_id))), "request-id")
            }
            Some(chat) => {
                let routed = self.chat_route(&chat, request, &request_id, now);
                (
                    routed.map_err(|error| refused(&error, chat::error_body(&error, chat.errors))),
                    "x-request-id",
                )
            }
        };
        let mut response = routed.unwrap_or_else(|refusal| refusal);
        response.headers.push((header.to_owned(), request_id));
        if request.method == "HEAD" {
            response.body = ResponseBody::Full(Vec::new());
        }
        response
    }

    /// What was billed, one entry for each authenticated request to `/v1/messages` or `/v1/chat/completions`.
    pub fn log(&self) -> &[Billed] {
        &self.log
    }

    fn route(
        &mut self,
        request: &HttpRequest<'_>,
        request_id: &str,
        now: Millis,
    ) -> Result<HttpResponse, ApiError> {
        let path = request.path.split('?').next().unwrap_or_default().trim_end_matches('/');
        match (request.method, path) {
            ("HEAD" | "GET", "/api/hello") => Ok(json(200, "{}".to_owned())),
            ("GET" | "HEAD", "/v1/models") => self.tenant(request).map(|_| json(200, catalogue::list())),
            ("POST", "/v1/messages") => {
                let tenant = self.tenant(request)?;
                Ok(self.messages(request, &tenant, request_id, now))
            }
            ("POST", "/v1/messages/count_tokens") => {
                self.tenant(request)?;
                self.count_tokens(request).map(|body| json(200, body))
            }
            ("GET" | "HEAD", _) if path.starts_with("/v1/models/") => {
                self.tenant(request)?;
                catalogue::one(path.trim_start_matches("/v1/models/")).map(|body| json(200, body))
            }
            (_, "/api/hello" | "/v1/models" | "/v1/messages" | "/v1/messages/count_tokens") => {
                Err(ApiError::new(405, "invalid_request_error", "Method Not Allowed"))
            }
            _ => Err(ApiError::not_found("Not Found")),
        }
    }

    /// Who asks, if that is known and allowed.
    fn tenant(&self, request: &HttpRequest<'_>) -> Result<Tenant, ApiError> {
        let tenant = Tenant::of(request, self.config.platform)?;
        if request.header("anthropic-version").is_none() {
            return Err(ApiError::invalid("anthropic-version: header is required"));
        }
        Ok(tenant)
    }
}

/// What one request to `/v1/messages`, or to `/v1/chat/completions`, was billed; token figures are zero for a
/// refused one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Billed {
    /// When the request started.
    pub now: Millis,
    /// The `request-id` header of its response.
    pub request_id: String,
    /// The message id, where one was issued.
    pub message_id: Option<String>,
    /// The model asked for; empty if the body could not be read.
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
    /// Input tokens of the summary that the provider itself has made on the way; the figures above leave them out.
    pub summary_input: u64,
    /// Output tokens of that summary.
    pub summary_output: u64,
}

impl Billed {
    /// All input tokens.
    pub fn total(&self) -> u64 {
        self.read + self.write_5m + self.write_1h + self.uncached
    }
}

fn json(status: u16, body: String) -> HttpResponse {
    let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    HttpResponse { status, headers, body: ResponseBody::Full(body.into_bytes()) }
}

fn refused(error: &ApiError, body: String) -> HttpResponse {
    let mut response = json(error.status, body);
    if let Some(seconds) = error.retry_after {
        response.headers.push(("retry-after".to_owned(), seconds.to_string()));
    }
    let retry = matches!(error.status, 408 | 409 | 429 | 500..);
    response.headers.push(("x-should-retry".to_owned(), retry.to_string()));
    response
}

/// A response of pieces, spoilt as the script has it.
fn respond(chunks: Vec<Chunk>, streamed: bool, reply: &Reply, marks: &Marks<'_>) -> HttpResponse {
    let (chunks, end) = spoil(chunks, reply.fault.as_ref(), marks);
    let content_type = if streamed { "text/event-stream; charset=utf-8" } else { "application/json" };
    let headers = vec![("content-type".to_owned(), content_type.to_owned())];
    let body = match <[Chunk; 1]>::try_from(chunks) {
        Ok([whole]) if !streamed && end == StreamEnd::Clean && whole.at == Millis(0) => {
            ResponseBody::Full(whole.bytes)
        }
        Ok(one) => ResponseBody::Stream { chunks: one.into(), end },
        Err(chunks) => ResponseBody::Stream { chunks, end },
    };
    HttpResponse { status: 200, headers, body }
}
