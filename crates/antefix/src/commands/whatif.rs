//! `antefix whatif`: what a session would have cost under other conditions, by the simulator.

mod condition;
mod history;
mod print;
mod replay;
mod session;

use std::process::ExitCode;

use crate::cli::{What, WhatifArgs};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::out::say;
use crate::price_file;

use condition::Plan;
use replay::Outcome;

/// `antefix whatif`
pub fn whatif(args: &WhatifArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    let steps = session::steps(&args.session, environment)?;
    let book = price_file::book(environment)?;
    let ask =
        condition::Ask { steps: &steps, model: args.model.as_deref(), reminder: args.reminder.as_deref() };
    let run = |what: What| match ask.plan(what) {
        Ok(plan) => {
            replay::replay(&steps, &plan, &book).map(|outcome| Answer { what, found: Ok((plan, outcome)) })
        }
        Err(reason) => Ok(Answer { what, found: Err(reason) }),
    };
    if let [one, other] = args.ab.as_slice() {
        let answers = [run(*one)?, run(*other)?];
        say!("{}", if args.json { print::json(&steps, &answers) } else { print::messages(&steps, &answers) });
        return Ok(ExitCode::SUCCESS);
    }
    let answers = What::ALL.iter().map(|what| run(*what)).collect::<Result<Vec<_>, _>>()?;
    say!("{}", if args.json { print::json(&steps, &answers) } else { print::conditions(&steps, &answers) });
    Ok(ExitCode::SUCCESS)
}

/// What came of a condition: how it was done and what it cost, or why it does not apply to the session.
pub struct Answer {
    /// The condition.
    pub what: What,
    /// What came of it.
    pub found: Result<(Plan, Outcome), String>,
}
