//! The append-only transcript and the state machine of an agent session, without I/O.
//!
//! A session is a list of records ([`record`]). Applying them one by one gives the [`conversation`]; a live
//! process and a cold replay apply the same records, so they compose the same bodies. A fact is rendered once,
//! when it is first said, into the bytes that are sent for ever after. [`machine`] decides what is appended, sent
//! and run: events in, commands out.

pub mod closure;
pub mod conversation;
pub mod dialect;
pub mod edited;
pub mod event;
pub mod guard;
pub mod line;
pub mod machine;
pub mod placement;
pub mod record;
pub mod reminder;
pub mod spend;
pub mod verify;
pub mod warm;
