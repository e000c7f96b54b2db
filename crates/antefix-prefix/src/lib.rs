//! Positions, digests, relation, first difference and marker planning for prompt prefixes.
//!
//! A provider's cache goes by the prefix of a prompt. [`positions`] lists what the provider reads, in its order,
//! with two digests each: `wire` over the bytes and `normal` over the meaning. A [`Chain`] sums them up so that
//! equal links are equal prefixes, and a [`Tree`] holds what was sent in a lane and says how a new request
//! stands to it.

mod chain;
mod digest;
mod position;
mod spelling;
mod tree;

pub use chain::{Chain, Link, View};
pub use digest::Digest;
pub use position::{
    Place, Position, PositionKind, Section, message_positions, positions, system_position, tool_position,
};
pub use tree::{Advance, Entries, Entry, Relation, Standing, Tree};
