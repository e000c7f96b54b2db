use std::sync::{Mutex, MutexGuard, PoisonError};

use antefix_wire::json::Body;

use crate::context::printable;
use crate::{Failure, Fields};

/// The list of a session.
#[derive(Debug, Default)]
pub struct TodoList {
    kept: Mutex<Kept>,
}

/// An item of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TodoItem {
    /// Its number, from 1 in the order of adding; never given again.
    pub number: u64,
    /// What is to be done.
    pub text: String,
    /// How far it is.
    pub state: TodoState,
}

/// How far an item is.
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

/// A line of a list as it is shown, `2 [x] text`, or as somebody has written it: a new one needs no number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TodoLine {
    /// The item that it shows; `None` for a new one.
    pub number: Option<u64>,
    /// What is to be done.
    pub text: String,
    /// How far it is.
    pub state: TodoState,
}

/// A text is no list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TodoListError {
    /// A line cannot be understood.
    #[error(
        "line {0} is `{1}`: expected `NUMBER [ ] TEXT`, with `[>]` for what is begun and `[x]` for what is done, or `[ ] TEXT` for what is new"
    )]
    Form(usize, String),
    /// Two lines have the same number.
    #[error("line {0} has the number {1}, as a line above it has")]
    Twice(usize, u64),
    /// A text is too long.
    #[error("line {0} has a text of {1} bytes, the most is {MOST_TEXT}")]
    Long(usize, usize),
    /// There are too many lines.
    #[error("the list has more than {MOST_ITEMS} lines")]
    Many,
}

impl TodoList {
    /// Takes in a call's input, wholly or not at all.
    ///
    /// # Errors
    /// Where the input cannot be understood or names a line that is not there.
    pub fn apply(&self, input: &Body) -> Result<(), Failure> {
        let mut kept = self.lock();
        kept.items = changed(&kept.items, input)?;
        kept.changes += 1;
        Ok(())
    }

    /// Takes in a call of an earlier process, with the result that the model was shown. What it was shown holds: a
    /// build whose tool took other inputs may have made the call.
    pub fn follow(&self, input: Option<&Body>, shown: &str) {
        let mut kept = self.lock();
        kept.changes += 1;
        if let Some(items) = input.and_then(|input| changed(&kept.items, input).ok()) {
            kept.items = items;
        }
        if TodoItem::text_of(&kept.items) != shown
            && let Ok(lines) = TodoLine::read(shown)
        {
            kept.items = edited(&kept.items, &lines);
        }
    }

    /// Puts other items in the place of all.
    pub fn set(&self, items: Vec<TodoItem>) {
        let mut kept = self.lock();
        kept.items = items;
        kept.changes += 1;
    }

    /// Takes over another list.
    pub fn take_over(&self, other: &Self) {
        let other = other.lock().clone();
        *self.lock() = other;
    }

    /// The items as somebody wants to have them: in the order of these lines, those without a line dropped, and lines of
    /// no item added.
    pub fn edited(&self, lines: &[TodoLine]) -> Vec<TodoItem> {
        edited(&self.lock().items, lines)
    }

    /// The items, in the order in which they are shown.
    pub fn items(&self) -> Vec<TodoItem> {
        self.lock().items.clone()
    }

    /// How often the list was changed, or looked at.
    pub fn changes(&self) -> u64 {
        self.lock().changes
    }

    /// The list as the model is shown it.
    pub fn text(&self) -> String {
        TodoItem::text_of(&self.lock().items)
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TodoItem {
    /// The items as the model is shown them.
    pub fn text_of(items: &[Self]) -> String {
        let shown = items.iter().filter(|item| item.state != TodoState::Dropped);
        let lines: Vec<_> =
            shown.map(|item| format!("{} [{}] {}", item.number, item.state.sign(), item.text)).collect();
        if lines.is_empty() { EMPTY.to_owned() } else { lines.join("\n") }
    }
}

impl TodoState {
    /// All, with the sign of each in a line and its name on record.
    const ALL: [(Self, char, &'static str); 4] = [
        (Self::Open, ' ', "open"),
        (Self::Started, '>', "started"),
        (Self::Done, 'x', "done"),
        (Self::Dropped, '-', "dropped"),
    ];

    /// Its name on record.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(state, ..)| *state == self).map_or("", |(.., name)| name)
    }

    /// The state of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(.., known)| *known == name).map(|(state, ..)| *state)
    }

    fn sign(self) -> char {
        Self::ALL.iter().find(|(state, ..)| *state == self).map_or(' ', |(_, sign, _)| *sign)
    }

    fn from_sign(sign: char) -> Option<Self> {
        Self::ALL.iter().find(|(_, known, _)| *known == sign.to_ascii_lowercase()).map(|(state, ..)| *state)
    }
}

impl TodoLine {
    /// Reads a list; empty lines and lines that begin with `#` say nothing.
    ///
    /// # Errors
    /// [`TodoListError`] for the first line that is none, or if there are too many.
    pub fn read(text: &str) -> Result<Vec<Self>, TodoListError> {
        let mut lines: Vec<Self> = Vec::new();
        for (at, line) in text.lines().map(str::trim).enumerate() {
            if line.is_empty() || line.starts_with('#') || line == EMPTY {
                continue;
            }
            let line = Self::parse(line).ok_or_else(|| TodoListError::Form(at + 1, line.to_owned()))?;
            if line.text.len() > MOST_TEXT {
                return Err(TodoListError::Long(at + 1, line.text.len()));
            }
            if let Some(number) = line.number
                && lines.iter().any(|other| other.number == Some(number))
            {
                return Err(TodoListError::Twice(at + 1, number));
            }
            lines.push(line);
        }
        if lines.len() > MOST_ITEMS { Err(TodoListError::Many) } else { Ok(lines) }
    }

    fn parse(line: &str) -> Option<Self> {
        let (front, rest) = line.split_once('[')?;
        let number = match front.trim().trim_end_matches('.') {
            "" | "-" | "*" => None,
            number => Some(number.parse().ok().filter(|number| *number > 0)?),
        };
        let mut rest = rest.chars();
        let state = TodoState::from_sign(rest.next()?)?;
        let text = printable(rest.as_str().strip_prefix(']')?.trim());
        (!text.is_empty()).then_some(Self { number, text, state })
    }
}

/// The items, and how often they were changed.
#[derive(Clone, Debug, Default)]
struct Kept {
    items: Vec<TodoItem>,
    changes: u64,
}

fn changed(items: &[TodoItem], input: &Body) -> Result<Vec<TodoItem>, Failure> {
    let fields = Fields::new(input)?;
    let mut next = items.to_vec();
    for text in fields.strings("add", "a list of texts")? {
        let (number, text) = (next_number(&next), checked(&text)?);
        next.push(TodoItem { number, text, state: TodoState::Open });
    }
    if next.len() > MOST_ITEMS {
        let lines = items.len();
        return Err(Failure::new(format!(
            "the list has {lines} lines, the most there may be is {MOST_ITEMS}"
        )));
    }
    for (field, state) in
        [("start", TodoState::Started), ("done", TodoState::Done), ("drop", TodoState::Dropped)]
    {
        for number in fields.numbers(field, "a list of line numbers")? {
            let item = next.iter_mut().find(|item| item.number == number);
            let missing = || Failure::new(format!("`{field}` names line {number}, which is not there"));
            item.ok_or_else(missing)?.state = state;
        }
    }
    Ok(next)
}

fn edited(items: &[TodoItem], lines: &[TodoLine]) -> Vec<TodoItem> {
    let is_known = |number: u64| items.iter().any(|item| item.number == number);
    let mut next: Vec<TodoItem> = Vec::new();
    let mut fresh = next_number(items);
    for TodoLine { number, text, state } in lines.iter().cloned() {
        let is_free = |item: &&TodoItem| {
            let is_it = |number: u64| number == item.number;
            !lines.iter().filter_map(|line| line.number).any(is_it)
                && !next.iter().any(|item| is_it(item.number))
        };
        // The same lines come to the same items, however often they are taken in.
        let same = || items.iter().filter(is_free).find(|item| item.text == text).map(|item| item.number);
        let number = number.filter(|number| is_known(*number)).or_else(same).unwrap_or_else(|| {
            fresh += 1;
            fresh - 1
        });
        next.push(TodoItem { number, text, state });
    }
    let is_left = |item: &&TodoItem| next.iter().all(|other| other.number != item.number);
    let left: Vec<&TodoItem> = items.iter().filter(is_left).collect();
    next.extend(left.into_iter().map(|item| TodoItem { state: TodoState::Dropped, ..item.clone() }));
    next
}

fn next_number(items: &[TodoItem]) -> u64 {
    items.iter().map(|item| item.number).max().unwrap_or(0) + 1
}

fn checked(text: &str) -> Result<String, Failure> {
    let text = printable(text.trim());
    match text.len() {
        0 => Err(Failure::new("`add` has an empty text")),
        1..=MOST_TEXT => Ok(text),
        bytes => Err(Failure::new(format!("a text in `add` has {bytes} bytes, the most is {MOST_TEXT}"))),
    }
}

/// What stands for a list without lines.
const EMPTY: &str = "[the list is empty]";

const MOST_ITEMS: usize = 200;

/// Bytes of a line's text.
const MOST_TEXT: usize = 300;

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

    #[test]
    fn a_list_is_what_its_lines_say() {
        let list = TodoList::default();
        list.apply(&Body::parse(r#"{"add":["read","write","test"],"start":[1]}"#).unwrap()).unwrap();
        for (lines, expect) in [
            ("1 [>] read\n2 [ ] write\n3 [ ] test\n", "1 [>] read\n2 [ ] write\n3 [ ] test"),
            ("# mine\n\n3 [ ] test\n1 [x] read\n", "3 [ ] test\n1 [x] read"),
            ("- [ ] ship\n2 [X] write it\n[>] shout", "4 [ ] ship\n2 [x] write it\n5 [>] shout"),
            ("9 [ ] far", "4 [ ] far"),
            ("[ ] test\n[ ] test\n1 [>] read", "3 [ ] test\n4 [ ] test\n1 [>] read"),
            ("2. [-] write", "[the list is empty]"),
            ("[the list is empty]", "[the list is empty]"),
            (
                "buy milk",
                "error: line 1 is `buy milk`: expected `NUMBER [ ] TEXT`, with `[>]` for what is begun and `[x]` for what is done, or `[ ] TEXT` for what is new",
            ),
            ("1 [ ] a\n1 [ ] b", "error: line 2 has the number 1, as a line above it has"),
        ] {
            let items = TodoLine::read(lines).map(|lines| list.edited(&lines));
            let text =
                items.map_or_else(|error| format!("error: {error}"), |items| TodoItem::text_of(&items));
            assert_eq!(text, expect, "{lines}");
        }
        assert_eq!(TodoLine::read(&"[ ] x\n".repeat(201)), Err(TodoListError::Many));
        assert_eq!(TodoLine::read(&format!("[ ] {}", "x".repeat(301))), Err(TodoListError::Long(1, 301)));
    }

    /// A build whose `drop` had another name left a call in a transcript: what the model was shown then is what the list
    /// is now, and what comes behind it is understood.
    #[test]
    fn what_the_model_was_shown_holds() {
        let list = TodoList::default();
        for (input, shown) in [
            (r#"{"add":["read","write","test"]}"#, "1 [ ] read\n2 [ ] write\n3 [ ] test"),
            (r#"{"strike":[2]}"#, "1 [ ] read\n3 [ ] test"),
            (r#"{"add":["ship"],"done":[1]}"#, "1 [x] read\n3 [ ] test\n4 [ ] ship"),
        ] {
            list.follow(Some(&Body::parse(input).unwrap()), shown);
            assert_eq!(list.text(), shown, "{input}");
        }
        list.follow(Some(&Body::parse(r#"{"done":[3]}"#).unwrap()), "The list is changed.");
        assert_eq!((list.text().as_str(), list.changes()), ("1 [x] read\n3 [x] test\n4 [ ] ship", 4));
    }
}
