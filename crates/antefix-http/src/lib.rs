//! HTTP client and server: byte streams both ways, and the simulator's front.
//!
//! - [`client`] sends a request body that is a list of byte pieces with an exact `Content-Length`, shows each
//!   piece to an observer as it is handed to the connection, and hands the answer on unbuffered.
//! - [`server`] puts [`antefix_sim::Simulator`] behind a real socket, with a layer that cuts or re-slices a
//!   stream at any byte.
//! - [`fetch`] fetches pages of the open web, and connects to public addresses only.
//! - [`capture`] writes what was sent and what it cost as two files a request.
//!
//! No type of an HTTP or TLS library appears in this crate's interface, and the crate reads no environment
//! variable: proxies and certificates are values of the caller. (The platform's certificate loader is the one
//! exception: it honours `SSL_CERT_FILE` and `SSL_CERT_DIR`, as OpenSSL does.)

pub mod capture;
pub mod client;
mod error;
pub mod fetch;
pub mod server;

pub use bytes::Bytes;
pub use error::{Fault, HttpError, Origin};
