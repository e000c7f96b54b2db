//! A session on a stage: its transcript in memory, the simulator as its provider, a naive judge at the socket.

use std::collections::BTreeMap;

use antefix_models::{Platform, Rules, Tokens, Ttl, rules};
use antefix_prefix::Limit;
use antefix_session::closure::text_block;
use antefix_session::conversation::{Call, Conversation, OFFERS};
use antefix_session::dialect::Dialect;
use antefix_session::event::{Command, Event, Refreshed, RequestReport, Returned, SessionEvent, WarmReport};
use antefix_session::machine::{Session, Settings};
use antefix_session::placement::Placement;
use antefix_session::record::{
    AttemptId, ContextRecord, EndReason, Entry, Forecast, Header, LaneRecord, Millis, PermissionRecord,
    Planned, Record, TOOL_CHANGES_BETA,
};
use antefix_session::warm::Outlook;
use antefix_sim::{Binding, Config, Engine, HttpRequest, Script, Simulator};
use antefix_wire::assemble::{Assembled, Assembler};
use antefix_wire::sse::Parser;
use bytes::Bytes;

use crate::bytes::{extends, pieces, shared, stripped};
use crate::chat;
use crate::random::Random;
use crate::reply::{End, Material, whole};

/// What a session on stage is made of.
#[derive(Clone, Debug)]
pub struct Setup {
    pub dialect: Dialect,
    /// Thinking is switched on, and bound to what stands before it; in Chat Completions, it is sent back.
    pub thinking: bool,
    pub cache: Option<Ttl>,
    /// Without tools and prompt, so that a body begins with its messages.
    pub bare: bool,
    /// Where reminders stand, if not where the dialect has them.
    pub reminders: Option<Placement>,
    /// The lane's tools can be offered and withdrawn, and there is one more, `late`, which is deferred.
    pub changes: bool,
    /// A model of the Messages API, in the place of the usual ones.
    pub model: Option<&'static str>,
    /// The context window in tokens, where it is not the model's own.
    pub window: Option<u64>,
    /// How a server of Chat Completions keeps prompts, where it is not as llama.cpp does.
    pub engine: Option<Engine>,
    pub settings: Settings,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            dialect: Dialect::Anthropic,
            thinking: false,
            cache: Some(Ttl::FiveMinutes),
            bare: false,
            reminders: None,
            changes: false,
            model: None,
            window: None,
            engine: None,
            settings: Settings { retries: 1, ..Settings::default() },
        }
    }
}

impl Setup {
    pub fn placement(&self) -> Placement {
        let is_here = |placement: &Placement| placement.is_in(self.dialect);
        self.reminders.filter(is_here).unwrap_or(Placement::of_dialect(self.dialect))
    }
}

/// A body as it was sent.
#[derive(Clone, Debug)]
pub struct Sent {
    /// Without markers.
    pub stripped: Vec<u8>,
    pub relation: Planned,
    /// The record of its lane.
    pub lane: u64,
}

pub struct Stage {
    pub setup: Setup,
    pub session: Session,
    /// What has been written.
    pub entries: Vec<Entry>,
    /// How many of them survive anything.
    pub durable: usize,
    pub sent: Vec<Sent>,
    pub in_flight: Option<(AttemptId, Assembled)>,
    pub running: Vec<Call>,
    /// When the session wants to be woken to keep its cache warm.
    pub warm_at: Option<Millis>,
    /// The request that keeps it warm, with its answer.
    pub warming: Option<(AttemptId, Assembled)>,
    pub warm_reports: Vec<WarmReport>,
    pub outlooks: Vec<Outlook>,
    /// What was said of each compaction before it was begun.
    pub forecasts: Vec<Forecast>,
    pub is_waiting: bool,
    /// How things are is asked for.
    pub is_refreshing: bool,
    /// What stands behind summaries.
    pub state: Vec<Bytes>,
    /// How compactions ended: why they came to nothing, if so.
    pub compactions: Vec<Option<String>>,
    /// How turns ended, in order.
    pub ends: Vec<EndReason>,
    /// What was said about the last of them.
    pub last_words: Option<String>,
    pub notices: Vec<String>,
    /// What the model was told of its surroundings.
    pub told: Vec<String>,
    pub reports: Vec<RequestReport>,
    /// Those of the Messages API that extend, should have read the cache and did not.
    pub unread: Vec<RequestReport>,
    /// What was forecast of each request.
    pub limits: Vec<Vec<Limit>>,
    simulator: Simulator,
    chat_simulator: Simulator,
    now: u64,
    next_call: u64,
    is_alone: bool,
    /// Its simulator has seen nothing of what was sent.
    is_cold: bool,
}

impl Stage {
    pub fn new(setup: Setup) -> Self {
        let config = Config {
            binding: if setup.thinking { Binding::Always } else { Binding::Never },
            thinking_first: setup.thinking,
            rules: setup.window.map(|_| (model(&setup).to_owned(), own_rules(&setup))).into_iter().collect(),
            ..Config::default()
        };
        let script = Script::parse("rule\n  on any\n  think Thought {{turn}}.\n  text Fine.\n").unwrap();
        let chat_simulator = chat::simulator(&setup);
        let mut stage = Self {
            session: session(Conversation::new(header()), &setup),
            setup,
            entries: Vec::new(),
            durable: 0,
            sent: Vec::new(),
            in_flight: None,
            running: Vec::new(),
            warm_at: None,
            warming: None,
            warm_reports: Vec::new(),
            outlooks: Vec::new(),
            forecasts: Vec::new(),
            is_waiting: false,
            is_refreshing: false,
            state: Vec::new(),
            compactions: Vec::new(),
            ends: Vec::new(),
            last_words: None,
            notices: Vec::new(),
            told: Vec::new(),
            reports: Vec::new(),
            unread: Vec::new(),
            limits: Vec::new(),
            simulator: Simulator::new(config, script),
            chat_simulator,
            now: 1_000,
            next_call: 1,
            is_alone: false,
            is_cold: false,
        };
        stage.open_lane();
        stage
    }

    /// From now on it goes on in another dialect.
    pub fn switch(&mut self, dialect: Dialect) {
        self.setup.dialect = dialect;
        self.chat_simulator = chat::simulator(&self.setup);
        // The rules are the new model's.
        self.resume();
        self.open_lane();
    }

    /// What was sent in a lane.
    fn sent_in(&self, lane: u64) -> Vec<&Sent> {
        self.sent.iter().filter(|sent| sent.lane == lane).collect()
    }

    /// The user wants to go on from a summary.
    pub fn compact(&mut self) {
        self.step(Event::Compact);
    }

    /// How things are now, on another day than before.
    pub fn refreshed(&self) -> Event {
        let lane = self.session.conversation().lane().expect("a lane is open").spec().clone();
        let system = text(&lane.system).replace(r#"\"Now\""#, r#"\"Later\""#).into();
        // The head that is asked for anew knows which tools should be offered.
        let offers = self.session.conversation().known(OFFERS, "").cloned();
        let offers = offers.map(|state| ContextRecord {
            kind: OFFERS.to_owned(),
            key: String::new(),
            state,
            text: None,
        });
        let baseline = offers.map_or(lane.baseline.clone(), |offers| vec![offers]);
        let refreshed =
            Refreshed { lane: LaneRecord { system, baseline, ..lane }, state: self.state.clone() };
        Event::Refreshed(Box::new(refreshed))
    }

    /// How things are is answered.
    pub fn refresh(&mut self) {
        assert!(std::mem::take(&mut self.is_refreshing), "nobody has asked");
        let event = self.refreshed();
        self.step(event);
    }

    fn open_lane(&mut self) {
        let commands = self.session.open_lane(lane(&self.setup), Millis(self.now)).unwrap();
        self.perform(commands);
    }

    /// From now on nothing looks at the bodies, and each request is answered alike.
    pub fn without_provider(&mut self) {
        self.is_alone = true;
    }

    /// The user says something.
    pub fn prompt(&mut self, text: &str) {
        self.step(Event::Prompt { blocks: vec![text_block(text)], context: Vec::new() });
    }

    /// The user says something, and the model is told what has changed.
    pub fn prompt_with(&mut self, text: &str, context: Vec<ContextRecord>) {
        self.step(Event::Settle);
        self.step(Event::Prompt { blocks: vec![text_block(text)], context });
    }

    /// The request in flight ends.
    pub fn end(&mut self, end: End) {
        let event = self.ended(end);
        self.step(event);
    }

    /// The request in flight is answered with this message.
    pub fn answer_with(&mut self, message: Assembled) {
        let (attempt, _) = self.in_flight.take().expect("a request is in flight");
        self.step(Event::Response { attempt, end: whole(message) });
    }

    pub fn ended(&mut self, end: End) -> Event {
        let (attempt, reply) = self.in_flight.take().expect("a request is in flight");
        let material = Material { dialect: self.setup.dialect, reply, next_call: self.next_call };
        self.next_call += if let End::Calls(count) = end { count.max(8) as u64 } else { 8 };
        Event::Response { attempt, end: material.end(end) }
    }

    /// The call at `index` of those that run returns.
    pub fn give(&mut self, index: usize, text: &str, is_error: bool) {
        let call = self.running.remove(index);
        let event = Self::returned(&call, text, is_error);
        self.step(event);
    }

    pub fn returned(call: &Call, text: &str, is_error: bool) -> Event {
        let facts = Bytes::from_static(br#"[{"path":"a.rs","size":3}]"#);
        let output = Returned { content: vec![text_block(text)], is_error, facts };
        Event::Returned { call: call.id.clone(), output }
    }

    /// The user's word about a call, in front of its result.
    pub fn decided(call: &Call, remembered: &[&str]) -> Event {
        Event::Decided(PermissionRecord {
            call: call.id.clone(),
            tool: call.name.clone(),
            allowed: true,
            rule: "your answer".to_owned(),
            source: "asked".to_owned(),
            remembered: remembered.iter().map(|rule| (*rule).to_owned()).collect(),
            effective_input: None,
        })
    }

    pub fn interrupt(&mut self) {
        self.step(Event::Interrupt);
    }

    pub fn due(&mut self) {
        self.is_waiting = false;
        self.step(Event::Due);
    }

    pub fn step(&mut self, event: Event) {
        let commands = self.commands(event);
        self.perform(commands);
    }

    /// What the machine asks for; nothing is done about it.
    pub fn commands(&mut self, event: Event) -> Vec<Command> {
        self.now += 1_000;
        self.session.step(event, Millis(self.now)).unwrap_or_else(|error| panic!("{error}"))
    }

    /// The process dies: of what was written, `kept` records are left, and a new process takes over.
    pub fn kill(&mut self, kept: usize, setup: Setup) {
        self.entries.truncate(kept);
        self.setup = setup;
        let open = self.entries.iter().rev().find_map(|entry| match &entry.record {
            Record::Lane(lane) => Some(lane.dialect),
            Record::Compact(compact) => Some(compact.lane.dialect),
            _ => None,
        });
        self.setup.dialect = open.unwrap_or(self.setup.dialect);
        self.resume();
        if open.is_none() {
            self.open_lane();
        }
    }

    /// A new process takes over.
    pub fn resume(&mut self) {
        self.session = self.replayed(&self.setup);
        self.durable = self.entries.len();
        self.in_flight = None;
        self.running.clear();
        (self.warm_at, self.warming) = (None, None);
        self.is_waiting = false;
        self.is_refreshing = false;
    }

    /// The session as a process of such a build reads it from its encoded records.
    pub fn replayed(&self, setup: &Setup) -> Session {
        session(replay(&self.entries), setup)
    }

    /// A copy under another name that goes on by itself.
    pub fn fork(&self) -> Self {
        let mut fork = Self::new(self.setup.clone());
        (fork.entries, fork.sent, fork.ends) = (self.entries.clone(), self.sent.clone(), self.ends.clone());
        (fork.now, fork.next_call) = (self.now, self.next_call);
        fork.is_cold = true;
        fork.resume();
        fork
    }

    /// The process dies somewhere in what this event asks for, or before any of it.
    pub fn step_and_die(&mut self, event: Event, random: &mut Random, setup: Setup) {
        let mut commands = self.commands(event);
        let body = commands.iter().find_map(|command| match command {
            Command::Send { attempt, body } => Some((*attempt, body.chunks.concat())),
            _ => None,
        });
        let sent = self.sent.len();
        commands.truncate(random.below(commands.len() + 1));
        if let Some(Command::Append { entries, durable }) = commands.last_mut() {
            let kept = random.below(entries.len() + 1);
            *durable &= kept == entries.len();
            entries.truncate(kept);
        }
        self.perform(commands);
        let lost = random.below(self.entries.len() - self.durable + 1);
        self.kill(self.entries.len() - lost, setup);
        // A request on record counts as sent: nobody can know.
        let last = self.entries.last().map(|entry| &entry.record);
        if let (Some((sending, body)), Some(Record::Attempt(attempt))) = (body, last)
            && attempt.attempt == sending
            && self.sent.len() == sent
        {
            self.judge(&body);
        }
    }

    /// So many milliseconds pass.
    pub fn wait(&mut self, milliseconds: u64) {
        self.now += milliseconds;
    }

    pub fn now(&self) -> Millis {
        Millis(self.now)
    }

    pub fn perform(&mut self, commands: Vec<Command>) {
        for command in commands {
            self.command(command);
        }
    }

    fn command(&mut self, command: Command) {
        match command {
            Command::Append { entries, durable } => {
                self.entries.extend(entries);
                if durable {
                    self.durable = self.entries.len();
                }
            }
            Command::Send { attempt, body } => {
                assert_eq!(self.durable, self.entries.len(), "a request leaves before its record is safe");
                let bytes = body.chunks.concat();
                assert_eq!((bytes.len() as u64, blake3::hash(&bytes)), (body.len, body.digest));
                assert!(body.chunks.len() as u64 <= body.len / (16 * 1024) + 2);
                if self.is_alone {
                    self.sent = vec![Sent { stripped: bytes, relation: Planned::First, lane: 0 }];
                    self.in_flight = Some((attempt, alike()));
                    return;
                }
                self.judge(&bytes);
                self.in_flight = Some((attempt, self.answer(&bytes)));
            }
            Command::Run(calls) => self.running = calls,
            Command::Wait(due) => {
                assert!(due.0 > self.now);
                self.is_waiting = true;
            }
            Command::Refresh => self.is_refreshing = true,
            Command::WarmAt(due) => self.warm_at = Some(due),
            Command::Warm { attempt, body } => {
                assert_eq!(self.durable, self.entries.len(), "a request leaves before its record is safe");
                let bytes = body.chunks.concat();
                assert_eq!((bytes.len() as u64, blake3::hash(&bytes)), (body.len, body.digest));
                let same = stripped(&bytes) == with_one_token(&self.sent.last().unwrap().stripped);
                assert!(same, "what keeps warm is not the last request once more: {}", text(&bytes));
                self.warming = Some((attempt, self.answer(&bytes)));
            }
            Command::Emit(SessionEvent::KeptWarm(report)) => self.warm_reports.push(*report),
            Command::Emit(SessionEvent::Forecast(outlook)) => self.outlooks.push(outlook),
            Command::Emit(SessionEvent::CompactionStarted { forecast, .. }) => self.forecasts.push(forecast),
            Command::StopRequest | Command::StopCalls => {}
            Command::Emit(SessionEvent::TurnEnded { reason, message, .. }) => {
                self.ends.push(reason);
                self.last_words = message;
            }
            Command::Emit(SessionEvent::RequestStarted { limits, .. }) => self.limits.push(limits),
            Command::Emit(SessionEvent::RequestFinished(report)) => {
                let reads = report.counts.is_none_or(|counts| !counts.read.is_zero());
                // What a branch goes back to may have expired.
                let extends = self.sent.last().is_some_and(|sent| sent.relation == Planned::Extends);
                let extends = extends && !std::mem::take(&mut self.is_cold);
                if !report.expects.is_zero() && !reads && extends && self.setup.dialect == Dialect::Anthropic
                {
                    self.unread.push((*report).clone());
                }
                self.reports.push(*report);
            }
            Command::Emit(SessionEvent::CompactionEnded { failure, .. }) => self.compactions.push(failure),
            Command::Emit(SessionEvent::Notice(text)) => self.notices.push(text),
            Command::Emit(SessionEvent::Reminder { text, .. }) => self.told.push(text),
            Command::Emit(_) => {}
        }
    }

    /// What the provider read and wrote of each request's prompt, and what it did not cache, in tokens.
    pub fn billed(&self) -> Vec<(u64, u64, u64)> {
        let log = self.simulator.log().iter();
        log.map(|billed| (billed.read, billed.write_5m + billed.write_1h, billed.uncached)).collect()
    }

    /// Holds the body to what its record says of it.
    fn judge(&mut self, body: &[u8]) {
        let Some(Record::Attempt(attempt)) = self.entries.last().map(|entry| &entry.record) else {
            panic!("a request leaves without a record");
        };
        let body = stripped(body);
        assert_eq!(attempt.positions as usize, pieces(&body).len(), "{}", text(&body));
        match attempt.relation {
            Planned::First => assert!(self.sent_in(attempt.lane.0).is_empty()),
            Planned::Extends => {
                let sent = self.sent_in(attempt.lane.0);
                let last = &sent.last().expect("something was sent").stripped;
                assert!(extends(last, &body), "{}\n{}", text(last), text(&body));
            }
            Planned::BranchesAt(at) => {
                let sent = self.sent_in(attempt.lane.0);
                let most = sent.iter().map(|sent| shared(&sent.stripped, &body)).max();
                assert_eq!(most, Some(at as usize));
            }
            Planned::Allowed(at) => panic!("breaks at {at}"),
        }
        let (relation, lane) = (attempt.relation, attempt.lane.0);
        self.sent.push(Sent { stripped: body, relation, lane });
    }

    /// What the simulator answers; it must take the request.
    fn answer(&mut self, body: &[u8]) -> Assembled {
        if self.setup.dialect == Dialect::OpenAiChat {
            return chat::answer(&mut self.chat_simulator, body, self.now, self.setup.thinking);
        }
        let betas = self.session.conversation().lane().expect("a lane is open").spec().betas.join(",");
        let headers = [
            ("x-api-key", "acme/main/secret"),
            ("anthropic-version", "2023-06-01"),
            ("anthropic-beta", &betas),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let request = HttpRequest { method: "POST", path: "/v1/messages", headers: &headers, body };
        let response = self.simulator.handle(&request, antefix_sim::Millis(self.now));
        let answer = response.bytes();
        assert_eq!(response.status, 200, "{}\n{}", text(&answer), text(body));
        let (mut parser, mut assembler) = (Parser::new(), Assembler::new());
        for event in parser.push(&answer).unwrap() {
            assembler.event(&event).unwrap();
        }
        assembler.finish()
    }
}

/// The body with another limit of the reply.
fn with_one_token(body: &[u8]) -> Vec<u8> {
    String::from_utf8_lossy(body).replacen("\"max_tokens\":4000", "\"max_tokens\":1", 1).into_bytes()
}

fn alike() -> Assembled {
    let usage = r#"{"input_tokens":3,"cache_read_input_tokens":2000,"cache_creation_input_tokens":900,"output_tokens":40}"#;
    Assembled {
        message_id: Some("msg_1".to_owned()),
        usage_json: Some(usage.as_bytes().to_vec()),
        complete: true,
        ..Assembled::default()
    }
}

/// The records as a cold process sees them.
pub fn replay(entries: &[Entry]) -> Conversation {
    let header = Header::decode(&header().encode()).unwrap();
    let mut conversation = Conversation::new(header);
    for entry in entries {
        let read = Entry::decode(&entry.encode()).unwrap();
        assert_eq!(&read, entry);
        conversation.apply(&read).unwrap_or_else(|error| panic!("{error}"));
    }
    conversation
}

pub fn header() -> Header {
    Header {
        session: "s1".to_owned(),
        cwd: "/somewhere".to_owned(),
        created: Millis(1),
        build: "0.1.0".to_owned(),
        forked_from: None,
        spawned_by: None,
    }
}

fn session(conversation: Conversation, setup: &Setup) -> Session {
    Session::new(conversation, own_rules(setup), setup.settings.clone())
}

fn own_rules(setup: &Setup) -> Rules {
    let rules = match setup.dialect {
        Dialect::Anthropic => rules(Platform::Anthropic, model(setup)),
        Dialect::OpenAiChat => chat::rules(setup),
    };
    let context_window = setup.window.map_or(rules.context_window, Tokens);
    Rules { context_window, ..rules }
}

fn model(setup: &Setup) -> &'static str {
    match setup.placement() {
        _ if setup.model.is_some() => setup.model.unwrap_or_default(),
        _ if setup.thinking => "claude-opus-5-5",
        Placement::SystemMessage => "claude-opus-4-8",
        _ => "claude-sonnet-4-6",
    }
}

/// A head long enough to be cached.
pub fn lane(setup: &Setup) -> LaneRecord {
    if setup.dialect == Dialect::OpenAiChat {
        return chat::lane(setup);
    }
    let thinking = if setup.thinking { r#","thinking":{"type":"enabled","budget_tokens":2000}"# } else { "" };
    let envelope = format!(r#"{{"model":"{}","max_tokens":4000,"stream":true{thinking}}}"#, model(setup));
    let (prompt, baseline) = (text_block(&"Work carefully. ".repeat(300)), text_block("Here. \"Now\"."));
    let system =
        if setup.bare { b"[]".to_vec() } else { [b"[", &prompt[..], b",", &baseline, b"]"].concat() };
    let tools = if setup.bare { "[]" } else { TOOLS };
    let late = format!("{},{LATE}]", TOOLS.trim_end_matches(']'));
    let (tools, betas) = if setup.changes {
        (late.as_str(), vec![TOOL_CHANGES_BETA.to_owned()])
    } else {
        (tools, vec!["some-beta-2026-01-01".to_owned()])
    };
    LaneRecord {
        dialect: Dialect::Anthropic,
        keeps_reasoning: false,
        reminders: setup.placement(),
        baseline: Vec::new(),
        platform: Platform::Anthropic,
        model: model(setup).to_owned(),
        scope: "5c09e".to_owned(),
        betas,
        envelope: envelope.into(),
        tools: Bytes::copy_from_slice(tools.as_bytes()),
        system: system.into(),
        static_blocks: u64::from(!setup.bare),
        cache: setup.cache,
        contract: 1,
    }
}

/// How often each relation was recorded.
pub fn relations(sent: &[Sent]) -> BTreeMap<&'static str, u64> {
    let mut out = BTreeMap::new();
    for sent in sent {
        let word = match sent.relation {
            Planned::First => "first",
            Planned::Extends => "extends",
            Planned::BranchesAt(_) => "branches",
            Planned::Allowed(_) => "allowed",
        };
        *out.entry(word).or_default() += 1;
    }
    out
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const LATE: &str =
    r#"{"name":"late","description":"Comes late.","input_schema":{"type":"object"},"defer_loading":true}"#;

const TOOLS: &str = r#"[{"name":"read","description":"Reads a file.","input_schema":{"type":"object","properties":{"z":{"type":"number"},"a":{"type":"string"}}}},{"name":"edit","description":"Edits a file.","input_schema":{"type":"object"}}]"#;
