//! What usage alone can say: a row of requests of one conversation, without bodies.

use antefix_models::{Reach, Tokens};

use super::judge::server_says;
use super::parameters::routing;
use super::time::{Loss, expired, left_the_head, loss, overlap};
use super::{Confidence, Finding, Kind, Observation, Party, Severity, Value};

/// Judges the usages of a conversation in order; each finding with the two requests it is between.
///
/// It says what can be known and no more: without bodies it cannot say what changed, and says so with what would.
pub fn series(observations: &[Observation<'_>]) -> Vec<((usize, usize), Finding)> {
    let floor = pinned_floor(observations);
    let mut found: Vec<((usize, usize), Finding)> = Vec::new();
    for (at, pair) in observations.windows(2).enumerate() {
        let [earlier, later] = pair else { continue };
        let in_floor = floor.as_ref().is_some_and(|(from, to, _)| (*from..=*to).contains(&(at + 1)));
        if let Some(finding) = tier(observations.get(..=at).unwrap_or_default(), later) {
            found.push(((at, at + 1), finding));
        }
        if in_floor {
            continue;
        }
        let next = observations.get(at + 2);
        let dropped = drop_between(earlier, later, next);
        match (dropped, found.last_mut()) {
            // Of a crowd that left at once, one finding tells it all.
            (Some(more), Some(((_, to), known)))
                if more.kind == Kind::ColdFanout && known.kind == Kind::ColdFanout && *to == at =>
            {
                known.rewritten = known.rewritten.zip(more.rewritten).map(|(one, two)| one + two);
                *to = at + 1;
            }
            (dropped, _) => found.extend(dropped.map(|finding| ((at, at + 1), finding))),
        }
    }
    if let Some(finding) = nothing_cached(observations) {
        found.push(((0, observations.len().saturating_sub(1)), finding));
    }
    if let Some((from, _, finding)) = floor {
        found.push(((from.saturating_sub(1), from), finding));
    }
    for ((_, to), finding) in &mut found {
        finding.evidence.note("at", *to);
        if let Some(later) = observations.get(*to) {
            server_says(finding, later);
        }
    }
    found.sort_by_key(|(between, _)| *between);
    found
}

/// Nothing was ever read or written: the prompt is too short, or it is long enough and grows, so that there are no
/// markers.
fn nothing_cached(observations: &[Observation<'_>]) -> Option<Finding> {
    let usages: Vec<_> = observations.iter().map(|one| one.usage).collect::<Option<_>>()?;
    let (first, last) = (usages.first()?, observations.last()?);
    let grows = usages.len() > 1 && last.usage?.prompt() > first.prompt();
    let is_cold = usages.iter().all(|usage| (usage.read + usage.write_5m + usage.write_1h).is_zero());
    let minimum = &last.rules.minimum;
    let kind = match (minimum.reach(first.prompt()), minimum.reach(last.usage?.prompt())) {
        (Reach::Sure, _) if grows => Kind::NoBreakpoint,
        (_, Reach::Below) => Kind::BelowMinimum,
        _ => return None,
    };
    (is_cold && !last.is_implicit()).then(|| {
        let mut finding = Finding { confidence: Confidence::Suspected, ..Finding::new(kind, "") };
        finding.evidence.note("input_tokens", last.usage.unwrap_or_default().prompt().0);
        if kind == Kind::NoBreakpoint {
            finding.evidence.note("next_step", "look for cache_control in a request body");
        }
        finding
    })
}

/// The read stays the same while the prompt grows: the longest such row of at least three requests.
fn pinned_floor(observations: &[Observation<'_>]) -> Option<(usize, usize, Finding)> {
    let usages: Vec<_> = observations.iter().map(|one| one.usage.unwrap_or_default()).collect();
    let stuck = |at: usize| match (observations.get(at.wrapping_sub(1)), observations.get(at)) {
        (Some(earlier), Some(later)) => {
            let same = earlier.usage.map(|usage| usage.read) == later.usage.map(|usage| usage.read);
            let apart = !overlap(earlier, later) && !at_once(earlier, later);
            same && apart
                && matches!(loss(earlier, later, false), Loss::Lost(_))
                && expired(earlier, later).is_none()
        }
        _ => false,
    };
    let mut best: Option<(usize, usize)> = None;
    let mut at = 1;
    while at < usages.len() {
        let end = (at..usages.len()).take_while(|&index| stuck(index)).last();
        if let Some(end) = end {
            if best.is_none_or(|(from, to)| end - at > to - from) {
                best = Some((at, end));
            }
            at = end;
        }
        at += 1;
    }
    let (from, to) = best.filter(|(from, to)| to - from >= 1)?;
    let (first, last) = (usages.get(from - 1)?, usages.get(to)?);
    let paid_again = last.prompt() - last.read;
    if last.prompt() <= first.prompt() || paid_again.0 * 10 < last.prompt().0 {
        return None;
    }
    let mut finding = Finding::new(Kind::PinnedFloor, "");
    finding.confidence = Confidence::Suspected;
    let lost = observations.windows(2).skip(from - 1).take(to + 1 - from).map(|pair| match pair {
        [earlier, later] => match loss(earlier, later, false) {
            Loss::Lost(tokens) => tokens,
            Loss::Kept | Loss::Unknown => Tokens::ZERO,
        },
        _ => Tokens::ZERO,
    });
    finding.rewritten = Some(lost.sum());
    finding.exact = true;
    let ratio = last.read.0.saturating_mul(10_000).checked_div(last.prompt().0).unwrap_or(0);
    finding.evidence.note("floor", last.read.0).note("healthy", false).note("first_bad", from);
    finding.evidence.note("hit_ratio_last", Value::Share(ratio)).note("cause_certain", false);
    finding.evidence.note("next_step", NEXT_STEP);
    Some((from, to, finding))
}

/// Less was read than was there.
fn drop_between(
    earlier: &Observation<'_>,
    later: &Observation<'_>,
    next: Option<&Observation<'_>>,
) -> Option<Finding> {
    let Loss::Lost(lost) = loss(earlier, later, true) else {
        return None;
    };
    let mut finding = cause(earlier, later);
    finding.rewritten = Some(lost);
    finding.exact = true;
    if let Some(usage) = later.usage {
        finding.evidence.note("extra_written_tokens", (usage.write_5m + usage.write_1h).0);
    }
    if let Some(usage) = next.and_then(|next| next.usage) {
        let back = later.cached().is_some_and(|cached| usage.read >= cached);
        finding.evidence.note("recovers", back);
    }
    Some(finding)
}

fn cause(earlier: &Observation<'_>, later: &Observation<'_>) -> Finding {
    if let Some(ttl) = expired(earlier, later) {
        let kind = if left_the_head(earlier, later) { Kind::TtlMixed } else { Kind::TtlExpired };
        let mut finding = Finding::new(kind, "");
        finding.root_cause = format!("ttl_expired_{ttl}");
        return finding;
    }
    if let Some(finding) = routing(earlier, later).into_iter().next() {
        return finding;
    }
    if overlap(earlier, later) || at_once(earlier, later) {
        return Finding::new(Kind::ColdFanout, "");
    }
    let same_prefix = earlier.prefix.is_some() && earlier.prefix == later.prefix;
    let not_found = later.server_reason.as_deref() == Some("previous_message_not_found");
    let shrank =
        earlier.usage.zip(later.usage).is_some_and(|(old, new)| new.prompt().0 * 5 < old.prompt().0 * 3);
    let mut finding = if same_prefix || not_found {
        Finding::new(Kind::ProviderSuspected, "")
    } else if shrank {
        Finding::new(Kind::Compaction, "")
    } else {
        Finding::new(Kind::Unexplained, "")
    };
    finding.confidence = Confidence::Suspected;
    match finding.kind {
        Kind::ProviderSuspected => drop(finding.evidence.note("user_actionable", false)),
        _ => drop(finding.evidence.note("next_step", NEXT_STEP)),
    }
    finding
}

/// Two requests within two seconds wrote the same amount.
fn at_once(earlier: &Observation<'_>, later: &Observation<'_>) -> bool {
    let close =
        earlier.started_at.zip(later.started_at).is_some_and(|(from, to)| to.0.abs_diff(from.0) < 2000);
    let same = earlier.usage.zip(later.usage).is_some_and(|(old, new)| {
        let (left, right) = (old.write_5m + old.write_1h, new.write_5m + new.write_1h);
        old.read == new.read && left.0.abs_diff(right.0) * 10 <= left.0 && !left.is_zero()
    });
    close && same
}

/// All writes so far lived one hour, and these live five minutes.
fn tier(before: &[Observation<'_>], later: &Observation<'_>) -> Option<Finding> {
    let usage = later.usage.filter(|usage| usage.write_1h.is_zero() && !usage.write_5m.is_zero())?;
    let hours = before.iter().filter_map(|one| one.usage).filter(|one| !one.write_1h.is_zero());
    let short = before.iter().filter_map(|one| one.usage).any(|one| !one.write_5m.is_zero());
    if short || hours.count() == 0 {
        return None;
    }
    let mut finding = Finding::new(Kind::TtlDowngraded, "");
    finding.party = Party::Unknown;
    finding.severity = Severity::Fault;
    finding.evidence.note("written_5m", usage.write_5m.0);
    Some(finding)
}

const NEXT_STEP: &str = "compare two request bodies";
