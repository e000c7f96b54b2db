//! `verify` finds what is wrong in a session's files, and changes none of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::case::Case;
use crate::ended::Ended;
use crate::random::Random;

/// A session with calls in it, and its transcript's bytes.
fn session() -> (Case, Vec<u8>) {
    let case = Case::new(
        "rule\n on said Look\n on rounds 0\n think Hm.\n tool bash {\"command\":\"seq 1 50\"}\n tool read {\"path\":\"a.txt\"}\nrule\n on any\n text Seen.",
    );
    case.write("a.txt", "one\ntwo\n");
    case.run("Look").args(["--thinking", "adaptive"]).ends().code(0);
    case.go_on("And again").ends().code(0);
    let bytes = fs::read(case.transcript()).expect("a transcript");
    (case, bytes)
}

/// Runs `verify` over a changed transcript and makes sure that it leaves every file as it was.
fn verify(case: &Case, transcript: &[u8]) -> Ended {
    fs::write(case.transcript(), transcript).expect("a transcript can be changed");
    let before = snapshot(&case.state());
    let ended = case.antefix(["verify", &case.session()]).ends();
    assert_eq!(snapshot(&case.state()), before, "verify is read-only");
    ended
}

fn snapshot(folder: &Path) -> Vec<(PathBuf, SystemTime, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let changed = path.metadata().and_then(|metadata| metadata.modified()).expect("a time");
        if path.is_dir() {
            found.extend(snapshot(&path));
            found.push((path, changed, Vec::new()));
        } else {
            found.push((path.clone(), changed, fs::read(&path).expect("a file")));
        }
    }
    found.sort();
    found
}

#[test]
fn a_flipped_byte_in_any_complete_line_is_found() {
    let (case, bytes) = session();
    let line_of = |at: usize| bytes[..at].split(|byte| *byte == b'\n').count();
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at);
    let mut random = Random::new(7);
    let mut places: Vec<usize> = ends.filter(|at| *at + 1 < bytes.len()).collect();
    places.extend((0..120).map(|_| random.below(bytes.len() as u64 - 1) as usize));
    for at in places {
        let mut changed = bytes.clone();
        changed[at] ^= 1 << random.below(8);
        let ended = verify(&case, &changed).code(1);
        let ended = ended.lacks("✓");
        assert!(ended.stdout.contains(&format!("line {}", line_of(at))), "byte {at} is in it\n{ended}");
    }
    verify(&case, &bytes).code(0).stdout("✓ session");
}

#[test]
fn records_missing_at_the_end_are_found() {
    let (case, bytes) = session();
    let ends: Vec<usize> = (1..=bytes.len()).filter(|at| bytes[at - 1] == b'\n').collect();
    for (lines, at) in ends.iter().enumerate().take(ends.len() - 1) {
        let ended = verify(&case, &bytes[..*at]).code(1);
        ended.stdout(&format!("has lost records: {} lines are left of at least {}", lines + 1, ends.len()));
    }
    verify(&case, b"").code(1).stdout("has lost records: 0 lines are left");
}

#[test]
fn an_unfinished_last_line_is_reported_by_verify_and_cut_by_the_next_turn() {
    let (case, bytes) = session();
    for torn in ["{", "{\"id\":99,\"parent\":98,\"kind\":\"turn\"}", "\0\0\0"] {
        let ended = verify(&case, &[&bytes[..], torn.as_bytes()].concat()).code(0);
        ended.stderr(&format!("note: {} unfinished bytes at the end are left out", torn.len()));
    }
    let ended = case.go_on("And now?").ends().code(0);
    ended.stderr("3 bytes that a crash had left unfinished were cut off");
    let after = fs::read(case.transcript()).expect("a transcript");
    assert!(after.starts_with(&bytes) && after.len() > bytes.len(), "only the unfinished end was cut");
    case.is_intact();
}

/// Behind what was durable a crash may leave anything, so a writer cuts it off; `verify` cannot tell it from damage.
#[test]
fn a_broken_line_behind_what_was_durable_is_a_finding() {
    let (case, bytes) = session();
    let line =
        b"{\"id\":99,\"chain\":\"0000000000000000000000000000000000000000000000000000000000000000\"}\n";
    let ended = verify(&case, &[&bytes[..], line].concat()).code(1);
    ended.stdout("bytes from there on were never said to be durable");
    case.go_on("And now?").ends().code(0).stderr(&format!("{} bytes that a crash", line.len()));
    case.is_intact();
}

#[test]
fn a_lost_index_is_said_by_verify_and_by_the_next_turn() {
    let (case, bytes) = session();
    fs::remove_file(case.transcript().with_file_name("index.jsonl")).expect("an index");
    verify(&case, &bytes).code(0).stderr("note: the index is lost");
    case.go_on("And now?").ends().code(0).stderr("the session's index was lost");
    case.go_on("And now?").ends().code(0).lacks("index was lost");
    case.is_intact();
}

#[test]
fn verify_reports_as_json() {
    let (case, bytes) = session();
    let whole = verify(&case, &bytes).code(0);
    let ended = case.antefix(["verify", "--json"]).ends().code(0);
    ended.stdout("\"schema_version\":1").stdout("\"ok\":true,\"requests\":3").stdout("\"findings\":[]");
    assert!(whole.stdout.contains("3 of 3 request bodies"), "{whole}");
    fs::write(case.transcript(), &bytes[1..]).expect("a transcript can be changed");
    let ended = case.antefix(["verify", "--json", &case.session()]).ends().code(1);
    ended.stdout("\"ok\":false").stdout("\"findings\":[{\"record\":");
}

#[test]
fn what_holds_for_a_new_session_is_not_left_aside_in_silence() {
    let case = Case::new("rule\n  text Yes.\n");
    case.run("One?").args(["--effort", "low"]).ends().code(0).lacks("left aside");
    let flags = ["--effort", "low", "--ttl", "1h", "--system-prompt", "Be brief."];
    case.go_on("Two?").args(flags).ends().code(0).stderr("--system-prompt, --ttl only holds for a new");
    case.go_on("Three?").ends().code(0).lacks("left aside");
}
