use antefix_models::{Counts, Modifiers, Money, Prices, Tokens, Ttl, cost, price};

use super::settings::Room;
use crate::machine::{Session, SessionError};
use crate::record::{Forecast, Millis};
use crate::spend::date;

impl Session {
    /// What a compaction would do now, and at what price.
    pub(super) fn compaction_forecast(&self, room: &Room, now: Millis) -> Result<Forecast, SessionError> {
        let lane = self.lane()?;
        let before = self.conversation.estimated_tokens();
        let head = self.conversation.estimated_head();
        let tail = Tokens(room.tail.0.min((before - head).0 / 2));
        let after = head + tail + SUMMARY;
        let is_warm = self.conversation.expects_read(&self.rules, now);
        let warm = |length: Tokens| if is_warm { length } else { Tokens::ZERO };
        let sent = warm(self.conversation.estimated_up_to(self.conversation.sent()));
        let prices = |prompt| price(lane.platform, &lane.model, date(now), Modifiers::default(), prompt);
        let asked =
            Counts { read: sent, uncached: before - sent + ASKING, output: SUMMARY, ..Counts::default() };
        let prompt = |read: Tokens, rest: Tokens| match lane.cache {
            Some(Ttl::FiveMinutes) => Counts { read, write_5m: rest, ..Counts::default() },
            Some(Ttl::OneHour) => Counts { read, write_1h: rest, ..Counts::default() },
            None => Counts { read, uncached: rest, ..Counts::default() },
        };
        let priced =
            |prices: Option<Prices>, counts: Counts| -> Option<Money> { Some(cost(&prices?, &counts)) };
        Ok(Forecast {
            before,
            after,
            summary: priced(prices(before), asked),
            without: priced(prices(before), prompt(sent, before - sent)),
            with: priced(prices(after), prompt(warm(head), after - warm(head))),
        })
    }
}

/// Tokens of what asks for a summary, about.
pub(super) const ASKING: Tokens = Tokens(300);

/// Tokens of a summary: what a forecast takes it to be.
const SUMMARY: Tokens = Tokens(2_000);
