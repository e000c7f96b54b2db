/// Why a model stopped, in terms that all APIs share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StopReason {
    /// It was done: `end_turn`, `stop`.
    EndTurn,
    /// It wrote a stop sequence: `stop_sequence`. Chat Completions says `stop` then as well.
    StopSequence,
    /// The limit of the output was reached: `max_tokens`, `length`. Chat Completions says so of the context window
    /// too.
    OutputLimit,
    /// The context window is full: `model_context_window_exceeded`.
    WindowExceeded,
    /// It waits for the results of its calls: `tool_use`, `tool_calls`, and `function_call` as it was before.
    Calls,
    /// It goes on when its reply is sent back: `pause_turn`; `compaction`, where the reply is a summary.
    Pause,
    /// It refused, or a filter took away what it wrote: `refusal`, `content_filter`.
    Refusal,
    /// A reason not known here.
    Other,
}

impl StopReason {
    /// The reason that an API names so: `stop_reason` of the Messages API (`anthropic` SDK 2.14.0) or `finish_reason`
    /// of Chat Completions (`openai` SDK 3.57.0, both November 2026). No name has two meanings.
    pub fn named(name: &str) -> Self {
        match name {
            "end_turn" | "stop" => Self::EndTurn,
            "stop_sequence" => Self::StopSequence,
            "max_tokens" | "length" => Self::OutputLimit,
            "model_context_window_exceeded" => Self::WindowExceeded,
            "tool_use" | "tool_calls" | "function_call" => Self::Calls,
            "pause_turn" | "compaction" => Self::Pause,
            "refusal" | "content_filter" => Self::Refusal,
            _ => Self::Other,
        }
    }
}
