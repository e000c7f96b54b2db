//! Goes on in another dialect or with another model: what was said is translated once, and the translation is on
//! record.

use std::collections::BTreeMap;

use antefix_models::{Counts, Modifiers, Tokens, Ttl, cost, price};
use bytes::Bytes;

use super::context::{notes, texts};
use super::{Session, SessionError, Step};
use crate::conversation::{Lane, Message};
use crate::dialect::{Ids, Translation};
use crate::event::SessionEvent;
use crate::record::{EndReason, LaneRecord, MessageContent, Millis, Origin, Record, RecordId};
use crate::spend::date;

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
        for one in &said {
            turns.entry(one.turn).or_default().extend(self.translated(&lane, one, &mut ids));
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
            written.push((Origin::Reminder, lane.dialect.reminder(lane, &texts(&waits))));
        }
        written
    }

    /// What a request costs that reads nothing, in words.
    fn paid_anew(&self, lane: &LaneRecord, now: Millis) -> (Tokens, String) {
        let tokens = self.conversation.estimated_tokens();
        let counts = match lane.cache {
            Some(Ttl::FiveMinutes) => Counts { write_5m: tokens, ..Counts::default() },
            Some(Ttl::OneHour) => Counts { write_1h: tokens, ..Counts::default() },
            None => Counts { uncached: tokens, ..Counts::default() },
        };
        let prices = price(lane.platform, &lane.model, date(now), Modifiers::default(), tokens);
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

/// The messages as what one side says after the other: results that were recorded one by one stand together again,
/// and so do the parts of a reply that was paused.
pub(super) fn merged<'a>(source: impl IntoIterator<Item = &'a Message>) -> (Vec<Said>, Left) {
    let mut said: Vec<Said> = Vec::new();
    let mut left = Left::default();
    for message in source {
        if message.is_reminder() {
            said.last_mut().into_iter().for_each(|last| last.says.extend_from_slice(message.says()));
            continue;
        }
        let translation = Translation::of(message.is_user(), message.origin(), message.blocks());
        left.thinking += u64::from(message.thinks());
        left.parts += translation.left_out;
        match said.last_mut().filter(|last| last.translation.is_user == translation.is_user) {
            Some(last) => last.translation.append(translation),
            None => said.push(Said { turn: message.turn(), translation, says: Vec::new() }),
        }
    }
    (said, left)
}
