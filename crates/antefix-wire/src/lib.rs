//! The bytes of an LLM request and its streamed response.
//!
//! What a provider hashes is bytes, so nothing here re-serialises: [`json`] finds the spans of a JSON text in
//! one pass, and [`splice`] changes a body by replacing ranges. A body without edits leaves byte-identical.

pub mod anthropic;
pub mod json;
mod range;
mod splice;

pub use range::ByteRange;
pub use splice::{Edit, SpliceError, splice};
