//! A cache is kept warm while calls run, as long as that pays; and what a request is expected to cost is told.

use antefix_models::{Platform, PriceBook, Ttl, rules};
use antefix_session::event::{Event, ResponseEnd, ResponseFacts};
use antefix_session::guard::Limits;
use antefix_session::machine::Settings;
use antefix_session::record::{Purpose, Record};
use antefix_session::verify::verify;
use antefix_session::warm::{KeepWarm, NotWarmed, can_be_warmed};
use antefix_wire::assemble::Assembled;

use crate::reply::{End, whole};
use crate::stage::{Setup, Stage, header};

const MINUTE: u64 = 60_000;

fn setup(longest: u64) -> Setup {
    let settings =
        Settings { keep_warm: Some(KeepWarm { longest, after: None }), ..Setup::default().settings };
    Setup { settings, ..Setup::default() }
}

/// A session whose last request was sent at this point in time and whose model waits for a call.
fn calling(setup: Setup) -> (Stage, u64) {
    let mut stage = Stage::new(setup);
    stage.prompt("Do it.");
    let sent = stage.now().0;
    stage.end(End::Calls(1));
    (stage, sent)
}

/// The session is woken at that time; what it sends is answered.
fn wake(stage: &mut Stage, at: u64) -> bool {
    // Each step takes a second.
    stage.wait(at - 1_000 - stage.now().0);
    stage.step(Event::WarmDue);
    let Some((attempt, message)) = stage.warming.take() else { return false };
    stage.step(Event::Response { attempt, end: whole(message) });
    true
}

#[test]
fn a_cache_that_is_kept_warm_is_read_when_the_calls_return() {
    for (longest, reads_in_the_end) in [(0, false), (60 * MINUTE, true)] {
        let (mut stage, sent) = calling(setup(longest));
        let first = stage.billed()[0];
        let mut times = 0;
        while let Some(due) = stage.warm_at.take() {
            times += u64::from(wake(&mut stage, due.0));
            if times == 2 {
                break;
            }
        }
        if reads_in_the_end {
            assert_eq!(times, 2);
            // What it sends reads all, and writes nothing.
            assert_eq!(stage.billed()[1..], [(first.1, 0, 0), (first.1, 0, 0)]);
            assert!(stage.warm_reports.iter().all(|warm| warm.report.cost.unwrap() < warm.saves));
        }
        stage.wait(sent + 570_000 - stage.now().0);
        stage.give(0, "Some lines.", false);
        assert_eq!(stage.billed().last().unwrap().0 > 0, reads_in_the_end);
        stage.end(End::Done);
        let purposes = stage.entries.iter().filter_map(|entry| match &entry.record {
            Record::Attempt(attempt) => Some(attempt.purpose),
            _ => None,
        });
        assert_eq!(purposes.filter(|purpose| *purpose == Purpose::Warm).count() as u64, times);
        let report = verify(header(), &stage.entries);
        assert!(report.is_ok(), "{report:?}");
        stage.resume();
        stage.prompt("And now.");
        stage.end(End::Done);
    }
}

#[test]
fn it_is_done_at_nine_tenths_of_the_life_and_never_when_that_is_over() {
    for (ttl, due, latest) in [(Ttl::FiveMinutes, 270_000, 285_000), (Ttl::OneHour, 54 * MINUTE, 57 * MINUTE)]
    {
        for (at, is_sent, is_too_late) in
            [(due - 1, false, false), (due, true, false), (latest, true, false), (latest + 1, false, true)]
        {
            let (mut stage, sent) = calling(Setup { cache: Some(ttl), ..setup(120 * MINUTE) });
            assert_eq!(stage.warm_at.take().unwrap().0, sent + due);
            assert_eq!(wake(&mut stage, sent + at), is_sent, "{ttl:?} {at}");
            assert_eq!(stage.notices.iter().any(|text| text.contains("slept")), is_too_late, "{ttl:?} {at}");
            // Woken too early it asks again; too late, it gives up.
            assert_eq!(stage.warm_at.is_some(), !is_too_late);
        }
    }
}

/// A replay reads at a tenth of the price of input, a miss costs 1.25 − 0.1 of it: eleven replays cost less, twelve more.
#[test]
fn it_ends_when_it_would_cost_more_than_it_saves_or_took_too_long() {
    for (longest, expect) in [(24 * 60 * MINUTE, 11), (10 * MINUTE, 2), (MINUTE, 0)] {
        let (mut stage, _) = calling(setup(longest));
        let mut times = 0;
        while let Some(due) = stage.warm_at.take() {
            times += u64::from(wake(&mut stage, due.0));
        }
        assert_eq!(times, expect, "{longest}");
    }
    let limits = Limits { max_cost: Some("0.0001".parse().unwrap()), ..Limits::default() };
    let poor = setup(60 * MINUTE);
    let settings = Settings { limits, ..poor.settings.clone() };
    let (stage, _) = calling(Setup { settings, ..poor });
    assert_eq!(stage.warm_at, None, "the session may not cost more");
}

#[test]
fn the_turn_goes_on_whatever_becomes_of_it() {
    let rejected = |status| ResponseEnd::Rejected {
        response: ResponseFacts {
            status,
            request_id: None,
            first_byte: None,
            quota: Vec::new(),
            too_long: None,
        },
        kind: "overloaded_error".to_owned(),
        message: "busy".to_owned(),
        retry_after: None,
    };
    for status in [400, 401, 429, 529] {
        let (mut stage, sent) = calling(setup(60 * MINUTE));
        stage.wait(sent + 270_000 - stage.now().0);
        stage.step(Event::WarmDue);
        let (attempt, _) = stage.warming.take().unwrap();
        stage.warm_at = None;
        stage.step(Event::Response { attempt, end: rejected(status) });
        assert_eq!(stage.warm_at, None);
        assert!(stage.warm_reports[0].error.as_ref().unwrap().contains("busy"));
        // A new process takes what was rejected for what it was, and no more.
        let entries = stage.entries.len();
        stage.kill(entries, stage.setup.clone());
        stage.prompt("Go on.");
        stage.end(End::Done);
        assert!(verify(header(), &stage.entries).is_ok());
        let mut path = stage.session.conversation().path();
        assert!(path.any(|message| !message.calls().is_empty()), "the call was left behind: {status}");
    }
}

#[test]
fn calls_that_return_meanwhile_do_not_wait_for_it() {
    let (mut stage, sent) = calling(setup(60 * MINUTE));
    stage.wait(sent + 270_000 - stage.now().0);
    stage.step(Event::WarmDue);
    let (attempt, message) = stage.warming.take().unwrap();
    stage.give(0, "Some lines.", false);
    stage.step(Event::Response { attempt, end: whole(message) });
    stage.end(End::Done);
    assert!(stage.session.is_idle() && verify(header(), &stage.entries).is_ok());
    // A timer that goes off once the turn is over wakes nobody.
    stage.warm_at = None;
    stage.step(Event::WarmDue);
    assert!(stage.warm_at.is_none() && stage.warming.is_none());
    // A process that dies while it is on its way leaves a session that goes on.
    let (mut stage, sent) = calling(setup(60 * MINUTE));
    stage.wait(sent + 270_000 - stage.now().0);
    stage.step(Event::WarmDue);
    let entries = stage.entries.len();
    stage.kill(entries, stage.setup.clone());
    stage.prompt("Go on.");
    stage.end(End::Done);
    assert!(verify(header(), &stage.entries).is_ok());
}

/// One that reads nothing shows that the entry was gone: the next would keep nothing warm.
#[test]
fn a_replay_that_reads_nothing_is_the_last() {
    for (read, goes_on) in [(2_000, true), (0, false)] {
        let (mut stage, sent) = calling(setup(60 * MINUTE));
        stage.wait(sent + 270_000 - stage.now().0);
        stage.step(Event::WarmDue);
        let (attempt, message) = stage.warming.take().unwrap();
        stage.warm_at = None;
        let usage = format!(
            r#"{{"input_tokens":3,"cache_read_input_tokens":{read},"cache_creation_input_tokens":9,"output_tokens":1}}"#
        );
        let message = Assembled { usage_json: Some(usage.into_bytes()), ..message };
        stage.step(Event::Response { attempt, end: whole(message) });
        assert_eq!(stage.warm_at.is_some(), goes_on, "{read}");
    }
}

#[test]
fn only_what_has_a_marker_and_no_budget_of_thinking_is_kept_warm() {
    for (setup, expect) in [
        (Setup::default(), Ok(Ttl::FiveMinutes)),
        (Setup { cache: None, ..Setup::default() }, Err(NotWarmed::NoMarkers)),
        (Setup { thinking: true, ..Setup::default() }, Err(NotWarmed::ThinkingBudget)),
    ] {
        let stage = Stage::new(setup);
        let lane = stage.session.conversation().lane().unwrap();
        assert_eq!(can_be_warmed(lane, &PriceBook::default(), stage.now()), expect);
    }
}

/// The forecast of the second message against what it was billed, a minute and a day later.
#[test]
fn what_a_request_is_expected_to_cost_is_told_before_it_is_sent() {
    for (wait, left) in [(MINUTE, true), (24 * 60 * MINUTE, false)] {
        let mut stage = Stage::new(Setup::default());
        stage.prompt("Do it.");
        assert_eq!(stage.outlooks, [], "nothing is known in front of the first");
        let sent = stage.now().0;
        stage.end(End::Done);
        stage.wait(wait);
        stage.prompt("And now.");
        let outlook = stage.outlooks[0];
        let life = i64::try_from(sent + 5 * MINUTE).unwrap() - i64::try_from(stage.now().0).unwrap();
        assert_eq!((outlook.expires_in, outlook.expires_in > Some(0)), (Some(life), left));
        let (read, written, uncached) = *stage.billed().last().unwrap();
        assert_eq!(read, if left { outlook.reads.0 } else { 0 });
        assert!(outlook.tokens.0.abs_diff(read + written + uncached) < 50, "{outlook:?} {read} {written}");
        assert!(outlook.warm < outlook.cold);
        stage.end(End::Done);
        let cost = stage.reports.last().unwrap().cost.unwrap();
        let expected = if left { outlook.warm } else { outlook.cold }.unwrap();
        // What is behind the last request is estimated, and the output is not in it.
        assert!(expected.0.abs_diff(cost.0) < cost.0.unsigned_abs() / 4, "{expected:?} {cost:?}");
    }
    let unknown = Stage::new(Setup { cache: None, ..Setup::default() });
    let unpriced = rules(Platform::Anthropic, "some-model");
    let (conversation, book) = (unknown.session.conversation(), PriceBook::default());
    assert_eq!(conversation.outlook(&unpriced, &book, unknown.now()), None);
}
