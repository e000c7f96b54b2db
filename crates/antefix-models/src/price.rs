//! What tokens cost.

use jiff::Timestamp;
use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;

use crate::id;
use crate::registry::{ChatPriceRow, Model, PlatformRow, registry};
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
    /// Sent in the peak hours of a platform that has some: [`Modifiers::at`].
    pub peak: bool,
}

impl Modifiers {
    /// Those that hold on a platform at a point in time, whatever the request.
    ///
    /// DeepSeek has peak hours from 01:00 to 04:00 and from 06:00 to 10:00 UTC, Monday to Friday
    /// (api-docs.deepseek.com/quick_start/pricing, read 2026-11-30).
    pub fn at(platform: Platform, time: Timestamp) -> Self {
        let zoned = time.to_zoned(TimeZone::UTC);
        let is_workday = !matches!(zoned.weekday(), Weekday::Saturday | Weekday::Sunday);
        let is_peak = is_workday && matches!(zoned.hour(), 1..4 | 6..10);
        Self { peak: platform == Platform::DeepSeek && is_peak, ..Self::default() }
    }
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
    /// Those of a server of one's own.
    pub const FREE: Self =
        Self { input: Price(0), write_5m: Price(0), write_1h: Price(0), read: Price(0), output: Price(0) };

    /// Price of a token written with that lifetime.
    pub fn write(&self, ttl: Ttl) -> Price {
        match ttl {
            Ttl::FiveMinutes => self.write_5m,
            Ttl::OneHour => self.write_1h,
        }
    }

    /// Every price at `percent` of itself; `None` if that is not a whole number of 1e-12 dollars, which no
    /// listed price and modifier give.
    pub(crate) fn times(self, percent: u64) -> Option<Self> {
        let scale = |price: Price| {
            let scaled = u128::from(price.0) * u128::from(percent);
            (scaled % 100 == 0).then(|| u64::try_from(scaled / 100).ok().map(Price)).flatten()
        };
        Some(Self {
            input: scale(self.input)?,
            write_5m: scale(self.write_5m)?,
            write_1h: scale(self.write_1h)?,
            read: scale(self.read)?,
            output: scale(self.output)?,
        })
    }

    /// How many later reads make a write with that lifetime cheaper than sending the tokens uncached each
    /// time. `None` if a read is no cheaper than plain input.
    ///
    /// ```
    /// # use antefix_models::{Modifiers, Platform, Tokens, Ttl, price};
    /// # let day = jiff::civil::date(2026, 11, 1);
    /// # let prompt = Tokens(50_000);
    /// let prices = price(Platform::Anthropic, "claude-opus-5", day, Modifiers::default(), prompt).unwrap();
    /// assert_eq!(prices.break_even_reads(Ttl::FiveMinutes), Some(1));
    /// assert_eq!(prices.break_even_reads(Ttl::OneHour), Some(2));
    /// ```
    pub fn break_even_reads(&self, ttl: Ttl) -> Option<u64> {
        let surcharge = self.write(ttl).0.saturating_sub(self.input.0);
        let saved = self.input.0.checked_sub(self.read.0).filter(|saved| *saved > 0)?;
        Some(surcharge.div_ceil(saved))
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
    /// Nothing but so many tokens that are written to live so long.
    pub fn written(ttl: Ttl, tokens: Tokens) -> Self {
        match ttl {
            Ttl::FiveMinutes => Self { write_5m: tokens, ..Self::default() },
            Ttl::OneHour => Self { write_1h: tokens, ..Self::default() },
        }
    }

    /// All input: what decides a price tier and fills the window.
    pub fn prompt(&self) -> Tokens {
        self.uncached + self.read + self.write_5m + self.write_1h
    }
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.uncached += other.uncached;
        self.read += other.read;
        self.write_5m += other.write_5m;
        self.write_1h += other.write_1h;
        self.output += other.output;
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
/// unpriced, which is not free ([`Platform::Local`] is): an unknown model, a server of unknown prices, or a modifier that does not
/// exist for the model on that platform and day.
pub fn price(
    platform: Platform,
    model: &str,
    on: Date,
    modifiers: Modifiers,
    prompt: Tokens,
) -> Option<Prices> {
    match platform {
        Platform::Compatible => return None,
        Platform::Local => return Some(Prices::FREE),
        Platform::DeepSeek | Platform::OpenRouter | Platform::WorkersAi => {
            return chat_price(platform, model, on, modifiers);
        }
        _ if modifiers.peak => return None,
        _ => {}
    }
    let model = id::find(platform, model)?;
    let row = registry()
        .prices
        .iter()
        .filter(|row| row.model == model.id && row.days.contain(on))
        .filter(|row| row.above.is_none_or(|above| prompt > above))
        .max_by_key(|row| row.above)?;
    percents(platform, model, on, modifiers)?.into_iter().try_fold(row.prices, Prices::times)
}

/// The prices of a service that speaks Chat Completions. Only peak hours change them.
fn chat_price(platform: Platform, model: &str, on: Date, modifiers: Modifiers) -> Option<Prices> {
    if (Modifiers { peak: false, ..modifiers }) != Modifiers::default() {
        return None;
    }
    let holds =
        |row: &&ChatPriceRow| row.platform == platform && row.models.contains(&model) && row.days.contain(on);
    let row = registry().chat_prices.iter().find(holds)?;
    row.prices.times(if modifiers.peak { row.peak? } else { LIST })
}

/// The factors of a request's modifiers, in percent. They apply to every category.
pub(crate) fn percents(
    platform: Platform,
    model: &Model,
    on: Date,
    modifiers: Modifiers,
) -> Option<[u64; 4]> {
    let row = registry().platforms.iter().find(|row| row.platform == platform)?;
    // No source gives a price for fast mode in a batch.
    if modifiers.fast && modifiers.batch {
        return None;
    }
    let batch = if modifiers.batch { row.batch? } else { LIST };
    let fast = if modifiers.fast { fast_percent(row, model, on)? } else { LIST };
    let geo_us = if modifiers.geo_us { row.geo_us.filter(|_| model.geo_us)? } else { LIST };
    let regional = if modifiers.regional { row.regional? } else { LIST };
    let regional = if model.regional_premium { regional } else { LIST };
    Some([batch, fast, geo_us, regional])
}

fn fast_percent(row: &PlatformRow, model: &Model, on: Date) -> Option<u64> {
    let mut rows = registry().fast.iter();
    rows.find(|fast| row.fast && fast.model == model.id && fast.days.contain(on)).map(|fast| fast.percent)
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

/// Price of one web search by the server tool, without a batch rate.
///
/// Source: platform.claude.com/docs/en/about-claude/pricing, October 2026.
pub const WEB_SEARCH: Money = Money(Money::DOLLAR.0 / 100);

/// Percent of the list price without a modifier.
const LIST: u64 = 100;
