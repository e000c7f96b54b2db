//! What the user, the guards and the fate of a process do.

use super::*;

#[test]
fn the_user_stops_a_request() {
    let interrupted = r#""end","turn":2,"reason":"interrupted""#;
    let stopped = |end: End| {
        move |stage: &mut Stage| {
            stage.interrupt();
            stage.end(end);
        }
    };
    let nothing = [(End::Unreachable { retryable: true }, "outcome none -"), (End::CutBefore, CUT)];
    for (end, outcome) in nothing {
        row("cancel").check(stopped(end), &[outcome, interrupted, NO_REPLY, TURN, NEXT, EXTENDS]);
    }
    row("cancel in text").check(stopped(End::CutInText), &[CUT, SOME_TE, interrupted, TURN, NEXT, EXTENDS]);
    row("cancel behind calls").check(
        stopped(End::Calls(2)),
        &[
            CALLED,
            TWO_CALLS,
            interrupted,
            NOT_RUN_9,
            NOT_RUN_10,
            TURN,
            r#""message","origin":"user","results":[14,15],"blocks":[{"type":"text","text":"Next."}]"#,
            EXTENDS,
        ],
    );
    row("cancel too late").check(
        stopped(End::Done),
        &["outcome 200 end_turn", SOME_TEXT, r#""end","turn":2,"reason":"end_turn""#, TURN, NEXT, EXTENDS],
    );
    row("cancel while waiting").retries(1).check(
        |stage| {
            stage.end(End::Rejected(529));
            stage.interrupt();
        },
        &["outcome 529 -", interrupted, NO_REPLY, TURN, NEXT, EXTENDS],
    );
    row("cancel of a paused reply").in_messages().check(
        stopped(End::PauseOpen),
        &[
            "outcome 200 pause_turn",
            PAUSED,
            interrupted,
            r#"^5 "rewind","reason":"paused""#,
            r#""message","origin":"closure","fragment":{"role":"assistant","content":[{"type":"text","text":"Some text."}]}"#,
            TURN,
            NEXT,
            BRANCHES,
        ],
    );
}

#[test]
fn the_user_stops_calls() {
    row("cancel of calls").check(
        |stage| {
            stage.end(End::Calls(2));
            stage.interrupt();
            two_calls_return(stage);
        },
        &[
            CALLED,
            TWO_CALLS,
            ERROR_10,
            RESULT_9,
            r#""end","turn":2,"reason":"interrupted""#,
            TURN,
            r#""message","origin":"user","results":[14,13],"blocks":[{"type":"text","text":"Next."}]"#,
            EXTENDS,
        ],
    );
}

#[test]
fn the_number_of_requests_is_limited() {
    row("max turns").max_steps(1).check(
        |stage| {
            stage.end(End::Calls(2));
            two_calls_return(stage);
        },
        &[
            CALLED,
            TWO_CALLS,
            ERROR_10,
            RESULT_9,
            r#""decision","guard":"max_turns","text":"this turn has made 1 requests, the limit is 1""#,
            r#""end","turn":2,"reason":"guard""#,
            TURN,
            r#""message","origin":"user","results":[14,13],"blocks":[{"type":"text","text":"Next."}]"#,
            EXTENDS,
        ],
    );
}

/// The process dies with the last `lost` records unwritten.
fn dies(stage: &mut Stage, lost: usize) {
    let kept = stage.entries.len() - lost;
    stage.kill(kept, stage.setup.clone());
}

/// Writes all that the last call's return asks for, and does nothing else of it.
fn write_the_last_result(stage: &mut Stage) {
    let event = Stage::returned(&stage.running[0], "nine", false);
    let commands = stage.commands(event);
    stage.entries.extend(commands.into_iter().filter_map(appended).flatten());
}

#[test]
fn the_process_dies() {
    let step = |stage: &mut Stage| {
        stage.end(End::Calls(2));
        stage.give(1, "ten", true);
    };
    row("kill before the reply").check(|stage| dies(stage, 0), &[NO_REPLY, TURN, NEXT, EXTENDS]);
    row("kill before the reply's record").check(
        |stage| {
            stage.end(End::Done);
            dies(stage, 2);
        },
        &["outcome 200 end_turn", NO_REPLY, TURN, NEXT, EXTENDS],
    );
    row("kill behind the reply's record").check(
        |stage| {
            stage.end(End::Done);
            dies(stage, 1);
        },
        &["outcome 200 end_turn", SOME_TEXT, TURN, NEXT, EXTENDS],
    );
    row("kill with open calls").check(
        |stage| {
            stage.end(End::Calls(2));
            dies(stage, 0);
        },
        &[
            CALLED,
            TWO_CALLS,
            NOT_RUN_9,
            NOT_RUN_10,
            TURN,
            r#""message","origin":"user","results":[13,14],"blocks":[{"type":"text","text":"Next."}]"#,
            EXTENDS,
        ],
    );
    row("kill behind one of two results").check(
        |stage| {
            step(stage);
            dies(stage, 0);
        },
        &[
            CALLED,
            TWO_CALLS,
            ERROR_10,
            NOT_RUN_9,
            TURN,
            r#""message","origin":"user","results":[14,13],"blocks":[{"type":"text","text":"Next."}]"#,
            EXTENDS,
        ],
    );
    row("kill behind both results").check(
        |stage| {
            step(stage);
            write_the_last_result(stage);
            dies(stage, 2);
        },
        &[
            CALLED,
            TWO_CALLS,
            ERROR_10,
            RESULT_9,
            TURN,
            r#""message","origin":"user","results":[14,13],"blocks":[{"type":"text","text":"Next."}]"#,
            EXTENDS,
        ],
    );
    row("kill behind sealed results").check(
        |stage| {
            step(stage);
            write_the_last_result(stage);
            dies(stage, 1);
        },
        &[
            CALLED,
            TWO_CALLS,
            ERROR_10,
            RESULT_9,
            r#""message","origin":"results","results":[14,13]"#,
            NO_REPLY,
            TURN,
            NEXT,
            EXTENDS,
        ],
    );
}

#[test]
fn the_process_dies_before_the_request() {
    let prompt_and_die = |stage: &mut Stage, lost: usize| {
        stage.end(End::Done);
        let commands =
            stage.commands(Event::Prompt { blocks: vec![text_block("Lost?")], context: Vec::new() });
        stage.entries.extend(commands.into_iter().filter_map(appended).flatten());
        dies(stage, lost);
    };
    let end = r#""end","turn":2,"reason":"end_turn""#;
    row("kill behind the turn's record").check(
        |stage| prompt_and_die(stage, 2),
        &["outcome 200 end_turn", SOME_TEXT, end, TURN, r#""turn","turn":4"#, NEXT, EXTENDS],
    );
    row("kill before the request's record").check(
        |stage| prompt_and_die(stage, 1),
        &[
            "outcome 200 end_turn",
            SOME_TEXT,
            end,
            TURN,
            r#""message","origin":"user","fragment":{"role":"user","content":[{"type":"text","text":"Lost?"}]}"#,
            NO_REPLY,
            r#""turn","turn":4"#,
            NEXT,
            EXTENDS,
        ],
    );
}

/// The process died between the outcome of a rejected request and the rewind: what was rejected stayed in the
/// conversation, so that each later request was rejected as well.
#[test]
fn a_rewind_that_was_not_written_is_made_up_for() {
    let cases = [
        (End::Rejected(400), "outcome 400 -", r#"^6 "rewind","reason":"rejected""#),
        (End::Refusal, "outcome 200 refusal", r#"^6 "rewind","reason":"refusal""#),
    ];
    for (end, outcome, rewind) in cases {
        row("kill before the rewind").check(
            |stage| {
                stage.end(end);
                dies(stage, 2);
            },
            &[outcome, rewind, TURN, NEXT, BRANCHES],
        );
    }
}
