//! The session as a whole: each way a turn can end, cold replay against the live process, and the cost of a step.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod bytes;
mod cached;
mod calls;
mod carry;
mod chat;
mod compaction;
mod forecast;
mod format;
mod offers;
mod random;
mod reminders;
mod replay;

mod reply;
mod stage;
mod strictness;
mod tamper;

mod turn_closure;
mod upgrade;
mod warm;
mod work;
