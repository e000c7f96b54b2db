//! The tools of a session, in their frozen order.

use std::sync::Arc;

use crate::{Definition, Tool};

/// The tools of a session, in the order they were registered.
#[derive(Clone)]
pub struct Registry {
    tools: Vec<Arc<dyn Tool>>,
    contract: u64,
}

impl Registry {
    /// Makes a registry without tools.
    pub fn new() -> Self {
        Self { tools: Vec::new(), contract: CONTRACT }
    }

    /// Makes a registry of the built-in tools of the newest contract.
    pub fn builtin() -> Self {
        let mut registry = Self::new();
        registry.register(Arc::new(crate::Read::new()));
        registry.register(Arc::new(crate::Grep::new()));
        registry.register(Arc::new(crate::Edit::new()));
        registry.register(Arc::new(crate::Bash::new()));
        registry.register(Arc::new(crate::Write::new()));
        registry.register(Arc::new(crate::MultiEdit::new()));
        registry.register(Arc::new(crate::Glob::new()));
        registry.register(Arc::new(crate::Todo::new()));
        registry.register(Arc::new(crate::BashOutput::new()));
        registry.register(Arc::new(crate::BashKill::new()));
        registry
    }

    /// Makes a registry of the built-in tools that a session of a contract was begun with, `None` for a contract that
    /// is not known. Its model was shown the definitions of then, so every tool goes on taking the inputs of then; and
    /// a tool that has come since is not there.
    pub fn of_contract(contract: u64) -> Option<Self> {
        let mut registry = Self::builtin();
        match contract {
            1 => registry.select(Some(&CONTRACT_1.map(str::to_owned)), &[]),
            CONTRACT => {}
            _ => return None,
        }
        registry.contract = contract;
        Some(registry)
    }

    /// Version of the contract that its built-in tools keep to; see [`CONTRACT`].
    pub fn contract(&self) -> u64 {
        self.contract
    }

    /// Adds a tool at the end; the first of a name wins.
    pub fn register(&mut self, tool: Arc<dyn Tool>) -> Registered {
        if self.get(tool.definition().name()).is_some() {
            return Registered::Shadowed;
        }
        self.tools.push(tool);
        Registered::Added
    }

    /// Removes, at the start of a session, the tools that are not in `allow` (`None`: all are) or are in
    /// `deny`. The order stays that of registration; the order of the lists means nothing.
    pub fn select(&mut self, allow: Option<&[String]>, deny: &[String]) {
        self.tools.retain(|tool| {
            let listed = |names: &[String]| names.iter().any(|name| name == tool.definition().name());
            allow.is_none_or(listed) && !listed(deny)
        });
    }

    /// The tool of a name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.definition().name() == name)
    }

    /// The definitions in order: the elements of the request's tools array.
    pub fn definitions(&self) -> impl Iterator<Item = &Definition> {
        self.tools.iter().map(|tool| tool.definition())
    }

    /// The names in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.definitions().map(Definition::name)
    }
}

impl Default for Registry {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

/// What became of a tool that was registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Registered {
    /// It was added at the end.
    Added,
    /// An earlier tool has the name and stays.
    Shadowed,
}

/// Version of the contract between the definitions of the built-in tools, which a session freezes, and what runs its
/// calls. It goes up when a definition changes or a tool comes or goes after a release. What a session's model was told
/// of its tools stays true: since 2, a command of `bash` starts where the one before it has ended.
pub const CONTRACT: u64 = 2;

/// The tools of contract 1.
const CONTRACT_1: [&str; 4] = ["read", "grep", "edit", "bash"];

#[cfg(test)]
mod tests {
    use antefix_wire::json::Body;

    use super::*;
    use crate::{Access, BoxFuture, Context, Output};

    struct Named(Definition);

    impl Tool for Named {
        fn definition(&self) -> &Definition {
            &self.0
        }

        fn access(&self, _: &Context, _: &Body) -> Access {
            Access::Nothing
        }

        fn call<'a>(&'a self, _: &'a Context, _: Body) -> BoxFuture<'a, Output> {
            Box::pin(async { Output::text("") })
        }
    }

    fn registry(names: &[&str]) -> Registry {
        let mut registry = Registry::new();
        for (index, name) in names.iter().enumerate() {
            registry.register(Arc::new(Named(Definition::new(name, &index.to_string(), "{}").unwrap())));
        }
        registry
    }

    #[test]
    fn the_first_of_a_name_wins() {
        let mut registry = registry(&["z", "a", "z"]);
        assert_eq!(
            registry.definitions().map(Definition::json).collect::<Vec<_>>(),
            [
                r#"{"name":"z","description":"0","input_schema":{}}"#,
                r#"{"name":"a","description":"1","input_schema":{}}"#
            ]
        );
        let again = Arc::new(Named(Definition::new("a", "", "{}").unwrap()));
        assert_eq!(registry.register(again), Registered::Shadowed);
    }

    #[test]
    fn allow_and_deny_keep_the_order() {
        for (allow, deny, expect) in [
            (None, vec![], "c a b"),
            (Some(vec!["a", "c"]), vec![], "c a"),
            (Some(vec!["b", "a", "none"]), vec!["a"], "b"),
            (None, vec!["c", "none"], "a b"),
            (Some(vec![]), vec![], ""),
        ] {
            let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect::<Vec<_>>();
            let mut registry = registry(&["c", "a", "b"]);
            registry.select(allow.map(owned).as_deref(), &owned(deny));
            assert_eq!(registry.names().collect::<Vec<_>>().join(" "), expect);
        }
    }

    /// The definitions are the very start of every request: a changed byte costs every session its cache.
    /// Where a change is meant, the file is changed with it.
    #[test]
    fn builtin_definitions_are_frozen() {
        let lines: Vec<_> =
            Registry::builtin().definitions().map(|one| format!("{}\n", one.json())).collect();
        assert_eq!(lines.concat(), include_str!("../tests/definitions.jsonl"));
    }

    #[test]
    fn sessions_keep_the_tools_they_were_begun_with() {
        for (contract, expect) in [
            (0, None),
            (1, Some("read grep edit bash")),
            (2, Some("read grep edit bash write multi_edit glob todo bash_output bash_kill")),
            (3, None),
        ] {
            let registry = Registry::of_contract(contract);
            assert!(registry.as_ref().is_none_or(|registry| registry.contract() == contract));
            let names = registry.map(|registry| registry.names().collect::<Vec<_>>().join(" "));
            assert_eq!(names.as_deref(), expect, "{contract}");
        }
    }
}
