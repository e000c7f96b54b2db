//! What does not fit is refused, and changes nothing.

use antefix_session::closure::text_block;
use antefix_session::conversation::{ApplyError, Conversation};
use antefix_session::event::{Command, Event, SessionEvent};
use antefix_session::machine::{SessionError, Settings};
use antefix_session::record::{
    AttemptId, EndReason, Entry, Header, LaneRecord, MessageContent, MessageRecord, Millis, Origin,
    PermissionRecord, Planned, Record, RecordError, RecordId, RewindReason, Spawned,
};
use antefix_session::verify::verify;
use bytes::Bytes;

use crate::reply::End;
use crate::stage::{Setup, Stage, header, lane, replay, text};

/// A prompt that was no JSON failed behind the records that close the turn before, which were then lost: the process
/// had them and the transcript did not.
#[test]
fn a_prompt_that_cannot_be_read_changes_nothing() {
    let mut stage = Stage::new(Setup::default());
    stage.prompt("Do it.");
    stage.kill(stage.entries.len(), Setup::default());
    let head = stage.session.conversation().head();
    // Deeper than its message may be nested.
    let deep = format!("{}{}", r#"{"a":"#.repeat(1017), "1".to_owned() + &"}".repeat(1017));
    for block in ["{\"type\":", "[1]", "\"text\"", &deep] {
        let event = Event::Prompt {
            blocks: vec![text_block("fine"), Bytes::from(block.to_owned())],
            context: Vec::new(),
        };
        let error = stage.session.step(event, Millis(9)).unwrap_err();
        assert!(matches!(error, SessionError::Unreadable { what: "the prompt", .. }), "{block}: {error}");
        assert_eq!(stage.session.conversation().head(), head);
    }
    stage.prompt("Again.");
    stage.end(End::Done);
}

/// Output that was no JSON was recorded, and only sealing it failed, at the end of all calls.
#[test]
fn output_that_cannot_be_read_changes_nothing() {
    let mut stage = Stage::new(Setup::default());
    stage.prompt("Do it.");
    stage.end(End::Calls(1));
    let head = stage.session.conversation().head();
    for (content, facts) in [("{\"type\"", "[]"), ("{}", "{}"), ("{}", "[")] {
        let Event::Returned { call, mut output } = Stage::returned(&stage.running[0], "x", false) else {
            unreachable!()
        };
        output.content = vec![Bytes::from(content)];
        output.facts = Bytes::from(facts);
        let error = stage.session.step(Event::Returned { call, output }, Millis(9)).unwrap_err();
        assert!(matches!(error, SessionError::Unreadable { .. }), "{error}");
        assert_eq!(stage.session.conversation().head(), head);
    }
    stage.give(0, "Here.", false);
    stage.end(End::Done);
}

/// White space between tokens, a newline above all, would end a transcript's line early; blank text is refused by
/// the Messages API.
#[test]
fn what_is_said_is_frozen_without_white_space() {
    let mut stage = Stage::new(Setup::default());
    let block = Bytes::from("{ \"type\" :\n\"text\", \"text\": \"a \\u00e9\\/\" , \"n\": 1.50 }");
    stage.step(Event::Prompt { blocks: vec![text_block(" \n"), block], context: Vec::new() });
    let message = stage.session.conversation().path().last().unwrap();
    assert_eq!(
        text(message.fragment()),
        r#"{"role":"user","content":[{"type":"text","text":"a \u00e9\/","n":1.50}]}"#
    );
    stage.end(End::Calls(1));
    let Event::Returned { call, mut output } = Stage::returned(&stage.running[0], "\t", false) else {
        unreachable!()
    };
    output.facts = Bytes::from("[ { \"path\" :\n \"a\" } ]");
    stage.step(Event::Returned { call, output });
    let result = stage.session.conversation().results().values().last().unwrap();
    assert_eq!(text(&result.fragment), r#"{"type":"tool_result","tool_use_id":"toolu_1","content":[]}"#);
    assert_eq!(text(&result.facts), r#"[{"path":"a"}]"#);
    stage.end(End::Done);
    assert!(stage.entries.iter().all(|entry| !entry.encode().contains(&b'\n')));
}

#[test]
fn events_out_of_order_are_refused() {
    let mut stage = Stage::new(Setup::default());
    let refused = |stage: &mut Stage, event: Event, expect: SessionError| {
        let head = stage.session.conversation().head();
        assert_eq!(stage.session.step(event, Millis(9)).unwrap_err(), expect);
        assert_eq!(stage.session.conversation().head(), head);
    };
    let prompt = || Event::Prompt { blocks: vec![text_block("x")], context: Vec::new() };
    refused(&mut stage, Event::Due, SessionError::Unexpected("due"));
    refused(&mut stage, Event::Rewind { turn: 1 }, SessionError::NoTurn(1));
    stage.prompt("Do it.");
    refused(&mut stage, prompt(), SessionError::Busy);
    refused(&mut stage, Event::Rewind { turn: 1 }, SessionError::Busy);
    assert_eq!(stage.session.open_lane(lane(&Setup::default()), Millis(9)).unwrap_err(), SessionError::Busy);
    stage.end(End::Calls(1));
    let Event::Returned { output, .. } = Stage::returned(&stage.running[0], "x", false) else {
        unreachable!()
    };
    let event = Event::Returned { call: "toolu_99".to_owned(), output };
    refused(&mut stage, event, SessionError::Unexpected("returned"));
    let call = stage.running[0].clone();
    stage.give(0, "x", false);
    refused(&mut stage, Stage::decided(&call, &[]), SessionError::Unexpected("decided"));
    let event = stage.ended(End::Done);
    let Event::Response { end, .. } = event else { unreachable!() };
    let event = Event::Response { attempt: AttemptId(1), end };
    refused(&mut stage, event, SessionError::Unexpected("response"));
    let mut empty = antefix_session::machine::Session::new(
        Conversation::new(header()),
        antefix_models::rules(antefix_models::Platform::Anthropic, "x"),
        Settings::default(),
    );
    assert_eq!(empty.step(prompt(), Millis(9)).unwrap_err(), SessionError::NoLane);
}

/// What the user allowed for the session was asked again in the next process.
#[test]
fn what_was_decided_stays_on_record_behind_a_kill_and_a_rewind() {
    let mut stage = Stage::new(Setup::default());
    stage.prompt("Do it.");
    stage.end(End::Calls(2));
    let events = [Stage::decided(&stage.running[0], &["bash(ls)"]), Stage::decided(&stage.running[1], &[])];
    let expect = stage.running.iter().map(|call| call.id.clone()).collect::<Vec<_>>();
    for event in events {
        stage.step(event);
    }
    let sent = stage.sent.len();
    stage.give(1, "ten", false);
    stage.give(0, "nine", false);
    assert_eq!(stage.sent.len(), sent + 1, "a decision is not sent and changes nothing of what is");
    stage.end(End::Done);
    stage.step(Event::Rewind { turn: 1 });
    stage.resume();
    let found = stage.session.conversation().permissions();
    assert_eq!(found.iter().map(|one| one.call.clone()).collect::<Vec<_>>(), expect);
    assert_eq!([&found[0].remembered[..], &found[1].remembered], [&["bash(ls)".to_owned()][..], &[]]);
}

#[test]
fn what_a_call_is_executed_with_is_on_record_beside_what_the_model_wrote() {
    let mut stage = Stage::new(Setup::default());
    stage.prompt("Do it.");
    stage.end(End::Calls(2));
    let [changed, plain] = [0, 1].map(|index| stage.running[index].clone());
    let Event::Decided(decided) = Stage::decided(&changed, &[]) else { unreachable!() };
    let effective = Bytes::from_static(b"{\"path\":\"b.rs\"}");
    stage.step(Event::Decided(PermissionRecord { effective_input: Some(effective.clone()), ..decided }));
    let written = changed.input.clone();
    stage.give(1, "ten", false);
    stage.give(0, "nine", false);
    stage.end(End::Done);
    stage.resume();
    let conversation = stage.session.conversation();
    assert_eq!(conversation.effective_input(&changed), &effective);
    assert_eq!(conversation.effective_input(&plain), &plain.input);
    let said = conversation.path().flat_map(|message| message.calls()).find(|call| call.id == changed.id);
    assert_eq!(said.unwrap().input, written, "the model's own words stay");
}

/// Someone outside the session objects: in front of a turn nothing is sent; behind calls their results stay, and lead
/// the next message.
#[test]
fn a_turn_is_halted_from_outside_before_it_begins_and_behind_its_calls() {
    let halt = |text: &str| Event::Halt { guard: "hook".to_owned(), text: text.to_owned() };
    let mut stage = Stage::new(Setup::default());
    stage.step(halt("not today"));
    assert_eq!((stage.sent.len(), stage.session.is_idle()), (0, true));
    stage.prompt("Do it.");
    stage.end(End::Calls(2));
    let sent = stage.sent.len();
    stage.step(halt("enough"));
    stage.step(halt("too late"));
    stage.give(1, "ten", false);
    assert!(!stage.session.is_idle(), "a call is still open");
    stage.give(0, "nine", false);
    assert_eq!((stage.sent.len(), stage.session.is_idle()), (sent, true));
    stage.resume();
    stage.prompt("Go on.");
    assert_eq!(stage.sent.len(), sent + 1);
    stage.end(End::Done);
    let decided = stage.entries.iter().filter_map(|entry| match &entry.record {
        Record::Decision { guard, text } => Some((guard.as_str(), text.as_str())),
        _ => None,
    });
    assert_eq!(decided.collect::<Vec<_>>(), [("hook", "not today"), ("hook", "enough")]);
}

/// A rewind in front of a turn that had sent what was left of an interrupted one lost those results: the calls were
/// then said not to have run.
#[test]
fn results_stay_when_the_user_goes_back() {
    let mut stage = Stage::new(Setup::default());
    stage.prompt("Do it.");
    stage.end(End::Calls(2));
    stage.interrupt();
    stage.give(1, "ten", false);
    stage.give(0, "nine", false);
    stage.prompt("Go on.");
    stage.end(End::Done);
    stage.step(Event::Rewind { turn: 2 });
    assert_eq!(stage.session.conversation().pending(), [RecordId(8), RecordId(7)]);
    stage.prompt("Go on otherwise.");
    stage.end(End::Done);
    assert!(!stage.entries.iter().any(|entry| text(&entry.encode()).contains("was not completed")));
}

/// Going back to before a lane was opened would have gone back to the old model as well.
#[test]
fn a_lane_stays_open_when_the_user_goes_back() {
    let mut stage = Stage::new(Setup::default());
    stage.prompt("Do it.");
    stage.end(End::Done);
    let commands = stage.session.open_lane(lane(&Setup::default()), Millis(9)).unwrap();
    stage.perform(commands);
    stage.step(Event::Rewind { turn: 1 });
    assert_eq!(stage.session.conversation().lane().unwrap().record(), RecordId(8));
    assert_eq!(stage.session.conversation().relation(), None);
}

#[test]
fn waits_are_bounded() {
    let waits = |retry_after: Option<u64>| {
        let mut stage = Stage::new(Setup {
            settings: Settings { retries: 9, ..Settings::default() },
            ..Setup::default()
        });
        stage.prompt("Do it.");
        let mut waits = Vec::new();
        loop {
            let Event::Response { attempt, end } = stage.ended(End::Rejected(529)) else { unreachable!() };
            let antefix_session::event::ResponseEnd::Rejected { response, kind, message, .. } = end else {
                unreachable!()
            };
            let end = antefix_session::event::ResponseEnd::Rejected { response, kind, message, retry_after };
            let commands = stage.commands(Event::Response { attempt, end });
            let now = stage.now().0;
            let wait = commands.iter().find_map(|command| match command {
                Command::Wait(due) => Some(due.0 - now),
                _ => None,
            });
            stage.perform(commands);
            let Some(wait) = wait else { return (waits, stage.ends) };
            waits.push(wait);
            stage.due();
        }
    };
    let failed = vec![EndReason::Failed];
    let doubled = vec![500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000];
    assert_eq!(waits(None), (doubled, failed.clone()));
    assert_eq!(waits(Some(2_500)), (vec![2_500; 9], failed.clone()));
    assert_eq!(waits(Some(600_000)).0.len(), 9);
    assert_eq!(waits(Some(600_001)), (vec![], failed.clone()));
    assert_eq!(waits(Some(u64::MAX)), (vec![], failed));
}

fn entry(id: u64, parent: u64, record: Record) -> Entry {
    Entry { id: RecordId(id), parent: RecordId(parent), at: Millis(1), record }
}

#[test]
fn records_that_do_not_fit_are_refused() {
    let mut stage = Stage::new(Setup::default());
    stage.prompt("Do it.");
    stage.end(End::Done);
    let next = stage.entries.len() as u64 + 1;
    let Record::Attempt(attempt) = stage.entries[3].record.clone() else { unreachable!() };
    let message = |json: &'static str| {
        let content = MessageContent::Fragment(Bytes::from(json));
        Record::Message(MessageRecord { origin: Origin::User, content, says: vec![] })
    };
    let sealed = MessageContent::Results { results: vec![RecordId(2)], inside: vec![], blocks: vec![] };
    let turn = || Record::Turn { turn: 2 };
    let cases = [
        (entry(next + 1, next, turn()), ApplyError::Number { found: next + 1, expected: next }),
        (entry(next - 1, next - 2, turn()), ApplyError::Number { found: next - 1, expected: next }),
        (entry(next, next - 2, turn()), ApplyError::Reference(next)),
        (entry(next, next, Record::Rewind { reason: RewindReason::User }), ApplyError::Reference(next)),
        (
            entry(
                next,
                next - 1,
                Record::Message(MessageRecord { origin: Origin::User, content: sealed, says: vec![] }),
            ),
            ApplyError::Reference(next),
        ),
        (entry(next, next - 1, Record::Attempt(attempt.clone())), ApplyError::Reference(next)),
        (
            entry(
                next,
                next - 1,
                Record::Attempt(antefix_session::record::AttemptRecord {
                    attempt: AttemptId(2),
                    lane: RecordId(2),
                    ..attempt
                }),
            ),
            ApplyError::Reference(next),
        ),
        (
            entry(next, next - 1, message(r#"{"role":"user","content":"plain"}"#)),
            ApplyError::Fragment { record: next, reason: "its content is not an array of blocks".to_owned() },
        ),
    ];
    for (entry, expect) in cases {
        let mut conversation = replay(&stage.entries);
        assert_eq!(conversation.apply(&entry).unwrap_err(), expect, "{entry:?}");
        assert_eq!(conversation.head(), RecordId(next - 1));
    }
    let system = LaneRecord { system: Bytes::from("\"plain\""), ..lane(&Setup::default()) };
    let error = Conversation::new(header()).apply(&entry(1, 0, Record::Lane(system))).unwrap_err();
    assert!(matches!(error, ApplyError::Fragment { record: 1, .. }), "{error}");
}

/// Markers out of order made `verify` panic where it should report.
#[test]
fn verify_reports_what_an_attempt_says_wrongly() {
    let mut stage = Stage::new(Setup::default());
    stage.prompt("Do it.");
    stage.end(End::Done);
    stage.prompt("More.");
    stage.end(End::Done);
    stage.step(Event::Rewind { turn: 2 });
    stage.prompt("Other.");
    stage.end(End::Done);
    assert_eq!(verify(header(), &stage.entries).findings, []);
    let attempts: Vec<usize> = (0..stage.entries.len())
        .filter(|&at| matches!(stage.entries[at].record, Record::Attempt(_)))
        .collect();
    let changes: [fn(&mut antefix_session::record::AttemptRecord); 7] = [
        |attempt| attempt.markers.reverse(),
        |attempt| attempt.markers.clear(),
        |attempt| attempt.markers[0].0 += 100,
        |attempt| attempt.positions += 1,
        |attempt| attempt.bytes += 1,
        |attempt| attempt.digest.replace_range(..1, "z"),
        |attempt| {
            attempt.relation = match attempt.relation {
                Planned::First | Planned::BranchesAt(_) => Planned::BranchesAt(1),
                _ => Planned::First,
            }
        },
    ];
    for &at in &attempts {
        for (number, change) in changes.iter().enumerate() {
            let mut entries = stage.entries.clone();
            let Record::Attempt(attempt) = &mut entries[at].record else { unreachable!() };
            change(attempt);
            let report = verify(header(), &entries);
            // Markers have their order from their positions.
            assert_eq!(report.is_ok(), number == 0, "change {number} at {at}: {report:?}");
        }
    }
}

#[test]
fn objects_that_are_no_records_are_refused() {
    let cases = [
        (r#"{"id":1,"parent":0,"at":1,"kind":"nap"}"#, RecordError::Kind("nap".to_owned())),
        (r#"{"id":1,"parent":0,"at":1}"#, RecordError::Member("kind")),
        (r#"{"id":-1,"parent":0,"at":1,"kind":"turn","turn":1}"#, RecordError::Member("id")),
        (r#"{"id":1,"parent":0,"at":1,"kind":"end","turn":1,"reason":"nap"}"#, RecordError::Member("reason")),
        (
            r#"{"id":1,"parent":0,"at":1,"kind":"message","origin":"results","results":[1,"2"]}"#,
            RecordError::Member("results"),
        ),
        (
            r#"{"id":1,"parent":0,"at":1,"kind":"outcome","attempt":1,"status":70000}"#,
            RecordError::Member("status"),
        ),
        (
            r#"{"id":1,"parent":0,"at":1,"kind":"outcome","attempt":1,"stop_reason":1}"#,
            RecordError::Member("stop_reason"),
        ),
        (
            r#"{"id":1,"parent":0,"at":1,"kind":"outcome","attempt":1,"quota":{"a":1}}"#,
            RecordError::Member("quota"),
        ),
        (
            r#"{"id":1,"parent":0,"at":1,"kind":"result","call":"c","tool":"t","error":1,"fragment":{}}"#,
            RecordError::Member("error"),
        ),
    ];
    for (object, expect) in cases {
        assert_eq!(Entry::decode(object.as_bytes()).unwrap_err(), expect, "{object}");
    }
    let object = r#"{"antefix":"transcript","version":1,"session":"s","cwd":"/","created":1,"build":"9"}"#;
    assert_eq!(Header::decode(object.as_bytes()).unwrap_err(), RecordError::Version(1));
    let forked = Header { forked_from: Some(("s0".to_owned(), RecordId(7))), ..header() };
    assert_eq!(Header::decode(&forked.encode()).unwrap(), forked);
    for agent in [None, Some("explore".to_owned())] {
        let by = Spawned { session: "s0".to_owned(), call: "toolu_1".to_owned(), agent };
        let spawned = Header { spawned_by: Some(by), ..header() };
        assert_eq!(Header::decode(&spawned.encode()).unwrap(), spawned);
    }
}

/// Guards are asked in order, and what they decide is on record.
#[test]
fn a_blank_prompt_is_stopped_by_the_input_guard() {
    let mut stage = Stage::new(Setup::default());
    let commands = stage.commands(Event::Prompt { blocks: vec![text_block(" ")], context: Vec::new() });
    let text = "the prompt is empty; say what is wanted".to_owned();
    let decision = Record::Decision { guard: "input".to_owned(), text: text.clone() };
    let ended = SessionEvent::TurnEnded { turn: 1, reason: EndReason::Guard, message: Some(text) };
    let [Command::Append { entries, .. }, Command::Emit(event)] = &commands[..] else {
        panic!("{commands:?}")
    };
    assert_eq!((&entries[0].record, event), (&decision, &ended));
    assert!(stage.session.is_idle());
}
