//! Goes on in another dialect or with another model: what was said is translated once, and the translation is on
//! record.

use std::collections::BTreeMap;

use antefix_models::{Counts, Tokens, cost};
use bytes::Bytes;

use super::context::{notes, texts};
use super::{Session, SessionError, Step};
use crate::closure::text_block;
use crate::conversation::{Call, Lane, Message};
use crate::dialect::{Ids, Outcome, Translation};
use crate::event::SessionEvent;
use crate::record::{EndReason, LaneRecord, MessageContent, Millis, Origin, Record, RecordId};
use crate::spend::prices;

impl Session {
    /// Says the conversation anew in the open lane, unless it is in its dialect and from its model already.
    ///
    /// The state of the transcript alone says whether that is to be done, so that a process that died in the midst of
    /// it leaves nothing to repair: it is done again from the start.
    pub(super) fn carry_over(&mut self, step: &mut Step, now: Millis) -> Result<(), SessionError> {
        let Some(source) = self.conversation.uncarried() else { return Ok(()) };
        let lane = self.conversation.lane().ok_or(SessionError::NoLane)?.spec().clone();
        let (said, left) = merged(source);
        let mut ids = Ids::new(lane.dialect);
        let mut turns: BTreeMap<u64, Vec<(Origin, Bytes)>> = BTreeMap::new();
        let mut said = said.iter().peekable();
        while let Some(one) = said.next() {
            let turn = turns.entry(one.turn).or_default();
            turn.extend(self.translated(&lane, one, &mut ids));
            let next = said.peek();
            if next.is_none_or(|next| next.turn != one.turn) {
                // A reply that closed it may bear the number of the turn behind it, as that to a summary does.
                let is_answered = next.is_some_and(|next| !next.translation.is_user);
                turn.extend(self.closed(&lane, &one.translation, is_answered, &mut ids));
            }
        }
        let messages = turns.values().map(|turn| turn.len() as u64).sum();
        self.record(step, Record::Carry { messages }, now)?;
        for (turn, written) in turns {
            self.record(step, Record::Turn { turn }, now)?;
            for (origin, fragment) in written {
                self.message(step, origin, MessageContent::Fragment(fragment), now)?;
            }
            self.record(step, Record::End { turn, reason: EndReason::Carried }, now)?;
        }
        step.emit(SessionEvent::Notice(self.forecast(&lane, messages, left, now)));
        Ok(())
    }

    /// Says what it costs to go on in a lane with other parameters.
    pub(super) fn foretell(&self, step: &mut Step, now: Millis) {
        let Some(lane) = self.conversation.lane().map(Lane::spec) else { return };
        let (tokens, price) = self.paid_anew(lane, now);
        step.emit(SessionEvent::Notice(format!(
            "the conversation goes on with other parameters, as planned: the next request may pay anew for all of its about {} tokens ({price})",
            tokens.0
        )));
    }

    /// The messages that say it in the lane's dialect, reminders in their place there. What had stood within the user's
    /// text stays there.
    fn translated(&self, lane: &LaneRecord, said: &Said, ids: &mut Ids) -> Vec<(Origin, Bytes)> {
        let waits: Vec<_> = said
            .says
            .iter()
            .filter_map(|id| Some((*id, self.conversation.context_of(*id)?.clone())))
            .collect();
        let mut translation = said.translation.clone();
        if !waits.is_empty() && !lane.reminders.is_apart() {
            let notes = notes(&waits);
            match translation.results.last_mut().filter(|_| translation.blocks.is_empty()) {
                Some(last) => last.content.extend(notes),
                None => translation.blocks.extend(notes),
            }
        }
        let mut written = lane.dialect.translate(&translation, ids, &self.settings.texts);
        if !waits.is_empty() && lane.reminders.is_apart() {
            written.push((Origin::Reminder, lane.dialect.reminder(lane, &texts(&waits), &[])));
        }
        written
    }

    /// What closes a turn that ends in `last`, if it is open. One can go back to behind each turn that is said anew, and
    /// results behind a reply without its thinking could not lead what is said then.
    fn closed(
        &self,
        lane: &LaneRecord,
        last: &Translation,
        is_answered: bool,
        ids: &mut Ids,
    ) -> Vec<(Origin, Bytes)> {
        let mut written = Vec::new();
        if !last.calls.is_empty() {
            let results = last.calls.iter().map(|call| self.outcome_of(call)).collect();
            let results = Translation::of_results(results);
            written.extend(lane.dialect.translate(&results, ids, &self.settings.texts));
        }
        if !is_answered && (last.is_user || !last.calls.is_empty()) {
            let reply = lane.dialect.reply(&[text_block(self.settings.texts.no_reply)]);
            written.push((Origin::Closure, reply));
        }
        written
    }

    /// What a call returned; an error if nothing came of it.
    fn outcome_of(&self, call: &Call) -> Outcome {
        let returned = self.conversation.returned(&call.id).and_then(|(dialect, fragment)| {
            let message = dialect.sealed(std::slice::from_ref(fragment), &[], &[]);
            Translation::of(true, Origin::Results, dialect.blocks(&message)).results.pop()
        });
        returned.unwrap_or_else(|| Outcome {
            call: call.id.clone(),
            content: vec![text_block(self.settings.texts.not_run)],
            is_error: true,
        })
    }

    /// What a request costs that reads nothing, in words.
    fn paid_anew(&self, lane: &LaneRecord, now: Millis) -> (Tokens, String) {
        let tokens = self.conversation.estimated_tokens();
        let counts = match lane.cache {
            Some(ttl) => Counts::written(ttl, tokens),
            None => Counts { uncached: tokens, ..Counts::default() },
        };
        let prices = prices(&self.settings.prices, lane.platform, &lane.model, now, tokens);
        let price = match prices {
            Some(prices) => format!("about {:.4}", cost(&prices, &counts)),
            None => "no price is known".to_owned(),
        };
        (tokens, price)
    }

    /// What the break costs, in words.
    fn forecast(&self, lane: &LaneRecord, messages: u64, left: Left, now: Millis) -> String {
        let (tokens, price) = self.paid_anew(lane, now);
        let mut text = format!(
            "the conversation goes on in the dialect {} with {}, as planned: {messages} messages are said anew, and the next request pays anew for all of its about {} tokens ({price})",
            lane.dialect.name(),
            lane.model,
            tokens.0,
        );
        if left.thinking > 0 {
            let count = left.thinking;
            text.push_str(&format!(
                "; the thinking of {count} replies stays behind: it is bound to the model that wrote it"
            ));
        }
        if left.parts > 0 {
            let count = left.parts;
            text.push_str(&format!("; {count} parts of tools that the provider ran stay behind"));
        }
        text
    }
}

/// What one side said, with its turn.
pub(super) struct Said {
    pub(super) turn: u64,
    pub(super) translation: Translation,
    /// Records of what was told behind it in a message of its own.
    says: Vec<RecordId>,
}

/// What does not go on.
#[derive(Clone, Copy, Default)]
pub(super) struct Left {
    /// Messages whose thinking stays behind.
    thinking: u64,
    /// Blocks that only the provider can take.
    parts: u64,
}

/// The messages as what one side says after the other in each turn: results that were recorded one by one stand
/// together again, and so do the parts of a reply that was paused. Results that led what the user said next are parted
/// from it, and belong to the turn of their calls.
pub(super) fn merged<'a>(source: impl IntoIterator<Item = &'a Message>) -> (Vec<Said>, Left) {
    let mut said: Vec<Said> = Vec::new();
    let mut left = Left::default();
    for message in source {
        if message.is_reminder() {
            said.last_mut().into_iter().for_each(|last| last.says.extend_from_slice(message.says()));
            continue;
        }
        let turn = message.turn();
        let mut translation = Translation::of(message.is_user(), message.origin(), message.blocks());
        left.thinking += u64::from(message.thinks());
        left.parts += translation.left_out;
        let calling = said.last().map(|last| last.turn).filter(|calling| *calling != turn);
        if let Some(calling) = calling.filter(|_| !translation.results.is_empty()) {
            let results = std::mem::take(&mut translation.results);
            add(&mut said, calling, Translation::of_results(results));
            // What closed the calls behind a rewind holds nothing else.
            if translation.blocks.is_empty() {
                continue;
            }
        }
        add(&mut said, turn, translation);
    }
    (said, left)
}

/// Adds what was said next: to what the same side said before it in that turn, if there is that.
fn add(said: &mut Vec<Said>, turn: u64, translation: Translation) {
    match said.last_mut() {
        Some(last) if last.turn == turn && last.translation.is_user == translation.is_user => {
            last.translation.append(translation);
        }
        _ => said.push(Said { turn, translation, says: Vec::new() }),
    }
}
