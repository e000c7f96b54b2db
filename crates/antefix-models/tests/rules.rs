//! What each model does where.

use antefix_models::Platform::{Anthropic, Bedrock, ClaudeOnAws, Compatible, Foundry, GoogleCloud};
use antefix_models::Support::{No, Unverified, Yes};
use antefix_models::{
    Collapse, Lookback, Minimum, Platform, Reach, Retention, Rules, Support, Template, Tokens, ToolPrompt,
    model_ids, rules,
};
use jiff::civil::date;

/// Each model's band: at its lower end and one below, at its upper end and one below.
#[test]
fn minimums() {
    let cases = [
        (Anthropic, "claude-fable-5-2", 512, 2048, 512),
        (Anthropic, "claude-mythos-5-2", 512, 2048, 512),
        (Anthropic, "claude-fable-5-1", 512, 512, 512),
        (Anthropic, "claude-mythos-5-1", 512, 512, 512),
        (Anthropic, "claude-fable-5", 512, 2048, 512),
        (Anthropic, "claude-mythos-5", 512, 512, 512),
        (Anthropic, "claude-opus-5-5", 512, 512, 512),
        (Anthropic, "claude-opus-5", 512, 512, 512),
        (Anthropic, "claude-opus-4-8", 1024, 4096, 1024),
        (Anthropic, "claude-opus-4-7", 2048, 4096, 2048),
        (Bedrock, "anthropic.claude-opus-4-7", 2048, 4096, 4096),
        (Anthropic, "claude-opus-4-6", 4096, 4096, 4096),
        (Anthropic, "claude-opus-4-5", 4096, 4096, 4096),
        (Anthropic, "claude-opus-4-1", 1024, 1024, 1024),
        (Anthropic, "claude-opus-4", 1024, 1024, 1024),
        (Anthropic, "claude-sonnet-5-5", 512, 1024, 512),
        (Anthropic, "claude-sonnet-5", 1024, 1024, 1024),
        (Anthropic, "claude-sonnet-4-6", 1024, 2048, 1024),
        (Anthropic, "claude-sonnet-4-5", 1024, 1024, 1024),
        (Anthropic, "claude-sonnet-4", 1024, 1024, 1024),
        (Anthropic, "claude-haiku-5-5", 512, 4096, 512),
        (Anthropic, "claude-haiku-4-5", 4096, 4096, 4096),
        (Anthropic, "claude-3-5-haiku", 2048, 2048, 2048),
        (Anthropic, "claude-mythos-preview", 512, 4096, 2048),
        (Anthropic, "unheard-of", 512, 4096, 4096),
    ];
    for (platform, model, below, sure, stated) in cases {
        let minimum = rules(platform, model).minimum;
        assert_eq!(
            minimum,
            Minimum { below: Tokens(below), sure: Tokens(sure), stated: Tokens(stated) },
            "{model}"
        );
        let grey = |tokens| if tokens < sure { Reach::Grey } else { Reach::Sure };
        for (tokens, expect) in [
            (below - 1, Reach::Below),
            (below, grey(below)),
            (below + 1, grey(below + 1)),
            (sure - 1, if below < sure { Reach::Grey } else { Reach::Below }),
            (sure, Reach::Sure),
            (sure + 1, Reach::Sure),
        ] {
            assert_eq!(minimum.reach(Tokens(tokens)), expect, "{model} at {tokens}");
        }
    }
    let listed = |id: &str| cases.iter().any(|case| case.1 == id);
    assert_eq!(model_ids().find(|id| !listed(id)), None, "a model without a case");
}

#[test]
fn in_band_messages_need_model_and_platform() {
    // system, tools, effort, clear_at
    let cases: [(Platform, &str, [Support; 4]); 19] = [
        (Anthropic, "claude-fable-5-2", [Yes, Yes, Unverified, Yes]),
        (Anthropic, "claude-fable-5-1", [Yes, Yes, Yes, Yes]),
        (Anthropic, "claude-mythos-5-1", [Yes, Yes, Yes, Yes]),
        (Anthropic, "claude-fable-5", [Yes, Yes, No, Yes]),
        (Anthropic, "claude-opus-5-5", [Yes, Yes, Yes, Yes]),
        (Anthropic, "claude-opus-5", [Yes, Yes, Yes, Yes]),
        (Anthropic, "claude-opus-4-8", [Yes, Yes, No, Yes]),
        (Anthropic, "claude-opus-4-7", [No, No, No, No]),
        (Anthropic, "claude-sonnet-5-5", [Unverified; 4]),
        (Anthropic, "claude-sonnet-5", [No; 4]),
        (Anthropic, "claude-haiku-5-5", [Unverified; 4]),
        (Anthropic, "claude-haiku-4-5", [No; 4]),
        (Anthropic, "claude-mythos-preview", [No; 4]),
        (ClaudeOnAws, "claude-opus-5-5", [Yes, Unverified, No, Yes]),
        (Foundry, "claude-opus-5-5", [No; 4]),
        (Bedrock, "anthropic.claude-opus-5-5", [Unverified, Unverified, No, Unverified]),
        (GoogleCloud, "claude-opus-5-5", [Unverified, Unverified, No, Unverified]),
        (Compatible, "claude-opus-5-5", [Unverified; 4]),
        (Compatible, "unheard-of", [No; 4]),
    ];
    for (platform, model, expect) in cases {
        let rules = rules(platform, model);
        let actual =
            [rules.in_band_system, rules.in_band_tools, rules.in_band_effort, rules.in_band_clear_at];
        assert_eq!(actual, expect, "{platform} {model}");
    }
}

#[test]
fn thinking() {
    let cases = [
        ("claude-fable-5-2", Retention::AllTurns, true),
        ("claude-mythos-5-1", Retention::AllTurns, true),
        ("claude-fable-5", Retention::AllTurns, false),
        ("claude-opus-5-5", Retention::AllTurns, true),
        ("claude-opus-5", Retention::AllTurns, false),
        ("claude-opus-4-5", Retention::AllTurns, false),
        ("claude-opus-4-1", Retention::LastTurn, false),
        ("claude-sonnet-5-5", Retention::AllTurns, true),
        ("claude-sonnet-4-6", Retention::AllTurns, false),
        ("claude-sonnet-4-5", Retention::LastTurn, false),
        ("claude-haiku-5-5", Retention::LastTurn, true),
        ("claude-haiku-4-5", Retention::LastTurn, false),
        ("unheard-of", Retention::LastTurn, true),
    ];
    for (model, retention, binding) in cases {
        let rules = rules(Anthropic, model);
        assert_eq!((rules.thinking_retention, rules.thinking_binding), (retention, binding), "{model}");
    }
}

#[test]
fn platforms() {
    // collapse, automatic marker, diagnostics, one hour
    let cases = [
        (Anthropic, "claude-opus-5-5", Collapse::Yes, Yes, Yes, Yes),
        (Anthropic, "unheard-of", Collapse::Unknown, Unverified, Yes, Yes),
        (ClaudeOnAws, "claude-opus-5-5", Collapse::Unknown, Yes, No, Yes),
        (Foundry, "claude-opus-5-5", Collapse::Unknown, Yes, Unverified, Yes),
        (Bedrock, "anthropic.claude-opus-4-7", Collapse::Unknown, Yes, No, Yes),
        (Bedrock, "anthropic.claude-opus-4-6-v1", Collapse::Unknown, No, No, Yes),
        (GoogleCloud, "claude-opus-4-6", Collapse::Unknown, Yes, No, Yes),
        (Compatible, "claude-opus-5-5", Collapse::Unknown, Unverified, Unverified, Unverified),
    ];
    for (platform, model, collapse_runs, automatic, diagnostics, one_hour) in cases {
        let rules = rules(platform, model);
        assert_eq!(rules.lookback, Lookback { positions: 20, collapse_runs }, "{platform} {model}");
        let actual = (rules.automatic_marker, rules.diagnostics, rules.one_hour_ttl, rules.max_markers);
        assert_eq!(actual, (automatic, diagnostics, one_hour, 4), "{platform} {model}");
    }
}

/// A whole object of each sort, so that a field that is forgotten on the way from the data shows.
#[test]
fn whole_rules() {
    let tool_prompt =
        |auto, any| ToolPrompt { auto_or_none: Some(Tokens(auto)), any_or_tool: Some(Tokens(any)) };
    let opus = Rules {
        efforts: Some(vec!["low", "medium", "high", "xhigh", "max"]),
        id: "claude-opus-5".to_owned(),
        known: true,
        minimum: Minimum { below: Tokens(512), sure: Tokens(512), stated: Tokens(512) },
        lookback: Lookback { positions: 20, collapse_runs: Collapse::Yes },
        max_markers: 4,
        one_hour_ttl: Yes,
        automatic_marker: Yes,
        diagnostics: Yes,
        in_band_system: Yes,
        in_band_tools: Yes,
        in_band_effort: Yes,
        in_band_clear_at: Yes,
        thinking_retention: Retention::AllTurns,
        thinking_binding: false,
        tool_prompt: tool_prompt(286, 406),
        template: Template::append_only(),
        context_window: Tokens(1_000_000),
        max_output: Tokens(128_000),
        retires: None,
        earliest_retirement: Some(date(2027, 7, 24)),
        notes: vec![],
    };
    assert_eq!(rules(Anthropic, "claude-opus-5"), opus);
    let sonnet = rules(Anthropic, "claude-sonnet-4-5-20250929");
    assert_eq!(
        (sonnet.retires, sonnet.context_window.0, sonnet.notes.len()),
        (Some(date(2026, 11, 30)), 200_000, 1)
    );
    let unknown = rules(Anthropic, "unheard-of");
    assert_eq!(
        (unknown.id.as_str(), unknown.known, unknown.context_window.0),
        ("unheard-of", false, 200_000)
    );
    assert_eq!(unknown.notes, ["`unheard-of` is not in the model data: cautious values are assumed."]);
}
