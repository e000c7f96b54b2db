use antefix_models::Platform;
use antefix_sim::{ChatConfig, Config, TemplateClass};

/// A provider that the same scene is played with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// The Messages API with a model that takes system messages among the others.
    InBand,
    /// The Messages API with a model that takes none.
    Without,
    /// Chat Completions whose template keeps what was rendered.
    AppendOnly,
    /// Chat Completions whose template wants one system message in front and roles in turn.
    Strict,
}

impl Column {
    /// All, in the order in which they are printed.
    pub const ALL: [Self; 4] = [Self::InBand, Self::Without, Self::AppendOnly, Self::Strict];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InBand => "anthropic-in-band",
            Self::Without => "anthropic-without",
            Self::AppendOnly => "openai-chat-append-only",
            Self::Strict => "openai-chat-strict",
        }
    }

    /// Its name over a narrow table.
    pub const fn heading(self) -> &'static str {
        match self {
            Self::InBand => "anthropic in-band",
            Self::Without => "anthropic without",
            Self::AppendOnly => "chat append-only",
            Self::Strict => "chat strict",
        }
    }

    /// Whether it speaks the Messages API.
    pub fn is_messages(self) -> bool {
        matches!(self, Self::InBand | Self::Without)
    }

    /// What the first task asks for.
    pub const fn task(self) -> &'static [&'static str] {
        match self {
            Self::InBand => &["--model", "claude-opus-5-5", "--thinking", "adaptive"],
            Self::Without => &["--model", "claude-sonnet-4-6", "--thinking", "adaptive"],
            Self::AppendOnly => &["--model", "gemma-4-27b"],
            Self::Strict => &["--model", "gemma-3-27b"],
        }
    }

    /// The model it asks for.
    pub const fn model(self) -> &'static str {
        match self {
            Self::InBand => "claude-opus-5-5",
            Self::Without => "claude-sonnet-4-6",
            Self::AppendOnly => "gemma-4-27b",
            Self::Strict => "gemma-3-27b",
        }
    }

    /// Whose prices hold.
    pub fn platform(self) -> Platform {
        if self.is_messages() { Platform::Anthropic } else { Platform::Local }
    }

    /// The simulator behind it.
    pub fn simulator(self) -> Config {
        match self {
            Self::InBand | Self::Without => Config::default(),
            Self::AppendOnly => {
                let models = vec![self.model().to_owned()];
                Config::chat(ChatConfig { report_cached: true, models, ..ChatConfig::vllm() })
            }
            Self::Strict => Config::chat(ChatConfig {
                template: TemplateClass::StrictAlternation,
                ..ChatConfig::llamacpp()
            }),
        }
    }

    /// How many tokens a cached prefix may fall short by: the engine keeps full blocks alone.
    pub const fn grain(self) -> u64 {
        match self {
            Self::AppendOnly => 16,
            Self::InBand | Self::Without | Self::Strict => 0,
        }
    }

    /// Where requests go.
    pub fn path(self) -> &'static str {
        if self.is_messages() { "/v1/messages" } else { "/v1/chat/completions" }
    }

    /// How a run is told of the provider at `url`.
    pub fn arguments(self, url: &str) -> Vec<String> {
        let (provider, address) = match self {
            Self::InBand | Self::Without => ("anthropic", url.to_owned()),
            Self::AppendOnly => ("vllm", format!("{url}/v1")),
            Self::Strict => ("llamacpp", format!("{url}/v1")),
        };
        ["--provider", provider, "--base-url", &address].map(str::to_owned).to_vec()
    }
}
