//! `todo`: the list of what is to be done.

use std::sync::{Mutex, MutexGuard, PoisonError};

use antefix_wire::json::Body;

use crate::context::printable;
use crate::tool::{blocking, built_in};
use crate::{Access, BoxFuture, Context, Definition, Failure, Fields, Output, Tool};

/// `todo`: the list of what is to be done.
///
/// A call says what changes, not the whole list: what is sent stays in the conversation. The result is the list. It is
/// derived from the calls that succeeded, in order, and so is the same after a resume.
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

/// The list of a session.
#[derive(Debug, Default)]
pub struct TodoList {
    items: Mutex<Vec<TodoItem>>,
}

/// A line of the list. Its number, from 1, is its place in the order of adding, and is never given again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TodoItem {
    /// What is to be done.
    pub text: String,
    /// How far it is.
    pub state: TodoState,
}

/// How far a line of the list is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TodoState {
    /// Not begun.
    Open,
    /// Being done.
    Started,
    /// Done.
    Done,
    /// Not to be done any more; not shown.
    Dropped,
}

impl TodoList {
    /// Takes in a call's input, wholly or not at all.
    ///
    /// # Errors
    /// Where the input cannot be understood or names a line that is not there.
    pub fn apply(&self, input: &Body) -> Result<(), Failure> {
        let fields = Fields::new(input)?;
        let mut items = self.lock();
        let mut next = items.clone();
        for text in fields.strings("add", "a list of texts")? {
            next.push(TodoItem { text: checked(&text)?, state: TodoState::Open });
        }
        if next.len() > MOST_ITEMS {
            return Err(Failure::new(format!(
                "the list has {} lines, the most there may be is {MOST_ITEMS}",
                items.len()
            )));
        }
        for (field, state) in
            [("start", TodoState::Started), ("done", TodoState::Done), ("drop", TodoState::Dropped)]
        {
            for number in fields.numbers(field, "a list of line numbers")? {
                let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
                let item = index.and_then(|index| next.get_mut(index));
                let missing = || Failure::new(format!("`{field}` names line {number}, which is not there"));
                item.ok_or_else(missing)?.state = state;
            }
        }
        *items = next;
        Ok(())
    }

    /// The lines, in order of their numbers.
    pub fn items(&self) -> Vec<TodoItem> {
        self.lock().clone()
    }

    /// The list as the model is shown it.
    pub fn text(&self) -> String {
        let line = |(at, item): (usize, &TodoItem)| {
            let sign = match item.state {
                TodoState::Open => ' ',
                TodoState::Started => '>',
                TodoState::Done => 'x',
                TodoState::Dropped => return None,
            };
            Some(format!("{} [{sign}] {}", at + 1, item.text))
        };
        let lines: Vec<_> = self.lock().iter().enumerate().filter_map(line).collect();
        if lines.is_empty() { "[the list is empty]".to_owned() } else { lines.join("\n") }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<TodoItem>> {
        self.items.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn checked(text: &str) -> Result<String, Failure> {
    let text = printable(text.trim());
    match text.len() {
        0 => Err(Failure::new("`add` has an empty text")),
        1..=MOST_TEXT => Ok(text),
        bytes => Err(Failure::new(format!("a text in `add` has {bytes} bytes, the most is {MOST_TEXT}"))),
    }
}

const MOST_ITEMS: usize = 200;

/// Bytes of a line's text.
const MOST_TEXT: usize = 300;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_change_the_list_wholly_or_not_at_all() {
        let list = TodoList::default();
        for (input, expect) in [
            ("{}", "[the list is empty]"),
            (r#"{"add":["read"," write\n"],"start":[1]}"#, "1 [>] read\n2 [ ] write"),
            (r#"{"done":[1],"start":["2"]}"#, "1 [x] read\n2 [>] write"),
            (r#"{"add":["test"],"done":[4]}"#, "error: `done` names line 4, which is not there"),
            (r#"{"drop":[2],"add":["ship"]}"#, "1 [x] read\n3 [ ] ship"),
            (r#"{"add":[" "]}"#, "error: `add` has an empty text"),
            (r#"{"add":"x"}"#, "error: `add` is `\"x\"`: expected a list of texts"),
            (r#"{"start":[0]}"#, "error: `start` is `[0]`: expected a list of line numbers"),
            ("[]", "error: the input must be an object, but is `[]`"),
            ("{}", "1 [x] read\n3 [ ] ship"),
        ] {
            let result = list.apply(&Body::parse(input).unwrap());
            let text = result.map_or_else(|failure| format!("error: {failure}"), |()| list.text());
            assert_eq!(text, expect, "{input}");
        }
        let many = format!(r#"{{"add":[{}]}}"#, vec!["\"x\""; MOST_ITEMS].join(","));
        let error = list.apply(&Body::parse(many).unwrap()).unwrap_err();
        assert_eq!(error.0, "the list has 3 lines, the most there may be is 200");
    }
}
