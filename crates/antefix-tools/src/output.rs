//! What a call gives back.

use crate::{FileFact, ShellState};

/// What a call gives back: the content for the model, and the facts for the session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// What the model is shown; never empty, and no text in it is empty.
    pub content: Vec<Content>,
    /// Whether the call failed; the content says why.
    pub is_error: bool,
    /// What the model now knows about files; not part of the prompt.
    pub facts: Vec<FileFact>,
    /// Where the next shell command starts, where this call has changed it; not part of the prompt.
    pub shell: Option<ShellState>,
    /// The number of the job that this call has started; not part of the prompt.
    pub job: Option<u64>,
    /// The session of the subagent that has done it; not part of the prompt.
    pub subagent: Option<String>,
}

impl Output {
    /// A successful result of one text; an empty text becomes `(empty)`, since providers refuse empty ones.
    pub fn text(text: impl Into<String>) -> Self {
        let text = Some(text.into()).filter(|text| !text.is_empty());
        let text = text.unwrap_or_else(|| "(empty)".to_owned());
        Self {
            content: vec![Content::Text(text)],
            is_error: false,
            facts: Vec::new(),
            shell: None,
            job: None,
            subagent: None,
        }
    }

    /// A failed result of one text.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    /// Adds a fact about a file.
    pub fn with_fact(mut self, fact: FileFact) -> Self {
        self.facts.push(fact);
        self
    }

    /// The texts of the content, joined by line ends; all else is left out.
    pub fn as_text(&self) -> String {
        let texts = self.content.iter().filter_map(|content| match content {
            Content::Text(text) => Some(text.as_str()),
            Content::Image { .. } | Content::Document { .. } | Content::ToolReference { .. } => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}

impl From<Result<Output, Failure>> for Output {
    fn from(result: Result<Output, Failure>) -> Self {
        result.unwrap_or_else(|failure| Self::error(failure.0))
    }
}

/// A piece of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Text, not empty.
    Text(String),
    /// An image.
    Image {
        /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
        media_type: String,
        /// The file in standard base64 with padding.
        base64: String,
    },
    /// A document.
    Document {
        /// `application/pdf`.
        media_type: String,
        /// The file in standard base64 with padding.
        base64: String,
    },
    /// A deferred tool of the request, whose definition is shown here; it can be called from now on.
    ToolReference {
        /// The tool's name.
        name: String,
    },
}

/// Why a call failed, in words for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Failure(pub String);

impl Failure {
    /// Makes a failure of a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}
