//! The tools of a session, in their frozen order.

use std::sync::Arc;

use crate::shown::Shown;
use crate::{Definition, Tool};

/// The tools of a session, in the order they were registered.
#[derive(Clone)]
pub struct Registry {
    tools: Vec<Listed>,
    contract: u64,
    arrivals: Option<Arc<dyn Arrivals>>,
}

impl Registry {
    /// Makes a registry without tools.
    pub fn new() -> Self {
        Self { tools: Vec::new(), contract: CONTRACT, arrivals: None }
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
            // What has come with 3 is made outside of this crate.
            2 | CONTRACT => {}
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
        self.register_as(tool, Listing::Open)
    }

    /// Adds a tool at the end that is listed in a certain way; the first of a name wins.
    pub fn register_as(&mut self, tool: Arc<dyn Tool>, listing: Listing) -> Registered {
        if self.own(tool.definition().name()).is_some() {
            return Registered::Shadowed;
        }
        self.tools.push(Listed { tool, listing });
        Registered::Added
    }

    /// Sets who knows the tools that come while the session runs.
    pub fn with_arrivals(mut self, arrivals: Arc<dyn Arrivals>) -> Self {
        self.arrivals = Some(arrivals);
        self
    }

    /// Sets how the tools are listed that `is_meant` holds for.
    pub fn list(&mut self, listing: Listing, is_meant: impl Fn(&str) -> bool) {
        for listed in self.tools.iter_mut().filter(|listed| is_meant(listed.tool.definition().name())) {
            listed.listing = listing;
        }
    }

    /// Has a tool stand as the session's model was shown it, where that is not as this build has it: then a call that
    /// says what the tool does not know any more is refused, and the model is told what it knows.
    pub fn show_as(&mut self, shown: &Definition) {
        let is_other = |tool: &dyn Tool| {
            tool.definition().name() == shown.name() && tool.definition().json() != shown.json()
        };
        for listed in self.tools.iter_mut().filter(|listed| is_other(&*listed.tool)) {
            listed.tool = Arc::new(Shown::new(Arc::clone(&listed.tool), shown.clone()));
        }
    }

    /// Removes, at the start of a session, the tools that are not in `allow` (`None`: all are) or are in
    /// `deny`. The order stays that of registration; the order of the lists means nothing. `mcp__server` stands for all
    /// tools of that server.
    pub fn select(&mut self, allow: Option<&[String]>, deny: &[String]) {
        self.tools.retain(|listed| is_selected(listed.tool.definition().name(), allow, deny));
    }

    /// The tool of a name, one that has come since included.
    pub fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.own(name).cloned().or_else(|| self.arrivals.as_ref()?.tool(name))
    }

    /// The definitions in order.
    pub fn definitions(&self) -> impl Iterator<Item = &Definition> {
        self.tools.iter().map(|listed| listed.tool.definition())
    }

    /// The definitions in order, with how each is listed in the request's tools array.
    pub fn listed(&self) -> impl Iterator<Item = (&Definition, Listing)> {
        self.tools.iter().map(|listed| (listed.tool.definition(), listed.listing))
    }

    /// The names in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.definitions().map(Definition::name)
    }

    fn own(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        let mut tools = self.tools.iter().map(|listed| &listed.tool);
        tools.find(|tool| tool.definition().name() == name)
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

/// Knows the tools that come while a session runs: they stand in no array, and are called by their names all the same.
pub trait Arrivals: Send + Sync + 'static {
    /// The tool of a name, if it can be called now.
    fn tool(&self, name: &str) -> Option<Arc<dyn Tool>>;
}

/// How a tool stands in the request's tools array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Listing {
    /// With its definition, which is part of the prompt.
    #[default]
    Open,
    /// With its definition and `defer_loading`, which keeps it out of the prompt until something refers to it. In
    /// protocols that do not have this, as `Hidden`.
    Deferred,
    /// Not at all: it is found by a search and called by its name.
    Hidden,
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
/// of its tools stays true: since 2, a command of `bash` starts where the one before it has ended; since 3, there are
/// tools that stand in no array, skills and subagents.
pub const CONTRACT: u64 = 3;

/// Whether a tool is among those of a session: in `allow` (`None`: all are) and not in `deny`. `mcp__server` stands for
/// all tools of that server.
pub fn is_selected(tool: &str, allow: Option<&[String]>, deny: &[String]) -> bool {
    let is_in = |names: &[String]| names.iter().any(|name| speaks_of(name, tool));
    allow.is_none_or(is_in) && !is_in(deny)
}

/// Whether a name in a list or a rule is that of the tool, or of the server that it comes from.
pub(crate) fn speaks_of(name: &str, tool: &str) -> bool {
    let is_server = || name.starts_with("mcp__") && !name.get(5..).unwrap_or_default().contains("__");
    let is_its = || tool.strip_prefix(name).is_some_and(|rest| rest.starts_with("__") && rest.len() > 2);
    name == tool || is_server() && is_its()
}

#[derive(Clone)]
struct Listed {
    tool: Arc<dyn Tool>,
    listing: Listing,
}

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
            (None, vec![], "c a b mcp__s__y mcp__s__z mcp__s_2__y mcp__t__y"),
            (Some(vec!["a", "c"]), vec![], "c a"),
            (Some(vec!["b", "a", "none"]), vec!["a"], "b"),
            (None, vec!["c", "none"], "a b mcp__s__y mcp__s__z mcp__s_2__y mcp__t__y"),
            (Some(vec![]), vec![], ""),
            (Some(vec!["a", "mcp__s"]), vec!["mcp__s__z"], "a mcp__s__y"),
            (None, vec!["mcp__s", "mcp__t__"], "c a b mcp__s_2__y mcp__t__y"),
            (None, vec!["mcp", "mcp__"], "c a b mcp__s__y mcp__s__z mcp__s_2__y mcp__t__y"),
        ] {
            let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect::<Vec<_>>();
            let servers = ["mcp__s__y", "mcp__s__z", "mcp__s_2__y", "mcp__t__y"];
            let mut registry = registry(&[&["c", "a", "b"][..], &servers].concat());
            registry.select(allow.map(owned).as_deref(), &owned(deny));
            assert_eq!(registry.names().collect::<Vec<_>>().join(" "), expect);
        }
    }

    /// A session was begun with another definition of `read`: its model's call by that one is refused with what is known,
    /// and one that both understand runs.
    #[test]
    fn a_tool_stands_as_it_was_shown() {
        let mut registry = Registry::builtin();
        let schema =
            r#"{"type":"object","properties":{"path":{"type":"string"},"first_line":{"type":"integer"}}}"#;
        let shown = Definition::new("read", "Opens a file.", schema).unwrap();
        registry.show_as(&shown);
        let read = registry.get("read").unwrap();
        assert_eq!(read.definition(), &shown);
        let said = |input: &str| read.prepare(Body::parse(input).unwrap()).map(|body| body.text().to_owned());
        assert_eq!(said(r#"{"path":"a","limit":3}"#).as_deref(), Ok(r#"{"path":"a","limit":3}"#));
        assert_eq!(
            said(r#"{"path":"a","first_line":3}"#).unwrap_err().0,
            "`read` was shown to you with `first_line`, which it does not take any more; what it takes there is \
             `path`, `offset`, `limit`: call it with these"
        );
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
            (3, Some("read grep edit bash write multi_edit glob todo bash_output bash_kill")),
            (4, None),
        ] {
            let registry = Registry::of_contract(contract);
            assert!(registry.as_ref().is_none_or(|registry| registry.contract() == contract));
            let names = registry.map(|registry| registry.names().collect::<Vec<_>>().join(" "));
            assert_eq!(names.as_deref(), expect, "{contract}");
        }
    }
}
