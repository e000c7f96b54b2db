//! An answer on its way in.

use std::time::Duration;

use bytes::Bytes;

use super::classify;
use crate::error::{Fault, HttpError, in_words};

/// An answer: its head is here, its body comes chunk by chunk as the connection delivers it.
pub struct Incoming {
    /// The status code.
    pub status: u16,
    /// The headers in the order they came, names in lower case; bytes that are not UTF-8 are replaced.
    pub headers: Vec<(String, String)>,
    response: reqwest::Response,
    host: String,
    idle: Duration,
}

impl Incoming {
    pub(super) fn new(response: reqwest::Response, host: String, idle: Duration) -> Self {
        let headers = response
            .headers()
            .iter()
            .map(|(name, value)| {
                (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
            })
            .collect();
        Self { status: response.status().as_u16(), headers, response, host, idle }
    }

    /// The first header of that name, which is given in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Sets how long the body may be silent from now on.
    pub fn set_idle_timeout(&mut self, idle: Duration) {
        self.idle = idle;
    }

    /// The next bytes of the body as they came, `None` at its end.
    ///
    /// # Errors
    /// [`Fault::Cut`] or [`Fault::IdleTimeout`]; what came before has been handed out.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, HttpError> {
        match tokio::time::timeout(self.idle, self.response.chunk()).await {
            Ok(Ok(chunk)) => Ok(chunk),
            Ok(Err(error)) => Err(classify::failed(&error, &self.host, true)),
            Err(_) => {
                let text = format!("`{}` sent nothing for {}", self.host, in_words(self.idle));
                Err(HttpError::new(Fault::IdleTimeout, true, text))
            }
        }
    }

    /// The rest of the body, at most `limit` bytes of it; the second value says whether that is all.
    ///
    /// # Errors
    /// As [`chunk`](Incoming::chunk).
    pub async fn read_up_to(&mut self, limit: usize) -> Result<(Vec<u8>, bool), HttpError> {
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            body.extend_from_slice(&chunk);
            if body.len() > limit {
                body.truncate(limit);
                return Ok((body, false));
            }
        }
        Ok((body, true))
    }
}

impl std::fmt::Debug for Incoming {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Incoming")
            .field("status", &self.status)
            .field("headers", &self.headers)
            .finish_non_exhaustive()
    }
}
