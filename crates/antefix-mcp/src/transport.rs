//! What carries messages.

pub(crate) mod http;
pub(crate) mod stdio;
