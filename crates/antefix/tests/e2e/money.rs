//! What a run may cost: prices, limits, and sessions of which nothing is worth keeping.

use std::fs;

use antefix_http::server::ServerOptions;
use antefix_models::Money;

use crate::case::Case;
use crate::ended::Ended;
use crate::servers::{entry, with_entries};

const SCRIPT: &str = "rule\n on said Write a summary\n text The gate opens at 6174, and all the rest is as it was before.\nrule\n on any\n text Seen.\n";

/// A price of the user's own for the model of a chat server: dollars for a million tokens.
const OWN: &str = "[[price]]\nmodel = \"sim-model\"\ninput = \"2\"\nread = \"0.5\"\noutput = \"8\"\nsource = \"contract\"\n";

fn prices(case: &Case, text: &str) {
    let folder = case.settings().parent().expect("a folder").to_owned();
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("prices.toml"), text).expect("prices");
}

/// A member of the last event of a kind in the output of a turn.
fn member(ended: &Ended, kind: &str, name: &str) -> String {
    let is_it = |line: &&str| line.contains(&format!("\"type\":\"{kind}\""));
    let line = ended.stdout.lines().rfind(is_it).unwrap_or_else(|| panic!("{kind} in {ended}"));
    let (_, rest) = line.split_once(&format!("\"{name}\":")).unwrap_or_else(|| panic!("{name} in {line}"));
    rest.split([',', '}']).next().unwrap_or_default().trim_matches('"').to_owned()
}

fn money(ended: &Ended, kind: &str, name: &str) -> Money {
    member(ended, kind, name).parse().unwrap_or_else(|_| panic!("{name} of {kind} in {ended}"))
}

/// The user's own prices were those of the bill and of nothing else: the run called its requests unpriced, and a limit
/// in money stopped it.
#[test]
fn own_prices_hold_in_the_run_as_in_the_bill() {
    let case = Case::chat(ServerOptions::default(), SCRIPT);
    case.run("Look").ends().code(0).stderr("session unpriced");
    case.go_on("More").args(["--max-usd", "1"]).ends().code(1).stderr("no known price");
    prices(&case, OWN);
    let first = case.go_on("More").args(["--max-usd", "1", "--output", "stream-json"]).ends().code(0);
    let cost = member(&first, "request_finished", "cost_usd");
    assert!(cost.starts_with("0.0"), "{first}");
    first.lacks("unpriced");
    case.antefix(["bill", "request", "--json"]).ends().code(0).stdout(&format!("\"{cost}\""));
    case.antefix(["sessions", "show"]).ends().code(0).lacks("unpriced");
    let next = case.go_on("More").args(["--output", "stream-json"]).ends().code(0);
    assert!(money(&next, "forecast", "warm_usd") < money(&next, "forecast", "cold_usd"), "{next}");
    case.go_on("More").args(["--max-usd", "0.001"]).ends().code(1).stderr("has cost $0.0");
    prices(&case, &format!("{OWN}cost = 1\n"));
    case.go_on("More").ends().code(2).stderr("`cost` is no known key");
}

/// Before a summary is asked for, a line says what that costs; the ledger says the same afterwards, whatever the length
/// of the summary.
#[test]
fn the_request_for_a_summary_costs_what_was_said() {
    for case in [Case::new(SCRIPT), Case::chat(ServerOptions::default(), SCRIPT)] {
        prices(&case, OWN);
        case.write("a.txt", &"some words\n".repeat(400));
        case.run(&"Look at these words. ".repeat(400)).ends().code(0);
        case.go_on("More").ends().code(0);
        let compacted = case.go_on_without_words(&["--compact", "--output", "stream-json"]).ends().code(0);
        let asked = money(&compacted, "compaction_started", "asked_usd");
        let whole = money(&compacted, "compaction_started", "summary_usd");
        let tokens = |kind, name| -> i128 { member(&compacted, kind, name).parse().expect("a number") };
        let a_token = (whole - asked).0 / tokens("compaction_started", "summary_tokens");
        let expected = asked + Money(a_token * tokens("request_finished", "output"));
        let billed = money(&compacted, "request_finished", "cost_usd");
        assert!(
            expected.0.abs_diff(billed.0) * 10 <= billed.0.unsigned_abs(),
            "{expected} {billed}: {compacted}"
        );
    }
}

/// It made a session that was empty, and went on from nothing.
#[test]
fn a_summary_of_no_session_is_refused() {
    let case = Case::new(SCRIPT);
    let refused = case.antefix(["run", "--compact"]).ends().code(2);
    refused.stderr("there is no session").stderr("hint: add --continue");
    assert_eq!(fs::read_dir(case.state()).expect("a folder").count(), 0);
    case.go_on_without_words(&["--compact"]).ends().code(2).stderr("there is no session of");
    assert_eq!(case.transcripts().len(), 0);
}

/// A required server that did not come up left a session of 1970 behind, which the next `--continue` went on with.
#[test]
fn a_run_that_does_not_begin_leaves_no_session() {
    let case = Case::new(SCRIPT);
    let broken = || vec![entry(&case, "gone", ",\"required\":true").replace("scripted", "no-such")];
    with_entries(case.run("Look"), &broken()).ends().code(1).stderr("is required");
    assert_eq!(case.transcripts().len(), 0);
    case.antefix(["sessions", "--all"]).ends().code(0).stderr("no sessions");
    case.go_on("More").ends().code(2).stderr("there is no session of");
    case.run("Look").ends().code(0);
    let (session, before) = (case.session(), case.transcripts());
    with_entries(case.go_on("More"), &broken()).ends().code(1);
    with_entries(case.go_on("More").arg("--fork"), &broken()).ends().code(1);
    assert_eq!(case.transcripts(), before, "what was there stays, and no copy is left");
    case.go_on("More").ends().code(0);
    assert_eq!(case.session(), session);
}

/// A share that cannot hold is said to be so once, and is not paid for after every result.
#[test]
fn a_share_that_cannot_hold_is_told() {
    let case = Case::new(
        "rule\n on said Write a summary\n text Seen so far.\nrule\n times 12 global\n on said Look\n tool read {\"path\":\"a.txt\"}\nrule\n on any\n text Seen.\n",
    );
    case.write("a.txt", &"some words\n".repeat(40));
    let told = case.run("Look").args(["--auto-compact", "0.001"]).ends().code(0);
    let told = told.stderr("too small a share of the context window to hold the head and a summary");
    assert_eq!(told.stderr.matches("too small a share").count(), 1, "{told}");
    let asked = case
        .sent()
        .iter()
        .filter(|sent| String::from_utf8_lossy(&sent.bytes).contains("Write a summary"))
        .count();
    assert!(asked <= 2, "{asked} summaries in twelve steps");
    case.run("Look").ends().code(0).lacks("too small a share");
}

/// Any word was sent, and the provider refused the request.
#[test]
fn an_effort_that_the_model_does_not_take_is_refused() {
    let case = Case::new(SCRIPT);
    for (model, effort, hint) in [
        ("claude-sonnet-5-5", "banana", "one of low, medium, high, xhigh, max"),
        ("claude-sonnet-4-6", "xhigh", "one of low, medium, high, max"),
        ("claude-haiku-4-5", "low", "leave `--effort` out"),
    ] {
        let refused = case.run("Look").args(["--model", model, "--effort", effort]).ends().code(2);
        refused.stderr(&format!("takes no effort `{effort}`")).stderr(hint);
    }
    assert_eq!(case.transcripts().len(), 0);
    case.run("Look").args(["--effort", "xhigh"]).ends().code(0);
    case.go_on("More").args(["--effort", "banana"]).ends().code(2);
    // A model that nobody knows may take any.
    case.run("Look")
        .args(["--model", "claude-nobody-knows", "--effort", "banana"])
        .ends()
        .code(1)
        .stderr("404");
    let chat = Case::chat(ServerOptions::default(), SCRIPT);
    chat.run("Look").args(["--effort", "banana"]).ends().code(2).stderr("none, minimal, low");
    chat.run("Look").args(["--effort", "minimal"]).ends().code(0);
}

/// It said that there was no key and named another address than the one that requests went to.
#[test]
fn doctor_looks_where_a_run_looks() {
    let case = Case::new(SCRIPT);
    fs::create_dir_all(case.settings().parent().expect("a folder")).expect("a folder");
    let write = |text: &str| fs::write(case.settings(), text).expect("settings");
    let doctor = || case.antefix(["doctor"]).without("ANTHROPIC_API_KEY").without("ANTHROPIC_BASE_URL");
    doctor().ends().code(1).stdout("no key").stdout("requests go to the Claude API");
    write("base_url = \"http://127.0.0.1:9\"\nkey_helper = \"echo key\"\n");
    let found = doctor().ends().code(0).stdout("requests go to http://127.0.0.1:9 (user settings");
    found.stdout("`key_helper` names a command (user settings");
    let first = case.antefix(["doctor"]).ends().code(0).stdout("(ANTHROPIC_BASE_URL)");
    first.stdout("ANTHROPIC_API_KEY is set");
    write("base_url = \"http://me:secret@127.0.0.1:9\"\n");
    doctor().ends().code(1).stdout("must not hold a user or password").lacks("secret");
    write("base_url = 7\n");
    doctor().ends().code(1).stdout("✗ settings");
}
