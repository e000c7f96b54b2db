//! How long a large request takes: 1,000 blocks, 2 MB, first cold, then read from the cache.
//! Run with `--release`; for reading, not a test.

use std::time::Duration;

use antefix_sim::{Config, HttpRequest, Millis, Script, Simulator};

fn main() {
    let headers = [("x-api-key", "acme/main/secret"), ("anthropic-version", "2023-06-01")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let body = body(1_000, 2_000);
    let mut simulator = Simulator::new(Config::default(), Script::default_script());
    for round in 0..6 {
        let request =
            HttpRequest { method: "POST", path: "/v1/messages", headers: &headers, body: body.as_bytes() };
        let (response, took) = timed(|| simulator.handle(&request, Millis(round * 1_000)));
        let read = simulator.log().last().map_or(0, |billed| billed.read);
        println!("{} bytes: status {}, {read} tokens read, {took:?}", body.len(), response.status);
    }
}

#[expect(clippy::disallowed_methods, reason = "a stopwatch for people")]
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = std::time::Instant::now();
    let result = work();
    (result, start.elapsed())
}

fn body(blocks: usize, size: usize) -> String {
    let text = "lorem \\\"ipsum\\\" dolor\\n".repeat(size / 24);
    let pairs: Vec<String> = (0..blocks / 2)
        .map(|pair| {
            format!(
                "{{\"role\":\"user\",\"content\":\"{pair} {text}\"}},{{\"role\":\"assistant\",\"content\":\"{pair} {text}\"}}"
            )
        })
        .collect();
    format!(
        "{{\"model\":\"claude-opus-5-5\",\"max_tokens\":100,\"cache_control\":{{\"type\":\"ephemeral\"}},\"messages\":[{},\
         {{\"role\":\"user\",\"content\":\"go on\"}}]}}",
        pairs.join(",")
    )
}
