//! Rules and dated prices per model and platform, as data; integer money.
//!
//! What a provider does with a prompt (how short a prefix it keeps, how far it looks back, what it charges) is
//! stated in the files of `data/`, one row each with its source and the date it was read. This crate reads them
//! once and answers two questions: [`rules()`] and [`price()`]. It knows no requests and does no I/O.
//!
//! ```
//! use antefix_models::{Counts, Modifiers, Platform, Tokens, cost, price};
//! let day = jiff::civil::date(2026, 11, 1);
//! let prices = price(Platform::Anthropic, "claude-opus-5-5", day, Modifiers::default(), Tokens(50_000));
//! let counts = Counts { read: Tokens(50_000), output: Tokens(100), ..Counts::default() };
//! assert_eq!(prices.map(|prices| cost(&prices, &counts).usd()), Some("0.012".to_owned()));
//! ```

mod data;
mod id;
mod money;
mod platform;
mod price;
mod registry;
mod rules;
mod table;
mod tokens;

pub use money::{Money, MoneyError, Price};
pub use platform::{Platform, Ttl};
pub use price::{Breakdown, Counts, Modifiers, Prices, WEB_SEARCH, cost, cost_breakdown, price};
pub use rules::{
    Collapse, Lookback, Minimum, Reach, Retention, Rules, Support, ToolPrompt, model_ids, rules,
};
pub use table::models_table;
pub use tokens::Tokens;
