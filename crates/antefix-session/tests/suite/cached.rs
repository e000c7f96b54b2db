//! What was sent is read back from the provider's cache.

use antefix_models::{Counts, Tokens, Ttl};
use antefix_prefix::Cause;
use antefix_session::dialect::Dialect;
use antefix_session::event::{Event, RequestReport};
use antefix_session::record::AttemptId;
use antefix_wire::assemble::Assembled;
use antefix_wire::usage::Usage;

use crate::reply::End;
use crate::stage::{Setup, Stage};

/// Each request reads all that the one before read and wrote, however wide the step between them: a marker finds
/// the entry on its very end, not by searching back.
#[test]
fn each_request_reads_what_the_one_before_left() {
    for cache in [Ttl::FiveMinutes, Ttl::OneHour] {
        let mut stage = Stage::new(Setup { cache: Some(cache), ..Setup::default() });
        stage.prompt("Do it.");
        for width in [1, 30, 2, 45] {
            stage.end(End::Calls(width));
            (0..width).for_each(|_| stage.give(0, "Some lines of a file.", false));
        }
        stage.end(End::Done);
        stage.resume();
        stage.prompt("More.");
        stage.end(End::Done);
        let expected: Vec<bool> = stage.reports.iter().map(|report| !report.expects.is_zero()).collect();
        assert_eq!(expected, [false, true, true, true, true, true]);
        assert!(stage.reports.iter().all(|report| report.warning().is_none()));
        let billed = stage.billed();
        assert_eq!(billed.len(), 6);
        assert_eq!(billed[0].0, 0);
        for pair in billed.windows(2) {
            assert_eq!(pair[1].0, pair[0].0 + pair[0].1, "{cache:?}: {billed:?}");
            assert!(pair[1].1 > 0 && pair[1].2 == 0, "{cache:?}: {billed:?}");
        }
    }
}

/// A read that should have been and was not is warned of; half of what was there is good enough.
#[test]
fn a_read_that_fails_is_warned_of() {
    let report = |read: u64, uncached: u64, expects: u64| RequestReport {
        attempt: AttemptId(1),
        status: 200,
        counts: Some(Counts { read: Tokens(read), uncached: Tokens(uncached), ..Counts::default() }),
        is_estimated: false,
        cost: None,
        total: Counts::default(),
        total_cost: None,
        expects: Tokens(expects),
        stop_reason: None,
        edits: Vec::new(),
    };
    let nothing = "nothing was read from the cache although an earlier request wrote this prefix";
    let left = "tokens were read that an earlier request left in the cache";
    let cases = [
        (report(0, 9, 9), Some(nothing.to_owned())),
        (report(49, 51, 100), Some(format!("only 49 of about 100 {left}"))),
        (report(50, 50, 100), None),
        // A long result behind what was there is no loss.
        (report(20, 80, 20), None),
        (report(0, 9, 0), None),
    ];
    for (report, expect) in cases {
        assert_eq!(report.warning(), expect, "{report:?}");
    }
}

/// Going back reads what is left of the conversation: the entry of the last request on that path.
#[test]
fn a_branch_reads_what_it_shares() {
    let mut stage = Stage::new(Setup::default());
    for words in ["One.", "Two.", "Three."] {
        stage.prompt(words);
        stage.end(End::Done);
    }
    stage.step(Event::Rewind { turn: 3 });
    stage.prompt("Otherwise.");
    let billed = stage.billed();
    assert_eq!(billed[3].0, billed[1].0 + billed[1].1, "{billed:?}");
}

#[test]
fn without_a_cache_no_marker_is_sent() {
    let mut stage = Stage::new(Setup { cache: None, ..Setup::default() });
    stage.prompt("Do it.");
    stage.end(End::Done);
    stage.prompt("More.");
    assert!(stage.billed().iter().all(|(read, written, _)| read + written == 0));
}

/// Servers that keep prefixes unasked are expected to, once they have shown that they do; a day later nobody knows.
#[test]
fn a_server_that_has_read_is_expected_to_read_on() {
    let mut stage = Stage::new(Setup { dialect: Dialect::OpenAiChat, ..Setup::default() });
    stage.prompt("Do it.");
    stage.end(End::Calls(1));
    stage.give(0, "Some lines of a file.", false);
    stage.end(End::Done);
    stage.resume();
    stage.prompt("More.");
    stage.end(End::Done);
    stage.wait(24 * 3_600_000);
    stage.prompt("And more.");
    stage.end(End::Done);
    let expected: Vec<bool> = stage.reports.iter().map(|report| !report.expects.is_zero()).collect();
    assert_eq!(expected, [false, false, true, false]);
}

/// A template that leaves out reasoning when the user speaks again: the forecast says so, and nothing else is
/// expected.
#[test]
fn what_a_template_rewrites_is_forecast() {
    let setup = Setup { dialect: Dialect::OpenAiChat, thinking: true, ..Setup::default() };
    let mut stage = Stage::new(setup);
    stage.prompt("Do it.");
    stage.end(End::Calls(1));
    stage.give(0, "Some lines of a file.", false);
    stage.end(End::Done);
    stage.prompt("More.");
    stage.end(End::Calls(1));
    stage.give(0, "More lines of a file.", false);
    stage.end(End::Done);
    let found: Vec<Vec<(usize, Cause)>> = stage
        .limits
        .iter()
        .map(|limits| limits.iter().map(|limit| (limit.at, limit.cause)).collect())
        .collect();
    // Two tools, the system prompt and the first prompt stand in front of the reasoning.
    assert_eq!(found, [vec![], vec![], vec![(4, Cause::ReasoningStripped)], vec![]]);
    assert!(stage.limits[2][0].source.contains("wen"), "{:?}", stage.limits[2]);
    let expected: Vec<bool> = stage.reports.iter().map(|report| !report.expects.is_zero()).collect();
    assert_eq!(expected, [false, false, false, true]);
}

/// A reply without usage is counted by its bytes and marked so, live and on replay.
#[test]
fn usage_that_is_missing_is_estimated() {
    for dialect in Dialect::ALL {
        let mut stage = Stage::new(Setup { dialect, ..Setup::default() });
        stage.prompt("Do it.");
        let (_, reply) = stage.in_flight.clone().unwrap();
        let block = reply.content_json().len() as u64;
        stage.answer_with(Assembled { usage: Usage::default(), usage_json: None, ..reply });
        let report = stage.reports.last().unwrap();
        let counts = report.counts.unwrap();
        assert!(report.is_estimated);
        let sent = stage.session.conversation().attempts()[0].attempt.bytes;
        let expect =
            Counts { uncached: Tokens(sent * 2 / 7), output: Tokens(block * 2 / 7), ..Counts::default() };
        assert_eq!(counts, expect);
        let spent = stage.session.spent();
        assert_eq!((spent.counts, spent.estimated, spent.unreported), (expect, 1, 0));
        stage.resume();
        assert_eq!(stage.session.spent(), spent);
    }
}

/// What the engine computed once, it does not compute again: each request reads all of the prompt before, but for the
/// opening of the reply, which is three tokens and stands elsewhere behind a reply without its reasoning.
#[test]
fn an_engine_reads_each_earlier_prompt() {
    let mut stage = Stage::new(Setup { dialect: Dialect::OpenAiChat, ..Setup::default() });
    stage.prompt("Do it.");
    for width in [1, 30, 2] {
        stage.end(End::Calls(width));
        (0..width).for_each(|_| stage.give(0, "Some lines of a file.", false));
    }
    stage.end(End::Done);
    stage.resume();
    stage.prompt("More.");
    stage.end(End::Done);
    let counts: Vec<Counts> = stage.reports.iter().map(|report| report.counts.unwrap()).collect();
    assert_eq!(counts.len(), 5);
    for pair in counts.windows(2) {
        assert!(pair[1].read.0 + 3 >= pair[0].prompt().0, "{counts:?}");
    }
}
