//! Goes on in another dialect: what was said is translated once, and the translation is on record.

use std::collections::BTreeMap;

use antefix_models::{Counts, Modifiers, Ttl, cost, price};
use bytes::Bytes;

use super::{Session, SessionError, Step};
use crate::conversation::Message;
use crate::dialect::{Ids, Translation};
use crate::event::SessionEvent;
use crate::record::{EndReason, LaneRecord, MessageContent, MessageRecord, Millis, Origin, Record};
use crate::spend::date;

impl Session {
    /// Translates the conversation into the open lane's dialect, unless it is in it already.
    ///
    /// The state of the transcript alone says whether that is to be done, so that a process that died in the midst of
    /// it leaves nothing to repair: it is done again from the start.
    pub(super) fn carry_over(&mut self, step: &mut Step, now: Millis) -> Result<(), SessionError> {
        let Some(source) = self.conversation.uncarried() else { return Ok(()) };
        let lane = self.conversation.lane().ok_or(SessionError::NoLane)?.spec().clone();
        let (said, left) = merged(&source);
        let mut ids = Ids::new(lane.dialect);
        let mut turns: BTreeMap<u64, Vec<(Origin, Bytes)>> = BTreeMap::new();
        for one in &said {
            let written = lane.dialect.translate(&one.translation, &mut ids, &self.settings.texts);
            turns.entry(one.turn).or_default().extend(written);
        }
        let messages = turns.values().map(|turn| turn.len() as u64).sum();
        self.record(step, Record::Carry { messages }, now)?;
        for (turn, written) in turns {
            self.record(step, Record::Turn { turn }, now)?;
            for (origin, fragment) in written {
                let content = MessageContent::Fragment(fragment);
                self.record(step, Record::Message(MessageRecord { origin, content }), now)?;
            }
            self.record(step, Record::End { turn, reason: EndReason::Carried }, now)?;
        }
        step.emit(SessionEvent::Notice(self.forecast(&lane, messages, left, now)));
        Ok(())
    }

    /// What the break costs, in words.
    fn forecast(&self, lane: &LaneRecord, messages: u64, left: Left, now: Millis) -> String {
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
        let mut text = format!(
            "the conversation goes on in the dialect {}, as planned: {messages} messages are translated, and the next request pays anew for all of its about {} tokens ({price})",
            lane.dialect.name(),
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
struct Said {
    turn: u64,
    translation: Translation,
}

/// What does not go on.
#[derive(Clone, Copy, Default)]
struct Left {
    /// Messages whose thinking stays behind.
    thinking: u64,
    /// Blocks that only the provider can take.
    parts: u64,
}

/// The messages as what one side says after the other: results that were recorded one by one stand together again,
/// and so do the parts of a reply that was paused.
fn merged(source: &[&Message]) -> (Vec<Said>, Left) {
    let mut said: Vec<Said> = Vec::new();
    let mut left = Left::default();
    for message in source {
        let translation = Translation::of(message.is_user(), message.origin(), message.blocks());
        left.thinking += u64::from(message.thinks());
        left.parts += translation.left_out;
        match said.last_mut().filter(|last| last.translation.is_user == translation.is_user) {
            Some(last) => last.translation.append(translation),
            None => said.push(Said { turn: message.turn(), translation }),
        }
    }
    (said, left)
}
