use antefix_models::{Platform, Ttl};
use antefix_wire::json::{Body, Node, ScanError};
use bytes::Bytes;

use super::encode::{FORMAT_VERSION, KEPT};
use super::{
    AttemptId, AttemptRecord, ContextRecord, EndReason, Entry, Header, LaneRecord, MessageContent,
    MessageRecord, Millis, Origin, OutcomeRecord, PermissionRecord, Planned, Purpose, Record, RecordId,
    ResultRecord, RewindReason, Spawned, TooLong, compaction,
};
use crate::dialect::Dialect;
use crate::placement::Placement;

/// A line that is not a record of a known format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The line is not JSON.
    #[error("the record is not JSON: {0}")]
    Json(#[from] ScanError),
    /// The line lacks a member, or the member is of another type.
    #[error("the record has no usable `{0}`")]
    Member(&'static str),
    /// The transcript is of a newer format; a newer antefix reads it.
    #[error("transcript format {0} is not known to this version")]
    Version(u64),
    /// The record is of a kind that a newer antefix wrote.
    #[error("record kind `{0}` is not known to this version")]
    Kind(String),
}

impl Header {
    /// Reads the header's object.
    ///
    /// # Errors
    /// [`RecordError`] says what is missing or unknown.
    pub fn decode(object: &[u8]) -> Result<Self, RecordError> {
        let body = Body::parse(object)?;
        let node = body.root();
        if !node.get("antefix").is_some_and(|value| value.is_str("transcript")) {
            return Err(RecordError::Member("antefix"));
        }
        let version = number(node, "version")?;
        if version > FORMAT_VERSION {
            return Err(RecordError::Version(version));
        }
        let forked_from = match node.get("forked_from") {
            Some(from) => Some((text(from, "session")?, RecordId(number(from, "record")?))),
            None => None,
        };
        let spawned_by = match node.get("spawned_by") {
            Some(by) => Some(Spawned {
                session: text(by, "session")?,
                call: text(by, "call")?,
                agent: given(by, "agent", |value| Some(value.str()?.into_owned()))?,
            }),
            None => None,
        };
        Ok(Self {
            session: text(node, "session")?,
            cwd: text(node, "cwd")?,
            created: Millis(number(node, "created")?),
            build: text(node, "build")?,
            forked_from,
            spawned_by,
        })
    }
}

impl Entry {
    /// Reads a record's object.
    ///
    /// # Errors
    /// [`RecordError`] says what is missing or unknown.
    pub fn decode(object: &[u8]) -> Result<Self, RecordError> {
        let body = Body::parse(object)?;
        let node = body.root();
        Ok(Self {
            id: RecordId(number(node, "id")?),
            parent: RecordId(number(node, "parent")?),
            at: Millis(number(node, "at")?),
            record: decode_record(node)?,
        })
    }
}

fn decode_record(node: Node<'_>) -> Result<Record, RecordError> {
    let kind = text(node, "kind")?;
    Ok(match kind.as_str() {
        "lane" => Record::Lane(decode_lane(node)?),
        "message" => Record::Message(decode_message(node)?),
        "result" => Record::Result(ResultRecord {
            call: text(node, "call")?,
            tool: text(node, "tool")?,
            is_error: given(node, "error", Node::bool)?.unwrap_or(false),
            fragment: raw(node, "fragment")?,
            facts: node.get("facts").map_or_else(|| Bytes::from_static(b"[]"), raw_bytes),
        }),
        "attempt" => Record::Attempt(decode_attempt(node)?),
        "outcome" => Record::Outcome(decode_outcome(node)?),
        "turn" => Record::Turn { turn: number(node, "turn")? },
        "end" => {
            Record::End { turn: number(node, "turn")?, reason: word(node, "reason", EndReason::from_word)? }
        }
        "decision" => Record::Decision { guard: text(node, "guard")?, text: text(node, "text")? },
        "compact" => Record::Compact(Box::new(compaction::decode(node)?)),
        "carry" => Record::Carry { messages: number(node, "messages")? },
        "context" => Record::Context(decode_context(node)?),
        "permission" => Record::Permission(PermissionRecord {
            call: text(node, "call")?,
            tool: text(node, "tool")?,
            allowed: given(node, "allowed", Node::bool)?.ok_or(RecordError::Member("allowed"))?,
            rule: text(node, "rule")?,
            source: text(node, "source")?,
            remembered: node.get("remembered").map_or_else(
                || Ok(Vec::new()),
                |rules| each(rules, |rule| Some(rule.str()?.into_owned()), "remembered"),
            )?,
            effective_input: node.get("effective_input").map(raw_bytes),
        }),
        "rewind" => Record::Rewind { reason: word(node, "reason", RewindReason::from_word)? },
        _ => return Err(RecordError::Kind(kind)),
    })
}

pub(super) fn decode_lane(node: Node<'_>) -> Result<LaneRecord, RecordError> {
    let dialect = node.get("dialect").map(|_| word(node, "dialect", Dialect::from_name)).transpose()?;
    let dialect = dialect.unwrap_or_default();
    let placement =
        node.get("reminders").map(|_| word(node, "reminders", Placement::from_name)).transpose()?;
    let baseline = node.get("baseline").map(|list| list.items().map(decode_context).collect()).transpose()?;
    let is_kept = |value: Node<'_>| value.is_str(KEPT).then_some(true);
    Ok(LaneRecord {
        dialect,
        platform: word(node, "platform", Platform::from_name)?,
        model: text(node, "model")?,
        scope: text(node, "scope")?,
        betas: each(member(node, "betas")?, |beta| Some(beta.str()?.into_owned()), "betas")?,
        envelope: raw(node, "envelope")?,
        tools: raw(node, "tools")?,
        system: raw(node, "system")?,
        static_blocks: number(node, "static")?,
        cache: node.get("cache").map(|ttl| decode_ttl(ttl, "cache")).transpose()?,
        contract: number(node, "contract")?,
        keeps_reasoning: given(node, "reasoning", is_kept)?.unwrap_or(false),
        reminders: placement.unwrap_or(Placement::of_dialect(dialect)),
        baseline: baseline.unwrap_or_default(),
    })
}

fn decode_context(node: Node<'_>) -> Result<ContextRecord, RecordError> {
    let text_of = |value: Node<'_>| Some(value.str()?.into_owned());
    Ok(ContextRecord {
        kind: text(node, "source")?,
        key: given(node, "key", text_of)?.unwrap_or_default(),
        state: raw(node, "state")?,
        text: given(node, "text", text_of)?,
    })
}

fn decode_message(node: Node<'_>) -> Result<MessageRecord, RecordError> {
    let id = |id: Node<'_>| Some(RecordId(id.u64()?));
    let blocks = |name| -> Vec<Bytes> {
        node.get(name).map(|blocks| blocks.items().map(raw_bytes).collect()).unwrap_or_default()
    };
    let content = if let Some(results) = node.get("results") {
        let results = each(results, id, "results")?;
        MessageContent::Results { results, inside: blocks("inside"), blocks: blocks("blocks") }
    } else {
        MessageContent::Fragment(raw(node, "fragment")?)
    };
    let says = node.get("says").map_or_else(|| Ok(Vec::new()), |says| each(says, id, "says"))?;
    Ok(MessageRecord { origin: word(node, "origin", Origin::from_word)?, content, says })
}

fn decode_attempt(node: Node<'_>) -> Result<AttemptRecord, RecordError> {
    let marker = |pair: Node<'_>| {
        let mut items = pair.items();
        let position = items.next().and_then(Node::u64).ok_or(RecordError::Member("markers"))?;
        let ttl = items.next().ok_or(RecordError::Member("markers"))?;
        Ok((position, decode_ttl(ttl, "markers")?))
    };
    let relation = match text(node, "relation")?.as_str() {
        "first" => Planned::First,
        "extends" => Planned::Extends,
        "branches" => Planned::BranchesAt(number(node, "branches_at")?),
        "allowed" => Planned::Allowed(number(node, "branches_at")?),
        _ => return Err(RecordError::Member("relation")),
    };
    Ok(AttemptRecord {
        attempt: AttemptId(number(node, "attempt")?),
        purpose: word(node, "purpose", Purpose::from_word)?,
        lane: RecordId(number(node, "lane")?),
        markers: member(node, "markers")?.items().map(marker).collect::<Result<_, RecordError>>()?,
        positions: number(node, "positions")?,
        digest: text(node, "digest")?,
        bytes: number(node, "bytes")?,
        relation,
    })
}

fn decode_too_long(node: Node<'_>) -> Result<TooLong, RecordError> {
    Ok(TooLong { window: number(node, "window")?, tokens: given(node, "tokens", Node::u64)? })
}

fn decode_outcome(node: Node<'_>) -> Result<OutcomeRecord, RecordError> {
    let optional = |name| given(node, name, |value| Some(value.str()?.into_owned()));
    let status = |value: Node<'_>| value.u64()?.try_into().ok();
    let header = |(name, value): (Node<'_>, Node<'_>)| {
        let text = |node: Node<'_>| Some(node.str()?.into_owned());
        text(name).zip(text(value)).ok_or(RecordError::Member("quota"))
    };
    let quota = node.get("quota").map(|quota| quota.members().map(header).collect()).transpose()?;
    Ok(OutcomeRecord {
        attempt: AttemptId(number(node, "attempt")?),
        status: given(node, "status", status)?,
        message_id: optional("message_id")?,
        request_id: optional("request_id")?,
        stop_reason: optional("stop_reason")?,
        usage: node.get("usage").map(raw_bytes),
        reply_bytes: given(node, "reply_bytes", Node::u64)?,
        first_byte: given(node, "first_byte", Node::u64)?.map(Millis),
        error: optional("error")?,
        quota: quota.unwrap_or_default(),
        context_management: node.get("context_management").map(raw_bytes),
        too_long: node.get("too_long").map(decode_too_long).transpose()?,
    })
}

fn decode_ttl(node: Node<'_>, name: &'static str) -> Result<Ttl, RecordError> {
    match node.str().as_deref() {
        Some("5m") => Ok(Ttl::FiveMinutes),
        Some("1h") => Ok(Ttl::OneHour),
        _ => Err(RecordError::Member(name)),
    }
}

/// A member that need not be there, but is of the right type if it is.
pub(super) fn given<'a, T>(
    node: Node<'a>,
    name: &'static str,
    read: impl Fn(Node<'a>) -> Option<T>,
) -> Result<Option<T>, RecordError> {
    node.get(name).map(|value| read(value).ok_or(RecordError::Member(name))).transpose()
}

pub(super) fn each<'a, T>(
    list: Node<'a>,
    read: impl Fn(Node<'a>) -> Option<T>,
    name: &'static str,
) -> Result<Vec<T>, RecordError> {
    list.items().map(|item| read(item).ok_or(RecordError::Member(name))).collect()
}

pub(super) fn member<'a>(node: Node<'a>, name: &'static str) -> Result<Node<'a>, RecordError> {
    node.get(name).ok_or(RecordError::Member(name))
}

fn text(node: Node<'_>, name: &'static str) -> Result<String, RecordError> {
    Ok(member(node, name)?.str().ok_or(RecordError::Member(name))?.into_owned())
}

pub(super) fn number(node: Node<'_>, name: &'static str) -> Result<u64, RecordError> {
    member(node, name)?.u64().ok_or(RecordError::Member(name))
}

pub(super) fn raw(node: Node<'_>, name: &'static str) -> Result<Bytes, RecordError> {
    Ok(raw_bytes(member(node, name)?))
}

fn raw_bytes(node: Node<'_>) -> Bytes {
    Bytes::copy_from_slice(node.raw().as_bytes())
}

pub(super) fn word<T>(
    node: Node<'_>,
    name: &'static str,
    read: impl Fn(&str) -> Option<T>,
) -> Result<T, RecordError> {
    read(&text(node, name)?).ok_or(RecordError::Member(name))
}
