//! What is around the model: observed, put on record, and told with the next message of the user's side.

use antefix_wire::json::{Body, compact};
use bytes::Bytes;

use super::calls::deep;
use super::{Session, SessionError, Step};
use crate::closure::text_block;
use crate::conversation::{Lane, ToolChange};
use crate::event::SessionEvent;
use crate::placement::Placement;
use crate::record::{ContextRecord, MessageContent, MessageRecord, Millis, Origin, Record, RecordId};
use crate::reminder::{neutral, tagged};

impl Session {
    /// Takes up what has changed while the turn runs.
    pub(super) fn note(
        &mut self,
        step: &mut Step,
        context: Vec<ContextRecord>,
        now: Millis,
    ) -> Result<(), SessionError> {
        if self.is_idle() {
            return Err(SessionError::Unexpected("note"));
        }
        let context = frozen_context(context)?;
        self.observe(step, context, now)
    }

    pub(super) fn observe(
        &mut self,
        step: &mut Step,
        context: Vec<ContextRecord>,
        now: Millis,
    ) -> Result<(), SessionError> {
        context.into_iter().try_for_each(|context| self.record(step, Record::Context(context), now))
    }

    /// Records a message of the user's side: results that wait, what is said behind them, and what the model is to be
    /// told of its surroundings.
    pub(super) fn say(
        &mut self,
        step: &mut Step,
        origin: Origin,
        results: Vec<RecordId>,
        blocks: Vec<Bytes>,
        now: Millis,
    ) -> Result<(), SessionError> {
        let lane = self.conversation.lane().map(Lane::spec).ok_or(SessionError::NoLane)?;
        let (dialect, is_apart) = (lane.dialect, lane.reminders.is_apart());
        let waits: Vec<(RecordId, ContextRecord)> =
            self.conversation.unsaid().into_iter().map(|(id, context)| (id, context.clone())).collect();
        let says: Vec<RecordId> = waits.iter().map(|(id, _)| *id).collect();
        let changes = self.conversation.due_tool_changes();
        let is_something = !waits.is_empty() || !changes.is_empty();
        let apart = (is_apart && is_something).then(|| dialect.reminder(lane, &texts(&waits), &changes));
        let notes = if is_apart { Vec::new() } else { notes(&waits) };
        let is_inside = blocks.is_empty() && lane.reminders == Placement::InText;
        let content = match results.is_empty() {
            true => MessageContent::Fragment(dialect.user_message(&[blocks, notes].concat())),
            false if is_inside => MessageContent::Results { results, inside: notes, blocks },
            false => {
                MessageContent::Results { results, inside: Vec::new(), blocks: [blocks, notes].concat() }
            }
        };
        let said = if is_apart { Vec::new() } else { says.clone() };
        self.record(step, Record::Message(MessageRecord { origin, content, says: said }), now)?;
        if let Some(fragment) = apart {
            let content = MessageContent::Fragment(fragment);
            self.record(
                step,
                Record::Message(MessageRecord { origin: Origin::Reminder, content, says }),
                now,
            )?;
        }
        for (_, ContextRecord { kind, key, text, .. }) in waits {
            step.emit_later(SessionEvent::Reminder { kind, key, text: text.unwrap_or_default() });
        }
        show_changes(step, &changes);
        Ok(())
    }

    /// Offers and withdraws what a new head has left otherwise, where the next request goes on behind it: nothing more
    /// is said before.
    pub(super) fn offer_anew(&mut self, step: &mut Step, now: Millis) -> Result<(), SessionError> {
        let changes = self.conversation.due_tool_changes();
        if changes.is_empty() {
            return Ok(());
        }
        let lane = self.conversation.lane().map(Lane::spec).ok_or(SessionError::NoLane)?;
        let content = MessageContent::Fragment(lane.dialect.reminder(lane, &[], &changes));
        self.message(step, Origin::Reminder, content, now)?;
        show_changes(step, &changes);
        Ok(())
    }
}

fn show_changes(step: &mut Step, changes: &[ToolChange]) {
    let listed = |is_meant: fn(&ToolChange) -> Option<&String>| {
        let names: Vec<String> =
            changes.iter().filter_map(is_meant).map(|name| format!("`{name}`")).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let offered = listed(|change| if let ToolChange::Offered(name) = change { Some(name) } else { None });
    let withdrawn = listed(|change| if let ToolChange::Withdrawn(name) = change { Some(name) } else { None });
    let offered = offered.map(|names| format!("It may call {names}."));
    let withdrawn = withdrawn.map(|names| format!("It may not call {names} any more."));
    let text: Vec<String> = withdrawn.into_iter().chain(offered).collect();
    if !text.is_empty() {
        step.emit_later(SessionEvent::Reminder {
            kind: TOOLS.to_owned(),
            key: String::new(),
            text: text.join(" "),
        });
    }
}

/// What sources observed, as it goes on record: states compact, texts without what could be taken for a tag of ours.
pub(super) fn frozen_context(context: Vec<ContextRecord>) -> Result<Vec<ContextRecord>, SessionError> {
    context.into_iter().map(frozen_one).collect()
}

fn frozen_one(context: ContextRecord) -> Result<ContextRecord, SessionError> {
    let unreadable = |reason| SessionError::Unreadable { what: "what was observed", reason };
    let body =
        Body::parse_with(context.state.to_vec(), deep()).map_err(|error| unreadable(error.to_string()))?;
    let mut state = Vec::with_capacity(context.state.len());
    compact(&mut state, body.root());
    let text = context.text.filter(|text| !text.trim().is_empty());
    Ok(ContextRecord { state: state.into(), text: text.map(|text| neutral(&text).into_owned()), ..context })
}

pub(super) fn texts(waits: &[(RecordId, ContextRecord)]) -> Vec<String> {
    waits.iter().filter_map(|(_, context)| context.text.clone()).collect()
}

/// Reminders within the user's text.
pub(super) fn notes(waits: &[(RecordId, ContextRecord)]) -> Vec<Bytes> {
    let note = |context: &ContextRecord| Some(text_block(&tagged(&context.kind, context.text.as_ref()?)));
    waits.iter().filter_map(|(_, context)| note(context)).collect()
}

/// The kind of reminders of tools.
const TOOLS: &str = "tools";
