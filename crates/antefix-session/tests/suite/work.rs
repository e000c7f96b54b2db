//! What a step costs grows with what is new, not with what was said before.

use antefix_session::closure::text_block;
use antefix_session::conversation::Work;
use antefix_session::dialect::Dialect;
use antefix_session::event::Event;
use antefix_session::line::{Chain, seal_into};
use antefix_session::record::Entry;

use crate::reply::End;
use crate::stage::{Setup, Stage, header};

/// One step of a uniform conversation: a call returns `size` bytes, the next request leaves, a call comes back.
fn step(stage: &mut Stage, size: usize) {
    let text = "x".repeat(size);
    stage.give(0, &text, false);
    stage.end(End::Calls(1));
}

fn begun(setup: Setup) -> Stage {
    let mut stage = Stage::new(setup);
    stage.without_provider();
    stage.prompt("Do it.");
    stage.end(End::Calls(1));
    stage
}

fn since(later: Work, earlier: Work) -> [u64; 4] {
    [
        later.scanned - earlier.scanned,
        later.hashed - earlier.hashed,
        later.rendered - earlier.rendered,
        later.copied - earlier.copied,
    ]
}

#[test]
fn a_step_costs_what_is_new() {
    const SIZE: usize = 3_000;
    let markers = Setup::default().cache;
    for (dialect, cache) in
        [(Dialect::Anthropic, None), (Dialect::Anthropic, markers), (Dialect::OpenAiChat, None)]
    {
        let mut stage = begun(Setup { dialect, cache, ..Setup::default() });
        let mut costs = Vec::new();
        for number in 1..=1_016 {
            let before = stage.session.conversation().work();
            step(&mut stage, SIZE);
            costs.push((number, since(stage.session.conversation().work(), before)));
        }
        // A window of steps, since bytes are merged into chunks every few steps.
        let around = |at: usize| -> [u64; 4] {
            let mut sum = [0; 4];
            for (_, cost) in &costs[at..at + 16] {
                sum.iter_mut().zip(cost).for_each(|(sum, cost)| *sum += cost);
            }
            sum
        };
        let (early, middle, late) = (around(10), around(100), around(1_000));
        for (at, cost) in [early, middle, late].iter().enumerate() {
            // Scanned and rendered once; hashed and copied thrice: as the new end, as the old one with the marker
            // that finds it, and without. Copied is also what is not yet in a chunk.
            let new = 16 * (SIZE as u64 + 400);
            let most = [new, 3 * new, new, 3 * new + 16 * 20 * 1024];
            assert!(cost.iter().zip(most).all(|(cost, most)| *cost <= most), "{at}: {cost:?}, {most:?}");
        }
        for (middle, late) in middle.iter().zip(late) {
            assert!(late.abs_diff(*middle) * 20 <= *middle, "{middle} at step 100, {late} at step 1,000");
        }
        println!(
            "per 16 steps of {SIZE} bytes in {dialect:?}, cache {cache:?}: {early:?} {middle:?} {late:?}"
        );
    }
}

#[test]
fn a_rewind_costs_the_conversation_once() {
    let mut stage = begun(Setup::default());
    for _ in 0..100 {
        step(&mut stage, 2_000);
    }
    stage.give(0, "Enough.", false);
    stage.end(End::Done);
    stage.prompt("More.");
    stage.end(End::Done);
    let total = stage.sent.last().unwrap().stripped.len() as u64;
    let cost = |stage: &mut Stage, event: Event| {
        let before = stage.session.conversation().work();
        stage.step(event);
        since(stage.session.conversation().work(), before)
    };
    let back = cost(&mut stage, Event::Rewind { turn: 2 });
    assert!(back[0] <= total && back[1..] == [0; 3], "{back:?}");
    let first =
        cost(&mut stage, Event::Prompt { blocks: vec![text_block("Otherwise.")], context: Vec::new() });
    assert!(first[1] <= total + 10_000, "{first:?}");
    stage.end(End::Done);
    let second = cost(&mut stage, Event::Prompt { blocks: vec![text_block("And on.")], context: Vec::new() });
    assert!(second.iter().all(|bytes| *bytes < 20_000), "{second:?} of {total}");
}

#[test]
fn a_transcript_is_hardly_longer_than_what_was_said() {
    let mut stage = begun(Setup::default());
    for _ in 0..200 {
        step(&mut stage, 10_000);
    }
    let mut transcript = Vec::new();
    let mut chain = seal_into(&mut transcript, Chain::START, &header().encode()).unwrap();
    for object in stage.entries.iter().map(Entry::encode) {
        chain = seal_into(&mut transcript, chain, &object).unwrap();
    }
    let unique = stage.sent.last().unwrap().stripped.len();
    assert!(unique > 2_000_000);
    assert!(transcript.len() * 10 <= unique * 12, "{} bytes for {unique}", transcript.len());
    let permille = transcript.len() * 1_000 / unique;
    println!(
        "{} bytes of transcript for {unique} bytes of content: {permille} per thousand",
        transcript.len()
    );
}
