//! The simulator against the documented rules, through its HTTP face alone.

#![allow(clippy::unwrap_used, reason = "a test may stop at anything unexpected")]

mod articles;
mod binding;
mod cache;
mod chat;
mod edits;
mod engines;
mod harness;
mod keys;
mod models;
mod properties;
mod refusals;
mod replies;
mod server;
mod threads;
