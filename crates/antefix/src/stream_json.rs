//! The events of a turn as JSON, one object a line.

use antefix_models::Counts;
use antefix_prefix::{Certainty, Limit};
use antefix_runtime::driver::{Decided, Shown, SubagentNews};
use antefix_session::conversation::Call;
use antefix_session::edited::EditReport;
use antefix_session::event::{RequestReport, SessionEvent, efficiency_permille};
use antefix_session::record::Planned;
use antefix_wire::assemble::Delta;
use antefix_wire::json::write_string;

/// Version of the shape of all JSON that is printed.
pub const SCHEMA_VERSION: u64 = 1;

/// Writes events with their number; the numbers of a turn have no gaps.
#[derive(Default)]
pub struct EventWriter {
    seq: u64,
}

impl EventWriter {
    /// The line for an event; `None` for what is not part of the stream.
    pub fn line(&mut self, shown: &Shown<'_>) -> Option<String> {
        let mut object = Object::new();
        object.number("schema_version", SCHEMA_VERSION).number("seq", self.seq);
        match shown {
            Shown::Event(event) => write_event(&mut object, event),
            Shown::Delta(delta) => write_delta(&mut object, delta)?,
            Shown::Progress { call, text } => {
                object.text("type", "call_output").text("call", call).text("text", text);
            }
            Shown::Question(question) => {
                object.text("type", "question").number("question", question.id);
                write_call(&mut object, &question.call);
                object.text("text", &question.text);
            }
            Shown::Decided(decided) => write_decided(&mut object, decided)?,
            Shown::Subagent { subagent, news } => {
                let mut who = Object::new();
                who.text("session_id", &subagent.session).text("call", &subagent.call);
                if let Some(agent) = &subagent.agent {
                    who.text("agent", agent);
                }
                who.text("description", &subagent.description);
                object.raw("subagent", &who.close());
                match news {
                    SubagentNews::Event(event) => write_event(&mut object, event),
                    SubagentNews::Decided(decided) => write_decided(&mut object, decided)?,
                }
            }
        }
        self.seq += 1;
        Some(object.close())
    }
}

/// `None` for what the mode simply allows.
fn write_decided(object: &mut Object, decided: &Decided) -> Option<()> {
    let text = decided.text.as_ref()?;
    object.text("type", "decision");
    write_call(object, &decided.call);
    object.boolean("allowed", decided.allowed).text("text", text);
    Some(())
}

fn write_event(object: &mut Object, event: &SessionEvent) {
    match event {
        SessionEvent::TurnStarted { turn } => drop(object.text("type", "turn_started").number("turn", *turn)),
        SessionEvent::RequestStarted { attempt, bytes, positions, messages, relation, markers, limits } => {
            object.text("type", "request_started").number("request", attempt.0).number("bytes", *bytes);
            object.number("positions", *positions).number("messages", *messages);
            object.text("relation", relation_word(*relation));
            let marks: Vec<_> = markers
                .iter()
                .map(|(at, ttl)| format!("{{\"position\":{at},\"ttl\":\"{}\"}}", ttl.text()))
                .collect();
            object.raw("markers", &format!("[{}]", marks.join(",")));
            object.raw("limits", &array(limits.iter().map(limit)));
        }
        SessionEvent::RequestFinished(report) => {
            object.text("type", "request_finished");
            write_report(object, report);
        }
        SessionEvent::Forecast(outlook) => {
            object.text("type", "forecast").number("tokens", outlook.tokens.0);
            object.number("reads", outlook.reads.0);
            let left = outlook.expires_in.map_or_else(|| "null".to_owned(), |left| left.to_string());
            object.raw("expires_in_ms", &left);
            object.raw("warm_usd", &money(outlook.warm)).raw("cold_usd", &money(outlook.cold));
        }
        SessionEvent::KeptWarm(warm) => {
            object.text("type", "kept_warm");
            write_report(object, &warm.report);
            object.raw("saves_usd", &money(Some(warm.saves)));
            if let Some(error) = &warm.error {
                object.text("error", error);
            }
        }
        SessionEvent::Retrying { attempt, reason, wait } => {
            object.text("type", "retrying").number("request", attempt.0).text("reason", reason);
            object.number("wait_ms", *wait);
        }
        SessionEvent::CallStarted(call) => {
            object.text("type", "call_started");
            write_call(object, call);
        }
        SessionEvent::CallFinished { call, is_error, text } => {
            object.text("type", "call_finished");
            write_call(object, call);
            object.raw("is_error", if *is_error { "true" } else { "false" }).text("text", text);
        }
        SessionEvent::Reminder { kind, key, text } => {
            object.text("type", "reminder").text("kind", kind).text("key", key).text("text", text);
        }
        SessionEvent::CompactionStarted { trigger, forecast, window } => {
            object.text("type", "compaction_started").text("trigger", trigger.word());
            object.number("window", window.0).number("before", forecast.before.0);
            object.number("after", forecast.after.0).raw("asked_usd", &money(forecast.asked));
            let length = forecast.length.map_or_else(|| "null".to_owned(), |length| length.to_string());
            object.raw("summary_tokens", &length).raw("summary_usd", &money(forecast.summary));
            object.raw("without_usd", &money(forecast.without)).raw("with_usd", &money(forecast.with));
        }
        SessionEvent::CompactionEnded { tokens, failure } => {
            object.text("type", "compaction_ended").number("tokens", tokens.0);
            if let Some(failure) = failure {
                object.text("failure", failure);
            }
        }
        SessionEvent::Notice(text) => drop(object.text("type", "notice").text("text", text)),
        SessionEvent::TurnEnded { turn, reason, message } => {
            object.text("type", "turn_ended").number("turn", *turn).text("reason", reason.word());
            if let Some(message) = message {
                object.text("message", message);
            }
        }
    }
}

fn limit(limit: &Limit) -> String {
    let mut object = Object::new();
    object.number("position", limit.at as u64).text("cause", &limit.cause.to_string());
    object.boolean("documented", limit.certainty == Certainty::Documented).text("source", limit.source);
    object.close()
}

fn write_delta(object: &mut Object, delta: &Delta) -> Option<()> {
    match delta {
        Delta::Text { text, .. } => drop(object.text("type", "text").text("text", text)),
        Delta::Thinking { text, .. } => drop(object.text("type", "thinking").text("text", text)),
        _ => return None,
    }
    Some(())
}

fn write_call(object: &mut Object, call: &Call) {
    object.text("call", &call.id).text("tool", &call.name);
    object.raw("input", &String::from_utf8_lossy(&call.input));
}

fn write_report(object: &mut Object, report: &RequestReport) {
    object.number("request", report.attempt.0).number("status", report.status.into());
    if let Some(counts) = &report.counts {
        write_counts(object, counts);
        object.boolean("estimated", report.is_estimated);
    }
    object.raw("cost_usd", &money(report.cost)).raw("total_cost_usd", &money(report.total_cost));
    if let Some(stop) = &report.stop_reason {
        object.text("stop_reason", stop);
    }
    if let Some(warning) = report.warning() {
        object.text("warning", &warning);
    }
    if !report.edits.is_empty() {
        let edits: Vec<String> = report.edits.iter().map(server_edit).collect();
        object.raw("server_edits", &format!("[{}]", edits.join(",")));
    }
}

/// What the provider has done to the prompt by itself.
fn server_edit(edit: &EditReport) -> String {
    let mut object = Object::new();
    object.text("kind", edit.edit().kind().id());
    match edit {
        EditReport::Summarised { counts, cost, left } => {
            write_counts(&mut object, counts);
            object.raw("cost_usd", &money(*cost));
            object.raw("left", &left.map_or_else(|| "null".to_owned(), |left| left.0.to_string()));
        }
        EditReport::Cleared { cleared, anew, cost } => {
            object.number("tokens", cleared.tokens).number("results", cleared.tool_uses);
            object.number("thinking_turns", cleared.thinking_turns).number("anew", anew.0);
            object.raw("cost_usd", &money(*cost));
        }
    }
    object.close()
}

/// Writes tokens by billing category and the share read.
pub fn write_counts(object: &mut Object, counts: &Counts) {
    object.number("read", counts.read.0).number("written", (counts.write_5m + counts.write_1h).0);
    object.number("uncached", counts.uncached.0).number("output", counts.output.0);
    let permille = efficiency_permille(counts).unwrap_or(0);
    object.raw("efficiency", &format!("{}.{:03}", permille / 1000, permille % 1000));
}

/// A cost as a JSON string of dollars, or `null` where it is not known.
pub fn money(cost: Option<antefix_models::Money>) -> String {
    cost.map_or_else(|| "null".to_owned(), |cost| format!("\"{}\"", cost.usd()))
}

/// The word for a relation.
pub const fn relation_word(relation: Planned) -> &'static str {
    match relation {
        Planned::First => "first",
        Planned::Extends => "extends",
        Planned::BranchesAt(_) => "branches",
        Planned::Allowed(_) => "allowed",
    }
}

/// A JSON object that is written member by member.
pub struct Object(Vec<u8>);

impl Object {
    /// An object without members.
    pub fn new() -> Self {
        Self(vec![b'{'])
    }

    /// Adds a value that is JSON already.
    pub fn raw(&mut self, name: &str, value: &str) -> &mut Self {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        write_string(&mut self.0, name);
        self.0.push(b':');
        self.0.extend_from_slice(value.as_bytes());
        self
    }

    /// Adds a text.
    pub fn text(&mut self, name: &str, value: &str) -> &mut Self {
        let mut quoted = Vec::new();
        write_string(&mut quoted, value);
        self.raw(name, &String::from_utf8_lossy(&quoted))
    }

    /// Adds a number.
    pub fn number(&mut self, name: &str, value: u64) -> &mut Self {
        self.raw(name, &value.to_string())
    }

    /// Adds `true` or `false`.
    pub fn boolean(&mut self, name: &str, value: bool) -> &mut Self {
        self.raw(name, if value { "true" } else { "false" })
    }

    /// The object's text.
    pub fn close(mut self) -> String {
        self.0.push(b'}');
        String::from_utf8_lossy(&self.0).into_owned()
    }
}

/// A text as JSON.
pub fn quoted(text: &str) -> String {
    let mut out = Vec::new();
    write_string(&mut out, text);
    String::from_utf8_lossy(&out).into_owned()
}

/// An array of JSON values.
pub fn array(items: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", items.into_iter().collect::<Vec<_>>().join(","))
}
