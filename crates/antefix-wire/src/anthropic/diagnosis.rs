use crate::json::{Kind, Node};

/// What the API itself says about the cache: the `diagnostics` of a response.
///
/// It compares the fingerprints of two requests and knows nothing of the cache's state, so it goes together
/// with the usage. Source: platform.claude.com/docs/en/build-with-claude/cache-diagnostics (general since
/// 2026-09-23) and `anthropic` SDK 2.14.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Diagnosis {
    /// No divergence, or no earlier request to compare with: `null`.
    NoDivergence,
    /// The comparison was not over when the response left.
    Pending,
    /// The requests diverge, or cannot be compared.
    Missed {
        /// The earliest divergence.
        reason: MissReason,
        /// Tokens of input behind it, estimated from lengths in bytes.
        missed_input: Option<u64>,
    },
}

impl Diagnosis {
    /// Reads the value of `diagnostics`; `None` for a shape that is not known.
    pub fn read(node: Node<'_>) -> Option<Self> {
        if node.is_null() {
            return Some(Self::NoDivergence);
        }
        let reason = node.get("cache_miss_reason")?;
        match reason.kind() {
            Kind::Null => Some(Self::Pending),
            Kind::Object => Some(Self::Missed {
                reason: MissReason::of(&reason.get("type")?.str()?),
                missed_input: reason.get("cache_missed_input_tokens").and_then(Node::u64),
            }),
            _ => None,
        }
    }
}

/// Why a prefix was not reused, as the API names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MissReason {
    /// `model_changed`: the model or the speed.
    Model,
    /// `system_changed`
    System,
    /// `tools_changed`
    Tools,
    /// `messages_changed`
    Messages,
    /// `previous_message_not_found`
    PreviousNotFound,
    /// `unavailable`: other parameters differ, or the divergence lies beyond the horizon.
    Unavailable,
    /// Any other reason.
    Other,
}

impl MissReason {
    fn of(type_name: &str) -> Self {
        match type_name {
            "model_changed" => Self::Model,
            "system_changed" => Self::System,
            "tools_changed" => Self::Tools,
            "messages_changed" => Self::Messages,
            "previous_message_not_found" => Self::PreviousNotFound,
            "unavailable" => Self::Unavailable,
            _ => Self::Other,
        }
    }
}
