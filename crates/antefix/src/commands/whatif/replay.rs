//! Sends a session's requests to the simulator under a plan, and adds up what they are billed.

use antefix_ledger::Ratio;
use antefix_models::{Counts, Modifiers, Money, PriceBook, Tokens, Ttl, cost};
use antefix_sim::{Billed, Binding, Config, HttpRequest, Millis, Script, Simulator};
use antefix_wire::json::{Body, Node};
use bytes::Bytes;

use super::condition::{History, Plan, WIDE, is_reminder};
use super::history::{Shortened, Told};
use super::session::Step;
use crate::failure::Failure;

/// What a session costs under a plan.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// One for each request, the extra ones of the plan added to the request they come before.
    pub requests: Vec<Request>,
    /// Requests that the plan adds: warming, summaries.
    pub extra: u64,
    /// What is lost by it, for people; empty if nothing is.
    pub lost: String,
}

/// What a request costs under a plan.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request {
    /// Number of the user's message it works on.
    pub message: u64,
    /// Tokens, as the simulator counts them; output as it was.
    pub counts: Counts,
    /// What they cost; `None` without a price.
    pub cost: Option<Money>,
}

impl Outcome {
    /// All input and what of it was read.
    pub fn read(&self) -> Ratio {
        let part = self.requests.iter().map(|request| request.counts.read).sum();
        let whole = self.requests.iter().map(|request| request.counts.prompt()).sum();
        Ratio { part, whole }
    }

    /// The cost of all requests; `None` if one has no price.
    pub fn cost(&self) -> Option<Money> {
        self.requests.iter().map(|request| request.cost).sum()
    }
}

/// Replays the session.
///
/// # Errors
/// If the simulator refuses a request.
pub fn replay(steps: &[Step], plan: &Plan, book: &PriceBook) -> Result<Outcome, Failure> {
    let longest = steps.iter().map(|step| step.body.len).max().unwrap_or(0);
    // Half of the longest request of the session, so that the ways to shorten it come to bear on each.
    let limit = usize::try_from(longest / 2).unwrap_or(usize::MAX);
    let mut replay = Replay {
        simulator: simulator(),
        plan,
        book,
        history: Shortened::new(plan.history, limit),
        before: None,
        outcome: Outcome::default(),
    };
    for step in steps {
        replay.step(step)?;
    }
    replay.outcome.lost = replay.lost(limit);
    Ok(replay.outcome)
}

/// Signed thinking is taken as it comes: whether a provider would refuse it in a changed history is said, not played.
fn simulator() -> Simulator {
    let config = Config { accept_unknown_models: true, binding: Binding::Never, ..Config::default() };
    Simulator::new(config, Script::default_script())
}

struct Replay<'a> {
    simulator: Simulator,
    plan: &'a Plan,
    book: &'a PriceBook,
    history: Shortened,
    before: Option<Before>,
    outcome: Outcome,
}

/// The request in front.
struct Before {
    at_ms: u64,
    body: Vec<u8>,
    /// Its messages.
    messages: usize,
    positions: u64,
}

impl Replay<'_> {
    fn step(&mut self, step: &Step) -> Result<(), Failure> {
        let mut sum = Request { message: step.message, cost: Some(Money::ZERO), ..Request::default() };
        if self.plan.keep_warm {
            self.keep_warm(step, &mut sum)?;
        }
        let (body, messages) = self.body(step, &mut sum)?;
        let output = step.used.map_or(Tokens::ZERO, |used| used.counts.output);
        let counts = self.send(&body, step.at_ms, output)?;
        self.add(&mut sum, step, counts);
        self.before = Some(Before { at_ms: step.at_ms, body, messages, positions: step.positions });
        self.outcome.requests.push(sum);
        Ok(())
    }

    /// The body of a step, and how many messages it has.
    fn body(&mut self, step: &Step, sum: &mut Request) -> Result<(Vec<u8>, usize), Failure> {
        if self.plan.as_sent {
            return Ok((step.body.chunks.concat(), step.said.len()));
        }
        let head = self.head(step)?;
        let Told { said, summary_bytes } = self.history.tell(&step.said, head.len());
        if let Some(bytes) = summary_bytes {
            // It is asked for at the end of the whole history, which is in the cache, and answered in full.
            let all: Vec<Bytes> = step.said.iter().map(|said| said.text.clone()).collect();
            let counts =
                self.send(&self.marked(&head, &all, step), step.at_ms, Tokens::of_bytes(bytes as u64))?;
            self.add(sum, step, counts);
            self.outcome.extra += 1;
        }
        let said: Vec<Bytes> = match &self.plan.without {
            Some(kind) => said.iter().map(|text| without_reminders(text, kind)).collect(),
            None => said,
        };
        let count = said.len();
        Ok((self.marked(&head, &said, step), count))
    }

    /// The head with the plan's model and deferred tools.
    fn head(&self, step: &Step) -> Result<String, Failure> {
        let whole = [&step.head[..], b"]}"].concat();
        let body = Body::parse(whole).map_err(Failure::failed)?;
        let mut edits: Vec<(std::ops::Range<usize>, String)> = Vec::new();
        if let (Some(model), Some(node)) = (&self.plan.model, body.root().get("model")) {
            let range = node.range();
            edits.push((range.start..range.end, crate::stream_json::quoted(model)));
        }
        for tool in body.root().get("tools").into_iter().flat_map(Node::items) {
            let name = tool.get("name").and_then(Node::str).unwrap_or_default();
            if self.plan.deferred.contains(name.as_ref()) {
                let end = tool.range().end - 1;
                edits.push((end..end, r#","defer_loading":true"#.to_owned()));
            }
        }
        edits.sort_by_key(|(range, _)| range.start);
        let text = body.text();
        let (mut out, mut done) = (String::with_capacity(text.len()), 0);
        for (range, new) in edits {
            out.push_str(text.get(done..range.start).unwrap_or_default());
            out.push_str(&new);
            done = range.end;
        }
        out.push_str(text.get(done..text.len() - 2).unwrap_or_default());
        Ok(out)
    }

    /// Head and messages with the plan's markers: on the end of the head, on the end of the request before, and on
    /// the new end.
    fn marked(&self, head: &str, said: &[Bytes], step: &Step) -> Vec<u8> {
        let marker = match self.plan.ttl.filter(|_| step.ttl.is_some() || !self.plan.as_sent) {
            Some(Ttl::FiveMinutes) => r#","cache_control":{"type":"ephemeral"}"#,
            Some(Ttl::OneHour) => r#","cache_control":{"type":"ephemeral","ttl":"1h"}"#,
            None => "",
        };
        let mut body = head.to_owned();
        if let Some(end) = head.rfind(r#"}],"messages":["#) {
            body.insert_str(end, marker);
        }
        let ends = self.ends(said.len(), step);
        for (index, text) in said.iter().enumerate() {
            if index > 0 {
                body.push(',');
            }
            let text = String::from_utf8_lossy(text);
            match text.strip_suffix("}]}").filter(|_| ends.contains(&index)) {
                Some(open) => body.extend([open, marker, "}]}"]),
                None => body.push_str(&text),
            }
        }
        body.push_str("]}");
        body.into_bytes()
    }

    /// Indices of the messages that end with a marker.
    fn ends(&self, count: usize, step: &Step) -> Vec<usize> {
        let last = count.saturating_sub(1);
        let before =
            self.before.as_ref().map(|before| before.messages.saturating_sub(1)).filter(|at| *at < last);
        let mut ends: Vec<usize> = before.into_iter().chain([last]).collect();
        let width = self.before.as_ref().map_or(0, |before| step.positions.saturating_sub(before.positions));
        if let (true, Some(before)) = (self.plan.more_markers && width > WIDE, before) {
            // One between the calls and their results: both halves are within the reach of a marker or as near to
            // it as four markers allow.
            ends.push(usize::midpoint(before, last));
        }
        ends
    }

    /// Reads the entry again shortly before it would expire, as long as the pause lasts.
    fn keep_warm(&mut self, step: &Step, sum: &mut Request) -> Result<(), Failure> {
        let Some(Before { at_ms, body, .. }) = self.before.take() else { return Ok(()) };
        let every = self.plan.ttl.unwrap_or_default().seconds() * 1000 - MARGIN_MS;
        let mut at = at_ms + every;
        while at < step.at_ms && self.outcome.extra < MOST_PINGS {
            let counts = self.send(&body, at, Tokens(1))?;
            self.add(sum, step, counts);
            self.outcome.extra += 1;
            at += every;
        }
        let messages = step.said.len().saturating_sub(2);
        self.before = Some(Before { at_ms, body, messages, positions: step.positions });
        Ok(())
    }

    fn send(&mut self, body: &[u8], at_ms: u64, output: Tokens) -> Result<Counts, Failure> {
        let headers = [("x-api-key", "whatif"), ("anthropic-version", "2023-06-01")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let request = HttpRequest { method: "POST", path: "/v1/messages", headers: &headers, body };
        let response = self.simulator.handle(&request, Millis(at_ms));
        if response.status != 200 {
            let said = String::from_utf8_lossy(&response.bytes()).into_owned();
            return Err(Failure::failed(format!("the simulator refuses a request of this session: {said}")));
        }
        let billed = self.simulator.log().last().cloned().unwrap_or_default();
        Ok(counts(&billed, output))
    }

    fn add(&self, sum: &mut Request, step: &Step, counts: Counts) {
        let model = self.plan.model.as_deref().unwrap_or(&step.model);
        let day = antefix_session::spend::date(antefix_session::record::Millis(step.at_ms));
        let prices = self.book.price(step.platform, model, day, Modifiers::default(), counts.prompt());
        sum.cost = sum.cost.zip(prices).map(|(sum, prices)| sum + cost(&prices, &counts));
        sum.counts += counts;
    }

    fn lost(&self, limit: usize) -> String {
        let (times, tokens) = (self.history.times, Tokens::of_bytes(self.history.lost_bytes as u64).0);
        let over = Tokens::of_bytes(limit as u64).0;
        match self.plan.history {
            History::Keep => String::new(),
            _ if times == 0 => {
                format!("nothing: no request was longer than {over} tokens with a place to cut")
            }
            History::DropOldest => {
                format!("about {tokens} tokens of the oldest turns, dropped {times} times")
            }
            History::ClearResults => {
                format!("about {tokens} tokens of old tool results, cleared {times} times")
            }
            History::Summarise => format!("about {tokens} tokens of turns, summarised {times} times"),
        }
    }
}

fn counts(billed: &Billed, output: Tokens) -> Counts {
    Counts {
        uncached: Tokens(billed.uncached),
        read: Tokens(billed.read),
        write_5m: Tokens(billed.write_5m),
        write_1h: Tokens(billed.write_1h),
        output,
    }
}

/// The same message without the reminders that say this, unless nothing would be left of it.
fn without_reminders(message: &Bytes, kind: &str) -> Bytes {
    let Ok(body) = Body::parse(message.to_vec()) else { return message.clone() };
    let Some(content) = body.root().get("content") else { return message.clone() };
    let kept: Vec<&str> = content.items().filter(|block| !is_reminder(*block, kind)).map(Node::raw).collect();
    if kept.is_empty() || kept.len() == content.items().count() {
        return message.clone();
    }
    let role = body.root().get("role").map_or("\"user\"", Node::raw);
    format!(r#"{{"role":{role},"content":[{}]}}"#, kept.join(",")).into()
}

/// How long before an entry expires it is read again.
const MARGIN_MS: u64 = 30_000;

/// Warming stops after so many requests: nobody keeps an entry warm for days.
const MOST_PINGS: u64 = 10_000;
