//! Sessions replayed under other conditions.

use antefix_wire::json::{Body, Node};

use crate::case::Case;
use crate::ended::Ended;

const ANSWERS: &str = "rule\n  text Yes.\n";

fn parsed(ended: &Ended) -> Body {
    Body::parse(ended.stdout.clone()).unwrap_or_else(|error| panic!("{error}\n{ended}"))
}

/// A member of a condition, as written.
fn of<'a>(body: &'a Body, condition: &str, member: &str) -> &'a str {
    let all = body.root().get("conditions").into_iter().flat_map(Node::items);
    let mut own = all.filter(|one| one.get("condition").is_some_and(|name| name.is_str(condition)));
    own.next().and_then(|one| one.pointer(member)).map_or("(nothing)", Node::raw)
}

fn cost(body: &Body, condition: &str) -> f64 {
    let text = of(body, condition, "/cost_usd").trim_matches('"');
    text.parse().unwrap_or_else(|_| panic!("{condition} has no cost: {}", body.text()))
}

/// Five messages with long texts, so that there is history to shorten.
fn session() -> (Case, String) {
    let case = Case::new(ANSWERS);
    let said = |number: u64| format!("{number} {}", "word ".repeat(800));
    case.run(&said(1)).ends().code(0);
    for number in 2..=5 {
        case.go_on(&said(number)).ends().code(0);
    }
    let session = case.session();
    (case, session)
}

#[test]
fn conditions_are_replayed_or_said_not_to_apply() {
    let (case, session) = session();
    let ended = case.antefix(["whatif", &session, "--json", "--model", "claude-opus-5"]).ends().code(0);
    let body = parsed(&ended);
    // The simulator served the session, so what it gives as sent is what was billed, to the token.
    let billed = body.root().get("billed").map_or("", Node::raw);
    assert_eq!(of(&body, "as-sent", "/read_of_input"), billed, "{ended}");
    let as_sent = cost(&body, "as-sent");
    for (condition, is_dearer) in
        [("no-cache", true), ("one-hour", true), ("other-model", true), ("drop-oldest", false)]
    {
        assert_eq!(cost(&body, condition) > as_sent, is_dearer, "{condition}: {ended}");
    }
    assert_eq!(of(&body, "as-sent", "/extra_requests"), "0");
    assert_ne!(of(&body, "summarise", "/extra_requests"), "0", "{ended}");
    for condition in ["drop-oldest", "summarise"] {
        assert!(of(&body, condition, "/lost").contains("tokens of"), "{condition}: {ended}");
    }
    for (condition, reason) in [
        ("more-markers", "no step adds more positions"),
        ("no-reminder", "--reminder TEXT"),
        ("deferral-on", "no tool was called"),
        ("deferral-off", "no tool is deferred"),
        ("keep-warm", "no pause was longer"),
    ] {
        assert_eq!(of(&body, condition, "/applies"), "false", "{condition}: {ended}");
        assert!(of(&body, condition, "/reason").contains(reason), "{condition}: {ended}");
        assert_eq!(of(&body, condition, "/cost_usd"), "(nothing)", "a reason in place of a number");
    }
    case.antefix(["whatif", &session]).ends().code(0).stdout("does not apply").stdout("against as sent");
}

/// Ratios of a message and of the session so far stand beside each other, each under its name.
#[test]
fn two_conditions_are_compared_message_by_message() {
    let (case, session) = session();
    let ended = case.antefix(["whatif", &session, "--ab", "as-sent", "no-cache"]).ends().code(0);
    let rows: Vec<_> =
        ended.stdout.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit())).collect();
    assert_eq!(rows.len(), 6, "the introduction and five messages: {ended}");
    let cells = |row: &str| row.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let (first, last) = (cells(rows[1]), cells(rows[5]));
    assert_eq!((first[1].as_str(), first[3].as_str()), ("0.0", "0.0"), "{ended}");
    let number = |text: &str| text.parse::<f64>().expect("a number");
    assert!(number(&last[1]) > number(&last[3]), "the message reads more than the session so far: {ended}");
    assert_eq!(last[6..8], ["0.0", "%"], "without markers nothing is read: {ended}");
    case.antefix(["whatif", "none-such"]).ends().code(2);
}

/// A tool that was never called is deferred, and costs nothing.
#[test]
fn idle_tools_can_be_deferred() {
    let case = Case::new(
        "rule\n  on said Look\n  on rounds 0\n  tool read {\"path\":\"a.txt\"}\nrule\n  text Done.\n",
    );
    case.write("a.txt", "something\n");
    case.run("Look").args(["--allow", "read,grep,edit,bash"]).ends().code(0);
    let ended = case.antefix(["whatif", &case.session(), "--json"]).ends().code(0);
    let body = parsed(&ended);
    assert!(of(&body, "deferral-on", "/note").contains("3 of 4 tools were never called"), "{ended}");
    assert!(cost(&body, "deferral-on") < cost(&body, "as-sent"), "{ended}");
}
