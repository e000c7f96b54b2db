//! What stands in front of the messages: the static part all sessions share, and the session's baseline.

mod chat;
mod messages;
mod prompt;

pub use prompt::STATIC_PROMPT;

use antefix_models::{Platform, Rules, Ttl};
use antefix_session::dialect::Dialect;
use antefix_session::placement::Placement;
use antefix_session::record::{ContextRecord, LaneRecord, TOOL_CHANGES_BETA};
use antefix_tools::Registry;
use bytes::Bytes;

use crate::context::{Baseline, KINDS};

/// How much the model thinks before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Thinking {
    /// Nothing is said about it; the model's own default.
    #[default]
    Default,
    /// Switched off.
    Off,
    /// As much as the model finds right.
    Adaptive,
    /// Up to this many tokens.
    Budget(u64),
}

/// What a session's head is made of.
#[derive(Clone, Debug)]
pub struct HeadSpec {
    /// The protocol.
    pub dialect: Dialect,
    /// Where the model runs.
    pub platform: Platform,
    /// The model's name as sent.
    pub model: String,
    /// Key, organisation and base URL, digested.
    pub scope: String,
    /// `anthropic-beta` values.
    pub betas: Vec<String>,
    /// Largest reply in tokens; the Messages API must be told one.
    pub max_tokens: Option<u64>,
    /// Thinking.
    pub thinking: Thinking,
    /// `output_config.effort`, if set.
    pub effort: Option<String>,
    /// `context_management` as compact JSON, if the user asks for any; for the Messages API alone.
    pub context_management: Option<String>,
    /// Whether markers are sent, and how long entries live.
    pub cache: Option<Ttl>,
    /// In place of the built-in prompt.
    pub system_prompt: Option<String>,
    /// Behind the prompt.
    pub append_system_prompt: Option<String>,
    /// What is said of the surroundings, behind what all sessions of a kind share.
    pub baseline: Baseline,
    /// How the server wants Chat Completions.
    pub chat: ChatTerms,
    /// Where reminders stand.
    pub reminders: Placement,
}

/// What servers of Chat Completions differ in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatTerms {
    /// Usage is asked for with `stream_options`; a server that refuses the member tells it unasked or never.
    pub usage_on_request: bool,
    /// The member that limits the reply: `max_tokens` or `max_completion_tokens`.
    pub limit_name: &'static str,
    /// Who says the system prompt: `system` or `developer`.
    pub system_role: &'static str,
    /// Further members with a text each, such as `prompt_cache_key` for servers that choose a cache by it.
    pub members: Vec<(String, String)>,
    /// Whether the model's reasoning is sent back.
    pub keeps_reasoning: bool,
}

impl Default for ChatTerms {
    fn default() -> Self {
        Self {
            usage_on_request: true,
            limit_name: "max_tokens",
            system_role: "system",
            members: Vec::new(),
            keeps_reasoning: false,
        }
    }
}

impl HeadSpec {
    /// Renders the head; from then on its bytes are the session's.
    pub fn render(&self, tools: &Registry) -> LaneRecord {
        let contract = tools.contract();
        let mut prompt = self.system_prompt.clone().unwrap_or_else(|| STATIC_PROMPT.to_owned());
        if let Some(more) = &self.append_system_prompt {
            prompt.push_str("\n\n");
            prompt.push_str(more);
        }
        let is_said = |text: &String| !text.trim().is_empty();
        let texts: Vec<String> = [prompt, self.baseline.text.clone()].into_iter().filter(is_said).collect();
        let (envelope, tools, system, static_blocks) = match self.dialect {
            Dialect::Anthropic => {
                let shared = texts.len() as u64 - u64::from(is_said(&self.baseline.text));
                (messages::envelope(self), messages::tools(tools), messages::system(&texts), shared)
            }
            // What is shared and what is not stand in one message.
            Dialect::OpenAiChat => (chat::envelope(self), chat::tools(tools), chat::system(self, &texts), 0),
        };
        LaneRecord {
            dialect: self.dialect,
            platform: self.platform,
            model: self.model.clone(),
            scope: self.scope.clone(),
            betas: self.betas.clone(),
            envelope,
            tools,
            system,
            static_blocks,
            cache: self.cache,
            contract,
            keeps_reasoning: self.chat.keeps_reasoning,
            reminders: self.reminders,
            baseline: self.baseline.records.clone(),
        }
    }
}

/// The head that a conversation goes on behind once a summary stands for it: tools and prompt byte for byte as they
/// were, and another baseline behind them. A head in which the baseline cannot be told from the prompt stays as it is.
/// What is on record with the lane and no source has seen goes on holding, and so does the part of a subagent, which stands
/// behind its baseline.
pub fn with_baseline(lane: LaneRecord, baseline: Baseline, is_subagent: bool) -> LaneRecord {
    let system = match lane.dialect {
        Dialect::Anthropic => messages::with_baseline(&lane, &baseline.text),
        Dialect::OpenAiChat => chat::with_baseline(&lane, &baseline.text, is_subagent),
    };
    match system {
        Some(system) => {
            let mut records = baseline.records;
            let is_new = |record: &ContextRecord| records.iter().any(|new| new.kind == record.kind);
            let kept = lane.baseline.iter().filter(|record| !KINDS.contains(&record.kind.as_str()));
            let kept: Vec<ContextRecord> = kept.filter(|record| !is_new(record)).cloned().collect();
            records.extend(kept);
            LaneRecord { system, baseline: records, ..lane }
        }
        None => lane,
    }
}

/// The betas that the requests of a lane name, from the first one on.
pub fn betas_of(dialect: Dialect, rules: &Rules) -> Vec<String> {
    let takes_changes = dialect == Dialect::Anthropic && rules.in_band_tools.is_certain();
    takes_changes.then(|| TOOL_CHANGES_BETA.to_owned()).into_iter().collect()
}

/// How the text of every baseline begins.
pub(crate) const BASELINE: &str = "# This session\n";

/// Largest reply asked for where nothing is said: what the model allows, but no more than 32,000 tokens.
pub fn default_max_tokens(rules: &Rules) -> u64 {
    rules.max_output.0.clamp(1, 32_000)
}

fn array<'a>(items: impl Iterator<Item = &'a [u8]>) -> Bytes {
    let mut out = vec![b'['];
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(item);
    }
    out.push(b']');
    out.into()
}
