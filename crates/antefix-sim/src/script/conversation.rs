//! What a rule can see of a request: the end of the conversation and a few counts.

use std::collections::BTreeMap;

use super::seen::{Seen, SeenMessage};

/// The end of a conversation.
pub(crate) struct Conversation<'a> {
    /// Texts of the last message that is not a system message, if the user's.
    pub last_texts: Vec<&'a str>,
    /// Tool results of that message.
    pub last_results: Vec<ToolResult<'a>>,
    /// The user's last words, wherever they stand.
    pub said: String,
    /// The user's first words: the name of the conversation.
    pub opening: String,
    /// Tool results since the last words.
    pub results: usize,
    /// Messages with tool results since the last words.
    pub rounds: usize,
    /// How often the user has spoken.
    pub turns: usize,
}

impl<'a> Conversation<'a> {
    pub fn of(seen: &Seen<'a>) -> Self {
        let calls = calls(seen);
        let messages = &seen.messages;
        let spoken: Vec<usize> =
            messages.iter().enumerate().filter(|(_, message)| message.speaks()).map(|(at, _)| at).collect();
        let since = messages.iter().skip(spoken.last().map_or(0, |at| at + 1));
        let counts: Vec<usize> =
            since.map(|message| message.results.len()).filter(|&count| count > 0).collect();
        let last = messages.last().filter(|message| message.by_user);
        let words_at = |at: Option<&usize>| {
            at.and_then(|&at| messages.get(at)).map(words).unwrap_or_default().join("\n")
        };
        let result = |result: &super::seen::SeenResult<'a>| ToolResult {
            tool: calls.get(result.call).copied().unwrap_or_default(),
            text: result.text,
            is_error: result.is_error,
        };
        Self {
            last_texts: last.map(words).unwrap_or_default(),
            last_results: last.into_iter().flat_map(|message| &message.results).map(result).collect(),
            said: words_at(spoken.last()),
            opening: words_at(spoken.first()),
            results: counts.iter().sum(),
            rounds: counts.len(),
            turns: spoken.len(),
        }
    }
}

/// A tool's result and the tool it is of.
pub(crate) struct ToolResult<'a> {
    pub tool: &'a str,
    pub text: &'a str,
    pub is_error: bool,
}

/// Names of the tools called, by id.
fn calls<'a>(seen: &Seen<'a>) -> BTreeMap<&'a str, &'a str> {
    seen.messages.iter().flat_map(|message| message.calls.iter().copied()).collect()
}

fn words<'a>(message: &SeenMessage<'a>) -> Vec<&'a str> {
    message.words().collect()
}
