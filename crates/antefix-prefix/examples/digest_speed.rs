//! Prints how fast a request body is scanned, digested and compared.
//!
//! The corpus is a 1 MB agent conversation in ~1 KB blocks of source code, which is dense in escapes. Each row
//! is the best of 30 runs on one core. Run with `cargo run --release -p antefix-prefix --example digest_speed`.
//!
//! `digest_speed WORK N` does `digest` (scan and both digests), `stored` (the same, and the first changed position by
//! the parent's stored digests) or `compare` (with the kept parent, both scanned before) N times and reads no clock,
//! for use under callgrind.

#![expect(clippy::expect_used, reason = "the corpus is made here")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use antefix_prefix::{Chain, difference, first_changed_position, first_difference, positions};
use antefix_wire::anthropic::Request;
use antefix_wire::json::{Body, write_string};

fn main() {
    let mut arguments = std::env::args().skip(1);
    if let (Some(work), Some(count)) = (arguments.next(), arguments.next()) {
        return repeat(&work, count.parse().expect("a number"));
    }
    for (name, spelling) in [
        ("as common clients spell it", Spelling::Plain),
        ("text escaped to ASCII, members in another order", Spelling::Other),
    ] {
        let body = conversation(1 << 20, spelling);
        println!("{} bytes, {name}", body.len());
        report(&body);
    }
}

fn repeat(work: &str, count: usize) {
    let bytes = conversation(1 << 20, Spelling::Plain);
    let parsed = parse(bytes.clone());
    let later = longer(&bytes);
    let chain = Chain::of(&positions(&view(&later)));
    for _ in 0..count {
        match work {
            "digest" => {
                let body = parse(bytes.clone());
                black_box(positions(&view(&body)));
            }
            "stored" => {
                let body = parse(bytes.clone());
                let found = positions(&view(&body));
                black_box(first_changed_position(&chain, &found));
            }
            _ => drop(black_box(first_difference(&parsed, &later))),
        }
    }
}

fn report(bytes: &[u8]) {
    let parsed = parse(bytes.to_vec());
    let found = positions(&view(&parsed));
    println!("  positions: {}", found.len());
    speed("scan", bytes.len(), || {
        black_box(parse(bytes.to_vec()));
    });
    speed("blake3 alone, block by block", bytes.len(), || {
        for position in &found {
            black_box(blake3::hash(&bytes[position.range.start..position.range.end]));
        }
    });
    speed("both digests", bytes.len(), || {
        black_box(positions(&view(&parsed)));
    });
    speed("scan + both digests", bytes.len(), || {
        let body = parse(bytes.to_vec());
        black_box(positions(&view(&body)));
    });
    let later = longer(bytes);
    let (kept, new) = (view(&parsed), view(&later));
    assert_eq!(difference(&kept, &new), None, "the later request extends the kept one");
    speed("compare with the kept parent, both read before", bytes.len(), || {
        black_box(difference(&kept, &new));
    });
    speed("compare with the kept parent, both scanned before", bytes.len(), || {
        let _ = black_box(first_difference(&parsed, &later));
    });
    speed("chain over the positions", bytes.len(), || {
        black_box(Chain::of(&found));
    });
}

/// The request that extends `bytes` by one step.
fn longer(bytes: &[u8]) -> Body {
    parse(bytes.strip_suffix(b"]}").unwrap_or(bytes).iter().chain(NEXT).copied().collect())
}

fn speed(what: &str, bytes: usize, mut run: impl FnMut()) {
    let best = best_of(&mut run);
    let rate = bytes as f64 / best.as_secs_f64() / 1e9;
    println!("  {what}: {:.3} ms, {rate:.2} GB/s", best.as_secs_f64() * 1e3);
}

#[expect(clippy::disallowed_methods, reason = "a figure for reading")]
fn best_of(run: &mut impl FnMut()) -> Duration {
    let mut best = Duration::MAX;
    for _ in 0..30 {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed());
    }
    best
}

fn parse(bytes: Vec<u8>) -> Body {
    Body::parse(bytes).expect("the corpus is JSON")
}

fn view(body: &Body) -> Request<'_> {
    Request::read(body.root()).expect("the corpus is a request")
}

/// What the next request adds.
const NEXT: &[u8] = br#",{"role":"assistant","content":"Done."},{"role":"user","content":"Thanks."}]}"#;

#[derive(Clone, Copy)]
enum Spelling {
    Plain,
    Other,
}

/// A conversation of about `size` bytes: one user message, then calls and results in turn.
fn conversation(size: usize, spelling: Spelling) -> Vec<u8> {
    let mut out = br#"{"model":"m","max_tokens":1,"system":"You are a careful programmer.","messages":[{"role":"user","content":"Go."}"#.to_vec();
    let mut turn = 0_u32;
    while out.len() < size {
        out.extend_from_slice(br#",{"role":"assistant","content":[{"type":"tool_use","id":"toolu_"#);
        out.extend_from_slice(turn.to_string().as_bytes());
        out.extend_from_slice(br#"","name":"Edit","input":{"path":"src/lib.rs","new_string":"#);
        string(&mut out, &code(turn), spelling);
        out.extend_from_slice(br#"}}]},{"role":"user","content":[{"#);
        let members: &[u8] = match spelling {
            Spelling::Plain => br#""type":"tool_result","tool_use_id":"toolu_x","content":"#,
            Spelling::Other => br#""tool_use_id":"toolu_x","type":"tool_result","content":"#,
        };
        out.extend_from_slice(members);
        string(&mut out, &code(turn + 1), spelling);
        out.extend_from_slice(b"}]}");
        turn += 2;
    }
    out.extend_from_slice(b"]}");
    out
}

/// About 1 KB of source text.
fn code(seed: u32) -> String {
    let mut text = String::new();
    let mut line = seed;
    while text.len() < 900 {
        text.push_str(&format!("\tlet name_{line} = map.get(\"key {line}\")\n\t\t.unwrap_or(\"größe\");\n"));
        line += 1;
    }
    text
}

fn string(out: &mut Vec<u8>, text: &str, spelling: Spelling) {
    let mut quoted = Vec::new();
    write_string(&mut quoted, text);
    match spelling {
        Spelling::Plain => out.extend_from_slice(&quoted),
        Spelling::Other => {
            for character in String::from_utf8_lossy(&quoted).chars() {
                if character.is_ascii() {
                    out.push(character as u8);
                } else {
                    out.extend_from_slice(format!("\\u{:04x}", u32::from(character)).as_bytes());
                }
            }
        }
    }
}
