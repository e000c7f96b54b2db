//! What the model and the provider do.

use super::*;

#[test]
fn the_model_ends() {
    let ended = |reason| format!(r#""end","turn":2,"reason":"{reason}""#);
    let kept = [
        (End::Done, "end_turn", SOME_TEXT, "end_turn"),
        (End::StopSequence, "stop_sequence", SOME_TEXT, "stop_sequence"),
        (End::Window, "model_context_window_exceeded", SOME_TEXT, "window_exceeded"),
        (End::MaxInText, "max_tokens", SOME_TE, "max_tokens"),
    ];
    for (end, stop, reply, reason) in kept {
        let (outcome, ended) = (format!("outcome 200 {stop}"), ended(reason));
        row(stop).check(|stage| stage.end(end), &[&outcome, reply, &ended, TURN, NEXT, EXTENDS]);
    }
    let nothing = [
        (End::Empty, "end_turn", "empty", &[false, true][..]),
        (End::OnlyThinking, "end_turn", "empty", &[false]),
        (End::MaxInThinking, "max_tokens", "max_tokens", &[false, true]),
        (End::MaxInInput, "max_tokens", "max_tokens", &[false]),
    ];
    for (end, stop, reason, thinking) in nothing {
        let (outcome, ended) = (format!("outcome 200 {stop}"), ended(reason));
        let expect = [&outcome, &ended, NO_REPLY, TURN, NEXT, EXTENDS];
        row(reason).thinking(thinking).check(|stage| stage.end(end), &expect);
    }
    let only_thinking =
        [(End::OnlyThinking, "end_turn", "end_turn"), (End::MaxInInput, "max_tokens", "max_tokens")];
    for (end, stop, reason) in only_thinking {
        let (outcome, ended) = (format!("outcome 200 {stop}"), ended(reason));
        let expect = [&outcome, ENDED_HERE, &ended, TURN, NEXT, EXTENDS];
        row("thinking alone").thinking(&[true]).check(|stage| stage.end(end), &expect);
    }
}

#[test]
fn the_output_limit_cuts_one_of_two_calls() {
    row("max_tokens in the second input").check(
        |stage| stage.end(End::MaxInSecondInput),
        &[
            "outcome 200 max_tokens",
            ONE_CALL,
            r#""end","turn":2,"reason":"max_tokens""#,
            NOT_RUN_9,
            TURN,
            r#""message","origin":"user","results":[14],"blocks":[{"type":"text","text":"Next."}]"#,
            EXTENDS,
        ],
    );
}

/// A call whose input was no JSON was dropped, and the turn ended as if the model had been done.
#[test]
fn a_call_with_broken_input_ends_the_turn() {
    let end_turn = r#""end","turn":2,"reason":"end_turn""#;
    let broken = |number: u64| BROKEN.replace("toolu_9", &format!("toolu_{number}"));
    let calls = TWO_CALLS.replace(
        r#""toolu_10","name":"read","input":{"z":1.50,"a":"caf\u00e9"}"#,
        r#""toolu_10","name":"read","input":{}"#,
    );
    row("broken input beside a whole call").check(
        |stage| {
            stage.end(End::BrokenInput);
            stage.give(0, "nine", false);
            stage.end(End::Done);
        },
        &[
            CALLED,
            &calls,
            &broken(10),
            RESULT_9,
            r#""message","origin":"results","results":[14,13]"#,
            EXTENDS,
            "outcome 200 end_turn",
            SOME_TEXT,
            end_turn,
            TURN,
            NEXT,
            EXTENDS,
        ],
    );
    let calls = r#""message","origin":"assistant","fragment":{"role":"assistant","content":[{"type":"text","text":"Some text."},{"type":"tool_use","id":"toolu_9","name":"read","input":{}},{"type":"tool_use","id":"toolu_10","name":"read","input":{}}]}"#;
    row("broken input alone").check(
        |stage| {
            stage.end(End::BrokenInputs);
            stage.end(End::Done);
        },
        &[
            CALLED,
            calls,
            &broken(9),
            &broken(10),
            r#""message","origin":"results","results":[13,14]"#,
            EXTENDS,
            "outcome 200 end_turn",
            SOME_TEXT,
            end_turn,
            TURN,
            NEXT,
            EXTENDS,
        ],
    );
    row("broken input, and the most requests are made").max_steps(1).check(
        |stage| stage.end(End::BrokenInputs),
        &[
            CALLED,
            calls,
            &broken(9),
            &broken(10),
            r#""decision","guard":"max_turns","text":"this turn has made 1 requests, the limit is 1""#,
            r#""end","turn":2,"reason":"guard""#,
            TURN,
            r#""message","origin":"user","results":[13,14],"blocks":[{"type":"text","text":"Next."}]"#,
            EXTENDS,
        ],
    );
    row("broken input, and interrupted").check(
        |stage| {
            stage.interrupt();
            stage.end(End::BrokenInput);
        },
        &[
            CALLED,
            &TWO_CALLS.replace(
                r#""toolu_10","name":"read","input":{"z":1.50,"a":"caf\u00e9"}"#,
                r#""toolu_10","name":"read","input":{}"#,
            ),
            &broken(10),
            r#""end","turn":2,"reason":"interrupted""#,
            NOT_RUN_9,
            TURN,
            r#""message","origin":"user","results":[15,13],"blocks":[{"type":"text","text":"Next."}]"#,
            EXTENDS,
        ],
    );
}

/// A reply that stopped for a call and held none that could be answered ended its turn as if the model were done.
#[test]
fn a_reply_without_its_call_ends_the_turn_as_done() {
    row("no call that can be answered").retries(1).check(
        |stage| {
            stage.end(End::NoCall);
            stage.due();
            stage.end(End::NoCall);
        },
        &[CALLED, EXTENDS, CALLED, SOME_TEXT, r#""end","turn":2,"reason":"failed""#, TURN, NEXT, EXTENDS],
    );
}

/// Two calls with the same id were recorded as they came, and every later request was rejected.
#[test]
fn two_calls_have_the_same_id() {
    // The fourth and last of them is that of a call in an earlier reply.
    let call = |id: &str| {
        format!(r#"{{"type":"tool_use","id":"{id}","name":"read","input":{{"z":1.50,"a":"caf\u00e9"}}}}"#)
    };
    let reply = |ids: &[&str]| {
        let calls: Vec<String> = ids.iter().map(|id| call(id)).collect();
        let start = r#""message","origin":"assistant","fragment":{"role":"assistant","content":["#;
        format!("{start}{}]}}", calls.join(","))
    };
    let result = |id: &str| RESULT_9.replace("toolu_9", id);
    row("the same id").in_messages().check(
        |stage| {
            for _ in 0..2 {
                stage.end(End::SameIds);
                (0..3).for_each(|_| stage.give(0, "nine", false));
            }
            stage.end(End::Done);
        },
        &[
            CALLED,
            &reply(&["toolu_9", "toolu_9_2", "toolu_1"]),
            &result("toolu_9"),
            &result("toolu_9_2"),
            &result("toolu_1"),
            r#""message","origin":"results","results":[13,14,15]"#,
            EXTENDS,
            CALLED,
            &reply(&["toolu_17", "toolu_17_2", "toolu_1_2"]),
            &result("toolu_17"),
            &result("toolu_17_2"),
            &result("toolu_1_2"),
            r#""message","origin":"results","results":[20,21,22]"#,
            EXTENDS,
            "outcome 200 end_turn",
            SOME_TEXT,
            r#""end","turn":2,"reason":"end_turn""#,
            TURN,
            NEXT,
            EXTENDS,
        ],
    );
}

/// Chat Completions has no id of its own for a call twice, or one that an earlier reply used.
#[test]
fn an_id_is_used_again_in_chat() {
    let call =
        |id: &str| TWO_CALLS.split_once('[').unwrap().1.split_once("},{").unwrap().0.replace("toolu_9", id);
    let reply = |ids: &[&str]| {
        let calls: Vec<String> = ids.iter().map(|id| format!("{}}}", call(id))).collect();
        let start = r#""message","origin":"assistant","fragment":{"role":"assistant","content":["#;
        format!("{start}{}]}}", calls.join(","))
    };
    let result = |id: &str| RESULT_9.replace("toolu_9", id);
    row("the same id in chat").in_chat().check(
        |stage| {
            for _ in 0..2 {
                stage.end(End::SameIds);
                (0..3).for_each(|_| stage.give(0, "nine", false));
            }
            stage.end(End::Done);
        },
        &[
            CALLED,
            &reply(&["toolu_9", "call00001", "toolu_1"]),
            &result("toolu_9"),
            &result("call00001"),
            &result("toolu_1"),
            r#""message","origin":"results","results":[13,14,15]"#,
            EXTENDS,
            CALLED,
            &reply(&["toolu_17", "call00002", "call00003"]),
            &result("toolu_17"),
            &result("call00002"),
            &result("call00003"),
            r#""message","origin":"results","results":[20,21,22]"#,
            EXTENDS,
            "outcome 200 end_turn",
            SOME_TEXT,
            r#""end","turn":2,"reason":"end_turn""#,
            TURN,
            NEXT,
            EXTENDS,
        ],
    );
}

#[test]
fn the_provider_pauses() {
    let end_turn = r#""end","turn":2,"reason":"end_turn""#;
    for (end, reply) in [(End::Pause, PAUSED_BEHIND_RESULT), (End::PauseOpen, PAUSED)] {
        let expect = [
            "outcome 200 pause_turn",
            reply,
            EXTENDS,
            "outcome 200 end_turn",
            SOME_TEXT,
            end_turn,
            TURN,
            NEXT,
            EXTENDS,
        ];
        let goes_on = |stage: &mut Stage| {
            stage.end(end);
            stage.end(End::Done);
        };
        // The first reply's call has its result in neither message: what follows leaves it out.
        if end == End::Pause {
            row("pause_turn").in_messages().check(goes_on, &expect);
        }
    }
    row("pause_turn, then white space").in_messages().check(
        |stage| stage.end(End::PauseInText),
        &[
            "outcome 200 pause_turn",
            r#""message","origin":"assistant","fragment":{"role":"assistant","content":[{"type":"text","text":"Some text. "}]}"#,
            end_turn,
            TURN,
            NEXT,
            EXTENDS,
        ],
    );
}

#[test]
fn a_paused_reply_is_left() {
    let again = r#""message","origin":"closure","fragment":{"role":"assistant","content":[{"type":"text","text":"Some text."}]}"#;
    let failed = r#""end","turn":2,"reason":"failed""#;
    row("pause_turn, then cut").in_messages().check(
        |stage| {
            stage.end(End::PauseOpen);
            stage.end(End::CutBefore);
        },
        &[
            "outcome 200 pause_turn",
            PAUSED,
            EXTENDS,
            CUT,
            failed,
            r#"^7 "rewind","reason":"paused""#,
            again,
            TURN,
            NEXT,
            BRANCHES,
        ],
    );
    // Nothing stays behind the first of two calls without results.
    let second = PAUSED.replace("srvtoolu_9", "srvtoolu_17");
    row("pause_turn twice, then cut").in_messages().check(
        |stage| {
            stage.end(End::PauseOpen);
            stage.end(End::PauseOpen);
            stage.end(End::CutBefore);
        },
        &[
            "outcome 200 pause_turn",
            PAUSED,
            EXTENDS,
            "outcome 200 pause_turn",
            &second,
            EXTENDS,
            CUT,
            failed,
            r#"^10 "rewind","reason":"paused""#,
            again,
            TURN,
            NEXT,
            BRANCHES,
        ],
    );
    row("pause_turn behind a result, then cut").in_messages().check(
        |stage| {
            stage.end(End::Pause);
            stage.end(End::CutBefore);
        },
        &["outcome 200 pause_turn", PAUSED_BEHIND_RESULT, EXTENDS, CUT, failed, TURN, NEXT, EXTENDS],
    );
    let rejected = r#""end","turn":2,"reason":"rejected""#;
    row("pause_turn, then 400").in_messages().check(
        |stage| {
            stage.end(End::PauseOpen);
            stage.end(End::Rejected(400));
        },
        &[
            "outcome 200 pause_turn",
            PAUSED,
            EXTENDS,
            "outcome 400 -",
            r#"^6 "rewind","reason":"rejected""#,
            rejected,
            NO_REPLY,
            TURN,
            NEXT,
            BRANCHES,
        ],
    );
    row("pause_turn behind a result, then 401").in_messages().check(
        |stage| {
            stage.end(End::Pause);
            stage.end(End::Rejected(401));
        },
        &[
            "outcome 200 pause_turn",
            PAUSED_BEHIND_RESULT,
            EXTENDS,
            "outcome 401 -",
            rejected,
            TURN,
            NEXT,
            EXTENDS,
        ],
    );
}

#[test]
fn the_model_refuses() {
    let refusal = r#""end","turn":2,"reason":"refusal""#;
    for end in [End::Refusal, End::RefusalCut] {
        row("refusal").check(
            |stage| stage.end(end),
            &["outcome 200 refusal", r#"^6 "rewind","reason":"refusal""#, refusal, TURN, NEXT, BRANCHES],
        );
    }
    let expect = [
        CALLED,
        ONE_CALL,
        RESULT_9,
        r#""message","origin":"results","results":[13]"#,
        EXTENDS,
        "outcome 200 refusal",
        r#"^11 "rewind","reason":"refusal""#,
        refusal,
        TURN,
        NEXT,
        BRANCHES,
    ];
    row("refusal behind a tool").check(
        |stage| {
            stage.end(End::Calls(1));
            stage.give(0, "nine", false);
            stage.end(End::Refusal);
        },
        &expect,
    );
    let expect = [
        "outcome 200 refusal",
        r#"^5 "rewind","reason":"refusal""#,
        r#""end","turn":1,"reason":"refusal""#,
        r#""turn","turn":2"#,
        NEXT,
        BRANCHES,
    ];
    row("refusal at once").first().check(|stage| stage.end(End::Refusal), &expect);
    row("refusal at once, without a head").first().bare().check(|stage| stage.end(End::Refusal), &expect);
}

#[test]
fn the_stream_is_cut() {
    let failed = r#""end","turn":2,"reason":"failed""#;
    row("cut before the first block")
        .check(|stage| stage.end(End::CutBefore), &[CUT, failed, NO_REPLY, TURN, NEXT, EXTENDS]);
    let cases = [(End::CutInText, SOME_TE), (End::CutInServerTool, SOME_TEXT), (End::StreamError, SOME_TEXT)];
    for (end, reply) in cases {
        let row = row("cut");
        let row = if end == End::CutInServerTool { row.in_messages() } else { row };
        row.check(|stage| stage.end(end), &[CUT, reply, failed, TURN, NEXT, EXTENDS]);
    }
    row("cut behind a call").check(
        |stage| stage.end(End::CutBehindCall),
        &[
            CUT,
            ONE_CALL,
            failed,
            NOT_RUN_9,
            TURN,
            r#""message","origin":"user","results":[14],"blocks":[{"type":"text","text":"Next."}]"#,
            EXTENDS,
        ],
    );
    row("cut, and made again").retries(1).check(
        |stage| {
            stage.end(End::CutInText);
            stage.due();
            stage.end(End::Done);
        },
        &[
            CUT,
            EXTENDS,
            "outcome 200 end_turn",
            SOME_TEXT,
            r#""end","turn":2,"reason":"end_turn""#,
            TURN,
            NEXT,
            EXTENDS,
        ],
    );
}

#[test]
fn the_provider_fails() {
    let failed = r#""end","turn":2,"reason":"failed""#;
    let cases = [
        (End::Rejected(529), "outcome 529 -"),
        (End::Rejected(429), "outcome 429 -"),
        (End::Rejected(408), "outcome 408 -"),
        (End::Unreachable { retryable: true }, "outcome none -"),
        (End::Unreachable { retryable: false }, "outcome none -"),
    ];
    for (end, outcome) in cases {
        row("failed").check(|stage| stage.end(end), &[outcome, failed, NO_REPLY, TURN, NEXT, EXTENDS]);
    }
}

#[test]
fn the_request_is_rejected() {
    let rejected = r#""end","turn":2,"reason":"rejected""#;
    for (status, back) in [(400, 6), (413, 6), (401, 4), (404, 4)] {
        let (outcome, rewind) =
            (format!("outcome {status} -"), format!(r#"^{back} "rewind","reason":"rejected""#));
        row("4xx").check(
            |stage| stage.end(End::Rejected(status)),
            &[&outcome, &rewind, rejected, TURN, NEXT, BRANCHES],
        );
    }
    for bare in [false, true] {
        let row = row("4xx at once").first();
        let row = if bare { row.bare() } else { row };
        row.check(
            |stage| stage.end(End::Rejected(400)),
            &[
                "outcome 400 -",
                r#"^5 "rewind","reason":"rejected""#,
                r#""end","turn":1,"reason":"rejected""#,
                r#""turn","turn":2"#,
                NEXT,
                BRANCHES,
            ],
        );
    }
}

#[test]
fn results_are_rejected() {
    let rejected = r#""end","turn":2,"reason":"rejected""#;
    let call_and = |end: End| {
        move |stage: &mut Stage| {
            stage.end(End::Calls(1));
            stage.give(0, "nine", false);
            stage.end(end);
        }
    };
    // What was sent is at fault: it is not sent again.
    row("400 for results").check(
        call_and(End::Rejected(400)),
        &[
            CALLED,
            ONE_CALL,
            RESULT_9,
            r#""message","origin":"results","results":[13]"#,
            EXTENDS,
            "outcome 400 -",
            r#"^5 "rewind","reason":"rejected""#,
            rejected,
            LEFT_OUT_9,
            TURN,
            r#""message","origin":"user","results":[19],"blocks":[{"type":"text","text":"Next."}]"#,
            BRANCHES,
        ],
    );
    // The key is at fault: the results are.
    row("401 for results").check(
        call_and(End::Rejected(401)),
        &[
            CALLED,
            ONE_CALL,
            RESULT_9,
            r#""message","origin":"results","results":[13]"#,
            EXTENDS,
            "outcome 401 -",
            r#"^4 "rewind","reason":"rejected""#,
            rejected,
            TURN,
            r#""message","origin":"user","results":[13],"blocks":[{"type":"text","text":"Next."}]"#,
            BRANCHES,
        ],
    );
}
