//! From the HTTP library's errors to ours.

use std::error::Error;
use std::io;

use crate::error::{Fault, HttpError};

/// A fault, and its words where they are not in [`text`].
type Found = (Fault, Option<String>);

/// What a failure of the library is to the caller; `sent` says whether the connection has asked for the body.
pub(super) fn failed(error: &reqwest::Error, host: &str, sent: bool) -> HttpError {
    let sent = sent || !error.is_connect();
    let (fault, detail) = fault(error);
    HttpError::new(fault, sent, text(fault, host, detail.as_deref(), sent))
}

/// The deepest cause that says something.
fn fault(error: &reqwest::Error) -> Found {
    let mut found = None;
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        found = deeper(found, of_cause(error));
        cause = error.source();
    }
    match found {
        Some(found) => found,
        None if error.is_connect() && error.is_timeout() => (Fault::ConnectTimeout, None),
        None if error.is_connect() => (Fault::Unreachable, None),
        None if error.is_body() || error.is_decode() || error.is_request() => (Fault::Cut, None),
        None => (Fault::Other, None),
    }
}

/// A proxy's failure stays one; what lies deeper only says why.
fn deeper(found: Option<Found>, cause: Option<Found>) -> Option<Found> {
    match (found, cause) {
        (Some((Fault::Proxy, None)), Some((Fault::Refused, _))) => {
            Some((Fault::Proxy, Some("it refused the connection".to_owned())))
        }
        (Some((Fault::Proxy, None)), Some((Fault::Dns, _))) => {
            Some((Fault::Proxy, Some("its host was not found".to_owned())))
        }
        (Some((Fault::Proxy, detail)), _) => Some((Fault::Proxy, detail)),
        (found, cause) => cause.or(found),
    }
}

fn of_cause(error: &(dyn Error + 'static)) -> Option<Found> {
    if let Some(error) = error.downcast_ref::<io::Error>() {
        return of_io(error);
    }
    if let Some(error) = error.downcast_ref::<rustls::Error>() {
        return Some((Fault::Tls, Some(error.to_string())));
    }
    if let Some(error) = error.downcast_ref::<hyper::Error>() {
        return of_hyper(error);
    }
    let text = error.to_string();
    match text.strip_prefix("tunnel error: ") {
        Some("failed to create underlying connection") => Some((Fault::Proxy, None)),
        Some("unsuccessful") => Some((Fault::Proxy, Some("it would not open a tunnel".to_owned()))),
        Some(words) => Some((Fault::Proxy, Some(words.to_owned()))),
        None if text == "dns error" => Some((Fault::Dns, None)),
        None => None,
    }
}

fn of_io(error: &io::Error) -> Option<Found> {
    // `source` of an `io::Error` skips the error it holds.
    let inner = error.get_ref().map(|inner| inner as &(dyn Error + 'static));
    if let Some(found) = inner.and_then(of_cause) {
        return Some(found);
    }
    let fault = match error.kind() {
        io::ErrorKind::ConnectionRefused => Fault::Refused,
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::UnexpectedEof => Fault::Cut,
        io::ErrorKind::TimedOut => Fault::ConnectTimeout,
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => Fault::Unreachable,
        _ => return None,
    };
    Some((fault, None))
}

fn of_hyper(error: &hyper::Error) -> Option<Found> {
    let fault = if error.is_parse_too_large() {
        Fault::HeadTooLarge
    } else if error.is_parse() {
        Fault::NotHttp
    } else if error.is_incomplete_message() || error.is_closed() || error.is_canceled() {
        Fault::Cut
    } else {
        return None;
    };
    Some((fault, None))
}

fn text(fault: Fault, host: &str, detail: Option<&str>, sent: bool) -> String {
    let detail = detail.map(|words| format!(": {words}")).unwrap_or_default();
    match fault {
        Fault::Dns => format!("the host of `{host}` was not found"),
        Fault::Refused => format!("`{host}` refused the connection"),
        Fault::Unreachable => format!("`{host}` cannot be reached"),
        Fault::Tls => format!("the TLS handshake with `{host}` failed{detail}"),
        Fault::Proxy => format!("the proxy on the way to `{host}` failed{detail}"),
        Fault::ConnectTimeout => format!("connecting to `{host}` took too long"),
        Fault::Cut if sent => format!("`{host}` closed the connection before the end of the answer"),
        Fault::Cut => format!("`{host}` closed the connection while it was being set up"),
        Fault::NotHttp => format!("the answer of `{host}` is not HTTP"),
        Fault::HeadTooLarge => format!("the head of the answer of `{host}` is too large"),
        _ => format!("the exchange with `{host}` failed{detail}"),
    }
}
