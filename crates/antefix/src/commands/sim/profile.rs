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
            (self.tools.is_some(), "--tools"),
        ];
        given.into_iter().find(|(given, _)| *given).map(|(_, option)| option)
    }
}

fn unused(option: &str, profile: &str) -> Failure {
    Failure::usage(format!("`{option}` means nothing with the profile `{profile}`"))
}
