//! Usage in one form whatever the vendor, and what a broken prompt prefix costs.
//!
//! Vendors count the cached part of a prompt inside the input or outside of it. [`Row`] brings both to one form in
//! which the parts do not overlap; [`dedupe()`] keeps one row of each response; [`Totals`] adds them up.
//!
//! # What a verdict costs
//! `rewritten` tokens were in the cache and had to be paid for again. Each costs what it was billed as, less what
//! reading it would have cost:
//!
//! ```text
//! price of a verdict = Σ rewritten tokens × (price as billed − price of a read)
//! ```
//!
//! The prefix comes first in a prompt, and one-hour entries come before five-minute ones, so the rewritten tokens
//! are taken from the request's one-hour writes first, then from its five-minute writes, then from plain input.
//! With this, `actual = perfect + Σ prices of verdicts` holds to the last 1e-12 $: see [`Comparison`].
//!
//! *Perfect* is not taken from the verdicts: it is the request as billed, had it read all that the request before had
//! in the cache ([`Standing::reachable`]). What no verdict answers for is the residual of an [`Account`]; it is 0 where
//! every loss was explained.
//!
//! ```
//! use antefix_ledger::{rewritten_counts, waste};
//! use antefix_models::{Counts, Modifiers, Platform, Tokens, price};
//! let billed = Counts { write_5m: Tokens(30_000), uncached: Tokens(10), ..Counts::default() };
//! let prices = price(Platform::Anthropic, "claude-opus-5", jiff_date(), Modifiers::default(), billed.prompt());
//! let again = rewritten_counts(&billed, Tokens(20_000));
//! assert_eq!(again.write_5m, Tokens(20_000));
//! assert!(waste(&prices.unwrap(), &again).0 > 0);
//! # fn jiff_date() -> jiff::civil::Date { jiff::civil::date(2026, 11, 1) }
//! ```

mod account;
mod cost;
mod dedupe;
mod layout;
mod row;
mod standing;

pub use account::{Account, Posting, Ratio, Share, Steady};
pub use cost::{Comparison, rewritten_counts, waste};
pub use dedupe::{Dedupe, Entry, are_running_totals, dedupe, differences};
pub use layout::{lay_out, measure};
pub use row::{
    Convention, Estimated, Exactness, Number, Purpose, Row, Sampling, Totals, modifiers, samplings,
};
pub use standing::{Loss, Relation, Standing, standing, standings};
