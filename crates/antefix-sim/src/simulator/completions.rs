//! The routes of a server that speaks `/v1/chat/completions`.

use crate::chat::{self, Ask, ChatRequest, Completion, Kept, Shape};
use crate::config::ChatConfig;
use crate::error::ApiError;
use crate::http::Chunk;
use crate::script::{Refusal, Reply};
use crate::{HttpRequest, HttpResponse, Millis};

use super::{Billed, Simulator, json, refused, respond};

impl Simulator {
    pub(super) fn chat_route(
        &mut self,
        chat: &ChatConfig,
        request: &HttpRequest<'_>,
        request_id: &str,
        now: Millis,
    ) -> Result<HttpResponse, ApiError> {
        let path = request.path.split('?').next().unwrap_or_default().trim_end_matches('/');
        match (request.method, path) {
            ("GET" | "HEAD", "/health") => Ok(json(200, chat::health())),
            ("GET" | "HEAD", "/props") => check_key(chat, request).map(|()| json(200, chat::props(chat))),
            ("GET" | "HEAD", "/v1/models") => {
                check_key(chat, request).map(|()| json(200, chat::models(chat)))
            }
            ("POST", "/v1/chat/completions") => {
                check_key(chat, request)?;
                Ok(self.completions(chat, request, request_id, now))
            }
            ("GET" | "HEAD", _) if path.starts_with("/v1/models/") => {
                check_key(chat, request)?;
                let id = path.trim_start_matches("/v1/models/");
                chat::model(id, chat).map(|body| json(200, body)).ok_or_else(|| chat::unknown_model(id))
            }
            (_, "/health" | "/props" | "/v1/models" | "/v1/chat/completions") => {
                Err(ApiError::new(405, "invalid_request_error", "method not allowed"))
            }
            _ => Err(ApiError::new(404, "invalid_request_error", "not found")),
        }
    }

    fn completions(
        &mut self,
        chat: &ChatConfig,
        request: &HttpRequest<'_>,
        request_id: &str,
        now: Millis,
    ) -> HttpResponse {
        let mut billed = Billed { now, request_id: request_id.to_owned(), ..Billed::default() };
        let result = self.complete(chat, request, now, &mut billed);
        let response = result.unwrap_or_else(|error| refused(&error, chat::error_body(&error, chat.errors)));
        billed.status = response.status;
        self.log.push(billed);
        response
    }

    fn complete(
        &mut self,
        chat: &ChatConfig,
        http: &HttpRequest<'_>,
        now: Millis,
        billed: &mut Billed,
    ) -> Result<HttpResponse, ApiError> {
        let request = ChatRequest::read(http.body)?;
        billed.model.clone_from(&request.model);
        let prompt = self.prompt(&request, chat, now)?;
        let reply = self.script.reply(&request.seen(), &mut self.fired);
        if let Some(refusal) = &reply.refusal {
            return Err(refuse(refusal));
        }
        let (said, finish) = chat::compose(&request, http.body, &reply, chat.template);
        let scope = scope(chat, http, &request);
        let ask =
            Ask { scope: &scope, prompt: &prompt, slot: request.slot, reuse: request.cache_prompt, now };
        let found = self.kv_cache.as_ref().map(|cache| cache.look_up(&ask)).unwrap_or_default();
        let usage = chat::usage(prompt.len(), found.cached, &said, &reply);
        let id = bill(billed, &usage);
        let model = request.model.clone();
        let completion = Completion { id, created: now.0 / 1_000, model, said, finish, usage };
        let fresh = usage.prompt - usage.cached;
        let first_byte = reply.first_byte.unwrap_or(self.config.latency.first_byte(fresh)).after(found.wait);
        let chunks = self.chat_chunks(&completion, chat, &request, &reply, first_byte);
        if let Some(cache) = self.kv_cache.as_mut().filter(|_| !reply.is_lost()) {
            let last = chunks.last().map(|chunk| chunk.at).unwrap_or_default();
            let output = chat::computed(&completion);
            let (computed_at, finished_at) = (now.after(first_byte), now.after(last));
            cache.keep(&ask, &found, &Kept { output: &output, computed_at, finished_at });
        }
        let failed = |kind: &str, message: &str| chat::error_event(kind, message, chat.errors);
        Ok(respond(chunks, request.stream, &reply, &chat::marks(&failed)))
    }

    /// The prompt of a request that passes all checks.
    fn prompt(
        &self,
        request: &ChatRequest,
        chat: &ChatConfig,
        now: Millis,
    ) -> Result<Vec<chat::Token>, ApiError> {
        chat::check(request, chat)?;
        let prompt = chat::render(request, &self.config, chat, now);
        check_length(prompt.len() as u64, request.limit, chat)?;
        Ok(prompt)
    }

    /// The body in pieces, each with the time it is due.
    fn chat_chunks(
        &self,
        completion: &Completion,
        chat: &ChatConfig,
        request: &ChatRequest,
        reply: &Reply,
        first_byte: Millis,
    ) -> Vec<Chunk> {
        let latency = self.config.latency;
        if !request.stream {
            let at = first_byte.after(latency.generated(completion.usage.output));
            let body = chat::completion_body(completion, chat, reply.lacks);
            return vec![Chunk { at, bytes: body.into_bytes() }];
        }
        let shape = Shape {
            include_usage: request.include_usage,
            lacks: reply.lacks,
            keep_alive: reply.keep_alive,
            arguments: reply.argument_bytes,
        };
        let delay = reply.chunk_delay.unwrap_or_default().0;
        let chunks = chat::chunks(completion, chat, shape).into_iter().enumerate();
        chunks
            .map(|(index, chunk)| {
                let paused = Millis(delay.saturating_mul(index as u64));
                let at = first_byte.after(latency.generated(chunk.tokens)).after(paused);
                Chunk { at, bytes: chunk.text.into_bytes() }
            })
            .collect()
    }
}

/// A key may be missing where the server was started without one; one that begins with `invalid` is wrong.
fn check_key(chat: &ChatConfig, request: &HttpRequest<'_>) -> Result<(), ApiError> {
    let key = request.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
    let problem = match key.map(str::trim).filter(|key| !key.is_empty()) {
        Some(key) if key.starts_with("invalid") => "incorrect API key provided",
        None if chat.key_required => "no API key provided: send it as `Authorization: Bearer KEY`",
        _ => return Ok(()),
    };
    let error = ApiError::new(401, "invalid_request_error", problem);
    Err(ApiError { code: Some("invalid_api_key".to_owned()), ..error })
}

/// Whose prompts are shared: an engine of one's own shares all that have one salt, a provider those of one
/// organization and one key (`prompt_cache_key`).
fn scope(chat: &ChatConfig, http: &HttpRequest<'_>, request: &ChatRequest) -> String {
    if !chat.key_required {
        return request.cache_salt.clone();
    }
    let key = http.header("authorization").unwrap_or_default().trim_start_matches("Bearer ");
    let organization = key.split('/').next().unwrap_or_default();
    format!("{organization}/{}", request.cache_key)
}

/// vLLM wants room for all the tokens that an answer may have, the others for one.
fn check_length(prompt: u64, limit: Option<u64>, chat: &ChatConfig) -> Result<(), ApiError> {
    let answer = if chat.reserves_answer() { limit.unwrap_or(1) } else { 1 };
    let context = chat.context();
    if prompt.saturating_add(answer) <= context {
        return Ok(());
    }
    let error = ApiError::invalid(format!(
        "the maximum context length is {context} tokens; the prompt has {prompt} and the answer needs room for {answer}"
    ));
    Err(ApiError { code: Some("context_length_exceeded".to_owned()), ..error })
}

fn refuse(refusal: &Refusal) -> ApiError {
    let error = ApiError::new(refusal.status, &refusal.kind, refusal.message.as_str());
    ApiError { retry_after: refusal.retry_after, code: Some(refusal.kind.clone()), ..error }
}

/// Notes what a request cost; the id of its answer.
fn bill(billed: &mut Billed, usage: &chat::ChatUsage) -> String {
    let id = format!("chatcmpl-{}", billed.request_id.trim_start_matches("req_"));
    billed.message_id = Some(id.clone());
    billed.read = usage.cached;
    billed.uncached = usage.prompt - usage.cached;
    billed.output = usage.output;
    id
}
