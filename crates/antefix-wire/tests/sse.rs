//! Framing of server-sent events: line ends, cuts, limits.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail")]

use antefix_wire::sse::{Event, Parser, SseError};

#[test]
fn fields() {
    check("data: a\n\n", &[("message", "a")]);
    check("event: ping\ndata: {}\n\n", &[("ping", "{}")]);
    check("data:a\n\ndata:  b\n\n", &[("message", "a"), ("message", " b")]);
    check("data: a\ndata: b\ndata\ndata: c\n\n", &[("message", "a\nb\n\nc")]);
    check("data:\n\n", &[("message", "")]);
    check("data: a:b: c\n\n", &[("message", "a:b: c")]);
    check("event: x\nevent: y\ndata: a\n\n", &[("y", "a")]);
    check("id: 7\nretry: 10\nother: z\ndata: a\n\n", &[("message", "a")]);
    check(" data: a\n\n", &[]);
    check("DATA: a\n\n", &[]);
}

#[test]
fn blocks_without_data_are_no_events() {
    check("", &[]);
    check("\n\n\n", &[]);
    check(": keep-alive\n\n", &[]);
    check("event: ping\n\ndata: a\n\n", &[("message", "a")]);
    check(": note\nevent: x\n: note\ndata: a\n\n\n\n", &[("x", "a")]);
}

#[test]
fn line_ends() {
    check("event: x\r\ndata: a\r\n\r\ndata: b\r\n\r\n", &[("x", "a"), ("message", "b")]);
    check("event: x\rdata: a\r\rdata: b\r\r", &[("x", "a"), ("message", "b")]);
    check(
        "event: x\r\ndata: a\n\r\ndata: b\r\r\ndata: c\n\n",
        &[("x", "a"), ("message", "b"), ("message", "c")],
    );
    check("data: a\r\n\ndata: b\n\r", &[("message", "a"), ("message", "b")]);
}

#[test]
fn a_byte_order_mark_may_lead() {
    check("\u{feff}data: a\n\n", &[("message", "a")]);
    check("\u{feff}\ndata: a\n\n", &[("message", "a")]);
    check("data: a\n\n\u{feff}data: b\n\n", &[("message", "a")]);
    check("data: \u{feff}a\n\n", &[("message", "\u{feff}a")]);
}

#[test]
fn characters_may_be_cut() {
    check("data: é€𝄞\n\n", &[("message", "é€𝄞")]);
    let events = whole(b"data: a\xffb\n\n").0;
    assert_eq!(events[0].data, "a\u{fffd}b");
    assert_eq!(events[0].raw, b"data: a\xffb\n\n");
}

#[test]
fn an_unfinished_event_is_the_rest() {
    let (events, rest) = whole(b"data: a\n\ndata: b\n");
    assert_eq!(events.len(), 1);
    assert_eq!(rest.as_deref(), Some(&b"data: b\n"[..]));
    assert_eq!(whole(b"data: a\n\n").1, None);
    assert_eq!(whole(b"data: a\r\n\r").1.as_deref(), Some(&b"data: a\r\n\r"[..]));
}

#[test]
fn raw_bytes_and_the_rest_are_the_stream() {
    for stream in [
        "data: a\n\nevent: b\ndata: c\n\n",
        ": n\r\ndata: a\r\n\r\nid: 1\r\ndata: b\r\n\r\nda",
        "data: a\r\rdata: b\r\r",
    ] {
        let (events, rest) = whole(stream.as_bytes());
        let mut joined: Vec<u8> = events.into_iter().flat_map(|event| event.raw).collect();
        joined.extend(rest.unwrap_or_default());
        assert_eq!(String::from_utf8(joined).unwrap(), stream);
    }
}

#[test]
fn an_event_ends_with_its_blank_line_and_not_later() {
    for stream in ["data: a\n\n", "data: a\r\n\r\n", "data: a\r\r", "event: x\r\ndata: a\r\r"] {
        let mut parser = Parser::new();
        assert_eq!(parser.push(stream.as_bytes()).unwrap().len(), 1, "{stream:?}");
    }
}

#[test]
fn events_are_limited() {
    // 10 bytes, the blank line included.
    let fits = b"data: abc\n\n";
    for (limit, ok) in [(10, false), (11, true)] {
        for cut in 0..fits.len() {
            let mut parser = Parser::with_limit(limit);
            let mut results = vec![parser.push(&fits[..cut]), parser.push(&fits[cut..])];
            results.push(parser.push(b""));
            assert_eq!(results.iter().all(Result::is_ok), ok, "limit {limit}, cut {cut}");
            if !ok {
                assert_eq!(results[2], Err(SseError::TooLong { limit }));
            }
        }
    }
}

#[test]
fn events_in_front_of_one_too_long_are_given_first() {
    let mut parser = Parser::with_limit(12);
    let events = parser.push(b"data: a\n\ndata: much too long\n\n").unwrap();
    assert_eq!(events.len(), 1);
    assert_eq!(parser.push(b"data: b\n\n"), Err(SseError::TooLong { limit: 12 }));
    assert_eq!(parser.finish().map(|rest| rest.len()), Some(12));
}

#[test]
fn named_events_without_data_are_counted() {
    let cases = [
        ("event: a\ndata: 1\n\n", 0),
        (": comment\n\n", 0),
        ("event: a\ndta: 1\n\nevent: b\n\n", 2),
        ("event:\n\n", 0),
    ];
    for (stream, expect) in cases {
        let mut parser = Parser::new();
        parser.push(stream.as_bytes()).unwrap();
        assert_eq!(parser.without_data(), expect, "{stream:?}");
    }
}

/// The events of a stream, whole and under each cut in two, and byte by byte.
fn check(stream: &str, expect: &[(&str, &str)]) {
    let bytes = stream.as_bytes();
    let (events, rest) = whole(bytes);
    let got: Vec<_> = events.iter().map(|event| (event.name.as_str(), event.data.as_str())).collect();
    assert_eq!(got, expect, "{stream:?}");
    for cut in 0..=bytes.len() {
        let parts = [&bytes[..cut], &bytes[cut..]];
        assert_eq!(parse(parts), (events.clone(), rest.clone()), "{stream:?} cut at {cut}");
    }
    assert_eq!(parse(bytes.chunks(1)), (events, rest), "{stream:?} byte by byte");
}

fn whole(bytes: &[u8]) -> (Vec<Event>, Option<Vec<u8>>) {
    parse([bytes])
}

fn parse<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Event>, Option<Vec<u8>>) {
    let mut parser = Parser::new();
    let events = parts.into_iter().flat_map(|part| parser.push(part).unwrap()).collect();
    (events, parser.finish())
}
