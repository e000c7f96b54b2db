//! What happened to the tools.

use std::collections::BTreeSet;

use super::compare::{self, Spot};
use super::judge::Draft;
use super::prompt::{Item, Prompt};
use super::recognise::recognise;
use super::{Finding, Kind};
use crate::difference::Change;

/// All differences between two lists of tools; positions are those in the earlier list.
pub(super) fn tools(earlier: &Prompt<'_>, later: &Prompt<'_>) -> Vec<Draft> {
    let (old, new) = (&earlier.tools, &later.tools);
    if old.len() == new.len() && old.iter().zip(new).all(|(left, right)| left.node.raw() == right.node.raw())
    {
        return Vec::new();
    }
    let mut drafts = changed(old, new);
    drafts.extend(deferral(earlier, later));
    let known = |list: &[Item<'_>], rest: &[Item<'_>], name: &str| {
        list.iter().chain(rest).any(|one| one.name == name)
    };
    let added: Vec<&Item<'_>> =
        new.iter().filter(|tool| !known(old, &earlier.deferred, &tool.name)).collect();
    let removed: Vec<&Item<'_>> =
        old.iter().filter(|tool| !known(new, &later.deferred, &tool.name)).collect();
    drafts.extend(set_change(Kind::ToolsAdded, old, new, &added, &removed));
    drafts.extend(set_change(Kind::ToolsRemoved, old, new, &added, &removed));
    drafts.extend(reordered(old, new));
    for draft in &mut drafts {
        let lost = usize::from(draft.position >= old.len());
        let lost = ["tools", "system", "messages"].iter().skip(lost).map(|part| (*part).to_owned());
        draft.finding.evidence.note("lost", lost.collect::<Vec<_>>());
    }
    drafts
}

/// The same names in another order.
fn reordered(old: &[Item<'_>], new: &[Item<'_>]) -> Option<Draft> {
    let names = |list: &[Item<'_>]| list.iter().map(|tool| tool.name.to_string()).collect::<BTreeSet<_>>();
    let (before, after) = (names(old), names(new));
    let kept = |list: &[Item<'_>], other: &BTreeSet<String>| -> Vec<usize> {
        let is_kept = |(_, tool): &(usize, &Item<'_>)| other.contains(&*tool.name);
        list.iter().enumerate().filter(is_kept).map(|(index, _)| index).collect()
    };
    let (left, right) = (kept(old, &after), kept(new, &before));
    let (position, at) = left.into_iter().zip(right).find(|(left, right)| {
        old.get(*left).map(|tool| &tool.name) != new.get(*right).map(|tool| &tool.name)
    })?;
    let (was, is) = (old.get(position)?, new.get(at)?);
    let mut finding = Finding::new(Kind::ToolsReordered, is.path.to_string());
    finding.evidence.note("same_tool_set", before == after);
    finding.earlier = Some(was.name.to_string());
    finding.later = Some(is.name.to_string());
    Some(Draft { finding, position })
}

/// Names that came or went.
fn set_change(
    kind: Kind,
    old: &[Item<'_>],
    new: &[Item<'_>],
    added: &[&Item<'_>],
    removed: &[&Item<'_>],
) -> Option<Draft> {
    let first = if kind == Kind::ToolsAdded { *added.first()? } else { *removed.first()? };
    let position = if kind == Kind::ToolsRemoved {
        old.iter().position(|tool| tool.name == first.name)?
    } else {
        let index = new.iter().position(|tool| tool.name == first.name)?;
        let mut before = new.get(..index)?.iter().rev();
        before.find_map(|tool| old.iter().position(|one| one.name == tool.name)).map_or(0, |at| at + 1)
    };
    let spot = if kind == Kind::ToolsAdded { Spot::added(first) } else { Spot::removed(first) };
    let mut finding = spot.finding(kind);
    let names = |tools: &[&Item<'_>]| tools.iter().map(|tool| tool.name.to_string()).collect::<Vec<_>>();
    finding.evidence.note("added", names(added)).note("removed", names(removed));
    Some(Draft { finding, position })
}

/// Tools that were switched between loaded and deferred.
fn deferral(earlier: &Prompt<'_>, later: &Prompt<'_>) -> Vec<Draft> {
    let flips = |loaded: &[Item<'_>], deferred: &[Item<'_>]| -> Vec<(usize, String)> {
        let both = loaded.iter().enumerate().filter_map(|(index, tool)| {
            let found = deferred.iter().find(|one| one.name == tool.name)?;
            Some((index, found.path.to_string()))
        });
        both.collect()
    };
    let away = flips(&earlier.tools, &later.deferred);
    let back = flips(&later.tools, &earlier.deferred);
    let draft = |(position, path): (usize, String), deferred: bool| {
        let mut finding = Finding::new(Kind::ToolsDefer, format!("{path}/defer_loading"));
        finding.evidence.note("deferred_now", deferred);
        Draft { finding, position: position.min(earlier.tools.len()) }
    };
    let away = away.into_iter().map(|flip| draft(flip, true));
    away.chain(back.into_iter().map(|flip| draft(flip, false))).collect()
}

/// Tools of the same name with another definition.
fn changed(old: &[Item<'_>], new: &[Item<'_>]) -> Vec<Draft> {
    let pairs = old.iter().enumerate().filter_map(|(position, was)| {
        let same_place = new.get(position).filter(|is| is.name == was.name);
        let is = same_place.or_else(|| new.iter().find(|is| is.name == was.name))?;
        let spot = compare::items(was, is)?;
        let kind = kind_of(&spot);
        let inside = spot.inside.clone();
        let mut finding = spot.finding(kind);
        finding.evidence.note("tool", was.name.to_string());
        if kind == Kind::ToolsKeyOrder {
            finding.evidence.note("canonically_equal", true);
        }
        let text = |item: &Item<'_>| {
            item.node.pointer(&inside).and_then(|leaf| leaf.str().map(|text| text.into_owned()))
        };
        if let (Some(left), Some(right)) = (text(was), text(is))
            && let Some(found) = recognise(&left, &right)
        {
            finding.evidence.note("source", found.source.words());
        }
        Some(Draft { finding, position })
    });
    pairs.collect()
}

fn kind_of(spot: &Spot) -> Kind {
    let inside = spot.inside.strip_prefix("/function").unwrap_or(&spot.inside);
    let member = inside.split('/').nth(1).unwrap_or_default();
    match (spot.change, member) {
        (Change::KeyOrder, _) => Kind::ToolsKeyOrder,
        (_, "description") => Kind::ToolsDescription,
        (_, "input_schema" | "parameters" | "parametersJsonSchema" | "parameters_json_schema") => {
            Kind::ToolsSchema
        }
        (_, "defer_loading") => Kind::ToolsDefer,
        _ => Kind::ToolsChanged,
    }
}
