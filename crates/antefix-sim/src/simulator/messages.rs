//! `POST /v1/messages` and `/v1/messages/count_tokens`.

use antefix_models::{Rules, Ttl};
use antefix_wire::json::Body;

use crate::answer::{self, Answer, Content, Marks, Part, Usage, error_body};
use crate::binding;
use crate::cache::{Ask, Outcome};
use crate::catalogue;
use crate::check::{check, check_answer, markers};
use crate::edits::{drop_compacted, edited};
use crate::error::ApiError;
use crate::http::Chunk;
use crate::memory::{Fingerprint, PENDING};
use crate::render::{Rendered, Section, render, scope};
use crate::request::{Compact, Previous, Request, Thread};
use crate::script::{Refusal, Reply};
use crate::threads::{Answered, check_supported};
use crate::{HttpRequest, HttpResponse, Millis};

use super::accepted::Accepted;
use super::tenant::Tenant;
use super::{Billed, Simulator, refused, respond};

impl Simulator {
    pub(super) fn messages(
        &mut self,
        request: &HttpRequest<'_>,
        tenant: &Tenant,
        request_id: &str,
        now: Millis,
    ) -> HttpResponse {
        let mut billed = Billed { now, request_id: request_id.to_owned(), ..Billed::default() };
        let result = self.meter.admit(&tenant.organization, &self.config.limits, now);
        let result = result.and_then(|()| self.accept(request, tenant, now, &mut billed));
        let result = result.and_then(|accepted| self.answer(accepted, tenant, now, &mut billed));
        let mut response = match result {
            Ok(response) => response,
            Err(error) => refused(&error, error_body(&error, request_id)),
        };
        billed.status = response.status;
        let quota = self.config.unified_quota;
        let meter = self.meter.headers(&tenant.organization, &self.config.limits, quota.as_ref(), now);
        response.headers.extend(meter);
        response.headers.push(("anthropic-organization-id".to_owned(), tenant.organization.clone()));
        self.log.push(billed);
        response
    }

    /// Counts what a request's prompt comes to; nothing is cached.
    pub(super) fn count_tokens(&self, request: &HttpRequest<'_>) -> Result<String, ApiError> {
        let body = parse(request.body)?;
        let read = Request::read(body.root(), betas(request), &[])?;
        if let Some(tool) = read.tools.iter().find(|tool| tool.web) {
            let problem = "server tools are not supported by count_tokens";
            return Err(ApiError::invalid(format!("tools: {}: {problem}", tool.name)));
        }
        let rules = self.rules(&read.model)?;
        check(&read, &rules, &self.config)?;
        let length = |request: &Request| -> u64 {
            render(request, &rules, &self.config).iter().map(|block| block.tokens).sum()
        };
        let whole = length(&read);
        let (edited, _) = edited(&read, &rules, &self.config);
        let tokens = edited.as_ref().map_or(whole, length);
        let original = match read.params.context_management.as_str() {
            "" => String::new(),
            _ => format!(r#","context_management":{{"original_input_tokens":{whole}}}"#),
        };
        Ok(format!(r#"{{"input_tokens":{tokens}{original}}}"#))
    }

    fn accept(
        &mut self,
        request: &HttpRequest<'_>,
        tenant: &Tenant,
        now: Millis,
        billed: &mut Billed,
    ) -> Result<Accepted, ApiError> {
        let mut read = self.read(request, tenant, now)?;
        billed.model.clone_from(&read.model);
        let rules = self.rules(&read.model)?;
        check_answer(&read, &rules)?;
        check(&read, &rules, &self.config)?;
        let (dropped, digest) = binding::check(&mut read, &rules.id, self.config.binds(&rules))?;
        let (edited, applied) = edited(&read, &rules, &self.config);
        let prompt = edited.as_ref().unwrap_or(&read);
        let blocks = render(prompt, &rules, &self.config);
        let mut markers = markers(prompt, &blocks, &rules)?;
        let total: u64 = blocks.iter().map(|block| block.tokens).sum();
        let window = rules.context_window.0;
        if total > window {
            return Err(ApiError::invalid(format!("prompt is too long: {total} tokens > {window} maximum")));
        }
        if markers.is_empty() && self.config.implicit_tools {
            let last = blocks.iter().rposition(|block| block.section == Section::Tools);
            markers.extend(last.map(|last| (last, Ttl::FiveMinutes)));
        }
        let scope = scope(&read, &tenant.scope, &self.config);
        Ok(Accepted { request: read, edited, applied, rules, scope, blocks, markers, dropped, digest })
    }

    /// Reads the body, and what a thread holds of the conversation.
    fn read(&self, request: &HttpRequest<'_>, tenant: &Tenant, now: Millis) -> Result<Request, ApiError> {
        let body = parse(request.body)?;
        let previous = body.root().pointer("/thread/previous_message_id").and_then(|node| node.str());
        let stored = previous.and_then(|previous| self.threads.request(&tenant.scope, &previous));
        let known_tools = stored.map_or(&[][..], |request| &request.tools);
        let read = Request::read(body.root(), betas(request), known_tools)?;
        let Some(thread) = read.params.thread.clone() else { return Ok(read) };
        // Without the beta the field is refused later, with the other preview fields.
        check_supported(&read)?;
        match thread {
            Thread::Create => Ok(read),
            Thread::Continue(previous) => self.threads.expand(&tenant.scope, &previous, read, now),
        }
    }

    fn rules(&self, model: &str) -> Result<Rules, ApiError> {
        let rules = self.config.rules_of(model);
        if rules.known
            || self.config.accept_unknown_models
            || self.config.rules.iter().any(|(id, _)| id == model)
        {
            return Ok(rules);
        }
        Err(catalogue::unknown(model))
    }

    fn answer(
        &mut self,
        accepted: Accepted,
        tenant: &Tenant,
        now: Millis,
        billed: &mut Billed,
    ) -> Result<HttpResponse, ApiError> {
        let request = &accepted.request;
        let warming = request.params.max_tokens == Some(0);
        let reply =
            if warming { Reply::default() } else { self.script.reply(&request.seen(), &mut self.fired) };
        if let Some(refusal) = &reply.refusal {
            return Err(refuse(refusal));
        }
        let tokenizer = self.config.tokenizer;
        let mut content = answer::compose(request, accepted.digest, &accepted.rules.id, &reply, tokenizer);
        let (mut stop_reason, mut stop_sequence) = answer::stop(&mut content, request, &reply, tokenizer);
        if warming {
            "max_tokens".clone_into(&mut stop_reason);
        }
        let summary = accepted.summary(&reply).filter(|_| !warming);
        let (usage, first_byte) = match &summary {
            None => self.pay(&accepted, &content, &reply, now),
            Some((compact, text)) => {
                if compact.pause {
                    content.clear();
                    "compaction".clone_into(&mut stop_reason);
                    stop_sequence = None;
                }
                let summary = Content::summary(text);
                let behind = accepted.behind(&summary, &self.config)?;
                content.insert(0, summary);
                self.pay_summary((&accepted, &behind), *compact, &content, &reply, now)
            }
        };
        let message_id = message_id(&accepted, billed);
        let diagnostics = self.diagnostics(&accepted, tenant, &message_id, &reply, now);
        bill(billed, &usage, &message_id);
        self.meter.charge(&tenant.organization, &usage.total, usage.output, now);
        let answer = Answer {
            id: message_id,
            model: request.model.clone(),
            content,
            stop_reason,
            stop_sequence,
            usage,
            diagnostics,
            dropped: accepted.dropped.clone(),
            applied: (!request.params.context_management.is_empty()).then(|| {
                let applied: Vec<String> = accepted.applied.iter().map(|one| one.json()).collect();
                applied.join(",")
            }),
        };
        let chunks = self.chunks(&answer, request, &reply, first_byte);
        let finished_at = now.after(chunks.last().map(|chunk| chunk.at).unwrap_or_default());
        let streamed = request.params.stream;
        self.keep_thread(accepted.request, &answer, tenant, (now, finished_at))?;
        let failed = |kind: &str, message: &str| error_event(kind, message, &billed.request_id);
        Ok(respond(chunks, streamed, &reply, &marks(&failed)))
    }

    /// Looks up and writes the cache, once for each iteration of server tools; the usage and the time to the
    /// first byte.
    fn pay(
        &mut self,
        accepted: &Accepted,
        content: &[Content],
        reply: &Reply,
        now: Millis,
    ) -> (Usage, Millis) {
        let ask = self.ask(accepted, &accepted.blocks, now);
        let start = self.cache.look_up(&ask);
        let fresh = start.uncached + start.write_5m + start.write_1h;
        let first_byte = reply.first_byte.unwrap_or(self.config.latency.first_byte(fresh));
        if !reply.is_lost() {
            self.cache.write(&ask, &start, now.after(first_byte));
        }
        let mut total = start.clone();
        for blocks in self.iterations(accepted, content) {
            let mut ask = self.ask(accepted, &blocks, now.after(first_byte));
            if !accepted.markers.is_empty() && self.config.server_tool_marker {
                ask.markers.push((blocks.len().saturating_sub(1), Ttl::FiveMinutes));
            }
            let outcome = self.cache.look_up(&ask);
            self.cache.write(&ask, &outcome, ask.now);
            total.read += outcome.read;
            total.write_5m += outcome.write_5m;
            total.write_1h += outcome.write_1h;
            total.uncached += outcome.uncached;
        }
        (usage(start, total, content, reply, &accepted.request), first_byte)
    }

    /// Pays for the summary, which reads the whole prompt, and then for the answer behind it.
    fn pay_summary(
        &mut self,
        (accepted, behind): (&Accepted, &Accepted),
        compact: Compact,
        content: &[Content],
        reply: &Reply,
        now: Millis,
    ) -> (Usage, Millis) {
        let ask = self.ask(accepted, &accepted.blocks, now);
        let outcome = self.cache.look_up(&ask);
        let fresh = outcome.uncached + outcome.write_5m + outcome.write_1h;
        let first_byte = reply.first_byte.unwrap_or(self.config.latency.first_byte(fresh));
        if !reply.is_lost() {
            self.cache.write(&ask, &outcome, now.after(first_byte));
        }
        let written = content.first().map_or(0, |summary| match &summary.part {
            Part::Compaction(text) => self.config.tokenizer.text(text.len()),
            _ => 0,
        });
        let summary = Some((outcome, written));
        if compact.pause {
            let nothing = usage(Outcome::default(), Outcome::default(), content, reply, &accepted.request);
            return (Usage { summary, is_summary_only: true, ..nothing }, first_byte);
        }
        let (usage, _) = self.pay(behind, content, reply, now);
        (Usage { summary, ..usage }, first_byte)
    }

    fn ask<'a>(&self, accepted: &'a Accepted, blocks: &'a [Rendered], now: Millis) -> Ask<'a> {
        Ask {
            scope: &accepted.scope,
            blocks,
            markers: accepted.markers.clone(),
            minimum: self.config.minimum(&accepted.rules),
            lookback: accepted.rules.lookback.positions as usize,
            collapse: self.config.collapses(&accepted.rules),
            now,
        }
    }

    /// The prompts of the iterations after the first: what came before, with the answer up to each result of
    /// a server tool.
    fn iterations(&self, accepted: &Accepted, content: &[Content]) -> Vec<Vec<Rendered>> {
        let results = content.iter().enumerate();
        let results = results.filter(|(_, content)| matches!(content.part, Part::ServerResult { .. }));
        let prompt = |end: usize| {
            let mut request = accepted.prompt().clone();
            request.messages.push(answer::as_message(content.get(..=end).unwrap_or_default()).ok()?);
            drop_compacted(&mut request.messages);
            Some(render(&request, &accepted.rules, &self.config))
        };
        results.filter_map(|(end, _)| prompt(end)).collect()
    }

    fn diagnostics(
        &mut self,
        accepted: &Accepted,
        tenant: &Tenant,
        message_id: &str,
        reply: &Reply,
        now: Millis,
    ) -> Option<String> {
        let fingerprint = Fingerprint::of(&accepted.request, &accepted.blocks, &tenant.scope, now);
        let asked = accepted.request.params.diagnostics.as_ref();
        let supported = accepted.rules.diagnostics != antefix_models::Support::No;
        let diagnosis = asked.filter(|_| supported).map(|previous| {
            if *previous != Previous::FirstTurn
                && (self.config.diagnostics_pending || reply.diagnostics_pending)
            {
                return PENDING.to_owned();
            }
            self.memory.diagnose(previous, &fingerprint)
        });
        self.memory.remember(fingerprint, message_id);
        diagnosis
    }

    /// The body in pieces, each with the time it is due.
    fn chunks(&self, answer: &Answer, request: &Request, reply: &Reply, first_byte: Millis) -> Vec<Chunk> {
        let latency = self.config.latency;
        if !request.params.stream {
            let at = first_byte.after(latency.generated(answer.usage.output));
            return vec![Chunk { at, bytes: answer::message_body(answer).into_bytes() }];
        }
        let delay = reply.chunk_delay.unwrap_or_default().0;
        let events = answer::events(answer).into_iter().enumerate();
        events
            .map(|(index, event)| {
                let paused = delay.saturating_mul(index as u64);
                let at = first_byte.after(latency.generated(event.tokens)).after(Millis(paused));
                Chunk { at, bytes: event.bytes() }
            })
            .collect()
    }

    /// Keeps the conversation of a thread; after a refusal a thread cannot be continued.
    fn keep_thread(
        &mut self,
        request: Request,
        answer: &Answer,
        tenant: &Tenant,
        (started_at, finished_at): (Millis, Millis),
    ) -> Result<(), ApiError> {
        let Some(thread) = request.params.thread.clone() else { return Ok(()) };
        if answer.stop_reason == "refusal" {
            return Ok(());
        }
        let previous = match &thread {
            Thread::Create => None,
            Thread::Continue(previous) => Some(previous.as_str()),
        };
        let message = answer::as_message(&answer.content)?;
        let message_id = answer.id.clone();
        let answered = Answered { request, message, message_id, started_at, finished_at };
        self.threads.advance(&tenant.scope, previous, answered);
        Ok(())
    }
}

fn parse(body: &[u8]) -> Result<Body, ApiError> {
    if body.len() > MOST_BYTES {
        return Err(ApiError::new(413, "request_too_large", "Request exceeds the maximum size"));
    }
    Body::parse(body)
        .map_err(|error| ApiError::invalid(format!("The request body is not valid JSON: {error}")))
}

fn betas(request: &HttpRequest<'_>) -> Vec<String> {
    let headers = request.headers.iter().filter(|(name, _)| name == "anthropic-beta");
    let names = headers.flat_map(|(_, value)| value.split(','));
    names.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
}

fn refuse(refusal: &Refusal) -> ApiError {
    let error = ApiError::new(refusal.status, &refusal.kind, refusal.message.as_str());
    ApiError { retry_after: refusal.retry_after, ..error }
}

fn usage(start: Outcome, total: Outcome, content: &[Content], reply: &Reply, request: &Request) -> Usage {
    let sum = |wanted: fn(&Part) -> bool| {
        content.iter().filter(|content| wanted(&content.part)).map(|content| content.tokens).sum()
    };
    let calls = |tool: &str| {
        let called =
            |content: &&Content| matches!(&content.part, Part::ServerToolUse { name, .. } if name == tool);
        content.iter().filter(called).count() as u64
    };
    Usage {
        start,
        total,
        output: reply.output_tokens.unwrap_or_else(|| sum(|_| true)),
        thinking: sum(|part| matches!(part, Part::Thinking { .. } | Part::Redacted(_))),
        searches: calls("web_search"),
        fetches: calls("web_fetch"),
        speed: request.params.speed.clone(),
        summary: None,
        is_summary_only: false,
    }
}

fn message_id(accepted: &Accepted, billed: &Billed) -> String {
    let mut digest = accepted.digest;
    digest.part("request", &billed.request_id);
    digest.part("time", &billed.now.0.to_string());
    format!("msg_{:016x}{:08x}", digest.0, digest.1 >> 32)
}

fn bill(billed: &mut Billed, usage: &Usage, message_id: &str) {
    billed.message_id = Some(message_id.to_owned());
    billed.read = usage.total.read;
    billed.write_5m = usage.total.write_5m;
    billed.write_1h = usage.total.write_1h;
    billed.uncached = usage.total.uncached;
    billed.output = usage.output;
    if let Some((paid, output)) = &usage.summary {
        billed.summary_input = paid.read + paid.write_5m + paid.write_1h + paid.uncached;
        billed.summary_output = *output;
    }
}

fn marks(error: &dyn Fn(&str, &str) -> String) -> Marks<'_> {
    Marks {
        begins: |text| text.contains("content_block_start"),
        input: |text| text.contains("input_json_delta") && !text.contains("\"partial_json\":\"\""),
        json: ("\"type\":", "\"type\" "),
        error,
    }
}

fn error_event(kind: &str, message: &str, request_id: &str) -> String {
    let error = ApiError::new(200, kind, message);
    format!("event: error\ndata: {}\n\n", error_body(&error, request_id))
}

/// The documented limit of the Messages API.
const MOST_BYTES: usize = 32 << 20;
