use antefix_models::Tokens;
use antefix_session::conversation::{Conversation, Lane, Message, Reminder, ToolChange};
use antefix_session::record::RecordId;

use crate::out::{prose, say};
use crate::screen::one_line;
use crate::stream_json::{Object, SCHEMA_VERSION, array};
use crate::table::Table;
use crate::text::grouped;

/// Prints what the model was told of its surroundings in the course of a session, oldest first.
pub(super) fn show(conversation: &Conversation, json: bool) {
    let reminders = conversation.reminders();
    let mut all: Vec<Told> = reminders.iter().map(Told::of).collect();
    all.extend(conversation.path().filter_map(Told::of_changes));
    all.sort_by_key(|told| told.record);
    if json {
        say!("{}", as_json(conversation, &all));
        return;
    }
    let place = conversation.lane().map_or("", |lane| lane.spec().reminders.name());
    prose!("session {}  reminders stand in the place {place}", conversation.header().session);
    say!();
    if all.is_empty() {
        return say!("no reminder: nothing has changed around the session that the model was to be told");
    }
    let mut table = Table::new(&[">turn", "kind", ">tokens", "standing", "which"]);
    for told in &all {
        table.line([
            told.turn.to_string(),
            one_line(&told.kind, 24),
            grouped(told.tokens()),
            told.standing.to_owned(),
            one_line(&told.key, 120),
        ]);
        for line in told.text.lines() {
            table.text(format!("      | {}", one_line(line, 400)));
        }
    }
    table.print();
    let total = all.iter().map(Told::tokens).sum();
    let reminders = if all.len() == 1 { "reminder" } else { "reminders" };
    say!();
    prose!("{} {reminders}, about {} tokens (estimated at 3.5 bytes a token)", all.len(), grouped(total));
}

/// Something that the model was told.
struct Told {
    record: RecordId,
    turn: u64,
    kind: String,
    key: String,
    state: String,
    text: String,
    /// Whether it is part of what is sent.
    standing: &'static str,
    bytes: u64,
}

impl Told {
    fn of(reminder: &Reminder<'_>) -> Self {
        let text = reminder.context.text.clone().unwrap_or_default();
        Self {
            record: reminder.record,
            turn: reminder.turn,
            kind: reminder.context.kind.clone(),
            key: reminder.context.key.clone(),
            state: String::from_utf8_lossy(&reminder.context.state).into_owned(),
            bytes: text.len() as u64,
            text,
            standing: match (reminder.is_current, reminder.message) {
                (false, _) => "left behind",
                (true, Some(_)) => "told",
                (true, None) => "waits",
            },
        }
    }

    /// Tools that a message has offered and withdrawn; what a result shows is no reminder.
    fn of_changes(message: &Message) -> Option<Self> {
        if message.is_user() || message.tool_changes().is_empty() {
            return None;
        }
        let said = message.tool_changes().iter().map(|change| match change {
            ToolChange::Offered(name) => (format!("`{name}` is offered"), name.len()),
            ToolChange::Withdrawn(name) => (format!("`{name}` is withdrawn"), name.len()),
        });
        let (texts, names): (Vec<String>, Vec<usize>) = said.unzip();
        Some(Self {
            record: message.record(),
            turn: message.turn(),
            kind: "tools".to_owned(),
            key: String::new(),
            state: "null".to_owned(),
            bytes: names.iter().map(|length| (length + CHANGE) as u64).sum(),
            text: texts.join("\n"),
            standing: "told",
        })
    }

    fn tokens(&self) -> u64 {
        Tokens::of_bytes(self.bytes).0
    }
}

fn as_json(conversation: &Conversation, all: &[Told]) -> String {
    let rows = all.iter().map(|told| {
        let mut object = Object::new();
        object.number("record", told.record.0).number("turn", told.turn);
        object.text("kind", &told.kind).text("key", &told.key);
        object.number("tokens_estimated", told.tokens()).text("standing", told.standing);
        object.raw("state", &told.state).text("text", &told.text);
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

/// Bytes of a block that offers or withdraws a tool, without its name.
const CHANGE: usize = r#"{"type":"tool_addition","tool":{"type":"tool_reference","name":""}}"#.len();
