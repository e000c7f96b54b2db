use std::path::PathBuf;

use antefix_sim::{ErrorShape, TemplateClass};
use clap::{Args, ValueEnum};

/// `antefix sim`
#[derive(Debug, Args)]
pub struct SimArgs {
    /// The port on 127.0.0.1; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    pub port: u16,
    /// The provider or server to simulate
    #[arg(long, value_enum, default_value_t)]
    pub profile: Profile,
    /// What the simulated model says (docs/formats/script.md)
    #[arg(long, value_name = "FILE")]
    pub script: Option<PathBuf>,
    /// Real time, or a clock that moves only when told
    #[arg(long, value_enum, default_value_t)]
    pub clock: ClockArg,
    /// Write each request body, and what came of it, into this folder
    #[arg(long, value_name = "DIR")]
    pub capture: Option<PathBuf>,
    /// Cut each streamed answer after this many bytes
    #[arg(long, value_name = "BYTES")]
    pub cut_after: Option<u64>,
    /// Hand streamed answers on in pieces of this many bytes
    #[arg(long, value_name = "BYTES")]
    pub chunk: Option<usize>,
    /// Serve nothing: compare what is predicted of the captured requests in this folder with the usage in it
    #[arg(long, value_name = "TRACE")]
    pub check: Option<PathBuf>,
    /// Print the comparison of --check as JSON
    #[arg(long, requires = "check")]
    pub json: bool,
    #[command(flatten)]
    pub chat: ChatKnobs,
}

/// What can be set of a server of Chat Completions (profiles vllm, llamacpp, openai-legacy).
#[derive(Debug, Args)]
#[command(next_help_heading = "Chat Completions (profiles vllm, llamacpp, openai-legacy)")]
pub struct ChatKnobs {
    /// What the chat template does to a conversation that grows [default: append-only]
    #[arg(long, value_enum, value_name = "CLASS")]
    pub template_class: Option<Template>,
    /// A model's id; more than once for several [default: sim-model; llamacpp takes any name]
    #[arg(long = "model", value_name = "ID")]
    pub models: Vec<String>,
    /// The longest prompt with its answer, in tokens [default: 131072; openai-legacy 400000]
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u64).range(1..))]
    pub context: Option<u64>,
    /// vllm: how many blocks the cache holds [default: 8192]
    #[arg(long, value_name = "BLOCKS", value_parser = clap::value_parser!(u32).range(1..))]
    pub capacity: Option<u32>,
    /// llamacpp: how many slots there are [default: 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub slots: Option<u16>,
    /// Whether usage tells of cached tokens [default: on; vllm off]
    #[arg(long, value_enum, value_name = "ON|OFF")]
    pub cached_tokens: Option<OnOff>,
    /// How errors are written [default: openai]
    #[arg(long, value_enum, value_name = "SHAPE")]
    pub errors: Option<Errors>,
    /// Whether requests may offer tools [default: on]
    #[arg(long, value_enum, value_name = "ON|OFF")]
    pub tools: Option<OnOff>,
}

/// What the simulator can be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Profile {
    /// The Messages API of the Claude API
    #[default]
    Anthropic,
    /// The Messages API on Bedrock: runs of tool blocks do not collapse, no automatic marker, no diagnostics
    Bedrock,
    /// vLLM: blocks of 16 tokens, the least recently used dropped first
    Vllm,
    /// llama.cpp's server: slots that keep their latest prompt
    Llamacpp,
    /// OpenAI before GPT-5.6: steps of 128 tokens from 1,024 on
    OpenaiLegacy,
}

impl Profile {
    /// The name the simulator knows it by.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::Bedrock => "bedrock",
            Self::Vllm => "vllm",
            Self::Llamacpp => "llamacpp",
            Self::OpenaiLegacy => "openai-legacy",
        }
    }
}

/// What a chat template does to a conversation that grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Template {
    /// What was rendered stays
    AppendOnly,
    /// Reasoning in front of the user's latest message is left out
    ReasoningStripping,
    /// Tools stand in front of the user's latest message; ids of calls must be nine letters or digits
    ToolsLate,
    /// Today's date stands at the head
    Dated,
    /// Roles must alternate, a system message only at the start
    StrictAlternation,
}

/// How a server writes its errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Errors {
    /// With a code that is a word
    Openai,
    /// With types of its own and the status as the code
    Vllm,
    /// With the status as the code, in front
    Llamacpp,
}

impl From<Errors> for ErrorShape {
    fn from(errors: Errors) -> Self {
        match errors {
            Errors::Openai => Self::OpenAi,
            Errors::Vllm => Self::Vllm,
            Errors::Llamacpp => Self::LlamaCpp,
        }
    }
}

impl From<Template> for TemplateClass {
    fn from(template: Template) -> Self {
        match template {
            Template::AppendOnly => Self::AppendOnly,
            Template::ReasoningStripping => Self::ReasoningStripping,
            Template::ToolsLate => Self::ToolsLate,
            Template::Dated => Self::Dated,
            Template::StrictAlternation => Self::StrictAlternation,
        }
    }
}

/// On or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnOff {
    On,
    Off,
}

/// The simulator's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ClockArg {
    /// Real time
    #[default]
    Real,
    /// Moves only when told (`POST /sim/clock`, header `x-sim-advance-ms`)
    Virtual,
}
