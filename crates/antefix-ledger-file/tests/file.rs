//! One file, several processes.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use std::path::Path;
use std::process::Command;

use antefix_ledger::{Estimated, Loss, Number, Posting, Purpose, Relation, Row, Standing};
use antefix_ledger_file::{LedgerFile, LedgerFileError, Progress, Read};
use antefix_models::{Counts, Modifiers, Platform, Tokens};
use antefix_prefix::verdict::Severity;

fn posting(session: &str, attempt: u64, part: u64) -> Posting {
    let counts = Counts {
        uncached: Tokens(1 + attempt),
        read: Tokens(2),
        write_5m: Tokens(3),
        write_1h: Tokens(4),
        output: Tokens(5),
    };
    let estimated = Estimated::default().with(Number::Output);
    Posting {
        session: session.to_owned(),
        attempt,
        part,
        message: 7,
        at_ms: 1_000 * i64::try_from(attempt).unwrap(),
        platform: Platform::Bedrock,
        model: "claude-opus-5".to_owned(),
        purpose: if part == 0 { Purpose::Message } else { Purpose::Advisor },
        status: Some(200),
        modifiers: Modifiers { batch: true, geo_us: true, ..Modifiers::default() },
        row: Some(Row { counts, reasoning: Tokens(6), web_searches: 8, estimated }),
        standing: Standing {
            relation: Relation::Extends,
            reachable: Some(Tokens(10)),
            before: Some(Tokens(11)),
            loss: Some(Loss { kind: "tools.added".to_owned(), severity: Severity::Fault, tokens: Tokens(8) }),
        },
        quota: if part == 0 {
            vec![("b".to_owned(), "2".to_owned()), ("a".to_owned(), "1".to_owned())]
        } else {
            vec![]
        },
    }
}

fn bare(session: &str, attempt: u64) -> Posting {
    Posting {
        status: None,
        row: None,
        modifiers: Modifiers::default(),
        standing: Standing::default(),
        quota: Vec::new(),
        ..posting(session, attempt, 0)
    }
}

#[test]
fn rows_come_back_whole_in_order_and_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sqlite");
    let mut ledger = LedgerFile::open(&path).unwrap();
    let rows = [posting("a", 1, 0), posting("a", 1, 1), bare("b", 1), posting("a", 3, 0)];
    for row in rows.iter().rev().chain(&rows) {
        ledger.write(row).unwrap();
    }
    drop(ledger);
    let mut ledger = LedgerFile::open(&path).unwrap();
    assert_eq!(ledger.postings(Read::default()).unwrap(), rows);
    let read = |session, since_ms, until_ms| Read { session, since_ms, until_ms };
    for (read, expect) in [
        (read(Some("b"), None, None), &rows[2..3]),
        (read(None, Some(1_001), None), &rows[3..]),
        (read(None, Some(1_000), Some(3_000)), &rows[..3]),
        (read(None, None, Some(1_000)), &[]),
    ] {
        assert_eq!(ledger.postings(read).unwrap(), expect, "{read:?}");
    }
    let progress = Progress { lines: 9, bytes: 99, judged_by: 1 };
    let changed = Posting { quota: vec![("c".to_owned(), "3".to_owned())], ..posting("a", 2, 0) };
    ledger.replace_session("a", std::slice::from_ref(&changed), progress).unwrap();
    assert_eq!(ledger.postings(Read::default()).unwrap(), [rows[2].clone(), changed]);
    assert_eq!((ledger.progress("a").unwrap(), ledger.progress("b").unwrap()), (Some(progress), None));
    ledger.clear().unwrap();
    assert_eq!((ledger.postings(Read::default()).unwrap(), ledger.progress("a").unwrap()), (vec![], None));
}

#[test]
fn a_newer_file_is_left_alone_and_a_damaged_row_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sqlite");
    let mut ledger = LedgerFile::open(&path).unwrap();
    ledger.write(&posting("a", 1, 0)).unwrap();
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.execute_batch("UPDATE rows SET severity = 'grave'").unwrap();
    let error = ledger.postings(Read::default()).unwrap_err();
    assert_eq!(error.to_string(), "the ledger file: row a/1/0 is damaged: `severity`");
    raw.execute_batch("PRAGMA user_version = 99").unwrap();
    let error = LedgerFile::open(&path).unwrap_err();
    assert!(matches!(error, LedgerFileError::Newer { found: 99, .. }), "{error}");
}

/// A file as the first version wrote it, with another SQLite; every later build reads it.
#[test]
fn a_file_of_the_first_version_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sqlite");
    std::fs::write(&path, include_bytes!("fixtures/version-1.sqlite")).unwrap();
    let mut ledger = LedgerFile::open(&path).unwrap();
    let expect = [posting("a", 1, 0), posting("a", 1, 1), bare("b", 1)];
    assert_eq!(ledger.postings(Read::default()).unwrap(), expect);
    let progress = Progress { lines: 9, bytes: 99, judged_by: 1 };
    assert_eq!(ledger.progress("a").unwrap(), Some(progress));
}

/// Several processes make the file and write to it at the same moment, and no row is lost.
#[test]
fn several_processes_write_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.sqlite");
    let mut children: Vec<_> = (0..WRITERS)
        .map(|writer| {
            Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "one_of_several_writers", "--nocapture"])
                .env("ANTEFIX_TEST_LEDGER", &path)
                .env("ANTEFIX_TEST_WRITER", writer.to_string())
                .spawn()
                .unwrap()
        })
        .collect();
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
    let mut ledger = LedgerFile::open(&path).unwrap();
    for writer in 0..WRITERS {
        let session = format!("session-{writer}");
        let rows = ledger.postings(Read { session: Some(&session), ..Read::default() }).unwrap();
        let expect: Vec<_> = (1..=ROWS).map(|attempt| posting(&session, attempt, 0)).collect();
        assert_eq!(rows, expect, "{session}");
    }
}

/// Does nothing by itself: [`several_processes_write_at_once`] starts it in processes of its own.
#[test]
fn one_of_several_writers() {
    let Some(path) = std::env::var_os("ANTEFIX_TEST_LEDGER") else { return };
    let session = format!("session-{}", std::env::var("ANTEFIX_TEST_WRITER").unwrap());
    let mut ledger = LedgerFile::open(Path::new(&path)).unwrap();
    for attempt in 1..=ROWS {
        ledger.write(&posting(&session, attempt, 0)).unwrap();
    }
}

const WRITERS: u64 = 4;
const ROWS: u64 = 50;
