//! Live state is cold replay: random conversations, each continued by the process that holds it and by a new one
//! that reads the encoded records, of this build and of another. The next bodies are byte for byte the same.

use std::collections::BTreeMap;

use antefix_models::Ttl;
use antefix_session::closure::{Texts, text_block};
use antefix_session::conversation::Tail;
use antefix_session::dialect::Dialect;
use antefix_session::event::{Command, Event};
use antefix_session::guard::Limits;
use antefix_session::machine::{Session, SessionError, Settings};
use antefix_session::placement::Placement;
use antefix_session::record::{ContextRecord, EndReason, Planned, Record};
use antefix_session::verify::verify;
use bytes::Bytes;

use crate::random::Random;
use crate::reply::End;
use crate::stage::{Setup, Stage, header, relations, text};
use crate::tamper::tamper;

const CONVERSATIONS: u64 = 600;

/// What must have happened at least once: each row of the turn-closure table, and each way to go on.
const MUST_HAPPEN: &[&str] = &[
    "Done",
    "Calls",
    "Empty",
    "OnlyThinking",
    "MaxInText",
    "MaxInThinking",
    "MaxInInput",
    "MaxInSecondInput",
    "Pause",
    "PauseOpen",
    "PauseInText",
    "Refusal",
    "RefusalCut",
    "StopSequence",
    "Window",
    "CutBefore",
    "CutInText",
    "CutBehindCall",
    "CutInServerTool",
    "StreamError",
    "Unreachable",
    "Rejected(400)",
    "Rejected(401)",
    "Rejected(413)",
    "Rejected(429)",
    "Rejected(529)",
    "interrupt of a request",
    "interrupt of calls",
    "interrupt of a wait",
    "kill with a request in flight",
    "kill with calls open",
    "kill while waiting",
    "kill at a prompt",
    "guard with results unsent",
    "compaction, as asked",
    "a summary",
    "kill with a summary",
    "closing: nothing",
    "closing: paused",
    "closing: calls",
    "closing: results unsent",
    "closing: unanswered",
    "closing: left behind",
    "rewind",
    "fork",
    "resume",
    "blank prompt",
    "settled first",
    "note in a turn",
    "other build",
    "other dialect",
    "in anthropic",
    "in openai-chat",
];

#[test]
fn a_new_process_goes_on_with_the_same_bytes() {
    let mut seen = BTreeMap::new();
    for seed in 0..CONVERSATIONS {
        let run = std::panic::AssertUnwindSafe(|| Conversation::new(seed).run());
        match std::panic::catch_unwind(run) {
            Ok(happened) => {
                for (what, times) in happened {
                    *seen.entry(what).or_default() += times;
                }
            }
            Err(cause) => {
                eprintln!("seed {seed}");
                std::panic::resume_unwind(cause);
            }
        }
    }
    let count = |what: &str| seen.get(what).copied().unwrap_or(0_u64);
    let missing: Vec<_> = MUST_HAPPEN.iter().filter(|what| count(what) == 0).collect();
    assert!(missing.is_empty(), "never happened: {missing:?}");
    println!("{CONVERSATIONS} conversations: {seen:#?}");
}

/// Sixty steps each: messages, changes around, kills, new processes, copies, ways back, other dialects and summaries.
/// No break that was not planned; and each that was is told, with its price where there is one. What is expected to be
/// read is read. `ANTEFIX_LONG_CONVERSATIONS` says how many there are, `ANTEFIX_LONG_SEED` which is the first.
#[test]
fn long_conversations_break_as_planned() {
    let (first, count) = (setting("ANTEFIX_LONG_SEED", 0), setting("ANTEFIX_LONG_CONVERSATIONS", 3));
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut breaks = BTreeMap::new();
    std::thread::scope(|scope| {
        let shares = (0..threads as u64).map(|share| (first + share..first + count).step_by(threads));
        let shares: Vec<_> = shares.map(|seeds| scope.spawn(|| planned_in(seeds))).collect();
        for share in shares {
            let planned = share.join().unwrap_or_else(|cause| std::panic::resume_unwind(cause));
            for (what, times) in planned {
                *breaks.entry(what).or_insert(0) += times;
            }
        }
    });
    for what in ["compact", "carry", "branch"] {
        assert!(breaks.get(what).copied().unwrap_or(0) > 0, "no {what}: {breaks:?}");
    }
    println!("{count} conversations: {breaks:?}");
}

#[allow(clippy::disallowed_methods, reason = "a test's own setting")]
fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// The breaks that were planned in long conversations with these seeds.
fn planned_in(seeds: impl Iterator<Item = u64>) -> BTreeMap<&'static str, u64> {
    let mut breaks = BTreeMap::new();
    for seed in seeds {
        let run = std::panic::AssertUnwindSafe(|| Conversation::new(1_000_000 + seed).run_long());
        let planned = std::panic::catch_unwind(run).unwrap_or_else(|cause| {
            eprintln!("seed {seed}");
            std::panic::resume_unwind(cause)
        });
        for (what, times) in planned {
            *breaks.entry(what).or_insert(0) += times;
        }
    }
    breaks
}

struct Conversation {
    seed: u64,
    random: Random,
    stage: Stage,
    happened: BTreeMap<String, u64>,
    /// How much the model was told of its surroundings.
    told: u64,
    prompts: u64,
    /// Each of so many prompts is compared with that of new processes.
    compared: u64,
}

impl Conversation {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let max_steps = random.once_in(4).then(|| 1 + random.below(2) as u64);
        let settings = Settings {
            limits: Limits { max_steps, ..Limits::default() },
            retries: random.below(3) as u32,
            ..Settings::default()
        };
        let cache = *random.pick(&[Some(Ttl::FiveMinutes), Some(Ttl::OneHour), None]);
        let dialect = *random.pick(&Dialect::ALL);
        let setup = Setup {
            dialect,
            thinking: random.once_in(2),
            cache,
            bare: random.once_in(8),
            settings,
            reminders: Some(*random.pick(&Placement::ALL)),
            changes: false,
            model: None,
            window: None,
            engine: None,
        };
        Self {
            seed,
            random,
            stage: Stage::new(setup),
            happened: BTreeMap::new(),
            told: 0,
            prompts: 0,
            compared: 1,
        }
    }

    fn run(mut self) -> BTreeMap<String, u64> {
        for _ in 0..3 + self.random.below(5) {
            self.go_on();
            self.prompt();
            self.is_told_once();
            self.rest();
        }
        self.verify();
        self.happened
    }

    /// A long one; gives the breaks that were planned, by their kind.
    fn run_long(mut self) -> BTreeMap<&'static str, u64> {
        // Every step must be made, so that nothing but the conversation ends it.
        self.stage.setup.settings.limits = Limits::default();
        self.stage.resume();
        // Which takes the longer, the longer the conversation is.
        self.compared = 4;
        for _ in 0..60 {
            self.go_on();
            self.prompt();
            self.is_told_once();
            self.rest();
        }
        self.verify();
        self.planned()
    }

    /// The breaks on record: each opens a lane or leaves sent requests behind, and says why.
    fn planned(&self) -> BTreeMap<&'static str, u64> {
        let mut found = BTreeMap::new();
        let mut note = |what| *found.entry(what).or_insert(0) += 1;
        let (mut lanes, mut firsts) = (0, 0);
        for entry in &self.stage.entries {
            match &entry.record {
                Record::Lane(_) => lanes += 1,
                Record::Compact(compact) => {
                    lanes += 1;
                    let forecast = compact.forecast;
                    assert!(!forecast.before.is_zero() && !forecast.after.is_zero(), "{forecast:?}");
                    let is_priced = compact.lane.dialect == Dialect::Anthropic;
                    let prices = [forecast.summary, forecast.without, forecast.with];
                    assert!(prices.iter().all(|price| price.is_some() == is_priced), "{forecast:?}");
                    note("compact");
                }
                Record::Carry { .. } => note("carry"),
                Record::Rewind { .. } => note("rewind"),
                Record::Attempt(attempt) => match attempt.relation {
                    Planned::First => firsts += 1,
                    Planned::BranchesAt(_) => note("branch"),
                    Planned::Extends => {}
                    Planned::Allowed(at) => panic!("an unplanned break at {at}"),
                },
                _ => {}
            }
        }
        assert!(firsts <= lanes, "{firsts} first requests in {lanes} lanes");
        assert!(self.stage.unread.is_empty(), "{:?}", self.stage.unread);
        found
    }

    /// Events until nothing is waited for.
    fn rest(&mut self) {
        for step in 0.. {
            if self.stage.session.is_idle() {
                break;
            }
            self.step(step);
            self.is_told_once();
        }
    }

    fn note(&mut self, what: &str) {
        *self.happened.entry(what.to_owned()).or_default() += 1;
    }

    /// Between two turns: a new process, another branch, a copy; or nothing.
    fn go_on(&mut self) {
        match self.random.below(8) {
            0 => {
                let turn =
                    1 + self.random.below(self.stage.session.conversation().turn() as usize + 1) as u64;
                let now = self.stage.now();
                match self.stage.session.step(Event::Rewind { turn }, now) {
                    Ok(commands) => self.stage.perform(commands),
                    Err(error) => return assert_eq!(error, SessionError::NoTurn(turn)),
                }
                self.note("rewind");
            }
            1 => {
                self.stage = self.stage.fork();
                self.note("fork");
            }
            5 if self.random.once_in(3) && self.stage.session.conversation().lane().is_some() => {
                self.stage.compact();
                self.note("compaction, as asked");
                self.rest();
            }
            4 if self.random.once_in(3) => {
                let dialect = self.stage.setup.dialect;
                let other = Dialect::ALL.into_iter().find(|other| *other != dialect).unwrap();
                self.stage.switch(other);
                self.note("other dialect");
            }
            2 | 3 => {
                let setup = self.build();
                self.stage.kill(self.stage.entries.len(), setup);
                self.note("resume");
            }
            _ => {}
        }
    }

    /// This build, or one whose texts and tools are others. What it offers is not asked for: the head is on record.
    fn build(&mut self) -> Setup {
        let mut setup = self.stage.setup.clone();
        if self.random.once_in(2) {
            self.note("other build");
            setup.settings.texts = OTHER_TEXTS;
        } else {
            setup.settings.texts = Texts::default();
        }
        setup
    }

    /// The user's next message, to this process and to new ones.
    fn prompt(&mut self) {
        let tail = self.stage.session.conversation().tail();
        if self.random.once_in(4) {
            self.note("settled first");
            self.stage.step(Event::Settle);
        }
        self.note(match &tail {
            Tail::Empty | Tail::Answered => "closing: nothing",
            Tail::Paused { .. } => "closing: paused",
            Tail::Calls { open } if open.is_empty() => "closing: results unsent",
            Tail::Calls { .. } => "closing: calls",
            Tail::Unanswered => "closing: unanswered",
            Tail::LeftBehind { .. } => "closing: left behind",
        });
        let blocks = self.words();
        let context = if self.random.once_in(3) { self.changes() } else { Vec::new() };
        let mut others = Vec::new();
        self.prompts += 1;
        let is_compared = self.prompts.is_multiple_of(self.compared);
        if is_compared {
            others.push(self.stage.replayed(&self.stage.setup));
        }
        // Another build closes a turn in other words, but what needs no closing it continues alike.
        let is_carried = self.stage.session.conversation().is_carried_over();
        if is_compared && is_carried && matches!(tail, Tail::Empty | Tail::Answered) {
            let mut setup = self.stage.setup.clone();
            setup.settings.texts = OTHER_TEXTS;
            others.push(self.stage.replayed(&setup));
        }
        if self.random.once_in(12) {
            self.note("kill at a prompt");
            let setup = self.build();
            return self.stage.step_and_die(Event::Prompt { blocks, context }, &mut self.random, setup);
        }
        let commands =
            self.stage.commands(Event::Prompt { blocks: blocks.clone(), context: context.clone() });
        let now = self.stage.now();
        let expect = gist(&commands);
        for other in &mut others {
            assert_eq!(
                gist(
                    &other
                        .step(Event::Prompt { blocks: blocks.clone(), context: context.clone() }, now)
                        .unwrap()
                ),
                expect
            );
            same_state(other, &self.stage.session);
        }
        self.stage.perform(commands);
    }

    fn words(&mut self) -> Vec<Bytes> {
        if self.random.once_in(30) {
            self.note("blank prompt");
            return vec![text_block(" \n")];
        }
        let words = self.text();
        let mut blocks = vec![text_block(&words)];
        if self.random.once_in(4) {
            blocks.push(Bytes::from_static(b"{ \"type\": \"text\",\n \"text\": \"caf\\u00e9 \\/\" }"));
        }
        blocks
    }

    /// One or two things that have changed; each is told in words of its own.
    fn changes(&mut self) -> Vec<ContextRecord> {
        let count = 1 + self.random.below(2);
        (0..count).map(|_| self.change()).collect()
    }

    fn change(&mut self) -> ContextRecord {
        self.told += 1;
        let (told, words) = (self.told, self.text());
        ContextRecord {
            kind: (*self.random.pick(&["git", "date"])).to_owned(),
            key: String::new(),
            state: Bytes::from(told.to_string()),
            text: (!self.random.once_in(6)).then(|| format!("told-{told}. {words}")),
        }
    }

    /// What the model is told stands once in what is sent, unless it waits or was left behind.
    fn is_told_once(&self) {
        let (Some(sent), Some(_)) = (self.stage.sent.last(), &self.stage.in_flight) else { return };
        let sent = text(&sent.stripped);
        for reminder in self.stage.session.conversation().reminders() {
            let words = reminder.context.text.as_ref().unwrap().split(' ').next().unwrap();
            let expect = usize::from(reminder.is_current && reminder.message.is_some());
            let found = sent.matches(words).count();
            // A summary is asked for of a part where the whole is too long for that.
            let is_part = self.stage.session.is_compacting() && found == 0;
            // Where it stands within a result, it stays there behind a summary.
            let is_kept = self.stage.session.conversation().compactions() > 0 && !reminder.is_current;
            assert!(found == expect || is_part || is_kept && found == 1, "{reminder:?}\n{sent}");
        }
    }

    fn text(&mut self) -> String {
        let texts = [
            "Do it.",
            "Line\nby\tline, \"quoted\" \\ and \u{1f600}\u{7}",
            r#"],"messages":[{"a":"b"},"cache_control":{"type":"ephemeral"}}"#,
            "e\u{301} \u{2028}",
        ];
        let text = *self.random.pick(&texts);
        let times = if self.random.once_in(10) { 200 } else { 1 };
        format!("{} {}", self.random.below(1_000), text.repeat(times))
    }

    /// One event of a running turn; sometimes the process dies in it.
    fn step(&mut self, step: u64) {
        if self.random.once_in(8) {
            self.note("note in a turn");
            let context = self.changes();
            self.stage.step(Event::Note(context));
        }
        let mut dies = self.random.once_in(25);
        let stops = self.random.once_in(12);
        let event = if self.stage.in_flight.is_some() {
            if dies {
                let is_summary = self.stage.session.is_compacting();
                self.note(if is_summary { "kill in a summary" } else { "kill with a request in flight" });
            }
            if stops {
                self.note("interrupt of a request");
                self.stage.interrupt();
            }
            let end = if step > 12 { End::Done } else { self.pick_end() };
            let what = match end {
                End::Calls(_) => "Calls".to_owned(),
                End::Unreachable { .. } => "Unreachable".to_owned(),
                _ => format!("{end:?}"),
            };
            self.note(&what);
            self.note(&format!("in {}", self.stage.setup.dialect.name()));
            // Between an outcome and its rewind, too.
            dies |= matches!(end, End::Rejected(_) | End::Refusal) && self.random.once_in(3);
            self.stage.ended(end)
        } else if self.stage.is_waiting {
            if dies {
                self.note("kill while waiting");
            }
            self.stage.is_waiting = false;
            if stops {
                self.note("interrupt of a wait");
                Event::Interrupt
            } else {
                Event::Due
            }
        } else if std::mem::take(&mut self.stage.is_refreshing) {
            if dies {
                self.note("kill with a summary");
            }
            self.note("a summary");
            if stops {
                self.stage.interrupt();
            }
            self.stage.refreshed()
        } else {
            if dies {
                self.note("kill with calls open");
            }
            if stops {
                self.note("interrupt of calls");
                self.stage.interrupt();
            }
            let call = self.stage.running.remove(self.random.below(self.stage.running.len()));
            if self.random.once_in(4) {
                self.note("permission");
                let event = Stage::decided(&call, &[]);
                // Only a call that runs can be decided about.
                self.stage.step(event);
            }
            let text = self.text();
            let is_error = self.random.once_in(3);
            Stage::returned(&call, &text, is_error)
        };
        if dies {
            let setup = self.build();
            return self.stage.step_and_die(event, &mut self.random, setup);
        }
        let ends = self.stage.ends.len();
        self.stage.step(event);
        let guarded = self.stage.ends[ends..].contains(&EndReason::Guard);
        if guarded && !self.stage.session.conversation().pending().is_empty() {
            self.note("guard with results unsent");
        }
    }

    fn pick_end(&mut self) -> End {
        match self.random.below(10) {
            0..4 => End::Calls(1 + self.random.below(4)),
            4 | 5 => End::Done,
            _ => loop {
                let end = *self.random.pick(&ENDS);
                let is_messages =
                    matches!(end, End::Pause | End::PauseOpen | End::PauseInText | End::CutInServerTool);
                if !is_messages || self.stage.setup.dialect == Dialect::Anthropic {
                    break end;
                }
            },
        }
    }

    /// The transcript is right, and is found out if it is changed.
    fn verify(&mut self) {
        let stage = &self.stage;
        let report = verify(header(), &stage.entries);
        assert!(report.is_ok(), "{report:?}");
        assert_eq!(report.requests as usize, stage.sent.len());
        let count = relations(&stage.sent);
        let of = |word: &str| count.get(word).copied().unwrap_or(0);
        let found = (report.first, report.extends, report.branches, report.allowed);
        assert_eq!(found, (of("first"), of("extends"), of("branches"), 0));
        if self.seed.is_multiple_of(4) {
            tamper(&self.stage.entries, &mut self.random);
        }
    }
}

/// What commands do, in a form that can be compared: a body as its bytes, however they are chunked.
fn gist(commands: &[Command]) -> Vec<String> {
    let gist = |command: &Command| match command {
        Command::Send { attempt, body } => {
            let text = String::from_utf8(body.chunks.concat()).unwrap();
            format!("send {attempt:?} {} {} {text}", body.len, body.digest)
        }
        other => format!("{other:?}"),
    };
    commands.iter().map(gist).collect()
}

fn same_state(one: &Session, other: &Session) {
    let state = |session: &Session| {
        let conversation = session.conversation();
        let path: Vec<_> = conversation.path().map(|message| message.record()).collect();
        (path, conversation.tail(), conversation.turn(), conversation.steps(), session.spent())
    };
    assert_eq!(state(one), state(other));
}

const OTHER_TEXTS: Texts = Texts {
    not_run: "Nothing came of this call.",
    left_out: "Too much came of this call.",
    no_reply: "...",
    cut_off: "End.",
    broken_input: "What is this?",
};

const ENDS: [End; 30] = [
    End::Empty,
    End::OnlyThinking,
    End::MaxInText,
    End::MaxInThinking,
    End::MaxInInput,
    End::MaxInSecondInput,
    End::BrokenInput,
    End::BrokenInputs,
    End::SameIds,
    End::NoCall,
    End::Pause,
    End::Pause,
    End::PauseOpen,
    End::PauseInText,
    End::Refusal,
    End::RefusalCut,
    End::StopSequence,
    End::Window,
    End::CutBefore,
    End::CutInText,
    End::CutBehindCall,
    End::CutInServerTool,
    End::StreamError,
    End::Unreachable { retryable: true },
    End::Unreachable { retryable: false },
    End::Rejected(400),
    End::Rejected(401),
    End::Rejected(413),
    End::Rejected(429),
    End::Rejected(529),
];
