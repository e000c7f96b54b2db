use antefix_models::{Counts, Money, Tokens, cost};

use super::settings::Room;
use crate::closure::text_block;
use crate::machine::{Session, SessionError};
use crate::record::{Forecast, Millis, Purpose};
use crate::spend::{of_attempt, prices};

impl Session {
    /// What a compaction would do now, and at what price.
    ///
    /// How long a summary gets nobody knows before it is written: it is taken to be as long as the last one of the
    /// session, or else [`SUMMARY`].
    pub(super) fn compaction_forecast(&self, room: &Room, now: Millis) -> Result<Forecast, SessionError> {
        let lane = self.lane()?;
        let before = self.conversation.estimated_tokens();
        let head = self.conversation.estimated_head();
        let tail = Tokens(room.tail.0.min((before - head).0 / 2));
        let length = self.last_summary().unwrap_or(SUMMARY);
        let after = head + tail + length;
        let is_warm = !self.conversation.expects_read(&self.rules, now).is_zero();
        let warm = |tokens: Tokens| if is_warm { tokens } else { Tokens::ZERO };
        let price = |counts: Counts| -> Option<Money> {
            let found = prices(&self.settings.prices, lane.platform, &lane.model, now, counts.prompt());
            Some(cost(&found?, &counts))
        };
        let [asked, without] = [Purpose::Compaction, Purpose::Turn].map(|purpose| {
            let plan = self.plan(purpose);
            self.conversation.expected(&plan, warm(self.conversation.within_reach(&plan).tokens))
        });
        let asked = Counts { uncached: asked.uncached + self.asking(), ..asked };
        let shared = warm(self.shared_head());
        let rest = after - shared;
        let with = match lane.cache {
            Some(ttl) => Counts::written(ttl, rest),
            None => Counts { uncached: rest, ..Counts::default() },
        };
        Ok(Forecast {
            before,
            after,
            length: Some(length),
            asked: price(asked),
            summary: price(Counts { output: length, ..asked }),
            without: price(without),
            with: price(Counts { read: shared, ..with }),
        })
    }

    /// Tokens of what asks for the summary.
    fn asking(&self) -> Tokens {
        let texts = self.settings.compaction.texts;
        let asks = self.conversation.dialect().user_message(&[text_block(texts.ask)]);
        self.conversation.in_proportion(Tokens::of_bytes(asks.len() as u64))
    }

    /// Tokens of the head that a conversation behind a summary has in common with this one.
    fn shared_head(&self) -> Tokens {
        let lane = self.conversation.lane();
        let end = lane.and_then(|lane| lane.static_head().filter(|_| lane.cache().is_some()));
        match end {
            Some(end) => self.conversation.estimated_up_to(end + 1),
            None => self.conversation.estimated_head(),
        }
    }

    /// Tokens of the last reply that was asked for as a summary, thinking included.
    fn last_summary(&self) -> Option<Tokens> {
        let mut asked = self.conversation.attempts().iter().rev();
        let last = asked.find(|attempt| {
            attempt.attempt.purpose == Purpose::Compaction
                && attempt.outcome.as_ref().is_some_and(|(_, outcome)| outcome.status == Some(200))
        })?;
        let spent = of_attempt(&self.conversation, last, &self.settings.prices);
        Some(spent.counts.output).filter(|output| !output.is_zero())
    }
}

/// Tokens of what asks for a summary, at most about.
pub(super) const ASKING: Tokens = Tokens(300);

/// Tokens of a first summary: what a forecast takes it to be.
const SUMMARY: Tokens = Tokens(2_000);
