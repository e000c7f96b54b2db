//! What a server's preset says of a model: rules, template and prices.
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use antefix_models::{
    Minimum, Modifiers, Platform, Preset, Prices, Protocol, Retention, Rewrite, Setting, Support, Template,
    Tokens, price,
};
use jiff::civil::date;

#[test]
fn the_rules_of_a_server_place_no_markers() {
    let rules = Preset::named("llamacpp").unwrap().rules("Qwen3-8B", Some(Tokens(16_384)));
    let none = Minimum { below: Tokens(0), sure: Tokens(0), stated: Tokens(0) };
    assert_eq!((rules.minimum, rules.max_markers, rules.known), (none, 0, true));
    assert_eq!((rules.thinking_retention, rules.thinking_binding), (Retention::AllTurns, false));
    assert_eq!((rules.context_window, rules.in_band_system), (Tokens(16_384), Support::No));
    assert_eq!(rules.template.class(), "reasoning-stripping");
    assert_eq!(rules.notes, [""; 0]);
    let assumed = Preset::named("llamacpp").unwrap().rules("Qwen3-8B", None);
    assert_eq!(assumed.notes, ["the context length of `Qwen3-8B` is not known: 32768 tokens are assumed"]);
}

#[test]
fn a_preset_that_speaks_the_messages_api_has_its_rules() {
    let settings = [("dialect".to_owned(), Setting::Text("anthropic".to_owned()))];
    let preset = Preset::own("mine", &settings).unwrap();
    assert_eq!(preset.dialect, Protocol::Messages);
    assert_eq!(
        preset.rules("claude-opus-5-5", None),
        antefix_models::rules(Platform::Compatible, "claude-opus-5-5")
    );
}

#[test]
fn a_preset_with_a_template_overrules_the_model() {
    let set = |class: &str| [("template".to_owned(), Setting::Text(class.to_owned()))];
    let own = |class| Preset::own("mine", &set(class)).unwrap();
    assert_eq!(own("append-only").template("qwen3:8b").rewrites, []);
    assert_eq!(own("tools-late").template("qwen3:8b").rewrites, [Rewrite::ToolsLate]);
    assert_eq!(own("tools-late").template("qwen3:8b").source, "the user's own preset");
    let compatible = Preset::named("compatible").unwrap();
    assert_eq!(compatible.template("qwen3:8b").rewrites, [Rewrite::ReasoningStripping]);
    assert_eq!(compatible.template("an-own-model"), Template::append_only());
    let deepseek = Preset::named("deepseek").unwrap().template("deepseek-v4-pro");
    assert_eq!((deepseek.rewrites, deepseek.certain), (vec![Rewrite::ReasoningStripping], false));
}

#[test]
fn own_servers_are_free_and_unknown_prices_are_not() {
    let day = date(2026, 11, 30);
    let found = |platform, model, modifiers| price(platform, model, day, modifiers, Tokens(50_000));
    let none = Modifiers::default();
    assert_eq!(found(Platform::Local, "any", none), Some(Prices::FREE));
    assert_eq!(found(Platform::Compatible, "deepseek-v4-pro", none), None);
    assert_eq!(found(Platform::OpenRouter, "deepseek-v4-pro", none), None);
    assert_eq!(found(Platform::DeepSeek, "deepseek-v5", none), None);
    let prices = |prices: Prices| {
        [prices.input, prices.write_5m, prices.write_1h, prices.read, prices.output].map(|one| one.0)
    };
    assert_eq!(
        prices(found(Platform::DeepSeek, "deepseek-v4-pro", none).unwrap()),
        [660_000, 660_000, 660_000, 22_000, 1_320_000]
    );
    let peak = Modifiers { peak: true, ..none };
    assert_eq!(
        prices(found(Platform::DeepSeek, "deepseek-flash", peak).unwrap()),
        [300_000, 300_000, 300_000, 6_000, 1_200_000]
    );
    assert_eq!(found(Platform::DeepSeek, "deepseek-flash", Modifiers { batch: true, ..none }), None);
    assert_eq!(found(Platform::Anthropic, "claude-opus-5-5", peak), None);
}

#[test]
fn peak_hours_have_edges() {
    for (time, is_peak) in [
        ("2026-11-30T00:59:59Z", false), // Monday
        ("2026-11-30T01:00:00Z", true),
        ("2026-11-30T03:59:59Z", true),
        ("2026-11-30T04:00:00Z", false),
        ("2026-11-30T05:59:59Z", false),
        ("2026-11-30T06:00:00Z", true),
        ("2026-12-04T09:59:59Z", true), // Friday
        ("2026-12-04T10:00:00Z", false),
        ("2026-12-05T07:00:00Z", false),
        ("2026-12-06T07:00:00Z", false),
    ] {
        let expect = Modifiers { peak: is_peak, ..Modifiers::default() };
        assert_eq!(Modifiers::at(Platform::DeepSeek, time.parse().unwrap()), expect, "{time}");
    }
    assert_eq!(
        Modifiers::at(Platform::Anthropic, "2026-11-30T02:00:00Z".parse().unwrap()),
        Modifiers::default()
    );
}
