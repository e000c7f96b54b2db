//! What a rule can see of a request: the end of the conversation and a few counts.

use std::collections::BTreeMap;

use crate::request::{Block, Message, Request, Role};

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
    pub fn of(request: &'a Request) -> Self {
        let calls = calls(request);
        let messages: Vec<&Message> =
            request.messages.iter().filter(|message| message.role != Role::System).collect();
        let spoken: Vec<usize> =
            messages.iter().enumerate().filter(|(_, message)| speaks(message)).map(|(at, _)| at).collect();
        let since = messages.iter().skip(spoken.last().map_or(0, |at| at + 1));
        let counts: Vec<usize> =
            since.map(|message| results(message).count()).filter(|&count| count > 0).collect();
        let last = messages.last().filter(|message| message.role == Role::User);
        let last_results = last.into_iter().flat_map(|message| results(message));
        let words_at = |at: Option<&usize>| {
            at.and_then(|&at| messages.get(at)).map(|message| words(message).join("\n")).unwrap_or_default()
        };
        Self {
            last_texts: last.into_iter().flat_map(|message| words(message)).collect(),
            last_results: last_results
                .map(|block| ToolResult {
                    tool: calls.get(block.id.as_str()).copied().unwrap_or_default(),
                    block,
                })
                .collect(),
            said: words_at(spoken.last()),
            opening: words_at(spoken.first()),
            results: counts.iter().sum(),
            rounds: counts.len(),
            turns: spoken.len(),
        }
    }

    /// Texts of the system prompt and of system messages.
    pub fn system_texts(request: &'a Request) -> impl Iterator<Item = &'a str> {
        let messages = request.messages.iter().filter(|message| message.role == Role::System);
        let inner = messages.flat_map(|message| &message.blocks);
        request.system.iter().chain(inner).map(|block| block.plain.as_str())
    }
}

/// A tool's result and the tool it is of.
pub(crate) struct ToolResult<'a> {
    pub tool: &'a str,
    pub block: &'a Block,
}

/// Names of the tools called, by id.
fn calls(request: &Request) -> BTreeMap<&str, &str> {
    let blocks = request.messages.iter().flat_map(|message| &message.blocks);
    blocks
        .filter(|block| block.kind == "tool_use")
        .map(|block| (block.id.as_str(), block.name.as_str()))
        .collect()
}

fn speaks(message: &Message) -> bool {
    message.role == Role::User && !words(message).is_empty()
}

/// What the user wrote; reminders wrapped in tags are not the user's words.
fn words(message: &Message) -> Vec<&str> {
    let texts = message.blocks.iter().filter(|block| block.kind == "text").map(|block| block.plain.as_str());
    texts.filter(|text| !text.trim_start().starts_with("<system-reminder")).collect()
}

fn results(message: &Message) -> impl Iterator<Item = &Block> {
    message.blocks.iter().filter(|block| block.kind == "tool_result")
}
