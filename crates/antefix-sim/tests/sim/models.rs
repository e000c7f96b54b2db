//! The documented values of real models, written out here so that the model data can be contradicted.

use antefix_sim::{Config, Tokenizer};

use crate::harness::{Lab, body};

/// A marker on the first block of `size` tokens: whether it is cached.
fn caches(model: &str, size: u64) -> bool {
    let mut lab = Lab::new(Config { tokenizer: Tokenizer::Bytes(1), ..Config::default() });
    let text = body(&format!("u{size}! u1"), "").replace("claude-test", model);
    let sent = lab.post(0, &text);
    assert_eq!(sent.status, 200, "{model}: {}", sent.text);
    lab.post(1, &text);
    lab.simulator.log()[1].read > 0
}

/// Prompt caching page, September 2026.
#[test]
fn minimums_are_the_documented_ones() {
    let cases = [
        ("claude-fable-5", 512),
        ("claude-fable-5-1", 512),
        ("claude-fable-5-2", 512),
        ("claude-mythos-5", 512),
        ("claude-mythos-5-1", 512),
        ("claude-opus-5", 512),
        ("claude-opus-5-5", 512),
        ("claude-sonnet-5-5", 512),
        ("claude-haiku-5-5", 512),
        ("claude-opus-4-8", 1024),
        ("claude-sonnet-5", 1024),
        ("claude-sonnet-4-6", 1024),
        ("claude-opus-4-7", 2048),
        ("claude-mythos-preview", 2048),
        ("claude-opus-4-6", 4096),
        ("claude-opus-4-5", 4096),
        ("claude-haiku-4-5", 4096),
    ];
    for (model, minimum) in cases {
        assert!(!caches(model, minimum - 1), "{model} at {}", minimum - 1);
        assert!(caches(model, minimum), "{model} at {minimum}");
        assert!(caches(model, minimum + 1), "{model} at {}", minimum + 1);
    }
}

/// Page on mid-conversation system messages, August 2026: Opus 4.8, 5, 5.5, Fable and Mythos 5 and later; not
/// Sonnet 5. What no source says of Sonnet 5.5 and Haiku 5.5 is refused here.
#[test]
fn system_messages_are_taken_where_documented() {
    let cases = [
        ("claude-opus-4-8", 200),
        ("claude-opus-5", 200),
        ("claude-opus-5-5", 200),
        ("claude-fable-5", 200),
        ("claude-mythos-5-1", 200),
        ("claude-sonnet-5", 400),
        ("claude-sonnet-4-6", 400),
        ("claude-opus-4-7", 400),
        ("claude-haiku-4-5", 400),
        ("claude-sonnet-5-5", 400),
        ("claude-haiku-5-5", 400),
    ];
    for (model, status) in cases {
        let text = body("u20 s20", "").replace("claude-test", model);
        assert_eq!(Lab::new(Config::default()).post(0, &text).status, status, "{model}");
    }
}

/// The legacy Bedrock integration refuses the automatic marker and counts every block.
#[test]
fn bedrock_counts_every_block() {
    let run = |config: Config| {
        let mut lab = Lab::new(Config { tokenizer: Tokenizer::Bytes(1), ..config });
        let send = |lab: &mut Lab, blocks: &str| {
            lab.post(0, &body(blocks, "").replace("claude-test", "claude-sonnet-4-6"));
            lab.simulator.log().last().map_or(0, |billed| billed.read)
        };
        send(&mut lab, "T1500 u100!");
        send(&mut lab, "T1500 u100 c100x14 r60x14!")
    };
    assert_eq!(run(Config::default()), 1600);
    assert_eq!(run(Config::bedrock()), 0);
}
