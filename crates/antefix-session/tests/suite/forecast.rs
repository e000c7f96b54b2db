//! What compactions and requests are expected to cost, against what they were billed.

use std::sync::Arc;

use antefix_models::{ListedPrice, Money, Price, PriceBook, Prices, Tokens, Ttl};
use antefix_session::dialect::Dialect;
use antefix_session::event::Event;
use antefix_session::machine::Settings;
use antefix_sim::ChatConfig;

use crate::compaction::{compacted, say};
use crate::reply::End;
use crate::stage::{Setup, Stage};

const MINUTE: u64 = 60_000;

/// The price of input, output and reads that the user has agreed on for the model of the chat stage.
fn own_prices() -> PriceBook {
    let input = Price(2_500_000);
    let prices =
        Prices { input, write_5m: input, write_1h: input, read: Price(250_000), output: Price(10_000_000) };
    let row = |model: &str| ListedPrice {
        model: model.to_owned(),
        platform: None,
        from: None,
        until: None,
        above: None,
        prices,
        source: "contract".to_owned(),
        read_on: None,
        is_own: true,
    };
    PriceBook::with_own(vec![row("some-model"), row("qwen3-8b")]).unwrap()
}

/// A stage whose providers forget within ten minutes, in all ways a lane can be cached.
fn setups() -> Vec<Setup> {
    let settings = Settings { prices: Arc::new(own_prices()), ..Setup::default().settings };
    let engine = Some(ChatConfig::openai_legacy().engine);
    let setup = |dialect, cache| Setup {
        dialect,
        cache,
        engine: engine.clone(),
        settings: settings.clone(),
        ..Setup::default()
    };
    vec![
        setup(Dialect::Anthropic, Some(Ttl::FiveMinutes)),
        setup(Dialect::Anthropic, Some(Ttl::OneHour)),
        setup(Dialect::Anthropic, None),
        setup(Dialect::OpenAiChat, None),
    ]
}

/// So many turns of two steps, each of which reads some lines.
fn conversation(setup: &Setup, turns: usize) -> Stage {
    let mut stage = Stage::new(setup.clone());
    for turn in 0..turns {
        stage.prompt(&format!("Look at part {turn}, and say what stands there."));
        stage.end(End::Calls(2));
        stage.give(0, &"A line of a file that is looked at.\n".repeat(80), false);
        stage.give(0, &"fn main() { println!(\"{}\", 1 + 1); }\n".repeat(50), false);
        stage.end(End::Done);
    }
    stage
}

/// What one more token of a reply costs, times so many.
fn replied(stage: &Stage, tokens: Tokens) -> Money {
    let spec = stage.session.conversation().lane().unwrap().spec();
    let prices = antefix_session::spend::prices(
        &stage.setup.settings.prices,
        spec.platform,
        &spec.model,
        stage.now(),
        Tokens::ZERO,
    );
    prices.unwrap().output * tokens
}

/// Whether two amounts are within so many hundredths of the second.
fn are_near(expected: Money, billed: Money, percent: u128) -> bool {
    expected.0.abs_diff(billed.0) * 100 <= billed.0.unsigned_abs() * percent
}

/// It was five times what the ledger said: a reply of two thousand tokens was part of the one figure, and what a cold
/// cache writes was priced as if it were not written.
#[test]
fn the_request_for_a_summary_costs_what_was_forecast() {
    for setup in setups() {
        for (turns, wait) in [(1, 0), (6, 0), (6, 61 * MINUTE)] {
            for words in ["All of it.".to_owned(), "The gate opens at 6174. ".repeat(200)] {
                let mut stage = conversation(&setup, turns);
                stage.wait(wait);
                stage.compact();
                say(&mut stage, &words);
                stage.refresh();
                let (forecast, report) = (stage.forecasts[0], stage.reports.last().unwrap());
                let (billed, counts) = (report.cost.unwrap(), report.counts.unwrap());
                let of_this_length = forecast.asked.unwrap() + replied(&stage, counts.output);
                let context =
                    format!("{:?} {:?} {turns} {wait}: {forecast:?} {report:?}", setup.dialect, setup.cache);
                assert!(are_near(of_this_length, billed, 10), "{context}");
                let with_reply = forecast.asked.unwrap() + replied(&stage, forecast.length.unwrap());
                assert_eq!(forecast.summary, Some(with_reply), "{context}");
            }
        }
    }
}

/// The next one is taken to be as long as the last.
#[test]
fn a_summary_is_taken_to_be_as_long_as_the_last_one() {
    for setup in setups() {
        let mut stage = conversation(&setup, 3);
        let mut expect = Tokens(2_000);
        for _ in 0..2 {
            stage.compact();
            assert_eq!(stage.forecasts.last().unwrap().length, Some(expect));
            say(&mut stage, &"The gate opens at 6174. ".repeat(40));
            expect = stage.reports.last().unwrap().counts.unwrap().output;
            stage.refresh();
            stage.prompt("And on.");
            stage.end(End::Done);
        }
    }
}

/// What a message is expected to cost, behind a rewind and behind a compaction, against what it was billed.
#[test]
fn a_message_behind_a_rewind_or_a_summary_is_forecast() {
    for setup in setups() {
        for (way, wait) in [("rewind", 0), ("rewind", 61 * MINUTE), ("compact", 0), ("compact", 61 * MINUTE)]
        {
            let mut stage = conversation(&setup, 5);
            match way {
                "rewind" => stage.step(Event::Rewind { turn: 4 }),
                _ => compacted(&mut stage),
            }
            stage.wait(wait);
            stage.outlooks.clear();
            stage.prompt("Now otherwise.");
            let context = format!("{:?} {:?} {way} {wait}", setup.dialect, setup.cache);
            let [outlook] = stage.outlooks[..] else { panic!("{context}: {:?}", stage.outlooks) };
            stage.end(End::Done);
            let report = stage.reports.last().unwrap();
            let counts = report.counts.unwrap();
            let billed = report.cost.unwrap() - replied(&stage, counts.output);
            let expected = if wait == 0 { outlook.warm } else { outlook.cold }.unwrap();
            let percent = if way == "rewind" { 10 } else { 15 };
            assert!(
                are_near(expected, billed, percent),
                "{context}: {outlook:?} {billed:?} {counts:?} {expected:?}"
            );
            let is_read = setup.cache.is_some() && wait == 0;
            assert!(!is_read || !counts.read.is_zero() && !outlook.reads.is_zero(), "{context}: {outlook:?}");
            let lives = outlook.expires_in.map(|left| left > 0);
            assert_eq!(lives, setup.cache.map(|_| wait == 0), "{context}: {outlook:?}");
        }
    }
}

/// A provider that has just begun has nothing of what an earlier one was sent: a simulator in the process, for one.
#[test]
fn what_was_sent_before_a_cache_began_is_not_in_it() {
    for setup in setups() {
        let mut stage = conversation(&setup, 3).fork();
        let began = Settings { cache_began: Some(stage.now()), ..setup.settings.clone() };
        let entries = stage.entries.len();
        stage.kill(entries, Setup { settings: began, ..setup.clone() });
        stage.outlooks.clear();
        stage.prompt("And now.");
        let context = format!("{:?} {:?}", setup.dialect, setup.cache);
        let [outlook] = stage.outlooks[..] else { panic!("{context}: {:?}", stage.outlooks) };
        stage.end(End::Done);
        let report = stage.reports.last().unwrap();
        let billed = report.cost.unwrap() - replied(&stage, report.counts.unwrap().output);
        assert!(outlook.reads.is_zero() && outlook.warm == outlook.cold, "{context}: {outlook:?}");
        assert!(are_near(outlook.cold.unwrap(), billed, 10), "{context}: {outlook:?} {billed:?}");
        assert!(report.expects.is_zero(), "{context}");
        // What it was sent itself, it has.
        stage.prompt("And on.");
        assert_eq!(
            stage.outlooks[1].reads.is_zero(),
            setup.cache.is_none() && setup.dialect == Dialect::Anthropic
        );
    }
}
