//! A server that follows a script; see `antefix_mcp::scripted`.

use std::io::Error;
use std::path::Path;
use std::process::ExitCode;

use antefix_mcp::scripted::serve_file;

fn main() -> Result<ExitCode, Error> {
    let path = std::env::args_os().nth(1).ok_or_else(|| Error::other("a script is needed"))?;
    let variable = |name: &str| std::env::vars_os().find(|(key, _)| key == name)?.1.into_string().ok();
    serve_file(Path::new(&path), &variable).map(ExitCode::from)
}
