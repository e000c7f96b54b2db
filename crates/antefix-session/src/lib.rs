//! The append-only transcript and the state machine of an agent session, without I/O.

pub mod line;
