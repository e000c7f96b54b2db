use crate::json::Node;

/// What a response's `context_management.applied_edits` say was left out of the prompt.
///
/// Source: platform.claude.com/docs/en/build-with-claude/context-editing (August 2026).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cleared {
    /// Calls whose results were left out: `cleared_tool_uses`.
    pub tool_uses: u64,
    /// Turns whose thinking was left out: `cleared_thinking_turns`.
    pub thinking_turns: u64,
    /// Tokens of all that was left out: `cleared_input_tokens`.
    pub tokens: u64,
}

impl Cleared {
    /// Reads the `context_management` of a response; `None` if nothing was left out, or nothing that is known here.
    pub fn read(context_management: Node<'_>) -> Option<Self> {
        let edits = context_management.get("applied_edits")?.items();
        let cleared = edits.fold(Self::default(), |sum, edit| {
            let count = |name| edit.get(name).and_then(Node::u64).unwrap_or(0);
            Self {
                tool_uses: sum.tool_uses.saturating_add(count("cleared_tool_uses")),
                thinking_turns: sum.thinking_turns.saturating_add(count("cleared_thinking_turns")),
                tokens: sum.tokens.saturating_add(count("cleared_input_tokens")),
            }
        });
        (cleared != Self::default()).then_some(cleared)
    }

    /// Whether something is left out that `before` does not leave out: each answer says again what the ones before it
    /// said, and what is less comes from going back.
    pub fn exceeds(&self, before: &Self) -> bool {
        self.tool_uses > before.tool_uses
            || self.thinking_turns > before.thinking_turns
            || self.tokens > before.tokens
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Body;

    #[test]
    fn what_is_said_again_exceeds_nothing() {
        let cleared = |tool_uses, thinking_turns, tokens| Cleared { tool_uses, thinking_turns, tokens };
        for (now, expect) in [
            (cleared(3, 1, 50), false),
            (cleared(2, 1, 40), false),
            (cleared(4, 1, 60), true),
            (cleared(2, 2, 40), true),
            (cleared(3, 1, 51), true),
        ] {
            assert_eq!(now.exceeds(&cleared(3, 1, 50)), expect, "{now:?}");
        }
    }

    #[test]
    fn edits_are_summed_up() {
        for (text, expect) in [
            (
                r#"{"applied_edits":[{"type":"clear_thinking_20251015","cleared_thinking_turns":2,"cleared_input_tokens":5},
                    {"type":"clear_tool_uses_20250919","cleared_tool_uses":8,"cleared_input_tokens":50}]}"#,
                Some(Cleared { tool_uses: 8, thinking_turns: 2, tokens: 55 }),
            ),
            (r#"{"applied_edits":[{"type":"of_tomorrow"}]}"#, None),
            (r#"{"applied_edits":[]}"#, None),
            ("{}", None),
            ("null", None),
        ] {
            assert_eq!(Cleared::read(Body::parse(text).unwrap().root()), expect, "{text}");
        }
    }
}
