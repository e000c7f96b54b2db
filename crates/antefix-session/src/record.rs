//! The records of a transcript: what each line says. The bytes are drawn in `docs/formats/transcript.md`.

mod compaction;
mod decode;
mod encode;

pub use compaction::{CompactRecord, Forecast, Saying, Trigger};
pub use decode::RecordError;

use antefix_models::{Platform, Ttl};
use antefix_wire::assemble::StopReason;
use bytes::Bytes;

use crate::dialect::Dialect;
use crate::placement::Placement;

/// Number of a record in its transcript; the header is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct RecordId(pub u64);

/// Milliseconds since the Unix epoch, read by the caller's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Millis(pub u64);

/// Number of a request in its transcript, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct AttemptId(pub u64);

/// The first line of a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Name of the session, unique on this machine.
    pub session: String,
    /// Working directory of the session.
    pub cwd: String,
    /// When the session began.
    pub created: Millis,
    /// Version of antefix that wrote the header.
    pub build: String,
    /// The session and record this one was forked from.
    pub forked_from: Option<(String, RecordId)>,
    /// The call of another session that this one works for.
    pub spawned_by: Option<Spawned>,
}

/// The call of a session that another one works for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spawned {
    /// The session that called.
    pub session: String,
    /// The call's id on the wire.
    pub call: String,
    /// The agent that was named, if one was.
    pub agent: Option<String>,
}

/// A record with its place in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// This record's number.
    pub id: RecordId,
    /// The record this one hangs from: the one in front of it, except behind a rewind.
    pub parent: RecordId,
    /// When it was written.
    pub at: Millis,
    /// What it says.
    pub record: Record,
}

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// Opens a lane: fixes everything of a request body in front of its messages.
    Lane(LaneRecord),
    /// A message of the conversation, frozen as it will be sent.
    Message(MessageRecord),
    /// The outcome of one tool call, frozen as the block that will be sent.
    Result(ResultRecord),
    /// A request is about to leave.
    Attempt(AttemptRecord),
    /// A request ended.
    Outcome(OutcomeRecord),
    /// A user's turn begins.
    Turn {
        /// Number of the turn, from 1.
        turn: u64,
    },
    /// A user's turn is over.
    End {
        /// Number of the turn.
        turn: u64,
        /// Why it is over.
        reason: EndReason,
    },
    /// A guard decided something other than to go on.
    Decision {
        /// The guard's name.
        guard: String,
        /// What it decided, in words for the user.
        text: String,
    },
    /// The conversation goes on in the open lane's dialect: the next messages say what was said before in another.
    Carry {
        /// How many they are.
        messages: u64,
    },
    /// The conversation goes on from a summary, behind a new head.
    Compact(Box<CompactRecord>),
    /// What was observed of the surroundings in the midst of the conversation.
    Context(ContextRecord),
    /// What was decided about a call before it ran.
    Permission(PermissionRecord),
    /// The conversation goes on from an earlier record, which is this record's parent.
    Rewind {
        /// Why.
        reason: RewindReason,
    },
}

/// See [`Record::Lane`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneRecord {
    /// The protocol all its bytes are written in.
    pub dialect: Dialect,
    /// Where the model runs.
    pub platform: Platform,
    /// The model's name as sent.
    pub model: String,
    /// Digest of key, organisation and base URL, as hex; equal scope means a shared cache.
    pub scope: String,
    /// `anthropic-beta` values, in the order sent.
    pub betas: Vec<String>,
    /// Members of the body in front of `tools`, as one compact object.
    pub envelope: Bytes,
    /// The tools, as one compact array.
    pub tools: Bytes,
    /// The system blocks, or the messages of the system prompt, as one compact array; the first `static_blocks` are
    /// equal for all sessions of a kind.
    pub system: Bytes,
    /// Number of leading entries of `system` that are shared.
    pub static_blocks: u64,
    /// Whether markers are sent at all, and how long entries live.
    pub cache: Option<Ttl>,
    /// Version of the tools' contract that dispatch keeps to.
    pub contract: u64,
    /// Whether a model's reasoning is sent back where the protocol does not ask for it. What is left out when a reply
    /// goes on record never comes back, so this is decided once.
    pub keeps_reasoning: bool,
    /// Where reminders stand.
    pub reminders: Placement,
    /// What the head says of the surroundings: what is known of them until a [`Record::Context`] says otherwise. It is
    /// part of this record, so that no crash can leave a head without it. Their texts stand in the head.
    pub baseline: Vec<ContextRecord>,
}

impl LaneRecord {
    /// Whether tools of its array can be offered and withdrawn in the midst of the conversation: its requests name the
    /// beta for it, from the first one on, and reminders are system messages.
    pub fn takes_tool_changes(&self) -> bool {
        self.dialect == Dialect::Anthropic
            && self.reminders == Placement::SystemMessage
            && self.betas.iter().any(|beta| beta == TOOL_CHANGES_BETA)
    }

    /// Whether what was said in another lane can be sent in this one as it is. Thinking is bound to the model that
    /// wrote it, so that a conversation with another one is said anew.
    pub fn takes_words_of(&self, other: &Self) -> bool {
        self.dialect == other.dialect && self.model == other.model
    }
}

/// See [`Record::Context`]. It stands in its turn, in front of the message that says it; one whose message never came is
/// said by the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextRecord {
    /// The kind of source that observed it: `date`, `git`, `instructions` …
    pub kind: String,
    /// Which of that kind, such as a path; empty if there is but one.
    pub key: String,
    /// What the source compares later with what it observes then, as compact JSON; `null` if it is gone.
    pub state: Bytes,
    /// What the model is told; `None` if there is nothing to say.
    pub text: Option<String>,
}

/// Who a message comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Typed by the user.
    User,
    /// Answered by the model.
    Assistant,
    /// Tool results, sealed in the order of the calls.
    Results,
    /// Put in by the turn-closure table.
    Closure,
    /// Tells of the surroundings, behind the user's message or results; of the role that says the system prompt.
    Reminder,
    /// Stands for what a compaction has left behind.
    Summary,
    /// Said beside the conversation, to get a summary of it; the conversation goes on without it.
    Aside,
}

/// See [`Record::Message`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageRecord {
    /// Who it comes from.
    pub origin: Origin,
    /// What is sent.
    pub content: MessageContent,
    /// The [`Record::Context`]s that it says: all that wait, or none.
    pub says: Vec<RecordId>,
}

/// The content of a [`MessageRecord`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessageContent {
    /// The whole message, compact.
    Fragment(Bytes),
    /// Recorded results, in this order, and what stands behind them.
    Results {
        /// The [`Record::Result`]s.
        results: Vec<RecordId>,
        /// Texts at the end of the last of them, as compact text blocks.
        inside: Vec<Bytes>,
        /// Further content blocks, each compact; none in Chat Completions, where results are messages.
        blocks: Vec<Bytes>,
    },
}

/// See [`Record::Result`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultRecord {
    /// The call's id on the wire.
    pub call: String,
    /// Name of the tool that ran.
    pub tool: String,
    /// Whether the result is an error.
    pub is_error: bool,
    /// The `tool_result` block, or the message of the role `tool`, compact.
    pub fragment: Bytes,
    /// What the tool learned about files, as one compact array; empty array if nothing.
    pub facts: Bytes,
}

/// See [`Record::Permission`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionRecord {
    /// The call's id on the wire.
    pub call: String,
    /// Name of the tool.
    pub tool: String,
    /// Whether it runs.
    pub allowed: bool,
    /// The rule or the mode that decided, or what asked and was answered.
    pub rule: String,
    /// Where that comes from, in words for the user.
    pub source: String,
    /// Allow rules that hold from here on for the rest of the session.
    pub remembered: Vec<String>,
    /// What the call is executed with where that is not what the model wrote, as one compact object. The model's own
    /// input stays as it is in its message.
    pub effective_input: Option<Bytes>,
}

/// The beta of `tool_addition` and `tool_removal` in system messages.
///
/// Whether another set of betas costs the cache is not documented: cache diagnostics report it as `unavailable`
/// (platform.claude.com/docs/en/build-with-claude/cache-diagnostics, August 2026). So it is part of a lane and named from
/// its first request on, whether or not a tool ever changes.
pub const TOOL_CHANGES_BETA: &str = "mid-conversation-tool-changes-2026-07-01";

/// What [`PermissionRecord::source`] begins with where a rule or a mode wanted a question, whoever answered it.
pub const ASKED_BY: &str = "asked by ";

/// Why a request is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A step of the user's turn.
    Turn,
    /// To get a summary of what was said.
    Compaction,
    /// An earlier request once more, for one token, so that its cache entry lives on.
    Warm,
}

/// How a request relates to those sent before in its lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planned {
    /// The first of its lane.
    First,
    /// Extends an earlier request, or repeats it.
    Extends,
    /// Shares this many leading positions with an earlier request and then goes on differently, as planned.
    BranchesAt(u64),
    /// Was let through although it neither extends nor branches as planned.
    Allowed(u64),
}

/// See [`Record::Attempt`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttemptRecord {
    /// Number of the request.
    pub attempt: AttemptId,
    /// Why it is made.
    pub purpose: Purpose,
    /// The lane record.
    pub lane: RecordId,
    /// Markers as (position, lifetime); positions count tools, system blocks and message blocks from 0.
    pub markers: Vec<(u64, Ttl)>,
    /// Number of positions in the body.
    pub positions: u64,
    /// blake3 of the body as sent, as hex.
    pub digest: String,
    /// Length of the body in bytes.
    pub bytes: u64,
    /// Checked relation to earlier requests.
    pub relation: Planned,
}

/// See [`Record::Outcome`].
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct OutcomeRecord {
    /// Which request.
    pub attempt: AttemptId,
    /// HTTP status; `None` if no response arrived.
    pub status: Option<u16>,
    /// The provider's id of the message.
    pub message_id: Option<String>,
    /// The provider's id of the request.
    pub request_id: Option<String>,
    /// Why the model stopped.
    pub stop_reason: Option<String>,
    /// The usage object as it came, merged over the stream's events.
    pub usage: Option<Bytes>,
    /// Length of the reply's blocks in bytes, where no usage came and tokens must be estimated.
    pub reply_bytes: Option<u64>,
    /// When the first byte of the response arrived.
    pub first_byte: Option<Millis>,
    /// What went wrong, in words for the user.
    pub error: Option<String>,
    /// Quota headers of the response, name and value.
    pub quota: Vec<(String, String)>,
    /// The response's `context_management`, compact: what the provider has left out of the prompt.
    pub context_management: Option<Bytes>,
    /// The provider found the prompt too long, and says how long one may be.
    pub too_long: Option<TooLong>,
}

/// What a provider says of a prompt that is longer than it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// Tokens of the context window.
    pub window: u64,
    /// Tokens of the prompt, if it was told.
    pub tokens: Option<u64>,
}

impl OutcomeRecord {
    /// Why what was asked may not be sent again, if so.
    pub fn leaves_behind(&self) -> Option<RewindReason> {
        match self.status? {
            200 => {
                let stop = self.stop_reason.as_deref().map(StopReason::named);
                (stop == Some(StopReason::Refusal)).then_some(RewindReason::Refusal)
            }
            status if is_retryable(status) => None,
            _ => Some(RewindReason::Rejected),
        }
    }
}

/// Whether a request with that status may be answered when it is made again.
///
/// Source: the official SDKs of November 2026 retry 408, 409, 429 and 5xx.
fn is_retryable(status: u16) -> bool {
    matches!(status, 408 | 409 | 429) || status >= 500
}

/// Why a turn is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// The model ended it.
    EndTurn,
    /// The model met a stop sequence.
    StopSequence,
    /// The reply was cut off by the output limit.
    MaxTokens,
    /// The reply was cut off by the context window.
    WindowExceeded,
    /// The model refused.
    Refusal,
    /// The reply held nothing.
    Empty,
    /// A guard ended it.
    Guard,
    /// The user stopped it.
    Interrupted,
    /// The request was rejected.
    Rejected,
    /// The provider could not be reached or failed, retries included.
    Failed,
    /// It was over long ago, and its messages have been carried over into another dialect.
    Carried,
}

/// Why a conversation went back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RewindReason {
    /// The user asked for it.
    User,
    /// The provider rejected the request that held what is left behind.
    Rejected,
    /// The model refused; the refused turn may not be sent again.
    Refusal,
    /// The model had paused in the midst of a server's tools, and the user has spoken since; the reply goes on
    /// record anew without the calls that have no result.
    Paused,
    /// A summary is asked for of the part in front: the whole leaves no room for one.
    Cut,
    /// A summary was asked for, and the conversation goes on as if it had not been.
    Compaction,
}

macro_rules! words {
    ($type:ty { $($variant:ident = $word:literal),* $(,)? }) => {
        impl $type {
            /// The word that stands for it in a transcript.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }

            /// Reads the word that stands for it in a transcript.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)* _ => None }
            }
        }
    };
}

words!(Origin {
    User = "user",
    Assistant = "assistant",
    Results = "results",
    Closure = "closure",
    Reminder = "reminder",
    Summary = "summary",
    Aside = "aside",
});
words!(Purpose { Turn = "turn", Compaction = "compaction", Warm = "warm" });
words!(Trigger { Command = "command", Share = "share" });
words!(EndReason {
    EndTurn = "end_turn",
    StopSequence = "stop_sequence",
    MaxTokens = "max_tokens",
    WindowExceeded = "window_exceeded",
    Refusal = "refusal",
    Empty = "empty",
    Guard = "guard",
    Interrupted = "interrupted",
    Rejected = "rejected",
    Failed = "failed",
    Carried = "carried",
});
words!(RewindReason {
    User = "user",
    Rejected = "rejected",
    Refusal = "refusal",
    Paused = "paused",
    Cut = "cut",
    Compaction = "compaction",
});
