//! Message threads: the provider keeps the conversation, the client sends only what is new.

use std::collections::BTreeMap;

use crate::Millis;
use crate::error::ApiError;
use crate::request::{Message, Params, Request};

/// All threads, by the id of each message they have answered with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Threads(BTreeMap<(String, String), Tip>);

impl Threads {
    /// Puts a continuing request together with what its thread holds.
    pub fn expand(
        &self,
        tenant: &str,
        previous: &str,
        new: Request,
        now: Millis,
    ) -> Result<Request, ApiError> {
        let key = (tenant.to_owned(), previous.to_owned());
        let not_found = || ApiError::thread("thread_not_found", "no thread ends in that message");
        let (stored, answered_at) = match self.0.get(&key).ok_or_else(not_found)? {
            Tip::Continued => {
                let problem = "a later request has continued this thread from there";
                return Err(ApiError::thread("thread_already_continued", problem));
            }
            Tip::Open { last_request, .. } if now.0.saturating_sub(last_request.0) >= LIFETIME => {
                return Err(not_found());
            }
            Tip::Open { request, answered_at, .. } => (request, *answered_at),
        };
        if now < answered_at {
            let problem = "the answer to the previous request is not finished";
            return Err(ApiError::thread("thread_continue_in_flight", problem));
        }
        if new.model != stored.model || !new.tools.is_empty() || !new.system.is_empty() {
            let problem = "model, tools and system are set when the thread is created";
            return Err(ApiError::thread("thread_fingerprint_mismatch", problem));
        }
        Ok(joined(stored, new))
    }

    /// The tools of a thread, for reading a request that refers to them.
    pub fn request(&self, tenant: &str, previous: &str) -> Option<&Request> {
        match self.0.get(&(tenant.to_owned(), previous.to_owned()))? {
            Tip::Open { request, .. } => Some(request),
            Tip::Continued => None,
        }
    }

    /// Notes an answered thread request: it can be continued from `message_id` once it is finished.
    pub fn advance(&mut self, tenant: &str, previous: Option<&str>, answered: Answered) {
        if let Some(previous) = previous {
            self.0.insert((tenant.to_owned(), previous.to_owned()), Tip::Continued);
        }
        let mut request = answered.request;
        request.messages.push(answered.message);
        let tip = Tip::Open {
            request: Box::new(request),
            last_request: answered.started_at,
            answered_at: answered.finished_at,
        };
        self.0.insert((tenant.to_owned(), answered.message_id), tip);
        let now = answered.started_at.0;
        self.0.retain(|_, tip| match tip {
            Tip::Continued => true,
            Tip::Open { last_request, .. } => now.saturating_sub(last_request.0) < DELETED,
        });
    }
}

/// What can be continued from a message.
#[derive(Clone, Debug)]
enum Tip {
    /// Nothing any more: a later request has.
    Continued,
    /// The conversation up to and including the answer.
    Open { request: Box<Request>, last_request: Millis, answered_at: Millis },
}

/// An answered request of a thread.
pub(crate) struct Answered {
    pub request: Request,
    pub message: Message,
    pub message_id: String,
    pub started_at: Millis,
    pub finished_at: Millis,
}

/// What is not possible inside a thread.
pub(crate) fn check_supported(request: &Request) -> Result<(), ApiError> {
    let params = &request.params;
    let areas =
        [(!params.context_management.is_empty(), "context_management"), (params.fallbacks, "fallbacks")];
    match areas.iter().find(|(used, _)| *used) {
        Some((_, area)) => Err(ApiError::thread("thread_unsupported_request", area)),
        None => Ok(()),
    }
}

/// Markers of earlier requests do not count again; those of the new request do.
fn joined(stored: &Request, new: Request) -> Request {
    let mut request = stored.clone();
    for tool in &mut request.tools {
        tool.marker = None;
    }
    let old = request.messages.iter_mut().flat_map(|message| &mut message.blocks);
    for block in request.system.iter_mut().chain(old) {
        block.markers.clear();
    }
    request.messages.extend(new.messages);
    request.automatic = new.automatic;
    // What decides the prompt was set when the thread was created; the rest is each request's own.
    let params = new.params;
    request.params = Params {
        max_tokens: params.max_tokens.or(request.params.max_tokens),
        stream: params.stream,
        stop_sequences: params.stop_sequences,
        betas: params.betas,
        diagnostics: params.diagnostics,
        thread: params.thread,
        context_management: params.context_management,
        fallbacks: params.fallbacks,
        drop_block: params.drop_block,
        ..request.params
    };
    request
}

/// A thread expires five minutes after its last request and is deleted after an hour at the latest.
const LIFETIME: u64 = 300_000;
const DELETED: u64 = 3_600_000;
