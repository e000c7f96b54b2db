use crate::anthropic::BlockKind;
use crate::json::ScanError;

/// What an event brought, for a screen or a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    /// The message began.
    Started {
        /// Its id.
        message_id: Option<String>,
        /// The model that answers.
        model: Option<String>,
    },
    /// A block began.
    BlockStarted {
        /// The block's index as the server counts.
        index: u64,
        /// What it is.
        kind: BlockKind,
        /// The id of a tool call.
        id: Option<String>,
        /// The tool's name.
        name: Option<String>,
    },
    /// Text to show.
    Text {
        /// The block's index.
        index: u64,
        /// The next piece.
        text: String,
    },
    /// Thinking to show.
    Thinking {
        /// The block's index.
        index: u64,
        /// The next piece.
        text: String,
    },
    /// A piece of a tool's input, which is JSON only once all pieces are there.
    InputJson {
        /// The block's index.
        index: u64,
        /// The next piece.
        part: String,
    },
    /// A block is over.
    BlockStopped {
        /// The block's index.
        index: u64,
    },
    /// The model stopped.
    Stop {
        /// Why, as the API names it.
        reason: String,
        /// The stop sequence that was generated.
        sequence: Option<String>,
    },
    /// The message is over; no event follows.
    Finished,
    /// The connection is alive.
    Ping,
    /// The server gave up.
    Error {
        /// The error's `type`.
        kind: String,
        /// Its message.
        message: String,
    },
    /// A type of event or of delta that is not known here; told once, and of 32 types at most.
    Unknown {
        /// The types of the event and of its delta.
        what: String,
    },
}

/// An event that does not fit the stream. The message ends in front of it, as if the stream had been cut there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssembleError {
    /// The event's data is not JSON.
    #[error("data of event `{event}` is not JSON: {source}")]
    Json {
        /// The event's name.
        event: String,
        /// What is wrong with it.
        source: ScanError,
    },
    /// The event lacks a member, or the member has another type.
    #[error("event `{event}` lacks `{member}`")]
    Member {
        /// The event's type.
        event: String,
        /// The member's name.
        member: &'static str,
    },
    /// A delta or a stop names a block that is not open.
    #[error("no open block with index {index}")]
    NotOpen {
        /// The index named.
        index: u64,
    },
    /// A block starts under an index that an earlier block has.
    #[error("a second block with index {index}")]
    BlockAgain {
        /// The index named.
        index: u64,
    },
    /// A second message starts in the stream.
    #[error("a second message starts")]
    MessageAgain,
    /// The reply is larger than a request may be, and is dropped as a whole.
    #[error("the reply is larger than 32 MiB")]
    TooLarge,
    /// The reply has more blocks than any model writes, and is dropped as a whole.
    #[error("the reply has more than 4096 blocks")]
    TooManyBlocks,
}
