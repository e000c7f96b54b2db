use antefix_runtime::driver::todo_list;
use antefix_session::conversation::Conversation;
use antefix_tools::TodoItem;

use crate::out::say;
use crate::stream_json::{Object, SCHEMA_VERSION, array};

/// Prints the list of what is to be done, in the form that `antefix run --todo` reads.
pub(super) fn show(conversation: &Conversation, json: bool) {
    let list = todo_list(conversation);
    if !json {
        say!("{}", list.text());
        return;
    }
    let mut object = Object::new();
    object.number("schema_version", SCHEMA_VERSION).text("session_id", &conversation.header().session);
    object.raw("items", &array(list.items().iter().map(item)));
    say!("{}", object.close());
}

fn item(item: &TodoItem) -> String {
    let mut object = Object::new();
    object.number("number", item.number).text("state", item.state.name()).text("text", &item.text);
    object.close()
}
