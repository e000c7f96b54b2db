//! What stands in one conversation several times.

use std::collections::BTreeMap;

use super::messages::result_text;
use super::prompt::Item;
use super::{Confidence, Finding, Kind, Prompt, layout};

/// Finds long texts that a conversation holds more than once: files read again, reminders repeated. `None` where the
/// copies are less than 8 KiB or less than a fifth of what was said.
pub fn bloat(prompt: &Prompt<'_>) -> Option<Finding> {
    let mut copies: BTreeMap<String, Vec<&Item<'_>>> = BTreeMap::new();
    for item in prompt.said() {
        let text = item.text().map_or_else(|| result_text(item), |text| text.into_owned());
        if text.len() >= LONG {
            copies.entry(text).or_default().push(item);
        }
    }
    let said: u64 = prompt.said().map(|item| item.node.range().len() as u64).sum();
    copies.retain(|_, items| items.len() > 1);
    let bytes: u64 = copies.iter().map(|(text, items)| text.len() as u64 * (items.len() as u64 - 1)).sum();
    if bytes < LEAST_BYTES || bytes.saturating_mul(5) < said {
        return None;
    }
    let largest = copies.iter().max_by_key(|(text, items)| text.len() * items.len())?.1;
    let second = largest.get(1)?;
    let mut finding =
        Finding { confidence: Confidence::Certain, ..Finding::new(Kind::Bloat, second.path.to_string()) };
    let share = bytes.saturating_mul(10_000).checked_div(said).unwrap_or(0);
    finding.evidence.note("copies_of_the_largest", largest.len());
    finding.evidence.note("repeated_tokens_estimated", layout::estimate(bytes).0);
    finding.evidence.note("share_of_the_conversation", super::Value::Share(share));
    Some(finding)
}

/// Shorter texts are repeated by chance.
const LONG: usize = 256;
const LEAST_BYTES: u64 = 8 * 1024;
