//! What chat templates do to a conversation that only grows.

use crate::data::{DataError, Field, Row};
use crate::registry::{Origin, origin, registry};
use crate::rules::Support;

/// What a model's chat template makes of the messages of a request.
///
/// An engine's cache goes by the rendered prompt. Messages that only grow are rendered to a prompt that only grows if
/// the template is append-only; each [`Rewrite`] is an exception.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// How what was rendered before changes, in the order of [`Rewrite::ALL`]; empty if it does not: append-only.
    pub rewrites: Vec<Rewrite>,
    /// User and assistant must take turns, or the request is refused.
    pub strict_alternation: bool,
    /// Whether a message of the system prompt's role in the midst of the conversation is rendered where it stands. Some
    /// templates refuse it, some leave it out, some put it in front of all.
    pub late_system: Support,
    /// Whether a source says so for this very model.
    pub certain: bool,
    /// Where it is stated, and the day it was read.
    pub source: &'static str,
    /// What else there is to know.
    pub notes: Vec<&'static str>,
}

impl Template {
    /// A template that renders what was there before as it was: what is assumed where nobody says otherwise.
    pub const fn append_only() -> Self {
        Self {
            rewrites: Vec::new(),
            strict_alternation: false,
            late_system: Support::Unverified,
            certain: false,
            source: "no source: taken for append-only",
            notes: Vec::new(),
        }
    }

    /// Whether it rewrites in that way.
    pub fn does(&self, rewrite: Rewrite) -> bool {
        self.rewrites.contains(&rewrite)
    }

    /// The classes by name, such as `append-only` or `reasoning-stripping, dated`.
    pub fn class(&self) -> String {
        let mut names: Vec<_> = self.rewrites.iter().map(|rewrite| rewrite.name()).collect();
        if names.is_empty() {
            names.push(APPEND_ONLY);
        }
        names.join(", ")
    }
}

/// One way in which a template renders the earlier part of a conversation anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rewrite {
    /// Reasoning of a turn is rendered as long as the turn lasts, and left out once the user speaks again (Qwen3).
    ReasoningStripping,
    /// The tools stand in front of the user's last message, and move on with it (Mistral).
    ToolsLate,
    /// The date of the day stands in front (Llama 3.2, gpt-oss).
    Dated,
}

impl Rewrite {
    /// Every one, in the order in which they are named.
    pub const ALL: [Self; 3] = [Self::ReasoningStripping, Self::ToolsLate, Self::Dated];

    /// The name used in settings, data files and output.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReasoningStripping => "reasoning-stripping",
            Self::ToolsLate => "tools-late",
            Self::Dated => "dated",
        }
    }

    /// The rewrites that a list of class names stands for; `append-only` alone stands for none of them.
    pub(crate) fn of<'n>(names: impl IntoIterator<Item = &'n str>) -> Option<Vec<Self>> {
        let names: Vec<&str> = names.into_iter().collect();
        if names == [APPEND_ONLY] {
            return Some(Vec::new());
        }
        let is_known = |name: &&str| Self::ALL.iter().any(|rewrite| rewrite.name() == *name);
        if names.is_empty() || !names.iter().all(is_known) {
            return None;
        }
        Some(Self::ALL.into_iter().filter(|rewrite| names.contains(&rewrite.name())).collect())
    }
}

/// The template of an open-weight model, by the first row of the data that names a part of its id; `None` if none does.
///
/// ```
/// use antefix_models::{Rewrite, template};
/// let found = template("Qwen/Qwen3-8B-GGUF:Q4_K_M").unwrap();
/// assert!(found.does(Rewrite::ReasoningStripping) && found.certain);
/// assert_eq!(template("an-own-model"), None);
/// ```
pub fn template(model: &str) -> Option<Template> {
    let model = model.to_ascii_lowercase();
    let names = |row: &&TemplateRow| row.models.iter().any(|part| model.contains(part));
    registry().templates.iter().find(names).map(TemplateRow::template)
}

/// A row of `data/templates.toml`.
#[derive(Debug)]
pub(crate) struct TemplateRow {
    /// Parts of model ids in small letters.
    pub models: Vec<&'static str>,
    pub rewrites: Vec<Rewrite>,
    pub strict_alternation: bool,
    pub late_system: Support,
    pub certain: bool,
    pub notes: Vec<&'static str>,
    pub origin: Origin,
    /// Source and date in one.
    said: String,
}

impl TemplateRow {
    pub(crate) fn read(row: &mut Row) -> Result<Self, DataError> {
        let does = row.texts("does")?;
        let rewrites = if does.is_empty() { Some(Vec::new()) } else { Rewrite::of(does) };
        let (models, strict_alternation) = (row.texts("models")?, row.flag("strict_alternation")?);
        let late_system = row.optional("late_system", support)?.unwrap_or(Support::Unverified);
        let (certain, notes, origin) = (!row.flag("unsure")?, row.texts("notes")?, origin(row)?);
        Ok(Self {
            models,
            rewrites: rewrites.ok_or_else(|| row.missing("does"))?,
            strict_alternation,
            late_system,
            certain,
            notes,
            origin,
            said: format!("{}, read {}", origin.source, origin.date),
        })
    }

    fn template(&'static self) -> Template {
        Template {
            rewrites: self.rewrites.clone(),
            strict_alternation: self.strict_alternation,
            late_system: self.late_system,
            certain: self.certain,
            source: &self.said,
            notes: self.notes.clone(),
        }
    }
}

fn support(field: Field) -> Option<Support> {
    match field {
        Field::Text("yes") => Some(Support::Yes),
        Field::Text("no") => Some(Support::No),
        _ => None,
    }
}

/// The class of a template without rewrites.
pub(crate) const APPEND_ONLY: &str = "append-only";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_found_by_a_part_of_its_id() {
        use Rewrite::{Dated, ReasoningStripping, ToolsLate};
        type Found = (&'static [Rewrite], bool, bool);
        let cases: &[(&str, Option<Found>)] = &[
            ("Qwen/Qwen3-30B-A3B", Some((&[ReasoningStripping], false, true))),
            ("qwen3:8b", Some((&[ReasoningStripping], false, true))),
            ("qwen2.5-coder-7b-instruct", None),
            ("mistralai/Mistral-Nemo-Instruct-2407", Some((&[ToolsLate], true, true))),
            ("Mistral-7B-Instruct-v0.3", Some((&[ToolsLate], true, false))),
            ("openai/gpt-oss-120b", Some((&[ReasoningStripping, Dated], false, true))),
            ("@cf/meta/llama-3.2-3b-instruct", Some((&[Dated], false, true))),
            ("Meta-Llama-3.1-8B-Instruct", None),
            ("deepseek-r1:14b", Some((&[], false, true))),
            ("SmolLM2-135M-Instruct-Q4_1.gguf", None),
            ("", None),
        ];
        for (model, expect) in cases {
            let found = template(model);
            let found =
                found.as_ref().map(|found| (&*found.rewrites, found.strict_alternation, found.certain));
            assert_eq!(found, *expect, "{model}");
        }
    }

    #[test]
    fn a_late_system_message_is_taken_where_the_template_was_read() {
        use Support::{No, Unverified, Yes};
        for (model, expect) in [
            ("Qwen/Qwen3-8B", Yes),
            ("Qwen3.6-27B", No),
            ("gpt-oss-20b", No),
            ("mistral-small-3.1", No),
            ("Mistral-7B", No),
            ("llama3.2:3b", Yes),
            ("GLM-4.5-Air", Yes),
            ("MiniMax-M2", No),
            ("Kimi-K2-Thinking", Yes),
            ("DeepSeek-V3.2", No),
            ("deepseek-r1:14b", No),
            ("gemma-3-12b-it", No),
            ("gemma-4-31b", Yes),
        ] {
            assert_eq!(template(model).unwrap().late_system, expect, "{model}");
        }
        assert_eq!(Template::append_only().late_system, Unverified);
    }

    #[test]
    fn classes_have_names() {
        let none = Some(Vec::new());
        for (names, expect) in [
            (&["append-only"][..], none.clone()),
            (&["dated", "tools-late"], Some(vec![Rewrite::ToolsLate, Rewrite::Dated])),
            (&["append-only", "dated"], None),
            (&["late"], None),
            (&[], None),
        ] {
            assert_eq!(Rewrite::of(names.iter().copied()), expect, "{names:?}");
        }
        assert_eq!(Template::append_only().class(), "append-only");
        let both = Template { rewrites: Rewrite::ALL.to_vec(), ..Template::append_only() };
        assert_eq!(both.class(), "reasoning-stripping, tools-late, dated");
    }

    #[test]
    fn parts_are_in_small_letters_and_none_hides_a_later_one() {
        let parts: Vec<&str> =
            registry().templates.iter().flat_map(|row| row.models.iter().copied()).collect();
        for (index, part) in parts.iter().enumerate() {
            assert_eq!(*part, part.to_ascii_lowercase());
            assert!(
                parts.iter().skip(index + 1).all(|later| !later.contains(part)),
                "{part} hides a later row"
            );
        }
    }
}
