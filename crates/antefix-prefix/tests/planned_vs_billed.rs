//! Plans against a provider that counts for itself: what was planned to be read is what is billed as read.
//!
//! Random conversations (wide parallel steps, thinking, images, dropped system messages, rewinds, side calls,
//! requests cut before the first byte, heads shared between conversations) are planned here and billed by the
//! simulator, which renders and compares in its own way. No figure of the simulator is known in advance: the
//! length of an entry is what the request that wrote it was billed up to its last marker.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "planned_vs_billed/captured.rs"]
mod captured;
#[path = "planned_vs_billed/conversation.rs"]
mod conversation;
#[path = "planned_vs_billed/setting.rs"]
mod setting;

use std::collections::BTreeMap;

use antefix_models::Ttl;
use antefix_prefix::{Advance, CachePlan, Digest, Entry, PlanInput, PlanNote, Relation, effective, plan};
use antefix_sim::{Billed, HttpRequest, Millis, Simulator};

use captured::Captures;
use conversation::{Conversation, Random, head, link, text_block};
use setting::{Setting, settings};

/// What the conversations of one setting share.
struct World {
    setting: Setting,
    provider: Simulator,
    random: Random,
    now: u64,
    /// Billed length of the prefix that ends at an entry.
    lengths: BTreeMap<Digest, u64>,
    /// When an entry of a shared head was last read or written, and its class.
    heads: BTreeMap<Digest, (u64, Ttl)>,
    tally: Tally,
    captures: Option<Captures>,
}

/// What happened, so that a test that meets nothing fails.
#[derive(Debug, Default)]
struct Tally {
    conversations: u64,
    requests: u64,
    full_reads: u64,
    shared_heads: u64,
    wide: u64,
    rewinds: u64,
    side_calls: u64,
    cut: u64,
    doubtful_hits: u64,
    /// An entry exists and cannot be read, by a documented rule or perhaps.
    dropped: u64,
    grey: u64,
    expired: u64,
}

impl World {
    fn new(setting: Setting, index: usize) -> Self {
        Self {
            setting,
            provider: setting.provider(),
            random: Random(0x9e37_79b9 + index as u64),
            now: 1_000_000,
            lengths: BTreeMap::new(),
            heads: BTreeMap::new(),
            tally: Tally::default(),
            captures: Captures::from_environment(setting, index),
        }
    }

    fn converse(&mut self, id: u64) {
        self.tally.conversations += 1;
        let hour = self.random.chance(30);
        let kind = self.random.below(4);
        let ttl = if hour { Ttl::OneHour } else { Ttl::FiveMinutes };
        let head_ttl = if hour || kind == 1 { Ttl::OneHour } else { Ttl::FiveMinutes };
        let mut talk = Conversation::new(id, head(kind, head_ttl), ttl, head_ttl);
        // A head that would expire while the first request is tried again is let expire before.
        let last = self.heads.get(&link(&talk, talk.head_positions - 1)).map_or(0, |(last, _)| *last);
        if (150..300).contains(&(self.now - last)) {
            self.now = last + 300;
        }
        self.user_speaks(&mut talk);
        for _ in 0..3 + self.random.below(5) {
            self.request(&mut talk);
            self.happens_between(&mut talk);
        }
    }

    fn user_speaks(&mut self, talk: &mut Conversation) {
        let mut blocks = vec![text_block(&talk.text(&mut self.random))];
        if self.random.chance(15) {
            let data = format!("{:08}", talk.id * 100 + talk.serial);
            blocks.push(format!(
                r#"{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{data}"}}}}"#
            ));
        }
        talk.push("user", &blocks, "");
        if self.random.chance(15) {
            let text = text_block(&talk.text(&mut self.random));
            talk.push("system", &[text], r#","clear_at":"next_user_message""#);
        }
    }

    /// What the user may add before asking again, often more than the lookback.
    fn user_adds(&mut self, talk: &mut Conversation) {
        let follows_system = talk.messages.last().is_some_and(|message| message.contains("clear_at"));
        if follows_system || self.random.chance(50) {
            return;
        }
        let pages = 1 + self.random.below(30);
        let blocks: Vec<_> = (0..pages).map(|_| text_block(&talk.text(&mut self.random))).collect();
        talk.push("user", &blocks, "");
    }

    /// The answer, and what the user or the tools make of it; sometimes a rewind, a side call or a long pause.
    fn happens_between(&mut self, talk: &mut Conversation) {
        match self.random.below(100) {
            0..8 => return self.rewind(talk),
            8..14 => self.side_call(talk),
            14..17 => self.pause(talk),
            _ => {}
        }
        let mut blocks = Vec::new();
        if self.random.chance(40) {
            let thought = talk.text(&mut self.random);
            blocks.push(format!(r#"{{"type":"redacted_thinking","data":"{thought}"}}"#));
        }
        if self.random.chance(60) {
            blocks.push(text_block(&talk.text(&mut self.random)));
        }
        let calls = match self.random.below(10) {
            0..4 => 0,
            4..9 => 1 + self.random.below(3),
            _ => 15 + self.random.below(30),
        };
        self.tally.wide += u64::from(calls >= 15);
        let mut results = Vec::new();
        for _ in 0..calls {
            let text = talk.text(&mut self.random);
            let id = format!("toolu_{}_{}", talk.id, talk.serial);
            blocks.push(format!(
                r#"{{"type":"tool_use","id":"{id}","name":"Read","input":{{"path":"{id}"}}}}"#
            ));
            results.push(format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"{text}"}}"#));
        }
        if blocks.is_empty() || blocks.len() == 1 && calls == 0 {
            blocks.push(text_block(&talk.text(&mut self.random)));
        }
        talk.push("assistant", &blocks, "");
        if calls == 0 {
            self.user_speaks(talk);
        } else {
            talk.push("user", &results, "");
        }
    }

    /// Goes back to the end of an earlier answer without calls and says something else.
    fn rewind(&mut self, talk: &mut Conversation) {
        let Some(count) = (1..talk.messages.len()).rev().find(|&count| {
            let last = &talk.messages[count - 1];
            last.contains(r#""role":"assistant""#) && !last.contains(r#""type":"tool_use""#)
        }) else {
            self.user_speaks_instead(talk);
            return;
        };
        talk.truncate(count);
        assert!(talk.tree.rewind(&talk.chain, talk.chain.len()));
        self.user_speaks(talk);
        self.tally.rewinds += 1;
    }

    /// Drops everything and starts over behind the head.
    fn user_speaks_instead(&mut self, talk: &mut Conversation) {
        talk.truncate(0);
        assert!(talk.tree.mark(&talk.chain, talk.chain.len()));
        self.user_speaks(talk);
        assert_eq!(talk.tree.relation(&talk.chain), Relation::BranchesAt(talk.head_positions));
        assert!(talk.tree.rewind(&talk.chain, talk.head_positions));
        self.tally.rewinds += 1;
    }

    /// A question on the side, which the conversation does not remember.
    fn side_call(&mut self, talk: &mut Conversation) {
        let kept = talk.messages.len();
        if talk.messages[kept - 1].contains("clear_at") {
            return;
        }
        talk.push("assistant", &[text_block("Yes.")], "");
        let question = text_block(&talk.text(&mut self.random));
        talk.push("user", &[question], "");
        self.send(talk, Advance::Side);
        talk.truncate(kept);
        self.tally.side_calls += 1;
    }

    /// Longer than anything lives.
    fn pause(&mut self, talk: &mut Conversation) {
        self.now += 7_200;
        talk.tree.forget_entries();
        self.heads.clear();
        self.tally.expired += 1;
    }

    fn request(&mut self, talk: &mut Conversation) {
        assert!(!talk.has_open_calls());
        if self.random.chance(10) {
            self.cut(talk);
            self.user_adds(talk);
        }
        self.send(talk, Advance::Head);
    }

    /// What the planner makes of the conversation, and the body that comes of it.
    fn prepare(&mut self, talk: &mut Conversation) -> (CachePlan, Option<usize>, Vec<u8>) {
        assert_eq!(talk.tree.relation(&talk.chain), Relation::Extends);
        self.now += 1 + self.random.below(60);
        let head = talk.chain.link(talk.head_positions).unwrap().normal;
        let shared = self.heads.get(&head).is_some_and(|(last, ttl)| self.now - last < ttl.seconds());
        let mut head_chain = talk.chain.clone();
        head_chain.truncate(talk.head_positions);
        talk.tree.insert(&head_chain, Advance::Side);
        if shared {
            talk.tree.note_entry(&talk.chain, talk.head_positions - 1, Entry::Confirmed);
        }
        let segments = talk.segments();
        let rules = self.setting.rules();
        let entries = talk.tree.readable(&talk.chain, &segments, &rules);
        let existing = talk.tree.entries(&talk.chain, segments.len());
        self.tally.dropped += u64::from(existing.confirmed != entries.confirmed);
        let plan = plan(&PlanInput {
            segments: &segments,
            rules: &rules,
            static_head: talk.head_positions.checked_sub(1),
            confirmed: entries.confirmed,
            doubtful: entries.doubtful,
            ttl: talk.ttl,
            head_ttl: talk.head_ttl,
        });
        assert_eq!(plan.reads_to, entries.confirmed, "a confirmed entry is always planned to be read");
        let body = talk.body(&plan);
        (plan, entries.doubtful, body)
    }

    fn post(&mut self, talk: &Conversation, body: &[u8]) -> Billed {
        let headers = [
            ("x-api-key", "org/workspace/key"),
            ("anthropic-version", "2023-06-01"),
            ("anthropic-beta", "mid-conversation-system-clear-at-2026-08-21"),
        ];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let request = HttpRequest { method: "POST", path: "/v1/messages", headers: &headers, body };
        let now = Millis(self.now * 1_000);
        let response = self.provider.handle(&request, now);
        assert_eq!(response.status, 200, "{}", String::from_utf8_lossy(&response.bytes()));
        if let Some(captures) = &mut self.captures {
            captures.add(talk.id, &request, now, &response.bytes());
        }
        self.provider.log().last().unwrap().clone()
    }

    /// A request cut before its first byte: half of them reached the provider.
    fn cut(&mut self, talk: &mut Conversation) {
        let (plan, _, body) = self.prepare(talk);
        talk.tree.insert(&talk.chain, Advance::Head);
        if self.random.chance(50) {
            let billed = self.post(talk, &body);
            if let Some(end) = plan.writes_to {
                self.lengths.insert(link(talk, end), billed.total() - billed.uncached);
            }
        }
        for marker in &plan.markers {
            talk.tree.note_entry(&talk.chain, marker.position, Entry::Doubtful);
        }
        self.tally.cut += 1;
    }

    fn send(&mut self, talk: &mut Conversation, advance: Advance) {
        let (plan, doubtful, body) = self.prepare(talk);
        let billed = self.post(talk, &body);
        self.tally.requests += 1;
        talk.tree.insert(&talk.chain, advance);
        self.judge_read(talk, &plan, doubtful, &billed);
        self.judge_write(talk, &plan, &billed);
        let head = talk.chain.link(talk.head_positions).unwrap().normal;
        let head_marked = plan.markers.iter().any(|marker| marker.position + 1 == talk.head_positions);
        if head_marked {
            self.heads.insert(head, (self.now, talk.head_ttl));
        }
    }

    /// What was read is the confirmed entry, or the one in doubt.
    fn judge_read(
        &mut self,
        talk: &Conversation,
        plan: &CachePlan,
        doubtful: Option<usize>,
        billed: &Billed,
    ) {
        let story = || format!("{:?}\n{plan:?}\ndoubtful {doubtful:?}\n{billed:?}", self.setting);
        // Several may be in doubt: the end of a cut request, and what a rule of the provider may have dropped.
        let mut in_doubt = doubtful.map_or(0..0, |last| plan.reads_to.map_or(0, |at| at + 1)..last + 1);
        let head = talk.head_positions - 1;
        if in_doubt.contains(&head) && billed.read > 0 {
            let known = in_doubt.clone().any(|at| self.lengths.get(&link(talk, at)) == Some(&billed.read));
            if !known {
                self.lengths.entry(link(talk, head)).or_insert(billed.read);
            }
        }
        if in_doubt.any(|at| self.lengths.get(&link(talk, at)) == Some(&billed.read)) {
            self.tally.doubtful_hits += 1;
            return;
        }
        assert!(!doubtful.is_some_and(|at| self.must_hit(talk, at)), "written and unlimited\n{}", story());
        let Some(confirmed) = plan.reads_to else {
            assert_eq!(billed.read, 0, "nothing was planned to be read\n{}", story());
            return;
        };
        let key = link(talk, confirmed);
        match self.lengths.get(&key) {
            Some(&length) => assert_eq!(billed.read, length, "{}", story()),
            None => {
                // The head's length alone is billed for the first time when another conversation reads it.
                assert_eq!(confirmed + 1, talk.head_positions, "{}", story());
                assert!(billed.read > 0, "{}", story());
                self.lengths.insert(key, billed.read);
            }
        }
        self.tally.shared_heads += u64::from(confirmed + 1 == talk.head_positions);
        self.tally.full_reads += u64::from(confirmed + 1 > talk.head_positions);
    }

    /// Whether an entry in doubt was written in fact, and no rule of the provider stands against reading it.
    fn must_hit(&self, talk: &Conversation, at: usize) -> bool {
        let limits = effective(&talk.segments(), at + 1, &self.setting.rules());
        self.lengths.contains_key(&link(talk, at)) && limits.extends()
    }

    /// What was written ends where it was planned, unless the plan said that it may be too short.
    fn judge_write(&mut self, talk: &mut Conversation, plan: &CachePlan, billed: &Billed) {
        let Some(end) = plan.writes_to else {
            return;
        };
        let written = billed.write_5m + billed.write_1h;
        let grey = plan.notes.iter().any(|note| matches!(note, PlanNote::MayBeTooShort { .. }));
        if written == 0 && talk.tree.entries(&talk.chain, end + 1).doubtful != Some(end) {
            assert!(grey, "{:?}\n{plan:?}\n{billed:?}", self.setting);
            self.tally.grey += 1;
            return;
        }
        self.lengths.insert(link(talk, end), billed.read + written);
        talk.tree.note_entry(&talk.chain, end, Entry::Confirmed);
    }
}

#[test]
fn what_is_planned_is_what_is_billed() {
    for (index, setting) in settings().into_iter().enumerate() {
        let mut world = World::new(setting, index);
        for id in 0..140 {
            world.converse(id);
        }
        let tally = &world.tally;
        println!("{setting:?}\n  {tally:?}");
        let met = [
            tally.full_reads,
            tally.shared_heads,
            tally.wide,
            tally.rewinds,
            tally.side_calls,
            tally.cut,
            tally.doubtful_hits,
            tally.dropped,
            tally.grey,
            tally.expired,
        ];
        assert!(met.iter().all(|&times| times > 0), "{tally:?}");
    }
}
