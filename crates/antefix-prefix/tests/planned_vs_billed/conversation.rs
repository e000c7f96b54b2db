//! A conversation that a client keeps: messages as JSON, positions and chain message by message.

use antefix_models::{Tokens, Ttl};
use antefix_prefix::{CachePlan, Chain, Digest, Position, Segment, Tree, View, message_positions, positions};
use antefix_wire::anthropic::{self, Message, Request, marker_edit};
use antefix_wire::json::Body;
use antefix_wire::{Edit, splice};

pub const MODEL: &str = "claude-sonnet-4-6";

/// xorshift64: the same conversations on every run.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

pub struct Conversation {
    pub head: String,
    pub messages: Vec<String>,
    /// Number of positions behind each message.
    pub ends: Vec<usize>,
    pub positions: Vec<Position>,
    pub head_positions: usize,
    pub chain: Chain,
    pub tree: Tree,
    pub ttl: Ttl,
    pub head_ttl: Ttl,
    pub serial: u64,
    pub id: u64,
}

impl Conversation {
    pub fn new(id: u64, head: String, ttl: Ttl, head_ttl: Ttl) -> Self {
        let whole = Body::parse(format!("{head}]}}")).unwrap();
        let positions = positions(&Request::read(whole.root()).unwrap());
        Self {
            head,
            messages: Vec::new(),
            ends: Vec::new(),
            head_positions: positions.len(),
            chain: Chain::of(&positions),
            positions,
            tree: Tree::new(),
            ttl,
            head_ttl,
            serial: 0,
            id,
        }
    }

    /// Text found nowhere else.
    pub fn text(&mut self, random: &mut Random) -> String {
        self.serial += 1;
        let words = "carefully counted words ".repeat(1 + random.below(12) as usize);
        format!("{}.{} {words}", self.id, self.serial)
    }

    pub fn push(&mut self, role: &str, blocks: &[String], rest: &str) {
        let message = format!(r#"{{"role":"{role}","content":[{}]{rest}}}"#, blocks.join(","));
        let body = Body::parse(message.as_bytes()).unwrap();
        let new = message_positions(&Message::read(body.root()).unwrap(), self.messages.len());
        self.chain.extend(&new);
        self.positions.extend(new);
        self.messages.push(message);
        self.ends.push(self.positions.len());
    }

    /// Drops the messages behind the first `count`.
    pub fn truncate(&mut self, count: usize) {
        let end = count.checked_sub(1).map_or(self.head_positions, |last| self.ends[last]);
        self.messages.truncate(count);
        self.ends.truncate(count);
        self.positions.truncate(end);
        self.chain.truncate(end);
    }

    pub fn segments(&self) -> Vec<Segment> {
        self.positions
            .iter()
            .map(|position| Segment::of(position, Tokens(position.range.len() as u64 * 2 / 7 + 4)))
            .collect()
    }

    /// The body with the plan's markers; checks that the chain kept message by message is the body's own.
    pub fn body(&self, plan: &CachePlan) -> Vec<u8> {
        let whole = Body::parse(format!("{}{}]}}", self.head, self.messages.join(","))).unwrap();
        let root = whole.root();
        let edits: Vec<Edit> = plan
            .markers
            .iter()
            .map(|marker| {
                let ttl = match marker.ttl {
                    Ttl::FiveMinutes => anthropic::Ttl::FiveMinutes,
                    Ttl::OneHour => anthropic::Ttl::OneHour,
                };
                marker_edit(root.pointer(&self.positions[marker.position].pointer()).unwrap(), ttl).unwrap()
            })
            .collect();
        let marked = splice(whole.bytes(), &edits).unwrap();
        let sent = Body::parse(marked.clone()).unwrap();
        let digests = Chain::of(&positions(&Request::read(sent.root()).unwrap()));
        assert_eq!(digests, self.chain, "the chain does not depend on markers");
        marked
    }

    pub fn has_open_calls(&self) -> bool {
        self.messages.last().is_some_and(|message| message.contains(r#""type":"tool_use""#))
    }
}

pub fn link(talk: &Conversation, last: usize) -> Digest {
    talk.chain.link(last + 1).unwrap().of(View::Normal)
}

pub fn text_block(text: &str) -> String {
    format!(r#"{{"type":"text","text":"{text}"}}"#)
}

/// The start of a body: a long head that others share, or one that is too short to be kept alone. Heads of
/// different classes are told apart, so that none is read by a conversation that would have written the other.
pub fn head(kind: u64, ttl: Ttl) -> String {
    let rule = if kind == 3 { "Be brief." } else { "Rules that fill a page. " };
    let rules = rule.repeat(if kind == 3 { 1 } else { 150 });
    format!(
        r#"{{"model":"{MODEL}","max_tokens":64,"tools":[{{"name":"Read","description":"Reads.","input_schema":{{"type":"object"}}}}],"system":[{{"type":"text","text":"Head {kind} {ttl}. {rules}"}}],"messages":["#
    )
}
