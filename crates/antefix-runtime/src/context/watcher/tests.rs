use std::sync::{Arc, Mutex};
use std::time::Duration;

use antefix_models::{Platform, rules};
use antefix_session::closure::text_block;
use antefix_session::dialect::Dialect;
use antefix_session::event::{Command, Event, ResponseEnd, SessionEvent};
use antefix_session::machine::{Session, Settings};
use antefix_session::placement::Placement;
use antefix_session::record::{Entry, Header, Millis};
use antefix_tools::Registry;
use jiff::tz::TimeZone;

use super::*;
use crate::head::{ChatTerms, HeadSpec, Thinking};

pub(in crate::context) fn around(folder: &str, now: Millis) -> Surroundings {
    Surroundings::of(folder, now, TimeZone::UTC)
}

pub(in crate::context) fn at(time: &str) -> Millis {
    let time: jiff::Timestamp = time.parse().unwrap();
    Millis(time.as_millisecond() as u64)
}

/// What a scripted source finds.
#[derive(Clone, Copy, Debug)]
enum View {
    /// This.
    Is(&'static str),
    /// Nothing.
    Empty,
    /// It cannot say.
    Fails,
    /// It cannot say of this one thing.
    Unclear,
    /// It looks for longer than it is waited for.
    Hangs,
    /// Its thread ends in a panic.
    Panics,
}

/// A source that finds what it is told to find.
struct Scripted {
    view: Arc<Mutex<View>>,
    moment: Moment,
}

impl Source for Scripted {
    fn kind(&self) -> &'static str {
        "tools"
    }

    fn observe(&mut self, _around: &Surroundings) -> Result<Vec<Sighting>, Unavailable> {
        let view = *self.view.lock().unwrap();
        match view {
            View::Is(state) => Ok(vec![Sighting::new("it", format!("\"{state}\""))]),
            View::Empty | View::Unclear => Ok(Vec::new()),
            View::Fails => Err(Unavailable("no".to_owned())),
            View::Hangs => loop {
                // Until the test wants something else, and the lock shows it.
                std::thread::yield_now();
                if !matches!(*self.view.lock().unwrap(), View::Hangs) {
                    return Ok(Vec::new());
                }
            },
            View::Panics => panic!("as the test wants it"),
        }
    }

    fn baseline(&self, sighting: &Sighting) -> Option<String> {
        Some(format!("It is {}.", String::from_utf8_lossy(&sighting.state)))
    }

    fn drift(&self, known: &[u8], now: &Sighting) -> Option<String> {
        let [before, after] = [known, &now.state].map(String::from_utf8_lossy);
        (after != "\"same\"").then(|| format!("{before} to {after}"))
    }

    fn removed(&self, _key: &str, known: &[u8]) -> Option<String> {
        Some(format!("{} to nothing", String::from_utf8_lossy(known)))
    }

    fn speaks_for(&self, _key: &str) -> bool {
        !matches!(*self.view.lock().unwrap(), View::Unclear)
    }

    fn moment(&self) -> Moment {
        self.moment
    }

    fn patience(&self) -> Duration {
        let is_short = matches!(*self.view.lock().unwrap(), View::Hangs);
        if is_short { Duration::from_millis(20) } else { Duration::from_secs(60) }
    }
}

/// A session with one source, on record in memory.
struct Talk {
    view: Arc<Mutex<View>>,
    moment: Moment,
    watcher: Watcher,
    session: Session,
    entries: Vec<Entry>,
    told: Vec<String>,
    head: Baseline,
}

impl Talk {
    async fn new(moment: Moment, reminders: Reminders) -> Self {
        let view = Arc::new(Mutex::new(View::Is("a")));
        let session = session(Conversation::new(header()));
        let (entries, told, head) = (Vec::new(), Vec::new(), Baseline::default());
        let mut talk = Self { watcher: Watcher::default(), view, moment, session, entries, told, head };
        talk.watch(reminders);
        talk.head = talk.watcher.baseline(&around("/w", Millis(1))).await;
        let lane = head_with(talk.head.clone()).render(&Registry::new());
        let commands = talk.session.open_lane(lane, Millis(1)).unwrap();
        talk.take(commands);
        talk
    }

    fn watch(&mut self, reminders: Reminders) {
        self.watcher = Watcher::new(reminders);
        self.watcher.add(Scripted { view: Arc::clone(&self.view), moment: self.moment });
    }

    /// A turn; gives what the model is told in it.
    async fn say(&mut self) -> Vec<String> {
        let around = around("/w", Millis(10_000));
        self.step(Event::Settle);
        let context = self.watcher.drift(self.session.conversation(), &around).await;
        self.step(Event::Prompt { blocks: vec![text_block("Go on.")], context });
        let news = self.watcher.first_look(&around).await;
        self.step(Event::Note(news));
        let attempt = self.session.conversation().attempts().last().unwrap().attempt.attempt;
        let end = ResponseEnd::Unreachable { error: "nobody there".to_owned(), retryable: false };
        self.step(Event::Response { attempt, end });
        std::mem::take(&mut self.told)
    }

    /// A new process takes the session up.
    fn resume(&mut self, reminders: Reminders) {
        let mut conversation = Conversation::new(header());
        for entry in &self.entries {
            conversation.apply(entry).unwrap();
        }
        self.session = session(conversation);
        self.watch(reminders);
    }

    fn step(&mut self, event: Event) {
        let commands = self.session.step(event, Millis(2)).unwrap();
        self.take(commands);
    }

    fn take(&mut self, commands: Vec<Command>) {
        for command in commands {
            match command {
                Command::Append { entries, .. } => self.entries.extend(entries),
                Command::Emit(SessionEvent::Reminder { text, .. }) => self.told.push(text),
                _ => {}
            }
        }
    }
}

fn header() -> Header {
    let (session, cwd, build) = ("s".to_owned(), "/w".to_owned(), "test".to_owned());
    Header { session, cwd, created: Millis(0), build, forked_from: None, spawned_by: None }
}

fn session(conversation: Conversation) -> Session {
    Session::new(conversation, rules(Platform::Anthropic, MODEL), Settings::default())
}

fn head_with(baseline: Baseline) -> HeadSpec {
    HeadSpec {
        dialect: Dialect::Anthropic,
        platform: Platform::Anthropic,
        model: MODEL.to_owned(),
        scope: String::new(),
        betas: Vec::new(),
        max_tokens: Some(1_000),
        thinking: Thinking::Off,
        effort: None,
        context_management: None,
        cache: None,
        system_prompt: None,
        append_system_prompt: None,
        baseline,
        chat: ChatTerms::default(),
        reminders: Placement::UserBlock,
    }
}

fn without_tools() -> Reminders {
    let mut reminders = Reminders::default();
    reminders.switch_off("tools").unwrap();
    reminders
}

const MODEL: &str = "claude-sonnet-5-5";

/// What happens in a row of the table, and what the model is told in a turn.
enum Act {
    Sees(View),
    Says(&'static [&'static str]),
    Resumes,
    SwitchesOff,
    Rewinds(u64),
}

#[tokio::test]
async fn what_changes_is_told_once() {
    use Act::{Resumes, Rewinds, Says, Sees, SwitchesOff};
    use View::{Empty, Fails, Hangs, Is, Panics, Unclear};
    let rows: [(&str, Vec<Act>); 13] = [
        ("nothing changes", vec![Says(&[]), Says(&[]), Resumes, Says(&[])]),
        ("a change", vec![Sees(Is("b")), Says(&[r#""a" to "b""#]), Says(&[]), Resumes, Says(&[])]),
        ("a change that need not be told", vec![Sees(Is("same")), Says(&[]), Sees(Is("a")), Says(&[])]),
        ("it is unclear", vec![Sees(Unclear), Says(&[]), Sees(Is("a")), Says(&[])]),
        ("it fails", vec![Sees(Fails), Says(&[]), Sees(Is("a")), Says(&[])]),
        (
            "it takes too long",
            vec![Sees(Hangs), Says(&[]), Says(&[]), Sees(Is("b")), Resumes, Says(&[r#""a" to "b""#])],
        ),
        (
            "it panics",
            vec![Sees(Panics), Says(&[]), Sees(Is("b")), Says(&[]), Resumes, Says(&[r#""a" to "b""#])],
        ),
        (
            "gone and back",
            vec![
                Sees(Empty),
                Says(&[r#""a" to nothing"#]),
                Says(&[]),
                Resumes,
                Says(&[]),
                Sees(Is("a")),
                Says(&[r#"null to "a""#]),
                Says(&[]),
            ],
        ),
        (
            "gone, then not to be seen",
            vec![Sees(Empty), Says(&[r#""a" to nothing"#]), Sees(Fails), Says(&[])],
        ),
        ("gone and back before anyone looked", vec![Sees(Empty), Sees(Is("a")), Says(&[])]),
        (
            "a rewind to where it was not known",
            vec![
                Says(&[]),
                Sees(Is("b")),
                Says(&[r#""a" to "b""#]),
                Rewinds(2),
                Says(&[r#""a" to "b""#]),
                Rewinds(2),
                Sees(Is("a")),
                Says(&[]),
            ],
        ),
        (
            "switched off and on",
            vec![
                SwitchesOff,
                Sees(Is("b")),
                Says(&[]),
                Sees(Is("c")),
                Says(&[]),
                Resumes,
                Says(&[r#""a" to "c""#]),
                SwitchesOff,
                Sees(Empty),
                Says(&[]),
                Sees(Is("c")),
                Resumes,
                Says(&[]),
            ],
        ),
        (
            "there and back",
            vec![Sees(Is("b")), Says(&[r#""a" to "b""#]), Sees(Is("a")), Says(&[r#""b" to "a""#])],
        ),
    ];
    for moment in [Moment::Prompt, Moment::Later, Moment::Calls] {
        for (name, acts) in &rows {
            let mut talk = Talk::new(moment, Reminders::default()).await;
            let is_said = moment != Moment::Later;
            assert_eq!(talk.head.text.contains("It is \"a\"."), is_said, "{name}, {moment:?}");
            if !is_said {
                // What it saw at the start is on record before the first response is.
                assert_eq!(talk.say().await, Vec::<String>::new(), "{name}, {moment:?}");
            }
            for (index, act) in acts.iter().enumerate() {
                match act {
                    Sees(view) => *talk.view.lock().unwrap() = *view,
                    Says(expect) => assert_eq!(talk.say().await, *expect, "{name}, {moment:?}, act {index}"),
                    Resumes => talk.resume(Reminders::default()),
                    SwitchesOff => talk.resume(without_tools()),
                    // The turn in which a later source first looked is not left.
                    Rewinds(turn) => talk.step(Event::Rewind { turn: turn + u64::from(!is_said) }),
                }
            }
        }
    }
}

/// A look that was not waited for says how things were then: what it saw is dropped, and it is made again.
#[tokio::test]
async fn a_look_that_comes_too_late_is_made_again() {
    let mut talk = Talk::new(Moment::Prompt, Reminders::default()).await;
    *talk.view.lock().unwrap() = View::Hangs;
    assert_eq!(talk.say().await, Vec::<String>::new());
    *talk.view.lock().unwrap() = View::Is("b");
    let told = loop {
        let told = talk.say().await;
        if !told.is_empty() {
            break told;
        }
        // The late one is still on its way.
        std::thread::yield_now();
    };
    assert_eq!(told, [r#""a" to "b""#]);
}

#[tokio::test]
async fn behind_calls_only_those_are_asked_that_want_to_be() {
    for (moment, expect) in [(Moment::Prompt, 0), (Moment::Later, 0), (Moment::Calls, 1)] {
        let mut talk = Talk::new(moment, Reminders::default()).await;
        talk.say().await;
        *talk.view.lock().unwrap() = View::Is("b");
        let around = around("/w", Millis(20_000));
        let found = talk.watcher.after_calls(talk.session.conversation(), &around).await;
        assert_eq!(found.len(), expect, "{moment:?}");
    }
}

/// A process that is killed between looking and sending has told nothing.
#[tokio::test]
async fn what_was_seen_and_not_recorded_is_told_later() {
    let mut talk = Talk::new(Moment::Prompt, Reminders::default()).await;
    *talk.view.lock().unwrap() = View::Is("b");
    talk.step(Event::Settle);
    let around = around("/w", Millis(10_000));
    let seen = talk.watcher.drift(talk.session.conversation(), &around).await;
    talk.resume(Reminders::default());
    assert_eq!(talk.watcher.drift(talk.session.conversation(), &around).await, seen);
    assert_eq!(talk.say().await, [r#""a" to "b""#]);
}

/// A session that an older build began knows of no sources: what its head says in the same words is known, the rest is
/// told.
#[tokio::test]
async fn an_older_head_is_searched_for_what_it_says() {
    for (view, expect) in [("a", Vec::new()), ("b", vec![r#"null to "b""#])] {
        let mut talk = Talk::new(Moment::Prompt, Reminders::default()).await;
        talk.session = session(Conversation::new(header()));
        talk.entries.clear();
        let old = Baseline { text: talk.head.text.clone(), records: Vec::new() };
        let commands = talk.session.open_lane(head_with(old).render(&Registry::new()), Millis(1)).unwrap();
        talk.take(commands);
        *talk.view.lock().unwrap() = View::Is(view);
        assert_eq!(talk.say().await, expect);
        assert_eq!(talk.say().await, Vec::<String>::new());
    }
}

#[tokio::test]
async fn texts_are_capped_and_notes_told_once() {
    let mut reminders = Reminders::default();
    reminders.cap("tools", 7).unwrap();
    let mut talk = Talk::new(Moment::Prompt, reminders).await;
    assert_eq!(talk.head.text, "# This session\nIt is \"\n[cut here: 7 of 10 bytes are shown]\n");
    *talk.view.lock().unwrap() = View::Is("é");
    assert_eq!(talk.say().await, ["\"a\" to \n[cut here: 7 of 11 bytes are shown]"]);
    *talk.view.lock().unwrap() = View::Fails;
    talk.say().await;
    talk.say().await;
    assert_eq!(talk.watcher.take_notes(), ["tools: no; what was known of it stays"]);
    talk.say().await;
    assert_eq!(talk.watcher.take_notes(), Vec::<String>::new());
    assert_eq!(reminders_error("toools"), "there is no kind `toools`; the kinds are environment, date, git");
}

/// Hooks, for one, are no source: they are asked when something happens.
#[test]
fn what_no_source_says_is_switched_off_and_capped_too() {
    let told = |kind: &str, text: &str| {
        let (kind, text) = (kind.to_owned(), Some(text.to_owned()));
        ContextRecord { kind, key: String::new(), state: GONE, text }
    };
    let mut reminders = without_tools();
    reminders.cap("hook", 3).unwrap();
    let found = Watcher::new(reminders).wanted(vec![
        told("hook", "abcdef"),
        told("tools", "abc"),
        told("git", "abcdef"),
    ]);
    assert_eq!(found, [told("hook", "abc\n[cut here: 3 of 6 bytes are shown]"), told("git", "abcdef")]);
}

fn reminders_error(kind: &str) -> String {
    let error = Reminders::default().switch_off(kind).unwrap_err().to_string();
    error.split(", ").take(3).collect::<Vec<_>>().join(", ")
}
