//! The bytes of an LLM request and its streamed response.
//!
//! What a provider hashes is bytes, so nothing here re-serialises: [`json`] finds the spans of a JSON text in
//! one pass, and [`splice()`] changes a body by replacing ranges. A body without edits leaves byte-identical.
//!
//! | module | gives |
//! |---|---|
//! | [`json`] | the spans of a text, as cheap cursors; string escapes both ways |
//! | [`anthropic`] | a view of a Messages request that owns nothing, and the edits that set and take off markers |
//! | [`sse`] | the events of a response, however it was cut |
//! | [`assemble`] | those events as the message that is sent back in the next request |
//! | [`openai`] | a view of Chat Completions and Responses requests, in the terms of the ones above; messages sent back |
//! | [`responses`] | what the Responses API answered, streamed or whole |
//! | [`gemini`] | a view of Gemini requests, in the same terms, and what was answered |
//! | [`usage`] | what the request read from, wrote to and left out of the cache |
//!
//! Reading is lenient: unknown members, block types and events are kept and stay reachable.
//!
//! ```
//! use antefix_wire::anthropic::{Request, Ttl, marker_edit};
//! use antefix_wire::{json::Body, splice};
//!
//! let body = Body::parse(*br#"{"max_tokens":1.0e2, "messages":[{"role":"user","content":"Caf\u00e9?"}]}"#)?;
//! let request = Request::read(body.root())?;
//! let edit = marker_edit(request.messages[0].content[0].node, Ttl::FiveMinutes).ok_or("no place for a marker")?;
//! let marked = splice(body.bytes(), &[edit])?;
//! assert_eq!(
//!     String::from_utf8(marked)?,
//!     r#"{"max_tokens":1.0e2, "messages":[{"role":"user","content":[{"type":"text","text":"Caf\u00e9?","cache_control":{"type":"ephemeral"}}]}]}"#,
//!     "every other byte is as it was"
//! );
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod anthropic;
pub mod assemble;
pub mod gemini;
pub mod json;
pub mod openai;
mod range;
pub mod responses;
mod splice;
pub mod sse;
pub mod usage;

pub use range::ByteRange;
pub use splice::{Edit, SpliceError, splice};
