//! `explain` reads sessions of the product's own, and captures of them.

use crate::case::Case;

#[test]
fn a_session_that_only_grew_has_no_break() {
    let case = Case::new(
        "rule\n on said Look\n on rounds 0\n think Hm.\n tool bash {\"command\":\"seq 1 50\"}\n tool read {\"path\":\"a.txt\"}\nrule\n on any\n text Seen.",
    );
    case.write("a.txt", "one\ntwo\n");
    case.run("Look").args(["--thinking", "adaptive"]).ends().code(0);
    case.go_on("And again").ends().code(0);
    let sent = case.sent().len();
    assert_eq!(sent, 3, "a call's round, its answer, and a second turn");
    let explained = case.antefix(["explain", &case.session(), "--json"]).ends().code(0);
    let explained = explained.stdout(&format!("\"requests\":{sent},\"lineages\":[[0,1,2]]"));
    explained.stdout("\"breaks\":[],\"faults\":[],\"usage_findings\":[]");
}

/// A request that the server refused was taken for one that had been said, so that the user seemed to have gone back
/// behind it.
#[test]
fn a_refused_request_is_nothing_to_go_back_from() {
    let case = Case::new(
        "rule\n on said Refuse\n error 400 invalid_request_error no\nrule\n on any\n text Well: {{said}}.",
    );
    case.run("Hello").ends().code(0);
    case.go_on("Refuse this").ends().code(1);
    case.go_on("Something else").ends().code(0);
    case.go_on("And more").ends().code(0);
    let captured = case.antefix(["explain", &case.capture().to_string_lossy(), "--json"]).ends().code(0);
    for input in [captured, case.antefix(["explain", &case.session(), "--json"]).ends().code(0)] {
        let input = input.stdout("\"requests\":4,\"lineages\":[[0,2,3]],\"breaks\":[],\"faults\":[]");
        input.stdout("request 2: refused with status 400").lacks("expected.rewind");
    }
}

/// Two sessions that say the same for a while were taken for one whose prompt changes from request to request.
#[test]
fn two_sessions_in_one_capture_are_followed_each_by_itself() {
    let case = Case::new("rule\n on any\n text Well.");
    std::fs::create_dir(case.root().join("elsewhere")).unwrap();
    let [capture, other] = ["captured", "elsewhere"].map(|name| case.root().join(name));
    let [capture, other] = [capture, other].map(|path| path.to_string_lossy().into_owned());
    let run = |args: [&str; 3]| {
        let ran = case.run(args[0]).args([args[1], args[2], "--capture", &capture, "--output", "json"]);
        ran.ends().code(0).member("session_id")
    };
    let one = run(["Look at it", "--max-turns", "9"]);
    let two = run(["Look at it", "--cwd", &other]);
    for said in ["And now?", "One more."] {
        run([said, "--resume", &one]);
        run([said, "--resume", &two]);
    }
    let forked = case.run("In the fork").args(["--resume", &one, "--fork", "--capture", &capture]);
    forked.ends().code(0);
    run(["Not in the fork", "--resume", &one]);
    let explained = case.antefix(["explain", &capture, "--json"]).ends().code(0).lacks("expected.rewind");
    explained.stdout("\"requests\":8,\"lineages\":[[0,2,4,6,7],[1,3,5]],\"breaks\":[],\"faults\":[]");
    // The server was not told which session a request is of.
    let sent = case.capture().to_string_lossy().into_owned();
    case.antefix(["explain", &sent, "--json"]).ends().code(0).stdout("\"breaks\":[],\"faults\":[]");
}

/// What the user has asked for is no fault of anybody's, and its price is told.
#[test]
fn another_effort_that_was_asked_for_is_planned() {
    let case = Case::new("rule\n on any\n text Well.");
    case.run("Look at it").ends().code(0);
    case.go_on("And now?").args(["--effort", "low"]).ends().code(0);
    let explained = case.antefix(["explain", &case.session()]).ends().code(0).stdout("no break");
    explained.stdout("params.effort at /output_config").stdout("(as it was asked, $0.0");
}
