//! Rebuilds every body of a transcript from its fragments and compares it with the digest taken at the socket.

use antefix_prefix::{Advance, Chain, Relation, Tree};
use antefix_wire::json::Body;

use crate::conversation::Conversation;
use crate::dialect::Dialect;
use crate::record::{AttemptRecord, Entry, Header, Planned, Purpose, Record};

/// What a check of a transcript found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Requests whose body was rebuilt.
    pub requests: u64,
    /// Bytes of those bodies.
    pub bytes: u64,
    /// Requests that are the first of their lane, so that they have nothing to extend.
    pub first: u64,
    /// Requests that extend, or repeat, an earlier one of their lane.
    pub extends: u64,
    /// Requests that branch from an earlier one as planned.
    pub branches: u64,
    /// Requests that were let through although they break the prefix.
    pub allowed: u64,
    /// What is wrong, first things first.
    pub findings: Vec<Finding>,
}

/// Something wrong in a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The record it was found at.
    pub record: u64,
    /// What is wrong, in words.
    pub text: String,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn is_ok(&self) -> bool {
        self.findings.is_empty()
    }
}

/// Checks a transcript's records. The bodies are read anew by the scanner, so that what the composer believes of
/// its own output is not taken for granted.
pub fn verify(header: Header, entries: &[Entry]) -> Report {
    let mut check = Check {
        conversation: Conversation::new(header),
        report: Report::default(),
        lanes: Vec::new(),
        restarts: false,
    };
    for entry in entries {
        if let Record::Attempt(attempt) = &entry.record {
            check.attempt(entry, attempt);
        }
        if let Err(error) = check.conversation.apply(entry) {
            check.found(entry, format!("the record does not fit: {error}"));
            break;
        }
        if let Record::Rewind { .. } = &entry.record {
            check.rewound();
        }
    }
    check.report
}

struct Check {
    conversation: Conversation,
    report: Report,
    /// What was sent, by lane record.
    lanes: Vec<(u64, Tree)>,
    /// The conversation has gone back to where nothing was sent before, and nothing was sent since.
    restarts: bool,
}

impl Check {
    fn found(&mut self, entry: &Entry, text: String) {
        self.report.findings.push(Finding { record: entry.id.0, text });
    }

    /// Rebuilds the body the record in front of us says was sent.
    fn attempt(&mut self, entry: &Entry, attempt: &AttemptRecord) {
        let body = match self.conversation.compose_attempt(attempt) {
            Ok(body) => body,
            Err(error) => return self.found(entry, format!("no body can be composed: {error}")),
        };
        self.report.requests += 1;
        self.report.bytes += body.len;
        let digest = body.digest.to_hex();
        if digest.as_str() != attempt.digest || body.len != attempt.bytes {
            let (len, sent) = (body.len, attempt.bytes);
            return self.found(
                entry,
                format!(
                    "request {} was sent with other bytes ({sent} bytes sent, {len} rebuilt)",
                    attempt.attempt.0
                ),
            );
        }
        let dialect = self.conversation.dialect();
        let chain = match chain_of(&body.chunks.concat(), dialect) {
            Ok(chain) => chain,
            Err(reason) => return self.found(entry, format!("request {}: {reason}", attempt.attempt.0)),
        };
        if attempt.purpose == Purpose::Warm {
            return self.repeats(entry, attempt, &chain);
        }
        if chain.len() as u64 != attempt.positions || chain.last() != self.conversation.chain().last() {
            self.found(
                entry,
                format!("request {} reads as other positions than recorded", attempt.attempt.0),
            );
        }
        self.relate(entry, attempt, &chain);
    }

    /// A request that is made once more reads as one that was sent before, and nothing goes on from it.
    fn repeats(&mut self, entry: &Entry, attempt: &AttemptRecord, chain: &Chain) {
        let sent = self.tree(attempt.lane.0).standing(chain).common;
        if chain.len() as u64 == attempt.positions && sent == chain.len() {
            self.report.extends += 1;
        } else {
            let text = format!("request {} is not an earlier one once more", attempt.attempt.0);
            self.found(entry, text);
        }
    }

    fn relate(&mut self, entry: &Entry, attempt: &AttemptRecord, chain: &Chain) {
        let restarts = std::mem::take(&mut self.restarts);
        let tree = self.tree(attempt.lane.0);
        let first = tree.head_len().is_none();
        let standing = tree.standing(chain);
        tree.insert(chain, Advance::Head);
        match (attempt.relation, standing.relation) {
            (Planned::First, _) if first => self.report.first += 1,
            (Planned::Extends, Relation::Extends) => self.report.extends += 1,
            (Planned::BranchesAt(at), Relation::Extends | Relation::BranchesAt(_))
                if at == standing.common as u64 =>
            {
                self.report.branches += 1;
            }
            (Planned::BranchesAt(0), Relation::Diverges { at: 0 }) if restarts => self.report.branches += 1,
            (Planned::Allowed(_), _) => self.report.allowed += 1,
            (_, found) => {
                let text = format!("request {} does not extend what was sent: {found:?}", attempt.attempt.0);
                self.found(entry, text);
            }
        }
        if standing.common != standing.wire_common {
            let (common, same) = (standing.common, standing.wire_common);
            self.found(
                entry,
                format!("{common} positions mean what was sent before, {same} are the same bytes"),
            );
        }
    }

    fn rewound(&mut self) {
        let Some(lane) = self.conversation.lane().map(|lane| lane.record().0) else { return };
        let chain = self.conversation.chain().clone();
        let tree = self.tree(lane);
        let len = tree.common(&chain);
        let found = tree.rewind(&chain, len);
        self.restarts = !found && len == 0;
    }

    fn tree(&mut self, lane: u64) -> &mut Tree {
        let index = self.lanes.iter().position(|(known, _)| *known == lane).unwrap_or_else(|| {
            self.lanes.push((lane, Tree::new()));
            self.lanes.len() - 1
        });
        // INVARIANT: the index was found or has just been made.
        &mut self.lanes[index].1
    }
}

fn chain_of(body: &[u8], dialect: Dialect) -> Result<Chain, String> {
    let body = Body::parse(body).map_err(|error| format!("the body is not JSON: {error}"))?;
    let positions = dialect.positions(body.root());
    Ok(Chain::of(&positions.map_err(|error| format!("the body is not a request: {error}"))?))
}
