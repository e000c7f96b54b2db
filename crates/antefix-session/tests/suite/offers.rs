//! Tools that are offered and withdrawn in the midst of a conversation: each change is said once, whatever happens
//! between, and the simulator, which holds them to the API's rules, takes every request.

use antefix_models::Tokens;
use antefix_session::conversation::{OFFERS, Standing};
use antefix_session::dialect::Dialect;
use antefix_session::event::{Event, Returned};
use antefix_session::machine::{CompactionSettings, Settings};
use antefix_session::placement::Placement;
use antefix_session::record::ContextRecord;
use antefix_session::verify::verify;
use bytes::Bytes;

use crate::reply::End;
use crate::stage::{Setup, Stage, header, text};

/// What happens.
#[derive(Clone, Copy)]
enum Do {
    /// The user says something; this is what should be offered now, and nothing is told in words.
    Tell(&'static str),
    /// The same, and it is told in words as well.
    Explain(&'static str),
    /// The user says something, and nothing has changed.
    Say,
    /// The model finds a deferred tool in a turn of its own.
    Find,
    /// It becomes known while a call runs.
    Note(&'static str),
    /// The user goes back to in front of a turn.
    Rewind(u64),
    /// Another process goes on.
    Resume,
    /// A copy goes on.
    Fork,
    /// The conversation goes on from a summary.
    Compact,
    /// Another model, of this name, goes on; it takes changes or not.
    Model(&'static str, bool),
}
use Do::{Compact, Explain, Find, Fork, Model, Note, Resume, Rewind, Say, Tell};

const GONE: &str = r#"{"withdrawn":{"read":"gone"}}"#;
const TWO: &str = r#"{"withdrawn":{"edit":"denied","read":"gone"}}"#;
const FOUND_GONE: &str = r#"{"withdrawn":{"late":"gone"}}"#;
const LOADED: &str = r#"{"added":["late"]}"#;
const LOADED_DENIED: &str = r#"{"withdrawn":{"late":"denied"},"added":["late"]}"#;
const STRANGE: &str = r#"{"withdrawn":{"nobody":"gone"},"added":["somebody"]}"#;
const NONE: &str = "null";
const OLD: Do = Model("claude-sonnet-4-6", false);

/// What happens, and what the last request says of tools, in order.
const CASES: &[(&str, &[Do], &str)] = &[
    ("nothing", &[Say, Say], ""),
    ("withdrawn", &[Say, Tell(GONE), Say], "-read"),
    ("in the order of the array", &[Say, Tell(TWO), Say], "-read -edit"),
    ("with the first message", &[Tell(GONE), Say], "-read"),
    ("and back", &[Say, Tell(GONE), Tell(NONE), Say], "-read +read"),
    ("one of two is back", &[Say, Tell(TWO), Tell(GONE), Say], "-read -edit +edit"),
    ("again and again", &[Tell(GONE), Tell(NONE), Tell(GONE), Tell(NONE)], "-read +read -read +read"),
    ("the same once more", &[Tell(GONE), Tell(GONE), Explain(GONE)], "-read"),
    ("told in words too", &[Say, Explain(GONE), Say], "-read"),
    ("in the midst of a turn", &[Say, Note(GONE), Say], "-read"),
    ("back in the midst of a turn", &[Tell(GONE), Note(NONE), Say], "-read +read"),
    ("never found", &[Say, Tell(FOUND_GONE), Tell(NONE), Say], ""),
    ("found, gone and back", &[Find, Tell(FOUND_GONE), Tell(NONE), Say], "-late +late"),
    ("gone when it is found", &[Tell(FOUND_GONE), Find, Say], "-late"),
    ("loaded", &[Say, Tell(LOADED), Say], "+late"),
    ("loaded when it was found", &[Find, Tell(LOADED), Say], ""),
    ("loaded stays", &[Tell(LOADED), Tell(NONE), Say], "+late"),
    ("loaded and denied", &[Tell(LOADED_DENIED), Say], ""),
    ("loaded, denied, allowed", &[Tell(LOADED), Tell(LOADED_DENIED), Tell(LOADED)], "+late -late +late"),
    ("not in the array", &[Say, Tell(STRANGE), Say], ""),
    ("a rewind takes it back", &[Say, Tell(GONE), Rewind(2), Say], ""),
    ("and it is said again", &[Say, Tell(GONE), Rewind(2), Tell(GONE), Say], "-read"),
    ("a rewind to behind it", &[Tell(GONE), Say, Rewind(2), Say], "-read"),
    ("a rewind to behind it, back", &[Tell(GONE), Tell(NONE), Rewind(2), Tell(NONE)], "-read +read"),
    ("found, rewound and gone", &[Say, Find, Rewind(2), Tell(FOUND_GONE)], ""),
    ("resumed", &[Tell(GONE), Resume, Say, Resume, Tell(NONE), Say], "-read +read"),
    ("a copy", &[Tell(GONE), Fork, Say, Tell(NONE)], "-read +read"),
    ("a summary", &[Say, Tell(TWO), Compact, Say, Say], "-read -edit"),
    ("a summary, back", &[Say, Tell(TWO), Compact, Tell(GONE), Tell(NONE)], "-read +read"),
    ("a summary, loaded", &[Tell(LOADED), Compact, Say, Say], "+late"),
    ("a rewind to in front of a summary", &[Tell(GONE), Say, Compact, Say, Rewind(2), Say], "-read"),
    ("a model without", &[Tell(GONE), OLD, Say, Say], ""),
    ("a model without, and back", &[Tell(GONE), OLD, Say, Model("claude-opus-4-8", true), Say], "-read"),
    ("another model with", &[Tell(GONE), Say, Model("claude-opus-5", true), Say], "-read"),
];

#[test]
fn each_change_is_said_once() {
    for (name, steps, expect) in CASES {
        let mut stage = Stage::new(setup("claude-opus-4-8", true));
        for step in *steps {
            stage = done(stage, *step);
        }
        assert_eq!(said(&stage), *expect, "{name}");
        assert!(verify(header(), &stage.entries).is_ok(), "{name}");
    }
}

/// Texts say why, and stand in front.
#[test]
fn a_change_has_its_bytes() {
    let mut stage = Stage::new(setup("claude-opus-4-8", true));
    stage = done(stage, Explain(GONE));
    let change = |kind: &str, name: &str| {
        format!(r#"{{"type":"tool_{kind}","tool":{{"type":"tool_reference","name":"{name}"}}}}"#)
    };
    let removal = change("removal", "read");
    let with_words =
        format!(r#",{{"role":"system","content":[{{"type":"text","text":"Because."}},{removal}]}}]}}"#);
    assert!(body(&stage).ends_with(&with_words), "{}", body(&stage));
    stage = done(stage, Tell(LOADED));
    let alone = format!(
        r#",{{"role":"system","content":[{},{}]}}]}}"#,
        change("addition", "read"),
        change("addition", "late")
    );
    assert!(body(&stage).ends_with(&alone), "{}", body(&stage));
    assert_eq!(
        stage.told,
        ["Because.", "It may not call `read` any more.", "It may call `read`, `late`."],
        "the user sees it"
    );
}

/// A lane without the beta, or whose reminders stand elsewhere, says nothing, whatever is on record.
#[test]
fn a_lane_that_cannot_say_it_does_not() {
    for (dialect, placement, changes) in [
        (Dialect::Anthropic, Placement::SystemMessage, false),
        (Dialect::Anthropic, Placement::UserBlock, true),
        (Dialect::OpenAiChat, Placement::DeveloperMessage, true),
    ] {
        let setup =
            Setup { dialect, reminders: Some(placement), changes, ..setup("claude-opus-4-8", changes) };
        let mut stage = Stage::new(Setup { model: None, ..setup });
        stage = done(stage, Explain(GONE));
        assert_eq!((said(&stage).as_str(), stage.session.conversation().offers()), ("", None));
        assert_eq!(stage.told, ["Because."]);
    }
}

#[test]
fn how_tools_stand() {
    let standing = |is_offered, was_offered| Standing { is_offered, was_offered };
    let mut stage = Stage::new(setup("claude-opus-4-8", true));
    let mut check = |step, late, read| {
        let before = std::mem::replace(&mut stage, Stage::new(setup("claude-opus-4-8", true)));
        stage = done(before, step);
        let offers = stage.session.conversation().offers().unwrap();
        let found: Vec<_> =
            ["late", "read"].map(|name| offers.tools.get(name).copied()).into_iter().collect();
        assert_eq!(found, [Some(late), Some(read)]);
    };
    check(Say, standing(false, false), standing(true, true));
    check(Tell(GONE), standing(false, false), standing(false, true));
    check(Find, standing(true, true), standing(false, true));
    check(Tell(FOUND_GONE), standing(false, true), standing(true, true));
}

/// A process that dies at any record between looking and sending loses nothing and says nothing twice.
#[test]
fn a_kill_neither_loses_nor_repeats_a_change() {
    let mut stage = Stage::new(setup("claude-opus-4-8", true));
    stage = done(stage, Say);
    let front = stage.entries.len();
    stage.prompt_with("Now.", vec![offers(GONE, None)]);
    let end = stage.entries.len();
    let (entries, sent) = (stage.entries.clone(), stage.sent.clone());
    for kept in front..=end {
        stage.entries = entries.clone();
        stage.kill(kept, setup("claude-opus-4-8", true));
        // A request on record counts as sent.
        stage.sent = sent[..=usize::from(kept == end)].to_vec();
        let mut killed = stage.fork();
        killed = done(killed, Tell(GONE));
        killed = done(killed, Say);
        assert_eq!(said(&killed), "-read", "{kept} of {front} to {end}");
    }
}

/// Where a turn goes on behind a summary, its first request already says what is withdrawn.
#[test]
fn a_turn_goes_on_behind_a_summary_with_what_was_withdrawn() {
    let compaction = CompactionSettings { window: Some(Tokens(40_000)), ..CompactionSettings::default() };
    let settings = Settings { compaction, ..Settings::default() };
    let setup = Setup { window: Some(40_000), settings, ..setup("claude-opus-4-8", true) };
    let mut stage = Stage::new(setup);
    stage.prompt_with("Count.", vec![offers(GONE, None)]);
    while !stage.is_refreshing {
        stage.end(End::Calls(1));
        if stage.running.is_empty() {
            stage.end(End::Done);
        } else {
            stage.give(0, &"seven c".repeat(750), false);
        }
        if stage.session.is_compacting() {
            stage.end(End::Done);
        }
    }
    stage.refresh();
    assert_eq!(stage.compactions, [None]);
    assert_eq!(said(&stage), "-read");
    stage.end(End::Calls(1));
    stage.give(0, "more", false);
    stage.end(End::Done);
    assert_eq!(said(&stage), "-read");
    assert!(verify(header(), &stage.entries).is_ok());
}

fn setup(model: &'static str, changes: bool) -> Setup {
    let reminders = if changes { Placement::SystemMessage } else { Placement::UserBlock };
    let settings = Settings { retries: 0, ..Settings::default() };
    Setup { changes, reminders: Some(reminders), model: Some(model), settings, ..Setup::default() }
}

fn offers(state: &str, text: Option<&str>) -> ContextRecord {
    ContextRecord {
        kind: OFFERS.to_owned(),
        key: String::new(),
        state: Bytes::copy_from_slice(state.as_bytes()),
        text: text.map(str::to_owned),
    }
}

fn done(mut stage: Stage, step: Do) -> Stage {
    match step {
        Say => stage.prompt("Go on."),
        Tell(state) => stage.prompt_with("Go on.", vec![offers(state, None)]),
        Explain(state) => stage.prompt_with("Go on.", vec![offers(state, Some("Because."))]),
        Find | Note(_) => {
            stage.prompt("Go on.");
            stage.end(End::Calls(1));
            let call = stage.running.remove(0);
            if let Note(state) = step {
                stage.step(Event::Note(vec![offers(state, None)]));
            }
            let found = br#"{"type":"tool_reference","tool_name":"late"}"#;
            let content = if matches!(step, Find) { vec![Bytes::from_static(found)] } else { Vec::new() };
            let output = Returned { content, is_error: false, facts: Bytes::from_static(b"[]") };
            stage.step(Event::Returned { call: call.id, output });
        }
        Rewind(turn) => stage.step(Event::Rewind { turn }),
        Resume => stage.resume(),
        Fork => stage = stage.fork(),
        Compact => {
            stage.compact();
            stage.end(End::Done);
            stage.refresh();
            assert_eq!(stage.compactions.last(), Some(&None));
        }
        Model(model, changes) => {
            stage.setup = setup(model, changes);
            stage.switch(Dialect::Anthropic);
        }
    }
    if stage.in_flight.is_some() {
        stage.end(End::Done);
    }
    stage
}

fn body(stage: &Stage) -> String {
    text(&stage.sent.last().unwrap().stripped)
}

/// What the last request says of tools, in order.
fn said(stage: &Stage) -> String {
    let body = body(stage);
    let (_, messages) = body.split_once(r#""messages":["#).unwrap();
    let parts: Vec<&str> = messages.split(r#"","tool":{"type":"tool_reference","name":""#).collect();
    let change = |pair: &[&str]| {
        let sign = if pair[0].ends_with("tool_addition") { '+' } else { '-' };
        format!("{sign}{}", pair[1].split_once('"').unwrap().0)
    };
    let found: Vec<String> = parts.windows(2).map(change).collect();
    found.join(" ")
}
