//! Rules and dated prices per model and platform, as data; integer money.
//!
//! What a provider does with a prompt (how short a prefix it keeps, how far it looks back, what it charges)
//! is stated in the files of `data/`, one row each with its source and the date it was read. This crate reads
//! them once and answers two questions: [`rules()`] and [`price()`]. It knows no requests and does no I/O.
//!
//! Where sources conflict, a rule is a band ([`Minimum`]) or a third answer ([`Support::Unverified`]), and
//! the note says why. A model that is not in the data gets cautious rules and no price: `None`, never free.
//!
//! ```
//! use antefix_models::{Counts, Modifiers, Platform, Reach, Tokens, cost, price, rules};
//!
//! let rules = rules(Platform::Anthropic, "claude-opus-5-5");
//! assert_eq!((rules.max_markers, rules.minimum.reach(Tokens(50_000))), (4, Reach::Sure));
//!
//! let day = jiff::civil::date(2026, 11, 1);
//! let prices = price(Platform::Anthropic, &rules.id, day, Modifiers::default(), Tokens(50_000));
//! let counts = Counts { read: Tokens(50_000), output: Tokens(100), ..Counts::default() };
//! assert_eq!(prices.map(|prices| cost(&prices, &counts).to_string()).as_deref(), Some("$0.012"));
//! ```

mod book;
mod data;
mod id;
mod money;
mod platform;
mod preset;
mod price;
mod registry;
mod rules;
mod table;
mod template;
mod tokens;

pub use book::{ListedPrice, PriceBook, PriceBookError};
pub use money::{Money, MoneyError, Price};
pub use platform::{Platform, Ttl};
pub use preset::{
    Affinity, ContextProbe, MaxTokens, Preset, PresetError, Protocol, Reasoning, Setting, SystemRole,
};
pub use price::{Breakdown, Counts, Modifiers, Prices, WEB_SEARCH, cost, cost_breakdown, price};
pub use rules::{
    Collapse, ImageRules, Lookback, Minimum, Reach, Retention, Rules, Support, ToolPrompt, model_ids, rules,
};
pub use table::{models_table, providers_table};
pub use template::{Rewrite, Template, template};
pub use tokens::Tokens;
