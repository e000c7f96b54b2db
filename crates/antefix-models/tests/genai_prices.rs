//! Our prices against another table of prices. Each difference is listed with its reason; one that is not listed, or a
//! listed one that is gone, fails.

use std::collections::BTreeSet;
use std::time::SystemTime;

use antefix_models::{Modifiers, Platform, Price, Tokens, model_ids, price, rules};
use genai_prices::{Calculator, PriceRequest, Usage, UsageKey};
use jiff::civil::{Date, date};
use jiff::tz::TimeZone;

/// Model, category, our price, theirs, reason.
const DIFFERENCES: &[(&str, &str, &str, &str, &str)] = &[(
    "claude-sonnet-5-5",
    "read",
    "0.2",
    "0.1",
    "They give today's price to every day; the release notes date it 2026-10-07, and a tenth of input before.",
)];

/// Models of ours that are not in their table, with the reason.
const ONLY_HERE: &[(&str, &str)] = &[
    ("claude-fable-5-2", "Newer than their release 0.2.1; in 0.2.3 with our prices."),
    ("claude-mythos-5-2", "Limited availability; they list no Mythos model."),
    ("claude-mythos-5-1", "Limited availability; they list no Mythos model."),
    ("claude-mythos-5", "Limited availability; they list no Mythos model."),
    ("claude-mythos-preview", "Limited availability; they list no Mythos model."),
];

/// Models of theirs that are not in ours, with the reason.
const ONLY_THERE: &[(&str, &str)] = &[
    ("claude-2", "Retired before prompt caching."),
    ("claude-3-5-sonnet", "Retired 2025-10-28."),
    ("claude-3-7-sonnet-latest", "Retired 2026-02-19."),
    ("claude-3-haiku", "Retired 2026-04-20."),
    ("claude-3-opus-latest", "Retired 2026-01-05."),
    ("claude-3-sonnet", "Retired 2025-07-21, without prompt caching."),
    ("claude-v1", "Retired before prompt caching."),
];

const CATEGORIES: [&str; 5] = ["input", "write_5m", "write_1h", "read", "output"];

fn theirs(Case { model, day, batch, prompt, category }: Case) -> Option<Price> {
    let tokens = prompt as f64;
    let mut usage = Usage::from([(UsageKey::INPUT_TOKENS, tokens)]);
    match category {
        "write_5m" => drop(usage.insert(UsageKey::CACHE_WRITE_TOKENS, tokens)),
        "write_1h" => {
            usage.insert(UsageKey::CACHE_WRITE_TOKENS, tokens);
            usage.insert(UsageKey::CACHE_WRITE_1H_TOKENS, tokens);
        }
        "read" => drop(usage.insert(UsageKey::CACHE_READ_TOKENS, tokens)),
        "output" => drop(usage.insert(UsageKey::OUTPUT_TOKENS, tokens)),
        _ => {}
    }
    let noon: SystemTime = day.at(12, 0, 0, 0).to_zoned(TimeZone::UTC).ok()?.timestamp().into();
    let mut request = PriceRequest::new(model, &usage).with_provider_id("anthropic").with_timestamp(noon);
    if batch {
        request = request.with_price_context("processing", "batch");
    }
    let bill = Calculator::bundled().calculate(&request).ok()?;
    let dollars = if category == "output" { bill.output_price } else { bill.input_price };
    Some(Price((dollars / tokens * 1e12).round() as u64))
}

fn ours(Case { model, day, batch, prompt, category }: Case) -> Option<Price> {
    let modifiers = Modifiers { batch, ..Modifiers::default() };
    let prices = price(Platform::Anthropic, model, day, modifiers, Tokens(prompt))?;
    Some(match category {
        "write_5m" => prices.write_5m,
        "write_1h" => prices.write_1h,
        "read" => prices.read,
        "output" => prices.output,
        _ => prices.input,
    })
}

/// One question both tables are asked.
#[derive(Clone, Copy)]
struct Case {
    model: &'static str,
    day: Date,
    batch: bool,
    prompt: u64,
    category: &'static str,
}

fn cases() -> Vec<Case> {
    let days = [(2026, 3, 12), (2026, 3, 13), (2026, 10, 6), (2026, 10, 7), (2026, 11, 29)];
    let days = days.map(|(year, month, day)| date(year, month, day));
    let mut cases = Vec::new();
    for model in model_ids() {
        for day in days {
            // Their batch prices begin on 2026-10-14 and leave retired models out.
            let retired = rules(Platform::Anthropic, model).retires.is_some_and(|retires| retires <= day);
            let batches = if day < date(2026, 10, 14) || retired { &[false][..] } else { &[false, true] };
            for prompt in [1_000, 100_000, 100_001, 150_000, 200_000, 200_001, 250_000] {
                for (category, batch) in
                    CATEGORIES.iter().flat_map(|category| batches.iter().map(move |b| (category, b)))
                {
                    cases.push(Case { model, day, batch: *batch, prompt, category });
                }
            }
        }
    }
    cases
}

#[test]
fn every_difference_is_listed() {
    let mut found = BTreeSet::new();
    let mut compared = 0;
    for case in cases() {
        if let (Some(ours), Some(theirs)) = (ours(case), theirs(case)) {
            compared += 1;
            if ours != theirs {
                let category = format!("{}{}", case.category, if case.batch { " in a batch" } else { "" });
                found.insert((case.model, category, ours.usd_per_million(), theirs.usd_per_million()));
            }
        }
    }
    let listed: BTreeSet<_> = DIFFERENCES
        .iter()
        .map(|(model, category, ours, theirs, _)| {
            (*model, (*category).to_owned(), (*ours).to_owned(), (*theirs).to_owned())
        })
        .collect();
    assert_eq!(found, listed, "left: found, right: listed");
    assert!(compared > 3_000, "only {compared} prices were compared");
}

#[test]
fn models_known_to_one_side_only_are_listed() {
    let case =
        |model| Case { model, day: date(2026, 11, 29), batch: false, prompt: 1_000, category: "input" };
    let here: Vec<_> = model_ids().filter(|model| theirs(case(model)).is_none()).collect();
    assert_eq!(here, ONLY_HERE.iter().map(|(model, _)| *model).collect::<Vec<_>>());
    let provider = Calculator::bundled().providers().find(|provider| provider.id() == "anthropic").unwrap();
    let there: Vec<_> =
        provider.models().map(|model| model.id()).filter(|id| ours(case(id)).is_none()).collect();
    assert_eq!(there, ONLY_THERE.iter().map(|(model, _)| *model).collect::<Vec<_>>());
}
