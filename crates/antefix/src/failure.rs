use std::fmt::Display;
use std::process::ExitCode;

use crate::out::tell;
use crate::screen::harmless;

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

    /// The user stopped it: the exit code of a process that an interrupt ended.
    pub fn interrupted(text: impl Display) -> Self {
        Self { text: text.to_string(), hint: None, code: INTERRUPTED }
    }

    /// Adds what the user can do about it.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What went wrong.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Prints it and gives the exit code.
    pub fn report(&self) -> ExitCode {
        tell!("error: {}", harmless(&self.text));
        if let Some(hint) = &self.hint {
            tell!("hint: {}", harmless(hint));
        }
        ExitCode::from(self.code)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&harmless(&self.text))
    }
}

/// What a shell reports for a process that SIGINT ended: 128 + 2.
pub const INTERRUPTED: u8 = 130;

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::failed(error)
    }
}
