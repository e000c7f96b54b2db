//! Where a model is reached, and how long a cache entry is asked to live.

use std::fmt;

/// Who serves the model. The same model follows other cache rules on another platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Platform {
    /// The Claude API.
    Anthropic,
    /// Claude Platform on AWS.
    ClaudeOnAws,
    /// Microsoft Foundry.
    Foundry,
    /// Amazon Bedrock.
    Bedrock,
    /// Google Cloud.
    GoogleCloud,
    /// Any other server, of either protocol. Its rules and prices are its own.
    Compatible,
    /// A server of the user's own, whose tokens cost nothing.
    Local,
    /// DeepSeek's API.
    DeepSeek,
    /// OpenRouter, which says what each response cost.
    OpenRouter,
    /// Cloudflare Workers AI.
    WorkersAi,
}

impl Platform {
    /// Every platform.
    pub const ALL: [Self; 10] = [
        Self::Anthropic,
        Self::ClaudeOnAws,
        Self::Foundry,
        Self::Bedrock,
        Self::GoogleCloud,
        Self::Compatible,
        Self::Local,
        Self::DeepSeek,
        Self::OpenRouter,
        Self::WorkersAi,
    ];

    /// Those whose rules for the Messages API are known, in the order of the data files; the others speak Chat
    /// Completions.
    pub const MESSAGES: [Self; 6] = [
        Self::Anthropic,
        Self::ClaudeOnAws,
        Self::Foundry,
        Self::Bedrock,
        Self::GoogleCloud,
        Self::Compatible,
    ];

    /// The name used in configuration, data files and output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::ClaudeOnAws => "claude-on-aws",
            Self::Foundry => "foundry",
            Self::Bedrock => "bedrock",
            Self::GoogleCloud => "google-cloud",
            Self::Compatible => "compatible",
            Self::Local => "local",
            Self::DeepSeek => "deepseek",
            Self::OpenRouter => "openrouter",
            Self::WorkersAi => "workers-ai",
        }
    }

    /// The platform of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|platform| platform.name() == name)
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// How long an entry lives, counted from the start of the request that wrote or last read it.
///
/// Source: platform.claude.com/docs/en/build-with-claude/prompt-caching, September 2026.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ttl {
    /// Five minutes, the default.
    #[default]
    FiveMinutes,
    /// One hour, written at a higher price.
    OneHour,
}

impl Ttl {
    /// The lifetime in seconds.
    pub fn seconds(self) -> u64 {
        match self {
            Self::FiveMinutes => 300,
            Self::OneHour => 3600,
        }
    }

    /// The text of the `ttl` field: `5m` or `1h`.
    pub fn text(self) -> &'static str {
        match self {
            Self::FiveMinutes => "5m",
            Self::OneHour => "1h",
        }
    }
}

impl fmt::Display for Ttl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.text())
    }
}
