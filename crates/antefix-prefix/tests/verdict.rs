//! Verdicts over requests that are made by a rule: thousands of conversations, each broken in one known way or not
//! at all. The seed is printed on failure.

#![allow(clippy::unwrap_used)] // Made requests have what is looked for in them, or the test fails.

#[path = "verdict/apart.rs"]
mod apart;
#[path = "verdict/clients.rs"]
mod clients;
#[path = "verdict/conversations.rs"]
mod conversations;
#[path = "verdict/dice.rs"]
mod dice;
#[path = "verdict/every_kind.rs"]
mod every_kind;
#[path = "verdict/kinds.rs"]
mod kinds;
#[path = "verdict/request.rs"]
mod request;
#[path = "verdict/simulated.rs"]
mod simulated;

use antefix_models::{Platform, rules};
use antefix_prefix::verdict::{Kind, Observation, Prompt, Verdict, judge, lineages};
use antefix_wire::json::Body;
use conversations::{BREAKS, CLEAN};
use dice::Dice;
use request::{DIALECTS, In, Request};

fn verdict(earlier: &str, later: &str) -> Verdict {
    let bodies = [earlier, later].map(|text| Body::parse(text.as_bytes()).unwrap());
    let prompts: Vec<Prompt<'_>> = bodies.iter().map(|body| Prompt::read(body.root()).unwrap()).collect();
    let observe =
        |prompt| Observation::new(rules(Platform::Anthropic, "claude-sonnet-5")).with_prompt(prompt);
    let observations: Vec<_> = prompts.iter().map(observe).collect();
    match lineages(&observations).parents[1] {
        Some(_) => judge(&observations[0], &observations[1]),
        None => Verdict::default(),
    }
}

/// The kinds whose place is in the earlier request, since the node is gone from the later one.
const GONE: [Kind; 3] = [Kind::ThinkingDropped, Kind::Removed, Kind::ToolsRemoved];

/// A conversation, and what it grew into.
fn grown(dialect: In, dice: &mut Dice) -> (Request, Request) {
    let earlier = Request::random(dialect, dice);
    let mut later = earlier.clone();
    later.go_on(dice);
    (earlier, later)
}

#[test]
fn each_way_to_break_is_named_and_placed() {
    let (mut seen, mut wrong) = (0, Vec::new());
    for seed in 0..rounds(24) {
        for (index, dialect) in DIALECTS.into_iter().enumerate() {
            for (name, change) in BREAKS {
                let mut dice = Dice::new(seed * 1000 + seen + index as u64);
                let (earlier, whole) = grown(dialect, &mut dice);
                let mut later = whole.clone();
                let Some((kind, place)) = change(&mut later, &mut dice) else { continue };
                let expect = if GONE.contains(&kind) { whole.pointer(place) } else { later.pointer(place) };
                let found = verdict(&earlier.json(), &later.json());
                let said: Vec<_> =
                    found.breaks.iter().map(|finding| (finding.kind, finding.path.as_str())).collect();
                if said != [(kind, expect.as_str())] {
                    wrong.push(format!(
                        "{name} in {dialect:?}, seed {seed}: expected {} at {expect}: {said:?} {:?}",
                        kind.id(),
                        found.notes
                    ));
                }
                seen += 1;
            }
        }
    }
    let shown = wrong.iter().take(12).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} of {seen}:\n{shown}", wrong.len());
    assert!(seen >= 2000, "{seen} variants");
}

#[test]
fn of_two_breaks_both_are_named_in_reading_order() {
    let mut seen = 0;
    for seed in 0..rounds(6) {
        for dialect in DIALECTS {
            for (at, (name, change)) in BREAKS.iter().enumerate() {
                for (other_name, other) in BREAKS.iter().skip(at + 1).step_by(7) {
                    let mut dice = Dice::new(seed * 7919 + at as u64);
                    let (earlier, mut later) = grown(dialect, &mut dice);
                    let (mut one, mut two) = (later.clone(), later.clone());
                    let (Some(left), Some(right)) =
                        (change(&mut one, &mut dice.clone()), other(&mut two, &mut dice.clone()))
                    else {
                        continue;
                    };
                    // Only changes in different parts of the request are independent of each other.
                    if left.0.row().segment == right.0.row().segment {
                        continue;
                    }
                    change(&mut later, &mut dice.clone());
                    other(&mut later, &mut dice);
                    let found = verdict(&earlier.json(), &later.json());
                    let mut kinds: Vec<Kind> = found.breaks.iter().map(|finding| finding.kind).collect();
                    let case = format!("{name} and {other_name} in {dialect:?}, seed {seed}: {kinds:?}");
                    kinds.sort_unstable();
                    let mut expect = [left.0, right.0];
                    expect.sort_unstable();
                    assert_eq!(kinds, expect, "{case}");
                    seen += 1;
                }
            }
        }
    }
    assert!(seen >= 500, "{seen} pairs");
}

#[test]
fn what_only_extends_is_no_break() {
    let mut seen = 0;
    for seed in 0..rounds(20) {
        for dialect in DIALECTS {
            for (name, change) in CLEAN {
                let mut dice = Dice::new(seed * 31 + seen);
                let earlier = Request::random(dialect, &mut dice);
                let mut later = earlier.clone();
                let Some((left, right)) = change(&earlier, &mut later, &mut dice) else { continue };
                let found = verdict(&left, &right);
                assert!(
                    found.breaks.is_empty() && found.faults.is_empty(),
                    "{name} in {dialect:?}, seed {seed}:\n{left}\n{right}\n{found:?}"
                );
                seen += 1;
            }
        }
    }
    assert!(seen >= 500, "{seen} pairs");
}

/// Rounds of a test; `ANTEFIX_VERDICT_ROUNDS` multiplies them.
#[allow(clippy::disallowed_methods, reason = "a long run is asked for by the environment, in tests only")]
fn rounds(usual: u64) -> u64 {
    let times = std::env::var("ANTEFIX_VERDICT_ROUNDS").ok().and_then(|text| text.parse().ok());
    usual * times.unwrap_or(1)
}

#[test]
fn interleaved_conversations_are_kept_apart() {
    for seed in 0..60 {
        let mut dice = Dice::new(seed);
        let main = Request::random(DIALECTS[seed as usize % 4], &mut dice);
        let mut lanes = vec![main.clone()];
        for _ in 0..2 {
            let mut sub = main.clone();
            sub.start_anew(&mut dice);
            lanes.push(sub);
        }
        let mut sent: Vec<(usize, String)> = Vec::new();
        for _ in 0..12 {
            let lane = dice.below(lanes.len());
            sent.push((lane, lanes[lane].json()));
            lanes[lane].go_on(&mut dice);
        }
        let bodies: Vec<Body> = sent.iter().map(|(_, text)| Body::parse(text.as_bytes()).unwrap()).collect();
        let prompts: Vec<Prompt<'_>> = bodies.iter().map(|body| Prompt::read(body.root()).unwrap()).collect();
        let observe =
            |prompt| Observation::new(rules(Platform::Anthropic, "claude-sonnet-5")).with_prompt(prompt);
        let observations: Vec<_> = prompts.iter().map(observe).collect();
        let found = lineages(&observations);
        for (index, parent) in found.parents.iter().enumerate() {
            let expect = sent[..index].iter().rposition(|(lane, _)| *lane == sent[index].0);
            assert_eq!(*parent, expect, "seed {seed}, request {index}");
            if let Some(parent) = *parent {
                let verdict = judge(&observations[parent], &observations[index]);
                assert!(verdict.breaks.is_empty(), "seed {seed}, request {index}: {verdict:?}");
            }
        }
    }
}

/// The page is what the table says.
#[test]
fn the_page_of_kinds_is_generated() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/breaks.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let same = page == antefix_prefix::verdict::breaks_table();
    assert!(same, "stale: cargo run -p antefix-prefix --example breaks_table > docs/breaks.md");
    for kind in Kind::ALL {
        assert!(!kind.row().sources.is_empty() && !kind.row().causes.is_empty(), "{}", kind.id());
    }
}
