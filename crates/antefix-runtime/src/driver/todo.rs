//! The list of what is to be done, from the conversation on record.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use antefix_session::conversation::{Call, Conversation, Message};
use antefix_session::record::{ContextRecord, Origin, RecordId, ResultRecord};
use antefix_tools::{TodoItem, TodoList};

use super::recall::{input_of, text_of};
use crate::context::{TODO, TodoStand, todo_items};

/// The list as it stands: what the model's calls and the user have made of it, what a summary stands for included.
pub fn todo_list(conversation: &Conversation) -> TodoList {
    let calls = calls_of(conversation);
    let list = TodoList::default();
    for change in changes(conversation, &calls).into_values() {
        match change {
            Change::Call(result) => {
                let input = input_of(conversation, &calls, &result.call);
                list.follow(input.as_ref(), &text_of(&result.fragment).unwrap_or_default());
            }
            Change::User(items) => list.set(items),
        }
    }
    list
}

/// How a list stands that is the conversation's, but for a change that is not on record yet.
pub(super) fn stand(conversation: &Conversation, list: &Arc<TodoList>) -> TodoStand {
    if list.changes() == 0 && list.items().is_empty() {
        // Most sessions have none, and their steps need not be counted.
        return TodoStand { list: Arc::clone(list), since: RecordId::default(), steps: 0 };
    }
    let changes = changes(conversation, &calls_of(conversation));
    let since = changes.keys().next_back().copied().unwrap_or_default();
    let is_on_record = list.changes() == changes.len() as u64;
    let history = conversation.history();
    let replies =
        history.iter().filter(|message| message.origin() == Origin::Assistant && message.record() > since);
    let replies: BTreeSet<RecordId> = replies.map(|message| message.record()).collect();
    let steps = if is_on_record { replies.len() as u64 } else { 0 };
    TodoStand { list: Arc::clone(list), since, steps }
}

/// Whether one of the records changes the list.
pub(super) fn changes_list(records: &[ContextRecord]) -> bool {
    records.iter().any(|record| items(record).is_some())
}

enum Change<'a> {
    Call(&'a ResultRecord),
    User(Vec<TodoItem>),
}

/// What has changed the list, in order.
fn changes<'a>(
    conversation: &'a Conversation,
    calls: &BTreeMap<&str, &Call>,
) -> BTreeMap<RecordId, Change<'a>> {
    let results = conversation.results().iter();
    // A tool of that name that is not ours says nothing: its input is not understood.
    let live = results.filter(|(_, result)| calls.contains_key(result.call.as_str()));
    let live = live.filter(|(_, result)| result.tool == TODO && !result.is_error);
    let mut changes: BTreeMap<_, _> = live.map(|(id, result)| (*id, Change::Call(result))).collect();
    let observed = conversation.observed_of(TODO).into_iter();
    changes.extend(observed.filter_map(|(id, record)| Some((id, Change::User(items(record)?)))));
    changes
}

fn items(record: &ContextRecord) -> Option<Vec<TodoItem>> {
    if record.kind == TODO { todo_items(&record.key, &record.state) } else { None }
}

fn calls_of(conversation: &Conversation) -> BTreeMap<&str, &Call> {
    let calls = conversation.history().into_iter().flat_map(Message::calls);
    calls.map(|call| (call.id.as_str(), call)).collect()
}
