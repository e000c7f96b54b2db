//! Properties that hold for any sequence of requests. A failing case prints its seed and its requests.

use antefix_sim::{Config, Latency, Millis};
use proptest::prelude::*;

use crate::harness::{Lab, body, test_config};

/// Conversations made of a few texts, so that prefixes are often shared.
fn blocks() -> impl Strategy<Value = String> {
    let head = prop::sample::select(vec![
        "",
        "T120",
        "T120!",
        "T120H",
        "T120 T99",
        "T120H S70H",
        "S150",
        "S150!",
        "T120! S90!",
    ]);
    let word = prop::sample::select(vec!["u40", "u40~x", "a30", "a30~y", "u60!", "a10", "u5", "u90~z"]);
    (head, prop::collection::vec(word, 0..30)).prop_map(|(head, words)| {
        let mut text = format!("{head} u20");
        let mut markers = head.matches(['!', 'H']).count();
        for word in words {
            let marked = word.ends_with('!');
            markers += usize::from(marked);
            let word = if markers > 4 { word.trim_end_matches('!') } else { word };
            text.push_str(&format!(" {word}"));
        }
        text
    })
}

fn requests() -> impl Strategy<Value = Vec<(u64, String)>> {
    prop::collection::vec((0u64..400_000, blocks()), 1..12).prop_map(|mut requests| {
        let mut now = 0;
        for (at, _) in &mut requests {
            now += *at;
            *at = now;
        }
        requests
    })
}

fn run(config: Config, start: u64, requests: &[(u64, String)]) -> Vec<String> {
    let mut lab = Lab::new(config);
    requests.iter().map(|(at, blocks)| lab.pay(start + at, blocks, "")).collect()
}

fn latency() -> Latency {
    Latency { first_byte: Millis(700), per_1k_uncached: Millis(500), tokens_per_second: 50 }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_read_written_and_plain_is_the_whole(requests in requests()) {
        let mut lab = Lab::new(Config { latency: latency(), ..test_config() });
        for (at, blocks) in &requests {
            let counted = lab.request(*at, "POST", "/v1/messages/count_tokens", &body(blocks, ""));
            prop_assert_eq!(counted.status, 200, "{}", counted.text);
            lab.pay(*at, blocks, "");
            let total = lab.simulator.log().last().unwrap().total();
            prop_assert_eq!(counted.text, format!("{{\"input_tokens\":{total}}}"));
        }
    }

    #[test]
    fn the_same_request_again_reads_what_the_first_wrote(requests in requests()) {
        let mut lab = Lab::new(test_config());
        for (at, blocks) in &requests {
            lab.pay(*at, blocks, "");
            let first = lab.simulator.log().last().unwrap().clone();
            lab.pay(*at, blocks, "");
            let second = lab.simulator.log().last().unwrap();
            prop_assert_eq!(second.read, first.read + first.write_5m + first.write_1h);
            prop_assert_eq!((second.uncached, second.write_5m, second.write_1h), (first.uncached, 0, 0));
        }
    }

    #[test]
    fn only_differences_of_time_count(requests in requests(), start in 0u64..2_000_000_000_000) {
        let config = || Config { latency: latency(), ..test_config() };
        prop_assert_eq!(run(config(), 0, &requests), run(config(), start, &requests));
    }

    #[test]
    fn other_tenants_change_nothing(requests in requests()) {
        let alone = run(test_config(), 0, &requests);
        let mut lab = Lab::new(test_config());
        let mut beside = Vec::new();
        for (at, blocks) in &requests {
            lab.key = "zeta/main/secret".to_owned();
            lab.pay(*at, blocks, "");
            lab.key = "acme/main/secret".to_owned();
            beside.push(lab.pay(*at, blocks, ""));
        }
        prop_assert_eq!(alone, beside);
    }
}
