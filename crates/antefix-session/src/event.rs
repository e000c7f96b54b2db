//! What goes into a session, what comes out of it, and what the caller is asked to do.

use antefix_models::{Counts, Money, Tokens, Ttl};
use antefix_prefix::Limit;
use antefix_wire::assemble::Assembled;
use bytes::Bytes;

use crate::conversation::{Call, ComposedBody};
use crate::edited::EditReport;
use crate::record::{
    AttemptId, ContextRecord, EndReason, Entry, Forecast, LaneRecord, Millis, PermissionRecord, Planned,
    TooLong, Trigger,
};
use crate::warm::Outlook;

/// Something that happened.
#[derive(Debug)]
pub enum Event {
    /// The turn before is to be closed, and what was said carried over into the open lane's dialect, as the next prompt
    /// would do it: from then on [`known`](crate::conversation::Conversation::known) is what holds for that prompt.
    Settle,
    /// The user says something.
    Prompt {
        /// Content blocks, each one compact JSON object.
        blocks: Vec<Bytes>,
        /// What has changed around the model since it was told last; said with the user's words.
        context: Vec<ContextRecord>,
    },
    /// Something around the model has changed while a turn runs; said with the next message of the user's side.
    Note(Vec<ContextRecord>),
    /// A request ended.
    Response {
        /// Which one.
        attempt: AttemptId,
        /// How.
        end: ResponseEnd,
    },
    /// The time of a [`Command::Wait`] has come.
    Due,
    /// The time of a [`Command::WarmAt`] has come.
    WarmDue,
    /// A tool call returned.
    Returned {
        /// The call's id on the wire.
        call: String,
        /// What it returned.
        output: Returned,
    },
    /// Something was decided about a call that waits.
    Decided(PermissionRecord),
    /// The user wants the turn to stop.
    Interrupt,
    /// Something that stands guard outside the session does not let the turn begin, or go on behind its open calls.
    Halt {
        /// Its name.
        guard: String,
        /// Why, in words for the user.
        text: String,
    },
    /// The user wants to go on from in front of this turn.
    Rewind {
        /// Number of the first turn that is left behind.
        turn: u64,
    },
    /// The user wants the conversation to go on from a summary; answered by [`SessionEvent::CompactionEnded`].
    Compact,
    /// What a [`Command::Refresh`] asked for.
    Refreshed(Box<Refreshed>),
}

/// How things are on the day of a compaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refreshed {
    /// The head that the conversation goes on behind, of the same dialect: tools and prompt as they were, and a
    /// baseline of this day.
    pub lane: LaneRecord,
    /// What stands behind the summary, as content blocks: the list of what is to be done, the files that were looked
    /// at, whatever else must not be lost.
    pub state: Vec<Bytes>,
}

/// What a tool call returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Returned {
    /// Content blocks, each one compact JSON object.
    pub content: Vec<Bytes>,
    /// Whether the call failed.
    pub is_error: bool,
    /// What it learned about files, one compact JSON array.
    pub facts: Bytes,
}

/// How a request ended.
#[derive(Debug)]
pub enum ResponseEnd {
    /// A message was streamed, whole or cut.
    Message {
        /// What arrived.
        message: Box<Assembled>,
        /// What is known of the response apart from its message.
        response: ResponseFacts,
        /// Why the stream ended early, if it did.
        cut: Option<String>,
    },
    /// The provider answered with an error.
    Rejected {
        /// What is known of the response.
        response: ResponseFacts,
        /// The provider's `error.type`.
        kind: String,
        /// The provider's message, as it is.
        message: String,
        /// How long the provider asks to wait, in milliseconds.
        retry_after: Option<u64>,
    },
    /// No response arrived.
    Unreachable {
        /// Why, in words for the user.
        error: String,
        /// Whether trying again may help.
        retryable: bool,
    },
}

/// What is known of a response apart from its message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResponseFacts {
    /// HTTP status.
    pub status: u16,
    /// The provider's id of the request.
    pub request_id: Option<String>,
    /// When the first byte arrived.
    pub first_byte: Option<Millis>,
    /// Quota headers.
    pub quota: Vec<(String, String)>,
    /// The prompt was longer than the provider takes, and it says how long one may be.
    pub too_long: Option<TooLong>,
}

/// Something the caller does, in the order given; if one fails, the later ones are not done.
#[derive(Debug)]
pub enum Command {
    /// Append these records to the transcript.
    Append {
        /// The records.
        entries: Vec<Entry>,
        /// Whether they must survive a loss of power before the next command is done.
        durable: bool,
    },
    /// Send this request; answered by [`Event::Response`].
    Send {
        /// Number of the request.
        attempt: AttemptId,
        /// Its body.
        body: ComposedBody,
    },
    /// Run these calls; each is answered by [`Event::Returned`].
    Run(Vec<Call>),
    /// Wait until then; answered by [`Event::Due`].
    Wait(Millis),
    /// Say how things are now; answered by [`Event::Refreshed`].
    Refresh,
    /// Wake the session then if it still waits for calls; answered by [`Event::WarmDue`]. A later one takes its place.
    WarmAt(Millis),
    /// Send this beside the calls that run; answered by [`Event::Response`], unless the turn is over by then.
    Warm {
        /// Number of the request.
        attempt: AttemptId,
        /// Its body.
        body: ComposedBody,
    },
    /// Stop the request in flight; it is still answered by [`Event::Response`].
    StopRequest,
    /// Stop the calls that run; they are still answered by [`Event::Returned`].
    StopCalls,
    /// Show this.
    Emit(SessionEvent),
}

/// One thing to show or to pass on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionEvent {
    /// A turn began.
    TurnStarted {
        /// Its number.
        turn: u64,
    },
    /// A request leaves.
    RequestStarted {
        /// Its number.
        attempt: AttemptId,
        /// Length of the body in bytes.
        bytes: u64,
        /// Positions in the body.
        positions: u64,
        /// Messages in the body.
        messages: u64,
        /// Checked relation to earlier requests.
        relation: Planned,
        /// Markers as (position, lifetime).
        markers: Vec<(u64, Ttl)>,
        /// Where the provider's own rules do not let the request read what was sent before, with the source of each.
        limits: Vec<Limit>,
    },
    /// A request was answered.
    RequestFinished(Box<RequestReport>),
    /// What the request that is about to leave is expected to cost.
    Forecast(Outlook),
    /// An earlier request was made once more so that its cache entry lives on.
    KeptWarm(Box<WarmReport>),
    /// A request will be made again.
    Retrying {
        /// Number of the request that failed.
        attempt: AttemptId,
        /// Why it failed.
        reason: String,
        /// How long until the next one, in milliseconds.
        wait: u64,
    },
    /// A tool is called.
    CallStarted(Call),
    /// A tool call returned.
    CallFinished {
        /// The call.
        call: Call,
        /// Whether it failed.
        is_error: bool,
        /// Text of its result.
        text: String,
    },
    /// The model is told of something around it, with the next request.
    Reminder {
        /// The kind of source.
        kind: String,
        /// Which of that kind; empty if there is but one.
        key: String,
        /// What the model is told.
        text: String,
    },
    /// A summary is about to be asked for, so that the conversation can go on from it.
    CompactionStarted {
        /// What set it off.
        trigger: Trigger,
        /// What it will do, and at what price.
        forecast: Forecast,
        /// Tokens of the model's context window.
        window: Tokens,
    },
    /// The conversation goes on from a summary, or as it was.
    CompactionEnded {
        /// Tokens of the prompt behind it, estimated; of the prompt as it is if it came to nothing.
        tokens: Tokens,
        /// Why it came to nothing, if so.
        failure: Option<String>,
    },
    /// Something the user should know.
    Notice(String),
    /// A turn is over.
    TurnEnded {
        /// Its number.
        turn: u64,
        /// Why.
        reason: EndReason,
        /// What went wrong or was decided, in words.
        message: Option<String>,
    },
}

/// What it took to keep the cache warm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarmReport {
    /// The request.
    pub report: RequestReport,
    /// What the next request of the turn would cost more if the entry had expired.
    pub saves: Money,
    /// What went wrong; the cache is not kept warm any longer then.
    pub error: Option<String>,
}

/// What a request read, wrote and cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestReport {
    /// Its number.
    pub attempt: AttemptId,
    /// HTTP status.
    pub status: u16,
    /// Tokens by billing category; `None` if nothing is known of them.
    pub counts: Option<Counts>,
    /// The provider did not say, and `counts` are estimated from bytes.
    pub is_estimated: bool,
    /// What they cost; `None` if the model is unpriced.
    pub cost: Option<Money>,
    /// Tokens of the session so far.
    pub total: Counts,
    /// Cost of the session so far; `None` if any of it is unpriced.
    pub total_cost: Option<Money>,
    /// Tokens that an earlier request had left in the cache for it, estimated; none if nothing was known to be there.
    pub expects: Tokens,
    /// Why the model stopped.
    pub stop_reason: Option<String>,
    /// What the provider has newly done to the prompt, in order, as it was asked to.
    pub edits: Vec<EditReport>,
}

impl RequestReport {
    /// A warning if the request should have read the cache and did not, or read less than half of what it should have.
    pub fn warning(&self) -> Option<String> {
        let counts = self.counts?;
        if self.expects.is_zero() || !self.edits.is_empty() {
            return None;
        }
        if counts.read.is_zero() {
            return Some(
                "nothing was read from the cache although an earlier request wrote this prefix".to_owned(),
            );
        }
        let (read, expects) = (counts.read.0, self.expects.0);
        (read.saturating_mul(2) < expects).then(|| {
            format!(
                "only {read} of about {expects} tokens were read that an earlier request left in the cache"
            )
        })
    }
}

/// Cache read per thousand of input tokens; `None` without input.
pub fn efficiency_permille(counts: &Counts) -> Option<u64> {
    let prompt = counts.prompt().0;
    (prompt > 0).then(|| (u128::from(counts.read.0) * 1000 / u128::from(prompt)) as u64)
}
