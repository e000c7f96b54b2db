//! Verdicts: what broke between two requests, where, who did it, and what can be done. No money, no I/O.
//!
//! [`judge`] compares a request with the one it should extend ([`lineages`] finds that one: never by arrival, since
//! subagents and side calls are interleaved). It reads the bodies where they are known and goes by usage, times and
//! hints where they are not; [`series`] judges a whole row of usages without bodies. What a verdict can be called
//! is one table: [`Kind`].
//!
//! Four rules keep it honest. Time overrules a difference: what had expired could not be broken. A difference behind
//! the last marker is no break, since nothing was kept there. Usage overrules both: what was read again in full was
//! not lost. And where nothing is known, it says so ([`Kind::Unexplained`]).

mod bloat;
mod compare;
mod evidence;
mod extends;
mod judge;
mod kinds;
mod layout;
mod lineage;
mod messages;
mod observation;
mod parameters;
mod prompt;
mod recognise;
mod series;
mod system;
mod time;
mod tools;

pub use bloat::bloat;
pub use evidence::{Evidence, Value};
pub use extends::extension_error;
pub use judge::{Verdict, judge, judge_alone};
pub use kinds::{Kind, Row, Segment, breaks_table};
pub use layout::positions_since_last_entry;
pub use lineage::{Lineage, cold_start, lineages, opening};
pub use observation::{Edits, Millis, Observation, ServerEdit};
pub use prompt::{Dialect, Effect, Item, Path, Prompt};
pub use recognise::{Source, Volatile, recognise};
pub use series::series;

use antefix_models::Tokens;

/// Who put the difference there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Party {
    /// The client that composes the requests.
    Agent,
    /// Something between client and provider.
    Gateway,
    /// The provider itself.
    Provider,
    /// A person's choice.
    User,
    /// The clock.
    Time,
    /// It cannot be told.
    Unknown,
}

impl Party {
    /// The word in output.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Gateway => "gateway",
            Self::Provider => "provider",
            Self::User => "user",
            Self::Time => "time",
            Self::Unknown => "unknown",
        }
    }
}

/// Whether anything is to be mended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Something is wrong.
    Fault,
    /// A loss that comes with what was asked for.
    Expected,
    /// Worth knowing; nothing was lost by it.
    Info,
}

impl Severity {
    /// The word in output.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Fault => "fault",
            Self::Expected => "expected",
            Self::Info => "info",
        }
    }
}

/// How sure a verdict is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Confidence {
    /// The bodies show it and the usage agrees.
    Certain,
    /// The bodies show it; no usage to confirm it.
    Likely,
    /// It is the best explanation left.
    Suspected,
}

impl Confidence {
    /// The word in output.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Certain => "certain",
            Self::Likely => "likely",
            Self::Suspected => "suspected",
        }
    }
}

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is called.
    pub kind: Kind,
    /// JSON Pointer into the later request, or the earlier one where the node is gone; empty without bodies.
    pub path: String,
    /// How many bytes of the leaf agree.
    pub offset: Option<usize>,
    /// Who did it.
    pub party: Party,
    /// Whether anything is to be mended.
    pub severity: Severity,
    /// What cost the tokens: the kind's id, or the time (`ttl_expired_5m`, `ttl_expired_1h`).
    pub root_cause: String,
    /// How sure this is.
    pub confidence: Confidence,
    /// Tokens of input that were paid for once more; `None` where it cannot be told.
    pub rewritten: Option<Tokens>,
    /// Whether [`rewritten`](Self::rewritten) comes from the provider's counts.
    pub exact: bool,
    /// What supports it.
    pub evidence: Evidence,
    /// The server's own reason, as it names it.
    pub server_reason: Option<String>,
    /// Whether the server says the same; `None` where it says nothing that could agree.
    pub agrees: Option<bool>,
    /// A short piece of the earlier request around the place.
    pub earlier: Option<String>,
    /// A short piece of the later request around the place.
    pub later: Option<String>,
}

impl Finding {
    /// A finding of the book-keeping: no place and no parties, only what supports it.
    pub fn of_usage(kind: Kind, evidence: Evidence) -> Self {
        Self { evidence, confidence: Confidence::Certain, ..Self::new(kind, "") }
    }

    /// Gives it another kind, and what that says of itself.
    fn name(&mut self, kind: Kind) {
        let Self { party, severity, root_cause, .. } = Self::new(kind, "");
        (self.kind, self.party, self.severity, self.root_cause) = (kind, party, severity, root_cause);
    }

    /// A finding with what its kind says of itself.
    fn new(kind: Kind, path: impl Into<String>) -> Self {
        let row = kind.row();
        Self {
            kind,
            path: path.into(),
            offset: None,
            party: row.causes.first().copied().unwrap_or(Party::Unknown),
            severity: row.class,
            root_cause: kind.id().to_owned(),
            confidence: Confidence::Likely,
            rewritten: None,
            exact: false,
            evidence: Evidence::default(),
            server_reason: None,
            agrees: None,
            earlier: None,
            later: None,
        }
    }
}
