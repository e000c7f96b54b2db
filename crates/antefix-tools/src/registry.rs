//! The tools of a session, in their frozen order.

use std::sync::Arc;

use crate::{Definition, Tool};

/// The tools of a session, in the order they were registered.
#[derive(Clone, Default)]
pub struct Registry {
    tools: Vec<Arc<dyn Tool>>,
}

impl Registry {
    /// Makes a registry without tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a registry of the built-in tools: read, grep, edit, bash.
    pub fn builtin() -> Self {
        let mut registry = Self::new();
        registry.register(Arc::new(crate::Read::new()));
        registry.register(Arc::new(crate::Grep::new()));
        registry.register(Arc::new(crate::Edit::new()));
        registry.register(Arc::new(crate::Bash::new()));
        registry
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
        assert_eq!(format!("{:?}", Registry::builtin()), r#"["read", "grep", "edit", "bash"]"#);
    }
}
