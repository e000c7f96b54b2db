//! Provider clients, drivers, tool host and the transcript store on disk.
//!
//! [`driver::Agent`] does what the pure state machine of `antefix-session` asks: it appends to a [`store`], sends
//! through [`anthropic`], runs tools and waits. [`head`] renders what stands in front of the messages, once.

pub mod anthropic;
pub mod clock;
pub mod driver;
pub mod head;
mod socket;
pub mod store;
pub mod transcript;

pub use socket::SocketDigest;
