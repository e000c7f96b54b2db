//! The tools on real files and real processes.

// The lint's exception for tests does not reach the functions they share.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::format_collect)]

mod bash;
mod edit;
mod escapes;
mod executor;
mod glob;
mod grep;
mod known;
mod notebook;
mod read;
mod workspace;
mod write;
