//! The rules that planner and provider go by.

use antefix_models::{Collapse, Lookback, Minimum, Platform, Retention, Rules, Support, Tokens, rules};
use antefix_sim::{Binding, Config, Grey, ImageRule, Script, Simulator};

use crate::conversation::MODEL;

/// One set of rules, for the planner and for the provider.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// What the planner is told.
    pub told: Collapse,
    /// What the provider does.
    pub collapses: bool,
    pub retention: Retention,
    pub images: ImageRule,
    pub grey: Grey,
}

impl Setting {
    /// What the planner goes by. Its grey band is wider than the provider's: lengths are estimates.
    pub fn rules(self) -> Rules {
        Rules {
            minimum: Minimum { below: Tokens(250), sure: Tokens(1_400), stated: Tokens(500) },
            lookback: Lookback { positions: 20, collapse_runs: self.told },
            thinking_retention: self.retention,
            in_band_system: Support::Yes,
            one_hour_ttl: Support::Yes,
            ..rules(Platform::Anthropic, MODEL)
        }
    }

    pub fn provider(self) -> Simulator {
        let minimum = Minimum { below: Tokens(300), sure: Tokens(700), stated: Tokens(500) };
        let config = Config {
            rules: vec![(MODEL.to_owned(), Rules { minimum, ..self.rules() })],
            collapse_runs: Some(self.collapses),
            images: self.images,
            grey: self.grey,
            binding: Binding::Never,
            ..Config::default()
        };
        Simulator::new(config, Script::default_script())
    }

    /// What the provider does, as arguments of `tests/oracle/oracle.py bill`.
    pub fn arguments(self) -> String {
        let collapse = if self.collapses { "yes" } else { "no" };
        let minimum = if self.grey == Grey::Stated { 500 } else { 700 };
        let thinking = if self.retention == Retention::LastTurn { "last" } else { "all" };
        let images = if self.images == ImageRule::Presence { "presence" } else { "off" };
        format!("--collapse {collapse} --minimum {minimum} --thinking {thinking} --images {images}")
    }
}

/// Every setting that is tried.
pub fn settings() -> Vec<Setting> {
    let mut settings = Vec::new();
    for (told, collapses) in
        [(Collapse::Yes, true), (Collapse::No, false), (Collapse::Unknown, true), (Collapse::Unknown, false)]
    {
        for retention in [Retention::AllTurns, Retention::LastTurn] {
            for (images, grey) in [(ImageRule::Presence, Grey::Stated), (ImageRule::Off, Grey::NotCached)] {
                settings.push(Setting { told, collapses, retention, images, grey });
            }
        }
    }
    settings
}
