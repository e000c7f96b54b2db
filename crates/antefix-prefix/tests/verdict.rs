//! Verdicts over requests that are made by a rule: thousands of conversations, each broken in one known way or not
//! at all. The seed is printed on failure.

#![allow(clippy::unwrap_used)] // Made requests have what is looked for in them, or the test fails.

#[path = "verdict/conversations.rs"]
mod conversations;
#[path = "verdict/every_kind.rs"]
mod every_kind;
#[path = "verdict/kinds.rs"]
mod kinds;

use antefix_models::{Platform, rules};
use antefix_prefix::verdict::{Kind, Observation, Prompt, Verdict, judge, lineages};
use antefix_wire::json::Body;
use conversations::{BREAKS, CLEAN, Dice, Request};

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

#[test]
fn each_way_to_break_is_named_and_placed() {
    let mut seen = 0;
    for seed in 0..100 {
        for (name, change) in BREAKS {
            let mut dice = Dice::new(seed * 1000 + seen);
            let earlier = Request::random(&mut dice);
            let mut later = earlier.clone();
            later.go_on(&mut dice);
            let Some(expect) = change(&mut later, &mut dice) else { continue };
            let (left, right) = (earlier.json(), later.json());
            let found = verdict(&left, &right);
            let first = found.breaks.first().map(|finding| (finding.kind, finding.path.as_str()));
            assert_eq!(
                first,
                Some((expect.0, expect.1.as_str())),
                "{name}, seed {seed}:\n{left}\n{right}\n{found:?}"
            );
            assert_eq!(
                found.breaks.len(),
                1,
                "{name}, seed {seed}: one change is one finding\n{left}\n{right}\n{found:?}"
            );
            seen += 1;
        }
    }
    assert!(seen >= 2000, "{seen} variants");
}

#[test]
fn of_two_breaks_both_are_named_in_reading_order() {
    let mut seen = 0;
    for seed in 0..40 {
        for (at, (name, change)) in BREAKS.iter().enumerate() {
            for (other_name, other) in BREAKS.iter().skip(at + 1).step_by(7) {
                let mut dice = Dice::new(seed * 7919 + at as u64);
                let earlier = Request::random(&mut dice);
                let mut later = earlier.clone();
                later.go_on(&mut dice);
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
                let kinds: Vec<Kind> = found.breaks.iter().map(|finding| finding.kind).collect();
                let case = format!("{name} and {other_name}, seed {seed}: {kinds:?}");
                assert!(kinds.contains(&left.0) && kinds.contains(&right.0), "{case}");
                assert_eq!(kinds.len(), 2, "{case}");
                assert!(
                    kinds[0].row().segment < kinds[1].row().segment || kinds[0].id().starts_with("params"),
                    "{case}"
                );
                seen += 1;
            }
        }
    }
    assert!(seen >= 500, "{seen} pairs");
}

#[test]
fn what_only_extends_is_no_break() {
    let mut seen = 0;
    for seed in 0..80 {
        for (name, change) in CLEAN {
            let mut dice = Dice::new(seed * 31 + seen);
            let earlier = Request::random(&mut dice);
            let mut later = earlier.clone();
            let (left, right) = change(&earlier, &mut later, &mut dice);
            let found = verdict(&left, &right);
            assert!(
                found.breaks.is_empty() && found.faults.is_empty(),
                "{name}, seed {seed}:\n{left}\n{right}\n{found:?}"
            );
            seen += 1;
        }
    }
    assert!(seen >= 500, "{seen} pairs");
}

#[test]
fn interleaved_conversations_are_kept_apart() {
    for seed in 0..60 {
        let mut dice = Dice::new(seed);
        let main = Request::random(&mut dice);
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
