//! Settings of the servers that speak `/v1/chat/completions`.

use crate::Millis;

/// A server of `/v1/chat/completions`: what its engine caches and how its chat template renders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatConfig {
    /// How prompts are kept.
    pub engine: Engine,
    /// What the chat template does to a conversation.
    pub template: TemplateClass,
    /// Ids of the models served; the first is the one that is meant by any name if `any_model` is on.
    pub models: Vec<String>,
    /// Take any name for the model, as a server that has loaded one does.
    pub any_model: bool,
    /// Longest prompt with its answer, in tokens.
    pub context: u64,
    /// Whether requests may offer tools.
    pub tools: bool,
    /// Tell `prompt_tokens_details.cached_tokens`.
    pub report_cached: bool,
    /// Refuse requests without a key.
    pub key_required: bool,
    /// The name under which reasoning is sent.
    pub reasoning_field: String,
    /// How errors are written.
    pub errors: ErrorShape,
}

impl ChatConfig {
    /// vLLM: full blocks of 16 tokens, the least recently used dropped first; cached tokens are told only if
    /// asked for at its start (`--enable-prompt-tokens-details`).
    /// Source: vLLM's page on automatic prefix caching, 2026.
    pub fn vllm() -> Self {
        let blocks = BlockRules {
            size: 16,
            capacity: Some(8_192),
            minimum: 0,
            idle: None,
            keeps_output: true,
            computes_last: true,
        };
        Self {
            engine: Engine::Blocks(blocks),
            template: TemplateClass::AppendOnly,
            models: vec!["sim-model".to_owned()],
            any_model: false,
            context: 131_072,
            tools: true,
            report_cached: false,
            key_required: false,
            reasoning_field: "reasoning_content".to_owned(),
            errors: ErrorShape::OpenAi,
        }
    }

    /// llama.cpp's server: four slots, each of which keeps its last prompt; what the longest common prefix
    /// covers is not computed again. Source: llama.cpp's server README, 2026.
    pub fn llamacpp() -> Self {
        let slots = SlotRules { count: 4, similarity_percent: 10 };
        Self { engine: Engine::Slots(slots), any_model: true, report_cached: true, ..Self::vllm() }
    }

    /// OpenAI before GPT-5.6: steps of 128 tokens from 1,024 on, gone after ten idle minutes. Source: OpenAI's
    /// prompt caching guide, 2026-09-23 ("5 to 10 minutes"; the longer is assumed).
    pub fn openai_legacy() -> Self {
        let blocks = BlockRules {
            size: 128,
            capacity: None,
            minimum: 1_024,
            idle: Some(Millis(600_000)),
            keeps_output: false,
            computes_last: false,
        };
        let engine = Engine::Blocks(blocks);
        Self { engine, context: 400_000, report_cached: true, key_required: true, ..Self::vllm() }
    }

    /// Longest prompt with its answer: blocks that do not exist hold no tokens.
    pub(crate) fn context(&self) -> u64 {
        match &self.engine {
            Engine::Blocks(BlockRules { size, capacity: Some(capacity), .. }) => {
                self.context.min((size * capacity) as u64)
            }
            _ => self.context,
        }
    }

    /// Whether a request is refused if the answer it allows for does not fit.
    pub(crate) fn reserves_answer(&self) -> bool {
        matches!(self.engine, Engine::Blocks(_)) && !self.key_required
    }

    pub(crate) fn accepts(&self, model: &str) -> bool {
        self.any_model || self.models.iter().any(|known| known == model)
    }
}

/// What an engine keeps of prompts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Blocks of tokens, each named by all tokens up to its end, shared by all requests.
    Blocks(BlockRules),
    /// Slots, each with the tokens of its latest request.
    Slots(SlotRules),
}

/// How blocks are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockRules {
    /// Tokens in a block; only full blocks are kept.
    pub size: usize,
    /// Most blocks kept, the least recently used dropped first; `None`: no end to them.
    pub capacity: Option<usize>,
    /// Shortest prefix that is read, in tokens.
    pub minimum: usize,
    /// How long a block lives after its last use; `None`: until it is dropped.
    pub idle: Option<Millis>,
    /// Whether the tokens of the answer are kept as well.
    pub keeps_output: bool,
    /// Whether the last token of a prompt is always computed, so that a prompt is never read as a whole.
    pub computes_last: bool,
}

/// How slots are kept and chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotRules {
    /// How many there are.
    pub count: usize,
    /// The slot with the longest common prefix is chosen if that covers more than so many hundredths of the
    /// prompt; else the one unused for longest.
    pub similarity_percent: usize,
}

/// How a server writes its errors; as seen on each in 2026.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorShape {
    /// `{"error":{"message","type","param","code"}}`, the code a word.
    OpenAi,
    /// The same with a type of its own and the status as the code; a wrong key is `{"error":"Unauthorized"}`.
    Vllm,
    /// `{"error":{"code","message","type"}}`, the code the status.
    LlamaCpp,
}

/// What a chat template does to a conversation that grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateClass {
    /// What was rendered stays: a longer conversation extends the shorter one's prompt.
    AppendOnly,
    /// Reasoning in front of the user's latest message is left out.
    ReasoningStripping,
    /// The tools stand in front of the user's latest message and move with it; ids of calls are rendered, and
    /// must be nine letters or digits.
    ToolsLate,
    /// Today's date, of the simulator's clock, stands at the head.
    Dated,
    /// As append-only, but roles have to alternate and a system message is taken at the start alone.
    StrictAlternation,
}

impl TemplateClass {
    /// Its name in options.
    pub fn name(self) -> &'static str {
        match self {
            Self::AppendOnly => "append-only",
            Self::ReasoningStripping => "reasoning-stripping",
            Self::ToolsLate => "tools-late",
            Self::Dated => "dated",
            Self::StrictAlternation => "strict-alternation",
        }
    }
}
