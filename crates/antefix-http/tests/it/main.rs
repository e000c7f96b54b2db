//! The client against scripted bytes on real sockets, and the server against the client and against raw bytes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that panics has failed, which is what is meant"
)]

mod client;
mod faults;
mod fetch;
mod server;
mod tls;
mod upstream;
