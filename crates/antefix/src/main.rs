//! The `antefix` command.

mod asking;
mod attach;
mod cli;
mod commands;
mod compaction;
mod context_management;
mod endpoint;
mod environment;
mod failure;
mod folders;
mod forecast;
mod headline;
mod input;
mod lane;
mod ledger;
mod offered;
mod out;
mod preset;
mod price_file;
mod screen;
mod servers;
mod settings;
mod setup;
mod signals;
mod stream_json;
mod surroundings;
mod table;
mod text;

use std::process::ExitCode;

use clap::Parser;

use cli::{Cli, Command};
use environment::Environment;

fn main() -> ExitCode {
    let arguments = std::env::args_os().skip(1);
    if let Some(result) = antefix_tools::sandbox::helper(arguments, environment::all_but(None).into_iter()) {
        return result.unwrap_or_else(|error| {
            out::tell!("antefix: {error}");
            ExitCode::from(NOT_STARTED)
        });
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            drop(error.print());
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let environment = Environment::read();
    let result = match cli.command {
        Command::Demo(args) => commands::demo::demo(&args, &environment),
        Command::Run(args) => commands::run::run(&args, &environment),
        Command::Chat(args) => commands::chat::chat(&args, &environment),
        Command::Sessions(args) => commands::sessions::sessions(&args, &environment),
        Command::Verify(args) => commands::verify::verify(&args, &environment),
        Command::Sim(args) => commands::sim::sim(&args),
        Command::Diff(args) => commands::diff::diff(&args, &environment),
        Command::Explain(args) => commands::explain::explain(&args, &environment),
        Command::Plan(args) => commands::plan::plan(&args),
        Command::Tools(args) => commands::tools::tools(&args, &environment),
        Command::Growth(args) => commands::growth::growth(&args, &environment),
        Command::Bill(args) => commands::bill::bill(&args, &environment),
        Command::Whatif(args) => commands::whatif::whatif(&args, &environment),
        Command::Ledger(args) => commands::ledger::ledger(&args, &environment),
        Command::Prices(args) => commands::prices::prices(&args, &environment),
        Command::Check(args) => commands::check::check(&args),
        Command::Selftest(args) => commands::selftest::selftest(&args, &environment),
        Command::Mcp(args) => commands::mcp::mcp(&args, &environment),
        Command::Doctor(args) => commands::doctor::doctor(&args, &environment),
        Command::Conform(args) => commands::conform::conform(&args),
    };
    match result {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

/// What a shell gives for a command that could not be started.
const NOT_STARTED: u8 = 126;
