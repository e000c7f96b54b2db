//! The client against scripted bytes on real sockets.

mod client;
mod faults;
mod upstream;
