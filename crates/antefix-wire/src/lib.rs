//! The bytes of an LLM request and its streamed response.
//!
//! What a provider hashes is bytes, so nothing here re-serialises: [`json`] finds the spans of a JSON text in
//! one pass, and [`splice`] changes a body by replacing ranges. A body without edits leaves byte-identical.
//! [`anthropic`] reads a request without owning it; [`sse`] frames a response, [`assemble`] makes of it what is
//! sent back in the next request, and [`usage`] reads what it cost.

pub mod anthropic;
pub mod assemble;
pub mod json;
mod range;
mod splice;
pub mod sse;
pub mod usage;

pub use range::ByteRange;
pub use splice::{Edit, SpliceError, splice};
