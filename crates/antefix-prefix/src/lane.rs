//! Lanes: which of several conversations a request belongs to.

use crate::chain::Chain;
use crate::tree::Tree;

/// What a client says of the conversation that a request belongs to; a hint, since not every client says it
/// and one session may hold several conversations.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hints {
    /// The client's session id.
    pub session: Option<String>,
    /// The id of the agent within the session.
    pub agent: Option<String>,
}

impl Hints {
    /// Number of ids that both know and that agree; `None` if one that both know differs.
    fn agreement(&self, other: &Self) -> Option<usize> {
        let pairs = [(&self.session, &other.session), (&self.agent, &other.agent)];
        pairs.iter().try_fold(0, |agreed, pair| match pair {
            (Some(left), Some(right)) if left == right => Some(agreed + 1),
            (Some(_), Some(_)) => None,
            _ => Some(agreed),
        })
    }
}

/// The lane that a request was paired with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pairing {
    /// Index of the lane.
    pub lane: usize,
    /// Number of leading positions that were sent in that lane before.
    pub common: usize,
}

/// Finds the lane that a request belongs to, of those that share its scope, model and parameters.
///
/// The longest common prefix decides; among equals the hints, then the lane opened last. A common prefix
/// inside tools and system says little, since all conversations of a client share those: there the hints must
/// agree. `None` if no lane qualifies: the request opens one.
pub fn pair<'a>(
    lanes: impl IntoIterator<Item = (&'a Hints, &'a Tree)>,
    chain: &Chain,
    hints: &Hints,
) -> Option<Pairing> {
    let candidates = lanes.into_iter().enumerate().filter_map(|(lane, (known, tree))| {
        let common = tree.common(chain);
        let agreement = known.agreement(hints);
        let qualifies = common > chain.head_len() || agreement.is_some_and(|agreed| agreed > 0);
        qualifies.then_some((Pairing { lane, common }, agreement))
    });
    let best = candidates.max_by_key(|(pairing, agreement)| (pairing.common, *agreement, pairing.lane));
    best.map(|(pairing, _)| pairing)
}
