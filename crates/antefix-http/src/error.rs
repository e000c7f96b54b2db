//! What can go wrong between a request and the last byte of its answer.

use std::time::Duration;

/// A failed exchange: who is at fault, whether a retry makes sense, and a text a person can act on.
///
/// The text names the host; it never holds a header value, a body, a query or a proxy's password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct HttpError {
    /// Whose fault it is.
    pub origin: Origin,
    /// What happened.
    pub fault: Fault,
    /// Whether the same request may succeed when it is sent again.
    pub retryable: bool,
    /// Whether a byte of the request may have left: if so, the provider may have worked on it and written its
    /// cache. `false` is certain, `true` is not.
    pub sent: bool,
    text: String,
}

impl HttpError {
    pub(crate) fn new(fault: Fault, sent: bool, text: String) -> Self {
        Self { origin: fault.origin(), retryable: fault.retryable(), fault, sent, text }
    }

    /// What a person can do about it, if there is something.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self.fault {
            Fault::Dns => "check the host's name and the network connection",
            Fault::Refused => "check that a server listens on that port",
            Fault::Unreachable => "check the network connection",
            Fault::Tls => "if a company proxy inspects the traffic, its root certificate must be trusted",
            Fault::Proxy => "check the proxy's address, user and password",
            Fault::Roots => "install the system's root certificates, or name a certificate file",
            Fault::NotHttp => "check that the base URL's scheme and port are those of an HTTP server",
            _ => return None,
        })
    }
}

/// Whose fault a failed exchange is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Whoever asked for the exchange: a URL, header or proxy that cannot be used.
    Client,
    /// The server, or the network on the way to it.
    Upstream,
    /// This program or the machine it runs on.
    Ours,
}

/// What happened to an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The base URL, path or method cannot be used.
    Url,
    /// A header's name or value cannot be sent.
    Header,
    /// A proxy's address cannot be used.
    ProxyAddress,
    /// No root certificate could be loaded, or one given cannot be read.
    Roots,
    /// The host's name has no address.
    Dns,
    /// Nothing listens at the address.
    Refused,
    /// There is no way to the address.
    Unreachable,
    /// The TLS handshake failed, or the certificate is not trusted.
    Tls,
    /// The proxy would not open the connection.
    Proxy,
    /// The connection was not there in time.
    ConnectTimeout,
    /// The answer's head did not come in time.
    HeaderTimeout,
    /// The answer stopped: no byte came for too long.
    IdleTimeout,
    /// The connection was closed or reset before the end of the answer.
    Cut,
    /// The answer is not HTTP.
    NotHttp,
    /// The answer's head is larger than is read.
    HeadTooLarge,
    /// Anything else.
    Other,
}

impl Fault {
    /// Whose fault it is.
    pub fn origin(self) -> Origin {
        match self {
            Fault::Url | Fault::Header | Fault::ProxyAddress => Origin::Client,
            Fault::Roots | Fault::Other => Origin::Ours,
            _ => Origin::Upstream,
        }
    }

    /// Whether the same request may succeed when it is sent again.
    pub fn retryable(self) -> bool {
        matches!(
            self,
            Fault::Dns
                | Fault::Refused
                | Fault::Unreachable
                | Fault::ConnectTimeout
                | Fault::HeaderTimeout
                | Fault::IdleTimeout
                | Fault::Cut
        )
    }
}

/// A duration in words: `1.5 s`, `250 ms`.
pub(crate) fn in_words(duration: Duration) -> String {
    match duration.as_millis() {
        ms if ms < 1000 => format!("{ms} ms"),
        ms if ms % 1000 == 0 => format!("{} s", ms / 1000),
        ms => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
    }
}
