//! A server that follows a script; see `antefix_mcp::scripted`.

use std::io::{Error, ErrorKind, stderr, stdin, stdout};
use std::process::ExitCode;

use antefix_mcp::scripted::{Around, serve};

fn main() -> Result<ExitCode, Error> {
    let path = std::env::args_os().nth(1).ok_or_else(|| Error::other("a script is needed"))?;
    let script = std::fs::read_to_string(path)?;
    let variable = |name: &str| std::env::vars_os().find(|(key, _)| key == name)?.1.into_string().ok();
    let around =
        Around { input: stdin().lock(), output: stdout().lock(), errors: stderr(), variable: &variable };
    match serve(&script, around) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        served => served.map(ExitCode::from),
    }
}
