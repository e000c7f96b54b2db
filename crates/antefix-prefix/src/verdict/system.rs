//! What happened to the system prompt.

use super::Kind;
use super::compare::{self, Spot};
use super::judge::Draft;
use super::prompt::{Item, Prompt};
use super::recognise::{Source, Volatile, recognise};

/// All differences between two system prompts; positions are those in the earlier one.
pub(super) fn system(earlier: &Prompt<'_>, later: &Prompt<'_>) -> Vec<Draft> {
    let (old, new) = (&earlier.system, &later.system);
    let Some(first) = (0..old.len().max(new.len())).find(|&at| !same(old.get(at), new.get(at))) else {
        return Vec::new();
    };
    // A block put in front of what was there, or taken out from in front of what is still there.
    let holds = |list: &[Item<'_>], item: Option<&Item<'_>>| {
        item.is_some_and(|item| list.iter().skip(first + 1).any(|other| other.same(item)))
    };
    if old.len() < new.len() && holds(new, old.get(first)) {
        return draft(None, new.get(first), first, false).into_iter().collect();
    }
    if old.len() > new.len() && holds(old, new.get(first)) {
        return draft(old.get(first), None, first, false).into_iter().collect();
    }
    // With a block more or less, what follows stands at other places and tells nothing new.
    let end = if old.len() == new.len() { old.len() } else { first + 1 };
    let others_equal =
        old.len() == new.len() && old.iter().zip(new).filter(|(left, right)| !left.same(right)).count() == 1;
    (first..end).filter_map(|at| draft(old.get(at), new.get(at), at, others_equal && old.len() > 1)).collect()
}

/// The kind of a text's change in the system prompt.
fn kind_of(found: Option<&Volatile>, is_identity: bool) -> Kind {
    match found.map(|found| found.source) {
        Some(Source::Clock) => Kind::SystemClock,
        Some(Source::Date) => Kind::SystemDate,
        Some(Source::Git | Source::Folder | Source::Session | Source::Environment) => Kind::SystemEnv,
        Some(Source::Nonce | Source::Counter) => Kind::SystemNonce,
        _ if is_identity => Kind::SystemIdentity,
        _ => Kind::SystemChanged,
    }
}

fn draft(old: Option<&Item<'_>>, new: Option<&Item<'_>>, position: usize, alone: bool) -> Option<Draft> {
    let (old, new) = match (old, new) {
        (Some(old), Some(new)) => (old, new),
        (None, Some(new)) => {
            return Some(Draft { finding: Spot::added(new).finding(Kind::SystemChanged), position });
        }
        (Some(old), None) => {
            return Some(Draft { finding: Spot::removed(old).finding(Kind::SystemChanged), position });
        }
        (None, None) => return None,
    };
    let spot = compare::items(old, new)?;
    let (before, after) = (old.text().unwrap_or_default(), new.text().unwrap_or_default());
    let found = recognise(&before, &after);
    let is_identity = alone && says_who(&before) && says_who(&after);
    let mut finding = spot.finding(kind_of(found.as_ref(), is_identity));
    if let Some(found) = found {
        finding.evidence.note("source", found.source.words());
        finding.evidence.note(
            "volatile_span",
            super::Value::Group(vec![
                ("prefix", found.frame.into()),
                ("values", vec![found.old, found.new].into()),
            ]),
        );
    }
    if let Some(offset) = finding.offset {
        let agree = before.get(..offset).map_or(0, |text| text.chars().count());
        finding.evidence.note("common_prefix_chars_in_leaf", agree);
    }
    Some(Draft { finding, position })
}

/// Whether a short block says who the model is.
fn says_who(text: &str) -> bool {
    let text = text.trim_start();
    text.len() <= 400
        && ["You are ", "You're ", "Du bist ", "Tu es ", "Eres "].iter().any(|start| text.starts_with(start))
}

fn same(left: Option<&Item<'_>>, right: Option<&Item<'_>>) -> bool {
    match (left, right) {
        (Some(left), Some(right)) => left.same(right),
        (None, None) => true,
        _ => false,
    }
}
