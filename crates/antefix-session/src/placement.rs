//! Where a reminder stands: what the model is told of its surroundings in the midst of a conversation.

use antefix_models::{Retention, Rules};

use crate::dialect::Dialect;

/// Where a lane's reminders stand. Fixed when the lane opens, so that a later build tells them in the same place.
///
/// What stands in a message of its own is said by the role that says the system prompt, and nothing that a user, a tool
/// or a file writes can stand there. What stands within the user's text is set apart by a tag, see
/// [`reminder`](crate::reminder).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Placement {
    /// A message of the role `system` behind the user's (Messages API).
    SystemMessage,
    /// A text block behind the user's blocks, or behind results (Messages API).
    UserBlock,
    /// A message of the system prompt's role behind the user's, or behind results (Chat Completions).
    DeveloperMessage,
    /// Within the last result, or behind the user's text.
    InText,
}

impl Placement {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::SystemMessage, Self::UserBlock, Self::DeveloperMessage, Self::InText];

    /// The name that stands for it in a transcript and in output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SystemMessage => "system-message",
            Self::UserBlock => "user-block",
            Self::DeveloperMessage => "developer-message",
            Self::InText => "in-text",
        }
    }

    /// The one of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|placement| placement.name() == name)
    }

    /// Where reminders stand in a lane that says nothing of it: where every model of the protocol takes them.
    pub const fn of_dialect(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Anthropic => Self::UserBlock,
            Dialect::OpenAiChat => Self::InText,
        }
    }

    /// Where reminders stand for a model, by its rules on its platform. Where it is not certain that a place does what it
    /// should, it is not chosen.
    ///
    /// | dialect | rules | place |
    /// |---|---|---|
    /// | Messages API | system messages are taken in the midst | [`SystemMessage`](Self::SystemMessage) |
    /// | | they are not, or nobody says; thinking of all turns is kept | [`UserBlock`](Self::UserBlock) |
    /// | | thinking of the last turn only is kept: a text beside results would end the turn and cost its thinking | [`InText`](Self::InText) |
    /// | Chat Completions | the template renders a late system message where it stands | [`DeveloperMessage`](Self::DeveloperMessage) |
    /// | | it refuses, moves or leaves it out, roles must take turns, or nobody says | [`InText`](Self::InText) |
    ///
    /// Sources: platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages (August 2026); the chat
    /// templates that `data/templates.toml` of antefix-models names.
    pub fn of_model(dialect: Dialect, rules: &Rules) -> Self {
        let template = &rules.template;
        match dialect {
            Dialect::Anthropic if rules.in_band_system.is_certain() => Self::SystemMessage,
            Dialect::Anthropic if rules.thinking_retention == Retention::LastTurn => Self::InText,
            Dialect::Anthropic => Self::UserBlock,
            Dialect::OpenAiChat if template.late_system.is_certain() && !template.strict_alternation => {
                Self::DeveloperMessage
            }
            Dialect::OpenAiChat => Self::InText,
        }
    }

    /// Whether a lane of that dialect has such a place.
    pub const fn is_in(self, dialect: Dialect) -> bool {
        match self {
            Self::SystemMessage | Self::UserBlock => matches!(dialect, Dialect::Anthropic),
            Self::DeveloperMessage => matches!(dialect, Dialect::OpenAiChat),
            Self::InText => true,
        }
    }

    /// Whether reminders are messages of their own.
    pub const fn is_apart(self) -> bool {
        matches!(self, Self::SystemMessage | Self::DeveloperMessage)
    }
}
