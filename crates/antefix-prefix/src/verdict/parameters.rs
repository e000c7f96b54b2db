//! What happened to the settings beside the prompt.

use std::borrow::Cow;

use antefix_wire::json::{Kind as Json, Node};

use super::judge::Draft;
use super::prompt::{Prompt, Setting};
use super::{Finding, Kind, Observation};
use crate::difference::walk::walk;

/// Differences of the settings that stand in front of the whole prompt.
pub(super) fn early(earlier: &Prompt<'_>, later: &Prompt<'_>) -> Vec<Draft> {
    differences(earlier, later, |setting| !setting.is_late, 0)
}

/// Differences of the settings that count for the messages only; `head` is where those start.
pub(super) fn late(earlier: &Prompt<'_>, later: &Prompt<'_>, head: usize) -> Vec<Draft> {
    differences(earlier, later, |setting| setting.is_late, head)
}

/// Differences beside the body: account, provider, region, beta features.
pub(super) fn routing(earlier: &Observation<'_>, later: &Observation<'_>) -> Vec<Finding> {
    let hints = [
        (Kind::RoutingAccount, "account", &earlier.account, &later.account),
        (Kind::RoutingProvider, "provider", &earlier.provider, &later.provider),
        (Kind::RoutingRegion, "region", &earlier.region, &later.region),
        (Kind::ParamsBetas, "betas", &earlier.betas, &later.betas),
    ];
    let differing = hints.into_iter().filter_map(|(kind, name, old, new)| match (old, new) {
        (Some(old), Some(new)) if old != new => {
            let mut finding = Finding::new(kind, "");
            finding.evidence.note(name, vec![old.clone(), new.clone()]);
            Some(finding)
        }
        _ => None,
    });
    differing.collect()
}

fn differences(
    earlier: &Prompt<'_>,
    later: &Prompt<'_>,
    wanted: fn(&Setting) -> bool,
    position: usize,
) -> Vec<Draft> {
    let settings = earlier.dialect.settings().iter().filter(|setting| wanted(setting));
    let found = settings.filter_map(|setting| {
        let (pointer, kind) = (setting.pointer, &setting.kind?);
        let (left, right) = (earlier.root.pointer(pointer), later.root.pointer(pointer));
        let (old, new) = (meaning(left, *kind), meaning(right, *kind));
        if old == new {
            return None;
        }
        let inside = match (left, right) {
            (Some(left), Some(right)) => {
                walk(left, right, false).map(|found| found.path()).unwrap_or_default()
            }
            _ => String::new(),
        };
        let mut finding = Finding::new(*kind, format!("{pointer}{inside}"));
        finding.evidence.note("values", vec![old.into_owned(), new.into_owned()]);
        Some(Draft { finding, position })
    });
    found.collect()
}

/// A setting's text; what is absent has the text of the default, where that is documented to be the same.
///
/// Source: platform.claude.com/docs/en/build-with-claude/effort: leaving it out equals `high`.
fn meaning(node: Option<Node<'_>>, kind: Kind) -> Cow<'_, str> {
    match node.filter(|node| !node.is_null()) {
        Some(node) if node.kind() == Json::Object => {
            let mut out = Vec::new();
            crate::spelling::write_standard(&mut out, node, None);
            Cow::Owned(String::from_utf8_lossy(&out).into_owned())
        }
        Some(node) => node.str().unwrap_or_else(|| node.raw().into()),
        None if kind == Kind::ParamsEffort => Cow::Borrowed("high"),
        None => Cow::Borrowed(""),
    }
}
