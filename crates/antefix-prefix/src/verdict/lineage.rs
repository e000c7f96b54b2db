//! Which request extends which: by what they have in common, never by arrival.

use std::hash::{DefaultHasher, Hash, Hasher};

use antefix_models::Tokens;
use antefix_wire::json::Node;

use super::prompt::Item;
use super::recognise::{Source, is_injected, recognise};
use super::time::overlap;
use super::{Finding, Kind, Observation, Prompt, Verdict, judge};

/// Requests grouped into conversations. One that was refused is in none: nothing can go on from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lineage {
    /// For each request the one that it should extend.
    pub parents: Vec<Option<usize>>,
    /// The conversations, each with its requests in order.
    pub groups: Vec<Vec<usize>>,
}

impl Lineage {
    /// Judges a request against the one that it should extend, if there is one. A conversation that leaves another,
    /// and beside which that one goes on, is a fork; where it does not, somebody went back.
    pub fn judge(&self, observations: &[Observation<'_>], index: usize) -> Option<Verdict> {
        let parent = self.parent(index)?;
        let mut verdict = judge(observations.get(parent)?, observations.get(index)?);
        let goes_on = self.parents.iter().skip(index + 1).any(|other| *other == Some(parent));
        for finding in verdict.planned.iter_mut().filter(|one| goes_on && one.kind == Kind::Rewind) {
            finding.name(Kind::Fork);
        }
        Some(verdict)
    }

    /// Names the start of a conversation. Where the same session and agent spoke before, and say no more of that, it
    /// was cleared; else it is a first request. `None` only if there is no request `index`.
    pub fn opening(&self, observations: &[Observation<'_>], index: usize) -> Option<Finding> {
        let later = observations.get(index)?;
        let mut finding = opening(observations.get(..index)?, later);
        let goes_on = |group: &Vec<usize>| {
            let is_same = |at: &usize| observations.get(*at).is_some_and(|one| is_same_speaker(one, later));
            group.iter().any(|at| *at < index && is_same(at)) && group.iter().any(|at| *at > index)
        };
        if finding.kind == Kind::Clear && self.groups.iter().any(goes_on) {
            finding.name(Kind::FirstRequest);
        }
        Some(finding)
    }

    fn parent(&self, index: usize) -> Option<usize> {
        self.parents.get(index).copied().flatten()
    }
}

/// Finds for each request the one that it should extend. A session that has spoken before goes on with itself; one that
/// has not may hold the history of another, which it was forked from or resumes. Then the longest common conversation
/// decides, then whether most of what stands behind it recurs (where an early message was reworded, that tells the
/// request before from an older one that ended in front of it), then whether it is the whole earlier request, then
/// tools and system prompt, then the hints, then the later one; but what extends one request to the byte does not leave
/// another with another head. A request whose user asks something else starts a conversation of its own, however much
/// of tools and system it shares.
pub fn lineages(observations: &[Observation<'_>]) -> Lineage {
    let features: Vec<Option<Features>> =
        observations.iter().map(|one| one.prompt.filter(|_| !one.refused).map(Features::of)).collect();
    let mut out = Lineage::default();
    let mut group_of: Vec<Option<usize>> = Vec::new();
    for (index, observation) in observations.iter().enumerate() {
        let parent = parent(observations, &features, index);
        let known = parent.and_then(|parent| group_of.get(parent).copied().flatten());
        let group = (!observation.refused).then(|| known.unwrap_or(out.groups.len()));
        match group.and_then(|group| out.groups.get_mut(group)) {
            Some(members) => members.push(index),
            None => out.groups.extend(group.map(|_| vec![index])),
        }
        group_of.push(group);
        out.parents.push(parent);
    }
    out
}

/// Names the start of a conversation: `earlier` is what was sent before it. Where the same session and agent spoke
/// before, it was cleared; else it is a first request.
pub fn opening(earlier: &[Observation<'_>], later: &Observation<'_>) -> Finding {
    let is_cleared = earlier.iter().any(|one| is_same_speaker(one, later));
    let kind = if is_cleared { Kind::Clear } else { Kind::FirstRequest };
    let mut finding = Finding::new(kind, "");
    if let Some(usage) = later.usage {
        finding.evidence.note("written", (usage.write_5m + usage.write_1h).0).note("read", usage.read.0);
    }
    finding
}

/// Says that a conversation's first request paid for a head that another one was just writing: the same tools and
/// system prompt, sent before the first byte of the other's answer. `None` where that is not so or not known.
pub fn cold_start(sibling: &Observation<'_>, later: &Observation<'_>) -> Option<Finding> {
    let (old, new) = (sibling.prompt?, later.prompt?);
    let same = |left: &[Item<'_>], right: &[Item<'_>]| {
        left.len() == right.len() && left.iter().zip(right).all(|(one, two)| one.same(two))
    };
    let has_head = !old.tools.is_empty() || !old.system.is_empty();
    if !has_head
        || !same(&old.tools, &new.tools)
        || !same(&old.system, &new.system)
        || !overlap(sibling, later)
    {
        return None;
    }
    let written = |one: &Observation<'_>| one.usage.map(|usage| usage.write_5m + usage.write_1h);
    let both = written(sibling)?.min(written(later)?);
    let head = new.tools.iter().chain(&new.system).map(|item| item.node.range().len() as u64).sum::<u64>();
    let share = u128::from(both.0) * u128::from(head) / u128::from(new.bytes_before(usize::MAX).max(1));
    let lost = Tokens(u64::try_from(share).unwrap_or(u64::MAX));
    (!lost.is_zero()).then(|| Finding { rewritten: Some(lost), ..Finding::new(Kind::ColdFanout, "") })
}

fn parent(observations: &[Observation<'_>], features: &[Option<Features>], index: usize) -> Option<usize> {
    let new = features.get(index)?.as_ref()?;
    let fits = candidates(observations, features, index).into_iter().filter_map(|(at, hints)| {
        let fit = features.get(at)?.as_ref()?.fit(new, hints)?;
        Some((fit, at))
    });
    let fits: Vec<(Fit, usize)> = fits.collect();
    let best = fits.iter().max()?;
    // Two conversations may say the same for a while, each behind its own head.
    let is_apart = !best.0.same_head && !best.0.recurs && !best.0.goes_on(new);
    let exact = fits.iter().filter(|(fit, _)| is_apart && fit.same_head && fit.goes_on(new)).max();
    Some(exact.unwrap_or(best).1)
}

/// Requests that one could go on from, each with how many hints agree; the last ones only.
fn candidates(
    observations: &[Observation<'_>],
    features: &[Option<Features>],
    index: usize,
) -> Vec<(usize, usize)> {
    let (Some(later), Some(Some(new))) = (observations.get(index), features.get(index)) else {
        return Vec::new();
    };
    let before = || {
        let known = observations.iter().enumerate().take(index).rev().zip(features.iter().take(index).rev());
        known.filter(|(_, features)| features.is_some()).map(|(known, _)| known)
    };
    let hinted = |(at, earlier): (usize, &Observation<'_>)| Some((at, agreement(earlier, later)?));
    let own = before().filter(|(_, earlier)| is_same_speaker(earlier, later)).filter_map(hinted);
    let own: Vec<_> = own.take(WINDOW).collect();
    if !own.is_empty() {
        return own;
    }
    // A session that says its first words holds nothing of another.
    let may_be = |(_, earlier): &(usize, &Observation<'_>)| {
        !new.is_opening
            || later.session.is_none()
            || earlier.session.is_none()
            || earlier.session == later.session
    };
    before().take(WINDOW).filter(may_be).filter_map(hinted).collect()
}

/// How a request fits an earlier one, the most telling first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fit {
    /// Items of the conversation that both begin with.
    common: usize,
    /// Most of what stands behind them in the earlier one is in the later one too.
    recurs: bool,
    /// It is all that the earlier one holds.
    is_whole: bool,
    /// Items that are in both.
    shared: usize,
    /// Model, tools and system are the same.
    same_head: bool,
    /// Hints that agree.
    hints: usize,
}

impl Fit {
    /// Whether the earlier conversation is followed by something.
    fn goes_on(&self, later: &Features) -> bool {
        self.is_whole && later.said.len() > self.common
    }
}

/// What is compared of a request.
struct Features {
    /// Fingerprints of what was said, in order.
    said: Vec<u64>,
    /// The same in ascending order.
    sorted: Vec<u64>,
    /// Fingerprints of tools and system, in ascending order.
    head: Vec<u64>,
    /// Fingerprint of model, tools and system as they stand.
    front: u64,
    tool_names: Vec<String>,
    system: String,
    /// What the user said in the first message; the question comes last.
    asked: Vec<String>,
    /// It is one message, whatever the client adds to it.
    is_opening: bool,
    /// It starts with a summary of another conversation.
    is_summary: bool,
}

impl Features {
    fn of(prompt: &Prompt<'_>) -> Self {
        let texts = prompt.system.iter().filter_map(|item| item.text().map(|text| text.into_owned()));
        let opening = prompt.turns.first();
        let texts_of_opening = opening.into_iter().flat_map(|turn| &turn.items).filter_map(Item::text);
        let asked =
            texts_of_opening.filter(|text| !is_injected(text)).map(|text| text.into_owned()).collect();
        let said: Vec<u64> = prompt.said().map(Item::fingerprint).collect();
        let mut sorted = said.clone();
        sorted.sort_unstable();
        let mut head: Vec<u64> = prompt.tools.iter().chain(&prompt.system).map(Item::fingerprint).collect();
        let mut front = DefaultHasher::new();
        (prompt.root.get("model").map(Node::raw), &head).hash(&mut front);
        head.sort_unstable();
        Self {
            said,
            sorted,
            head,
            front: front.finish(),
            tool_names: prompt.tools.iter().map(|tool| tool.name.to_string()).collect(),
            system: texts.collect::<Vec<_>>().join("\n"),
            asked,
            is_summary: opening.is_some_and(super::messages::is_summary),
            is_opening: prompt
                .turns
                .iter()
                .filter(|turn| turn.role != antefix_wire::anthropic::Role::System)
                .count()
                <= 1,
        }
    }

    /// How `later` fits, if it goes on with this conversation at all.
    fn fit(&self, later: &Self, hints: usize) -> Option<Fit> {
        let common = self.said.iter().zip(&later.said).take_while(|(left, right)| left == right).count();
        let shared = shared(&self.sorted, &later.sorted);
        let rest = self.said.len() - common;
        self.leads_to(later, common, shared, hints).then_some(Fit {
            common,
            recurs: (shared - common) * 2 > rest,
            is_whole: rest == 0,
            shared,
            same_head: self.front == later.front,
            hints,
        })
    }

    /// Whether `later` goes on with this conversation, as sent or changed.
    fn leads_to(&self, later: &Self, common: usize, shared: usize, hints: usize) -> bool {
        if !self.has_like_head(later) {
            return false;
        }
        let question = self.asked.last();
        // Agents that are sent out together are often asked much the same. So first words that differ are those of one
        // conversation only where a clock or a counter changed them, or most of what follows is the same too.
        let alike = |question: &str, other: &str| {
            let goes_on = !later.is_opening && other.starts_with(question);
            goes_on
                || is_like(question, other)
                    && (recognise(question, other).is_some_and(|found| found.source <= Source::Nonce)
                        || (!later.is_opening && shared * 2 > self.said.len()))
        };
        let asks_the_same = question.is_some_and(|question| {
            later.asked.contains(question)
                || squash(&self.asked) == squash(&later.asked)
                || later.asked.last().is_some_and(|other| alike(question, other))
        });
        let extends = common == self.said.len() && common > 0;
        let holds_question = self.asked.is_empty() && shared > 0;
        let most = shared * 2 >= self.said.len() && shared >= 3;
        let told = hints >= 2 && !later.is_opening;
        extends
            || (asks_the_same && (shared > 0 || common > 0 || !later.is_opening))
            || holds_question
            || most
            || told
            || (later.is_summary && !self.is_summary && self.said.len() > 2)
    }

    /// Whether tools and system could be those of one conversation.
    fn has_like_head(&self, later: &Self) -> bool {
        let empty = |one: &Self| one.head.is_empty();
        (empty(self) && empty(later))
            || shared(&self.head, &later.head) > 0
            || self.tool_names.iter().any(|name| later.tool_names.contains(name))
            || is_like(&self.system, &later.system)
    }
}

/// Number of hints that both know and that agree; `None` if the agents are known to differ.
fn agreement(earlier: &Observation<'_>, later: &Observation<'_>) -> Option<usize> {
    let same = |left: &Option<String>, right: &Option<String>| left.is_some() && left == right;
    match (&earlier.agent, &later.agent) {
        (Some(left), Some(right)) if left != right => None,
        (Some(_), None) | (None, Some(_)) if same(&earlier.session, &later.session) => None,
        _ => Some(
            usize::from(same(&earlier.session, &later.session)) * 2
                + usize::from(same(&earlier.agent, &later.agent)),
        ),
    }
}

/// Whether both say that they come from one session, and from one agent in it.
fn is_same_speaker(earlier: &Observation<'_>, later: &Observation<'_>) -> bool {
    earlier.session.is_some() && earlier.session == later.session && earlier.agent == later.agent
}

/// How many fingerprints of `old` are in `new`, each counted; both are in ascending order.
fn shared(old: &[u64], new: &[u64]) -> usize {
    let mut count = 0;
    let mut rest = new.iter().peekable();
    for print in old {
        while rest.next_if(|other| *other < print).is_some() {}
        count += usize::from(rest.next_if_eq(&print).is_some());
    }
    count
}

/// Whether two texts agree at their ends for at least half of the shorter one.
fn is_like(left: &str, right: &str) -> bool {
    let shorter = left.len().min(right.len());
    if shorter == 0 {
        return false;
    }
    let front = left.bytes().zip(right.bytes()).take_while(|(one, two)| one == two).count();
    let back = left.bytes().rev().zip(right.bytes().rev()).take_while(|(one, two)| one == two).count();
    (front + back).min(shorter) * 2 >= shorter && front + back >= 8
}

/// Texts as one, without white space.
fn squash(texts: &[String]) -> String {
    texts.iter().flat_map(|text| text.split_whitespace()).collect()
}

/// How many requests back a conversation is looked for.
const WINDOW: usize = 128;
