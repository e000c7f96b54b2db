//! The examples of `docs/formats/transcript.md` are what is written.

use std::collections::BTreeSet;

use antefix_session::record::{Entry, Header};

#[test]
fn every_example_is_read_and_written_again() {
    let text = include_str!("../../../../docs/formats/transcript.md");
    let mut kinds = BTreeSet::new();
    let mut inside = false;
    for line in text.lines() {
        match line {
            "```json" => inside = true,
            "```" => inside = false,
            _ if !inside => {}
            _ if line.starts_with(r#"{"antefix""#) => {
                assert_eq!(Header::decode(line.as_bytes()).unwrap().encode(), line.as_bytes());
            }
            _ => {
                let entry = Entry::decode(line.as_bytes()).unwrap_or_else(|error| panic!("{error}: {line}"));
                assert_eq!(String::from_utf8(entry.encode()).unwrap(), line);
                kinds.insert(line.split("\"kind\":\"").nth(1).unwrap().split('"').next().unwrap());
            }
        }
    }
    let all = [
        "attempt",
        "carry",
        "compact",
        "context",
        "decision",
        "end",
        "lane",
        "message",
        "outcome",
        "permission",
        "result",
        "rewind",
        "turn",
    ];
    assert_eq!(kinds, BTreeSet::from(all));
}
