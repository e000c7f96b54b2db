//! What tokens cost: one line per model, day, prompt length and modifier.

use antefix_models::Platform::{Anthropic, Bedrock, ClaudeOnAws, Compatible, Foundry, GoogleCloud};
use antefix_models::{
    Counts, Modifiers, Money, Platform, Price, Prices, Tokens, Ttl, WEB_SEARCH, cost, cost_breakdown,
    model_ids, price,
};
use jiff::civil::Date;
use proptest::prelude::*;

/// Asks for a price as text: `input write_5m write_1h read output` per million, or `unpriced`.
fn ask(platform: Platform, model: &str, day: &str, modifiers: Modifiers, prompt: u64) -> String {
    let day: Date = day.parse().unwrap_or_else(|error| panic!("{day}: {error}"));
    price(platform, model, day, modifiers, Tokens(prompt)).map_or_else(
        || "unpriced".to_owned(),
        |prices| {
            let Prices { input, write_5m, write_1h, read, output } = prices;
            [input, write_5m, write_1h, read, output].map(Price::usd_per_million).join(" ")
        },
    )
}

#[test]
fn list_prices_by_day_and_prompt_length() {
    let cases = [
        ("claude-fable-5-2", "2026-11-30", 10, "8 10 16 0.2 40"),
        ("claude-mythos-5-2", "2026-11-30", 10, "8 10 16 0.2 40"),
        ("claude-fable-5-1", "2026-11-30", 10, "10 12.5 20 0.25 50"),
        ("claude-mythos-5-1", "2026-11-30", 10, "10 12.5 20 0.25 50"),
        ("claude-fable-5", "2026-11-30", 10, "10 12.5 20 1 50"),
        ("claude-mythos-5", "2026-11-30", 10, "10 12.5 20 1 50"),
        ("claude-opus-5-5", "2026-11-30", 10, "4 5 8 0.2 20"),
        ("claude-opus-5", "2026-11-30", 10, "5 6.25 10 0.5 25"),
        ("claude-opus-4-8", "2026-11-30", 10, "5 6.25 10 0.5 25"),
        ("claude-opus-4-7", "2026-11-30", 10, "5 6.25 10 0.5 25"),
        ("claude-opus-4-6", "2026-03-12", 200_000, "5 6.25 10 0.5 25"),
        ("claude-opus-4-6", "2026-03-12", 200_001, "10 12.5 20 1 37.5"),
        ("claude-opus-4-6", "2026-03-13", 200_001, "5 6.25 10 0.5 25"),
        ("claude-opus-4-6", "2026-03-14", 900_000, "5 6.25 10 0.5 25"),
        ("claude-opus-4-5", "2026-11-30", 10, "5 6.25 10 0.5 25"),
        ("claude-opus-4-1", "2026-08-04", 10, "15 18.75 30 1.5 75"),
        ("claude-opus-4", "2026-06-14", 10, "15 18.75 30 1.5 75"),
        ("claude-sonnet-5-5", "2026-10-06", 10, "2 2.5 4 0.2 10"),
        ("claude-sonnet-5-5", "2026-10-07", 10, "2 2.5 4 0.1 10"),
        ("claude-sonnet-5-5", "2026-10-08", 900_000, "2 2.5 4 0.1 10"),
        ("claude-sonnet-5", "2026-11-30", 900_000, "2 2.5 4 0.2 10"),
        ("claude-sonnet-4-6", "2026-03-12", 199_999, "3 3.75 6 0.3 15"),
        ("claude-sonnet-4-6", "2026-03-12", 200_000, "3 3.75 6 0.3 15"),
        ("claude-sonnet-4-6", "2026-03-12", 200_001, "6 7.5 12 0.6 22.5"),
        ("claude-sonnet-4-6", "2026-03-13", 200_001, "3 3.75 6 0.3 15"),
        ("claude-sonnet-4-6", "2026-03-14", 200_001, "3 3.75 6 0.3 15"),
        ("claude-sonnet-4-5", "2026-04-01", 199_999, "3 3.75 6 0.3 15"),
        ("claude-sonnet-4-5", "2026-04-01", 200_000, "3 3.75 6 0.3 15"),
        ("claude-sonnet-4-5", "2026-04-01", 200_001, "6 7.5 12 0.6 22.5"),
        ("claude-sonnet-4", "2026-06-14", 10, "3 3.75 6 0.3 15"),
        ("claude-haiku-5-5", "2026-11-30", 99_999, "0.1 0.125 0.2 0.01 0.5"),
        ("claude-haiku-5-5", "2026-11-30", 100_000, "0.1 0.125 0.2 0.01 0.5"),
        ("claude-haiku-5-5", "2026-11-30", 100_001, "0.5 0.625 1 0.05 2.5"),
        ("claude-haiku-4-5", "2026-11-30", 190_000, "1 1.25 2 0.1 5"),
        ("claude-3-5-haiku", "2026-02-18", 10, "0.8 1 1.6 0.08 4"),
        ("claude-mythos-preview", "2026-05-01", 10, "unpriced"),
        ("unheard-of", "2026-11-30", 10, "unpriced"),
    ];
    for (model, day, prompt, expect) in cases {
        assert_eq!(
            ask(Anthropic, model, day, Modifiers::default(), prompt),
            expect,
            "{model} {day} {prompt}"
        );
    }
    let listed = |id: &str| cases.iter().any(|case| case.0 == id);
    assert_eq!(model_ids().find(|id| !listed(id)), None, "a model without a case");
}

const NONE: Modifiers = Modifiers { batch: false, fast: false, geo_us: false, regional: false, peak: false };
const BATCH: Modifiers = Modifiers { batch: true, ..NONE };
const FAST: Modifiers = Modifiers { fast: true, ..NONE };
const US: Modifiers = Modifiers { geo_us: true, ..NONE };
const REGIONAL: Modifiers = Modifiers { regional: true, ..NONE };

#[test]
fn modifiers_stack_where_they_exist() {
    let cases = [
        (Anthropic, "claude-opus-5-5", "2026-11-30", BATCH, "2 2.5 4 0.1 10"),
        (Anthropic, "claude-opus-5-5", "2026-11-30", US, "4.4 5.5 8.8 0.22 22"),
        (Anthropic, "claude-opus-5-5", "2026-11-30", Modifiers { batch: true, ..US }, "2.2 2.75 4.4 0.11 11"),
        (Anthropic, "claude-opus-5-5", "2026-10-14", FAST, "8 10 16 0.4 40"),
        (Anthropic, "claude-opus-5-5", "2026-10-15", FAST, "8 10 16 0.4 40"),
        (Anthropic, "claude-opus-5-5", "2026-11-30", Modifiers { fast: true, ..US }, "8.8 11 17.6 0.44 44"),
        (Anthropic, "claude-opus-5-5", "2026-11-30", Modifiers { fast: true, ..BATCH }, "unpriced"),
        (Anthropic, "claude-fable-5-2", "2026-11-30", FAST, "16 20 32 0.4 80"),
        (Anthropic, "claude-mythos-5-2", "2026-11-30", FAST, "16 20 32 0.4 80"),
        (Anthropic, "claude-opus-5", "2026-11-30", FAST, "10 12.5 20 1 50"),
        (Anthropic, "claude-opus-4-8", "2026-11-29", FAST, "10 12.5 20 1 50"),
        (Anthropic, "claude-opus-4-8", "2026-11-30", FAST, "unpriced"),
        (Anthropic, "claude-opus-4-8", "2026-12-01", FAST, "unpriced"),
        (Anthropic, "claude-opus-4-7", "2026-07-23", FAST, "30 37.5 60 3 150"),
        (Anthropic, "claude-opus-4-7", "2026-07-24", FAST, "unpriced"),
        (Anthropic, "claude-sonnet-5-5", "2026-11-30", FAST, "unpriced"),
        (Anthropic, "claude-opus-4-6", "2026-11-30", US, "5.5 6.875 11 0.55 27.5"),
        (Anthropic, "claude-opus-4-5", "2026-11-30", US, "unpriced"),
        (
            Anthropic,
            "claude-haiku-5-5",
            "2026-11-30",
            Modifiers { batch: true, ..US },
            "0.055 0.06875 0.11 0.0055 0.275",
        ),
        (Anthropic, "claude-opus-5-5", "2026-11-30", REGIONAL, "unpriced"),
        (ClaudeOnAws, "claude-opus-5-5", "2026-11-30", US, "4.4 5.5 8.8 0.22 22"),
        (ClaudeOnAws, "claude-opus-5-5", "2026-11-30", FAST, "unpriced"),
        (Foundry, "claude-opus-5-5", "2026-11-30", NONE, "4 5 8 0.2 20"),
        (Foundry, "claude-opus-5-5", "2026-11-30", BATCH, "unpriced"),
        (Foundry, "claude-opus-5-5", "2026-11-30", US, "unpriced"),
        (
            Bedrock,
            "eu.anthropic.claude-opus-4-5-20251101-v1:0",
            "2026-11-30",
            REGIONAL,
            "5.5 6.875 11 0.55 27.5",
        ),
        (Bedrock, "us.anthropic.claude-opus-4-1-20250805-v1:0", "2026-11-30", REGIONAL, "15 18.75 30 1.5 75"),
        (Bedrock, "anthropic.claude-opus-5-5", "2026-11-30", US, "unpriced"),
        (GoogleCloud, "claude-haiku-4-5@20251001", "2026-11-30", REGIONAL, "1.1 1.375 2.2 0.11 5.5"),
        (
            GoogleCloud,
            "claude-haiku-4-5",
            "2026-11-30",
            Modifiers { batch: true, ..REGIONAL },
            "0.55 0.6875 1.1 0.055 2.75",
        ),
        (Compatible, "claude-opus-5-5", "2026-11-30", NONE, "unpriced"),
    ];
    for (platform, model, day, modifiers, expect) in cases {
        assert_eq!(
            ask(platform, model, day, modifiers, 10),
            expect,
            "{platform} {model} {day} {modifiers:?}"
        );
    }
}

/// No modifier leaves a fraction of 1e-12 dollars: every combination that a platform offers keeps its price.
#[test]
fn every_price_stays_exact_under_every_modifier() {
    let day = jiff::civil::date(2026, 11, 29);
    for model in model_ids().filter(|id| *id != "claude-mythos-preview") {
        for bits in 0..16u8 {
            let [batch, fast, geo_us, regional] = [1, 2, 4, 8].map(|bit| bits & bit > 0);
            let modifiers = Modifiers { batch, fast, geo_us, regional, peak: false };
            for platform in [Anthropic, Bedrock] {
                let offered = match platform {
                    Anthropic => {
                        !fast
                            && !regional
                            && (!geo_us || price(platform, model, day, US, Tokens(1)).is_some())
                    }
                    _ => !fast && !geo_us,
                };
                if offered {
                    for prompt in [1, 150_000, 250_000] {
                        assert!(
                            price(platform, model, day, modifiers, Tokens(prompt)).is_some(),
                            "{model} {modifiers:?}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn costs_and_break_even() {
    let day = jiff::civil::date(2026, 11, 30);
    let prices = price(Anthropic, "claude-fable-5-1", day, NONE, Tokens(100)).unwrap();
    let counts = Counts {
        uncached: Tokens(1),
        read: Tokens(1_000_000),
        write_5m: Tokens(2_000),
        write_1h: Tokens(500),
        output: Tokens(100),
    };
    let breakdown = cost_breakdown(&prices, &counts);
    let parts =
        [breakdown.uncached, breakdown.read, breakdown.write_5m, breakdown.write_1h, breakdown.output];
    assert_eq!(parts.map(Money::usd), ["0.00001", "0.25", "0.025", "0.01", "0.005"]);
    assert_eq!((cost(&prices, &counts).usd().as_str(), counts.prompt()), ("0.29001", Tokens(1_002_501)));
    assert_eq!(WEB_SEARCH.usd(), "0.01");
    // model, (write − read, reads to break even) for five minutes and one hour
    let cases = [
        ("claude-fable-5-1", ("12.25", Some(1)), ("19.75", Some(2))),
        ("claude-opus-5-5", ("4.8", Some(1)), ("7.8", Some(2))),
        ("claude-opus-5", ("5.75", Some(1)), ("9.5", Some(2))),
        ("claude-haiku-5-5", ("0.115", Some(1)), ("0.19", Some(2))),
    ];
    for (model, short, long) in cases {
        let prices = price(Anthropic, model, day, NONE, Tokens(100)).unwrap();
        for (ttl, (broken, reads)) in [(Ttl::FiveMinutes, short), (Ttl::OneHour, long)] {
            assert_eq!(prices.broken_token(ttl).usd_per_million(), broken, "{model} {ttl}");
            assert_eq!(prices.break_even_reads(ttl), reads, "{model} {ttl}");
        }
    }
    let dear = Prices { read: prices.input, ..prices };
    assert_eq!(dear.break_even_reads(Ttl::OneHour), None);
}

prop_compose! {
    fn any_prices()(prices in proptest::array::uniform5(0u64..1_000_000_000)) -> Prices {
        let [input, write_5m, write_1h, read, output] = prices.map(Price);
        Prices { input, write_5m, write_1h, read, output }
    }
}

prop_compose! {
    fn any_counts()(counts in proptest::array::uniform5(0u64..1_000_000_000_000)) -> Counts {
        let [uncached, read, write_5m, write_1h, output] = counts.map(Tokens);
        Counts { uncached, read, write_5m, write_1h, output }
    }
}

proptest! {
    /// The bill of many requests is the sum of their bills, part by part, with nothing lost to rounding.
    #[test]
    fn the_sum_of_the_parts_is_the_whole(prices in any_prices(), requests in prop::collection::vec(any_counts(), 0..20)) {
        let whole: Counts = requests.iter().fold(Counts::default(), |sum, counts| Counts {
            uncached: sum.uncached + counts.uncached,
            read: sum.read + counts.read,
            write_5m: sum.write_5m + counts.write_5m,
            write_1h: sum.write_1h + counts.write_1h,
            output: sum.output + counts.output,
        });
        let bill: Money = requests.iter().map(|counts| cost(&prices, counts)).sum();
        prop_assert_eq!(bill, cost(&prices, &whole));
        let parts = cost_breakdown(&prices, &whole);
        prop_assert_eq!(bill, parts.uncached + parts.read + parts.write_5m + parts.write_1h + parts.output);
    }

    /// What is printed is the amount: reading it back gives the same number.
    #[test]
    fn printed_money_is_exact(picos in any::<i64>()) {
        let text = Money(i128::from(picos)).usd();
        let (sign, digits) = text.strip_prefix('-').map_or((1, text.as_str()), |rest| (-1, rest));
        let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
        prop_assert!(!part.ends_with('0'));
        let back: i128 = format!("{whole}{part:0<12}").parse().unwrap();
        prop_assert_eq!(back * sign, i128::from(picos));
    }
}
