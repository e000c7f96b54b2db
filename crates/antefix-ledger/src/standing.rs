//! How a request stands to the one it extends, in tokens: what it could have read, and which verdict says why not.

use antefix_models::Tokens;
use antefix_prefix::verdict::{Finding, Kind, Observation, Severity, Verdict, judge, lineages};

/// How a request stands to those before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Which request it goes on from, if any.
    pub relation: Relation,
    /// Tokens that could have been read: what the request before had in the cache when its answer was over, at most
    /// the whole prompt. `None` where nothing is to be expected or the counts do not say.
    pub reachable: Option<Tokens>,
    /// The whole prompt of the request it goes on from; `None` without one.
    pub before: Option<Tokens>,
    /// Why less was read.
    pub loss: Option<Loss>,
}

impl Standing {
    /// Whether its share of reads says something of the client: it extends another request, and nothing was lost by
    /// plan or by time.
    pub fn is_steady(&self) -> bool {
        self.relation == Relation::Extends && !self.loss.as_ref().is_some_and(Loss::is_planned)
    }
}

/// Which request a request goes on from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Relation {
    /// Nobody has looked.
    #[default]
    Unjudged,
    /// None: it opens a conversation.
    First,
    /// One that it extends, or should.
    Extends,
    /// One that it leaves on purpose: nothing behind the fork can be read.
    Branches,
}

impl Relation {
    /// The name in files and output.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unjudged => "unjudged",
            Self::First => "first",
            Self::Extends => "extends",
            Self::Branches => "branches",
        }
    }

    /// The relation of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Unjudged, Self::First, Self::Extends, Self::Branches]
            .into_iter()
            .find(|one| one.name() == name)
    }
}

/// What a verdict says was lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// The id of the verdict's kind.
    pub kind: String,
    /// Whether anything is to be mended.
    pub severity: Severity,
    /// Tokens that were in the cache and were paid for again.
    pub tokens: Tokens,
}

impl Loss {
    /// Whether it comes with what was asked for, or with time, so that there is nothing to mend.
    pub fn is_planned(&self) -> bool {
        self.severity == Severity::Expected
    }
}

/// How each of some requests stands. They are compared within their conversations, never by arrival.
pub fn standings(observations: &[Observation<'_>]) -> Vec<Standing> {
    let parents = lineages(observations).parents;
    let stand = |(later, parent): (&Observation<'_>, &Option<usize>)| {
        let earlier = parent.and_then(|parent| observations.get(parent));
        earlier.map_or_else(first, |earlier| standing(earlier, later))
    };
    observations.iter().zip(&parents).map(stand).collect()
}

/// How `later` stands to `earlier`, which it should extend.
pub fn standing(earlier: &Observation<'_>, later: &Observation<'_>) -> Standing {
    let verdict = judge(earlier, later);
    let before = earlier.usage.map(|usage| usage.prompt());
    if branches(&verdict) {
        return Standing { relation: Relation::Branches, before, ..Standing::default() };
    }
    let reachable = reachable(earlier, later);
    let loss = missing(reachable, later).and_then(|missing| {
        let content_alone = || judge(&unused(earlier), &unused(later));
        carrier(&verdict).or_else(|| carrier(&content_alone())).map(|finding| loss(&finding, missing))
    });
    Standing { relation: Relation::Extends, reachable, before, loss }
}

fn first() -> Standing {
    Standing { relation: Relation::First, ..Standing::default() }
}

/// Whether it goes back or aside on purpose.
fn branches(verdict: &Verdict) -> bool {
    !verdict.planned.is_empty() && verdict.breaks.is_empty()
}

fn reachable(earlier: &Observation<'_>, later: &Observation<'_>) -> Option<Tokens> {
    let (before, after) = (earlier.usage?, later.usage?);
    let told = before.read + before.write_5m + before.write_1h;
    let is_implicit = later.prompt.is_some_and(|prompt| prompt.dialect.is_implicit());
    // Such providers keep what they have seen and count no writes.
    let cached = if is_implicit && before.write_5m.is_zero() { before.prompt() } else { told };
    (!cached.is_zero()).then(|| cached.min(after.prompt()))
}

fn missing(reachable: Option<Tokens>, later: &Observation<'_>) -> Option<Tokens> {
    let missing = reachable? - later.usage?.read;
    (!missing.is_zero()).then_some(missing)
}

/// The finding that has to answer for the tokens: the first that names some, or else the first that is no mere
/// information.
fn carrier(verdict: &Verdict) -> Option<Finding> {
    let all = || verdict.breaks.iter().chain(&verdict.faults);
    let named = all().find(|finding| finding.rewritten.is_some());
    named.or_else(|| all().find(|finding| finding.severity != Severity::Info)).cloned()
}

fn loss(finding: &Finding, missing: Tokens) -> Loss {
    // Estimates from lengths and roundings in the tokens give way to what was counted.
    let tokens = finding.rewritten.filter(|_| finding.exact).unwrap_or(missing);
    if finding.root_cause.starts_with("ttl_expired") {
        return Loss { kind: Kind::TtlExpired.id().to_owned(), severity: Severity::Expected, tokens };
    }
    Loss { kind: finding.kind.id().to_owned(), severity: finding.severity, tokens }
}

/// The same as if nothing were known of what was billed: small losses, which a verdict forgives as roundings, are
/// told by content alone.
fn unused<'a>(observation: &Observation<'a>) -> Observation<'a> {
    Observation { usage: None, ..observation.clone() }
}
