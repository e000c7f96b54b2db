//! The scripted model: rules that say what is answered to which request.

/// The rules of a scripted model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {}

impl Script {
    /// Reads a script; the format is described in `docs/formats/script.md`.
    ///
    /// # Errors
    /// [`ScriptError`] names the line.
    pub fn parse(_text: &str) -> Result<Self, ScriptError> {
        Ok(Self {})
    }

    /// Says plainly that it is a simulator, and calls a tool when the user writes `use TOOL {json}`.
    pub fn default_script() -> Self {
        Self {}
    }
}

/// A script that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct ScriptError {
    /// Number of the line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: String,
}
