//! Which place a model's reminders have: one row for each rule, and each place is held against what the simulator of the
//! API refuses.

use antefix_models::{Platform, Preset, Setting, rules};
use antefix_session::dialect::Dialect::{Anthropic, OpenAiChat};
use antefix_session::event::Event;
use antefix_session::placement::Placement::{self, DeveloperMessage, InText, SystemMessage, UserBlock};

use super::{context, messages};
use crate::reply::End;
use crate::stage::{Setup, Stage};

const MODELS: &[(&str, Placement)] = &[
    ("claude-opus-4-8", SystemMessage),
    ("claude-opus-5", SystemMessage),
    ("claude-opus-5-5", SystemMessage),
    ("claude-fable-5-1", SystemMessage),
    // Refused.
    ("claude-sonnet-5", UserBlock),
    ("claude-sonnet-4-6", UserBlock),
    ("claude-opus-4-5", UserBlock),
    // Nobody says.
    ("claude-sonnet-5-5", UserBlock),
    // Keeps the thinking of the last turn only.
    ("claude-haiku-4-5", InText),
    // Not known at all.
    ("claude-of-tomorrow", InText),
];

#[test]
fn each_model_has_its_place() {
    for (model, expect) in MODELS {
        assert_eq!(Placement::of_model(Anthropic, &rules(Platform::Anthropic, model)), *expect, "{model}");
    }
}

#[test]
fn a_platform_must_take_it_too() {
    for (platform, expect) in [
        (Platform::Anthropic, SystemMessage),
        (Platform::ClaudeOnAws, SystemMessage),
        // Refused.
        (Platform::Foundry, UserBlock),
        // Nobody says.
        (Platform::Bedrock, UserBlock),
        (Platform::GoogleCloud, UserBlock),
    ] {
        let rules = rules(platform, "claude-opus-5-5");
        assert_eq!(Placement::of_model(Anthropic, &rules), expect, "{platform}");
    }
}

#[test]
fn each_chat_template_has_its_place() {
    let own = |key: &str, value: &str| (key.to_owned(), Setting::Text(value.to_owned()));
    let taken = Preset::own("mine", &[own("late_system", "yes")]).unwrap();
    let refused = Preset::own("mine", &[own("late_system", "no")]).unwrap();
    let strict = ("strict_alternation".to_owned(), Setting::Flag(true));
    let strict = Preset::own("mine", &[own("late_system", "yes"), strict]).unwrap();
    let usual = Preset::named("vllm").unwrap();
    let rows = [
        (usual, "Qwen3-8B", DeveloperMessage),
        (usual, "llama-3.2-3b", DeveloperMessage),
        (usual, "glm-4.5", DeveloperMessage),
        (usual, "gemma-4-31b", DeveloperMessage),
        (usual, "Qwen3.6-27B", InText),
        (usual, "gpt-oss-20b", InText),
        (usual, "DeepSeek-V3.2", InText),
        (usual, "mistral-small-3.1", InText),
        (usual, "gemma-3-12b", InText),
        (usual, "a-model-nobody-knows", InText),
        (Preset::named("deepseek").unwrap(), "deepseek-chat", InText),
        (&taken, "a-model-nobody-knows", DeveloperMessage),
        (&refused, "Qwen3-8B", InText),
        (&strict, "Qwen3-8B", InText),
    ];
    for (preset, model, expect) in rows {
        let found = Placement::of_model(OpenAiChat, &preset.rules(model, None));
        assert_eq!(found, expect, "{model} at {}", preset.name);
    }
}

/// The simulator takes each model's place, with the user's words and with results, and refuses a system message where the
/// place is another one.
#[test]
fn the_simulator_takes_each_place_and_no_other() {
    let known = |model: &str| rules(Platform::Anthropic, model).known;
    for &(model, placement) in MODELS.iter().filter(|(model, _)| known(model)) {
        let setup = |placement| Setup { reminders: Some(placement), model: Some(model), ..Setup::default() };
        let mut stage = Stage::new(setup(placement));
        tell(&mut stage);
        let found = messages(&stage).matches(r#"{"role":"system""#).count();
        assert_eq!(found, if placement.is_apart() { 2 } else { 0 });
        let forced = std::panic::catch_unwind(|| tell(&mut Stage::new(setup(SystemMessage))));
        assert_eq!(forced.is_err(), placement != SystemMessage, "{model}");
    }
}

fn tell(stage: &mut Stage) {
    stage.prompt_with("Go.", vec![context("git", "", "1", Some("One."))]);
    stage.end(End::Calls(1));
    stage.step(Event::Note(vec![context("git", "", "2", Some("Two."))]));
    stage.give(0, "nine", false);
    stage.end(End::Done);
}
