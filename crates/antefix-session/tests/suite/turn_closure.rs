//! One case for each row of the turn-closure table in `docs/formats/transcript.md`: how a turn ends, and the exact
//! records that this and the next prompt append. The next request is sent to the simulator, which must take it, and
//! must extend or branch as its record says; a new process must close the turn alike.

use antefix_session::closure::text_block;
use antefix_session::event::{Command, Event};
use antefix_session::guard::Limits;
use antefix_session::machine::Settings;
use antefix_session::record::{Entry, Planned, Record};
use antefix_session::verify::verify;

use crate::reply::End;
use crate::stage::{Setup, Stage, header, text};

/// A way to end a turn, tried without thinking and with it, in the same process and in a new one.
struct Row {
    name: &'static str,
    setup: Setup,
    /// Without an ordinary turn in front.
    first: bool,
    thinking: &'static [bool],
}

fn row(name: &'static str) -> Row {
    let settings = Settings { retries: 0, ..Settings::default() };
    Row { name, setup: Setup { settings, ..Setup::default() }, first: false, thinking: &[false, true] }
}

impl Row {
    fn first(self) -> Self {
        Self { first: true, ..self }
    }

    fn bare(mut self) -> Self {
        self.setup.bare = true;
        self
    }

    fn retries(mut self, retries: u32) -> Self {
        self.setup.settings.retries = retries;
        self
    }

    fn max_steps(mut self, steps: u64) -> Self {
        self.setup.settings.limits = Limits { max_steps: Some(steps), ..Limits::default() };
        self
    }

    fn thinking(self, thinking: &'static [bool]) -> Self {
        Self { thinking, ..self }
    }

    /// Runs a turn, then prompts again; `expect` are the records behind the turn's first request, with thinking left
    /// out, and those of the next prompt.
    fn check(self, drive: impl Fn(&mut Stage), expect: &[&str]) {
        for &thinking in self.thinking {
            let mut stage = Stage::new(Setup { thinking, ..self.setup.clone() });
            if !self.first {
                stage.prompt("First.");
                stage.end(End::Done);
            }
            stage.prompt("Do it.");
            let from = stage.entries.len();
            drive(&mut stage);
            self.check_next(&mut stage, from, expect);
        }
    }

    fn check_next(&self, stage: &mut Stage, from: usize, expect: &[&str]) {
        assert!(stage.session.is_idle(), "{}", self.name);
        let mut other = stage.replayed(&stage.setup);
        let before = stage.entries.len();
        let prompt = || Event::Prompt(vec![text_block("Next.")]);
        stage.step(prompt());
        let found: Vec<String> = stage.entries.iter().skip(from).map(line).collect();
        assert_eq!(found.join("\n"), expect.join("\n"), "{}, thinking {}", self.name, stage.setup.thinking);

        let commands = other.step(prompt(), stage.entries[stage.entries.len() - 1].at).unwrap();
        let appended: Vec<Entry> = commands.into_iter().filter_map(appended).flatten().collect();
        assert_eq!(stage.entries[before..], appended, "{} in a new process", self.name);
        stage.end(End::Done);
        let report = verify(header(), &stage.entries);
        assert!(report.is_ok(), "{}: {report:?}", self.name);
        assert_eq!(report.requests as usize, stage.sent.len());
    }
}

fn appended(command: Command) -> Option<Vec<Entry>> {
    match command {
        Command::Append { entries, .. } => Some(entries),
        _ => None,
    }
}

/// A record without number and time; where it hangs stands in front if that is not the record before.
fn line(entry: &Entry) -> String {
    let back = entry.id.0 - entry.parent.0;
    let parent = if back == 1 { String::new() } else { format!("^{back} ") };
    let says = match &entry.record {
        Record::Attempt(attempt) => match attempt.relation {
            Planned::First => "attempt, first".to_owned(),
            Planned::Extends => "attempt, extends".to_owned(),
            // The stage counts how many positions are shared.
            Planned::BranchesAt(_) => "attempt, branches".to_owned(),
            Planned::Allowed(_) => "attempt, breaks".to_owned(),
        },
        Record::Outcome(outcome) => {
            let status = outcome.status.map_or("none".to_owned(), |status| status.to_string());
            format!("outcome {status} {}", outcome.stop_reason.as_deref().unwrap_or("-"))
        }
        _ => {
            let line = text(&entry.encode());
            let says = line.split_once("\"kind\":").unwrap().1;
            without_thinking(says.strip_suffix('}').unwrap())
        }
    };
    format!("{parent}{says}")
}

fn without_thinking(line: &str) -> String {
    match line.split_once(r#"{"type":"thinking""#) {
        Some((before, after)) => format!("{before}{}", after.split_once("},").unwrap().1),
        None => line.to_owned(),
    }
}

const SOME_TEXT: &str = r#""message","origin":"assistant","fragment":{"role":"assistant","content":[{"type":"text","text":"Some text."}]}"#;
const SOME_TE: &str = r#""message","origin":"assistant","fragment":{"role":"assistant","content":[{"type":"text","text":"Some te"}]}"#;
const ONE_CALL: &str = r#""message","origin":"assistant","fragment":{"role":"assistant","content":[{"type":"tool_use","id":"toolu_9","name":"read","input":{"z":1.50,"a":"caf\u00e9"}}]}"#;
const TWO_CALLS: &str = r#""message","origin":"assistant","fragment":{"role":"assistant","content":[{"type":"tool_use","id":"toolu_9","name":"read","input":{"z":1.50,"a":"caf\u00e9"}},{"type":"tool_use","id":"toolu_10","name":"read","input":{"z":1.50,"a":"caf\u00e9"}}]}"#;
const RESULT_9: &str = r#""result","call":"toolu_9","tool":"read","fragment":{"type":"tool_result","tool_use_id":"toolu_9","content":[{"type":"text","text":"nine"}]},"facts":[{"path":"a.rs","size":3}]"#;
const ERROR_10: &str = r#""result","call":"toolu_10","tool":"read","error":true,"fragment":{"type":"tool_result","tool_use_id":"toolu_10","content":[{"type":"text","text":"ten"}],"is_error":true},"facts":[{"path":"a.rs","size":3}]"#;
const NOT_RUN_9: &str = r#""result","call":"toolu_9","tool":"read","error":true,"fragment":{"type":"tool_result","tool_use_id":"toolu_9","content":[{"type":"text","text":"This call was not completed: the turn was interrupted before the tool returned a result."}],"is_error":true}"#;
const NOT_RUN_10: &str = r#""result","call":"toolu_10","tool":"read","error":true,"fragment":{"type":"tool_result","tool_use_id":"toolu_10","content":[{"type":"text","text":"This call was not completed: the turn was interrupted before the tool returned a result."}],"is_error":true}"#;
const LEFT_OUT_9: &str = r#""result","call":"toolu_9","tool":"read","error":true,"fragment":{"type":"tool_result","tool_use_id":"toolu_9","content":[{"type":"text","text":"This call was run, but its result is left out: the request that held it was not accepted."}],"is_error":true}"#;
const PAUSED: &str = r#""message","origin":"assistant","fragment":{"role":"assistant","content":[{"type":"text","text":"Some text."},{"type":"server_tool_use","id":"srvtoolu_9","name":"web_search","input":{"query":"x"}}]}"#;
const PAUSED_BEHIND_RESULT: &str = r#""message","origin":"assistant","fragment":{"role":"assistant","content":[{"type":"text","text":"Some text."},{"type":"server_tool_use","id":"srvtoolu_9","name":"web_search","input":{"query":"x"}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_9","content":[]}]}"#;
const NO_REPLY: &str = r#""message","origin":"closure","fragment":{"role":"assistant","content":[{"type":"text","text":"[No reply was received for this message.]"}]}"#;
const ENDED_HERE: &str = r#""message","origin":"assistant","fragment":{"role":"assistant","content":[{"type":"text","text":"[The reply ended here.]"}]}"#;
const TURN: &str = r#""turn","turn":3"#;
const NEXT: &str =
    r#""message","origin":"user","fragment":{"role":"user","content":[{"type":"text","text":"Next."}]}"#;
const EXTENDS: &str = "attempt, extends";
const BRANCHES: &str = "attempt, branches";
const CUT: &str = "outcome 200 -";
const CALLED: &str = "outcome 200 tool_use";

fn two_calls_return(stage: &mut Stage) {
    stage.give(1, "ten", true);
    stage.give(0, "nine", false);
}

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
            row("pause_turn").check(goes_on, &expect);
        }
    }
    row("pause_turn, then white space").check(
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
    row("pause_turn, then cut").check(
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
    row("pause_turn behind a result, then cut").check(
        |stage| {
            stage.end(End::Pause);
            stage.end(End::CutBefore);
        },
        &["outcome 200 pause_turn", PAUSED_BEHIND_RESULT, EXTENDS, CUT, failed, TURN, NEXT, EXTENDS],
    );
    let rejected = r#""end","turn":2,"reason":"rejected""#;
    row("pause_turn, then 400").check(
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
    row("pause_turn behind a result, then 401").check(
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
        row("cut").check(|stage| stage.end(end), &[CUT, reply, failed, TURN, NEXT, EXTENDS]);
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
    row("cancel of a paused reply").check(
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
            let commands = {
                let event = Stage::returned(&stage.running[0], "nine", false);
                stage.commands(event)
            };
            stage.entries.extend(commands.into_iter().filter_map(appended).flatten());
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
            let commands = {
                let event = Stage::returned(&stage.running[0], "nine", false);
                stage.commands(event)
            };
            stage.entries.extend(commands.into_iter().filter_map(appended).flatten());
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
        let commands = stage.commands(Event::Prompt(vec![text_block("Lost?")]));
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
