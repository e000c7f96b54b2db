//! HTTP client and server: byte streams both ways, and the simulator's front.
