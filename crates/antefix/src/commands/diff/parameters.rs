//! The settings of a request that changed, and what that does to the cache.

use antefix_prefix::verdict::{Dialect, Effect};
use antefix_wire::json::Node;

/// A top-level member of the body that is not tools, system or messages and whose value changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// What the change does to the cache.
    pub effect: Effect,
}

/// What the effect means, for people.
pub const fn words(effect: Effect) -> &'static str {
    match effect {
        Effect::Apart => "another one has another cache; nothing is read",
        Effect::Breaks => "changed; this loses the cache from a level of the prompt on",
        Effect::None => "changed; the cache is not affected",
        Effect::Unknown => "changed; no source says what that does to the cache",
    }
}

/// What the effect is called in JSON.
pub const fn word(effect: Effect) -> &'static str {
    match effect {
        Effect::Apart => "model",
        Effect::Breaks => "breaks",
        Effect::None => "none",
        Effect::Unknown => "unknown",
    }
}

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
            let effect = Dialect::Anthropic.effect(&name);
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
        check(r#"{"model":"a"}"#, r#"{"model":"b"}"#, &[("model", Effect::Apart)]);
        check(r#"{"max_tokens":1}"#, r#"{"max_tokens":2}"#, &[("max_tokens", Effect::None)]);
        check(r#"{"thinking":{"type":"adaptive"}}"#, "{}", &[("thinking", Effect::Breaks)]);
        check("{}", r#"{"surprise":1}"#, &[("surprise", Effect::Unknown)]);
    }
}
