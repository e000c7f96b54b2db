use std::io::{ErrorKind, stderr, stdin, stdout};
use std::path::Path;
use std::process::ExitCode;

use antefix_mcp::scripted::{self, Around};

use crate::environment;
use crate::failure::Failure;

/// Is the MCP server that a script describes, until its input ends.
///
/// # Errors
/// If the script cannot be read or is none.
pub fn serve(script: &Path) -> Result<ExitCode, Failure> {
    let script = std::fs::read_to_string(script)?;
    let around = Around {
        input: stdin().lock(),
        output: stdout().lock(),
        errors: stderr(),
        variable: &environment::variable,
    };
    match scripted::serve(&script, around) {
        // Whoever asked has gone away.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        served => Ok(ExitCode::from(served?)),
    }
}
