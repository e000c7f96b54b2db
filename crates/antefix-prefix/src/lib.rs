//! Positions, digests, relation, first difference and marker planning for prompt prefixes.
//!
//! A provider's cache goes by the prefix of a prompt. [`positions`] lists what the provider reads, in its order,
//! with two digests each: `wire` over the bytes and `normal` over the meaning. A [`Chain`] sums them up so that
//! equal links are equal prefixes, and a [`Tree`] holds what was sent in a lane and says how a new request
//! stands to it. [`effective`] says where extending our bytes does not extend the provider's prompt, and [`plan`]
//! sets the cache markers. [`first_difference`] names the place where two requests part.

mod chain;
mod difference;
mod digest;
mod effective;
mod lane;
mod plan;
mod position;
mod segment;
mod spelling;
mod tree;

pub use chain::{Chain, Link, View};
pub use difference::{Change, Class, Difference, Side, difference, first_difference};
pub use digest::Digest;
pub use effective::{Cause, Certainty, Effective, Limit, effective};
pub use lane::{Hints, Pairing, pair};
pub use plan::{CachePlan, Marker, PlanInput, PlanNote, plan};
pub use position::{
    Place, Position, PositionKind, Section, message_positions, positions, system_position, tool_position,
};
pub use segment::Segment;
pub use tree::{Advance, Entries, Entry, Relation, Standing, Tree};
