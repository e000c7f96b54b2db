//! Times the scan of a request body, or repeats it for an instruction counter.
//!
//! `scan_speed` prints the speed of [`Body::parse`], UTF-8 validation included, over several texts of about
//! 1 MB. `scan_speed N` scans the first of them N times and reads no clock, for use under callgrind.
#![allow(clippy::expect_used, reason = "the texts are made to be valid JSON")]

use std::hint::black_box;
use std::time::Duration;

use antefix_wire::json::{Body, write_string};

fn main() {
    match std::env::args().nth(1).and_then(|count| count.parse().ok()) {
        Some(count) => count_scans(count),
        None => report_all(),
    }
}

fn count_scans(count: usize) {
    let text = agent_body(CODE);
    for _ in 0..count {
        let body = Body::parse(text.clone()).expect("the text is JSON");
        black_box(body.span_count());
    }
}

fn report_all() {
    report("agent body, code with an escape about every 30 bytes", &agent_body(CODE));
    report("agent body, code with an escape about every 13 bytes", &agent_body(DENSE_CODE));
    report("agent body, prose with few escapes", &agent_body(PROSE));
    report("agent body, text beyond ASCII", &agent_body(BEYOND_ASCII));
    report("records of short keys and numbers", &records());
}

fn report(name: &str, text: &[u8]) {
    let mut times: Vec<Duration> = (0..ROUNDS).map(|_| time(text.to_vec())).collect();
    times.sort_unstable();
    let speed = |time: Duration| text.len() as f64 / time.as_secs_f64() / 1e9;
    println!(
        "{name}: median {:.2} GB/s, best {:.2} GB/s ({} bytes, {} rounds)",
        speed(times[ROUNDS / 2]),
        speed(times[0]),
        text.len(),
        ROUNDS
    );
}

#[allow(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn time(text: Vec<u8>) -> Duration {
    let start = std::time::Instant::now();
    let body = Body::parse(text).expect("the text is JSON");
    let took = start.elapsed();
    black_box(body.span_count());
    took
}

/// A request whose tool calls and results carry blocks of about 1 KB made of `lines`.
fn agent_body(lines: &[&str]) -> Vec<u8> {
    let mut body = br#"{"model":"claude-opus-5-5","max_tokens":32000,"stream":true,"messages":["#.to_vec();
    let mut line = 0;
    for turn in 0.. {
        let mut text = String::new();
        while text.len() < 1000 {
            text.push_str(lines[line % lines.len()]);
            text.push('\n');
            line += 1;
        }
        let call = format!(
            r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"toolu_{turn:06}","name":"read","input":{{"path":"src/part_{turn}.rs","offset":{line}}}}}]}},"#
        );
        body.extend_from_slice(call.as_bytes());
        let result = format!(
            r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"toolu_{turn:06}","content":"#
        );
        body.extend_from_slice(result.as_bytes());
        write_string(&mut body, &text);
        body.extend_from_slice(b"}]}");
        if body.len() > SIZE {
            break;
        }
        body.push(b',');
    }
    body.extend_from_slice(b"]}");
    body
}

fn records() -> Vec<u8> {
    let mut body = b"[".to_vec();
    for row in 0.. {
        body.extend_from_slice(format!(r#"{{"id":{row},"x":-1.5e3,"ok":true,"name":"n{row}"}}"#).as_bytes());
        if body.len() > SIZE {
            break;
        }
        body.push(b',');
    }
    body.push(b']');
    body
}

const SIZE: usize = 1 << 20;
const ROUNDS: usize = 201;

const CODE: &[&str] = &[
    "    let name = \"the tide table of the outer harbour pier\";",
    "    if name.is_empty() || rows.is_empty() { return None; }",
    "    println!(\"{name} of {harbour}: {}\", total);",
    "    for (index, row) in rows.iter().enumerate() {",
    "        heights.insert(index, row.value().min(limit));",
    "    }",
    "    // The second column holds heights, in centimetres above datum.",
    "    let height = row.get(\"height\").copied().unwrap_or_default();",
];

const DENSE_CODE: &[&str] = &[
    "    let name = \"tide table\";",
    "\tif name.is_empty() { return None; }",
    "    println!(\"{name}: {}\", total);",
    "        map.insert(\"key\", row.value());",
    "    }",
    "    let height = row.get(\"height\")?;",
];

const PROSE: &[&str] = &[
    "The harbour keeps two gauges, one at the outer pier and one in the basin behind the lock gates. Both are \
     read every six minutes, and the difference between them tells how long the gates have been shut.",
    "A reading that jumps by more than the height of a wave is dropped and taken again a minute later.",
];

const BEYOND_ASCII: &[&str] = &[
    "Der Pegel fällt über Nacht um zwölf Zentimeter, während draußen kräftiger Südwestwind bläst.",
    "港の水位は夜のうちに十二センチ下がり、外では強い南西の風が吹いている。",
];
