//! Prints how long a verdict takes on a request of about 1 MB against the one it extends, and against one that was
//! changed near its start. Wall time, for reading only. With `extends N` or `changed N` it judges that one N times,
//! for counting instructions.

#![expect(clippy::expect_used, reason = "the bodies are made here")]

use std::time::Duration;

use antefix_models::{Platform, rules};
use antefix_prefix::verdict::{Observation, Prompt, judge};
use antefix_wire::json::Body;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [which, times] = arguments.as_slice() {
        return judge_often(which, times.parse().expect("a number of times"));
    }
    let earlier = body(1500, "as it was");
    for (name, later) in
        [("extends", body(1504, "as it was")), ("changed at the start", body(1504, "as it is"))]
    {
        let bodies = [earlier.clone(), later].map(|text| Body::parse(text).expect("made to be JSON"));
        let old = Prompt::read(bodies[0].root()).expect("made to be a request");
        let mut best = Duration::MAX;
        let mut found = 0;
        for _ in 0..50 {
            let start = now();
            let new = Prompt::read(bodies[1].root()).expect("made to be a request");
            found = judge(&observe(&old), &observe(&new)).breaks.len();
            best = best.min(start.elapsed());
        }
        println!(
            "{name}: {} bytes, {found} breaks, {best:?} (reading the view included)",
            bodies[1].bytes().len()
        );
    }
}

fn judge_often(which: &str, times: usize) {
    let later = if which == "extends" { "as it was" } else { "as it is" };
    let bodies = [body(1500, "as it was"), body(1504, later)];
    let bodies = bodies.map(|text| Body::parse(text).expect("made to be JSON"));
    let old = Prompt::read(bodies[0].root()).expect("made to be a request");
    for _ in 0..times {
        let new = Prompt::read(bodies[1].root()).expect("made to be a request");
        std::hint::black_box(judge(&observe(&old), &observe(&new)));
    }
}

#[allow(clippy::disallowed_methods)] // This example measures.
fn now() -> std::time::Instant {
    std::time::Instant::now()
}

fn observe<'a>(prompt: &'a Prompt<'a>) -> Observation<'a> {
    Observation::new(rules(Platform::Anthropic, "claude-sonnet-5")).with_prompt(prompt)
}

fn body(messages: usize, first: &str) -> String {
    let message = |index: usize| {
        let role = if index.is_multiple_of(2) { "user" } else { "assistant" };
        let text =
            if index == 2 { first.to_owned() } else { format!("{index} {}", "line of text\\n".repeat(46)) };
        format!(r#"{{"role":"{role}","content":[{{"type":"text","text":"{text}"}}]}}"#)
    };
    let all: Vec<_> = (0..messages).map(message).collect();
    format!(r#"{{"model":"claude-sonnet-5","system":"Be brief.","messages":[{}]}}"#, all.join(","))
}
