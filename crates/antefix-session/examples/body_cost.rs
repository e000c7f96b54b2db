//! Builds a body of 2 MB in a session of 200 steps and prints what composing and hashing each request takes.

#![allow(clippy::disallowed_methods, clippy::expect_used)]

use std::time::{Duration, Instant};

use antefix_models::{Platform, Ttl, rules};
use antefix_session::closure::text_block;
use antefix_session::conversation::Conversation;
use antefix_session::dialect::Dialect;
use antefix_session::event::{Command, Event, ResponseEnd, ResponseFacts, Returned};
use antefix_session::machine::{Session, Settings};
use antefix_session::placement::Placement;
use antefix_session::record::{AttemptId, Entry, Header, LaneRecord, Millis};
use antefix_wire::anthropic::BlockKind;
use antefix_wire::assemble::{Assembled, AssembledBlock};
use bytes::Bytes;

const STEPS: u64 = 200;
const STEP_BYTES: usize = 10_000;
const MODEL: &str = "claude-sonnet-4-6";

fn main() {
    let mut session = Session::new(
        Conversation::new(Header { session: "s".to_owned(), ..header() }),
        rules(Platform::Anthropic, MODEL),
        Settings::default(),
    );
    let mut entries = appended(&session.open_lane(lane(), Millis(1)).expect("the head is a request's"));
    let mut commands =
        step(&mut session, Event::Prompt { blocks: vec![text_block("Do it.")], context: Vec::new() }).1;
    entries.extend(appended(&commands));
    let mut taken = Vec::new();
    let mut body = 0;
    for number in 1..=STEPS {
        let attempt = sent(&commands).expect("a request is made").0;
        entries.extend(appended(&step(&mut session, Event::Response { attempt, end: call(number) }).1));
        let output =
            Returned { content: vec![text_block(&text(number))], is_error: false, facts: Bytes::from("[]") };
        let (time, next) = step(&mut session, Event::Returned { call: format!("toolu_{number}"), output });
        taken.push(time);
        body = sent(&next).expect("a request is made").1;
        entries.extend(appended(&next));
        commands = next;
    }
    let start = Instant::now();
    let mut cold = Conversation::new(header());
    for entry in &entries {
        cold.apply(entry).expect("the record fits");
    }
    let replayed = start.elapsed();
    let start = Instant::now();
    let cold = cold.compose(&[]).expect("there is a lane");
    let composed = start.elapsed();
    let start = Instant::now();
    let whole = blake3::hash(&vec![b'x'; body as usize]);
    let once = start.elapsed();
    let (first, last) = (mean(&taken[..20]), mean(&taken[taken.len() - 20..]));
    println!("body of {body} bytes after {STEPS} steps of {STEP_BYTES} bytes");
    println!("{} µs per step in steps 1 to 20", first.as_micros());
    println!("{} µs per step in the last 20: freeze, scan, plan, compose and hash", last.as_micros());
    println!(
        "{} µs to compose and hash all {} bytes in a new process, which took {} µs to apply {} records",
        composed.as_micros(),
        cold.len,
        replayed.as_micros(),
        entries.len()
    );
    println!("{} µs to hash the whole body once, for comparison ({})", once.as_micros(), whole.to_hex());
}

fn step(session: &mut Session, event: Event) -> (Duration, Vec<Command>) {
    let start = Instant::now();
    let commands = session.step(event, Millis(2)).expect("the event fits");
    (start.elapsed(), commands)
}

fn sent(commands: &[Command]) -> Option<(AttemptId, u64)> {
    commands.iter().find_map(|command| match command {
        Command::Send { attempt, body } => Some((*attempt, body.len)),
        _ => None,
    })
}

fn appended(commands: &[Command]) -> Vec<Entry> {
    let entries = commands.iter().filter_map(|command| match command {
        Command::Append { entries, .. } => Some(entries.clone()),
        _ => None,
    });
    entries.flatten().collect()
}

fn mean(times: &[Duration]) -> Duration {
    times.iter().sum::<Duration>() / times.len() as u32
}

/// Text as a file has it: lines, quotes, some escapes.
fn text(number: u64) -> String {
    let line = format!("    let value_{number} = \"text\"; // a line of some file\n");
    line.repeat(STEP_BYTES / line.len())
}

fn call(number: u64) -> ResponseEnd {
    let json = format!(
        r#"{{"type":"tool_use","id":"toolu_{number}","name":"read","input":{{"path":"src/file_{number}.rs"}}}}"#
    );
    let block = AssembledBlock {
        json: json.into_bytes(),
        kind: BlockKind::ToolUse,
        complete: true,
        broken_input: None,
        unknown_deltas: 0,
    };
    let usage = r#"{"input_tokens":3,"cache_read_input_tokens":2000,"cache_creation_input_tokens":900}"#;
    let message = Assembled {
        blocks: vec![block],
        stop_reason: Some("tool_use".to_owned()),
        usage_json: Some(usage.as_bytes().to_vec()),
        complete: true,
        ..Assembled::default()
    };
    let response = ResponseFacts { status: 200, ..ResponseFacts::default() };
    ResponseEnd::Message { message: Box::new(message), response, cut: None }
}

fn header() -> Header {
    Header {
        session: String::new(),
        cwd: "/".to_owned(),
        created: Millis(1),
        build: "0".to_owned(),
        forked_from: None,
        spawned_by: None,
    }
}

fn lane() -> LaneRecord {
    let system = [b"[", &text_block(&"Work carefully. ".repeat(400))[..], b"]"].concat();
    LaneRecord {
        dialect: Dialect::Anthropic,
        keeps_reasoning: false,
        reminders: Placement::of_dialect(Dialect::Anthropic),
        baseline: Vec::new(),
        platform: Platform::Anthropic,
        model: MODEL.to_owned(),
        scope: "0".to_owned(),
        betas: Vec::new(),
        envelope: Bytes::from(format!(r#"{{"model":"{MODEL}","max_tokens":4000,"stream":true}}"#)),
        tools: Bytes::from(r#"[{"name":"read","input_schema":{"type":"object"}}]"#),
        system: system.into(),
        static_blocks: 1,
        cache: Some(Ttl::FiveMinutes),
        contract: 1,
    }
}
