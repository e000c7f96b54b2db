//! A cache is kept warm while a call runs longer than it lives, by the simulator's clock; and forecasts.

use std::fs;

use antefix_http::server::{Clock, ServerOptions};

use crate::case::Case;

/// A step that lasts until a file is there, and the end.
const SCRIPT: &str = "rule\n on said Wait\n on rounds 0\n tool bash {\"command\":\"until [ -e go ]; do sleep 0.05; done\"}\n\
    rule\n on any\n text It ends.\n";

const MINUTES: u64 = 60_000;

fn case() -> Case {
    Case::with(ServerOptions { clock: Clock::Virtual, ..ServerOptions::default() }, SCRIPT)
}

/// A turn whose call lasts eight minutes by the provider's clock, and what its next request reads.
fn after_eight_minutes(case: &Case, flags: [&str; 2]) -> u64 {
    let child = case.run("Wait").args(["--output", "stream-json"]).args(flags).spawn();
    let keeps_warm = flags[0] == "--keep-warm=60";
    case.wait_for_requests(1);
    for minutes in 1..=2 {
        case.advance(4 * MINUTES);
        if keeps_warm {
            case.wait_for_requests(1 + minutes);
        }
    }
    case.write("go", "");
    let output = child.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{text}");
    let last = text.lines().rfind(|line| line.contains("\"request_finished\"")).expect("a request");
    let read = last.split_once("\"read\":").and_then(|(_, rest)| rest.split(',').next());
    read.and_then(|read| read.parse().ok()).expect("what it read")
}

#[test]
fn a_call_of_eight_minutes_costs_no_cache_that_is_kept_warm() {
    let cold = case();
    assert_eq!(after_eight_minutes(&cold, ["--keep-warm=0", "--keep-warm-after=100"]), 0);
    let warm = case();
    assert!(after_eight_minutes(&warm, ["--keep-warm=60", "--keep-warm-after=100"]) > 0);
    let bodies = warm.sent();
    let first = String::from_utf8_lossy(&bodies[0].bytes).into_owned();
    let once_more = String::from_utf8_lossy(&bodies[1].bytes).into_owned();
    assert!(once_more.contains("\"max_tokens\":1,"), "{once_more}");
    let rest = |body: &str| body.split_once("\"tools\"").map(|(_, rest)| rest.to_owned());
    assert_eq!(rest(&first), rest(&once_more));
    let count = |text: &str| fs::read_to_string(warm.transcript()).unwrap_or_default().matches(text).count();
    assert!(count("\"purpose\":\"warm\"") >= 2);
    warm.is_intact();
    let bill = warm.antefix(["bill"]).ends().code(0);
    bill.stdout("requests that kept the cache warm");
    warm.antefix(["ledger", "rebuild"]).ends().code(0);
    warm.antefix(["bill"]).ends().code(0).stdout("requests that kept the cache warm");
    warm.goes_on();
}

#[test]
fn what_cannot_be_kept_warm_is_told() {
    let case = case();
    case.run("Look").args(["--keep-warm", "--cache", "off"]).ends().code(0).stderr("no markers are sent");
    let thinking = ["--keep-warm", "--thinking", "2000"];
    case.run("Look").args(thinking).ends().code(0).stderr("thinking has a budget");
    let unpriced = case.run("Look").args(["--keep-warm", "--model", "claude-nobody-knows"]);
    unpriced.ends().stderr("no price of the model is known");
    case.run("Look").arg("--keep-warm=241").ends().code(2);
    let chat = Case::chat(ServerOptions::default(), SCRIPT);
    chat.run("Look").arg("--keep-warm").ends().code(0).stderr("no markers are sent");
}

#[test]
fn a_message_of_a_session_that_goes_on_is_forecast() {
    let case = case();
    case.run("Look").ends().code(0).lacks("the cache expires");
    case.go_on("More").ends().code(0).stderr("· the cache expires in 4 min").stderr("of them read, $");
    let stream = case.go_on("More").args(["--output", "stream-json"]).ends().code(0);
    stream.stdout("\"type\":\"forecast\",\"tokens\":").stdout("\"warm_usd\":\"0.");
    let chat = Case::chat(ServerOptions::default(), SCRIPT);
    chat.run("Look").ends().code(0);
    let ended = chat.go_on("More").ends().code(0);
    ended.stderr("how long the cache lives is not known").stderr("unpriced");
}
