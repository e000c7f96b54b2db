//! The data files as typed rows, read once.

use std::sync::OnceLock;

use jiff::civil::Date;

use crate::data::{self, DataError, Row};
use crate::preset::Preset;
use crate::rules::{Collapse, Minimum, Retention, Support, ToolPrompt};
use crate::template::TemplateRow;
use crate::{Platform, Price, Tokens};

/// Where a row comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub source: &'static str,
    pub date: Date,
}

/// A row of `data/models.toml`.
#[derive(Debug)]
pub(crate) struct Model {
    pub id: &'static str,
    pub names: Vec<&'static str>,
    pub minimum: Minimum,
    pub minimum_on_bedrock: Option<Tokens>,
    pub in_band_system: Support,
    pub in_band_tools: Support,
    pub in_band_effort: Support,
    pub retention: Retention,
    pub binding: bool,
    pub tool_prompt: ToolPrompt,
    pub efforts: Vec<&'static str>,
    pub window: Tokens,
    pub max_output: Tokens,
    pub geo_us: bool,
    pub regional_premium: bool,
    pub legacy_bedrock: bool,
    pub retires: Option<Date>,
    pub earliest_retirement: Option<Date>,
    pub notes: Vec<&'static str>,
    pub origin: Origin,
}

/// A row of `data/platforms.toml`.
#[derive(Debug)]
pub(crate) struct PlatformRow {
    pub platform: Platform,
    pub lookback: u32,
    pub collapse: Collapse,
    pub max_markers: u32,
    pub one_hour_ttl: Support,
    pub automatic_marker: Support,
    pub diagnostics: Support,
    pub in_band_system: Support,
    pub in_band_tools: Support,
    pub in_band_effort: Support,
    pub in_band_clear_at: Support,
    /// Percent of the list price; `None` where the modifier does not exist.
    pub batch: Option<u64>,
    pub geo_us: Option<u64>,
    pub regional: Option<u64>,
    pub fast: bool,
    pub notes: Vec<&'static str>,
    pub origin: Origin,
}

/// The days on which a row holds: from the first, until the second exclusively.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Days {
    pub from: Option<Date>,
    pub until: Option<Date>,
}

impl Days {
    pub(crate) fn contain(self, day: Date) -> bool {
        self.from.is_none_or(|from| from <= day) && self.until.is_none_or(|until| day < until)
    }
}

/// A `[[price]]` row of `data/prices.toml`.
#[derive(Debug)]
pub(crate) struct PriceRow {
    pub model: &'static str,
    pub days: Days,
    /// Holds for prompts longer than this.
    pub above: Option<Tokens>,
    pub prices: crate::Prices,
    pub origin: Origin,
}

/// A `[[fast]]` row of `data/prices.toml`.
#[derive(Debug)]
pub(crate) struct FastRow {
    pub model: &'static str,
    pub days: Days,
    pub percent: u64,
    pub origin: Origin,
}

/// A row of `data/chat_prices.toml`.
#[derive(Debug)]
pub(crate) struct ChatPriceRow {
    pub platform: Platform,
    pub models: Vec<&'static str>,
    pub days: Days,
    pub prices: crate::Prices,
    /// Percent of every price in peak hours; `None` where there are none.
    pub peak: Option<u64>,
    pub origin: Origin,
}

/// All rows, in the order of the files.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    pub models: Vec<Model>,
    pub platforms: Vec<PlatformRow>,
    pub prices: Vec<PriceRow>,
    pub fast: Vec<FastRow>,
    pub templates: Vec<TemplateRow>,
    pub presets: Vec<Preset>,
    pub chat_prices: Vec<ChatPriceRow>,
}

impl Registry {
    pub(crate) fn read() -> Result<Self, DataError> {
        let mut registry = Self::default();
        for text in [MODELS, PLATFORMS, PRICES, TEMPLATES, PRESETS, CHAT_PRICES] {
            for row in data::rows(text)? {
                registry.add(row)?;
            }
        }
        Ok(registry)
    }

    fn add(&mut self, mut row: Row) -> Result<(), DataError> {
        match row.table {
            "model" => self.models.push(model(&mut row)?),
            "platform" => self.platforms.push(platform(&mut row)?),
            "price" => self.prices.push(price(&mut row)?),
            "fast" => self.fast.push(fast(&mut row)?),
            "template" => self.templates.push(TemplateRow::read(&mut row)?),
            "chat_price" => self.chat_prices.push(chat_price(&mut row)?),
            "preset" => {
                let preset = Preset::read(row, self.presets.first())?;
                self.presets.push(preset);
                return Ok(());
            }
            _ => return Err(row.unexpected()),
        }
        row.finish()
    }
}

/// The rows of the embedded files. A test holds them to be readable; were they not, every model would be
/// unknown and unpriced.
pub(crate) fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(|| Registry::read().unwrap_or_default())
}

fn model(row: &mut Row) -> Result<Model, DataError> {
    let stated = row.number("minimum")?;
    let minimum = Minimum {
        below: Tokens(row.optional_number("surely_not_below")?.unwrap_or(stated)),
        sure: Tokens(row.optional_number("surely_from")?.unwrap_or(stated)),
        stated: Tokens(stated),
    };
    let tool_prompt = ToolPrompt {
        auto_or_none: row.optional_number("tool_prompt_auto")?.map(Tokens),
        any_or_tool: row.optional_number("tool_prompt_any")?.map(Tokens),
    };
    Ok(Model {
        id: row.text("id")?,
        names: row.texts("names")?,
        minimum,
        minimum_on_bedrock: row.optional_number("minimum_on_bedrock")?.map(Tokens),
        in_band_system: row.parse("in_band_system", support)?,
        in_band_tools: row.parse("in_band_tools", support)?,
        in_band_effort: row.parse("in_band_effort", support)?,
        retention: row.parse("thinking", retention)?,
        binding: row.flag("thinking_binding")?,
        tool_prompt,
        efforts: row.texts("efforts")?,
        window: Tokens(row.number("window")?),
        max_output: Tokens(row.number("max_output")?),
        geo_us: row.flag("geo_us")?,
        regional_premium: row.flag("regional_premium")?,
        legacy_bedrock: row.flag("legacy_bedrock")?,
        retires: row.optional_day("retires")?,
        earliest_retirement: row.optional_day("earliest_retirement")?,
        notes: row.texts("notes")?,
        origin: origin(row)?,
    })
}

fn platform(row: &mut Row) -> Result<PlatformRow, DataError> {
    Ok(PlatformRow {
        platform: row.parse("id", Platform::from_name)?,
        lookback: count(row, "lookback")?,
        collapse: row.parse("collapse", collapse)?,
        max_markers: count(row, "max_markers")?,
        one_hour_ttl: row.parse("one_hour_ttl", support)?,
        automatic_marker: row.parse("automatic_marker", support)?,
        diagnostics: row.parse("diagnostics", support)?,
        in_band_system: row.parse("in_band_system", support)?,
        in_band_tools: row.parse("in_band_tools", support)?,
        in_band_effort: row.parse("in_band_effort", support)?,
        in_band_clear_at: row.parse("in_band_clear_at", support)?,
        batch: row.optional_number("batch")?,
        geo_us: row.optional_number("geo_us")?,
        regional: row.optional_number("regional")?,
        fast: row.flag("fast")?,
        notes: row.texts("notes")?,
        origin: origin(row)?,
    })
}

fn price(row: &mut Row) -> Result<PriceRow, DataError> {
    Ok(PriceRow {
        model: row.text("model")?,
        days: days(row)?,
        above: row.optional_number("above")?.map(Tokens),
        prices: crate::Prices {
            input: row.parse("input", Price::from_usd_per_million)?,
            write_5m: row.parse("write_5m", Price::from_usd_per_million)?,
            write_1h: row.parse("write_1h", Price::from_usd_per_million)?,
            read: row.parse("read", Price::from_usd_per_million)?,
            output: row.parse("output", Price::from_usd_per_million)?,
        },
        origin: origin(row)?,
    })
}

fn fast(row: &mut Row) -> Result<FastRow, DataError> {
    Ok(FastRow {
        model: row.text("model")?,
        days: days(row)?,
        percent: row.number("percent")?,
        origin: origin(row)?,
    })
}

fn chat_price(row: &mut Row) -> Result<ChatPriceRow, DataError> {
    let input = row.parse("input", Price::from_usd_per_million)?;
    Ok(ChatPriceRow {
        platform: row.parse("platform", Platform::from_name)?,
        models: row.texts("models")?,
        days: days(row)?,
        prices: crate::Prices {
            input,
            write_5m: input,
            write_1h: input,
            read: row.parse("read", Price::from_usd_per_million)?,
            output: row.parse("output", Price::from_usd_per_million)?,
        },
        peak: row.optional_number("peak")?,
        origin: origin(row)?,
    })
}

pub(crate) fn origin(row: &mut Row) -> Result<Origin, DataError> {
    Ok(Origin { source: row.text("source")?, date: row.day("date")? })
}

fn days(row: &mut Row) -> Result<Days, DataError> {
    Ok(Days { from: row.optional_day("from")?, until: row.optional_day("until")? })
}

fn count(row: &mut Row, key: &'static str) -> Result<u32, DataError> {
    u32::try_from(row.number(key)?).map_err(|_| row.missing(key))
}

fn support(text: &str) -> Option<Support> {
    match text {
        "yes" => Some(Support::Yes),
        "no" => Some(Support::No),
        "unverified" => Some(Support::Unverified),
        _ => None,
    }
}

fn collapse(text: &str) -> Option<Collapse> {
    match text {
        "yes" => Some(Collapse::Yes),
        "no" => Some(Collapse::No),
        "unknown" => Some(Collapse::Unknown),
        _ => None,
    }
}

fn retention(text: &str) -> Option<Retention> {
    match text {
        "all-turns" => Some(Retention::AllTurns),
        "last-turn" => Some(Retention::LastTurn),
        _ => None,
    }
}

const MODELS: &str = include_str!("../data/models.toml");
const PLATFORMS: &str = include_str!("../data/platforms.toml");
const PRICES: &str = include_str!("../data/prices.toml");
const TEMPLATES: &str = include_str!("../data/templates.toml");
const PRESETS: &str = include_str!("../data/presets.toml");
const CHAT_PRICES: &str = include_str!("../data/chat_prices.toml");

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_embedded_data_is_readable_small_and_complete() {
        let registry = Registry::read().unwrap();
        assert!(MODELS.len() + PLATFORMS.len() + PRICES.len() <= 30 * 1024);
        let platforms: Vec<_> = registry.platforms.iter().map(|row| row.platform).collect();
        assert_eq!(platforms, Platform::MESSAGES);
        assert!(TEMPLATES.len() + PRESETS.len() + CHAT_PRICES.len() <= 16 * 1024);
        let origins = registry
            .models
            .iter()
            .map(|row| row.origin)
            .chain(registry.platforms.iter().map(|row| row.origin))
            .chain(registry.prices.iter().map(|row| row.origin))
            .chain(registry.fast.iter().map(|row| row.origin))
            .chain(registry.templates.iter().map(|row| row.origin))
            .chain(registry.chat_prices.iter().map(|row| row.origin))
            .chain(registry.presets.iter().map(|preset| preset.origin.unwrap()));
        for origin in origins {
            assert!(origin.source.len() > 10 && origin.date.year() >= 2026, "{origin:?}");
        }
    }

    #[test]
    fn ids_and_names_are_unique() {
        let mut seen = BTreeSet::new();
        for model in &registry().models {
            for name in model.names.iter().chain([&model.id]) {
                assert!(seen.insert(*name), "{name} stands twice");
            }
        }
    }

    #[test]
    fn bands_are_in_order() {
        for model in &registry().models {
            let Minimum { below, sure, stated } = model.minimum;
            assert!(below <= stated && stated <= sure, "{}", model.id);
            assert!(
                model.minimum_on_bedrock.is_none_or(|value| below <= value && value <= sure),
                "{}",
                model.id
            );
            assert!(below == sure || !model.notes.is_empty(), "{}: a band without a note", model.id);
            assert!(model.max_output < model.window, "{}", model.id);
        }
    }

    #[test]
    fn price_rows_name_known_models_and_never_overlap() {
        let registry = registry();
        let known = |id| registry.models.iter().any(|model| model.id == id);
        let overlap = |a: Days, b: Days| {
            a.from.is_none_or(|from| b.until.is_none_or(|until| from < until))
                && b.from.is_none_or(|from| a.until.is_none_or(|until| from < until))
        };
        for (index, row) in registry.prices.iter().enumerate() {
            assert!(known(row.model), "{}", row.model);
            for other in &registry.prices[index + 1..] {
                let same = row.model == other.model && row.above == other.above;
                assert!(!(same && overlap(row.days, other.days)), "{}: two prices for one day", row.model);
            }
        }
        for (index, row) in registry.fast.iter().enumerate() {
            assert!(known(row.model), "{}", row.model);
            assert!(
                registry.fast[index + 1..]
                    .iter()
                    .all(|other| other.model != row.model || !overlap(row.days, other.days))
            );
        }
    }

    #[test]
    fn writes_follow_the_documented_multipliers() {
        for row in &registry().prices {
            let (input, prices) = (row.prices.input.0, row.prices);
            assert_eq!((prices.write_5m.0 * 4, prices.write_1h.0), (input * 5, input * 2), "{}", row.model);
            assert!([10, 20, 40].contains(&(input / prices.read.0)), "{}", row.model);
        }
    }
}
