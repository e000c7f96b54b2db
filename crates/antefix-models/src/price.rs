//! What tokens cost.

use jiff::civil::Date;

use crate::{Money, Platform, Price, Tokens, Ttl};

/// What changes the list price of a whole request, in every category alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Modifiers {
    /// Sent through the batch API.
    pub batch: bool,
    /// Fast mode (`speed: "fast"`).
    pub fast: bool,
    /// `inference_geo: "us"`.
    pub geo_us: bool,
    /// A regional endpoint of Bedrock or Google Cloud.
    pub regional: bool,
}

/// Prices per token of each category, modifiers applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prices {
    /// Input that was neither read from nor written to the cache.
    pub input: Price,
    /// Input written to live five minutes.
    pub write_5m: Price,
    /// Input written to live one hour.
    pub write_1h: Price,
    /// Input read from the cache.
    pub read: Price,
    /// Output, thinking included.
    pub output: Price,
}

impl Prices {
    /// Price of a token written with that lifetime.
    pub fn write(&self, ttl: Ttl) -> Price {
        match ttl {
            Ttl::FiveMinutes => self.write_5m,
            Ttl::OneHour => self.write_1h,
        }
    }

    /// What one token costs more when it must be written again instead of being read: write − read.
    pub fn broken_token(&self, ttl: Ttl) -> Price {
        Price(self.write(ttl).0.saturating_sub(self.read.0))
    }
}

/// Tokens of one request by billing category; they do not overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Input behind the last marker: neither read nor written.
    pub uncached: Tokens,
    /// Input read from the cache.
    pub read: Tokens,
    /// Input written to live five minutes.
    pub write_5m: Tokens,
    /// Input written to live one hour.
    pub write_1h: Tokens,
    /// Output, thinking included.
    pub output: Tokens,
}

impl Counts {
    /// All input: what decides a price tier and fills the window.
    pub fn prompt(&self) -> Tokens {
        self.uncached + self.read + self.write_5m + self.write_1h
    }
}

/// A cost by billing category.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Breakdown {
    /// Cost of [`Counts::uncached`].
    pub uncached: Money,
    /// Cost of [`Counts::read`].
    pub read: Money,
    /// Cost of [`Counts::write_5m`].
    pub write_5m: Money,
    /// Cost of [`Counts::write_1h`].
    pub write_1h: Money,
    /// Cost of [`Counts::output`].
    pub output: Money,
}

impl Breakdown {
    /// The sum of the parts.
    pub fn total(&self) -> Money {
        self.uncached + self.read + self.write_5m + self.write_1h + self.output
    }
}

/// The prices of `model` on the day `on` for a request whose whole input is `prompt` tokens. `None` means
/// unpriced, which is not free: an unknown model, or a modifier that does not exist for it that day.
pub fn price(
    platform: Platform,
    model: &str,
    on: Date,
    modifiers: Modifiers,
    prompt: Tokens,
) -> Option<Prices> {
    let _ = (platform, model, on, modifiers, prompt);
    None
}

/// What `counts` cost at `prices`, exactly.
pub fn cost(prices: &Prices, counts: &Counts) -> Money {
    cost_breakdown(prices, counts).total()
}

/// What each category of `counts` costs at `prices`, exactly.
pub fn cost_breakdown(prices: &Prices, counts: &Counts) -> Breakdown {
    Breakdown {
        uncached: prices.input * counts.uncached,
        read: prices.read * counts.read,
        write_5m: prices.write_5m * counts.write_5m,
        write_1h: prices.write_1h * counts.write_1h,
        output: prices.output * counts.output,
    }
}
