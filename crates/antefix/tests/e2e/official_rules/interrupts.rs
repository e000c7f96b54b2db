use std::io::{BufRead, BufReader};
use std::process::Child;

use rustix::process::{Pid, Signal, kill_process};

use crate::case::Case;
use crate::ended::Ended;

/// Waits for a line of output that holds `mark`, and gives what follows it to be read on.
fn until(child: &mut Child, mark: &str) -> impl Iterator<Item = String> + use<> {
    let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
    let mut lines = lines.map(|line| line.expect("UTF-8"));
    assert!(lines.by_ref().any(|line| line.contains(mark)), "`{mark}` is never printed");
    lines
}

fn interrupt(child: &Child) {
    kill_process(Pid::from_child(child), Signal::INT).expect("it can be interrupted");
}

fn end(child: Child, rest: impl Iterator<Item = String>) -> Ended {
    let stdout = rest.collect::<Vec<_>>().join("\n");
    let mut ended = Ended::from(child.wait_with_output().expect("it ends"));
    ended.stdout = stdout;
    ended
}

/// Interrupts once, when `mark` has been printed.
fn check_once(script: &str, mark: &str, relations: &[&str]) {
    let case = Case::new(script);
    let mut child = case.run("Trouble").args(["--output", "stream-json"]).spawn();
    let rest = until(&mut child, mark);
    case.wait_for_requests(1);
    interrupt(&child);
    end(child, rest).code(130).stdout("\"type\":\"turn_ended\"").stdout("\"reason\":\"interrupted\"");
    case.goes_on();
    assert_eq!(case.relations(), relations, "{script}");
}

#[test]
fn one_interrupt_closes_the_turn() {
    let long = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen";
    let cases = [
        (format!("text {long}\n hang before-first-block"), "request_started"),
        (format!("text {long}\n hang 1000"), "\"type\":\"text\""),
        ("tool bash {\"command\":\"echo started; sleep 600\"}".to_owned(), "started\\n"),
        ("error 529 overloaded_error Overloaded\n retry-after 600".to_owned(), "retrying"),
    ];
    for (lines, mark) in cases {
        check_once(&format!("rule\n on said Trouble\n {lines}"), mark, &["extends"]);
    }
}

#[test]
fn a_second_interrupt_ends_the_process_at_once() {
    // The command says that it was asked to end, and does not.
    let command = "trap 'echo asked' TERM; echo started; while true; do sleep 0.01; done";
    let case = Case::new(&format!("rule\n on said Trouble\n tool bash {{\"command\":\"{command}\"}}"));
    let mut child = case.run("Trouble").args(["--output", "stream-json"]).spawn();
    let mut rest = until(&mut child, "started\\n");
    interrupt(&child);
    assert!(rest.any(|line| line.contains("asked")), "the command was asked to end");
    interrupt(&child);
    end(child, rest).code(130).stderr("stopped at once");
    case.goes_on();
    assert_eq!(case.relations(), ["extends"]);
}
