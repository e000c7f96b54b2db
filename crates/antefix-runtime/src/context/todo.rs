use std::sync::Arc;

use antefix_session::record::RecordId;
use antefix_tools::{TodoItem, TodoLine, TodoList, TodoState};
use antefix_wire::json::{Body, Node, write_string};
use bytes::Bytes;

use super::{Moment, Sighting, Source, Surroundings, Unavailable};

/// The list of what is to be done. The model has written it itself and is shown it with each of its changes; so it is
/// told only where the user has changed the list, and, once until the next change, where the list has items left and
/// nothing of it was touched for many steps.
#[derive(Debug, Default)]
pub struct Todo {
    wanted: Option<Vec<TodoLine>>,
    /// The last change of the list when this was first looked at: what the user wants is of then.
    since: Option<RecordId>,
}

/// How the list stands in a conversation.
#[derive(Clone, Debug)]
pub struct TodoStand {
    /// The list.
    pub list: Arc<TodoList>,
    /// The record of its last change, or look at it; nought if there is none.
    pub since: RecordId,
    /// Replies of the model since then.
    pub steps: u64,
}

impl Todo {
    /// With the list as the user wants to have it, if so.
    pub fn new(wanted: Option<Vec<TodoLine>>) -> Self {
        Self { wanted, since: None }
    }

    /// The list as the user wants it, as long as nothing has come of it yet.
    fn changed(&mut self, stand: &TodoStand) -> Option<Sighting> {
        let since = *self.since.get_or_insert(stand.since);
        let items = stand.list.edited(self.wanted.as_ref()?);
        let is_due = since == stand.since && items != stand.list.items();
        is_due.then(|| Sighting::new(LIST, written(since, &items)).with_detail(TodoItem::text_of(&items)))
    }
}

impl Source for Todo {
    fn kind(&self) -> &'static str {
        KIND
    }

    fn observe(&mut self, around: &Surroundings) -> Result<Vec<Sighting>, Unavailable> {
        // The head of a new session says nothing of a list.
        let Some(stand) = &around.todo else { return Ok(Vec::new()) };
        if let Some(changed) = self.changed(stand) {
            return Ok(vec![changed]);
        }
        let is_left = |item: &TodoItem| matches!(item.state, TodoState::Open | TodoState::Started);
        if stand.steps < MOST_STEPS || !stand.list.items().iter().any(is_left) {
            return Ok(Vec::new());
        }
        let state = format!("{{\"since\":{}}}", stand.since.0);
        Ok(vec![Sighting::new(UNTOUCHED, state).with_detail(stand.list.text())])
    }

    fn drift(&self, _: &[u8], now: &Sighting) -> Option<String> {
        let list = &now.detail;
        Some(match now.key.as_str() {
            LIST => format!(
                "The user has changed the list of what is to be done. It is now, in this order:\n{list}"
            ),
            _ => format!(
                "Nothing of the list of what is to be done was touched for {MOST_STEPS} steps, and it has items left. If it \
                 is not true any more, bring it up to date:\n{list}"
            ),
        })
    }

    fn speaks_for(&self, _: &str) -> bool {
        false
    }

    fn moment(&self) -> Moment {
        Moment::Calls
    }

    fn is_instant(&self) -> bool {
        true
    }

    fn cap(&self) -> usize {
        4 * 1024
    }
}

/// The items that a state of the list holds, where it is that of a change by the user.
pub(crate) fn items_of(key: &str, state: &[u8]) -> Option<Vec<TodoItem>> {
    if key != LIST {
        return None;
    }
    let body = Body::parse(state.to_vec()).ok()?;
    let item = |node: Node<'_>| {
        Some(TodoItem {
            number: node.get("number")?.u64()?,
            text: node.get("text")?.str()?.into_owned(),
            state: TodoState::from_name(&node.get("state")?.str()?)?,
        })
    };
    body.root().get("items")?.items().map(item).collect()
}

fn written(since: RecordId, items: &[TodoItem]) -> Bytes {
    let mut out = format!("{{\"since\":{},\"items\":[", since.0).into_bytes();
    for (at, item) in items.iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        let (number, state) = (item.number, item.state.name());
        out.extend_from_slice(
            format!("{comma}{{\"number\":{number},\"state\":\"{state}\",\"text\":").as_bytes(),
        );
        write_string(&mut out, &item.text);
        out.push(b'}');
    }
    out.extend_from_slice(b"]}");
    out.into()
}

/// Its kind, and the name of the tool.
pub(crate) const KIND: &str = "todo";

/// What the user has made of the list.
const LIST: &str = "list";

/// That it was not touched.
const UNTOUCHED: &str = "untouched";

/// Replies of the model without a change of the list, from which on it is told.
const MOST_STEPS: u64 = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::watcher::tests::{around, at};

    const OPEN: &str = r#"{"add":["read","write"],"done":[1]}"#;
    const DONE: &str = r#"{"add":["read"],"done":[1]}"#;

    fn stand(input: &str, since: u64, steps: u64) -> Surroundings {
        let list = TodoList::default();
        list.apply(&Body::parse(input).unwrap()).unwrap();
        let todo = Some(TodoStand { list: Arc::new(list), since: RecordId(since), steps });
        Surroundings { todo, ..around("/w", at("2026-11-30T12:00:00Z")) }
    }

    fn told(source: &mut Todo, around: &Surroundings) -> Option<(String, String)> {
        let seen = source.observe(around).unwrap().pop()?;
        Some((String::from_utf8(seen.state.to_vec()).unwrap(), source.drift(b"null", &seen).unwrap()))
    }

    #[test]
    fn an_untouched_list_is_told_as_one_state_until_it_changes() {
        let text = "Nothing of the list of what is to be done was touched for 20 steps, and it has items left. If it is not \
                    true any more, bring it up to date:\n1 [x] read\n2 [ ] write";
        let state = |since: u64| Some((format!("{{\"since\":{since}}}"), text.to_owned()));
        for (input, since, steps, expect) in [
            (OPEN, 7, 0, None),
            (OPEN, 7, 19, None),
            (OPEN, 7, 20, state(7)),
            (OPEN, 7, 90, state(7)),
            (OPEN, 99, 19, None),
            (OPEN, 99, 20, state(99)),
            (DONE, 7, 90, None),
            ("{}", 7, 90, None),
        ] {
            assert_eq!(
                told(&mut Todo::default(), &stand(input, since, steps)),
                expect,
                "{input} {since} {steps}"
            );
        }
        let head = around("/w", at("2026-11-30T12:00:00Z"));
        assert_eq!(told(&mut Todo::default(), &head), None);
    }

    #[test]
    fn what_the_user_has_made_of_the_list_is_told_until_something_came_of_it() {
        let mut source = Todo::new(Some(TodoLine::read("2 [>] write\n[ ] \"ship\"").unwrap()));
        let state = r#"{"since":7,"items":[{"number":2,"state":"started","text":"write"},{"number":3,"state":"open","text":"\"ship\""},{"number":1,"state":"dropped","text":"read"}]}"#;
        let text = "The user has changed the list of what is to be done. It is now, in this order:\n2 [>] write\n3 [ ] \"ship\"";
        let expect = Some((state.to_owned(), text.to_owned()));
        // A look that comes to nothing loses nothing.
        assert_eq!(told(&mut source, &stand(OPEN, 7, 0)), expect);
        assert_eq!(told(&mut source, &stand(OPEN, 7, 0)), expect);
        let items = items_of(LIST, state.as_bytes()).unwrap();
        assert_eq!(TodoItem::text_of(&items), "2 [>] write\n3 [ ] \"ship\"");
        assert_eq!(written(RecordId(7), &items), state.as_bytes());
        assert_eq!(items_of(UNTOUCHED, b"{\"since\":7}"), None);
        // It is on record, and the model has gone on from there.
        assert_eq!(told(&mut source, &stand(OPEN, 9, 0)), None);
        let mut same = Todo::new(Some(TodoLine::read("1 [x] read\n2 [ ] write").unwrap()));
        assert_eq!(told(&mut same, &stand(OPEN, 7, 0)), None);
    }
}
