//! The real binary against the simulator, over a real socket.

#![allow(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "helpers of tests stop at the first surprise, and read the environment and clock of their machine"
)]

mod bill;
mod bodies;
mod case;
mod catalogue;
mod chat;
mod compaction;
mod compatible;
mod context;
mod ended;
mod explain;
mod forecast;
mod growth;
mod hooks;
mod hostile;
mod injection;
mod kills;
mod memory;
mod money;
mod official_rules;
mod oracle;
mod permissions;
mod providers;
mod random;
mod reminders;
mod sandbox;
mod server_edits;
mod servers;
mod shell;
mod skills;
mod subagents;
mod terminal;
mod todo;
mod upgrade;
mod verify;
mod warm;
mod web;
mod whatif;
