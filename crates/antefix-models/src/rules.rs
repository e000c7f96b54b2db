//! What a platform does with the prompts of one model.

use jiff::civil::Date;

use crate::id;
use crate::registry::{Model, PlatformRow, registry};
use crate::{Platform, Template, Tokens};

/// The rules one model follows on one platform. Get them from [`rules()`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The model's own id, without platform spelling or snapshot date; the text asked for if it is not known.
    pub id: String,
    /// Whether the model is in the data. If not, every value is the cautious one.
    pub known: bool,
    /// The shortest prefix that is kept.
    pub minimum: Minimum,
    /// How far a marker searches for an earlier entry.
    pub lookback: Lookback,
    /// Most markers a request may carry, the automatic one included; one more is refused.
    pub max_markers: u32,
    /// Whether an entry can be asked to live one hour.
    pub one_hour_ttl: Support,
    /// Whether a `cache_control` at the top level of the request marks the last block.
    pub automatic_marker: Support,
    /// Whether the response can say why a cache read fell short.
    pub diagnostics: Support,
    /// Whether `role: "system"` is taken inside `messages`.
    pub in_band_system: Support,
    /// Whether such a message may carry `tool_addition` and `tool_removal`.
    pub in_band_tools: Support,
    /// Whether such a message may set the effort.
    pub in_band_effort: Support,
    /// Whether such a message may carry `clear_at`.
    pub in_band_clear_at: Support,
    /// Which thinking blocks stay in the prompt when the user speaks again.
    pub thinking_retention: Retention,
    /// Whether thinking is bound to the bytes before it, so that editing them is refused.
    pub thinking_binding: bool,
    /// Hidden text in the prompt of a request with tools.
    pub tool_prompt: ToolPrompt,
    /// What the chat template does to what was there before.
    pub template: Template,
    /// The levels of effort that it takes, the least first; `None` where they are not known.
    pub efforts: Option<Vec<&'static str>>,
    /// Longest prompt and output together.
    pub context_window: Tokens,
    /// Longest output.
    pub max_output: Tokens,
    /// The day from which the model no longer answers on platforms Anthropic operates.
    pub retires: Option<Date>,
    /// The day before which the model is promised not to retire, where no retirement is announced.
    pub earliest_retirement: Option<Date>,
    /// Conflicts between sources and what was assumed for want of one.
    pub notes: Vec<String>,
}

/// Which images a request may carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageRules {
    /// Images at most.
    pub most: usize,
    /// With more images than this, none may be larger than [`side_of_many`](Self::side_of_many).
    pub many: usize,
    /// Pixels of the longer side, where there are many.
    pub side_of_many: u32,
}

impl Rules {
    /// The images that a request of the Messages API may carry; one that breaks them is refused, and so is every later
    /// one of its conversation.
    ///
    /// Source: <https://platform.claude.com/docs/en/build-with-claude/vision> (general limits, 2026-11-30).
    pub fn images(&self) -> ImageRules {
        let most = if self.context_window > Tokens(200_000) { 600 } else { 100 };
        ImageRules { most, many: 20, side_of_many: 2_000 }
    }
}

/// Where the shortest prefix that is kept lies. Sources may disagree: between `below` and `sure` nothing can
/// be said, and a prefix there that was not read is no break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Minimum {
    /// A shorter prefix is surely not kept.
    pub below: Tokens,
    /// A prefix of this length or more surely is.
    pub sure: Tokens,
    /// The documented value in force.
    pub stated: Tokens,
}

impl Minimum {
    /// Where a prefix of `tokens` falls. What counts is the whole prefix up to the marker, not the marked
    /// block.
    pub fn reach(&self, tokens: Tokens) -> Reach {
        if tokens < self.below {
            Reach::Below
        } else if tokens < self.sure {
            Reach::Grey
        } else {
            Reach::Sure
        }
    }
}

/// Whether a prefix is long enough to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reach {
    /// Surely too short.
    Below,
    /// Sources disagree.
    Grey,
    /// Surely long enough.
    Sure,
}

/// How far a marker searches backwards for an entry an earlier request wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookback {
    /// Positions tested, the marked one included.
    pub positions: u32,
    /// Whether a run of `tool_use` blocks, or of `tool_result` blocks, is one position.
    pub collapse_runs: Collapse,
}

/// Whether runs of tool blocks count as one position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Collapse {
    /// A run is one position.
    Yes,
    /// Every block is a position.
    No,
    /// Not documented; plan as if every block were one.
    Unknown,
}

impl Collapse {
    /// Whether runs surely collapse.
    pub fn is_certain(self) -> bool {
        self == Self::Yes
    }
}

/// Whether a platform takes something for a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Support {
    /// Documented to work.
    Yes,
    /// Documented to be refused or without effect.
    No,
    /// No source says; do not rely on it.
    Unverified,
}

impl Support {
    /// Whether it is documented to work.
    pub fn is_certain(self) -> bool {
        self == Self::Yes
    }

    /// The weaker of two: what needs both a model and a platform.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::No, _) | (_, Self::No) => Self::No,
            (Self::Yes, Self::Yes) => Self::Yes,
            _ => Self::Unverified,
        }
    }
}

/// Which thinking blocks the provider keeps in the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Retention {
    /// Those of every turn.
    AllTurns,
    /// Those of the last assistant turn; a user message that is no tool result strips the earlier ones.
    LastTurn,
}

/// Tokens of the hidden system text that comes with tools; `None` where no source has a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ToolPrompt {
    /// With `tool_choice` `auto` or `none`.
    pub auto_or_none: Option<Tokens>,
    /// With `tool_choice` `any` or `tool`.
    pub any_or_tool: Option<Tokens>,
}

/// The rules of `model` on `platform`. An id that is not in the data gets cautious values and a note.
///
/// ```
/// use antefix_models::{Platform, Reach, Tokens, rules};
/// let rules = rules(Platform::Bedrock, "us.anthropic.claude-sonnet-4-6");
/// assert_eq!(rules.id, "claude-sonnet-4-6");
/// assert_eq!(rules.minimum.reach(Tokens(1500)), Reach::Grey);
/// ```
pub fn rules(platform: Platform, model: &str) -> Rules {
    let Some(row) = platform_row(platform) else {
        return unknown(model);
    };
    let found = id::find(platform, model);
    let mut rules = found.map_or_else(|| unknown(model), known);
    rules.lookback = Lookback { positions: row.lookback, collapse_runs: row.collapse };
    rules.max_markers = row.max_markers;
    rules.one_hour_ttl = row.one_hour_ttl;
    rules.automatic_marker = rules.automatic_marker.and(row.automatic_marker);
    rules.diagnostics = row.diagnostics;
    rules.in_band_clear_at = rules.in_band_system.and(row.in_band_clear_at);
    rules.in_band_system = rules.in_band_system.and(row.in_band_system);
    rules.in_band_tools = rules.in_band_tools.and(row.in_band_tools);
    rules.in_band_effort = rules.in_band_effort.and(row.in_band_effort);
    rules.notes.extend(row.notes.iter().map(|note| (*note).to_owned()));
    match found {
        Some(model) if platform == Platform::Bedrock => on_bedrock(&mut rules, model),
        Some(_) => {}
        None => rules.lookback.collapse_runs = Collapse::Unknown,
    }
    rules
}

/// The ids of all models in the data.
pub fn model_ids() -> impl Iterator<Item = &'static str> {
    registry().models.iter().map(|model| model.id)
}

/// What differs on Bedrock for single models. The integration for Opus 4.6 and earlier answers 400 to the
/// automatic marker.
fn on_bedrock(rules: &mut Rules, model: &Model) {
    if let Some(stated) = model.minimum_on_bedrock {
        rules.minimum.stated = stated;
    }
    if model.legacy_bedrock {
        rules.automatic_marker = Support::No;
    }
}

fn known(model: &Model) -> Rules {
    Rules {
        id: model.id.to_owned(),
        known: true,
        minimum: model.minimum,
        automatic_marker: Support::Yes,
        in_band_system: model.in_band_system,
        in_band_tools: model.in_band_tools,
        in_band_effort: model.in_band_effort,
        thinking_retention: model.retention,
        thinking_binding: model.binding,
        tool_prompt: model.tool_prompt,
        efforts: Some(model.efforts.clone()),
        context_window: model.window,
        max_output: model.max_output,
        retires: model.retires,
        earliest_retirement: model.earliest_retirement,
        notes: model.notes.iter().map(|note| (*note).to_owned()).collect(),
        ..unknown(model.id)
    }
}

fn unknown(model: &str) -> Rules {
    Rules {
        id: model.to_owned(),
        known: false,
        minimum: Minimum { below: Tokens(512), sure: Tokens(4096), stated: Tokens(4096) },
        lookback: Lookback { positions: 20, collapse_runs: Collapse::Unknown },
        max_markers: 4,
        one_hour_ttl: Support::Unverified,
        automatic_marker: Support::Unverified,
        diagnostics: Support::Unverified,
        in_band_system: Support::No,
        in_band_tools: Support::No,
        in_band_effort: Support::No,
        in_band_clear_at: Support::No,
        thinking_retention: Retention::LastTurn,
        thinking_binding: true,
        tool_prompt: ToolPrompt::default(),
        template: Template::append_only(),
        efforts: None,
        context_window: Tokens(200_000),
        max_output: Tokens(8_192),
        retires: None,
        earliest_retirement: None,
        notes: vec![format!("`{model}` is not in the model data: cautious values are assumed.")],
    }
}

fn platform_row(platform: Platform) -> Option<&'static PlatformRow> {
    registry().platforms.iter().find(|row| row.platform == platform)
}
