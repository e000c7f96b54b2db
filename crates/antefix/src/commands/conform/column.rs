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
    /// Chat Completions whose template leaves out the reasoning of turns that are over.
    Stripping,
    /// Chat Completions whose template puts the tools in front of the user's last message.
    ToolsLate,
    /// Chat Completions whose template begins with the date.
    Dated,
}

impl Column {
    /// All, in the order in which they are printed.
    pub const ALL: [Self; 7] = [
        Self::InBand,
        Self::Without,
        Self::AppendOnly,
        Self::Strict,
        Self::Stripping,
        Self::ToolsLate,
        Self::Dated,
    ];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InBand => "anthropic-in-band",
            Self::Without => "anthropic-without",
            Self::AppendOnly => "openai-chat-append-only",
            Self::Strict => "openai-chat-strict",
            Self::Stripping => "openai-chat-reasoning-stripping",
            Self::ToolsLate => "openai-chat-tools-late",
            Self::Dated => "openai-chat-dated",
        }
    }

    /// Its name over a narrow table.
    pub const fn heading(self) -> &'static str {
        match self {
            Self::InBand => "anthropic in-band",
            Self::Without => "anthropic without",
            Self::AppendOnly => "chat append-only",
            Self::Strict => "chat strict",
            Self::Stripping => "chat stripping",
            Self::ToolsLate => "chat tools-late",
            Self::Dated => "chat dated",
        }
    }

    /// Whether it speaks the Messages API.
    pub fn is_messages(self) -> bool {
        matches!(self, Self::InBand | Self::Without)
    }

    /// Why each message of the user's moves something in the middle of the prompt, where its template does so: then no
    /// row reads all that was there.
    pub const fn limit(self) -> Option<&'static str> {
        match self {
            Self::Stripping => Some(REASONING),
            Self::ToolsLate => Some(LATE_TOOLS),
            Self::InBand | Self::Without | Self::AppendOnly | Self::Strict | Self::Dated => None,
        }
    }

    /// Whether its template leaves out the reasoning of turns that are over. Of a turn of one request, nothing of its
    /// reasoning was in a prompt yet.
    pub fn strips(self) -> bool {
        self == Self::Stripping
    }

    /// What the first task asks for.
    pub const fn task(self) -> &'static [&'static str] {
        match self {
            Self::InBand => &["--model", "claude-opus-5-5", "--thinking", "adaptive"],
            Self::Without => &["--model", "claude-sonnet-4-6", "--thinking", "adaptive"],
            Self::AppendOnly => &["--model", "gemma-4-27b"],
            Self::Strict => &["--model", "gemma-3-27b"],
            Self::Stripping => &["--model", "qwen3-30b-a3b"],
            Self::ToolsLate => &["--model", "mistral-nemo"],
            Self::Dated => &["--model", "llama-3.2-3b"],
        }
    }

    /// The model it asks for.
    pub const fn model(self) -> &'static str {
        match self {
            Self::InBand => "claude-opus-5-5",
            Self::Without => "claude-sonnet-4-6",
            Self::AppendOnly => "gemma-4-27b",
            Self::Strict => "gemma-3-27b",
            Self::Stripping => "qwen3-30b-a3b",
            Self::ToolsLate => "mistral-nemo",
            Self::Dated => "llama-3.2-3b",
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
            Self::AppendOnly => self.vllm(TemplateClass::AppendOnly),
            Self::Stripping => self.vllm(TemplateClass::ReasoningStripping),
            Self::Dated => self.vllm(TemplateClass::Dated),
            Self::Strict => llamacpp(TemplateClass::StrictAlternation),
            Self::ToolsLate => llamacpp(TemplateClass::ToolsLate),
        }
    }

    /// How many tokens a cached prefix may fall short by: the engine keeps full blocks alone.
    pub fn grain(self) -> u64 {
        if self.is_vllm() { 16 } else { 0 }
    }

    /// Where requests go.
    pub fn path(self) -> &'static str {
        if self.is_messages() { "/v1/messages" } else { "/v1/chat/completions" }
    }

    /// How a run is told of the provider at `url`.
    pub fn arguments(self, url: &str) -> Vec<String> {
        let (provider, address) = match self {
            _ if self.is_messages() => ("anthropic", url.to_owned()),
            _ if self.is_vllm() => ("vllm", format!("{url}/v1")),
            _ => ("llamacpp", format!("{url}/v1")),
        };
        ["--provider", provider, "--base-url", &address].map(str::to_owned).to_vec()
    }

    fn is_vllm(self) -> bool {
        matches!(self, Self::AppendOnly | Self::Stripping | Self::Dated)
    }

    fn vllm(self, template: TemplateClass) -> Config {
        let models = vec![self.model().to_owned()];
        Config::chat(ChatConfig { report_cached: true, models, template, ..ChatConfig::vllm() })
    }
}

fn llamacpp(template: TemplateClass) -> Config {
    Config::chat(ChatConfig { template, ..ChatConfig::llamacpp() })
}

/// Why a message of the user's costs something where reasoning is left out.
const REASONING: &str = "the template leaves out the reasoning of turns that are over \
(chat template of Qwen/Qwen3-0.6B, `loop.index0 > ns.last_query_index`, 2026-11-30)";
/// Why a message of the user's costs something where the tools move.
const LATE_TOOLS: &str = "the template puts the tools in front of the user's last message \
(github.com/ggml-org/llama.cpp models/templates/mistralai-Mistral-Nemo-Instruct-2407.jinja, 2026-11-30)";
