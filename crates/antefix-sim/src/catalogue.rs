//! The models that can be listed.

use crate::answer::quoted;
use crate::error::ApiError;

/// The body of `GET /v1/models`.
pub(crate) fn list() -> String {
    let data: Vec<String> = MODELS.iter().map(|id| entry(id)).collect();
    let (first, last) =
        (MODELS.first().copied().unwrap_or_default(), MODELS.last().copied().unwrap_or_default());
    format!(
        r#"{{"data":[{}],"has_more":false,"first_id":{},"last_id":{}}}"#,
        data.join(","),
        quoted(first),
        quoted(last)
    )
}

/// The body of `GET /v1/models/{id}`.
pub(crate) fn one(id: &str) -> Result<String, ApiError> {
    MODELS.iter().find(|model| **model == id).map(|id| entry(id)).ok_or_else(|| unknown(id))
}

/// The answer to an unknown model.
pub(crate) fn unknown(id: &str) -> ApiError {
    ApiError::not_found(format!("model: {id}"))
}

fn entry(id: &str) -> String {
    let id = quoted(id);
    format!(r#"{{"type":"model","id":{id},"display_name":{id},"created_at":"2026-01-01T00:00:00Z"}}"#)
}

/// Ids of the API's model list (`types/model.py` of the Python SDK 2.14.0, November 2026), newest first.
const MODELS: [&str; 19] = [
    "claude-fable-5-2",
    "claude-mythos-5-2",
    "claude-haiku-5-5",
    "claude-sonnet-5-5",
    "claude-fable-5-1",
    "claude-opus-5-5",
    "claude-mythos-5-1",
    "claude-sonnet-5",
    "claude-fable-5",
    "claude-mythos-5",
    "claude-opus-5",
    "claude-opus-4-8",
    "claude-opus-4-7",
    "claude-mythos-preview",
    "claude-opus-4-6",
    "claude-sonnet-4-6",
    "claude-haiku-4-5",
    "claude-opus-4-5",
    "claude-sonnet-4-5",
];
