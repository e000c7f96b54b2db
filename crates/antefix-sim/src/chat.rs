//! The dialect of `/v1/chat/completions`: reading and checking a request, rendering it with a chat template,
//! and the answers' JSON. What an engine keeps of a prompt is in [`cache`].

mod answer;
mod cache;
mod check;
mod choice;
mod json;
mod request;
mod stream;
mod template;
mod token;

pub(crate) use answer::{ChatUsage, Completion, compose, computed, usage};
pub(crate) use cache::{Ask, Kept, KvCache};
pub(crate) use check::check;
pub(crate) use json::{completion_body, error_body, health, model, models, props, unknown_model};
pub(crate) use request::ChatRequest;
pub(crate) use stream::{Shape, chunks};
pub(crate) use template::render;
pub(crate) use token::Token;

use crate::answer::Marks;
use crate::config::ErrorShape;
use crate::error::ApiError;

/// Where the parts of an answer are found in its bytes.
pub(crate) fn marks(error: &dyn Fn(&str, &str) -> String) -> Marks<'_> {
    Marks {
        begins: |text| text.contains("data: ") && !text.contains("\"role\":\"assistant\""),
        input: |text| text.contains("\"arguments\":") && !text.contains("\"arguments\":\"\""),
        json: ("\"choices\":", "\"choices\" "),
        error,
    }
}

/// The event of an error in the midst of a stream.
pub(crate) fn error_event(kind: &str, message: &str, shape: ErrorShape) -> String {
    let error = ApiError { code: Some(kind.to_owned()), ..ApiError::new(500, kind, message) };
    format!("data: {}\n\n", error_body(&error, shape))
}
