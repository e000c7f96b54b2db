//! The client against scripted bytes on real sockets.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that panics has failed, which is what is meant")]

mod client;
mod faults;
mod upstream;
