//! Servers of Chat Completions by name: where they are, and what they take.

mod read;

use jiff::civil::Date;

use crate::registry::{Origin, registry};
use crate::rules::Support;
use crate::{Minimum, Platform, Retention, Rewrite, Rules, Template, Tokens, rules, template};

pub(crate) use read::Choice;
pub use read::{PresetError, Setting};

/// What is known of a server before it is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preset {
    /// The name that `--provider` takes.
    pub name: String,
    /// What it is, in a few words.
    pub about: String,
    /// Address up to where `/chat/completions` goes; `{NAME}` stands for a variable of the environment. `None` must be
    /// given.
    pub base_url: Option<String>,
    /// The variable of the environment that holds the key.
    pub key_env: Option<String>,
    /// Whether nothing works without a key.
    pub key_needed: bool,
    /// The protocol it speaks.
    pub dialect: Protocol,
    /// Whose prices hold.
    pub platform: Platform,
    /// What the server's templates do, whatever the model; `None` goes by the model.
    pub template: Option<Vec<Rewrite>>,
    /// Whether that is not certain.
    pub template_unsure: bool,
    /// User and assistant must take turns, whatever the model.
    pub strict_alternation: bool,
    /// Whether a system message in the midst of the conversation is rendered where it stands, whatever the model; `None`
    /// goes by the model.
    pub late_system: Option<Support>,
    /// How the context length is found out.
    pub context_probe: ContextProbe,
    /// What keeps a session on one machine.
    pub affinity: Vec<Affinity>,
    /// Whether `stream_options.include_usage` is sent; without it most servers say nothing of tokens.
    pub include_usage: bool,
    /// Whether models take tools.
    pub tools: Support,
    /// What becomes of a model's reasoning.
    pub reasoning: Reasoning,
    /// The role of the system prompt.
    pub system_role: SystemRole,
    /// The member that limits the reply.
    pub max_tokens: MaxTokens,
    /// The day from which the service is gone.
    pub retired: Option<Date>,
    /// What else there is to know.
    pub notes: Vec<String>,
    /// Where it is stated; `None` for a user's own preset.
    pub(crate) origin: Option<Origin>,
}

impl Preset {
    /// The built-in preset of that name.
    ///
    /// ```
    /// use antefix_models::Preset;
    /// let preset = Preset::named("llamacpp").unwrap();
    /// assert_eq!(preset.base_url.as_deref(), Some("http://127.0.0.1:8080/v1"));
    /// assert!(!preset.key_needed);
    /// ```
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::all().iter().find(|preset| preset.name == name)
    }

    /// All built-in presets, in the order of the data.
    pub fn all() -> &'static [Self] {
        &registry().presets
    }

    /// Where the preset is stated and the day it was read; `None` for a user's own.
    pub fn source(&self) -> Option<(&'static str, Date)> {
        self.origin.map(|origin| (origin.source, origin.date))
    }

    /// What the template of `model` does on this server.
    pub fn template(&self, model: &str) -> Template {
        let mut found = match &self.template {
            Some(rewrites) => Template {
                rewrites: rewrites.clone(),
                certain: !self.template_unsure,
                source: self.origin.map_or(OWN_PRESET, |origin| origin.source),
                ..Template::append_only()
            },
            None => template(model).unwrap_or_else(Template::append_only),
        };
        found.strict_alternation |= self.strict_alternation;
        found.late_system = self.late_system.unwrap_or(found.late_system);
        found
    }

    /// The rules of `model` on this server. `context` is its context length where that is known.
    ///
    /// No marker is placed and nothing is too short to be kept; what the template does is the one limit.
    pub fn rules(&self, model: &str, context: Option<Tokens>) -> Rules {
        if self.dialect == Protocol::Messages {
            return rules(self.platform, model);
        }
        let assumed = context.is_none().then(|| {
            format!("the context length of `{model}` is not known: {ASSUMED_CONTEXT} tokens are assumed")
        });
        let none = Minimum { below: Tokens::ZERO, sure: Tokens::ZERO, stated: Tokens::ZERO };
        Rules {
            id: model.to_owned(),
            known: true,
            minimum: none,
            max_markers: 0,
            one_hour_ttl: Support::No,
            automatic_marker: Support::No,
            diagnostics: Support::No,
            thinking_retention: Retention::AllTurns,
            thinking_binding: false,
            efforts: Some(EFFORTS.to_vec()),
            context_window: context.unwrap_or(ASSUMED_CONTEXT),
            max_output: context.unwrap_or(ASSUMED_CONTEXT),
            template: self.template(model),
            notes: assumed.into_iter().collect(),
            ..rules(Platform::Compatible, model)
        }
    }
}

/// Words that servers of Chat Completions take as `reasoning_effort`; which of them a model takes is the server's to say.
/// Source: openrouter.ai/docs (`ChatRequestReasoningEffort`), console.groq.com/docs/reasoning (`default`), read 2026-11-30.
const EFFORTS: [&str; 8] = ["none", "minimal", "low", "medium", "high", "xhigh", "max", "default"];

/// A protocol, by the name a session's lanes have for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// The Messages API: `anthropic`.
    Messages,
    /// Chat Completions: `openai-chat`.
    ChatCompletions,
}

/// How a server is asked for the length of its context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ContextProbe {
    /// It is not.
    None,
    /// `GET /models`, whose entries have `max_model_len`, `context_length`, `loaded_context_length` or `meta.n_ctx`.
    Models,
    /// `GET /props` beside the protocol's own path: `default_generation_settings.n_ctx` (llama.cpp).
    Props,
    /// `POST /api/show` beside the protocol's own path: `num_ctx` among the model's parameters (Ollama).
    OllamaShow,
}

/// A value of the session that is sent with each request, so that a router finds the machine that holds its cache.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Affinity {
    /// As this header: `x-session-affinity`, `x-grok-conv-id`.
    Header(String),
    /// As this member of the body: `session_id`, `prompt_cache_key`.
    Member(String),
}

/// What becomes of a model's reasoning in the requests that follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reasoning {
    /// It goes back as it came; the template renders what it keeps.
    SentBack,
    /// It is left out.
    LeftOut,
}

/// The role of the system prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SystemRole {
    /// `system`, which all servers take.
    System,
    /// `developer`, which newer models of OpenAI ask for.
    Developer,
}

/// The member of a request that limits the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MaxTokens {
    /// `max_tokens`, which all servers of the protocol take.
    MaxTokens,
    /// `max_completion_tokens`, which newer models of OpenAI ask for.
    MaxCompletionTokens,
}

/// Tokens of context that are assumed of a server that does not say.
const ASSUMED_CONTEXT: Tokens = Tokens(32_768);

/// The source of what a user's own preset says.
const OWN_PRESET: &str = "the user's own preset";
