use std::fmt;

/// What kind of thing a piece of a prompt is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Definitions of tools.
    Tools,
    /// The part of the system prompt that all sessions share.
    Prompt,
    /// The part of the system prompt that belongs to the session; where both stand in one message, that message.
    Baseline,
    /// What the user typed.
    Typed,
    /// Images and documents of the user.
    Attached,
    /// What the model was told of its surroundings, by kind.
    Reminder(String),
    /// What the model wrote.
    Text,
    /// What the model thought.
    Thinking,
    /// Calls of a tool.
    Calls(String),
    /// What a tool returned.
    Results(String),
    /// What was added to close a turn.
    Closure,
    /// What stands for a history that was compacted, and what asked for it.
    Summary,
    /// Anything else.
    Other,
}

impl Part {
    /// The word that stands for it in JSON, and which one it is of several.
    pub fn id(&self) -> (&'static str, Option<&str>) {
        match self {
            Self::Tools => ("tools", None),
            Self::Prompt => ("prompt", None),
            Self::Baseline => ("baseline", None),
            Self::Typed => ("typed", None),
            Self::Attached => ("attached", None),
            Self::Reminder(kind) => ("reminder", Some(kind)),
            Self::Text => ("text", None),
            Self::Thinking => ("thinking", None),
            Self::Calls(tool) => ("calls", Some(tool)),
            Self::Results(tool) => ("results", Some(tool)),
            Self::Closure => ("closure", None),
            Self::Summary => ("summary", None),
            Self::Other => ("other", None),
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tools => out.write_str("tool definitions"),
            Self::Prompt => out.write_str("system prompt"),
            Self::Baseline => out.write_str("session baseline"),
            Self::Typed => out.write_str("typed by you"),
            Self::Attached => out.write_str("attached by you"),
            Self::Reminder(kind) => write!(out, "reminders: {kind}"),
            Self::Text => out.write_str("model's text"),
            Self::Thinking => out.write_str("model's thinking"),
            Self::Calls(tool) => write!(out, "calls: {tool}"),
            Self::Results(tool) => write!(out, "results: {tool}"),
            Self::Closure => out.write_str("turn closure"),
            Self::Summary => out.write_str("compaction"),
            Self::Other => out.write_str("other"),
        }
    }
}
