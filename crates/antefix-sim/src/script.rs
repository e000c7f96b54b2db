//! The scripted model: rules, tried in order against the end of a conversation, that say what is answered.
//!
//! The format is described in `docs/formats/script.md`.

mod conversation;
mod parse;
mod play;
mod seen;

pub(crate) use seen::{Seen, SeenMessage, SeenResult};

use conversation::Conversation;

use std::collections::BTreeMap;

use crate::Millis;

/// The rules of a scripted model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    rules: Vec<Rule>,
}

impl Script {
    /// Reads a script; the format is described in `docs/formats/script.md`.
    ///
    /// ```
    /// let script = antefix_sim::Script::parse("rule\n  on text hello\n  text Hello yourself.\n");
    /// assert!(script.is_ok());
    /// ```
    ///
    /// # Errors
    /// [`ScriptError`] names the line.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        parse::parse(text).map(|rules| Self { rules })
    }

    /// Says plainly that it is a simulator, and calls a tool when the user writes `use TOOL {json}`.
    pub fn default_script() -> Self {
        Self { rules: vec![Rule { reply: Reply { play: true, ..Reply::default() }, ..Rule::default() }] }
    }

    /// The reply to a request; `fired` counts how often a limited rule was used, and where.
    pub(crate) fn reply(&self, seen: &Seen<'_>, fired: &mut Fired) -> Reply {
        let conversation = Conversation::of(seen);
        for (index, rule) in self.rules.iter().enumerate() {
            if rule.conditions.iter().all(|condition| condition.holds(&conversation, seen)) {
                let key = rule.limit.map(|limit| (index, limit.scope.key(&conversation)));
                if let (Some(limit), Some(key)) = (rule.limit, key) {
                    let count = fired.0.entry(key).or_default();
                    if *count >= limit.times {
                        continue;
                    }
                    *count += 1;
                }
                return rule.reply.played(&conversation, seen);
            }
        }
        Reply { says: vec![Say::Text(NO_RULE.to_owned())], ..Reply::default() }
    }
}

/// A script that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct ScriptError {
    /// Number of the line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: String,
}

/// How often limited rules have been used.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fired(BTreeMap<(usize, String), u32>);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Rule {
    conditions: Vec<Condition>,
    limit: Option<Limit>,
    reply: Reply,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Limit {
    times: u32,
    scope: LimitScope,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LimitScope {
    /// Counted for each first user message.
    Conversation,
    /// Counted for the whole simulator.
    Global,
}

impl LimitScope {
    fn key(self, conversation: &Conversation<'_>) -> String {
        match self {
            Self::Conversation => conversation.opening.clone(),
            Self::Global => String::new(),
        }
    }
}

/// What a rule asks of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Condition {
    /// The last message holds user text with these words.
    Text(String),
    /// The user's last words, at the end or before any number of tool results, hold these.
    Said(String),
    /// The last message holds a result of this tool.
    Result(String),
    /// The last message holds a tool result with these words.
    ResultText(String),
    /// The last message holds a failed tool result.
    ResultError,
    /// Number of tool results since the user's last words.
    Results(u64, u64),
    /// Number of messages with tool results since the user's last words.
    Rounds(u64, u64),
    /// Number of times the user has spoken.
    Turn(u64, u64),
    /// The model's id holds this.
    Model(String),
    /// The request offers this tool.
    Offers(String),
    /// The system prompt, or a system message, holds these words.
    System(String),
}

impl Condition {
    fn holds(&self, conversation: &Conversation<'_>, seen: &Seen<'_>) -> bool {
        let within = |count: usize, from: u64, to: u64| (from..=to).contains(&(count as u64));
        match self {
            Self::Text(words) => conversation.last_texts.iter().any(|text| text.contains(words)),
            Self::Said(words) => conversation.said.contains(words.as_str()),
            Self::Result(tool) => conversation.last_results.iter().any(|result| result.tool == tool),
            Self::ResultText(words) => {
                conversation.last_results.iter().any(|result| result.text.contains(words))
            }
            Self::ResultError => conversation.last_results.iter().any(|result| result.is_error),
            Self::Results(from, to) => within(conversation.results, *from, *to),
            Self::Rounds(from, to) => within(conversation.rounds, *from, *to),
            Self::Turn(from, to) => within(conversation.turns, *from, *to),
            Self::Model(part) => seen.model.contains(part),
            Self::Offers(tool) => seen.tools.iter().any(|offered| offered == tool),
            Self::System(words) => seen.system.iter().any(|text| text.contains(words)),
        }
    }
}

/// What the model does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reply {
    pub says: Vec<Say>,
    /// Stop reason, and the sequence for `stop_sequence`; derived from the content if not given.
    pub stop: Option<(String, Option<String>)>,
    pub refusal: Option<Refusal>,
    pub fault: Option<Fault>,
    /// Replaces the configured time to the first byte.
    pub first_byte: Option<Millis>,
    /// Pause between two chunks.
    pub chunk_delay: Option<Millis>,
    pub diagnostics_pending: bool,
    /// What the provider makes of the conversation, if the request asks for a summary of it: now, at any length.
    pub summary: Option<String>,
    /// Replaces the counted output tokens.
    pub output_tokens: Option<u64>,
    /// What a chat completion lacks.
    pub lacks: Lacks,
    /// Comments between the events of a chat completion.
    pub keep_alive: bool,
    /// Bytes of a call's arguments in one delta of a chat completion; `None`: cut at odd places.
    pub argument_bytes: Option<usize>,
    play: bool,
}

impl Reply {
    /// Whether the request is lost before the cache is written.
    pub fn is_lost(&self) -> bool {
        let lost = Point::BeforeFirstByte { written: false };
        matches!(self.fault, Some(Fault::Cut(point) | Fault::Hang(point)) if point == lost)
    }
}

/// What a chat completion lacks that it should have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lacks {
    pub choices: bool,
    pub usage: bool,
    /// The reason for the end.
    pub finish: bool,
    /// The event `[DONE]`.
    pub done: bool,
}

/// One content block of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Say {
    Think(String),
    Redacted(String),
    Text(String),
    Tool {
        name: String,
        input: String,
    },
    /// A server tool, run by the provider: call, then result.
    Server {
        name: String,
        input: String,
        result: String,
    },
}

/// An error instead of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub status: u16,
    pub kind: String,
    pub message: String,
    pub retry_after: Option<u64>,
}

/// What goes wrong on the way back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The connection is reset.
    Cut(Point),
    /// Nothing more comes.
    Hang(Point),
    /// An `error` event, then the end.
    Error { kind: String, message: String, point: Point },
    /// One event is no proper SSE.
    MalformedSse,
    /// One event, or the whole body, is no proper JSON.
    MalformedJson,
}

/// Where in the response something goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Point {
    /// Before any byte of the body; whether the cache was written all the same.
    BeforeFirstByte { written: bool },
    /// After `message_start`.
    BeforeFirstBlock,
    /// Inside the first tool call's input.
    MidInput,
    /// After so many bytes of the body.
    Bytes(usize),
}

const NO_RULE: &str = "antefix-sim: no rule of the script matches this request";
