//! What the markers say: of one request alone, and of a request that extends another.

use antefix_models::{Reach, Rules, Tokens};
use antefix_wire::anthropic::{BlockKind, Ttl};

use super::prompt::{Item, Prompt};
use super::{Confidence, Dialect, Finding, Kind, Observation, Party};

/// Faults of one request's markers.
pub(super) fn alone(observation: &Observation<'_>) -> Vec<Finding> {
    let Some(prompt) = observation.prompt.filter(|prompt| prompt.dialect == Dialect::Anthropic) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    // What was answered was not refused, whatever the rules say.
    if observation.usage.is_none() {
        found.extend(too_many(observation, prompt));
        found.extend(illegal(prompt));
        found.extend(order(prompt));
    }
    found.extend(nothing_cached(observation, prompt));
    found.extend(beta_dropped(observation));
    found
}

/// A beta feature that the client asked for and that did not go upstream.
fn beta_dropped(observation: &Observation<'_>) -> Option<Finding> {
    let asked = observation.client_betas.as_ref()?;
    let list = |text: &str| text.split(',').map(|one| one.trim().to_owned()).collect::<Vec<_>>();
    let sent = observation.betas.as_deref().map(list).unwrap_or_default();
    let dropped: Vec<_> =
        list(asked).into_iter().filter(|one| !one.is_empty() && !sent.contains(one)).collect();
    (!dropped.is_empty()).then(|| {
        let mut finding = Finding { confidence: Confidence::Certain, ..Finding::new(Kind::BetaDropped, "") };
        finding.evidence.note("dropped", dropped);
        finding
    })
}

fn too_many(observation: &Observation<'_>, prompt: &Prompt<'_>) -> Option<Finding> {
    let (markers, most) = (prompt.markers(), observation.rules.max_markers);
    let mut finding = Finding::new(Kind::TooMany, "");
    finding.evidence.note("markers", markers).note("most", u64::from(most));
    (markers > most as usize).then_some(finding)
}

fn illegal(prompt: &Prompt<'_>) -> Option<Finding> {
    let is_empty = |item: &Item<'_>| item.text().is_some_and(|text| text.trim().is_empty());
    let item = prompt.items().find(|item| item.marker.is_some() && (item.is_thinking() || is_empty(item)))?;
    Some(Finding::new(Kind::IllegalMarker, format!("{}/cache_control", item.path)))
}

/// A one-hour marker behind a five-minute one.
fn order(prompt: &Prompt<'_>) -> Option<Finding> {
    let mut seen_short = false;
    let late = prompt.items().find(|item| {
        seen_short |= item.marker == Some(Ttl::FiveMinutes);
        seen_short && item.marker == Some(Ttl::OneHour)
    })?;
    Some(Finding::new(Kind::Order, format!("{}/cache_control", late.path)))
}

/// Nothing was read or written although the request is long enough, or because it is not.
fn nothing_cached(observation: &Observation<'_>, prompt: &Prompt<'_>) -> Option<Finding> {
    let usage = observation.usage?;
    let cached = usage.read + usage.write_5m + usage.write_1h;
    if !cached.is_zero() {
        return None;
    }
    let reach = observation.rules.minimum.reach(usage.prompt());
    let client_marks = observation.client.is_some_and(|client| client.markers() > 0);
    let kind = match (prompt.markers(), reach) {
        (0, _) if client_marks => Kind::MarkerMoved,
        (0, Reach::Sure) => Kind::NoBreakpoint,
        (1.., Reach::Below) => Kind::BelowMinimum,
        _ => return None,
    };
    let mut finding = Finding::new(kind, "");
    finding.confidence = Confidence::Certain;
    finding.evidence.note("input_tokens", usage.prompt().0);
    match kind {
        Kind::BelowMinimum => drop(finding.evidence.note("minimum", observation.rules.minimum.stated.0)),
        Kind::NoBreakpoint => finding.rewritten = None,
        _ => finding.party = Party::Gateway,
    }
    Some(finding)
}

/// Number of positions between the last entry an earlier request wrote and the last marker of one that extends it,
/// in the platform's count; `None` where there is no entry or no marker behind it.
///
/// Where runs of tool calls, and of their results, collapse, each run is one position. Source:
/// platform.claude.com/docs/en/build-with-claude/prompt-caching, September 2026 (Claude API).
pub fn positions_since_last_entry(earlier: &Prompt<'_>, later: &Prompt<'_>, rules: &Rules) -> Option<usize> {
    distances(earlier, later, rules).last().copied()
}

/// No marker of the later request can reach the entry of the earlier one.
pub(super) fn lookback(earlier: &Prompt<'_>, later: &Prompt<'_>, rules: &Rules) -> Option<Finding> {
    let distances = distances(earlier, later, rules);
    let window = rules.lookback.positions as usize;
    let last = distances.last().copied()?;
    if distances.iter().any(|distance| *distance < window) {
        return None;
    }
    let item = later.items().filter(|item| item.marker.is_some()).last();
    let mut finding =
        Finding::new(Kind::Lookback, item.map(|item| item.path.to_string()).unwrap_or_default());
    finding.evidence.note("blocks_since_last_entry", last).note("lookback", window);
    Some(finding)
}

/// The distance of each marker at or behind the earlier request's last entry from that entry.
fn distances(earlier: &Prompt<'_>, later: &Prompt<'_>, rules: &Rules) -> Vec<usize> {
    if earlier.dialect != Dialect::Anthropic || later.dialect != Dialect::Anthropic {
        return Vec::new();
    }
    let Some(entry) = earlier.last_marker() else {
        return Vec::new();
    };
    let collapse = rules.lookback.collapse_runs.is_certain();
    let last = later.items().count().checked_sub(1);
    let mut distance = 0;
    let mut before = None;
    let mut found = Vec::new();
    for (index, item) in later.items().enumerate() {
        let runs =
            (item.is(BlockKind::ToolUse) || item.is(BlockKind::ToolResult)) && before == Some(item.kind);
        before = Some(item.kind);
        if index > entry && !(collapse && runs) {
            distance += 1;
        }
        let marked = item.marker.is_some() || (later.automatic.is_some() && Some(index) == last);
        if index >= entry && marked {
            found.push(distance);
        }
    }
    found
}

/// The earlier request's last marker stood on something that is gone: its item, if the client adds such things.
pub(super) fn transient<'p, 'a>(earlier: &'p Prompt<'a>, position: usize) -> Option<&'p Item<'a>> {
    let items: Vec<_> = earlier.items().collect();
    let marked = earlier.last_marker()?;
    let item = items.get(marked).copied()?;
    let ends_with_it = items.len() <= marked + 2;
    let injected = |item: &Item<'_>| {
        item.role == antefix_wire::anthropic::Role::System
            || item.text().is_some_and(|text| super::recognise::is_injected(&text))
    };
    let all = items.get(position..=marked).unwrap_or_default();
    (position <= marked && ends_with_it && !all.is_empty() && all.iter().all(|item| injected(item)))
        .then_some(item)
}

/// Estimated tokens of so many bytes of JSON: 3.5 bytes each.
pub(super) fn estimate(bytes: u64) -> Tokens {
    Tokens::of_bytes(bytes)
}
