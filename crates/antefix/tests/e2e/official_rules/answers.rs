use crate::case::Case;

/// What one prompt comes to.
struct Expect {
    code: i32,
    /// Printed on standard error.
    says: &'static str,
    /// How the bodies of the turn, and then that of the next one, stand to those before them.
    relations: &'static [&'static str],
}

/// Says something first, so that there is a past to keep, then runs into what the script holds.
fn check(script: &str, expect: &Expect) {
    let case = Case::new(&format!("{script}\nrule\n  on said Hello\n  text Hello to you.\n"));
    case.run("Hello").ends().code(0).stdout("Hello to you.");
    let ended = case.go_on("Trouble, please").ends().code(expect.code);
    ended.stderr(&expect.says.replace("127.0.0.1:PORT", &case.address()));
    case.goes_on();
    assert_eq!(case.relations(), *expect.relations, "{script}");
}

fn trouble(lines: &str) -> String {
    format!("rule\n on said Trouble\n {lines}")
}

fn once(lines: &str) -> String {
    format!("rule\n on said Trouble\n times 1\n {lines}\nrule\n on said Trouble\n text All is well.")
}

/// Seven tries; then the user's next message stands behind what came of the reply, or words that say none came.
const TRIED: &[&str] =
    &["extends", "repeats", "repeats", "repeats", "repeats", "repeats", "repeats", "extends"];

/// Refused for good: the message that was refused is left behind.
const REFUSED: &[&str] = &["extends", "branches at 2"];

#[test]
fn what_cannot_succeed_is_said_once_and_left_behind() {
    let cases = [
        (
            "error 401 authentication_error invalid x-api-key",
            "401 authentication_error: invalid x-api-key\nhint: check the key",
        ),
        (
            "error 403 permission_error Your key may not use this.",
            "403 permission_error: Your key may not use this.",
        ),
        (
            "error 404 not_found_error model: claude-nine",
            "404 not_found_error: model: claude-nine\nhint: check the model's name",
        ),
        (
            "error 400 invalid_request_error messages.1: Something is off",
            "400 invalid_request_error: messages.1: Something is off",
        ),
        (
            "error 413 request_too_large Request exceeds the maximum size",
            "413 request_too_large: Request exceeds the maximum size\nhint: ",
        ),
        (
            "error 402 billing_error Your credit balance is too low",
            "402 billing_error: Your credit balance is too low",
        ),
    ];
    for (line, says) in cases {
        check(&trouble(line), &Expect { code: 1, says, relations: REFUSED });
    }
}

/// A summary is asked for once; what is refused behind it, too, is left behind.
#[test]
fn what_is_too_long_behind_a_summary_as_well_is_left_behind() {
    let line = "error 400 invalid_request_error prompt is too long: 1000001 tokens > 1000000 maximum";
    let says = "prompt is too long: 1000001 tokens > 1000000 maximum\nhint: ";
    let relations = &["extends", "extends", "branches at 3", "branches at 2"];
    check(&trouble(line), &Expect { code: 1, says, relations });
}

#[test]
fn what_may_pass_is_tried_again() {
    let twice = &["extends", "repeats", "extends"];
    let cases = [
        (
            "error 429 rate_limit_error Slow down\n retry-after 0",
            "! 429 rate_limit_error: Slow down; trying again in 0 s",
        ),
        ("error 429 rate_limit_error Slow down\n retry-after 7", "trying again in 7 s"),
        ("error 500 api_error Internal server error", "500 api_error: Internal server error; trying again"),
        ("error 529 overloaded_error Overloaded", "529 overloaded_error: Overloaded; trying again"),
        ("error 408 timeout_error Too late", "408 timeout_error: Too late; trying again"),
        ("text Never seen\n cut before-first-byte", "trying again"),
        ("text Never seen\n cut before-first-byte written", "trying again"),
        ("text Never seen\n cut before-first-block", "trying again"),
        ("text Never seen\n malformed sse", "trying again"),
    ];
    for (line, says) in cases {
        check(&once(line), &Expect { code: 0, says, relations: twice });
    }
}

#[test]
fn what_does_not_pass_ends_the_turn_and_says_so() {
    let cases = [
        ("error 429 rate_limit_error Slow down\n retry-after 1", "! 429 rate_limit_error: Slow down\nhint: "),
        ("error 529 overloaded_error Overloaded", "! 529 overloaded_error: Overloaded\nhint: "),
        ("text Never seen\n cut before-first-byte", "hint: "),
    ];
    for (line, says) in cases {
        check(&trouble(line), &Expect { code: 1, says, relations: TRIED });
    }
    let long = "error 429 rate_limit_error Come back tomorrow\n retry-after 86400";
    let says = "429 rate_limit_error: Come back tomorrow (asked to wait 86400 s, which is too long)";
    check(&trouble(long), &Expect { code: 1, says, relations: &["extends", "extends"] });
}

#[test]
fn a_reply_that_breaks_off_is_kept_as_far_as_it_came() {
    let text = "text One two three four five six seven eight nine ten eleven twelve";
    let input = r#"text I look.
 tool read {"path":"a-file-with-a-rather-long-name"}"#;
    let cut = "! `127.0.0.1:PORT` closed the connection before the end of the answer\nhint: ";
    let cases = [
        (format!("{text}\n cut 900"), cut),
        (
            format!("{text}\n stream-error before-first-block overloaded_error Overloaded"),
            "! overloaded_error: Overloaded\nhint: ",
        ),
        (format!("{input}\n cut mid-input"), cut),
        (
            format!("{text}\n malformed sse"),
            "! the stream is malformed: an event came without its data\nhint: ",
        ),
        (format!("{text}\n malformed json"), "! the stream is malformed: "),
    ];
    for (lines, says) in cases {
        check(&trouble(&lines), &Expect { code: 1, says, relations: TRIED });
    }
}

/// A reply that was cut and made again stood twice in files that standard output went to.
#[test]
fn a_reply_made_again_is_printed_once() {
    let lines = "text One two three four five six seven eight nine ten eleven twelve\n cut 900";
    let case = Case::new(&once(lines));
    let ended = case.run("Trouble").ends().code(0).stderr("trying again");
    assert_eq!(ended.stdout, "All is well.\n");
}

#[test]
fn a_reply_that_ends_early_says_why() {
    let cases = [
        (
            "text It ends in the mid\n stop max_tokens",
            "! the reply reached its output limit",
            &["extends", "extends"],
        ),
        (
            "text No room\n stop model_context_window_exceeded",
            "! the context window is full; go back with --rewind",
            &["extends", "extends"],
        ),
        (
            "text I would rather\n stop refusal",
            "! the model refused; what was asked in this turn is left out",
            &["extends", "branches at 2"],
        ),
    ];
    for (lines, says, relations) in cases {
        check(&trouble(lines), &Expect { code: 1, says, relations });
    }
}

#[test]
fn a_slow_stream_is_waited_for() {
    let slow = trouble("first-byte 200\n chunk-delay 50\n text It took a while, but here it is.");
    check(&slow, &Expect { code: 0, says: "cache", relations: &["extends", "extends"] });
}

#[test]
fn a_stream_that_falls_silent_is_taken_for_dead_and_one_that_is_slow_is_not() {
    let case = Case::new(&once("text One two three four five six seven eight nine ten\n hang 900"));
    let ended = case.run("Trouble").args(["--longest-silence", "300"]).ends().code(0);
    let ended = ended.stderr("trying again").stderr("300 ms");
    assert_eq!(ended.stdout, "All is well.\n");
    case.goes_on();
    assert_eq!(case.relations(), ["repeats", "extends"]);
    let words = "Slowly, but it comes, with something to show every now and then.";
    let slow = Case::new(&format!("rule\n on said Slow\n chunk-delay 200\n text {words}"));
    let begun = std::time::Instant::now();
    let ended = slow.run("Slow").args(["--longest-silence", "1000"]).ends().code(0).stdout(words);
    assert!(begun.elapsed().as_millis() > 1_000, "it took longer than it may be silent\n{ended}");
    slow.goes_on();
    assert_eq!(slow.relations(), ["extends"]);
}

#[test]
fn a_stop_sequence_and_a_pause_are_no_trouble() {
    let paused = "rule\n on said Trouble\n times 1\n server web_search {\"query\":\"x\"} => []\n stop pause_turn\nrule\n on said Trouble\n text Found.";
    check(paused, &Expect { code: 0, says: "cache", relations: &["extends", "extends", "extends"] });
}
