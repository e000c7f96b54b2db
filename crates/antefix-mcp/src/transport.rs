//! What carries messages.

pub(crate) mod stdio;
