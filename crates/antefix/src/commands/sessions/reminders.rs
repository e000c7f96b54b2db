use antefix_models::Tokens;
use antefix_session::conversation::{Conversation, Lane, Reminder};

use crate::out::say;
use crate::screen::one_line;
use crate::stream_json::{Object, SCHEMA_VERSION, array};
use crate::text::grouped;

/// Prints what the model was told of its surroundings in the course of a session, oldest first.
pub(super) fn show(conversation: &Conversation, json: bool) {
    let all = conversation.reminders();
    if json {
        say!("{}", as_json(conversation, &all));
        return;
    }
    let place = conversation.lane().map_or("", |lane| lane.spec().reminders.name());
    say!("session {}  reminders stand in the place {place}", conversation.header().session);
    say!("\n{:>4}  {:<13} {:>6}  {:<11}  which", "turn", "kind", "tokens", "");
    for reminder in &all {
        let (kind, key) = (&reminder.context.kind, one_line(&reminder.context.key, 120));
        let (turn, tokens) = (reminder.turn, grouped(tokens(reminder)));
        say!("{turn:>4}  {:<13} {tokens:>6}  {:<11}  {key}", one_line(kind, 13), standing(reminder));
        for line in text(reminder).lines() {
            say!("      | {}", one_line(line, 400));
        }
    }
    let total = all.iter().map(tokens).sum();
    say!("\n{} reminders, about {} tokens (estimated at 3.5 bytes each)", all.len(), grouped(total));
}

fn as_json(conversation: &Conversation, all: &[Reminder<'_>]) -> String {
    let rows = all.iter().map(|reminder| {
        let mut object = Object::new();
        object.number("record", reminder.record.0).number("turn", reminder.turn);
        object.text("kind", &reminder.context.kind).text("key", &reminder.context.key);
        object.number("tokens_estimated", tokens(reminder)).text("standing", standing(reminder));
        object.raw("state", &String::from_utf8_lossy(&reminder.context.state)).text("text", text(reminder));
        object.close()
    });
    let mut object = Object::new();
    object.number("schema_version", SCHEMA_VERSION).text("session_id", &conversation.header().session);
    if let Some(lane) = conversation.lane().map(Lane::spec) {
        object.text("place", lane.reminders.name());
    }
    object.raw("reminders", &array(rows));
    object.close()
}

/// Whether it is part of what is sent.
fn standing(reminder: &Reminder<'_>) -> &'static str {
    match (reminder.is_current, reminder.message) {
        (false, _) => "left behind",
        (true, Some(_)) => "told",
        (true, None) => "waits",
    }
}

fn text<'a>(reminder: &Reminder<'a>) -> &'a str {
    reminder.context.text.as_deref().unwrap_or_default()
}

fn tokens(reminder: &Reminder<'_>) -> u64 {
    Tokens::of_bytes(text(reminder).len() as u64).0
}
