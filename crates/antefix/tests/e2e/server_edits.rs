//! What the provider does to a prompt by itself: summaries and clearings that the user asks for, and a window that is
//! smaller than was known.

use antefix_wire::json::{Body, Node};

use crate::case::Case;

/// The provider summarises in the midst of a session: its block goes back as it came, what it costs is told and named as
/// planned, and nothing is warned of.
#[test]
fn a_summary_of_the_providers_goes_back_as_it_came() {
    let script = "rule\n times 1 global\n on said Now\n summary The gate opens at 6174.\n text Seen.\nrule\n on any\n think Hm.\n text Seen.\n";
    let case = Case::new(script);
    case.write("AGENTS.md", &"Use short words.\n".repeat(40));
    let asks = r#"{"edits":[{"type":"compact_20260112"}]}"#;
    let flags = ["--context-management", asks, "--thinking", "adaptive"];
    case.run(&"Look at all of it. ".repeat(400)).args(flags).ends().code(0);
    case.go_on("Further").ends().code(0);
    let now = case.go_on("Now").ends().code(0).lacks("of the input was read").lacks("nothing was read");
    now.stderr("! expected.server_compaction: the provider summarised the conversation, of ")
        .stderr(" read from the cache, in ");
    case.go_on("On").ends().code(0).stderr("provider-limited: the server has summarised").lacks("! only");
    case.go_on("And on").ends().code(0).lacks("provider-limited").lacks("! ");
    assert!(case.relations().iter().all(|relation| relation == "extends"), "{:?}", case.relations());
    let sent = case.sent();
    let body = String::from_utf8_lossy(&sent.last().expect("a body").bytes).into_owned();
    let block =
        r#"{"type":"compaction","content":"The gate opens at 6174.","encrypted_content":"AFSIM+SUMMARY+"#;
    assert!(body.contains(block) && body.contains(&format!(r#""context_management":{asks}"#)), "{body}");
    case.is_intact();
    let explained = case.antefix(["explain", &case.session()]).ends().code(0);
    explained.stdout("expected.server_compaction: the summary took in ").lacks("unexplained");
    let bill = case.antefix(["bill", "session", "--json"]).ends().code(0);
    let bill = bill.stdout(r#""summaries":1"#).stdout(r#""kind":"expected.server_compaction""#);
    bill.stdout(r#""residual_usd":"0""#);
}

/// What was summarised does not fill the window any more, and does not ride in the history; in front of it, it does.
#[test]
fn what_was_summarised_does_not_count() {
    let script = "rule\n times 1 global\n on said Now\n summary Short.\n text Seen.\nrule\n on said Write a summary\n text All.\nrule\n on any\n text Seen.\n";
    let case = Case::new(script);
    let flags = ["--context-management", r#"{"edits":[{"type":"compact_20260112"}]}"#];
    case.run(&"Look at all of it. ".repeat(4_000)).args(flags).ends().code(0);
    case.go_on("Now").ends().code(0);
    let before = |rewind: &[&str]| {
        let ended =
            case.go_on_without_words(rewind).args(["--compact", "--fork", "--output", "stream-json"]).ends();
        let line = ended.stdout.lines().find(|line| line.contains("compaction_started")).map(str::to_owned);
        let body = Body::parse(line.expect("a compaction begins")).expect("JSON");
        body.root().get("before").and_then(Node::u64).expect("a figure")
    };
    let (behind, in_front) = (before(&[]), before(&["--rewind", "2"]));
    assert!(behind + 15_000 < in_front, "{behind} behind the summary, {in_front} in front of it");
}

/// Results that the provider leaves out: told once each time there are more, planned in the ledger, and priced.
#[test]
fn results_that_are_cleared_are_told_once_and_planned() {
    let reads = " tool read {\"path\":\"a.txt\"}\n tool read {\"path\":\"b.txt\"}\n";
    let script = format!("rule\n on said Look\n on rounds 0\n{reads}rule\n on any\n text Seen.\n");
    let case = Case::new(&script);
    case.write("a.txt", &"alpha\n".repeat(900)).write("b.txt", &"beta\n".repeat(900));
    let asks = r#"{"edits":[{"type":"clear_tool_uses_20250919","trigger":{"type":"tool_uses","value":2},"keep":{"type":"tool_uses","value":1}}]}"#;
    case.run("Look").args(["--context-management", asks]).ends().code(0).lacks("expected.context_edit");
    case.write("a.txt", &"gamma\n".repeat(900)).write("b.txt", &"delta\n".repeat(900));
    let cleared = case.go_on("Look again").ends().code(0).lacks("of the input was read");
    cleared.stderr("! expected.context_edit: the provider left out ").stderr(" tokens (3 results); ");
    case.go_on("Thanks").ends().code(0).lacks("expected.context_edit").lacks("! ");
    assert!(case.relations().iter().all(|relation| relation == "extends"), "{:?}", case.relations());
    case.is_intact();
    let explained = case.antefix(["explain", &case.session()]).ends().code(0);
    explained.stdout("expected.context_edit").lacks("provider.suspected");
    let bill = case.antefix(["bill", "session", "--json"]).ends().code(0);
    bill.stdout(r#""kind":"expected.context_edit""#).lacks("provider.suspected");
}

/// Nothing is asked for unasked, and what cannot be is refused.
#[test]
fn nothing_is_left_out_unasked() {
    let case = Case::new("rule\n on any\n text Seen.\n");
    case.run("Look").ends().code(0);
    let body = String::from_utf8_lossy(&case.sent()[0].bytes).into_owned();
    assert!(!body.contains("context_management"), "{body}");
    for (value, words) in
        [("{}", "expected an object with a list"), (r#"{"edits":[{"type":"x"}]}"#, "is not known")]
    {
        case.run("Look").args(["--context-management", value]).ends().code(2).stderr(words);
    }
    let later = case.go_on("On").args(["--context-management", r#"{"edits":[{"type":"compact_20260112"}]}"#]);
    later.ends().code(0).stderr("--context-management only holds for a new session");
}

/// A prompt is found too long although it should fit: the session goes on from a summary within the same turn, and a
/// later process knows the window. Where no summary is made unasked, the hint says how to get one.
#[test]
fn a_window_smaller_than_known_is_learned() {
    let refuses = "rule\n times 1 global\n on said Go\n error 400 invalid_request_error \"prompt is too long: 9000 tokens > 8200 maximum\"\nrule\n on said Write a summary\n text The gate opens at 6174.\nrule\n on any\n text Seen.\n";
    for is_off in [false, true] {
        let case = Case::new(refuses);
        case.run(&"Look at all of it. ".repeat(150)).ends().code(0);
        for _ in 0..5 {
            case.go_on(&"Look further than that. ".repeat(120)).ends().code(0);
        }
        let go = case.go_on("Go");
        if is_off {
            let ended = go.args(["--auto-compact", "off"]).ends().code(1);
            ended.stderr("takes prompts of up to 8200 tokens, not of 1000000").stderr("--continue --compact");
        } else {
            let ended = go.ends().code(0).stdout("Seen.");
            ended.stderr("compacting: the prompt is about 9,000 of the 8,200 tokens").stderr("compacted: ");
            let body = String::from_utf8_lossy(&case.sent().last().expect("a body").bytes).into_owned();
            assert!(body.contains("The gate opens at 6174.") && body.contains("\"Go\""), "{body}");
        }
        case.is_intact();
        let ended = case.go_on_without_words(&["--compact", "--output", "stream-json"]).ends();
        assert!(ended.stdout.contains(r#""window":8200"#), "the window is forgotten\n{ended}");
        case.go_on("On").ends().code(0).stdout("Seen.");
        case.is_intact();
    }
}
