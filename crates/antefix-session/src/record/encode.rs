use antefix_models::Ttl;
use antefix_wire::json::write_string;

use super::{
    AttemptRecord, ContextRecord, Entry, Header, LaneRecord, MessageContent, MessageRecord, OutcomeRecord,
    PermissionRecord, Planned, Record, RecordId, ResultRecord, compaction,
};
use crate::dialect::Dialect;
use crate::placement::Placement;

impl Header {
    /// The header's object without its chain member.
    pub fn encode(&self) -> Vec<u8> {
        let mut object = Object::new();
        object.text("antefix", "transcript").number("version", FORMAT_VERSION);
        object.text("session", &self.session).text("cwd", &self.cwd).number("created", self.created.0);
        object.text("build", &self.build);
        if let Some((session, record)) = &self.forked_from {
            let mut from = Object::new();
            from.text("session", session).number("record", record.0);
            object.raw("forked_from", &from.close());
        }
        if let Some(spawned) = &self.spawned_by {
            let mut by = Object::new();
            by.text("session", &spawned.session).text("call", &spawned.call);
            if let Some(agent) = &spawned.agent {
                by.text("agent", agent);
            }
            object.raw("spawned_by", &by.close());
        }
        object.close()
    }
}

impl Entry {
    /// The record's object without its chain member.
    pub fn encode(&self) -> Vec<u8> {
        let mut object = Object::new();
        object.number("id", self.id.0).number("parent", self.parent.0).number("at", self.at.0);
        match &self.record {
            Record::Lane(lane) => encode_lane(object.text("kind", "lane"), lane),
            Record::Compact(compact) => compaction::encode(&mut object, compact),
            Record::Message(message) => encode_message(&mut object, message),
            Record::Result(result) => encode_result(&mut object, result),
            Record::Attempt(attempt) => encode_attempt(&mut object, attempt),
            Record::Outcome(outcome) => encode_outcome(&mut object, outcome),
            Record::Turn { turn } => drop(object.text("kind", "turn").number("turn", *turn)),
            Record::End { turn, reason } => {
                object.text("kind", "end").number("turn", *turn).text("reason", reason.word());
            }
            Record::Decision { guard, text } => {
                object.text("kind", "decision").text("guard", guard).text("text", text);
            }
            Record::Carry { messages } => drop(object.text("kind", "carry").number("messages", *messages)),
            Record::Context(context) => {
                object.text("kind", "context");
                encode_context(&mut object, context);
            }
            Record::Permission(permission) => encode_permission(&mut object, permission),
            Record::Rewind { reason } => drop(object.text("kind", "rewind").text("reason", reason.word())),
        }
        object.close()
    }
}

/// Version of the transcript format; without promise until two dialects render from it.
pub(super) const FORMAT_VERSION: u64 = 0;

/// Says of reasoning that it is sent back.
pub(super) const KEPT: &str = "kept";

/// Writes the members of a lane behind its kind.
pub(super) fn encode_lane(object: &mut Object, lane: &LaneRecord) {
    if lane.dialect != Dialect::default() {
        object.text("dialect", lane.dialect.name());
    }
    object.text("platform", lane.platform.name());
    object.text("model", &lane.model).text("scope", &lane.scope);
    object.raw("betas", &array(lane.betas.iter().map(|beta| quoted(beta))));
    if let Some(ttl) = lane.cache {
        object.text("cache", ttl.text());
    }
    object.number("contract", lane.contract).number("static", lane.static_blocks);
    if lane.keeps_reasoning {
        object.text("reasoning", KEPT);
    }
    if lane.reminders != Placement::of_dialect(lane.dialect) {
        object.text("reminders", lane.reminders.name());
    }
    if !lane.baseline.is_empty() {
        object.raw(
            "baseline",
            &array(lane.baseline.iter().map(|context| {
                let mut object = Object::new();
                encode_context(&mut object, context);
                object.close()
            })),
        );
    }
    object.raw("envelope", &lane.envelope).raw("tools", &lane.tools).raw("system", &lane.system);
}

fn encode_message(object: &mut Object, message: &MessageRecord) {
    object.text("kind", "message").text("origin", message.origin.word());
    match &message.content {
        MessageContent::Fragment(fragment) => drop(object.raw("fragment", fragment)),
        MessageContent::Results { results, inside, blocks } => {
            object.raw("results", &ids(results));
            for (name, list) in [("inside", inside), ("blocks", blocks)] {
                if !list.is_empty() {
                    object.raw(name, &array(list.iter().map(|block| block.to_vec())));
                }
            }
        }
    }
    if !message.says.is_empty() {
        object.raw("says", &ids(&message.says));
    }
}

fn encode_context(object: &mut Object, context: &ContextRecord) {
    object.text("source", &context.kind);
    if !context.key.is_empty() {
        object.text("key", &context.key);
    }
    object.raw("state", &context.state);
    if let Some(text) = &context.text {
        object.text("text", text);
    }
}

fn encode_result(object: &mut Object, result: &ResultRecord) {
    object.text("kind", "result").text("call", &result.call).text("tool", &result.tool);
    if result.is_error {
        object.raw("error", b"true");
    }
    object.raw("fragment", &result.fragment);
    if result.facts.as_ref() != b"[]" {
        object.raw("facts", &result.facts);
    }
}

fn encode_permission(object: &mut Object, permission: &PermissionRecord) {
    object.text("kind", "permission").text("call", &permission.call).text("tool", &permission.tool);
    object.raw("allowed", if permission.allowed { b"true" } else { b"false" });
    object.text("rule", &permission.rule).text("source", &permission.source);
    if !permission.remembered.is_empty() {
        object.raw("remembered", &array(permission.remembered.iter().map(|rule| quoted(rule))));
    }
    if let Some(input) = &permission.effective_input {
        object.raw("effective_input", input);
    }
}

fn encode_attempt(object: &mut Object, attempt: &AttemptRecord) {
    object.text("kind", "attempt").number("attempt", attempt.attempt.0);
    object.text("purpose", attempt.purpose.word()).number("lane", attempt.lane.0);
    let marker = |(position, ttl): &(u64, Ttl)| format!("[{position},\"{}\"]", ttl.text()).into_bytes();
    object.raw("markers", &array(attempt.markers.iter().map(marker)));
    object.number("positions", attempt.positions).text("digest", &attempt.digest);
    object.number("bytes", attempt.bytes);
    match attempt.relation {
        Planned::First => object.text("relation", "first"),
        Planned::Extends => object.text("relation", "extends"),
        Planned::BranchesAt(at) => object.text("relation", "branches").number("branches_at", at),
        Planned::Allowed(at) => object.text("relation", "allowed").number("branches_at", at),
    };
}

fn encode_outcome(object: &mut Object, outcome: &OutcomeRecord) {
    object.text("kind", "outcome").number("attempt", outcome.attempt.0);
    if let Some(status) = outcome.status {
        object.number("status", status.into());
    }
    let texts = [
        ("message_id", &outcome.message_id),
        ("request_id", &outcome.request_id),
        ("stop_reason", &outcome.stop_reason),
        ("error", &outcome.error),
    ];
    for (name, text) in texts {
        if let Some(text) = text {
            object.text(name, text);
        }
    }
    if let Some(first_byte) = outcome.first_byte {
        object.number("first_byte", first_byte.0);
    }
    if let Some(usage) = &outcome.usage {
        object.raw("usage", usage);
    }
    if let Some(bytes) = outcome.reply_bytes {
        object.number("reply_bytes", bytes);
    }
    if !outcome.quota.is_empty() {
        let mut quota = Object::new();
        for (name, value) in &outcome.quota {
            quota.text(name, value);
        }
        object.raw("quota", &quota.close());
    }
    if let Some(edits) = &outcome.context_management {
        object.raw("context_management", edits);
    }
    if let Some(too_long) = &outcome.too_long {
        let mut said = Object::new();
        said.number("window", too_long.window);
        if let Some(tokens) = too_long.tokens {
            said.number("tokens", tokens);
        }
        object.raw("too_long", &said.close());
    }
}

fn quoted(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    write_string(&mut out, text);
    out
}

fn ids(records: &[RecordId]) -> Vec<u8> {
    array(records.iter().map(|id| id.0.to_string().into_bytes()))
}

pub(super) fn array(items: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut out = vec![b'['];
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(&item);
    }
    out.push(b']');
    out
}

/// A compact JSON object that is written member by member.
pub(super) struct Object(Vec<u8>);

impl Object {
    pub(super) fn new() -> Self {
        Self(vec![b'{'])
    }

    pub(super) fn raw(&mut self, name: &str, value: &[u8]) -> &mut Self {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        write_string(&mut self.0, name);
        self.0.push(b':');
        self.0.extend_from_slice(value);
        self
    }

    pub(super) fn text(&mut self, name: &str, value: &str) -> &mut Self {
        self.raw(name, &quoted(value))
    }

    pub(super) fn number(&mut self, name: &str, value: u64) -> &mut Self {
        self.raw(name, value.to_string().as_bytes())
    }

    pub(super) fn close(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }
}
