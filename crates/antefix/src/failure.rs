use std::fmt::Display;
use std::process::ExitCode;

/// Why a command could not do its work.
#[derive(Debug)]
pub struct Failure {
    text: String,
    hint: Option<String>,
    code: u8,
}

impl Failure {
    /// Bad input or usage: exit code 2.
    pub fn usage(text: impl Display) -> Self {
        Self { text: text.to_string(), hint: None, code: 2 }
    }

    /// The work failed: exit code 1.
    pub fn failed(text: impl Display) -> Self {
        Self { text: text.to_string(), hint: None, code: 1 }
    }

    /// Adds what the user can do about it.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Prints it and gives the exit code.
    pub fn report(&self) -> ExitCode {
        eprintln!("error: {}", self.text);
        if let Some(hint) = &self.hint {
            eprintln!("hint: {hint}");
        }
        ExitCode::from(self.code)
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::failed(error)
    }
}
