use std::sync::Arc;

use antefix_wire::json::{Body, Kind, Node};

use crate::{Access, BoxFuture, Context, Definition, Failure, Output, Tool};

/// A tool in a session whose model was shown another definition of it: that of the build which began the session.
///
/// What the model says by that definition, and this build's tool does not know, would be let be in silence, as if it had
/// not been said. So such a call is refused, and the model is told what is known.
pub(crate) struct Shown {
    tool: Arc<dyn Tool>,
    shown: Definition,
}

impl Shown {
    /// The tool, as it was shown.
    pub(crate) fn new(tool: Arc<dyn Tool>, shown: Definition) -> Self {
        Self { tool, shown }
    }
}

impl Tool for Shown {
    fn definition(&self) -> &Definition {
        &self.shown
    }

    fn prepare(&self, input: Body) -> Result<Body, Failure> {
        let schema = |definition: &Definition| Body::parse(definition.json()).ok();
        if let (Some(shown), Some(own)) = (schema(&self.shown), schema(self.tool.definition()))
            && let Some((shown, own)) = shown.root().get(SCHEMA).zip(own.root().get(SCHEMA))
            && let Some(Unknown { name, known }) = unknown(shown, own, input.root())
        {
            let tool = self.shown.name();
            return Err(Failure::new(format!(
                "`{tool}` was shown to you with `{name}`, which it does not take any more; what it takes there is \
                 {known}: call it with these"
            )));
        }
        self.tool.prepare(input)
    }

    fn access(&self, context: &Context, input: &Body) -> Access {
        self.tool.access(context, input)
    }

    fn call<'a>(&'a self, context: &'a Context, input: Body) -> BoxFuture<'a, Output> {
        self.tool.call(context, input)
    }
}

/// A member that is no longer known, and those that are.
struct Unknown {
    name: String,
    known: String,
}

/// The first member of an input that one schema names and the other does not, at any depth. What neither names is let
/// be, and so is `null`, which says nothing.
fn unknown(shown: Node<'_>, own: Node<'_>, input: Node<'_>) -> Option<Unknown> {
    match input.kind() {
        Kind::Object => {
            let (before, now) = (shown.get(PROPERTIES)?, own.get(PROPERTIES)?);
            let said = input.members().filter(|(_, value)| !value.is_null());
            said.filter_map(|(name, value)| Some((name.str()?, value))).find_map(|(name, value)| {
                let before = before.get(&name)?;
                match now.get(&name) {
                    Some(now) => unknown(before, now, value),
                    None => Some(Unknown { name: name.into_owned(), known: names(now) }),
                }
            })
        }
        Kind::Array => {
            let (before, now) = (shown.get(ITEMS)?, own.get(ITEMS)?);
            input.items().find_map(|item| unknown(before, now, item))
        }
        _ => None,
    }
}

fn names(properties: Node<'_>) -> String {
    let names = properties.members().filter_map(|(name, _)| Some(format!("`{}`", name.str()?)));
    names.collect::<Vec<_>>().join(", ")
}

const SCHEMA: &str = "input_schema";
const PROPERTIES: &str = "properties";
const ITEMS: &str = "items";

#[cfg(test)]
mod tests {
    use super::*;

    /// What the present tool takes, and what the model was shown: a member has another name, one is gone, and one is new.
    const OWN: &str = r#"{"type":"object","properties":{"path":{},"offset":{},"edits":{"type":"array","items":{"properties":{"old":{},"new":{}}}}}}"#;
    const SHOWN: &str = r#"{"type":"object","properties":{"path":{},"first_line":{},"edits":{"type":"array","items":{"properties":{"old":{},"with":{}}}}}}"#;

    #[test]
    fn what_only_the_old_schema_names_is_found_at_any_depth() {
        for (input, expect) in [
            (r#"{"path":"a"}"#, None),
            (r#"{"path":"a","offset":1}"#, None),
            (r#"{"path":"a","neither":1}"#, None),
            (r#"{"path":"a","first_line":null}"#, None),
            (r#"{"path":"a","first_line":1}"#, Some("first_line: `path`, `offset`, `edits`")),
            (r#"{"edits":[{"old":"a"},{"old":"a","with":"b"}]}"#, Some("with: `old`, `new`")),
            (r#"{"edits":"[]"}"#, None),
            ("[]", None),
        ] {
            let [shown, own, said] = [SHOWN, OWN, input].map(|text| Body::parse(text).unwrap());
            let found = unknown(shown.root(), own.root(), said.root());
            let found = found.map(|Unknown { name, known }| format!("{name}: {known}"));
            assert_eq!(found.as_deref(), expect, "{input}");
        }
    }
}
