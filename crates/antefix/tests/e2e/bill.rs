//! The ledger, the bill, prices and the check of a prompt's frozen part, through the command line.

use std::fs;

use antefix_wire::json::{Body, Node};

use crate::case::Case;
use crate::ended::Ended;

const ANSWERS: &str = "rule\n  text Yes.\n";

fn parsed(ended: &Ended) -> Body {
    Body::parse(ended.stdout.clone()).unwrap_or_else(|error| panic!("{error}\n{ended}"))
}

fn raw<'a>(body: &'a Body, pointer: &str) -> &'a str {
    body.root().pointer(pointer).map_or("(nothing)", Node::raw)
}

/// The rows of the ledger, but for when they were sent.
fn export(case: &Case) -> Vec<String> {
    let ended = case.antefix(["ledger", "export", "--format", "csv"]).ends().code(0);
    ended.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn the_bill_is_of_each_request_once_and_the_ledger_can_be_made_anew() {
    let case = Case::new(ANSWERS);
    case.run("One?").ends().code(0);
    case.go_on("Two?").ends().code(0);
    case.go_on("Three?").ends().code(0);
    // A fork holds copies of the requests before it; they are not its own.
    case.go_on("Four?").arg("--fork").ends().code(0);
    assert_eq!(case.sent().len(), 4);

    let bill = parsed(&case.antefix(["bill", "session", "--json", "--timezone", "UTC"]).ends().code(0));
    for (pointer, expect) in [
        ("/total/requests", "4"),
        ("/total/unpriced", "0"),
        ("/total/waste_usd", "\"0\""),
        ("/total/residual_usd", "\"0\""),
        ("/total/prefix_kept/ratio", "1.000"),
        ("/total/rounds", "3"),
        ("/total/set_aside", "1"),
        ("/lines/0/account/requests", "3"),
        ("/lines/1/account/requests", "1"),
        ("/unpriced_models", "[]"),
    ] {
        assert_eq!(raw(&bill, pointer), expect, "{pointer}\n{}", bill.text());
    }
    let spent = case.antefix(["sessions", "show", "--json"]).ends().code(0);
    let last = spent.stdout.rsplit("\"cost_usd\":\"").next().and_then(|rest| rest.split('"').next());
    let message = parsed(&case.antefix(["bill", "message", "--json"]).ends().code(0));
    assert_eq!(raw(&message, "/lines/3/account/actual_usd"), format!("\"{}\"", last.expect("a cost")));

    let rows = export(&case);
    assert_eq!(rows.len(), 5, "a line of names and four rows: {rows:#?}");
    assert_eq!(export(&case), rows, "reading changes nothing");
    case.antefix(["ledger", "rebuild"]).ends().code(0).stdout("4 rows of 2 sessions");
    assert_eq!(export(&case), rows, "rebuilt");
    for name in ["ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm"] {
        let _ = fs::remove_file(case.state().join("antefix").join(name));
    }
    assert_eq!(export(&case), rows, "made anew");
    fs::write(
        case.state().join("antefix/ledger.sqlite"),
        "garbage of more than one hundred bytes ".repeat(9),
    )
    .unwrap();
    case.antefix(["bill"]).ends().code(1).stderr("ledger.sqlite").stderr("antefix ledger rebuild");
    case.antefix(["ledger", "rebuild"]).ends().code(0).stdout("4 rows of 2 sessions");
    assert_eq!(export(&case), rows, "mended");
}

/// Rows are there when the request has ended, whatever becomes of the transcript.
#[test]
fn a_row_is_written_as_its_request_ends() {
    let case = Case::new(ANSWERS);
    case.run("One?").ends().code(0);
    let sessions = case.state().join("antefix/sessions");
    fs::rename(&sessions, case.root().join("away")).expect("the sessions move");
    let rows = export(&case);
    assert_eq!(rows.len(), 2, "{rows:#?}");
}

/// A provider that has forgotten all: the tokens were paid for again, and the verdict says that nothing we sent did it.
#[test]
fn a_loss_is_answered_for_and_fails_the_gate() {
    let case = Case::new(ANSWERS);
    let run = || case.run("Again?").args(["--provider", "sim"]);
    run().ends().code(0);
    run().arg("--continue").args(["--fail-under", "0"]).ends().code(0);
    run().arg("--continue").args(["--fail-under", "0.5"]).ends().code(1).stderr("below 50.0 %: 0.0 %");
    let bill = case.antefix(["bill", "--json"]).ends().code(0);
    let body = parsed(&bill);
    for (pointer, expect) in [
        ("/total/requests", "3"),
        ("/total/waste/0/kind", "\"provider.suspected\""),
        ("/total/waste/0/requests", "2"),
        ("/total/residual_usd", "\"0\""),
        ("/total/prefix_kept/part", "0"),
    ] {
        assert_eq!(raw(&body, pointer), expect, "{pointer}\n{bill}");
    }
    case.antefix(["bill", "--fail-under", "0.5"]).ends().code(1).stdout("provider.suspected");
    case.antefix(["bill", "--fail-under", "5"]).ends().code(2);
    let explain = || case.antefix(["explain", &case.session()]);
    explain().args(["--fail-under", "0.5"]).ends().code(1).stderr("below 50.0 %: 0.0 %");
    explain().args(["--fail-under", "0"]).ends().code(0);
}

#[test]
fn the_users_own_prices_win_and_are_shown_as_such() {
    let case = Case::new(ANSWERS);
    case.run("One?").ends().code(0);
    let folder = case.root().join("config/antefix");
    fs::create_dir_all(&folder).expect("a folder");
    let row = |rest: &str| {
        format!(
            "[[price]]\nmodel = \"claude-sonnet-5-5\"\ninput = \"0\"\noutput = \"1000000\"\nsource = \"contract\"\n{rest}"
        )
    };
    fs::write(folder.join("prices.toml"), row("")).expect("a file");
    case.antefix(["prices", "--model", "sonnet-5-5"]).ends().code(0).stdout("your own: contract");
    let bill = parsed(&case.antefix(["bill", "--json"]).ends().code(0));
    let output = raw(&bill, "/total/used/output");
    assert_eq!(raw(&bill, "/total/actual_usd"), format!("\"{output}\""), "a dollar for each token of output");
    fs::write(folder.join("prices.toml"), row("cost = 1\n")).expect("a file");
    case.antefix(["bill"]).ends().code(2).stderr("`cost` is no known key");
}

#[test]
fn a_price_is_of_its_day() {
    let case = Case::new(ANSWERS);
    let read = |day: &str| {
        let ended = case.antefix(["prices", "--model", "sonnet-5-5", "--json", "--at", day]).ends().code(0);
        raw(&parsed(&ended), "/prices/0/read").to_owned()
    };
    assert_eq!((read("2026-10-06"), read("2026-10-07")), ("\"0.2\"".to_owned(), "\"0.1\"".to_owned()));
    case.antefix(["prices", "--model", "none-such"]).ends().code(2).stderr("--all");
}

#[test]
fn the_frozen_part_of_a_prompt_is_held_against_a_baseline() {
    let case = Case::new(ANSWERS);
    let anthropic = |tools: &str, system: &str, said: &str| {
        format!(
            r#"{{"model":"m","max_tokens":9,"tools":[{tools}],"system":"{system}","messages":[{{"role":"user","content":"{said}"}}]}}"#
        )
    };
    let chat = |tools: &str, system: &str, said: &str| {
        let tools = format!(r#"{{"type":"function","function":{tools}}}"#);
        format!(
            r#"{{"model":"m","tools":[{tools}],"messages":[{{"role":"system","content":"{system}"}},{{"role":"user","content":"{said}"}}]}}"#
        )
    };
    let tool = r#"{"name":"a","description":"reads","input_schema":{"type":"object"}}"#;
    let reworded = tool.replace("reads", "reads well");
    let more = format!(r#"{tool},{{"name":"b","input_schema":{{}}}}"#);
    let function = r#"{"name":"a","description":"reads","parameters":{"type":"object"}}"#;
    let other = function.replace("reads", "writes");
    for (name, baseline, body, code, expect) in [
        ("same", anthropic(tool, "be kind", "x"), anthropic(tool, "be kind", "y"), 0, "✓"),
        (
            "description",
            anthropic(tool, "be kind", "x"),
            anthropic(&reworded, "be kind", "x"),
            1,
            "✗ /tools/0/description",
        ),
        ("added", anthropic(tool, "be kind", "x"), anthropic(&more, "be kind", "x"), 1, "✗ /tools/1"),
        ("removed", anthropic(&more, "be kind", "x"), anthropic(tool, "be kind", "x"), 1, "✗ /tools/1"),
        ("system", anthropic(tool, "be kind", "x"), anthropic(tool, "be brief", "x"), 1, "✗ /system"),
        ("chat same", chat(function, "be kind", "x"), chat(function, "be kind", "y"), 0, "✓"),
        (
            "chat tools",
            chat(function, "be kind", "x"),
            chat(&other, "be kind", "x"),
            1,
            "✗ /tools/0/function/description",
        ),
        ("chat system", chat(function, "be kind", "x"), chat(function, "be brief", "x"), 1, "✗ /messages/0"),
    ] {
        case.write("baseline-body.json", &baseline).write("body.json", &body);
        case.antefix(["check", "baseline-body.json", "--baseline", "baseline.json", "--write"])
            .ends()
            .code(0);
        let ended = case.antefix(["check", "body.json", "--baseline", "baseline.json"]).ends();
        assert!(ended.stdout.starts_with(expect), "{name}: {ended}");
        let _ = ended.code(code);
        let json = case.antefix(["check", "body.json", "--baseline", "baseline.json", "--json"]).ends();
        assert_eq!(raw(&parsed(&json), "/same"), if code == 0 { "true" } else { "false" }, "{name}");
    }
    case.antefix(["check", "body.json", "--baseline", "none.json"]).ends().code(2).stderr("--write");
}
