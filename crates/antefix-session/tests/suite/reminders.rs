//! What the model is told of its surroundings: where it stands, that it is told once however the turn ends, and what is
//! known from then on.

mod ends;
mod forged;
mod places;

use antefix_session::dialect::Dialect;
use antefix_session::event::Event;
use antefix_session::machine::{SessionError, Settings};
use antefix_session::placement::Placement;
use antefix_session::record::{ContextRecord, Entry, Record};
use antefix_session::verify::verify;
use bytes::Bytes;

use crate::reply::End;
use crate::stage::{Setup, Stage, header, lane, text};

/// Every place that a dialect has.
pub(crate) const PLACES: [(Dialect, Placement); 5] = [
    (Dialect::Anthropic, Placement::SystemMessage),
    (Dialect::Anthropic, Placement::UserBlock),
    (Dialect::Anthropic, Placement::InText),
    (Dialect::OpenAiChat, Placement::DeveloperMessage),
    (Dialect::OpenAiChat, Placement::InText),
];

pub(crate) fn context(kind: &str, key: &str, state: &str, text: Option<&str>) -> ContextRecord {
    ContextRecord {
        kind: kind.to_owned(),
        key: key.to_owned(),
        state: Bytes::copy_from_slice(state.as_bytes()),
        text: text.map(str::to_owned),
    }
}

fn stage(dialect: Dialect, placement: Placement, thinking: bool) -> Stage {
    let settings = Settings { retries: 0, ..Settings::default() };
    Stage::new(Setup { dialect, thinking, reminders: Some(placement), settings, ..Setup::default() })
}

/// The messages of the last body that was sent.
fn messages(stage: &Stage) -> String {
    let body = text(&stage.sent.last().unwrap().stripped);
    let (_, messages) = body.split_once(r#""messages":["#).unwrap();
    messages.strip_suffix("]}").unwrap().to_owned()
}

fn known(stage: &Stage, kind: &str, key: &str) -> Option<String> {
    stage.session.conversation().known(kind, key).map(|state| text(state))
}

/// The bytes, with the user's words and with results, in every place.
#[test]
fn each_place_has_its_bytes() {
    let note = |text: &str| format!("<antefix-note kind=\\\"git\\\">\\n{text}\\n</antefix-note>");
    let block = |text: &str| format!(r#"{{"type":"text","text":"{text}"}}"#);
    let (one, two) = ("Branch \\\"b\\\".", "Two.");
    let expect = |dialect, placement| -> [String; 2] {
        match (dialect, placement) {
            (_, Placement::SystemMessage) => [
                format!(
                    r#"{{"role":"user","content":[{}]}},{{"role":"system","content":[{},{}]}}"#,
                    block("Go on."),
                    block(one),
                    block(two)
                ),
                format!(
                    r#"{},{{"role":"system","content":[{}]}}"#,
                    r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_9","content":[{"type":"text","text":"nine"}]}]}"#,
                    block("Three.")
                ),
            ],
            (_, Placement::UserBlock) => [
                format!(
                    r#"{{"role":"user","content":[{},{},{}]}}"#,
                    block("Go on."),
                    block(&note(one)),
                    block(&note(two))
                ),
                format!(
                    r#"{{"role":"user","content":[{},{}]}}"#,
                    r#"{"type":"tool_result","tool_use_id":"toolu_9","content":[{"type":"text","text":"nine"}]}"#,
                    block(&note("Three."))
                ),
            ],
            (Dialect::Anthropic, _) => [
                format!(
                    r#"{{"role":"user","content":[{},{},{}]}}"#,
                    block("Go on."),
                    block(&note(one)),
                    block(&note(two))
                ),
                format!(
                    r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"toolu_9","content":[{},{}]}}]}}"#,
                    block("nine"),
                    block(&note("Three."))
                ),
            ],
            (_, Placement::DeveloperMessage) => [
                format!(
                    r#"{{"role":"user","content":"Go on."}},{{"role":"system","content":"{one}\n\n{two}"}}"#
                ),
                r#"{"role":"tool","tool_call_id":"toolu_9","content":"nine"},{"role":"system","content":"Three."}"#
                    .to_owned(),
            ],
            (Dialect::OpenAiChat, _) => [
                format!(
                    r#"{{"role":"user","content":"Go on.\n\n{}\n\n{}"}}"#,
                    note(one),
                    note(two)
                ),
                format!(
                    r#"{{"role":"tool","tool_call_id":"toolu_9","content":"nine\n\n{}"}}"#,
                    note("Three.")
                ),
            ],
        }
    };
    for (dialect, placement) in PLACES {
        let mut stage = stage(dialect, placement, false);
        stage.prompt("First.");
        stage.end(End::Done);
        let told = ["Branch \"b\".", "Two."].map(|text| context("git", text, "[ 1 ]", Some(text)));
        stage.prompt_with("Go on.", told.to_vec());
        let [with_words, with_results] = expect(dialect, placement);
        assert!(messages(&stage).ends_with(&with_words), "{placement:?}\n{}\n{with_words}", messages(&stage));
        stage.end(End::Calls(1));
        stage.step(Event::Note(vec![
            context("git", "", "3", Some("Three.")),
            context("git", "quiet", "4", None),
        ]));
        stage.give(0, "nine", false);
        assert!(
            messages(&stage).ends_with(&with_results),
            "{placement:?}\n{}\n{with_results}",
            messages(&stage)
        );
        stage.end(End::Done);
        assert_eq!(stage.told, ["Branch \"b\".", "Two.", "Three."]);
        assert_eq!(known(&stage, "git", "Two.").as_deref(), Some("[1]"));
        assert_eq!(known(&stage, "git", "quiet").as_deref(), Some("4"));
        assert!(verify(header(), &stage.entries).is_ok());
    }
}

/// What waits is on record with the request that says it: in the same batch, so that it is written or lost with it.
#[test]
fn what_is_told_goes_on_record_with_its_request() {
    for (dialect, placement) in PLACES {
        let mut stage = stage(dialect, placement, false);
        let told = vec![context("git", "", "1", Some("Branch."))];
        let event =
            Event::Prompt { blocks: vec![antefix_session::closure::text_block("Go.")], context: told };
        let commands = stage.commands(event);
        let batches: Vec<Vec<Entry>> = commands.into_iter().filter_map(appended).collect();
        let kinds =
            |batch: &Vec<Entry>| -> Vec<&str> { batch.iter().map(|entry| kind(&entry.record)).collect() };
        let batches: Vec<Vec<&str>> = batches.iter().map(kinds).collect();
        let apart = if placement.is_apart() { vec!["message"] } else { vec![] };
        let second = [vec!["context", "message"], apart, vec!["attempt"]].concat();
        assert_eq!(batches, [vec!["turn"], second], "{placement:?}");
    }
}

/// A rewind goes back in what is known, too; going on from there tells it again.
#[test]
fn a_rewind_goes_back_in_what_is_known() {
    for (dialect, placement) in PLACES {
        let mut stage = stage(dialect, placement, true);
        for (state, words) in [("1", "One."), ("2", "Two."), ("null", "Gone.")] {
            stage.prompt_with("Go.", vec![context("git", "", state, Some(words))]);
            stage.end(End::Done);
        }
        assert_eq!(known(&stage, "git", ""), None);
        for (turn, expect) in [(3, Some("2")), (2, Some("1")), (1, None)] {
            stage.step(Event::Rewind { turn });
            assert_eq!(known(&stage, "git", "").as_deref(), expect);
        }
        stage.prompt_with("Anew.", vec![context("git", "", "2", Some("Two."))]);
        assert_eq!(messages(&stage).matches("Two.").count(), 1);
        let found: Vec<_> =
            stage.session.conversation().reminders().iter().map(|one| one.is_current).collect();
        assert_eq!(found, [false, false, false, true]);
    }
}

/// What is carried over keeps what was told, in the new lane's place, and each turn knows what it knew.
#[test]
fn a_carry_keeps_what_is_known() {
    for (from, to) in PLACES.iter().flat_map(|from| PLACES.iter().map(move |to| (from, to))) {
        if from.0 == to.0 {
            continue;
        }
        let mut stage = stage(from.0, from.1, false);
        for (state, words) in [("1", "One."), ("2", "Two.")] {
            stage.prompt_with("Go.", vec![context("git", "", state, Some(words))]);
            stage.end(End::Calls(1));
            stage.step(Event::Note(vec![context("date", "", state, Some(&format!("Day {words}")))]));
            stage.give(0, "nine", false);
            stage.end(End::Done);
        }
        stage.setup.reminders = Some(to.1);
        stage.switch(to.0);
        assert_eq!(known(&stage, "git", "").as_deref(), Some("2"));
        stage.prompt_with("And on.", vec![context("git", "", "3", Some("Three."))]);
        for words in ["Three.", "Day Two.", "Day One."] {
            assert_eq!(messages(&stage).matches(words).count(), 1, "{}", messages(&stage));
        }
        stage.end(End::Done);
        stage.step(Event::Rewind { turn: 2 });
        assert_eq!(known(&stage, "git", "").as_deref(), Some("1"));
        assert_eq!(known(&stage, "date", "").as_deref(), Some("1"));
        stage.prompt_with("Otherwise.", vec![context("git", "", "2", Some("Two."))]);
        assert_eq!(messages(&stage).matches("Two.").count(), 1, "{}", messages(&stage));
        stage.end(End::Done);
        assert!(verify(header(), &stage.entries).is_ok());
    }
}

/// What the head says is known from the start; a later lane's head says it anew, in front of all that was said before.
#[test]
fn the_baseline_is_known() {
    let mut stage = stage(Dialect::Anthropic, Placement::UserBlock, false);
    let mut spec = lane(&stage.setup);
    spec.baseline = vec![
        context("git", "", " 1", None),
        context("date", "", "1", None),
        context("files", "b", "1", None),
    ];
    let commands = stage.session.open_lane(spec, stage.now()).unwrap();
    stage.perform(commands);
    assert_eq!(known(&stage, "git", "").as_deref(), Some("1"));
    stage.prompt_with(
        "Go.",
        vec![context("git", "", "2", Some("Two.")), context("files", "a", "1", Some("A."))],
    );
    stage.end(End::Done);
    let files =
        |stage: &Stage| stage.session.conversation().known_of("files").into_iter().map(|(key, _)| key);
    assert_eq!(files(&stage).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(known(&stage, "git", "").as_deref(), Some("2"));
    let mut spec = lane(&stage.setup);
    spec.baseline = vec![context("git", "", "3", None), context("files", "a", "null", None)];
    let commands = stage.session.open_lane(spec, stage.now()).unwrap();
    stage.perform(commands);
    assert_eq!(known(&stage, "git", "").as_deref(), Some("3"));
    assert_eq!(known(&stage, "date", ""), None);
    assert_eq!(files(&stage).count(), 0);
    stage.step(Event::Rewind { turn: 1 });
    assert_eq!(known(&stage, "git", "").as_deref(), Some("3"));
    let cold = stage.replayed(&stage.setup);
    assert_eq!(cold.conversation().known("git", "").map(|state| text(state)).as_deref(), Some("3"));
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut stage = stage(Dialect::Anthropic, Placement::UserBlock, false);
    let now = stage.now();
    let mut step = |event| stage.session.step(event, now).unwrap_err().to_string();
    assert_eq!(step(Event::Note(Vec::new())), "`note` was not asked for");
    let odd = vec![context("git", "", "{", None)];
    let found = step(Event::Prompt { blocks: Vec::new(), context: odd });
    assert!(found.starts_with("what was observed cannot be sent: "), "{found}");
    for (dialect, placement) in
        [(Dialect::Anthropic, Placement::DeveloperMessage), (Dialect::OpenAiChat, Placement::UserBlock)]
    {
        let mut spec = lane(&Setup { dialect, ..Setup::default() });
        spec.reminders = placement;
        let found = stage.session.open_lane(spec, now).unwrap_err();
        assert_eq!(found, SessionError::Misplaced(placement.name(), dialect.name()));
    }
}

fn appended(command: antefix_session::event::Command) -> Option<Vec<Entry>> {
    match command {
        antefix_session::event::Command::Append { entries, .. } => Some(entries),
        _ => None,
    }
}

fn kind(record: &Record) -> &'static str {
    match record {
        Record::Turn { .. } => "turn",
        Record::Context(_) => "context",
        Record::Message(_) => "message",
        Record::Attempt(_) => "attempt",
        _ => "other",
    }
}
