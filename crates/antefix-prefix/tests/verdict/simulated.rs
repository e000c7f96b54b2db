//! Each way to break a conversation, sent to the simulated provider: the verdict must name it, and what it says was paid
//! for again must be what the simulator billed more than for the unbroken conversation, to the token.

use std::collections::BTreeMap;

use OtherTtl::{Keeps, Misses};
use antefix_models::{
    Collapse, Counts, Lookback, Minimum, Platform, Retention, Rules, Support, Tokens, rules,
};
use antefix_prefix::verdict::{Evidence, Kind, Millis, Observation, Prompt, Verdict, judge, judge_alone};
use antefix_sim::{Billed, Binding, Config, HttpRequest, Latency, OtherTtl, Script, Simulator, Tokenizer};
use antefix_wire::json::{Body, Node};

use crate::conversations::BREAKS;
use crate::dice::Dice;
use crate::request::{Block, In, Message, Request};
use crate::{GONE, grown};

/// What was sent, what it cost, and what the server said of it.
struct Answered {
    body: Body,
    billed: Billed,
    message: String,
    reason: Option<String>,
    betas: String,
}

/// Sends a request that asks what became of the prefix of `previous`; the API's words if it is refused.
fn send(simulator: &mut Simulator, now: u64, json: &str, previous: Option<&str>) -> Result<Answered, String> {
    send_with(simulator, now, json, previous, "")
}

/// The same with a set of beta features.
fn send_with(
    simulator: &mut Simulator,
    now: u64,
    json: &str,
    previous: Option<&str>,
    betas: &str,
) -> Result<Answered, String> {
    let previous = previous.map_or_else(|| "null".to_owned(), |id| format!("\"{id}\""));
    let asked = format!(r#"{{"max_tokens":4000,"diagnostics":{{"previous_message_id":{previous}}},"#);
    // The API takes no other letters in the name of a tool, and no signature but its own.
    let json = json.replacen('{', &asked, 1).replace("查找", "zhao").replace(r#","signature":"c2ln""#, "");
    let json = json.replace(r#""type":"thinking","thinking":"#, r#""type":"redacted_thinking","data":"#);
    let beta = ("anthropic-beta", betas);
    let headers = [("x-api-key", "acme/main/secret"), ("anthropic-version", "2023-06-01"), beta]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let request =
        HttpRequest { method: "POST", path: "/v1/messages", headers: &headers, body: json.as_bytes() };
    let response = simulator.handle(&request, antefix_sim::Millis(now));
    if response.status != 200 {
        return Err(String::from_utf8_lossy(&response.bytes()).into_owned());
    }
    let answer = Body::parse(response.bytes()).unwrap();
    let text = |pointer: &str| answer.root().pointer(pointer).and_then(Node::str).map(|one| one.into_owned());
    Ok(Answered {
        message: text("/id").unwrap(),
        reason: text("/diagnostics/cache_miss_reason/type"),
        billed: simulator.log().last().unwrap().clone(),
        betas: betas.to_owned(),
        body: Body::parse(json).unwrap(),
    })
}

/// The verdict on `later`, by body, usage and the server's reason.
fn verdict(earlier: &Answered, later: &Answered) -> Verdict {
    let prompts = [earlier, later].map(|one| Prompt::read(one.body.root()).unwrap());
    let [old, new] = [(earlier, &prompts[0]), (later, &prompts[1])].map(|(one, prompt)| Observation {
        usage: Some(counts(&one.billed)),
        started_at: Some(Millis(i64::try_from(one.billed.now.0).unwrap())),
        first_byte_at: Some(Millis(i64::try_from(one.billed.now.0 + FIRST_BYTE).unwrap())),
        server_reason: one.reason.clone(),
        betas: Some(one.betas.clone()),
        ..Observation::new(test_rules("model-1")).with_prompt(prompt)
    });
    judge(&old, &new)
}

#[test]
fn each_break_costs_what_the_simulator_billed() {
    let mut seen: BTreeMap<Kind, usize> = BTreeMap::new();
    let (mut wrong, mut disagree) = (Vec::new(), Vec::new());
    for seed in 0..12 {
        for (name, change) in BREAKS {
            let mut dice = Dice::new(seed * 977);
            let (first, whole) = grown(In::Anthropic, &mut dice);
            let mut broken = whole.clone();
            let Some((kind, place)) = change(&mut broken, &mut dice) else { continue };
            let expect = if GONE.contains(&kind) { whole.pointer(place) } else { broken.pointer(place) };
            let mut simulator = simulator();
            let earlier = send(&mut simulator, 0, &first.json(), None).unwrap();
            let mut unbroken = simulator.clone();
            let perfect =
                send(&mut unbroken, 60_000, &whole.json(), Some(&earlier.message)).unwrap().billed.read;
            let Ok(later) = send(&mut simulator, 60_000, &broken.json(), Some(&earlier.message)) else {
                continue;
            };
            let billed_more = perfect.min(later.billed.total()) - later.billed.read;
            let found = verdict(&earlier, &later);
            let said: Vec<_> = found
                .breaks
                .iter()
                .map(|one| (one.kind, one.path.as_str(), one.rewritten, one.exact))
                .collect();
            // What the provider takes as the same costs nothing, and is no break.
            let expect = [(kind, expect.as_str(), Some(Tokens(billed_more)), true)];
            let expect = if billed_more == 0 { &[][..] } else { &expect };
            if said != expect {
                wrong.push(format!("{name}, seed {seed}: {expect:?}: {said:?} {:?}", found.notes));
            }
            if found.breaks.first().is_some_and(|one| one.agrees == Some(false)) {
                disagree.push(format!("{name}, seed {seed}: the server says {:?}", later.reason));
            }
            *seen.entry(kind).or_default() += usize::from(billed_more > 0);
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(disagree.is_empty(), "{} disagree:\n{}", disagree.len(), disagree.join("\n"));
    seen.retain(|_, count| *count > 0);
    assert!(seen.len() >= 28, "kinds that the simulator took: {seen:?}");
}

/// What the clock, the crowd and the markers do: the same bytes grow on, and the loss has another cause.
#[test]
fn losses_without_a_difference_are_named_and_priced() {
    let short: fn(&mut Request) = |_| {};
    let wide: fn(&mut Request) = |later| {
        let blocks = (0..24).map(|at| Block::Text(format!("Note {at}."))).collect();
        later.messages.push(Message { role: "assistant", blocks: vec![Block::Text("Yes.".into())] });
        later.messages.push(Message { role: "user", blocks });
    };
    for (now, grow, kind) in [
        (299_999, short, None),
        (300_000, short, Some(Kind::TtlExpired)),
        (FIRST_BYTE, short, None),
        (FIRST_BYTE - 1, short, Some(Kind::ColdFanout)),
        (60_000, wide, Some(Kind::Lookback)),
    ] {
        for seed in 0..8 {
            let mut dice = Dice::new(seed);
            let first = Request::random(In::Anthropic, &mut dice);
            let mut later = first.clone();
            grow(&mut later);
            if kind != Some(Kind::Lookback) {
                later.messages.push(Message { role: "assistant", blocks: vec![Block::Text("Yes.".into())] });
                later.messages.push(Message { role: "user", blocks: vec![Block::Text("And?".into())] });
            }
            let mut simulator = simulator();
            let earlier = send(&mut simulator, 0, &first.json(), None).unwrap();
            let later = send(&mut simulator, now, &later.json(), None).unwrap();
            let found = verdict(&earlier, &later);
            let said: Vec<_> = found.faults.iter().map(|one| (one.kind, one.rewritten, one.exact)).collect();
            let cached = earlier.billed.read + earlier.billed.write_5m;
            let lost = Tokens(cached - later.billed.read);
            let expect: Vec<_> = kind.map(|kind| (kind, Some(lost), true)).into_iter().collect();
            assert_eq!(said, expect, "seed {seed}, at {now}: {:?}", found.breaks);
            assert!(found.breaks.is_empty() && kind.is_some() == (lost.0 > 0), "seed {seed}, at {now}");
        }
    }
}

/// What a case is called, what markers do with entries of the other lifetime, when the second request is sent, the beta
/// features and the markers of both, and what is found.
type Beside = (&'static str, OtherTtl, u64, [&'static str; 2], [fn(&str) -> String; 2], Option<Kind>);

const BESIDE: [Beside; 9] = [
    ("other beta features", Keeps, 60_000, ["tides-1", "tides-2"], [short, short], Some(Kind::ParamsBetas)),
    (
        "a beta feature more",
        Keeps,
        60_000,
        ["tides-1", "moon-1,tides-1"],
        [short, short],
        Some(Kind::ParamsBetas),
    ),
    ("the same beta features", Keeps, 60_000, ["tides-1", "tides-1"], [short, short], None),
    (
        "an hour became five minutes, still read",
        Keeps,
        60_000,
        [""; 2],
        [hour, short],
        Some(Kind::TtlDowngraded),
    ),
    (
        "an hour became five minutes, not seen",
        Misses,
        60_000,
        [""; 2],
        [hour, short],
        Some(Kind::TtlDowngraded),
    ),
    ("an hour is not over", Keeps, 3_599_999, [""; 2], [hour, hour], None),
    ("an hour is over", Keeps, 3_600_000, [""; 2], [hour, hour], Some(Kind::TtlExpired)),
    ("nothing is over", Keeps, 299_999, [""; 2], [hour_for_the_head, hour_for_the_head], None),
    (
        "the end is over",
        Keeps,
        300_000,
        [""; 2],
        [hour_for_the_head, hour_for_the_head],
        Some(Kind::TtlMixed),
    ),
];

/// Lifetimes and beta features: nothing that is said differs, and what is found costs what was billed.
#[test]
fn what_stands_beside_the_prompt_is_named_and_priced() {
    for (name, other_ttl, now, betas, markers, kind) in BESIDE {
        for seed in 0..4 {
            let (first, later) = grown(In::Anthropic, &mut Dice::new(seed));
            let mut simulator = simulator_with(other_ttl);
            let earlier = send_with(&mut simulator, 0, &markers[0](&first.json()), None, betas[0]).unwrap();
            let later = markers[1](&later.json());
            let later = send_with(&mut simulator, now, &later, Some(&earlier.message), betas[1]).unwrap();
            let found = verdict(&earlier, &later);
            let said: Vec<_> = found.faults.iter().map(|one| (one.kind, one.rewritten, one.exact)).collect();
            let cached = earlier.billed.read + earlier.billed.write_5m + earlier.billed.write_1h;
            let lost = (cached - later.billed.read > 0).then(|| Tokens(cached - later.billed.read));
            let expect: Vec<_> = kind.map(|kind| (kind, lost, lost.is_some())).into_iter().collect();
            assert_eq!(said, expect, "{name}, seed {seed}: {:?}", found.breaks);
            assert!(found.breaks.is_empty() && (kind.is_some() || lost.is_none()), "{name}, seed {seed}");
            let is_still_read = name.ends_with("still read");
            assert_eq!(lost.is_some(), kind.is_some() && !is_still_read, "{name}, seed {seed}");
            assert!(found.faults.iter().all(|one| one.agrees != Some(false)), "{name}: {:?}", later.reason);
        }
    }
}

/// The newest message ends with a reminder that carries the marker, and the next request has no such reminder.
#[test]
fn a_marker_on_a_reminder_costs_what_was_billed() {
    for seed in 0..8 {
        let mut dice = Dice::new(seed);
        let mut first = Request::random(In::Anthropic, &mut dice);
        let mut later = first.clone();
        later.go_on(&mut dice);
        let reminder = Block::Text("<system-reminder>The log is open.</system-reminder>".into());
        first.messages.last_mut().unwrap().blocks.push(reminder);
        let mut simulator = simulator();
        let earlier = send(&mut simulator, 0, &first.json(), None).unwrap();
        let later = send(&mut simulator, 60_000, &later.json(), Some(&earlier.message)).unwrap();
        let found = verdict(&earlier, &later);
        let said: Vec<_> = found.faults.iter().map(|one| (one.kind, one.rewritten, one.exact)).collect();
        let lost = earlier.billed.read + earlier.billed.write_5m - later.billed.read;
        assert_eq!(said, [(Kind::Transient, Some(Tokens(lost)), true)], "seed {seed}: {:?}", found.breaks);
        assert!(found.breaks.is_empty() && lost > 0, "seed {seed}");
    }
}

/// A request that is marked nowhere, and one that is too short, are billed without the cache.
#[test]
fn what_was_never_cached_is_named() {
    let tiny = |text: &str| {
        let block = format!(r#"{{"type":"text","text":"{text}","cache_control":{{"type":"ephemeral"}}}}"#);
        format!(r#"{{"model":"model-1","messages":[{{"role":"user","content":[{block}]}}]}}"#)
    };
    let marked = Request::random(In::Anthropic, &mut Dice::new(1));
    let mut unmarked = marked.clone();
    unmarked.marked = false;
    for (json, kind, minimum) in [
        (unmarked.json(), Some(Kind::NoBreakpoint), None),
        (marked.json(), None, None),
        (tiny("How high?"), Some(Kind::BelowMinimum), Some(100_u64)),
        (tiny(&"How high is it? ".repeat(9)), None, None),
    ] {
        let answered = send(&mut simulator(), 0, &json, None).unwrap();
        let prompt = Prompt::read(answered.body.root()).unwrap();
        let usage = Some(counts(&answered.billed));
        let seen = Observation { usage, ..Observation::new(test_rules("model-1")).with_prompt(&prompt) };
        let found: Vec<_> = judge_alone(&seen).into_iter().map(|one| (one.kind, one.evidence)).collect();
        let expect: Vec<_> = kind
            .map(|kind| {
                let mut evidence = Evidence::default();
                evidence.note("input_tokens", answered.billed.total());
                if let Some(minimum) = minimum {
                    evidence.note("minimum", minimum);
                }
                (kind, evidence)
            })
            .into_iter()
            .collect();
        assert_eq!(found, expect, "{json}");
        assert_eq!(kind.is_some(), answered.billed.uncached == answered.billed.total(), "{json}");
    }
}

fn short(json: &str) -> String {
    json.to_owned()
}

fn hour(json: &str) -> String {
    json.replace(SHORT, LONG)
}

/// The first marker stands behind the system prompt.
fn hour_for_the_head(json: &str) -> String {
    json.replacen(SHORT, LONG, 1)
}

const SHORT: &str = r#"{"type":"ephemeral"}"#;
const LONG: &str = r#"{"type":"ephemeral","ttl":"1h"}"#;

fn simulator() -> Simulator {
    simulator_with(Keeps)
}

fn simulator_with(other_ttl: OtherTtl) -> Simulator {
    let config = Config {
        rules: ["model-1", "model-2"].map(|model| (model.to_owned(), test_rules(model))).into(),
        tokenizer: Tokenizer::Bytes(1),
        binding: Binding::Never,
        other_ttl,
        latency: Latency {
            first_byte: antefix_sim::Millis(FIRST_BYTE),
            per_1k_uncached: antefix_sim::Millis(0),
            tokens_per_second: 0,
        },
        ..Config::default()
    };
    Simulator::new(config, Script::parse("rule\n  text ok\n").unwrap())
}

fn test_rules(model: &str) -> Rules {
    let mut rules = rules(Platform::Anthropic, model);
    rules.minimum = Minimum { below: Tokens(90), sure: Tokens(110), stated: Tokens(100) };
    rules.lookback = Lookback { positions: 20, collapse_runs: Collapse::Yes };
    rules.in_band_system = Support::Yes;
    rules.thinking_retention = Retention::AllTurns;
    rules.diagnostics = Support::Yes;
    rules.context_window = Tokens(2_000_000);
    rules.max_output = Tokens(10_000);
    rules
}

fn counts(billed: &Billed) -> Counts {
    Counts {
        uncached: Tokens(billed.uncached),
        read: Tokens(billed.read),
        write_5m: Tokens(billed.write_5m),
        write_1h: Tokens(billed.write_1h),
        output: Tokens::ZERO,
    }
}

/// Milliseconds from a request to the first byte of its answer.
const FIRST_BYTE: u64 = 800;
