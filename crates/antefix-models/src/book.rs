//! The price list with the user's own prices in front of it.

use jiff::civil::Date;

use crate::price::percents;
use crate::registry::{Days, registry};
use crate::{Modifiers, Platform, Prices, Tokens, id, price};

/// Prices of one model, with where they come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedPrice {
    /// The model's id.
    pub model: String,
    /// The platform it holds on; `None` for every one.
    pub platform: Option<Platform>,
    /// First day on which it holds; `None` for ever before.
    pub from: Option<Date>,
    /// First day on which it no longer holds; `None` for ever after.
    pub until: Option<Date>,
    /// Holds for the whole request when its prompt is longer than this.
    pub above: Option<Tokens>,
    /// The prices, without modifiers.
    pub prices: Prices,
    /// Where it was read.
    pub source: String,
    /// When it was read; the user's own have none.
    pub read_on: Option<Date>,
    /// Whether it is the user's own.
    pub is_own: bool,
}

impl ListedPrice {
    /// Whether it holds on that day.
    pub fn holds_on(&self, day: Date) -> bool {
        Days { from: self.from, until: self.until }.contain(day)
    }

    fn is_for(&self, platform: Platform, model: &str) -> bool {
        let named =
            self.model == model || id::find(platform, model).is_some_and(|known| known.id == self.model);
        named && self.platform.is_none_or(|own| own == platform)
    }

    fn overlaps(&self, other: &Self) -> bool {
        let begins_before =
            |one: &Self, end: Option<Date>| end.is_none_or(|end| one.from.is_none_or(|from| from < end));
        self.model == other.model
            && self.platform == other.platform
            && self.above == other.above
            && begins_before(self, other.until)
            && begins_before(other, self.until)
    }
}

/// All prices that are known: the list, and the user's own, which win.
#[derive(Clone, Debug, Default)]
pub struct PriceBook {
    own: Vec<ListedPrice>,
}

/// Why prices cannot be added to a book.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PriceBookError {
    /// Two prices hold for the same model on the same day.
    #[error("`{model}` has two prices that hold on the same day")]
    Overlap {
        /// The model.
        model: String,
    },
    /// A price that ends before it begins.
    #[error("a price of `{model}` ends before it begins")]
    Backwards {
        /// The model.
        model: String,
    },
}

impl PriceBook {
    /// The list with the user's own prices in front.
    ///
    /// # Errors
    /// [`PriceBookError`] if they contradict each other.
    pub fn with_own(own: Vec<ListedPrice>) -> Result<Self, PriceBookError> {
        for (index, row) in own.iter().enumerate() {
            let model = || row.model.clone();
            if row.from.zip(row.until).is_some_and(|(from, until)| until <= from) {
                return Err(PriceBookError::Backwards { model: model() });
            }
            if own.iter().skip(index + 1).any(|other| row.overlaps(other)) {
                return Err(PriceBookError::Overlap { model: model() });
            }
        }
        Ok(Self { own })
    }

    /// The prices of a request; see [`price()`], which knows the list alone. A modifier on one of the user's own
    /// prices needs a model and platform whose modifiers are listed.
    pub fn price(
        &self,
        platform: Platform,
        model: &str,
        on: Date,
        modifiers: Modifiers,
        prompt: Tokens,
    ) -> Option<Prices> {
        let own = self
            .own
            .iter()
            .filter(|row| row.is_for(platform, model) && row.holds_on(on))
            .filter(|row| row.above.is_none_or(|above| prompt > above))
            .max_by_key(|row| (row.above, row.platform.is_some()));
        match own {
            None => price(platform, model, on, modifiers, prompt),
            // The user's own price is what they say it is, at peak hours too.
            Some(row) if (Modifiers { peak: false, ..modifiers }) == Modifiers::default() => Some(row.prices),
            Some(row) => {
                let known = id::find(platform, model)?;
                percents(platform, known, on, modifiers)?.into_iter().try_fold(row.prices, Prices::times)
            }
        }
    }

    /// Every price, the user's own first, then the list in the order of its file.
    pub fn rows(&self) -> impl Iterator<Item = ListedPrice> {
        let listed = registry().prices.iter().map(|row| ListedPrice {
            model: row.model.to_owned(),
            platform: None,
            from: row.days.from,
            until: row.days.until,
            above: row.above,
            prices: row.prices,
            source: row.origin.source.to_owned(),
            read_on: Some(row.origin.date),
            is_own: false,
        });
        let of_chat = registry().chat_prices.iter().flat_map(|row| {
            row.models.iter().map(move |model| ListedPrice {
                model: (*model).to_owned(),
                platform: Some(row.platform),
                from: row.days.from,
                until: row.days.until,
                above: None,
                prices: row.prices,
                source: row.origin.source.to_owned(),
                read_on: Some(row.origin.date),
                is_own: false,
            })
        });
        self.own.iter().cloned().chain(listed).chain(of_chat)
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;
    use crate::Price;

    fn own(model: &str, input: u64, days: [Option<Date>; 2], above: Option<u64>) -> ListedPrice {
        let price = Price(input);
        ListedPrice {
            model: model.to_owned(),
            platform: None,
            from: days[0],
            until: days[1],
            above: above.map(Tokens),
            prices: Prices { input: price, write_5m: price, write_1h: price, read: price, output: price },
            source: "contract".to_owned(),
            read_on: None,
            is_own: true,
        }
    }

    #[test]
    fn the_users_own_prices_win_on_their_days_and_above_their_threshold() {
        let november = [Some(date(2026, 11, 1)), Some(date(2026, 12, 1))];
        let book = PriceBook::with_own(vec![
            own("claude-opus-5", 7, november, None),
            own("claude-opus-5", 9, november, Some(1_000)),
            own("qwen", 3, [None, None], None),
            ListedPrice { platform: Some(Platform::Bedrock), ..own("claude-opus-5", 8, november, None) },
        ])
        .unwrap();
        let plain = Modifiers::default();
        let batch = Modifiers { batch: true, ..plain };
        let list = |model, modifiers| {
            price(Platform::Anthropic, model, date(2026, 10, 1), modifiers, Tokens(5)).map(|row| row.input.0)
        };
        for (platform, model, day, modifiers, prompt, expect) in [
            (Platform::Anthropic, "claude-opus-5", date(2026, 11, 30), plain, 1_000, Some(7)),
            (Platform::Anthropic, "claude-opus-5", date(2026, 11, 30), plain, 1_001, Some(9)),
            (Platform::Anthropic, "claude-opus-5-20260701", date(2026, 11, 1), plain, 5, Some(7)),
            (Platform::Bedrock, "us.anthropic.claude-opus-5-v1:0", date(2026, 11, 1), plain, 5, Some(8)),
            (Platform::Anthropic, "claude-opus-5", date(2026, 10, 1), plain, 5, list("claude-opus-5", plain)),
            (Platform::Anthropic, "claude-opus-5", date(2026, 10, 1), batch, 5, list("claude-opus-5", batch)),
            // Half of 7 is no whole number of 1e-12 dollars.
            (Platform::Anthropic, "claude-opus-5", date(2026, 11, 1), batch, 5, None),
            (Platform::Compatible, "qwen", date(2026, 11, 1), plain, 5, Some(3)),
            (Platform::Compatible, "qwen", date(2026, 11, 1), batch, 5, None),
            (Platform::Compatible, "llama", date(2026, 11, 1), plain, 5, None),
        ] {
            let found = book.price(platform, model, day, modifiers, Tokens(prompt)).map(|row| row.input.0);
            assert_eq!(found, expect, "{platform} {model} {day} {modifiers:?} {prompt}");
        }
        assert!(book.rows().take(4).all(|row| row.is_own) && book.rows().count() > 20);
    }

    #[test]
    fn contradicting_prices_are_refused() {
        let (november, december) = (Some(date(2026, 11, 1)), Some(date(2026, 12, 1)));
        for (rows, expect) in [
            (vec![own("m", 1, [None, december], None), own("m", 2, [december, None], None)], "ok"),
            (vec![own("m", 1, [None, december], None), own("m", 2, [november, None], None)], "overlap"),
            (vec![own("m", 1, [None, None], None), own("m", 2, [None, None], Some(5))], "ok"),
            (vec![own("m", 1, [None, None], None), own("n", 2, [None, None], None)], "ok"),
            (vec![own("m", 1, [december, november], None)], "backwards"),
        ] {
            let found = match PriceBook::with_own(rows.clone()) {
                Ok(_) => "ok",
                Err(PriceBookError::Overlap { .. }) => "overlap",
                Err(PriceBookError::Backwards { .. }) => "backwards",
            };
            assert_eq!(found, expect, "{rows:?}");
        }
    }
}
