//! What came of the conditions, for people and as JSON.

use antefix_ledger::Ratio;
use antefix_models::{Money, Tokens};

use super::Answer;
use super::replay::Outcome;
use super::session::Step;
use crate::cli::What;
use crate::out::width;
use crate::screen::harmless;
use crate::stream_json::{Object, SCHEMA_VERSION, array, money};
use crate::table::{Table, wrapped};
use crate::text::{percent, short};

/// A line for each condition.
pub fn conditions(steps: &[Step], answers: &[Answer]) -> String {
    let as_sent =
        answers.iter().find(|answer| answer.what == What::AsSent).and_then(outcome).and_then(Outcome::cost);
    let mut table = Table::new(&[
        "condition",
        ">input",
        ">cache read",
        ">cost",
        ">against as sent",
        ">extra requests",
        "what it means",
    ])
    .spare(&["extra requests"]);
    for Answer { what, found } in answers {
        let name = what.name().to_owned();
        match found {
            Ok((plan, outcome)) => {
                let cost = outcome.cost();
                let parts = [plan.note.as_str(), &lost(outcome)].map(str::to_owned);
                let means: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
                table.line([
                    name,
                    short(outcome.read().whole.0),
                    percent(outcome.read().permille()),
                    shown(cost),
                    change(as_sent, cost),
                    outcome.extra.to_string(),
                    means.join("; "),
                ]);
            }
            Err(reason) => {
                let none = || "–".to_owned();
                let means = format!("does not apply: {}", harmless(reason));
                table.line([name, none(), none(), none(), none(), none(), means]);
            }
        }
    }
    let mut lines = fitted(&introduction(steps, answers));
    lines.extend(table.lines());
    lines.extend(fitted(REMARK));
    lines.join("\n")
}

/// The table of two conditions: each message by itself, and the session so far.
pub fn messages(steps: &[Step], answers: &[Answer; 2]) -> String {
    let mut lines = fitted(&introduction(steps, answers));
    for Answer { what, found } in answers {
        if let Err(reason) = found {
            lines.push(format!("{} does not apply: {}", what.name(), harmless(reason)));
        }
    }
    let both: Vec<&Outcome> = answers.iter().filter_map(outcome).collect();
    let [one, other] = both.as_slice() else { return lines.join("\n") };
    let [first, second] = answers.each_ref().map(|answer| answer.what.name());
    lines.push(format!(
        "A = {first}, B = {second}; cache read of all input of the message, and of the session so far"
    ));
    let mut table =
        Table::new(&["message", ">A message", ">A so far", ">A cost", ">B message", ">B so far", ">B cost"]);
    let mut numbers: Vec<u64> = steps.iter().map(|step| step.message).collect();
    numbers.dedup();
    for number in &numbers {
        let mut cells = vec![number.to_string()];
        for outcome in [one, other] {
            let own = part(outcome, |message| message == *number);
            let so_far = part(outcome, |message| message <= *number);
            cells.extend([percent(own.0.permille()), percent(so_far.0.permille()), shown(own.1)]);
        }
        table.line(cells);
    }
    table.rule();
    let total =
        |outcome: &Outcome| [String::new(), percent(outcome.read().permille()), shown(outcome.cost())];
    table.line([vec!["all".to_owned()], total(one).to_vec(), total(other).to_vec()].concat());
    lines.extend(table.lines());
    lines.extend(fitted(REMARK));
    lines.join("\n")
}

/// All of it as one object.
pub fn json(steps: &[Step], answers: &[Answer]) -> String {
    let mut object = Object::new();
    object.number("schema_version", SCHEMA_VERSION).number("requests", steps.len() as u64);
    object.raw("billed", &ratio(billed(steps)));
    object.raw("conditions", &array(answers.iter().map(one)));
    object.close()
}

fn one(answer: &Answer) -> String {
    let mut object = Object::new();
    object.text("condition", answer.what.name());
    match &answer.found {
        Err(reason) => {
            object.boolean("applies", false).text("reason", reason);
        }
        Ok((plan, outcome)) => {
            object.boolean("applies", true).text("note", &plan.note).text("lost", &lost(outcome));
            object.raw("read_of_input", &ratio(outcome.read())).raw("cost_usd", &money(outcome.cost()));
            object.number("extra_requests", outcome.extra);
            object.raw(
                "requests",
                &array(outcome.requests.iter().map(|request| {
                    let mut row = Object::new();
                    row.number("message", request.message).number("read", request.counts.read.0);
                    row.number("write_5m", request.counts.write_5m.0)
                        .number("write_1h", request.counts.write_1h.0);
                    row.number("ordinary", request.counts.uncached.0)
                        .number("output", request.counts.output.0);
                    row.raw("cost_usd", &money(request.cost));
                    row.close()
                })),
            );
        }
    }
    object.close()
}

fn ratio(ratio: Ratio) -> String {
    let mut object = Object::new();
    object.number("part", ratio.part.0).number("whole", ratio.whole.0);
    object.close()
}

fn outcome(answer: &Answer) -> Option<&Outcome> {
    answer.found.as_ref().ok().map(|(_, outcome)| outcome)
}

fn lost(outcome: &Outcome) -> String {
    if outcome.lost.is_empty() { String::new() } else { format!("lost: {}", outcome.lost) }
}

/// Reads and cost of the messages that are wanted.
fn part(outcome: &Outcome, wanted: impl Fn(u64) -> bool) -> (Ratio, Option<Money>) {
    let own = || outcome.requests.iter().filter(|request| wanted(request.message));
    let part = own().map(|request| request.counts.read).sum();
    let whole = own().map(|request| request.counts.prompt()).sum();
    (Ratio { part, whole }, own().map(|request| request.cost).sum())
}

fn shown(cost: Option<Money>) -> String {
    cost.map_or_else(|| "unpriced".to_owned(), |cost| format!("{cost:.4}"))
}

fn change(from: Option<Money>, to: Option<Money>) -> String {
    let permille =
        from.zip(to).filter(|(from, _)| from.0 > 0).map(|(from, to)| (to.0 - from.0) * 1000 / from.0);
    permille.map_or_else(
        || "–".to_owned(),
        |permille| {
            let sign = if permille < 0 { '−' } else { '+' };
            format!("{sign}{}.{} %", permille.abs() / 10, permille.abs() % 10)
        },
    )
}

/// What the provider billed of the session's input.
fn billed(steps: &[Step]) -> Ratio {
    let used = || steps.iter().filter_map(|step| step.used);
    let part: Tokens = used().map(|row| row.counts.read).sum();
    Ratio { part, whole: used().map(|row| row.counts.prompt()).sum() }
}

/// How near the simulator comes to what was billed.
fn introduction(steps: &[Step], answers: &[Answer]) -> String {
    let real = billed(steps);
    let simulated =
        answers.iter().find(|answer| answer.what == What::AsSent).and_then(outcome).map(Outcome::read);
    let beside = simulated.map_or_else(String::new, |simulated| {
        format!("; the simulator gives {} of {}", percent(simulated.permille()), short(simulated.whole.0))
    });
    format!(
        "{} requests; billed: {} of {} input tokens were read from the cache{beside}",
        steps.len(),
        percent(real.permille()),
        short(real.whole.0)
    )
}

/// A text in lines that the terminal has room for.
fn fitted(text: &str) -> Vec<String> {
    wrapped(text, width().unwrap_or(usize::MAX))
}

const REMARK: &str = "\
simulated: 3.5 bytes count as a token, the model is taken to answer the same, and costs are at the prices of the day; \
models that bind thinking to their history refuse a changed one";
