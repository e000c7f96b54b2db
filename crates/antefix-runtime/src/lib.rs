//! Provider clients, drivers, tool host and the transcript store on disk.
//!
//! [`driver::Agent`] does what the pure state machine of `antefix-session` asks: it appends to a [`store`], sends
//! through a [`provider`], runs tools and waits. [`head`] renders what stands in front of the messages, once.

pub mod agents;
pub mod catalogue;
pub mod clock;
pub mod context;
pub mod definitions;
pub mod driver;
mod folder;
pub mod head;
pub mod provider;
pub mod skills;
mod socket;
pub mod store;
pub mod subagents;
pub mod transcript;
pub mod web;

pub use socket::SocketDigest;

/// Makes this process's memory and environment unreadable to the commands its tools run, so that they cannot take
/// the key from `/proc`. Root can read them all the same. Best effort: where the system refuses, nothing changes.
pub fn hide_from_children() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}
