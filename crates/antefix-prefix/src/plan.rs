//! Where a request's cache markers go.

use std::fmt;

use antefix_models::{Reach, Rules, Support, Tokens, Ttl};

use crate::segment::Segment;

/// What the planner goes by. Indices are those of `segments`.
#[derive(Clone, Copy, Debug)]
pub struct PlanInput<'a> {
    /// The request's positions in reading order.
    pub segments: &'a [Segment],
    /// The model's rules on its platform.
    pub rules: &'a Rules,
    /// The last position of the static head: tools and prompt that other sessions share.
    pub static_head: Option<usize>,
    /// The last position of the newest entry that is known to exist on this path: exactly where its marker
    /// stood. Entries that [`effective`](crate::effective) rules out are not known to exist.
    pub confirmed: Option<usize>,
    /// The last position of a request that was cut before its first byte, so that its entry may exist or not.
    pub doubtful: Option<usize>,
    /// The class of the conversation's entries. It stays what it is while the cache is warm.
    pub ttl: Ttl,
    /// The class of the static head's entry.
    pub head_ttl: Ttl,
}

/// One marker to set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marker {
    /// Index of the position it stands on.
    pub position: usize,
    /// How long the entry is to live.
    pub ttl: Ttl,
}

/// The markers of one request and what they are expected to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CachePlan {
    /// In ascending order of position, every one-hour marker before every five-minute one.
    pub markers: Vec<Marker>,
    /// The last position that is read from the cache, if the confirmed entry still lives.
    pub reads_to: Option<usize>,
    /// The last position that is written, so that it is the confirmed one next time.
    pub writes_to: Option<usize>,
    /// What is out of the ordinary.
    pub notes: Vec<PlanNote>,
}

/// What a reader of a plan may want to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanNote {
    /// The new entry ends before the request does: what follows takes no marker, or the one marker that the
    /// platform allows must reach the confirmed entry as well.
    EndMovedBack {
        /// The last position of the request.
        from: usize,
        /// Where the marker stands.
        to: usize,
    },
    /// There is no position behind the confirmed entry that takes a marker.
    NoNewEnd,
    /// The prefix is surely too short to be kept, so no marker is set.
    TooShort {
        /// Index of the position.
        position: usize,
        /// Estimated length of the prefix.
        tokens: Tokens,
        /// The least length that may be kept.
        minimum: Tokens,
    },
    /// Sources disagree on whether a prefix of this length is kept.
    MayBeTooShort {
        /// Index of the position.
        position: usize,
        /// Estimated length of the prefix.
        tokens: Tokens,
    },
    /// The head is asked to live as long as the conversation: one hour may not follow five minutes.
    HeadRaised,
    /// One hour is not to be had here; five minutes are asked for.
    HourNotSupported,
    /// The entry in doubt needs no marker: the new end's search covers it.
    DoubtfulCovered {
        /// Index of its last position.
        position: usize,
    },
    /// The confirmed entry's end takes no marker; `anchor` stands behind it, within reach of it.
    Anchored {
        /// Index of the confirmed entry's last position.
        confirmed: usize,
        /// Where the marker stands.
        anchor: usize,
    },
    /// No marker can reach the confirmed entry.
    OutOfReach {
        /// Index of the confirmed entry's last position.
        confirmed: usize,
    },
    /// The platform allows fewer markers than would be of use.
    NoSlot {
        /// Index of the position that goes without.
        position: usize,
    },
}

impl fmt::Display for PlanNote {
    /// The note in words; positions are counted from 0, lengths are estimates.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EndMovedBack { from, to } => {
                write!(formatter, "the new entry ends at position {to}, not at position {from}")
            }
            Self::NoNewEnd => formatter.write_str("no new position takes a marker: nothing new is written"),
            Self::TooShort { position, tokens, minimum } => write!(
                formatter,
                "up to position {position} the prefix is too short to be kept: about {tokens} tokens, at least \
                 {minimum} are needed"
            ),
            Self::MayBeTooShort { position, tokens } => write!(
                formatter,
                "up to position {position} the prefix, about {tokens} tokens, may be too short to be kept: \
                 sources disagree"
            ),
            Self::HeadRaised => formatter
                .write_str("the head is written for one hour too: one hour may not follow five minutes"),
            Self::HourNotSupported => {
                formatter.write_str("one hour is not to be had here: entries are written for five minutes")
            }
            Self::DoubtfulCovered { position } => write!(
                formatter,
                "the entry in doubt, up to position {position}, needs no marker: the new end's search covers it"
            ),
            Self::Anchored { confirmed, anchor } => write!(
                formatter,
                "the confirmed entry's end, position {confirmed}, takes no marker: position {anchor} reaches it"
            ),
            Self::OutOfReach { confirmed } => {
                write!(formatter, "no marker reaches the confirmed entry, which ends at position {confirmed}")
            }
            Self::NoSlot { position } => {
                write!(formatter, "position {position} goes without a marker: no more are allowed")
            }
        }
    }
}

/// Plans the markers of a request.
///
/// A marker on the confirmed entry's end always finds it, because a marker tests its own position first; so a
/// step of any width is read back, whether or not the platform counts a run of tool blocks as one position. A
/// second marker stands on the new end, a third on an end in doubt that the new end's search does not cover,
/// and one on the static head, which is shared between sessions and is what remains if all else is lost.
///
/// Rules kept (platform.claude.com/docs/en/build-with-claude/prompt-caching, September 2026): at most
/// `max_markers`; one hour before five minutes; never on thinking, an empty text or a message with
/// `clear_at`; a prefix below the minimum is not kept; a marker tests 20 positions, itself included, for an
/// entry that an earlier request's marker wrote. Where collapsing of runs is unknown, every block counts.
pub fn plan(input: &PlanInput<'_>) -> CachePlan {
    let mut planner = Planner::new(input);
    planner.choose();
    planner.finish()
}

struct Planner<'a> {
    input: PlanInput<'a>,
    /// Positions to mark, the most useful first.
    chosen: Vec<usize>,
    plan: CachePlan,
}

impl<'a> Planner<'a> {
    fn new(input: &PlanInput<'a>) -> Self {
        Self {
            input: PlanInput {
                confirmed: input.confirmed.filter(|&at| at < input.segments.len()),
                doubtful: input.doubtful.filter(|&at| at < input.segments.len()),
                static_head: input.static_head.filter(|&at| at < input.segments.len()),
                ..*input
            },
            chosen: Vec::new(),
            plan: CachePlan::default(),
        }
    }

    fn choose(&mut self) {
        let end = self.new_end();
        let anchor = self.anchor(end);
        if let (Some(confirmed), Some(_)) = (self.input.confirmed, anchor) {
            self.plan.reads_to = Some(confirmed);
        }
        let end = if self.slots() == 1 && anchor.is_some() { self.lone_marker(end).or(end) } else { end };
        self.plan.writes_to = end;
        let alone = self.slots() == 1 && end.is_some();
        self.chosen.extend(anchor.filter(|_| !alone));
        self.chosen.extend(end);
        let doubtful = self.doubtful(end);
        self.chosen.extend(doubtful);
        let head = self.input.static_head.and_then(|head| self.markable_up_to(head, 0));
        self.chosen.extend(head.filter(|&head| self.is_long_enough(head)));
    }

    /// The position that ends the new entry, behind the confirmed one.
    fn new_end(&mut self) -> Option<usize> {
        let last = self.input.segments.len().checked_sub(1)?;
        let first = self.input.confirmed.map_or(0, |confirmed| confirmed + 1);
        let Some(end) = self.markable_up_to(last, first) else {
            self.plan.notes.push(PlanNote::NoNewEnd);
            return None;
        };
        if end < last {
            self.plan.notes.push(PlanNote::EndMovedBack { from: last, to: end });
        }
        let tokens = self.tokens(end);
        match self.input.rules.minimum.reach(tokens) {
            Reach::Below => {
                let minimum = self.input.rules.minimum.below;
                self.plan.notes.push(PlanNote::TooShort { position: end, tokens, minimum });
                return None;
            }
            Reach::Grey => self.plan.notes.push(PlanNote::MayBeTooShort { position: end, tokens }),
            Reach::Sure => {}
        }
        Some(end)
    }

    /// The marker that finds the confirmed entry: on its end, or else within reach behind it.
    fn anchor(&mut self, end: Option<usize>) -> Option<usize> {
        let confirmed = self.input.confirmed?;
        if self.is_markable(confirmed) {
            return Some(confirmed);
        }
        let found = end.and_then(|end| self.reaching(confirmed, end));
        self.plan.notes.push(match found {
            Some(anchor) => PlanNote::Anchored { confirmed, anchor },
            None => PlanNote::OutOfReach { confirmed },
        });
        found
    }

    /// Where a single marker goes that must both find the confirmed entry and write a longer one.
    fn lone_marker(&mut self, end: Option<usize>) -> Option<usize> {
        let (confirmed, end) = (self.input.confirmed?, end?);
        let reaching = self.reaching(confirmed, end).filter(|&at| self.is_long_enough(at));
        if let Some(at) = reaching.filter(|&at| at < end) {
            self.plan.notes.push(PlanNote::EndMovedBack { from: end, to: at });
        }
        reaching
    }

    /// The last position up to `end` that takes a marker and whose search covers `entry`.
    fn reaching(&self, entry: usize, end: usize) -> Option<usize> {
        (entry + 1..=end).rev().find(|&at| self.is_markable(at) && self.covers(at, entry))
    }

    /// The end in doubt, if a marker on it is of use.
    fn doubtful(&mut self, end: Option<usize>) -> Option<usize> {
        let at = self.input.doubtful?;
        let is_news = self.input.confirmed.is_none_or(|confirmed| at > confirmed);
        if !is_news || end == Some(at) || !self.is_markable(at) || !self.is_long_enough(at) {
            return None;
        }
        if end.is_some_and(|end| end >= at && self.covers(end, at)) {
            self.plan.notes.push(PlanNote::DoubtfulCovered { position: at });
            return None;
        }
        Some(at)
    }

    fn finish(mut self) -> CachePlan {
        let mut kept: Vec<usize> = Vec::new();
        for &position in &self.chosen {
            if kept.contains(&position) {
                continue;
            }
            if kept.len() == self.slots() {
                self.plan.notes.push(PlanNote::NoSlot { position });
            } else {
                kept.push(position);
            }
        }
        self.plan.reads_to = self
            .plan
            .reads_to
            .filter(|&entry| kept.iter().any(|&at| at == entry || at > entry && self.covers(at, entry)));
        self.plan.writes_to = self.plan.writes_to.filter(|at| kept.contains(at));
        kept.sort_unstable();
        let (head_ttl, ttl) = self.classes(&kept);
        let head = self.input.static_head;
        self.plan.markers = kept
            .into_iter()
            .map(|position| {
                let is_head = head.is_some_and(|head| position <= head);
                Marker { position, ttl: if is_head { head_ttl } else { ttl } }
            })
            .collect();
        self.plan
    }

    /// The classes of the head's and of the conversation's markers.
    fn classes(&mut self, kept: &[usize]) -> (Ttl, Ttl) {
        let (mut head_ttl, mut ttl) = (self.input.head_ttl, self.input.ttl);
        if self.input.rules.one_hour_ttl == Support::No && head_ttl.max(ttl) == Ttl::OneHour {
            (head_ttl, ttl) = (Ttl::FiveMinutes, Ttl::FiveMinutes);
            self.plan.notes.push(PlanNote::HourNotSupported);
        }
        if head_ttl < ttl {
            head_ttl = ttl;
            if kept.iter().any(|&at| self.input.static_head.is_some_and(|head| at <= head)) {
                self.plan.notes.push(PlanNote::HeadRaised);
            }
        }
        (head_ttl, ttl)
    }

    fn slots(&self) -> usize {
        self.input.rules.max_markers as usize
    }

    fn is_markable(&self, at: usize) -> bool {
        self.input.segments.get(at).is_some_and(|segment| segment.markable)
    }

    /// The last markable position in `first..=last`.
    fn markable_up_to(&self, last: usize, first: usize) -> Option<usize> {
        (first..=last).rev().find(|&at| self.is_markable(at))
    }

    /// Estimated tokens up to and including a position. Asked for a few positions of a plan, so that a sum costs less
    /// than a list of all of them for each request.
    fn tokens(&self, at: usize) -> Tokens {
        let mut sum = Tokens::ZERO;
        self.input.segments.get(..=at).unwrap_or_default().iter().for_each(|segment| sum += segment.tokens);
        sum
    }

    fn is_long_enough(&self, at: usize) -> bool {
        self.input.rules.minimum.reach(self.tokens(at)) != Reach::Below
    }

    /// Whether a marker's search covers an entry that ends at or before it.
    fn covers(&self, marker: usize, entry: usize) -> bool {
        let most = self.input.rules.lookback.positions as usize;
        (entry + 1..=marker).filter(|&at| self.counts(at)).take(most).count() < most
    }

    /// Whether a position counts in the lookback: of a run, only the first does where runs collapse.
    fn counts(&self, at: usize) -> bool {
        let collapse = self.input.rules.lookback.collapse_runs.is_certain();
        let segment = |at: usize| self.input.segments.get(at);
        let before = at.checked_sub(1).and_then(segment);
        !segment(at).zip(before).is_some_and(|(segment, before)| collapse && segment.runs_with(before))
    }
}
