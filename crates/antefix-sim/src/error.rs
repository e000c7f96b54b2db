//! Refusals, in the shape the API gives them.

/// A refused request.
///
/// Shape of the body: `{"type":"error","error":{"type","message"},"request_id"}`; a thread error also has
/// `error.code`, whose place is this simulator's guess (the codes are documented, where they stand is not).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ApiError {
    pub status: u16,
    pub kind: String,
    pub message: String,
    pub code: Option<String>,
    pub retry_after: Option<u64>,
}

impl ApiError {
    pub fn new(status: u16, kind: &str, message: impl Into<String>) -> Self {
        Self { status, kind: kind.to_owned(), message: message.into(), code: None, retry_after: None }
    }

    /// 400 `invalid_request_error`.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(400, "invalid_request_error", message)
    }

    /// 404 `not_found_error`.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(404, "not_found_error", message)
    }

    /// A thread error: 404 if the thread is not there, 400 otherwise (release notes of 2026-11-02).
    pub fn thread(code: &str, message: &str) -> Self {
        let (status, kind) = match code {
            "thread_not_found" => (404, "not_found_error"),
            _ => (400, "invalid_request_error"),
        };
        Self { code: Some(code.to_owned()), ..Self::new(status, kind, format!("{code}: {message}")) }
    }
}
