//! Sessions that earlier builds began (`crates/antefix/tests/upgrade`), continued by one whose texts are others.

use antefix_models::{Platform, Preset, rules};
use antefix_session::closure::{Texts, text_block};
use antefix_session::conversation::Conversation;
use antefix_session::dialect::Dialect;
use antefix_session::event::{Command, Event};
use antefix_session::line::Reader;
use antefix_session::machine::{CompactionSettings, CompactionTexts, Session, Settings};
use antefix_session::record::{ContextRecord, Entry, Header, Millis};
use antefix_session::verify::verify;
use bytes::Bytes;

use crate::bytes::{extends, stripped};

fn fixture(name: &str) -> (Header, Vec<Entry>, Vec<u8>) {
    let folder = format!("{}/../antefix/tests/upgrade/{name}", env!("CARGO_MANIFEST_DIR"));
    let transcript = std::fs::read(format!("{folder}/transcript.jsonl")).expect("a transcript");
    let mut lines = Reader::new(&transcript).map(|line| line.expect("a line of the chain").object);
    let header = Header::decode(lines.next().expect("a header")).expect("a header");
    let entries = lines.map(|line| Entry::decode(line).expect("a record")).collect();
    (header, entries, std::fs::read(format!("{folder}/last.body.json")).expect("a body"))
}

/// A session of a build in which every text is another.
fn session(conversation: Conversation) -> Session {
    let settings = Settings {
        texts: Texts {
            not_run: "Not run.",
            left_out: "Left out.",
            no_reply: "No reply.",
            cut_off: "Cut.",
            broken_input: "Broken:",
        },
        compaction: CompactionSettings {
            texts: CompactionTexts { ask: "Sum up.", intro: "In short:", ..CompactionTexts::default() },
            ..CompactionSettings::default()
        },
        ..Settings::default()
    };
    let rules = match conversation.dialect() {
        Dialect::Anthropic => rules(Platform::Anthropic, "claude-opus-5-5"),
        Dialect::OpenAiChat => Preset::named("compatible").unwrap().rules("sim-model", None),
    };
    Session::new(conversation, rules, settings)
}

fn body(commands: &[Command]) -> Vec<u8> {
    let sent = commands.iter().find_map(|command| match command {
        Command::Send { body, .. } => Some(body.chunks.concat()),
        _ => None,
    });
    stripped(&sent.expect("a request leaves"))
}

/// Wherever the earlier build ended, what it sent last leads what this one sends, byte for byte, and what this build
/// tells of the surroundings stands behind it.
#[test]
fn what_an_earlier_build_sent_leads_what_this_one_sends() {
    for (name, requests) in [
        ("first-messages", 4),
        ("first-chat", 4),
        ("told-messages", 4),
        ("told-chat", 4),
        ("summed-messages", 7),
        ("summed-chat", 7),
        ("other-in-band", 5),
        ("other-without", 5),
        ("other-append-only", 5),
        ("other-strict", 5),
    ] {
        let (header, entries, last) = fixture(name);
        let report = verify(header.clone(), &entries);
        assert!(report.is_ok() && report.requests == requests, "{name}: {report:?}");
        let sends = |entry: &Entry| matches!(entry.record, antefix_session::record::Record::Attempt(_));
        let first = entries.iter().rposition(sends).expect("a request") + 1;
        for kept in first..=entries.len() {
            let mut conversation = Conversation::new(header.clone());
            entries[..kept].iter().for_each(|entry| conversation.apply(entry).unwrap());
            let mut session = session(conversation);
            let context = vec![ContextRecord {
                kind: "git".to_owned(),
                key: String::new(),
                state: Bytes::from_static(b"1"),
                text: Some("On another branch.".to_owned()),
            }];
            let now = Millis(1_796_060_200_000);
            let said = Event::Prompt { blocks: vec![text_block("Go on.")], context };
            let commands = session.step(said, now).unwrap();
            let body = body(&commands);
            assert!(extends(&stripped(&last), &body), "{name}, {kept} records");
            let text = String::from_utf8(body).unwrap();
            let new = &text[last.len() - 200..];
            assert!(new.contains("Go on.") && new.contains("On another branch."), "{new}");
        }
    }
}
