//! Positions, digests, relation, first difference and marker planning for prompt prefixes.
//!
//! A provider's cache goes by the prefix of a prompt.
//!
//! | question | answer |
//! |---|---|
//! | What does the provider read, in which order? | [`positions`] ([`chat_positions`] for Chat Completions), each with two digests: `wire` over the bytes, `normal` over the meaning |
//! | Are two prefixes equal? | [`Chain`]: equal links are equal prefixes |
//! | Does a request extend what was sent in its lane? | [`Tree::relation`] |
//! | Which lane does a request belong to? | [`pair`] |
//! | Does extending our bytes extend the provider's prompt? | [`effective()`], with the source of each limit |
//! | Where do the markers go? | [`plan()`] |
//! | Where do two requests part? | [`first_difference`]; [`first_changed_position`] where only digests of the first were kept |
//! | Does an agent's next request extend the one before, in a test of that agent? | [`assert_extends!`] |
//!
//! ```
//! use antefix_models::{Platform, Tokens, Ttl, rules};
//! use antefix_prefix::{Advance, Chain, PlanInput, Position, Relation, Segment, Tree, plan, positions};
//! use antefix_wire::{anthropic::Request, json::Body};
//!
//! fn read(text: &str) -> Result<Vec<Position>, Box<dyn std::error::Error>> {
//!     Ok(positions(&Request::read(Body::parse(text)?.root())?))
//! }
//! let first = read(r#"{"system":"Rules.","messages":[{"role":"user","content":"Fix the test."}]}"#)?;
//! let second = read(
//!     r#"{"system":"Rules.","messages":[{"role":"user","content":"Fix the test."},
//!         {"role":"assistant","content":"Done."},{"role":"user","content":"And the docs."}]}"#,
//! )?;
//! let mut lane = Tree::new();
//! lane.insert(&Chain::of(&first), Advance::Head);
//! assert_eq!(lane.relation(&Chain::of(&second)), Relation::Extends);
//!
//! let segments: Vec<_> = second.iter().map(|position| Segment::of(position, Tokens(2_000))).collect();
//! let planned = plan(&PlanInput {
//!     segments: &segments,
//!     rules: &rules(Platform::Anthropic, "claude-opus-5-5"),
//!     static_head: Some(0),
//!     confirmed: Some(1),
//!     doubtful: None,
//!     ttl: Ttl::FiveMinutes,
//!     head_ttl: Ttl::OneHour,
//! });
//! assert_eq!((planned.reads_to, planned.writes_to), (Some(1), Some(3)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod chain;
mod changed_position;
mod difference;
mod digest;
mod effective;
mod lane;
mod plan;
mod position;
mod segment;
mod spelling;
mod tree;
pub mod verdict;

pub use chain::{Chain, Link, View};
pub use changed_position::{ChangedPosition, first_changed_position};
pub use difference::{Change, Class, Difference, Side, difference, first_difference};
pub use digest::Digest;
pub use effective::{Cause, Certainty, Effective, Interval, Limit, effective, effective_after};
pub use lane::{Hints, Pairing, pair};
pub use plan::{CachePlan, Marker, PlanInput, PlanNote, plan};
pub use position::{
    Place, Position, PositionKind, Section, chat_message, chat_positions, message_positions, positions,
    system_position, tool_position,
};
pub use segment::Segment;
pub use tree::{Advance, Entries, Entry, Relation, Standing, Tree};
