//! What the provider remembers of answered requests, to say why a later one missed (cache diagnostics).

use std::collections::VecDeque;

use crate::Millis;
use crate::binding::Digest;
use crate::render::{Rendered, Section};
use crate::request::{Previous, Request};

/// Fingerprints of recent requests, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memory(VecDeque<Fingerprint>);

impl Memory {
    /// The `diagnostics` member for a request that names `previous`.
    ///
    /// The earliest difference alone is told: model or speed, then the parameters, then tools, system and
    /// messages. Where parameters stand in that order is not documented.
    pub fn diagnose(&self, previous: &Previous, current: &Fingerprint) -> String {
        let Previous::Message(previous) = previous else { return "null".to_owned() };
        let known = |known: &&Fingerprint| {
            known.message_id == *previous
                && known.tenant == current.tenant
                && current.at.0.saturating_sub(known.at.0) < RETENTION
        };
        let Some(earlier) = self.0.iter().rev().find(known) else {
            return reason("previous_message_not_found", None);
        };
        let total: u64 = earlier.blocks.iter().map(|(_, _, tokens)| tokens).sum();
        if earlier.model != current.model {
            return reason("model_changed", Some(total));
        }
        if earlier.params != current.params {
            return reason("unavailable", None);
        }
        let pairs = earlier.blocks.iter().zip(&current.blocks);
        let common = pairs.take_while(|(left, right)| left == right).count();
        let Some(&(lost, _, _)) = earlier.blocks.get(common) else { return "null".to_owned() };
        let missed = earlier.blocks.iter().skip(common).map(|(_, _, tokens)| tokens).sum();
        // Where the earlier request went on with a later section, what changed is the one that differs first.
        let section = current.blocks.get(common).map_or(lost, |&(section, _, _)| section.min(lost));
        let kind = match section {
            Section::Tools => "tools_changed",
            Section::System => "system_changed",
            Section::Messages => "messages_changed",
        };
        reason(kind, Some(missed))
    }

    /// Remembers an answered request.
    pub fn remember(&mut self, fingerprint: Fingerprint, message_id: &str) {
        if self.0.len() >= MOST {
            self.0.pop_front();
        }
        self.0.push_back(Fingerprint { message_id: message_id.to_owned(), ..fingerprint });
    }
}

/// A request without its texts.
#[derive(Clone, Debug)]
pub(crate) struct Fingerprint {
    tenant: String,
    message_id: String,
    at: Millis,
    /// Model and speed.
    model: String,
    /// Parameters whose change is reported as `unavailable`.
    params: String,
    blocks: Vec<(Section, Digest, u64)>,
}

impl Fingerprint {
    pub fn of(request: &Request, blocks: &[Rendered], tenant: &str, at: Millis) -> Self {
        let params = &request.params;
        let digests = blocks.iter().map(|block| {
            let mut digest = Digest::new();
            digest.part("", &block.identity);
            (block.section, digest, block.tokens)
        });
        Self {
            tenant: tenant.to_owned(),
            message_id: String::new(),
            at,
            model: format!("{} {}", request.model, params.speed),
            params: format!(
                "{:?}",
                (
                    (&params.tool_choice, &params.forced_tool, params.disable_parallel),
                    (&params.thinking, &params.effort, &params.format, &params.task_budget),
                    (&params.context_management, &params.betas),
                )
            ),
            blocks: digests.collect(),
        }
    }
}

fn reason(kind: &str, missed: Option<u64>) -> String {
    let missed = missed.map(|tokens| format!(r#","cache_missed_input_tokens":{tokens}"#)).unwrap_or_default();
    format!(r#"{{"cache_miss_reason":{{"type":"{kind}"{missed}}}}}"#)
}

/// The answer while the comparison is not finished.
pub(crate) const PENDING: &str = r#"{"cache_miss_reason":null}"#;

/// "Short retention" in the documentation; an hour is assumed.
const RETENTION: u64 = 3_600_000;
const MOST: usize = 1_000;
