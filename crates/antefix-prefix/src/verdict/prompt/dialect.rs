//! The protocols, and what their caches go by beside the prompt.

use antefix_wire::json::Node;

use super::super::Kind;

/// The protocol that a request is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dialect {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions.
    OpenAiChat,
    /// OpenAI Responses.
    OpenAiResponses,
    /// Gemini `generateContent`.
    Gemini,
}

impl Dialect {
    /// Guesses from a request's shape, since bodies do not say.
    pub fn detect(root: Node<'_>) -> Self {
        if root.get("contents").is_some() {
            return Self::Gemini;
        }
        if root.get("input").is_some() || root.get("instructions").is_some() {
            return Self::OpenAiResponses;
        }
        let is_chat = root.get("system").is_none()
            && (items(root, "tools").any(|tool| tool.get("function").is_some())
                || items(root, "messages").enumerate().any(is_chat_message)
                || CHAT_MEMBERS.iter().any(|name| root.get(name).is_some()));
        if is_chat { Self::OpenAiChat } else { Self::Anthropic }
    }

    /// What the caches go by beside the prompt, as far as a source says.
    pub(in crate::verdict) const fn settings(self) -> &'static [Setting] {
        match self {
            Self::Anthropic => &ANTHROPIC,
            Self::OpenAiChat | Self::OpenAiResponses => &OPENAI,
            Self::Gemini => &GEMINI,
        }
    }

    /// What a change of a top-level member of the body does to the cache.
    pub fn effect(self, member: &str) -> Effect {
        let is_of = |setting: &&Setting| setting.pointer.split('/').nth(1) == Some(member);
        self.settings().iter().find(is_of).map_or(Effect::Unknown, |setting| setting.effect)
    }

    /// Whether the provider caches without being asked, so that markers say nothing about what was cached.
    pub const fn is_implicit(self) -> bool {
        !matches!(self, Self::Anthropic)
    }

    /// Whether the system prompt stands in front of the tools.
    pub(in crate::verdict) const fn reads_system_first(self) -> bool {
        matches!(self, Self::OpenAiResponses | Self::Gemini)
    }
}

/// What the change of a setting does to the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// Another model, or another cache of it: nothing is read.
    Apart,
    /// Documented to lose the cache of a part of the prompt or of all of it.
    Breaks,
    /// Documented not to matter.
    None,
    /// No source says.
    Unknown,
}

/// A setting beside the prompt.
#[derive(Clone, Copy, Debug)]
pub(in crate::verdict) struct Setting {
    /// Where it stands in the body.
    pub(in crate::verdict) pointer: &'static str,
    /// What a change of it does.
    pub(in crate::verdict) effect: Effect,
    /// What such a break is called; `None` where it is seen elsewhere or has no name.
    pub(in crate::verdict) kind: Option<Kind>,
    /// It counts for the messages only.
    pub(in crate::verdict) is_late: bool,
}

impl Setting {
    const fn apart(pointer: &'static str, kind: Kind) -> Self {
        Self { pointer, effect: Effect::Apart, kind: Some(kind), is_late: false }
    }

    const fn breaks(pointer: &'static str, kind: Kind) -> Self {
        Self { pointer, effect: Effect::Breaks, kind: Some(kind), is_late: false }
    }

    const fn breaks_messages(pointer: &'static str, kind: Kind) -> Self {
        Self { pointer, effect: Effect::Breaks, kind: Some(kind), is_late: true }
    }

    const fn unnamed(pointer: &'static str) -> Self {
        Self { pointer, effect: Effect::Breaks, kind: None, is_late: false }
    }

    const fn harmless(pointer: &'static str) -> Self {
        Self { pointer, effect: Effect::None, kind: None, is_late: false }
    }
}

/// Source: platform.claude.com/docs/en/build-with-claude/prompt-caching, "What invalidates the cache", with the pages
/// on effort, thinking, fast mode and structured outputs, 2026-11.
const ANTHROPIC: [Setting; 22] = [
    Setting::apart("/model", Kind::ParamsModel),
    Setting::breaks("/speed", Kind::ParamsSpeed),
    Setting::breaks("/anthropic_beta", Kind::ParamsBetas),
    Setting::breaks("/thinking", Kind::ParamsThinking),
    Setting::breaks("/output_config/effort", Kind::ParamsEffort),
    Setting::breaks("/output_config/format", Kind::ParamsFormat),
    Setting::breaks("/output_config/task_budget", Kind::ParamsFormat),
    Setting::breaks("/output_format", Kind::ParamsFormat),
    Setting::breaks("/task_budget", Kind::ParamsFormat),
    Setting::breaks_messages("/tool_choice", Kind::ParamsToolChoice),
    Setting::unnamed("/context_management"),
    Setting::unnamed("/inference_geo"),
    Setting::harmless("/max_tokens"),
    Setting::harmless("/temperature"),
    Setting::harmless("/top_p"),
    Setting::harmless("/top_k"),
    Setting::harmless("/stop_sequences"),
    Setting::harmless("/metadata"),
    Setting::harmless("/stream"),
    Setting::harmless("/diagnostics"),
    Setting::harmless("/service_tier"),
    Setting::harmless("/cache_control"),
];

/// Source: platform.openai.com/docs/guides/prompt-caching, 2026-09; a tool choice is safe there.
const OPENAI: [Setting; 17] = [
    Setting::apart("/model", Kind::ParamsModel),
    Setting::apart("/prompt_cache_key", Kind::KeyRotated),
    Setting::breaks("/service_tier", Kind::ParamsTier),
    Setting::breaks("/reasoning/effort", Kind::ParamsEffort),
    Setting::breaks("/reasoning_effort", Kind::ParamsEffort),
    Setting::breaks("/text/format", Kind::ParamsFormat),
    Setting::breaks("/response_format", Kind::ParamsFormat),
    Setting::breaks("/text/verbosity", Kind::ParamsFormat),
    Setting::breaks("/verbosity", Kind::ParamsFormat),
    Setting::breaks_messages("/parallel_tool_calls", Kind::ParamsToolChoice),
    Setting::unnamed("/context_management"),
    Setting::harmless("/tool_choice"),
    Setting::harmless("/stream"),
    Setting::harmless("/store"),
    Setting::harmless("/metadata"),
    Setting::harmless("/max_output_tokens"),
    Setting::harmless("/temperature"),
];

/// Source: ai.google.dev, page on context caching, 2026-10-13: the cache goes by the start of the prompt, and an
/// explicit cache is named. What else it goes by is not told, so nothing else is called a break.
const GEMINI: [Setting; 2] =
    [Setting::apart("/model", Kind::ParamsModel), Setting::apart("/cachedContent", Kind::KeyRotated)];

/// Members that Chat Completions takes and the Messages API does not.
const CHAT_MEMBERS: [&str; 6] = [
    "reasoning_effort",
    "prompt_cache_key",
    "stream_options",
    "max_completion_tokens",
    "response_format",
    "parallel_tool_calls",
];

fn items<'a>(root: Node<'a>, key: &str) -> impl Iterator<Item = Node<'a>> {
    root.get(key).into_iter().flat_map(Node::items)
}

fn is_chat_message((index, message): (usize, Node<'_>)) -> bool {
    let role = message.get("role");
    let is = |name| role.is_some_and(|role| role.is_str(name));
    is("tool") || is("developer") || message.get("tool_calls").is_some() || (index == 0 && is("system"))
}
