//! What the simulator predicts, against what a provider reports.

use std::fs;

use antefix_http::server::{ServerOptions, SimServer};
use antefix_sim::{Config, Script, Simulator};
use antefix_wire::json::Body;

use crate::case::Case;

const ANSWERS: &str = "rule\n  text Yes.\n";

#[test]
fn a_provider_that_keeps_its_rules_passes_the_self_test() {
    let case = Case::new(ANSWERS);
    case.antefix(["selftest"]).ends().code(0).stdout("would send six requests").stderr("--live");
    assert_eq!(case.sent().len(), 0, "nothing is sent without --live");
    case.antefix(["selftest", "--live", "--max-usd", "0.0001"])
        .ends()
        .code(2)
        .stderr("--max-usd raises the limit");
    case.antefix(["selftest", "--live", "--model", "no-such-model"]).ends().code(2).stderr("no price");
    assert_eq!(case.sent().len(), 0, "nothing is sent beyond the limit");
    let ended = case.antefix(["selftest", "--live", "--max-usd", "0.50"]).ends().code(0).stderr("spent $0.0");
    assert_eq!(ended.stdout.matches('✓').count(), 6, "{ended}");
    assert_eq!(case.sent().len(), 6);
    case.hides_the_key();
    // The second run finds nothing of the first.
    case.antefix(["selftest", "--live"]).ends().code(0);
}

/// A provider that forgets, and one that takes no prefix of that length: each disagreement is shown.
#[test]
fn a_provider_with_other_rules_is_shown_to_disagree() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.expect("a runtime");
    let forgets = Config { eviction_per_mille: 1000, ..Config::default() };
    let mut rules = Config::default().rules_of("claude-haiku-4-5");
    rules.minimum.stated.0 = 100_000;
    let takes_none = Config { rules: vec![("claude-haiku-4-5".to_owned(), rules)], ..Config::default() };
    let case = Case::new(ANSWERS);
    for (config, right, shown) in [
        (forgets, 2, "reported:  reads nothing, writes for five minutes"),
        (takes_none, 0, "reported:  reads nothing, writes nothing"),
    ] {
        let simulator = Simulator::new(config, Script::default_script());
        let server =
            runtime.block_on(SimServer::start(ServerOptions::default(), simulator)).expect("a free port");
        let ended = case.antefix(["selftest", "--live", "--base-url", &server.base_url()]).ends().code(1);
        let ended = ended.stdout("predicted: reads all that request 1 had in the cache").stdout(shown);
        assert_eq!(ended.stdout.matches('✓').count(), right, "{ended}");
        runtime.block_on(server.shutdown());
    }
}

#[test]
fn a_captured_trace_is_held_against_the_prediction() {
    let case = Case::new(ANSWERS);
    case.run("One?").ends().code(0);
    case.go_on("Two?").ends().code(0);
    let trace = case.capture();
    let check = |code: i32| {
        let trace = trace.to_string_lossy().into_owned();
        case.antefix(["sim", "--check", &trace, "--json"]).ends().code(code)
    };
    let body = Body::parse(check(0).stdout).expect("JSON");
    assert_eq!(
        body.root().pointer("/requests/1/agrees").map_or("", |agrees| agrees.raw()),
        "true",
        "{}",
        body.text()
    );

    let path = trace.join("000002.meta.json");
    let meta = fs::read_to_string(&path).expect("the second request's");
    let (front, rest) = meta.split_once("\"cache_read_input_tokens\":").expect("a usage");
    let end = rest.find(|letter: char| !letter.is_ascii_digit()).expect("more");
    fs::write(&path, format!("{front}\"cache_read_input_tokens\":0{}", &rest[end..])).expect("written");
    let ended = check(1);
    assert!(ended.stdout.contains("\"words\":\"reads nothing"), "{ended}");
    let folder = case.root().to_string_lossy().into_owned();
    case.antefix(["sim", "--check", &folder]).ends().code(2).stderr("--capture DIR");
}
