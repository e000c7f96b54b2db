//! What planning needs of a position.

use antefix_models::Tokens;
use antefix_wire::anthropic::{BlockKind, Role};

use crate::position::{Position, PositionKind, Section};

/// One position with its estimated length, as the planner and [`effective`](crate::effective) see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The part of the prompt.
    pub section: Section,
    /// What it is.
    pub kind: PositionKind,
    /// Who speaks; [`Role::System`] for tools and the system prompt.
    pub role: Role,
    /// Its length, estimated.
    pub tokens: Tokens,
    /// A marker may stand here.
    pub markable: bool,
    /// It is part of a message that the provider drops later (`clear_at`).
    pub clears: bool,
    /// It is an image, or a tool's result with one.
    pub image: bool,
    /// It is a model's thinking, open or redacted, or a chat message that holds some.
    pub thinks: bool,
    /// It names a deferred tool (`tool_reference`) whose definition is no longer the one first sent: the
    /// definition is rendered here, so the position is no longer what it was.
    pub reference_changed: bool,
}

impl Segment {
    /// The segment of a position of `tokens` tokens.
    pub fn of(position: &Position, tokens: Tokens) -> Self {
        Self {
            section: position.section,
            kind: position.kind,
            role: position.role,
            tokens,
            markable: position.markable,
            clears: position.clears,
            image: position.image,
            thinks: position.thinks,
            reference_changed: false,
        }
    }

    /// Whether it is part of a user message, tool results included.
    pub fn is_from_user(&self) -> bool {
        self.section == Section::Messages && self.role == Role::User
    }

    /// Whether it is a summary that the server has written: nothing of the messages in front of it is read any more.
    pub fn is_summary(&self) -> bool {
        self.section == Section::Messages && self.kind == PositionKind::Block(BlockKind::Compaction)
    }

    /// Whether the user speaks here, which a tool's result is not.
    pub fn is_user_speech(&self) -> bool {
        self.is_from_user() && self.kind != PositionKind::Block(BlockKind::ToolResult)
    }

    /// Whether it makes one position of the lookback together with a neighbour of the same kind, where runs
    /// collapse.
    pub(crate) fn runs_with(&self, before: &Self) -> bool {
        self.kind == before.kind
            && matches!(self.kind, PositionKind::Block(BlockKind::ToolUse | BlockKind::ToolResult))
    }
}
