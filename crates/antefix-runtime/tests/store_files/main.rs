//! The store on the machine's own file system.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod watched;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use antefix_runtime::store::{
    AppendError, BlobId, Disk, Durability, FileStore, Head, SessionId, Sessions, StoreError, SyncPoint,
    TranscriptStore,
};
use antefix_session::line::{BrokenReason, Chain, LineError, Reader, seal};
use proptest::prelude::*;
use tempfile::TempDir;

use watched::{Refusal, Watched};

/// A state directory of its own.
struct Place {
    sessions: Sessions,
    state: TempDir,
}

impl Place {
    fn new() -> Self {
        let state = tempfile::tempdir().unwrap();
        Self { sessions: Sessions::at(state.path()), state }
    }

    /// A session of `count` records, all durable, closed again; and where each line ends.
    fn with_session(count: u64) -> (Self, Vec<Head>) {
        let place = Self::new();
        let mut store = place.sessions.create(&id("a")).unwrap();
        let mut heads = vec![Head::START];
        for n in 0..count {
            heads.push(append(&mut store, &[&format!(r#"{{"n":{n},"cwd":"/w"}}"#)], 10 + n));
        }
        (place, heads)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.state.path().join("sessions/a").join(name)
    }

    fn transcript(&self) -> Vec<u8> {
        fs::read(self.path("transcript.jsonl")).unwrap()
    }

    fn set_transcript(&self, bytes: &[u8]) {
        fs::write(self.path("transcript.jsonl"), bytes).unwrap();
    }

    /// The error of opening the session, which inspecting it gives as well and which changes nothing.
    fn refused(&self) -> String {
        let before = self.transcript();
        let open = self.sessions.open(&id("a")).map(|_| ()).unwrap_err().to_string();
        assert_eq!(self.sessions.inspect(&id("a")).map(|_| ()).unwrap_err().to_string(), open);
        assert_eq!(self.transcript(), before);
        open
    }
}

fn id(text: &str) -> SessionId {
    text.parse().unwrap()
}

fn append<D: Disk>(store: &mut FileStore<D>, objects: &[&str], at_ms: u64) -> Head {
    let objects: Vec<_> = objects.iter().map(|object| object.as_bytes().to_vec()).collect();
    store.append(store.head(), &objects, Durability::Durable { at_ms }).unwrap()
}

#[test]
fn a_session_is_read_back_as_it_was_written() {
    let (place, heads) = Place::with_session(3);
    let opened = place.sessions.open(&id("a")).unwrap();
    assert_eq!((opened.store.head(), opened.store.durable_head()), (heads[3], heads[3]));
    assert_eq!((opened.cut, opened.index_lost), (None, false));
    assert_eq!(opened.transcript, place.transcript());
    let first = Reader::new(&opened.transcript).next().unwrap().unwrap();
    assert!(first.object.starts_with(br#"{"n":0,"cwd":"/w","chain":""#));
}

#[test]
fn a_session_goes_on_where_it_ended() {
    let (place, _) = Place::with_session(2);
    let mut opened = place.sessions.open(&id("a")).unwrap();
    let head = append(&mut opened.store, &[r#"{"n":2}"#, r#"{"n":3}"#], 99);
    assert_eq!(head.lines, 4);
    drop(opened);
    let seen = place.sessions.inspect(&id("a")).unwrap();
    assert_eq!((seen.head, seen.durable, seen.unfinished), (head, head, None));
}

#[test]
fn a_second_writer_is_told_that_the_session_is_in_use() {
    let place = Place::new();
    let store = place.sessions.create(&id("a")).unwrap();
    let error = place.sessions.open(&id("a")).unwrap_err();
    assert!(matches!(error, StoreError::InUse { .. }));
    assert_eq!(
        error.to_string(),
        "session `a` is in use by another process; use `--fork` to go on from a copy"
    );
    assert_eq!(place.sessions.inspect(&id("a")).unwrap().head, Head::START);
    drop(store);
    place.sessions.open(&id("a")).unwrap();
}

#[test]
fn sessions_that_are_not_there_or_already_there() {
    let place = Place::new();
    assert!(matches!(place.sessions.open(&id("a")), Err(StoreError::NotFound { .. })));
    assert!(matches!(place.sessions.inspect(&id("a")), Err(StoreError::NotFound { .. })));
    assert_eq!(place.sessions.list(None).unwrap(), []);
    place.sessions.create(&id("a")).unwrap();
    assert!(matches!(place.sessions.create(&id("a")), Err(StoreError::Exists { .. })));
}

#[test]
fn an_append_to_a_stale_head_is_a_conflict() {
    let place = Place::new();
    let mut store = place.sessions.create(&id("a")).unwrap();
    let head = append(&mut store, &[r#"{"n":0}"#], 1);
    let stale = store.append(Head::START, &[br#"{"n":1}"#.to_vec()], Durability::Buffered).unwrap_err();
    assert!(matches!(stale, AppendError::Conflict { expected: Head::START, found } if found == head));
    assert_eq!(stale.to_string(), "the transcript has 1 lines where 0 were expected, or others");
}

#[test]
fn a_batch_with_one_bad_record_writes_none() {
    let (place, heads) = Place::with_session(1);
    let mut store = place.sessions.open(&id("a")).unwrap().store;
    let batch = [br#"{"n":1}"#.to_vec(), b"[2]".to_vec()];
    assert!(matches!(store.append(heads[1], &batch, Durability::Buffered), Err(AppendError::Record(_))));
    assert_eq!(store.head(), heads[1]);
    assert_eq!(place.transcript().len() as u64, heads[1].bytes);
}

#[test]
fn only_the_owner_may_read_a_session() {
    let (place, _) = Place::with_session(1);
    place.sessions.open(&id("a")).unwrap().store.put_blob(b"blob").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let blob = place.path("blobs").join(BlobId::of(b"blob").to_string());
    for folder in [place.path("."), place.path(".."), place.path("blobs")] {
        assert_eq!(mode(&folder), 0o700, "{}", folder.display());
    }
    for file in [place.path("transcript.jsonl"), place.path("index.jsonl"), blob] {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[test]
fn an_unfinished_line_is_reported_and_cut() {
    let (place, heads) = Place::with_session(2);
    let whole = place.transcript();
    let (next, _) = seal(heads[2].chain, br#"{"n":2}"#).unwrap();
    // Even all of it but the newline.
    place.set_transcript(&[&whole, &next[..next.len() - 1]].concat());
    let reason = LineError::Torn { offset: heads[2].bytes };
    let unfinished = antefix_runtime::store::Unfinished { bytes: next.len() as u64 - 1, reason };
    let seen = place.sessions.inspect(&id("a")).unwrap();
    assert_eq!((seen.head, seen.unfinished), (heads[2], Some(unfinished)));
    assert_ne!(place.transcript(), whole, "inspecting changes nothing");
    assert_eq!(place.sessions.open(&id("a")).unwrap().cut, Some(unfinished));
    assert_eq!(place.transcript(), whole);
}

#[test]
fn a_missing_index_is_reported_and_lets_nothing_broken_pass() {
    let (place, heads) = Place::with_session(3);
    fs::remove_file(place.path("index.jsonl")).unwrap();
    let mut bytes = place.transcript();
    assert!(place.sessions.inspect(&id("a")).unwrap().index_lost);
    bytes[heads[1].bytes as usize + 5] ^= 1;
    place.set_transcript(&bytes);
    assert_eq!(
        place.refused(),
        format!("session `a`: line 2, at byte {}: its content does not match its `chain`", heads[1].bytes)
    );
    bytes[heads[1].bytes as usize + 5] ^= 1;
    place.set_transcript(&bytes);
    let mut opened = place.sessions.open(&id("a")).unwrap();
    assert!(opened.index_lost);
    append(&mut opened.store, &[r#"{"n":3}"#], 9);
    drop(opened);
    assert!(!place.sessions.inspect(&id("a")).unwrap().index_lost);
}

#[test]
fn another_transcript_under_the_same_index_is_refused() {
    let (place, _) = Place::with_session(2);
    let other = Place::with_session(3).0.transcript();
    let (first, chain) = seal(Chain::START, br#"{"other":1}"#).unwrap();
    let (second, _) = seal(chain, br#"{"other":2}"#).unwrap();
    place.set_transcript(&[first, second].concat());
    assert_eq!(place.refused(), "session `a`: line 2 is not the one that was written there");
    // A longer one that begins the same is what a crash before the index was written leaves.
    place.set_transcript(&other);
    assert_eq!(place.sessions.open(&id("a")).unwrap().store.head().lines, 3);
}

#[test]
fn a_transcript_that_is_gone_is_missed() {
    let (place, _) = Place::with_session(2);
    fs::remove_file(place.path("transcript.jsonl")).unwrap();
    let error = place.sessions.open(&id("a")).unwrap_err();
    assert_eq!(error.to_string(), "session `a` has lost records: 0 lines are left of at least 2");
}

#[test]
fn sessions_of_a_working_directory_last_used_first() {
    let place = Place::new();
    let cases = [("a", "/w", 20), ("b", "/v", 40), ("c", "/w", 30), ("d", "/w", 30)];
    for (name, cwd, at_ms) in cases {
        let mut store = place.sessions.create(&id(name)).unwrap();
        // A header longer than the first read.
        append(&mut store, &[&format!(r#"{{"pad":"{}","cwd":"{cwd}"}}"#, "x".repeat(9_000))], at_ms);
    }
    place.sessions.create(&id("empty")).unwrap();
    fs::write(place.state.path().join("sessions/stray file"), "").unwrap();
    fs::write(place.state.path().join("sessions/stray"), "").unwrap();
    let names = |cwd| -> Vec<String> {
        place.sessions.list(cwd).unwrap().into_iter().map(|one| one.id.to_string()).collect()
    };
    assert_eq!(names(Some("/w")), ["d", "c", "a"]);
    assert_eq!(names(None), ["b", "d", "c", "a"]);
    assert_eq!(names(Some("/")), <[&str; 0]>::default());
    let newest = place.sessions.list(Some("/v")).unwrap().remove(0);
    assert_eq!((newest.cwd.as_deref(), newest.updated_at_ms, newest.head.lines), (Some("/v"), 40, 1));
}

#[test]
fn a_blob_is_kept_once_and_checked_when_read() {
    let (place, _) = Place::with_session(1);
    let mut store = place.sessions.open(&id("a")).unwrap().store;
    let blob = store.put_blob(b"picture").unwrap();
    assert_eq!(blob, BlobId::of(b"picture"));
    assert_eq!(blob.to_string().parse(), Ok(blob));
    assert_eq!(store.blob(blob).unwrap(), b"picture");
    assert_eq!(place.sessions.blob(&id("a"), blob).unwrap(), b"picture");
    let other = BlobId::of(b"other");
    assert!(matches!(store.blob(other), Err(StoreError::BlobMissing { id }) if id == other));
    let path = place.path("blobs").join(blob.to_string());
    fs::write(&path, b"pictures").unwrap();
    assert!(matches!(store.blob(blob), Err(StoreError::BlobDamaged { .. })));
    drop(store);
    // The next process mends it when it is given the content again.
    place.sessions.open(&id("a")).unwrap().store.put_blob(b"picture").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"picture");
}

#[test]
fn a_session_id_names_a_folder_and_nothing_else() {
    for good in ["a", "0190a5c8-6f0e-7cc3-98c4-dc0c0c07398f"] {
        assert_eq!(good.parse::<SessionId>().map(|id| id.to_string()), Ok(good.to_owned()));
    }
    for bad in ["", ".", "..", "a/b", "A", "-a", "a b", "a\n", "é", &"a".repeat(65)] {
        assert!(bad.parse::<SessionId>().is_err(), "{bad:?}");
    }
}

#[test]
fn a_session_of_version_zero_is_read() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/store_fixtures/v0");
    let sessions = Sessions::at(fixture);
    let seen = sessions.inspect(&id("first")).unwrap();
    assert_eq!((seen.head.lines, seen.durable.lines, seen.unfinished, seen.index_lost), (3, 2, None, false));
    assert_eq!(sessions.list(Some("/w")).unwrap()[0].updated_at_ms, 1_000);
}

#[test]
fn each_promise_waits_for_the_disk_no_more_than_it_must() {
    use SyncPoint::{Blob, BlobDir, Index, SessionDir, SessionsDir, StateDir, Transcript};
    let state = tempfile::tempdir().unwrap();
    let disk = Watched::default();
    let sessions = Sessions::on(disk.clone(), state.path().join("new"));
    let mut store = sessions.create(&id("a")).unwrap();
    disk.since(&[StateDir, SessionDir, SessionsDir, StateDir]);
    let head = append(&mut store, &[r#"{"n":0}"#], 1);
    disk.since(&[Transcript, Index]);
    store.append(head, &[br#"{"n":1}"#.to_vec()], Durability::Buffered).unwrap();
    disk.since(&[]);
    append(&mut store, &[r#"{"n":2}"#, r#"{"n":3}"#], 2);
    disk.since(&[Transcript, Index]);
    append(&mut store, &[], 3);
    disk.since(&[]);
    store.put_blob(b"blob").unwrap();
    disk.since(&[Blob, BlobDir]);
    store.put_blob(b"blob").unwrap();
    disk.since(&[]);
    drop(store);
    sessions.inspect(&id("a")).unwrap();
    disk.since(&[]);
    let mut store = sessions.open(&id("a")).unwrap().store;
    disk.since(&[Index]);
    store.put_blob(b"blob").unwrap();
    disk.since(&[BlobDir]);
}

#[test]
fn a_refusing_disk_is_reported_and_nothing_is_appended() {
    let full = "no space left on the disk for `T`";
    let doubt = "cannot make `T` durable: input/output error; the session must be opened again";
    let index = "cannot make `I` durable: input/output error; the session must be opened again";
    let again = "the session must be opened again after an earlier failure: ";
    // Refused; what the append says; what the next one says, or nothing if it goes through.
    let cases = [
        (Refusal::Write, full, None),
        (Refusal::Sync(SyncPoint::Transcript), doubt, Some(format!("{again}`T`: input/output error"))),
        (Refusal::Sync(SyncPoint::Index), index, Some(format!("{again}`I`: input/output error"))),
    ];
    for (refusal, first, second) in cases {
        assert_eq!(refuse(refusal), (first.to_owned(), second), "{refusal:?}");
    }
}

/// What two appends say when the first meets a refusal. The first record before them must stay.
fn refuse(refusal: Refusal) -> (String, Option<String>) {
    let state = tempfile::tempdir().unwrap();
    let disk = Watched::default();
    let sessions = Sessions::on(disk.clone(), state.path());
    let mut store = sessions.create(&id("a")).unwrap();
    let head = append(&mut store, &[r#"{"n":0}"#], 1);
    let folder = store.folder().to_owned();
    let mut next = |refusal| {
        disk.refuse(refusal);
        let outcome = store
            .append(head, &[br#"{"n":1}"#.to_vec()], Durability::Durable { at_ms: 2 })
            .map(|head| head.lines);
        assert!(matches!(outcome, Err(_) | Ok(2)));
        let path = |name: &str| folder.join(name).display().to_string();
        outcome.err().map(|error| {
            error.to_string().replace(&path("transcript.jsonl"), "T").replace(&path("index.jsonl"), "I")
        })
    };
    let said = (next(Some(refusal)).unwrap(), next(None));
    drop(store);
    let opened = sessions.open(&id("a")).unwrap();
    assert!(opened.store.head().lines >= 1);
    assert_eq!(opened.cut, None);
    said
}

proptest! {
    // Each case waits for a real disk.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_flipped_byte_in_a_complete_line_stops_the_session(
        count in 1_u64..5, at in any::<prop::sample::Index>(), flip in 1_u8..,
    ) {
        let (place, heads) = Place::with_session(count);
        let mut bytes = place.transcript();
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        place.set_transcript(&bytes);
        let line = heads.iter().rposition(|head| head.bytes <= at as u64).unwrap() as u64;
        let error = place.refused();
        if at + 1 == bytes.len() {
            let text = format!("session `a` has lost records: {line} lines are left of at least {count}");
            prop_assert_eq!(error, text);
        } else {
            let start = format!("session `a`: line {}, at byte {}: ", line + 1, heads[line as usize].bytes);
            prop_assert!(error.starts_with(&start), "{}", error);
        }
    }

    #[test]
    fn a_transcript_cut_at_any_byte_is_missed(count in 1_u64..5, at in any::<prop::sample::Index>()) {
        let (place, heads) = Place::with_session(count);
        let bytes = place.transcript();
        let at = at.index(bytes.len());
        place.set_transcript(&bytes[..at]);
        let left = heads.iter().rposition(|head| head.bytes <= at as u64).unwrap();
        let text = format!("session `a` has lost records: {left} lines are left of at least {count}");
        prop_assert_eq!(place.refused(), text);
    }

    #[test]
    fn what_was_never_durable_may_be_torn_or_broken(count in 1_u64..4, junk in prop::collection::vec(any::<u8>(), 1..200)) {
        let (place, heads) = Place::with_session(count);
        let whole = place.transcript();
        place.set_transcript(&[&whole[..], &junk].concat());
        let unfinished = place.sessions.inspect(&id("a")).unwrap().unfinished.unwrap();
        let offset = heads[count as usize].bytes;
        let broken = LineError::Broken { line: count + 1, offset, reason: BrokenReason::NotAnObject };
        let expect = if junk.contains(&b'\n') { broken } else { LineError::Torn { offset } };
        if !junk.starts_with(b"{\"") {
            prop_assert_eq!(unfinished.reason, expect);
        }
        prop_assert_eq!(unfinished.bytes, junk.len() as u64);
        prop_assert_eq!(place.sessions.open(&id("a")).unwrap().cut, Some(unfinished));
        prop_assert_eq!(place.transcript(), whole);
    }
}
