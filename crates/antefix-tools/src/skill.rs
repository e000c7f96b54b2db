//! `skill`: the text of a skill.

use std::sync::Arc;

use antefix_wire::json::Body;

use crate::executor::LOST;
use crate::tool::built_in;
use crate::{Access, BoxFuture, Context, Definition, Failure, Fields, Output, Tool};

/// Where skills are kept. This crate knows none of the folders they may lie in.
pub trait Shelf: Send + Sync + 'static {
    /// The text of a skill as it is now, with the arguments put in; read from files, so it may take a moment.
    ///
    /// # Errors
    /// [`Failure`] in words for the model: there is no such skill, or it is only for the user to call.
    fn take(&self, name: &str, arguments: Option<&str>) -> Result<String, Failure>;
}

/// `skill`: gives the text of a skill as a result, so that it stands at the end of the conversation and changes nothing
/// in front of it.
pub struct Skill {
    definition: Definition,
    shelf: Arc<dyn Shelf>,
}

impl Skill {
    /// Name of the tool.
    pub const NAME: &'static str = "skill";

    /// Makes the tool.
    pub fn new(shelf: Arc<dyn Shelf>) -> Self {
        Self { definition: built_in(Self::NAME, DESCRIPTION, SCHEMA), shelf }
    }
}

impl Tool for Skill {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn access(&self, _: &Context, _: &Body) -> Access {
        Access::Session(Self::NAME)
    }

    fn call<'a>(&'a self, _: &'a Context, input: Body) -> BoxFuture<'a, Output> {
        let shelf = Arc::clone(&self.shelf);
        Box::pin(async move {
            let taken = tokio::task::spawn_blocking(move || take(shelf.as_ref(), &input)).await;
            taken.unwrap_or_else(|_| Err(Failure::new(LOST))).into()
        })
    }
}

impl std::fmt::Debug for Skill {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Skill").finish_non_exhaustive()
    }
}

fn take(shelf: &dyn Shelf, input: &Body) -> Result<Output, Failure> {
    let fields = Fields::new(input)?;
    let name = fields.string("name", "the name of a skill")?;
    let arguments = fields.optional_string("arguments", "what the skill is to be used on")?;
    shelf.take(name.trim(), arguments.as_deref()).map(Output::text)
}

const DESCRIPTION: &str = "Gives the text of a skill: instructions for one kind of work, written by the user or for \
    this project. Which skills there are is said at the start of the session, and what changes is said later. Call it \
    before work that a skill's description fits, and then do as its text says. The text stays in the conversation: a \
    second call is only of use after the skill has changed.";

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "The skill"},
        "arguments": {"type": "string", "description": "What it is to be used on, if the skill takes that"}
    },
    "required": ["name"],
    "additionalProperties": false
}"#;

#[cfg(test)]
mod tests {
    use super::*;

    struct One;

    impl Shelf for One {
        fn take(&self, name: &str, arguments: Option<&str>) -> Result<String, Failure> {
            match name {
                "one" => Ok(format!("text for {arguments:?}")),
                _ => Err(Failure::new("there is no such skill")),
            }
        }
    }

    #[tokio::test]
    async fn the_text_comes_as_a_result() {
        let (tool, context) = (Skill::new(Arc::new(One)), Context::new("/w", "/s"));
        for (input, expect) in [
            (r#"{"name":"one"}"#, Output::text("text for None")),
            (r#"{"name":" one ","arguments":"a b"}"#, Output::text("text for Some(\"a b\")")),
            (r#"{"name":"two"}"#, Output::error("there is no such skill")),
            (r"{}", Output::error("`name` is missing: expected the name of a skill as a string")),
        ] {
            assert_eq!(tool.call(&context, Body::parse(input).unwrap()).await, expect, "{input}");
        }
    }

    #[test]
    fn the_definition_is_frozen() {
        let tool = Skill::new(Arc::new(One));
        let digest = blake3::hash(tool.definition().json().as_bytes()).to_hex();
        assert_eq!(&digest[..16], "24b971943af170be", "a changed byte costs every new session its cache");
    }
}
