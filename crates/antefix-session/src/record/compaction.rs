use antefix_models::{Money, Tokens};
use antefix_wire::json::Node;
use bytes::Bytes;

use super::decode::{decode_lane, each, given, member, number, raw, word};
use super::encode::{Object, array, encode_lane};
use super::{LaneRecord, Origin, RecordError};

/// See [`Record::Compact`](super::Record::Compact). All of it is one record, so that a process that dies leaves either
/// the conversation before or the one behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactRecord {
    /// What set it off.
    pub trigger: Trigger,
    /// What it was expected to do, and at what price; shown before it was done.
    pub forecast: Forecast,
    /// The new head: the old static part, and a baseline of this day.
    pub lane: LaneRecord,
    /// What is said behind it.
    pub messages: Vec<Saying>,
}

/// What sets a compaction off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// The user's command.
    Command,
    /// The prompt has reached its share of the context window.
    Share,
}

/// What a compaction is expected to do. All tokens are estimates; costs are `None` where no price is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Forecast {
    /// Tokens of the prompt as it stands.
    pub before: Tokens,
    /// Tokens of the prompt behind the compaction.
    pub after: Tokens,
    /// Tokens that the summary is taken to have; not on record in the first transcripts.
    pub length: Option<Tokens>,
    /// Cost of the request for the summary without its reply.
    pub asked: Option<Money>,
    /// Cost of it with a reply of that length.
    pub summary: Option<Money>,
    /// Cost of the next request's prompt without the compaction.
    pub without: Option<Money>,
    /// Cost of the next request's prompt behind it.
    pub with: Option<Money>,
}

/// A message of a [`CompactRecord`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saying {
    /// The turn it was said in; of a summary, the last one it speaks of.
    pub turn: u64,
    /// Who it comes from.
    pub origin: Origin,
    /// The whole message, compact.
    pub fragment: Bytes,
}

pub(super) fn encode(object: &mut Object, compact: &CompactRecord) {
    object.text("kind", "compact").text("trigger", compact.trigger.word());
    let forecast = &compact.forecast;
    object.number("before", forecast.before.0).number("after", forecast.after.0);
    if let Some(length) = forecast.length {
        object.number("summary_tokens", length.0);
    }
    let costs = [
        ("asked_usd", forecast.asked),
        ("summary_usd", forecast.summary),
        ("without_usd", forecast.without),
        ("with_usd", forecast.with),
    ];
    for (name, cost) in costs {
        if let Some(cost) = cost {
            object.text(name, &cost.usd());
        }
    }
    let mut lane = Object::new();
    encode_lane(&mut lane, &compact.lane);
    object.raw("lane", &lane.close());
    object.raw("messages", &array(compact.messages.iter().map(encode_saying)));
}

pub(super) fn decode(node: Node<'_>) -> Result<CompactRecord, RecordError> {
    let cost = |name| given(node, name, |value| value.str()?.parse::<Money>().ok());
    Ok(CompactRecord {
        trigger: word(node, "trigger", Trigger::from_word)?,
        forecast: Forecast {
            before: Tokens(number(node, "before")?),
            after: Tokens(number(node, "after")?),
            length: given(node, "summary_tokens", |value| value.u64().map(Tokens))?,
            asked: cost("asked_usd")?,
            summary: cost("summary_usd")?,
            without: cost("without_usd")?,
            with: cost("with_usd")?,
        },
        lane: decode_lane(member(node, "lane")?)?,
        messages: each(member(node, "messages")?, |saying| decode_saying(saying).ok(), "messages")?,
    })
}

fn encode_saying(saying: &Saying) -> Vec<u8> {
    let mut object = Object::new();
    object.number("turn", saying.turn).text("origin", saying.origin.word()).raw("fragment", &saying.fragment);
    object.close()
}

fn decode_saying(node: Node<'_>) -> Result<Saying, RecordError> {
    Ok(Saying {
        turn: number(node, "turn")?,
        origin: word(node, "origin", Origin::from_word)?,
        fragment: raw(node, "fragment")?,
    })
}
