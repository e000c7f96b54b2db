//! However a turn with a reminder ends, the model is told once: what was left behind is told again, what was sent is not,
//! and what was on record without its message is said by the next one.

use antefix_session::event::Event;
use antefix_session::verify::verify;

use super::{PLACES, appended, context, known, messages, stage};
use crate::reply::End;
use crate::stage::{Stage, header};

/// What the model is told, in the user's message or with results.
const WORDS: &str = "The branch is `topic`.";

/// The user speaks; if the model does not know the branch, it is told.
fn speak(stage: &mut Stage, words: &str) {
    stage.step(Event::Settle);
    let told = known(stage, "git", "").is_none().then(|| context("git", "", r#""topic""#, Some(WORDS)));
    stage.prompt_with(words, told.into_iter().collect());
}

/// Goes on twice, and counts how often the model is told in what it is sent.
fn told_once(stage: &mut Stage, name: &str) {
    for _ in 0..2 {
        speak(stage, "Next.");
        let sent = messages(stage);
        assert_eq!(sent.matches(WORDS).count(), 1, "{name}\n{sent}");
        stage.end(End::Done);
    }
    let report = verify(header(), &stage.entries);
    assert!(report.is_ok(), "{name}: {report:?}");
    assert_eq!(report.requests as usize, stage.sent.len());
}

type Drive = fn(&mut Stage);

/// A way to end a turn, and whether the model knows the branch when the next begins, if it was told with the user's
/// words.
const ENDS: &[(&str, bool, Drive)] = &[
    ("done", true, |stage| stage.end(End::Done)),
    ("stop sequence", true, |stage| stage.end(End::StopSequence)),
    ("empty", true, |stage| stage.end(End::Empty)),
    ("limit in text", true, |stage| stage.end(End::MaxInText)),
    ("limit in thinking", true, |stage| stage.end(End::MaxInThinking)),
    ("limit in a call", true, |stage| stage.end(End::MaxInInput)),
    ("window", true, |stage| stage.end(End::Window)),
    ("refusal", false, |stage| stage.end(End::Refusal)),
    ("refusal, cut", false, |stage| stage.end(End::RefusalCut)),
    ("cut before", true, |stage| stage.end(End::CutBefore)),
    ("cut in text", true, |stage| stage.end(End::CutInText)),
    ("cut behind a call", true, |stage| stage.end(End::CutBehindCall)),
    ("not reached", true, |stage| stage.end(End::Unreachable { retryable: false })),
    ("content blamed", false, |stage| stage.end(End::Rejected(400))),
    ("too large", false, |stage| stage.end(End::Rejected(413))),
    // The context stays in front of the message that was left behind, and waits.
    ("key blamed", true, |stage| stage.end(End::Rejected(401))),
    ("overloaded", true, |stage| stage.end(End::Rejected(529))),
    ("cancelled", true, |stage| {
        stage.interrupt();
        stage.end(End::CutBefore);
    }),
    ("cancelled in text", true, |stage| {
        stage.interrupt();
        stage.end(End::CutInText);
    }),
    ("cancelled calls", true, |stage| {
        stage.end(End::Calls(1));
        stage.interrupt();
        stage.give(0, "nine", false);
    }),
    ("calls", true, |stage| {
        stage.end(End::Calls(1));
        stage.give(0, "nine", false);
        stage.end(End::Done);
    }),
    ("content blamed behind calls", true, |stage| {
        stage.end(End::Calls(1));
        stage.give(0, "nine", false);
        stage.end(End::Rejected(400));
    }),
    ("key blamed behind calls", true, |stage| {
        stage.end(End::Calls(1));
        stage.give(0, "nine", false);
        stage.end(End::Rejected(401));
    }),
    ("refusal behind calls", false, |stage| {
        stage.end(End::Calls(1));
        stage.give(0, "nine", false);
        stage.end(End::Refusal);
    }),
    ("killed", true, |stage| stage.resume()),
    ("killed with calls", true, |stage| {
        stage.end(End::Calls(1));
        stage.resume();
    }),
];

/// Those with tools that the provider runs.
const PAUSES: &[(&str, bool, Drive)] = &[
    ("paused", true, |stage| {
        stage.end(End::Pause);
        stage.end(End::Done);
    }),
    ("paused for good", true, |stage| {
        stage.end(End::PauseOpen);
        stage.resume();
    }),
    ("paused in text", true, |stage| stage.end(End::PauseInText)),
    ("cut in a tool of the provider", true, |stage| stage.end(End::CutInServerTool)),
    ("paused, then the content is blamed", true, |stage| {
        stage.end(End::Pause);
        stage.end(End::Rejected(400));
    }),
    ("paused, then refused", false, |stage| {
        stage.end(End::Pause);
        stage.end(End::Refusal);
    }),
];

#[test]
fn the_model_is_told_once_however_the_turn_ends() {
    for (dialect, placement) in PLACES {
        let paused = if dialect == antefix_session::dialect::Dialect::Anthropic { PAUSES } else { &[] };
        for ((name, stays, drive), thinking, first) in ENDS
            .iter()
            .chain(paused)
            .flat_map(|row| [(row, false, false), (row, true, false), (row, true, true)])
        {
            let mut stage = stage(dialect, placement, thinking);
            if !first {
                stage.prompt("First.");
                stage.end(End::Done);
            }
            speak(&mut stage, "Do it.");
            assert_eq!(messages(&stage).matches(WORDS).count(), 1);
            drive(&mut stage);
            let name = format!("{name}, {placement:?} in {dialect:?}, thinking {thinking}, first {first}");
            stage.step(Event::Settle);
            assert_eq!(known(&stage, "git", "").is_some(), *stays, "{name}");
            told_once(&mut stage, &name);
        }
    }
}

/// What changes while tools run is told with their results; if these are not sent, with the next message.
#[test]
fn what_changes_in_a_turn_is_told_once() {
    let ends: &[(&str, Drive)] = &[
        ("done", |stage| stage.end(End::Done)),
        ("content blamed", |stage| stage.end(End::Rejected(400))),
        ("key blamed", |stage| stage.end(End::Rejected(401))),
        ("refusal", |stage| stage.end(End::Refusal)),
        ("killed", |stage| stage.resume()),
    ];
    for (dialect, placement) in PLACES {
        for (name, drive) in ends {
            let mut stage = stage(dialect, placement, true);
            stage.prompt("Do it.");
            stage.end(End::Calls(1));
            stage.step(Event::Note(vec![context("git", "", r#""topic""#, Some(WORDS))]));
            stage.give(0, "nine", false);
            assert_eq!(messages(&stage).matches(WORDS).count(), 1);
            drive(&mut stage);
            told_once(&mut stage, &format!("{name}, {placement:?} in {dialect:?}"));
        }
        let mut unsent = stage(dialect, placement, true);
        unsent.prompt("Do it.");
        unsent.step(Event::Note(vec![context("git", "", r#""topic""#, Some(WORDS))]));
        unsent.end(End::Calls(1));
        unsent.resume();
        assert!(known(&unsent, "git", "").is_some());
        told_once(&mut unsent, &format!("unsent, {placement:?} in {dialect:?}"));
    }
}

/// The process dies behind any line of the batch that holds the reminder, the message and the request.
#[test]
fn a_crash_within_the_batch_loses_nothing_and_repeats_nothing() {
    for (dialect, placement) in PLACES {
        for thinking in [false, true] {
            for kept in 0.. {
                let mut stage = stage(dialect, placement, thinking);
                stage.prompt("First.");
                stage.end(End::Done);
                let told = vec![context("git", "", r#""topic""#, Some(WORDS))];
                let words = vec![antefix_session::closure::text_block("Lost?")];
                let commands = stage.commands(Event::Prompt { blocks: words, context: told });
                let lines: Vec<_> = commands.into_iter().filter_map(appended).flatten().collect();
                // A request on record counts as sent, which the stage cannot know.
                if kept + 1 == lines.len() {
                    break;
                }
                stage.entries.extend(lines.into_iter().take(kept));
                stage.resume();
                told_once(&mut stage, &format!("{kept} lines, {placement:?} in {dialect:?}"));
            }
        }
    }
}
