//! From the command line to the simulator's settings.

use antefix_sim::{BlockRules, Config, Engine};

use crate::cli::{ChatKnobs, OnOff, SimArgs};
use crate::failure::Failure;

/// The settings that the options ask for; an option that the profile has no use for is refused.
pub fn config(args: &SimArgs) -> Result<Config, Failure> {
    let name = args.profile.name();
    let mut config = Config::profile(name).ok_or_else(|| Failure::usage(format!("no profile `{name}`")))?;
    let knobs = &args.chat;
    let Some(chat) = &mut config.chat else {
        return match knobs.first_given() {
            None => Ok(config),
            Some(option) => {
                Err(unused(option, name).hint("profiles of Chat Completions: vllm, llamacpp, openai-legacy"))
            }
        };
    };
    if let Some(template) = knobs.template_class {
        chat.template = template.into();
    }
    if !knobs.models.is_empty() {
        chat.models.clone_from(&knobs.models);
    }
    chat.context = knobs.context.unwrap_or(chat.context);
    chat.report_cached = knobs.cached_tokens.map_or(chat.report_cached, |switch| switch == OnOff::On);
    chat.errors = knobs.errors.map_or(chat.errors, Into::into);
    chat.tools = knobs.tools.map_or(chat.tools, |switch| switch == OnOff::On);
    if let Some(capacity) = knobs.capacity {
        match &mut chat.engine {
            Engine::Blocks(BlockRules { capacity: Some(blocks), .. }) => *blocks = capacity as usize,
            _ => return Err(unused("--capacity", name)),
        }
    }
    if let Some(slots) = knobs.slots {
        match &mut chat.engine {
            Engine::Slots(rules) => rules.count = usize::from(slots),
            Engine::Blocks(_) => return Err(unused("--slots", name)),
        }
    }
    Ok(config)
}

impl ChatKnobs {
    fn first_given(&self) -> Option<&'static str> {
        let given = [
            (self.template_class.is_some(), "--template-class"),
            (!self.models.is_empty(), "--model"),
            (self.context.is_some(), "--context"),
            (self.capacity.is_some(), "--capacity"),
            (self.slots.is_some(), "--slots"),
            (self.cached_tokens.is_some(), "--cached-tokens"),
            (self.errors.is_some(), "--errors"),
            (self.tools.is_some(), "--tools"),
        ];
        given.into_iter().find(|(given, _)| *given).map(|(_, option)| option)
    }
}

fn unused(option: &str, profile: &str) -> Failure {
    Failure::usage(format!("`{option}` means nothing with the profile `{profile}`"))
}

#[cfg(test)]
mod tests {
    use antefix_sim::{ChatConfig, Engine, ErrorShape, SlotRules, TemplateClass};
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    fn configured(options: &str) -> Result<Config, String> {
        let words = format!("antefix sim {options}");
        let cli = Cli::try_parse_from(words.split_whitespace()).map_err(|error| error.kind().to_string())?;
        let Command::Sim(args) = cli.command else { panic!("{words} is no simulator") };
        config(&args).map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn options_become_settings() {
        let chat = |change: fn(&mut ChatConfig)| {
            let mut chat = ChatConfig::vllm();
            change(&mut chat);
            Config::chat(chat)
        };
        let slots = Engine::Slots(SlotRules { count: 2, similarity_percent: 10 });
        let cases = [
            ("", Config::default()),
            ("--profile bedrock", Config::bedrock()),
            ("--profile vllm", chat(|_| {})),
            (
                "--profile llamacpp --slots 2",
                Config::chat(ChatConfig { engine: slots, ..ChatConfig::llamacpp() }),
            ),
            ("--profile openai-legacy", Config::chat(ChatConfig::openai_legacy())),
            ("--profile vllm --template-class dated", chat(|chat| chat.template = TemplateClass::Dated)),
            (
                "--profile vllm --model a --model b",
                chat(|chat| chat.models = vec!["a".to_owned(), "b".to_owned()]),
            ),
            ("--profile vllm --context 99", chat(|chat| chat.context = 99)),
            ("--profile vllm --cached-tokens on", chat(|chat| chat.report_cached = true)),
            ("--profile vllm --tools off", chat(|chat| chat.tools = false)),
            ("--profile vllm --errors llamacpp", chat(|chat| chat.errors = ErrorShape::LlamaCpp)),
            (
                "--profile vllm --capacity 7",
                chat(|chat| match &mut chat.engine {
                    Engine::Blocks(rules) => rules.capacity = Some(7),
                    Engine::Slots(_) => {}
                }),
            ),
        ];
        for (options, expect) in cases {
            assert_eq!(configured(options), Ok(expect), "{options}");
        }
    }

    #[test]
    fn options_without_use_are_refused() {
        let cases = [
            ("--capacity 7", "`--capacity` means nothing with the profile `anthropic`"),
            ("--profile bedrock --model x", "`--model` means nothing with the profile `bedrock`"),
            ("--profile llamacpp --capacity 7", "`--capacity` means nothing with the profile `llamacpp`"),
            (
                "--profile openai-legacy --capacity 7",
                "`--capacity` means nothing with the profile `openai-legacy`",
            ),
            ("--profile vllm --slots 2", "`--slots` means nothing with the profile `vllm`"),
        ];
        for (options, expect) in cases {
            let failure = configured(options).unwrap_err();
            assert!(failure.contains(expect), "{options}: {failure}");
        }
        for options in
            ["--profile vllm --capacity 0", "--profile llamacpp --slots 0", "--profile vllm --context 0"]
        {
            assert!(configured(options).is_err(), "{options}");
        }
    }
}
