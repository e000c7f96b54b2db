//! What was sent is read back from the provider's cache.

use antefix_models::{Counts, Tokens, Ttl};
use antefix_session::event::{Event, RequestReport};
use antefix_session::record::AttemptId;

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
        let expected: Vec<bool> = stage.reports.iter().map(|report| report.expected_read).collect();
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

/// A read that should have been and was not is warned of; an efficiency of a half is good enough.
#[test]
fn a_read_that_fails_is_warned_of() {
    let report = |read: u64, uncached: u64, expected_read: bool| RequestReport {
        attempt: AttemptId(1),
        status: 200,
        counts: Some(Counts { read: Tokens(read), uncached: Tokens(uncached), ..Counts::default() }),
        is_estimated: false,
        cost: None,
        total: Counts::default(),
        total_cost: None,
        expected_read,
        stop_reason: None,
    };
    let nothing = "nothing was read from the cache although an earlier request wrote this prefix";
    let cases = [
        (report(0, 9, true), Some(nothing.to_owned())),
        (report(49, 51, true), Some("only 49 % of the input was read from the cache".to_owned())),
        (report(50, 50, true), None),
        (report(0, 9, false), None),
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
