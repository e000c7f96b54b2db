//! A conversation goes on in another dialect.

use antefix_session::dialect::Dialect;
use antefix_session::event::Event;
use antefix_session::record::{Entry, LaneRecord, Millis, Record};
use antefix_session::verify::verify;
use antefix_wire::anthropic::BlockKind;
use antefix_wire::assemble::{Assembled, AssembledBlock};

use crate::reply::End;
use crate::stage::{Setup, Stage, header, text};

/// A turn with two calls and thinking, and one that was stopped with a call open.
fn conversation(dialect: Dialect) -> Stage {
    let mut stage = Stage::new(Setup { dialect, thinking: true, ..Setup::default() });
    stage.prompt("Do it.");
    stage.end(End::Calls(2));
    stage.give(1, "two", true);
    stage.give(0, "one", false);
    stage.end(End::Done);
    stage.prompt("More.");
    stage.end(End::Calls(1));
    stage.resume();
    stage
}

/// The fragments of the messages, turns and ends behind the last `carry`.
fn carried(entries: &[Entry]) -> Vec<String> {
    let start = entries.iter().rposition(|entry| matches!(entry.record, Record::Carry { .. })).unwrap();
    let line = |entry: &Entry| {
        let line = text(&entry.encode());
        let says = line.split_once("\"kind\":").unwrap().1;
        says.strip_suffix('}').unwrap().to_owned()
    };
    entries[start..].iter().map(line).collect()
}

#[test]
fn what_was_said_is_translated() {
    let mut stage = conversation(Dialect::Anthropic);
    stage.switch(Dialect::OpenAiChat);
    let not_run =
        "Error: This call was not completed: the turn was interrupted before the tool returned a result.";
    let no_reply = r#""message","origin":"closure","fragment":{"role":"assistant","content":"[No reply was received for this message.]"}"#;
    let call = |id: &str| {
        format!(
            r#"{{"id":"{id}","type":"function","function":{{"name":"read","arguments":"{{\"z\":1.50,\"a\":\"caf\\u00e9\"}}"}}}}"#
        )
    };
    let result = |id: &str, content: &str| {
        format!(
            r#""message","origin":"results","fragment":{{"role":"tool","tool_call_id":"{id}","content":"{content}"}}"#
        )
    };
    let expect = [
        r#""carry","messages":9"#.to_owned(),
        r#""turn","turn":1"#.to_owned(),
        r#""message","origin":"user","fragment":{"role":"user","content":"Do it."}"#.to_owned(),
        format!(
            r#""message","origin":"assistant","fragment":{{"role":"assistant","content":"","tool_calls":[{},{}]}}"#,
            call("toolu_1"),
            call("toolu_2")
        ),
        result("toolu_1", "one"),
        result("toolu_2", "Error: two"),
        r#""message","origin":"assistant","fragment":{"role":"assistant","content":"Some text."}"#.to_owned(),
        r#""end","turn":1,"reason":"carried""#.to_owned(),
        r#""turn","turn":2"#.to_owned(),
        r#""message","origin":"user","fragment":{"role":"user","content":"More."}"#.to_owned(),
        format!(
            r#""message","origin":"assistant","fragment":{{"role":"assistant","content":"","tool_calls":[{}]}}"#,
            call("toolu_17")
        ),
        result("toolu_17", not_run),
        no_reply.to_owned(),
        r#""end","turn":2,"reason":"carried""#.to_owned(),
    ];
    assert_eq!(carried(&stage.entries).join("\n"), expect.join("\n"));
    let [notice] = &stage.notices[..] else { panic!("{:?}", stage.notices) };
    assert!(notice.starts_with("the conversation goes on in the dialect openai-chat with qwen3-8b, as planned: 9 messages are said anew, and the next request pays anew for all of its about "), "{notice}");
    assert!(notice.ends_with(" tokens (no price is known); the thinking of 3 replies stays behind: it is bound to the model that wrote it"), "{notice}");
    stage.prompt("On.");
    stage.end(End::Done);
    assert_eq!(stage.session.conversation().turn(), 3);
    let report = verify(header(), &stage.entries);
    assert_eq!((report.findings.len(), report.first, report.requests), (0, 2, 4));
}

/// Thinking is bound to the model that wrote it, and is left out when another one goes on; the next requests extend.
#[test]
fn it_goes_on_with_another_model() {
    for dialect in Dialect::ALL {
        let mut stage = conversation(dialect);
        stage.setup.thinking = false;
        stage.switch(dialect);
        let said = stage.notices.last().unwrap();
        assert!(
            said.contains("messages are said anew") && said.contains("of 3 replies stays behind"),
            "{said}"
        );
        stage.prompt("On.");
        stage.end(End::Calls(1));
        stage.give(0, "three", true);
        stage.end(End::Done);
        stage.resume();
        stage.prompt("And on.");
        stage.end(End::Done);
        let path: Vec<String> =
            stage.session.conversation().path().map(|message| text(message.fragment())).collect();
        let thinks = |fragment: &&String| fragment.contains("thinking") || fragment.contains("reasoning");
        assert_eq!(path.iter().filter(thinks).count(), 0, "{path:?}");
        let report = verify(header(), &stage.entries);
        assert_eq!((report.findings.len(), report.first, report.requests), (0, 2, 6), "{dialect:?}");
    }
}

/// Other parameters are another lane, but what was said stays as it is, byte for byte.
#[test]
fn it_goes_on_with_other_parameters() {
    for dialect in Dialect::ALL {
        let mut stage = conversation(dialect);
        let said = |stage: &Stage| -> Vec<String> {
            stage.session.conversation().path().map(|message| text(message.fragment())).collect()
        };
        let before = said(&stage);
        let lane = stage.session.conversation().lane().unwrap().spec().clone();
        let envelope = text(&lane.envelope).replacen('{', r#"{"temperature":1,"#, 1).into();
        let commands = stage.session.open_lane(LaneRecord { envelope, ..lane }, Millis(9)).unwrap();
        stage.perform(commands);
        let notice = stage.notices.last().unwrap();
        assert!(
            notice.starts_with("the conversation goes on with other parameters, as planned: "),
            "{notice}"
        );
        stage.prompt("On.");
        stage.end(End::Done);
        assert!(said(&stage).starts_with(&before));
        let report = verify(header(), &stage.entries);
        assert_eq!((report.findings.len(), report.first, report.requests), (0, 2, 4), "{dialect:?}");
    }
}

/// There and back again, each next request is one that the other side takes: the simulator, or a strict reader.
#[test]
fn it_goes_there_and_back() {
    for dialect in Dialect::ALL {
        let other = Dialect::ALL.into_iter().find(|other| *other != dialect).unwrap();
        let mut stage = conversation(dialect);
        for next in [other, dialect, other] {
            stage.switch(next);
            stage.prompt("On.");
            stage.end(End::Calls(3));
            for _ in 0..3 {
                stage.give(0, "three", true);
            }
            stage.end(End::Done);
            stage.resume();
            stage.prompt("And on.");
            stage.end(End::Calls(1));
            stage.resume();
        }
        let report = verify(header(), &stage.entries);
        assert!(report.is_ok() && report.first == 4, "{report:?}");
        let path: Vec<u64> = stage.session.conversation().path().map(|message| message.turn()).collect();
        assert!(path.is_sorted() && path.last() == Some(&8), "{path:?}");
    }
}

/// An error came back as a success, and an image as a note, from a way there and back: each translation was made from
/// the one before. What was said in a dialect is said in it again as it was, thinking excepted.
#[test]
fn what_was_said_comes_back_as_it_was() {
    for dialect in Dialect::ALL {
        let other = Dialect::ALL.into_iter().find(|other| *other != dialect).unwrap();
        let mut stage = conversation(dialect);
        stage.prompt("On.");
        stage.end(End::Done);
        let by_the_user = |stage: &Stage| -> Vec<String> {
            let path = stage.session.conversation().path();
            let fragments =
                path.filter(|message| message.turn() <= 3).map(|message| text(message.fragment()));
            fragments.filter(|fragment| !fragment.starts_with(r#"{"role":"assistant""#)).collect()
        };
        let said = by_the_user(&stage);
        assert!(said.iter().any(|fragment| fragment.contains("two")), "{said:?}");
        for next in [other, dialect, other, dialect] {
            stage.switch(next);
            stage.prompt("And on.");
            stage.end(End::Done);
        }
        let back = by_the_user(&stage);
        match dialect {
            Dialect::Anthropic => {
                // Results that led what was said next stand alone once they were carried over.
                let words = r#"{"type":"text","text":"On."}"#;
                let parted = said
                    .join(",")
                    .replace(&format!("}},{words}"), &format!(r#"}}]}},{{"role":"user","content":[{words}"#));
                assert_eq!(back.join(","), parted);
                assert_eq!(said.iter().filter(|fragment| fragment.contains(r#""is_error":true"#)).count(), 2);
            }
            // Results stand one by one in this dialect once they were carried over.
            Dialect::OpenAiChat => assert_eq!(back.join(","), said.join(",")),
        }
    }
}

/// The process dies behind any record of it: the next one sends the very same body.
#[test]
fn a_process_that_dies_in_the_midst_changes_nothing() {
    for dialect in Dialect::ALL {
        let other = Dialect::ALL.into_iter().find(|other| *other != dialect).unwrap();
        let begun = conversation(dialect);
        let next = |mut stage: Stage| {
            stage.prompt("On.");
            stage.sent.last().unwrap().stripped.clone()
        };
        let switched = || {
            let mut stage = begun.fork();
            stage.switch(other);
            stage
        };
        let (from, to) = (begun.entries.len(), switched().entries.len());
        let expect = next(switched());
        let opened =
            switched().entries.iter().rposition(|entry| matches!(entry.record, Record::Lane(_))).unwrap();
        for kept in from..=to {
            let mut stage = switched();
            let setup = Setup { dialect: begun.setup.dialect, ..stage.setup.clone() };
            stage.kill(kept, setup);
            if kept <= opened {
                assert_eq!(stage.setup.dialect, dialect, "{kept} records are left");
                stage.switch(other);
            }
            assert_eq!(text(&next(stage)), text(&expect), "{kept} of {to} records are left");
        }
    }
}

/// Turns are numbered as before, so that one can go back to them in the other dialect.
#[test]
fn it_goes_back_to_a_turn_that_was_carried_over() {
    let mut stage = conversation(Dialect::Anthropic);
    stage.switch(Dialect::OpenAiChat);
    stage.prompt("On.");
    stage.end(End::Done);
    stage.step(Event::Rewind { turn: 2 });
    stage.prompt("Otherwise.");
    stage.end(End::Done);
    let sent = text(&stage.sent.last().unwrap().stripped);
    assert!(sent.contains("Otherwise.") && !sent.contains("More."), "{sent}");
    let report = verify(header(), &stage.entries);
    assert!(report.is_ok() && report.branches == 1, "{report:?}");
}

/// Turns that a rewind has left are counted on.
#[test]
fn a_turn_that_was_left_behind_keeps_its_number() {
    let mut stage = conversation(Dialect::Anthropic);
    stage.step(Event::Rewind { turn: 2 });
    stage.switch(Dialect::OpenAiChat);
    stage.prompt("On.");
    assert_eq!(stage.session.conversation().turn(), 3);
    let path: Vec<u64> = stage.session.conversation().path().map(|message| message.turn()).collect();
    assert_eq!(path, [1, 1, 1, 1, 1, 3]);
}

/// An id that one API takes and the other does not becomes another, the same for call and result.
#[test]
fn ids_that_the_other_side_does_not_take_are_made_anew() {
    let mut stage = Stage::new(Setup { dialect: Dialect::OpenAiChat, ..Setup::default() });
    stage.prompt("Do it.");
    let call = |number: u64| {
        AssembledBlock {
        json: format!(
            r#"{{"id":"functions.read:{number}","type":"function","function":{{"name":"read","arguments":"{{ \"a\" : {number} }}"}}}}"#
        )
        .into_bytes(),
        kind: BlockKind::ToolUse,
        complete: true,
        broken_input: None,
        unknown_deltas: 0,
    }
    };
    let reply = Assembled { blocks: vec![call(0), call(1)], complete: true, ..Assembled::default() };
    stage.answer_with(reply);
    assert_eq!(stage.running[1].id, "functions.read:1");
    assert_eq!(&stage.running[1].input[..], br#"{"a":1}"#);
    stage.give(0, "zero", false);
    stage.give(0, "one", false);
    stage.end(End::Done);
    assert!(text(&stage.sent[1].stripped).contains(r#""arguments":"{ \"a\" : 1 }""#));
    stage.switch(Dialect::Anthropic);
    stage.prompt("On.");
    let sent = text(&stage.sent[2].stripped);
    let said = r#"{"role":"assistant","content":[{"type":"tool_use","id":"call00001","name":"read","input":{"a":0}},{"type":"tool_use","id":"call00002","name":"read","input":{"a":1}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"call00001","content":[{"type":"text","text":"zero"}]},{"type":"tool_result","tool_use_id":"call00002","content":[{"type":"text","text":"one"}]}]}"#;
    assert!(sent.contains(said), "{sent}");
}

/// What a provider's own tools did can be taken by that provider alone: it stays behind, and that is said.
#[test]
fn tools_that_the_provider_ran_stay_behind() {
    let mut stage = Stage::new(Setup::default());
    stage.prompt("Do it.");
    stage.end(End::Pause);
    stage.end(End::Done);
    stage.switch(Dialect::OpenAiChat);
    let expect = [
        r#""carry","messages":2"#,
        r#""turn","turn":1"#,
        r#""message","origin":"user","fragment":{"role":"user","content":"Do it."}"#,
        r#""message","origin":"assistant","fragment":{"role":"assistant","content":"Some text.Some text."}"#,
        r#""end","turn":1,"reason":"carried""#,
    ];
    assert_eq!(carried(&stage.entries), expect);
    let notice = stage.notices.last().unwrap();
    assert!(notice.ends_with("; 2 parts of tools that the provider ran stay behind"), "{notice}");
    stage.prompt("On.");
    stage.end(End::Done);
}

/// A carry that was cut short had come to fewer turns, so that the next turn got the number of one that was there. When
/// the conversation went on in the other dialect again, what that one had said was missing.
#[test]
fn a_carry_that_was_cut_short_counts_no_turn_twice() {
    let mut stage = conversation(Dialect::Anthropic);
    stage.switch(Dialect::OpenAiChat);
    let carry = stage.entries.iter().rposition(|entry| matches!(entry.record, Record::Carry { .. })).unwrap();
    stage.kill(carry + 3, stage.setup.clone());
    stage.prompt("And on.");
    stage.end(End::Done);
    assert_eq!(stage.session.conversation().turn(), 3);
}

/// Results that led what the user said next were carried over with it, so that a rewind to in front of it left calls
/// open behind a reply that has lost its thinking: the Messages API refused the next request, and what the calls had
/// returned was missing in it.
#[test]
fn one_goes_back_to_behind_results_that_led_what_was_said_next() {
    let cases = Dialect::ALL.into_iter().flat_map(|dialect| [(dialect, false), (dialect, true)]);
    for (dialect, is_compacted) in cases {
        let other = Dialect::ALL.into_iter().find(|other| *other != dialect).unwrap();
        let mut stage = Stage::new(Setup { dialect, thinking: true, ..Setup::default() });
        stage.prompt("Do it.");
        stage.end(End::Calls(2));
        stage.give(1, "two", false);
        stage.give(0, "one", false);
        stage.end(End::Rejected(401));
        stage.prompt("More.");
        stage.end(End::Done);
        if is_compacted {
            // Where one goes back to there, the results still wait.
            stage.compact();
            stage.end(End::Done);
            stage.refresh();
        }
        stage.switch(other);
        if !is_compacted {
            stage.switch(dialect);
        }
        stage.step(Event::Rewind { turn: 2 });
        stage.prompt("Otherwise.");
        let sent = text(&stage.sent.last().unwrap().stripped);
        let expect = match stage.setup.dialect {
            Dialect::Anthropic => {
                r#"},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"one"}]},{"type":"tool_result","tool_use_id":"toolu_2","content":[{"type":"text","text":"two"}]}]},{"role":"assistant","content":[{"type":"text","text":"[No reply was received for this message.]"}]},{"role":"user","content":[{"type":"text","text":"Otherwise."}]}]}"#
            }
            Dialect::OpenAiChat => {
                r#"},{"role":"tool","tool_call_id":"toolu_1","content":"one"},{"role":"tool","tool_call_id":"toolu_2","content":"two"},{"role":"assistant","content":"[No reply was received for this message.]"},{"role":"user","content":"Otherwise."}]}"#
            }
        };
        let tail = &sent[sent.len().saturating_sub(expect.len())..];
        assert_eq!(tail, expect, "{dialect:?} {is_compacted}");
        stage.end(End::Done);
        // There and back again it is the same.
        let back = stage.setup.dialect;
        let away = Dialect::ALL.into_iter().find(|away| *away != back).unwrap();
        stage.switch(away);
        stage.switch(back);
        let said: Vec<String> =
            stage.session.conversation().path().map(|message| text(message.fragment())).collect();
        let (results, _) = expect.strip_prefix("},").unwrap().split_once(r#",{"role":"assistant""#).unwrap();
        assert!(said.join(",").contains(results), "{dialect:?} {is_compacted} {said:?}");
        let report = verify(header(), &stage.entries);
        assert!(report.is_ok(), "{report:?}");
    }
}

/// Thinking was switched on while calls were open: their results led the next message behind a reply without thinking,
/// which the Messages API refuses.
#[test]
fn results_do_not_lead_behind_a_reply_from_another_lane() {
    let dialect = Dialect::Anthropic;
    let mut stage = Stage::new(Setup { thinking: true, model: Some("claude-opus-5-5"), ..Setup::default() });
    for thinking in [false, true] {
        stage.setup.thinking = thinking;
        stage.switch(dialect);
        stage.prompt("Do it.");
        stage.end(End::Calls(1));
        stage.resume();
    }
    stage.prompt("On.");
    stage.end(End::Done);
    let said: Vec<String> =
        stage.session.conversation().path().map(|message| text(message.fragment())).collect();
    let roles: Vec<bool> = said.iter().map(|fragment| fragment.starts_with(r#"{"role":"user""#)).collect();
    // The results of the first call stand alone, with a reply behind them; those of the second lead.
    assert_eq!(roles, [true, false, true, false, true, false, true, false], "{said:?}");
    assert!(said[3].contains("[No reply was received for this message.]"), "{said:?}");
    assert!(said[6].contains("tool_result") && said[6].contains("On."), "{said:?}");
}
