//! What can be set: knobs for everything the provider does not document or that differs between platforms.

mod chat;

pub use chat::{BlockRules, ChatConfig, Engine, ErrorShape, SlotRules, TemplateClass};

use antefix_models::{Collapse, Platform, Rules, rules};

use crate::Millis;

/// The simulator's settings; `Config::default()` is the Claude API as documented, answering at once.
///
/// The fields whose source marks them as undocumented say what was assumed. Sources: Anthropic's pages on
/// prompt caching (September 2026), cache diagnostics, preserved thinking and release notes up to 2026-11-02.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Speak `/v1/chat/completions` instead of the Messages API; what concerns that API alone is then unused.
    pub chat: Option<ChatConfig>,
    /// Whose rules hold.
    pub platform: Platform,
    /// Rules that replace those of the model data, found by exact model id.
    pub rules: Vec<(String, Rules)>,
    /// Take model ids that are not in the model data (with its cautious rules) instead of answering 404.
    pub accept_unknown_models: bool,
    /// How tokens are counted.
    pub tokenizer: Tokenizer,
    /// Tokens of an image; with [`Tokenizer::Bytes`] an image counts as its bytes.
    pub image_tokens: u64,
    /// Count the hidden system text that comes with tools.
    pub tool_prompt: bool,
    /// What is done with a prefix in the band where sources on the minimum disagree.
    pub grey: Grey,
    /// Whether runs of tool blocks are one position of the lookback; `None`: as the rules say.
    pub collapse_runs: Option<bool>,
    /// Which entries a read refreshes. Undocumented; shorter entries on the path are assumed to be.
    pub refresh: Refresh,
    /// What a marker does with an entry of the other TTL. Undocumented; assumed to read it as it is.
    pub other_ttl: OtherTtl,
    /// What images do to the messages level. Sources disagree; presence is assumed.
    pub images: ImageRule,
    /// Which `anthropic-beta` values are part of the key. Undocumented; all are assumed to be.
    pub betas: BetaKey,
    /// Whether edited history in front of a signed thinking block is refused.
    pub binding: Binding,
    /// Refuse an assistant turn with tool calls that does not start with thinking when thinking is `enabled`.
    pub thinking_first: bool,
    /// The server tools' automatic 5-minute marker after each iteration, if the request has a marker itself.
    pub server_tool_marker: bool,
    /// Cache the tools of requests without any marker (observed by third parties, not contractual).
    pub implicit_tools: bool,
    /// Fold runs of white space before comparing (observed by third parties, not contractual).
    pub fold_white_space: bool,
    /// Entries lost at random, in thousandths of look-ups that would have hit.
    pub eviction_per_mille: u32,
    /// Seed of what is random.
    pub seed: u64,
    /// Answer every request for diagnostics with "still pending".
    pub diagnostics_pending: bool,
    /// Speed of the model.
    pub latency: Latency,
    /// Rate limits, counted per organization in whole minutes.
    pub limits: Limits,
    /// Send the headers of a subscription's quota.
    pub unified_quota: Option<UnifiedQuota>,
}

impl Config {
    /// A profile by its name: `anthropic`, `bedrock`, `vllm`, `llamacpp` or `openai-legacy`.
    pub fn profile(name: &str) -> Option<Self> {
        match name {
            "anthropic" => Some(Self::default()),
            "bedrock" => Some(Self::bedrock()),
            "vllm" => Some(Self::chat(ChatConfig::vllm())),
            "llamacpp" => Some(Self::chat(ChatConfig::llamacpp())),
            "openai-legacy" => Some(Self::chat(ChatConfig::openai_legacy())),
            _ => None,
        }
    }

    /// A server of `/v1/chat/completions`.
    pub fn chat(chat: ChatConfig) -> Self {
        Self { chat: Some(chat), ..Self::default() }
    }

    /// The legacy Bedrock integration: every block is a position, no automatic marker, no diagnostics.
    pub fn bedrock() -> Self {
        Self { platform: Platform::Bedrock, collapse_runs: Some(false), ..Self::default() }
    }

    /// The rules `model` is held to.
    pub fn rules_of(&self, model: &str) -> Rules {
        let own = self.rules.iter().find(|(id, _)| id == model);
        own.map_or_else(|| rules(self.platform, model), |(_, rules)| rules.clone())
    }

    /// Shortest prefix that is cached, in tokens.
    pub(crate) fn minimum(&self, rules: &Rules) -> u64 {
        match self.grey {
            Grey::Stated => rules.minimum.stated.0,
            Grey::Cached => rules.minimum.below.0,
            Grey::NotCached => rules.minimum.sure.0,
        }
    }

    pub(crate) fn collapses(&self, rules: &Rules) -> bool {
        self.collapse_runs.unwrap_or(rules.lookback.collapse_runs == Collapse::Yes)
    }

    pub(crate) fn binds(&self, rules: &Rules) -> bool {
        match self.binding {
            Binding::ByModel => rules.thinking_binding,
            Binding::Always => true,
            Binding::Never => false,
        }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            chat: None,
            platform: Platform::Anthropic,
            rules: Vec::new(),
            accept_unknown_models: false,
            tokenizer: Tokenizer::Estimate,
            image_tokens: 1_500,
            tool_prompt: false,
            grey: Grey::Stated,
            collapse_runs: None,
            refresh: Refresh::Path,
            other_ttl: OtherTtl::Keeps,
            images: ImageRule::Presence,
            betas: BetaKey::All,
            binding: Binding::ByModel,
            thinking_first: false,
            server_tool_marker: true,
            implicit_tools: false,
            fold_white_space: false,
            eviction_per_mille: 0,
            seed: 1,
            diagnostics_pending: false,
            latency: Latency::default(),
            limits: Limits::default(),
            unified_quota: None,
        }
    }
}

/// How tokens are counted. No provider's tokenizer is imitated; figures are self-consistent, not real.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tokenizer {
    /// ⌈bytes ÷ 3.5⌉ of the rendered text, plus 4 for each block.
    Estimate,
    /// ⌈bytes ÷ n⌉ and nothing else: with 1, a text block of n bytes is n tokens.
    Bytes(u64),
}

impl Tokenizer {
    /// Tokens of a rendered block.
    pub fn block(self, bytes: usize) -> u64 {
        match self {
            Self::Estimate => self.text(bytes) + 4,
            Self::Bytes(_) => self.text(bytes),
        }
    }

    /// Tokens of a text without the overhead of a block.
    pub fn text(self, bytes: usize) -> u64 {
        let bytes = bytes as u64;
        match self {
            Self::Estimate => (bytes * 2).div_ceil(7),
            Self::Bytes(size) => bytes.div_ceil(size.max(1)),
        }
    }
}

/// What is done with a prefix in the grey band of the minimum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grey {
    /// The documented value decides.
    Stated,
    /// It is cached.
    Cached,
    /// It is not.
    NotCached,
}

/// Which entries a read refreshes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refresh {
    /// The entry read and every shorter one on its path.
    Path,
    /// The entry read alone.
    EntryOnly,
}

/// What a marker does with an entry that was written with the other TTL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherTtl {
    /// Reads it; the entry keeps its TTL.
    Keeps,
    /// Reads it; the entry takes the marker's TTL from then on.
    Converts,
    /// Does not see it.
    Misses,
}

/// What images do to the key of the messages level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageRule {
    /// Whether there is any image is part of it: the first image breaks it.
    Presence,
    /// Their number is part of it: every image added or removed breaks it.
    Count,
    /// Nothing.
    Off,
}

/// Which `anthropic-beta` values are part of the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BetaKey {
    /// All.
    All,
    /// Those listed.
    Only(Vec<String>),
    /// None.
    None,
}

/// Whether signed thinking is bound to what stood before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// As the model's rules say.
    ByModel,
    /// For every model.
    Always,
    /// For none.
    Never,
}

/// Speed of the model; all zero means at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// Time to the first byte of any response.
    pub first_byte: Millis,
    /// Added to it for every 1,000 input tokens not read from the cache.
    pub per_1k_uncached: Millis,
    /// Output tokens per second; 0 means at once.
    pub tokens_per_second: u64,
}

impl Latency {
    /// When the first byte of a response to a prompt with so many tokens that were not read comes.
    pub(crate) fn first_byte(&self, fresh: u64) -> Millis {
        self.first_byte.after(Millis(self.per_1k_uncached.0.saturating_mul(fresh) / 1_000))
    }

    /// How long so many output tokens take.
    pub(crate) fn generated(&self, tokens: u64) -> Millis {
        Millis(tokens.saturating_mul(1_000).checked_div(self.tokens_per_second).unwrap_or(0))
    }
}

/// Rate limits per minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Requests.
    pub requests: u64,
    /// Input tokens, cache reads not counted.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { requests: 4_000, input_tokens: 10_000_000, output_tokens: 2_000_000 }
    }
}

/// A subscription's quota. What a cache read weighs in it is unknown; here a read weighs 0.1, a write 1.25 or
/// 2, an output token 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnifiedQuota {
    /// Input-token equivalents in five hours.
    pub five_hours: u64,
    /// Input-token equivalents in a week.
    pub week: u64,
}
