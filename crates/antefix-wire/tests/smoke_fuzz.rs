//! Mutated inputs for a few seconds: nothing panics, memory stays in proportion, and what holds for good input
//! holds for bad input too. `ANTEFIX_FUZZ_SECONDS` sets the time for each target (2), `ANTEFIX_FUZZ_SEED` the seed.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail")]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use antefix_wire::anthropic::{BlockKind, Request, Ttl, marker_edit, unmark_edit};
use antefix_wire::assemble::{Assembled, Assembler, ChatAssembler};
use antefix_wire::json::{Body, Kind, Limits, compact, unescape, write_string};
use antefix_wire::openai::{self, ToolCall, assistant_message};
use antefix_wire::splice;
use antefix_wire::sse::{Event, Parser};
use antefix_wire::usage::Usage;

#[test]
fn scanner() {
    fuzz(JSON_SEEDS, |input, _| {
        // White space between bytes of the text may be dropped, but nothing may be added to it.
        let Ok(body) = Body::parse(input) else { return };
        assert_eq!(body.bytes(), input);
        assert!(body.span_count() <= input.len());
        let mut once = Vec::new();
        compact(&mut once, body.root());
        assert!(once.len() <= input.len());
        let again = Body::parse(once.clone()).expect("compacted JSON is JSON");
        assert_eq!(again.span_count(), body.span_count());
        let mut twice = Vec::new();
        compact(&mut twice, again.root());
        assert_eq!(once, twice);
        let tight = Limits { bytes: input.len(), depth: 1024, spans: body.span_count() };
        assert!(Body::parse_with(input, tight).is_ok());
        assert!(Body::parse_with(input, Limits { spans: body.span_count() - 1, ..tight }).is_err());
    });
}

#[test]
fn strings() {
    fuzz(JSON_SEEDS, |input, _| {
        let text = String::from_utf8_lossy(input);
        let decoded = unescape(&text);
        // A byte that is not an escape may at worst become the three of U+FFFD.
        assert!(decoded.len() <= 3 * text.len());
        let mut json = Vec::new();
        write_string(&mut json, &text);
        assert!(json.len() <= 6 * text.len() + 2);
        assert_eq!(Body::parse(json).unwrap().root().str().unwrap(), text);
    });
}

#[test]
fn views_and_markers() {
    fuzz(JSON_SEEDS, |input, _| {
        let Ok(body) = Body::parse(input) else { return };
        let root = body.root();
        let _ = Usage::read(root);
        if let Ok(request) = Request::read(root) {
            let blocks = request.messages.iter().flat_map(|message| &message.content).chain(&request.system);
            for block in blocks {
                let _ = (block.text(), block.call_id(), block.type_name(), block.content());
            }
        }
        let Some(edit) = marker_edit(root, Ttl::OneHour) else { return };
        let marked = splice(input, &[edit]).unwrap();
        assert!(marked.len() <= input.len() + 100);
        let marked = Body::parse(marked).expect("a marked body is JSON");
        if root.kind() == Kind::Object {
            let unmarked = splice(marked.bytes(), &[unmark_edit(marked.root()).unwrap()]).unwrap();
            assert!(Body::parse(unmarked.clone()).is_ok());
            assert!(root.get("cache_control").is_some() || unmarked == input);
        }
    });
}

#[test]
fn events() {
    fuzz(STREAM_SEEDS, |input, random| {
        let (whole, rest) = parse([input]);
        let parts = random.cuts(input);
        assert_eq!(parse(parts), (whole.clone(), rest.clone()));
        let kept =
            whole.iter().map(|event| event.raw.len()).sum::<usize>() + rest.map_or(0, |rest| rest.len());
        assert!(kept <= input.len());
        assert!(whole.iter().all(|event| event.data.len() <= 3 * event.raw.len()));
    });
}

#[test]
fn limited_events() {
    fuzz(STREAM_SEEDS, |input, random| {
        let limit = random.below(300);
        let mut parser = Parser::with_limit(limit);
        for part in random.cuts(input) {
            let Ok(events) = parser.push(part) else { break };
            assert!(events.iter().all(|event| event.raw.len() <= limit));
        }
        assert!(parser.finish().is_none_or(|rest| rest.len() <= limit));
    });
}

#[test]
fn assembler() {
    fuzz(STREAM_SEEDS, |input, random| {
        let whole = assemble([input]);
        for block in &whole.blocks {
            let body = Body::parse(block.json.clone()).expect("a block is JSON");
            assert_eq!(body.root().kind(), Kind::Object);
            assert!(!block.complete || block.broken_input.is_none());
        }
        assert!(whole.blocks.is_empty() || Body::parse(whole.content_json()).is_ok());
        // A byte that is not UTF-8 becomes three.
        assert!(whole.content_json().len() <= 3 * input.len() + 2);
        assert_eq!(assemble(random.cuts(input)), whole);
    });
}

#[test]
fn chat_assembler() {
    fuzz(CHAT_SEEDS, |input, random| {
        let whole = assemble_chat([input]);
        let blocks: Vec<&[u8]> = whole.blocks.iter().map(|block| block.json.as_slice()).collect();
        for block in &whole.blocks {
            let body = Body::parse(block.json.clone()).expect("a block is JSON");
            assert_eq!(body.root().kind(), Kind::Object);
            assert!(!block.complete || block.broken_input.is_none());
            if block.kind == BlockKind::ToolUse {
                let input = ToolCall::read(body.root()).input().into_owned();
                let input = Body::parse(input).expect("arguments are JSON, or `{}` stands in their place");
                assert_eq!(input.root().kind(), Kind::Object);
            }
        }
        let message = Body::parse(assistant_message(&blocks)).expect("a message is JSON");
        let calls = whole.blocks.iter().filter(|block| block.kind == BlockKind::ToolUse).count();
        let sent = message.root().get("tool_calls").map_or(0, |calls| calls.items().count());
        assert_eq!(sent, calls, "no call is lost");
        if let Some(usage) = &whole.usage_json {
            let usage = Body::parse(usage.clone()).expect("the usage is JSON");
            assert_eq!(Usage::read(usage.root()), whole.usage);
        }
        // A byte that is not UTF-8 becomes three, and one that needs an escape in arguments may stand behind six.
        assert!(message.bytes().len() <= 6 * input.len() + 200);
        assert_eq!(assemble_chat(random.cuts(input)), whole);
    });
}

#[test]
fn chat_bodies() {
    fuzz(JSON_SEEDS, |input, _| {
        let Ok(body) = Body::parse(input) else { return };
        let request = openai::Request::read(body.root());
        let parts = request.entries.iter().flat_map(|entry| &entry.parts);
        assert!(parts.count() + request.tools.len() <= body.span_count());
    });
}

fn assemble_chat<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Assembled {
    let mut assembler = ChatAssembler::new();
    for event in parse(parts).0 {
        let _ = assembler.event(&event);
    }
    assembler.finish()
}

fn parse<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Event>, Option<Vec<u8>>) {
    let mut parser = Parser::new();
    let events = parts.into_iter().flat_map(|part| parser.push(part).unwrap()).collect();
    (events, parser.finish())
}

fn assemble<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Assembled {
    let mut assembler = Assembler::new();
    for event in parse(parts).0 {
        let _ = assembler.event(&event);
    }
    assembler.finish()
}

/// Runs `target` on mutations of the seeds until the time is over, and names the input that it fails on.
fn fuzz(seeds: &[&str], target: impl Fn(&[u8], &mut Random)) {
    let seed = setting("ANTEFIX_FUZZ_SEED").unwrap_or(0x5eed);
    let mut random = Random(seed.max(1));
    let deadline = Deadline::after(setting("ANTEFIX_FUZZ_SECONDS").unwrap_or(2));
    let mut round: u64 = 0;
    while round < 200 || !deadline.is_over() {
        let input = if round < seeds.len() as u64 {
            seeds[round as usize].as_bytes().to_vec()
        } else {
            random.mutated(seeds)
        };
        let result = catch_unwind(AssertUnwindSafe(|| target(&input, &mut random)));
        if let Err(panic) = result {
            eprintln!("seed {seed}, round {round}, input \"{}\"", input.escape_ascii());
            resume_unwind(panic);
        }
        round += 1;
    }
}

#[allow(clippy::disallowed_methods, reason = "the time and seed of a fuzz run are set from outside")]
fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

struct Deadline(std::time::Instant);

impl Deadline {
    #[allow(clippy::disallowed_methods, reason = "a fuzz run is bounded by time")]
    fn after(seconds: u64) -> Self {
        Self(std::time::Instant::now() + Duration::from_secs(seconds))
    }

    #[allow(clippy::disallowed_methods, reason = "a fuzz run is bounded by time")]
    fn is_over(&self) -> bool {
        std::time::Instant::now() >= self.0
    }
}

/// Marsaglia's xorshift with 64 bits.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % (end.max(1) as u64)) as usize
    }

    /// One of the seeds with a few changes, or a piece of one repeated.
    fn mutated(&mut self, seeds: &[&str]) -> Vec<u8> {
        let mut bytes = seeds[self.below(seeds.len())].as_bytes().to_vec();
        for _ in 0..=self.below(6) {
            self.mutate(&mut bytes, seeds);
        }
        bytes
    }

    fn mutate(&mut self, bytes: &mut Vec<u8>, seeds: &[&str]) {
        let at = self.below(bytes.len() + 1);
        let end = (at + self.below(60)).min(bytes.len());
        match self.below(7) {
            0 if at < bytes.len() => bytes[at] = self.next() as u8,
            1 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
            2 => {
                bytes.drain(at..end);
            }
            3 => {
                let piece = bytes[at..end].to_vec();
                let times = 1 + self.below(4);
                bytes.splice(at..at, piece.repeat(times));
            }
            4 => {
                let token = TOKENS[self.below(TOKENS.len())];
                bytes.splice(at..at, token.iter().copied());
            }
            5 => {
                let other = seeds[self.below(seeds.len())].as_bytes();
                let from = self.below(other.len());
                let to = (from + self.below(400)).min(other.len());
                bytes.splice(at..end, other[from..to].iter().copied());
            }
            _ => bytes.truncate(at),
        }
    }

    fn cuts<'a>(&mut self, mut bytes: &'a [u8]) -> Vec<&'a [u8]> {
        let mut parts = Vec::new();
        let most = 1 + self.below(400);
        while !bytes.is_empty() {
            let (part, rest) = bytes.split_at((1 + self.below(most)).min(bytes.len()));
            parts.push(part);
            bytes = rest;
        }
        parts
    }
}

const TOKENS: &[&[u8]] = &[
    b"{", b"}", b"[", b"]", b"\"", b"\\", b"\\u", b"\\ud83c", b"\\udfb9", b",", b":", b"null", b"-0", b"1e9", b"\xff", b"\xc3",
    b"\xef\xbb\xbf", b"\r", b"\n", b"\r\n", b"\r\n\r\n", b"\n\n", b"\r\r", b"\0", b"data: ", b"data: {}\n\n", b"event: error\n", b":",
    b"\"index\":0", b"\"type\":\"text\"", b"\"cache_control\":{}", b"\"text\":1", b"[[[[[[[[[[[[[[[[",
    br#"data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"a\":"}}"#,
];

const JSON_SEEDS: &[&str] = &[
    include_str!("bodies/chat.json"),
    include_str!("bodies/agent.json"),
    r#"{"b":1.0e2,"a":0.1000,"b":-0,"c":[12345678901234567890123,"\u00e9\/\ud83c\udfb9 🎹",true,false,null,{},[]]}"#,
    r#"{"system":"s","messages":[{"role":"user","content":"c"}],"cache_control":{"type":"ephemeral","ttl":"1h"}}"#,
    r#"{"input_tokens":1,"cache_creation":{"ephemeral_1h_input_tokens":2},"iterations":[{"type":"message"}]}"#,
    r#""a plain string""#,
    "[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]",
];

const CHAT_SEEDS: &[&str] = &[
    include_str!("streams/chat.sse"),
    "data: {\"error\":{\"message\":\"m\",\"code\":502}}\n\ndata: [DONE]\n\n",
    r#"data: {"choices":[{"delta":{"tool_calls":[{"id":7,"function":{"name":"a","arguments":{"b":1.50}}},{"function":{"name":"c"}}],"reasoning":"r","mood":"x","refusal":"n"},"finish_reason":"stop","usage":{"prompt_tokens":7}}],"timings":{"cache_n":3}}

data: {"choices":[{"index":1,"delta":{"content":[{"type":"text","text":"x"}]}}],"usage":{"completion_tokens":1,"cost":1e-5}}

"#,
];

const STREAM_SEEDS: &[&str] = &[
    include_str!("streams/tools.sse"),
    include_str!("streams/server_tools.sse"),
    "event: a\r\ndata: 1\r\n\r\ndata: 2\r\rdata: 3\n\n: c\n\n",
    "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"m\"}}\n\n",
];
