//! Whether a request that extends ours also extends the prompt that the provider renders.

use std::fmt;

use antefix_models::{Retention, Rewrite, Rules, Template};

use crate::position::Section;
use crate::segment::Segment;

/// What an extension of our bytes does to the provider's prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effective {
    /// Number of positions that the earlier request had.
    pub sent: usize,
    /// Where the provider's prompt does not extend, in ascending order of [`Limit::at`]; empty if it does.
    pub limits: Vec<Limit>,
}

impl Effective {
    /// Number of leading positions that no limit touches. Entries that end within them can still be read.
    pub fn kept(&self) -> usize {
        self.limits.first().map_or(self.sent, |limit| limit.at)
    }

    /// Number of leading positions that no documented limit touches. An entry that ends behind
    /// [`kept`](Self::kept) and within these may still be read: plan it as doubtful.
    pub fn kept_at_most(&self) -> usize {
        let sure = self.limits.iter().find(|limit| limit.certainty == Certainty::Documented);
        sure.map_or(self.sent, |limit| limit.at)
    }

    /// Whether the provider's prompt extends as far as is known.
    pub fn extends(&self) -> bool {
        self.limits.is_empty()
    }
}

/// One loss that the provider imposes: forecast, named with its source, no fault of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Index of the first position that is no longer read from the cache.
    pub at: usize,
    /// Why.
    pub cause: Cause,
    /// How sure it is.
    pub certainty: Certainty,
    /// Where the rule is stated, with its date.
    pub source: &'static str,
}

/// Why the provider's prompt does not extend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// The user speaks again, and the model keeps the thinking of the last turn only.
    ThinkingStripped,
    /// A system message with `clear_at` is dropped now that the user speaks again.
    MessageCleared,
    /// The first image of a conversation without one.
    FirstImage,
    /// A deferred tool that was referenced has another definition.
    ReferenceChanged,
    /// The user speaks again, and the chat template leaves out the reasoning of the turn before.
    ReasoningStripped,
    /// The user speaks again, and the chat template moves the tools in front of the new message.
    ToolsMoved,
    /// The chat template puts the date in front, and it is another day.
    DateChanged,
    /// The server has summarised what was said.
    Summarised,
}

/// What passed between a request and the one before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Interval {
    /// Less than what changes the date, as far as is known.
    #[default]
    SameDay,
    /// A midnight where the server is, or perhaps one.
    NewDay,
}

impl fmt::Display for Cause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::ThinkingStripped => "the user speaks again: only the thinking of the last turn is kept",
            Self::MessageCleared => "the user speaks again: a system message with `clear_at` is dropped",
            Self::FirstImage => "the first image of the conversation",
            Self::ReferenceChanged => "a deferred tool that was referenced has another definition",
            Self::ReasoningStripped => {
                "the user speaks again: the chat template leaves out the reasoning of the turn before"
            }
            Self::ToolsMoved => {
                "the user speaks again: the chat template moves the tools in front of the new message"
            }
            Self::DateChanged => "the chat template puts the date in front, and it is another day",
            Self::Summarised => {
                "the server has summarised what was said: nothing in front of its summary is read"
            }
        })
    }
}

/// How sure a limit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Certainty {
    /// Stated by the provider for this model.
    Documented,
    /// Sources disagree, or the model is not known.
    Possible,
}

/// Whether a request whose first `sent` positions were sent before extends the prompt as the provider renders
/// it under `rules`, and from where not.
///
/// The bytes of those positions are taken to be unchanged; that is for [`Tree`](crate::Tree) to say. Both requests
/// are taken to be of one day; [`effective_after`] is for others.
pub fn effective(segments: &[Segment], sent: usize, rules: &Rules) -> Effective {
    effective_after(segments, sent, rules, Interval::SameDay)
}

/// [`effective`], with what passed between the two requests.
pub fn effective_after(segments: &[Segment], sent: usize, rules: &Rules, interval: Interval) -> Effective {
    let sent = sent.min(segments.len());
    let (old, new) = segments.split_at(sent);
    let user_speaks = new.iter().any(Segment::is_user_speech);
    let stripping = user_speaks && rules.thinking_retention == Retention::LastTurn;
    let template = &rules.template;
    let found = [
        (user_speaks && template.does(Rewrite::ReasoningStripping))
            .then(|| template_limit(first_thought(old), Cause::ReasoningStripped, template))
            .flatten(),
        (user_speaks && template.does(Rewrite::ToolsLate))
            .then(|| template_limit(last_speech_behind_tools(old), Cause::ToolsMoved, template))
            .flatten(),
        (interval == Interval::NewDay && template.does(Rewrite::Dated))
            .then(|| template_limit(old.first().map(|_| 0), Cause::DateChanged, template))
            .flatten(),
        stripping.then(|| thinking_limit(old, rules)).flatten(),
        clearing_limit(old, new),
        // Only the Messages API says so of its own rendering, and only it takes markers.
        (rules.max_markers > 0).then(|| image_limit(old, new)).flatten(),
        reference_limit(old),
        summary_limit(old, new),
    ];
    let mut limits: Vec<_> = found.into_iter().flatten().collect();
    limits.sort_by_key(|limit| (limit.at, limit.cause));
    Effective { sent, limits }
}

/// A limit that the chat template sets.
fn template_limit(at: Option<usize>, cause: Cause, template: &Template) -> Option<Limit> {
    let certainty = if template.certain { Certainty::Documented } else { Certainty::Possible };
    Some(Limit { at: at?, cause, certainty, source: template.source })
}

/// The first position of the last turn that thinks. Thinking of earlier turns went when the user spoke last.
fn first_thought(old: &[Segment]) -> Option<usize> {
    let turn = old.iter().rposition(Segment::is_user_speech).map_or(0, |last| last + 1);
    Some(turn + old.get(turn..)?.iter().position(|segment| segment.thinks)?)
}

/// The user's last message, if there are tools to stand in front of it.
fn last_speech_behind_tools(old: &[Segment]) -> Option<usize> {
    let has_tools = old.iter().any(|segment| segment.section == Section::Tools);
    old.iter().rposition(Segment::is_user_speech).filter(|_| has_tools)
}

fn thinking_limit(old: &[Segment], rules: &Rules) -> Option<Limit> {
    let at = first_thought(old)?;
    let certainty = if rules.known { Certainty::Documented } else { Certainty::Possible };
    Some(Limit { at, cause: Cause::ThinkingStripped, certainty, source: THINKING_SOURCE })
}

/// "The next user message" is taken to be any message of the user's; a tool's result is only possibly one.
fn clearing_limit(old: &[Segment], new: &[Segment]) -> Option<Limit> {
    let users: Vec<_> = new.iter().filter(|segment| segment.is_from_user()).collect();
    let certainty = match users.as_slice() {
        [] => return None,
        users if users.iter().any(|segment| segment.is_user_speech()) => Certainty::Documented,
        _ => Certainty::Possible,
    };
    // What was cleared when the user's last message came is gone from the prompt already.
    let turn = old.iter().rposition(Segment::is_from_user).map_or(0, |last| last + 1);
    let at = turn + old.get(turn..)?.iter().position(|segment| segment.clears)?;
    Some(Limit { at, cause: Cause::MessageCleared, certainty, source: CLEARING_SOURCE })
}

fn image_limit(old: &[Segment], new: &[Segment]) -> Option<Limit> {
    let first = !old.iter().any(|segment| segment.image) && new.iter().any(|segment| segment.image);
    let at = old.iter().position(|segment| segment.section == Section::Messages)?;
    first.then_some(Limit {
        at,
        cause: Cause::FirstImage,
        certainty: Certainty::Possible,
        source: IMAGE_SOURCE,
    })
}

fn reference_limit(old: &[Segment]) -> Option<Limit> {
    let at = old.iter().position(|segment| segment.reference_changed)?;
    Some(Limit {
        at,
        cause: Cause::ReferenceChanged,
        certainty: Certainty::Documented,
        source: REFERENCE_SOURCE,
    })
}

/// All messages in front of a summary are dropped, tools and system prompt stay.
fn summary_limit(old: &[Segment], new: &[Segment]) -> Option<Limit> {
    new.iter().rfind(|segment| segment.is_summary())?;
    let at = old.iter().position(|segment| segment.section == Section::Messages)?;
    let (cause, certainty) = (Cause::Summarised, Certainty::Documented);
    Some(Limit { at, cause, certainty, source: SUMMARY_SOURCE })
}

const SUMMARY_SOURCE: &str = "platform.claude.com/docs/en/build-with-claude/compaction, August 2026: \
     the API drops what stands in front of a compaction block";
const THINKING_SOURCE: &str = "platform.claude.com/docs/en/build-with-claude/prompt-caching, September 2026: \
     user content that is no tool result strips earlier thinking on models that keep the last turn only";
const CLEARING_SOURCE: &str = "platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages, \
     August 2026: `clear_at: next_user_message`";
const IMAGE_SOURCE: &str = "platform.claude.com/docs/en/build-with-claude/prompt-caching, September 2026: \
     adding images invalidates messages; the tool-use page has it so for the first image only";
const REFERENCE_SOURCE: &str = "platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool, \
     August 2026: a `tool_reference` is expanded in place";
