use proptest::prelude::*;

use super::{BrokenReason, Chain, Head, LineError, Reader, SealError, seal};

/// The lines of `objects`, and where each of them ends.
fn transcript(objects: &[&str]) -> (Vec<u8>, Vec<Head>) {
    let mut bytes = Vec::new();
    let mut heads = vec![Head::START];
    for object in objects {
        let last = heads.last().copied().unwrap();
        let (line, chain) = seal(last.chain, object.as_bytes()).unwrap();
        bytes.extend_from_slice(&line);
        heads.push(Head { chain, lines: last.lines + 1, bytes: bytes.len() as u64 });
    }
    (bytes, heads)
}

/// How reading `bytes` ends.
fn read(bytes: &[u8]) -> (Head, Option<LineError>) {
    let mut reader = Reader::new(bytes);
    let error = reader.by_ref().find_map(Result::err);
    assert_eq!(reader.next(), None);
    (reader.head(), error)
}

#[test]
fn the_bytes_of_version_zero_stay_what_they_are() {
    let (bytes, heads) = transcript(&[r#"{"antefix":"transcript","version":0}"#, r#"{"t":"a\nb"}"#]);
    assert_eq!(String::from_utf8(bytes.clone()).unwrap(), include_str!("golden.jsonl"));
    assert_eq!(read(&bytes), (heads[2], None));
}

#[test]
fn the_digest_is_the_one_the_format_draws() {
    let object = br#"{"n":1}"#;
    let (_, chain) = seal(Chain([7; 32]), object).unwrap();
    let mut input = vec![7; 32];
    input.extend_from_slice(&7_u64.to_le_bytes());
    input.extend_from_slice(object);
    assert_eq!(chain, Chain(blake3::derive_key("antefix transcript chain v0", &input)));
}

#[test]
fn a_line_says_where_it_stands() {
    let (bytes, _) = transcript(&[r#"{"n":1}"#, r#"{"n":2}"#]);
    let ranges: Vec<_> = Reader::new(&bytes).map(|line| line.unwrap().range).collect();
    let lines: Vec<_> = ranges.iter().map(|range| &bytes[range.start..range.end]).collect();
    assert_eq!(lines.concat(), bytes);
    assert!(lines[1].starts_with(br#"{"n":2,"chain":""#));
}

#[test]
fn objects_that_cannot_be_a_line_are_refused() {
    let check = |object: &str, expect| assert_eq!(seal(Chain::START, object.as_bytes()), Err(expect));
    check("", SealError::NotAnObject);
    check("{}", SealError::NotAnObject);
    check("[1]", SealError::NotAnObject);
    check(r#" {"a":1}"#, SealError::NotAnObject);
    check(r#"{"a":1} "#, SealError::NotAnObject);
    check("{\"a\":\n1}", SealError::Newline);
}

#[test]
fn broken_lines_are_told_apart() {
    let (good, heads) = transcript(&[r#"{"n":1}"#, r#"{"n":2}"#]);
    let check = |line: &str, reason| {
        let bytes = [&good, line.as_bytes(), b"\n"].concat();
        let broken = LineError::Broken { line: 3, offset: good.len() as u64, reason };
        assert_eq!(read(&bytes), (heads[2], Some(broken)), "{line}");
    };
    let zeros = "0".repeat(64);
    check("", BrokenReason::NotAnObject);
    check("\0\0\0\0", BrokenReason::NotAnObject);
    check("[1]", BrokenReason::NotAnObject);
    check("{}", BrokenReason::NotAnObject);
    check(r#"{"n":3}"#, BrokenReason::NoChain);
    check(&format!(r#"{{"n":3,"chain":"{}"}}"#, "0".repeat(63)), BrokenReason::NoChain);
    check(&format!(r#"{{"n":3,"chain":"{}"}}"#, "A".repeat(64)), BrokenReason::NoChain);
    check(&format!(r#"{{"chain":"{zeros}"}}"#), BrokenReason::NoChain);
    check(&format!(r#"{{"n":3,"chain":"{zeros}"}}"#), BrokenReason::WrongDigest);
    let first = String::from_utf8(good[..heads[1].bytes as usize - 1].to_vec()).unwrap();
    check(&first, BrokenReason::WrongDigest);
}

#[test]
fn a_whole_object_without_a_newline_is_torn() {
    let (bytes, heads) = transcript(&[r#"{"n":1}"#, r#"{"n":2}"#]);
    let expect = LineError::Torn { offset: heads[1].bytes };
    assert_eq!(read(&bytes[..bytes.len() - 1]), (heads[1], Some(expect)));
}

#[test]
fn a_chain_reads_back_from_its_text() {
    let (_, chain) = seal(Chain::START, br#"{"n":1}"#).unwrap();
    assert_eq!(chain.to_string().parse(), Ok(chain));
    assert!(chain.to_string().to_uppercase().parse::<Chain>().is_err());
    assert!("é".repeat(32).parse::<Chain>().is_err());
}

proptest! {
    #[test]
    fn a_flipped_byte_is_found_in_its_line(
        texts in prop::collection::vec("[ -~é]{0,80}", 1..6), at in any::<prop::sample::Index>(), flip in 1_u8..,
    ) {
        let objects: Vec<_> = texts.iter().map(|text| format!(r#"{{"t":{}}}"#, quoted(text))).collect();
        let (mut bytes, heads) = transcript(&objects.iter().map(String::as_str).collect::<Vec<_>>());
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        let line = heads.iter().rposition(|head| head.bytes <= at as u64).unwrap();
        let (head, error) = read(&bytes);
        prop_assert_eq!(head, heads[line]);
        let offset = heads[line].bytes;
        match error {
            Some(LineError::Broken { line: found, offset: start, .. }) => {
                prop_assert_eq!((found, start), (line as u64 + 1, offset));
            }
            // Without its newline the last line looks like one that was never finished.
            error => {
                prop_assert_eq!(error, Some(LineError::Torn { offset }));
                prop_assert_eq!(at, bytes.len() - 1);
            }
        }
    }

    #[test]
    fn a_cut_at_any_byte_is_torn_or_between_two_lines(
        sizes in prop::collection::vec(0_usize..200, 1..6), at in any::<prop::sample::Index>(),
    ) {
        let objects: Vec<_> = sizes.iter().map(|size| format!(r#"{{"t":"{}"}}"#, "x".repeat(*size))).collect();
        let (bytes, heads) = transcript(&objects.iter().map(String::as_str).collect::<Vec<_>>());
        let at = at.index(bytes.len() + 1);
        let last = *heads.iter().rfind(|head| head.bytes <= at as u64).unwrap();
        let torn = (last.bytes < at as u64).then_some(LineError::Torn { offset: last.bytes });
        prop_assert_eq!(read(&bytes[..at]), (last, torn));
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let (head, _) = read(&bytes);
        prop_assert_eq!(head, Head::START);
    }
}

fn quoted(text: &str) -> String {
    let mut out = Vec::new();
    antefix_wire::json::write_string(&mut out, text);
    String::from_utf8(out).unwrap()
}
