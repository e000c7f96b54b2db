//! `antefix explain`: why a prompt cache broke, from request bodies, a capture, a session or a case file.

mod case;
mod render;
mod report;
pub mod source;
mod speaker;

use std::process::ExitCode;

use super::bill::gate;
use crate::cli::ExplainArgs;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::out::say;

/// `antefix explain`
pub fn explain(args: &ExplainArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    let source = source::open(&args.inputs, environment)?;
    let mut report = report::report(&source)?;
    if args.redact {
        report.redact();
    }
    if args.json {
        say!("{}", render::json(&report));
    } else {
        render::print(&report, environment.colour && std::io::IsTerminal::is_terminal(&std::io::stdout()));
    }
    if args.fail_under.is_some() {
        return Ok(gate(report.steady, args.fail_under));
    }
    Ok(ExitCode::from(u8::from(report.is_broken())))
}
