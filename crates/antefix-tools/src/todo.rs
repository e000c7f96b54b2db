//! `todo`: the list of what is to be done.

mod list;

use antefix_wire::json::Body;

use crate::tool::{blocking, built_in};
use crate::{Access, BoxFuture, Context, Definition, Output, Tool};

pub use list::{TodoItem, TodoLine, TodoList, TodoListError, TodoState};

/// `todo`: the list of what is to be done.
///
/// A call says what changes, not the whole list: what is sent stays in the conversation. The result is the list. It is
/// derived from the calls that succeeded, and from what the user has made of it, in order, and so is the same after a
/// resume.
#[derive(Debug)]
pub struct Todo {
    definition: Definition,
}

impl Todo {
    /// Makes the tool.
    pub fn new() -> Self {
        Self { definition: built_in("todo", DESCRIPTION, SCHEMA) }
    }
}

impl Default for Todo {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for Todo {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn access(&self, _: &Context, _: &Body) -> Access {
        Access::Session("todo")
    }

    fn call<'a>(&'a self, context: &'a Context, input: Body) -> BoxFuture<'a, Output> {
        blocking(context, input, |context, input| {
            context.todo.apply(input)?;
            Ok(Output::text(context.todo.text()))
        })
    }
}

const DESCRIPTION: &str = "Keeps a list of what is to be done, for work of several steps. Say only what changes: each \
line has a number, in the order of adding, from 1. The result is the whole list: [ ] open, [>] started, [x] done. An \
empty input shows it.";

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "add": {"type": "array", "items": {"type": "string"}, "description": "Lines to add at the end"},
        "start": {"type": "array", "items": {"type": "integer", "minimum": 1}, "description": "Numbers of lines that are begun now"},
        "done": {"type": "array", "items": {"type": "integer", "minimum": 1}, "description": "Numbers of lines that are done"},
        "drop": {"type": "array", "items": {"type": "integer", "minimum": 1}, "description": "Numbers of lines that are not to be done any more"}
    }
}"#;
