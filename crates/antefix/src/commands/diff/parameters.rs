use antefix_wire::json::Node;

/// A top-level member of the body that is not tools, system or messages and whose value changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// What the change does to the cache.
    pub effect: Effect,
}

/// What the change of a parameter does to the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Another model: another cache.
    Model,
    /// Documented to lose the cache of a part of the prompt or of all of it.
    Breaks,
    /// Documented not to matter.
    None,
    /// No source says.
    Unknown,
}

impl Effect {
    /// What it means, for people.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Model => "another model has another cache; nothing is read",
            Self::Breaks => "changed; this loses the cache from a level of the prompt on",
            Self::None => "changed; the cache is not affected",
            Self::Unknown => "changed; no source says what that does to the cache",
        }
    }

    /// What it is called in JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Breaks => "breaks",
            Self::None => "none",
            Self::Unknown => "unknown",
        }
    }
}

/// Parameters and what a change of each does.
///
/// Source: platform.claude.com/docs/en/build-with-claude/prompt-caching, “what invalidates the cache”, September
/// 2026, with the pages on effort, thinking and fast mode.
const EFFECTS: [(&str, Effect); 19] = [
    ("model", Effect::Model),
    ("thinking", Effect::Breaks),
    ("output_config", Effect::Breaks),
    ("output_format", Effect::Breaks),
    ("tool_choice", Effect::Breaks),
    ("speed", Effect::Breaks),
    ("context_management", Effect::Breaks),
    ("inference_geo", Effect::Breaks),
    ("task_budget", Effect::Breaks),
    ("max_tokens", Effect::None),
    ("temperature", Effect::None),
    ("top_p", Effect::None),
    ("top_k", Effect::None),
    ("stop_sequences", Effect::None),
    ("metadata", Effect::None),
    ("stream", Effect::None),
    ("diagnostics", Effect::None),
    ("service_tier", Effect::None),
    ("cache_control", Effect::None),
];

/// The parameters that differ between two bodies, in the order of the later one; then those that are gone.
pub fn changed(earlier: Node<'_>, later: Node<'_>) -> Vec<Parameter> {
    let mut found = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for node in [later, earlier] {
        for (name, _) in node.members() {
            let name = name.str().unwrap_or_default().into_owned();
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    for name in names.into_iter().filter(|name| !matches!(name.as_str(), "tools" | "system" | "messages")) {
        let raw = |node: Node<'_>| node.get(&name).map(|value| value.raw().to_owned());
        if raw(earlier) != raw(later) {
            let effect = EFFECTS
                .iter()
                .find(|(known, _)| *known == name)
                .map_or(Effect::Unknown, |(_, effect)| *effect);
            found.push(Parameter { name, effect });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use antefix_wire::json::Body;

    use super::*;

    fn check(earlier: &str, later: &str, expect: &[(&str, Effect)]) {
        let (earlier, later) = (Body::parse(earlier).unwrap(), Body::parse(later).unwrap());
        let found = changed(earlier.root(), later.root());
        let found: Vec<_> =
            found.iter().map(|parameter| (parameter.name.as_str(), parameter.effect)).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn a_changed_parameter_is_named_with_its_effect() {
        check(r#"{"model":"a","messages":[1]}"#, r#"{"messages":[2],"model":"a"}"#, &[]);
        check(r#"{"model":"a"}"#, r#"{"model":"b"}"#, &[("model", Effect::Model)]);
        check(r#"{"max_tokens":1}"#, r#"{"max_tokens":2}"#, &[("max_tokens", Effect::None)]);
        check(r#"{"thinking":{"type":"adaptive"}}"#, "{}", &[("thinking", Effect::Breaks)]);
        check("{}", r#"{"surprise":1}"#, &[("surprise", Effect::Unknown)]);
    }
}
