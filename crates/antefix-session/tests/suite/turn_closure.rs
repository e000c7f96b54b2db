//! One case for each row of the turn-closure table in `docs/formats/transcript.md`, in both dialects: how a turn ends, and the exact
//! records that this and the next prompt append. The next request is sent to the simulator, which must take it, and
//! must extend or branch as its record says; a new process must close the turn alike.

mod provider;
mod spoken;
mod user;

use antefix_session::closure::text_block;
use antefix_session::dialect::Dialect;
use antefix_session::event::{Command, Event};
use antefix_session::guard::Limits;
use antefix_session::machine::Settings;
use antefix_session::record::{Entry, Planned, Record};
use antefix_session::verify::verify;

use crate::reply::End;
use crate::stage::{Setup, Stage, header, text};

/// A way to end a turn, tried without thinking and with it, in the same process and in a new one.
struct Row {
    name: &'static str,
    setup: Setup,
    /// Without an ordinary turn in front.
    first: bool,
    thinking: &'static [bool],
    dialects: &'static [Dialect],
}

fn row(name: &'static str) -> Row {
    let settings = Settings { retries: 0, ..Settings::default() };
    Row {
        name,
        setup: Setup { settings, ..Setup::default() },
        first: false,
        thinking: &[false, true],
        dialects: &Dialect::ALL,
    }
}

impl Row {
    fn first(self) -> Self {
        Self { first: true, ..self }
    }

    fn bare(mut self) -> Self {
        self.setup.bare = true;
        self
    }

    fn retries(mut self, retries: u32) -> Self {
        self.setup.settings.retries = retries;
        self
    }

    fn max_steps(mut self, steps: u64) -> Self {
        self.setup.settings.limits = Limits { max_steps: Some(steps), ..Limits::default() };
        self
    }

    fn thinking(self, thinking: &'static [bool]) -> Self {
        Self { thinking, ..self }
    }

    /// Of what only the Messages API has.
    fn in_messages(self) -> Self {
        Self { dialects: &[Dialect::Anthropic], ..self }
    }

    /// Of what Chat Completions does otherwise.
    fn in_chat(self) -> Self {
        Self { dialects: &[Dialect::OpenAiChat], ..self }
    }

    /// Runs a turn, then prompts again; `expect` are the records behind the turn's first request, with thinking left
    /// out, and those of the next prompt.
    fn check(self, drive: impl Fn(&mut Stage), expect: &[&str]) {
        for (&dialect, &thinking) in self
            .dialects
            .iter()
            .flat_map(|dialect| self.thinking.iter().map(move |thinking| (dialect, thinking)))
        {
            let mut stage = Stage::new(Setup { dialect, thinking, ..self.setup.clone() });
            if !self.first {
                stage.prompt("First.");
                stage.end(End::Done);
            }
            stage.prompt("Do it.");
            let from = stage.entries.len();
            drive(&mut stage);
            self.check_next(&mut stage, from, expect);
        }
    }

    fn check_next(&self, stage: &mut Stage, from: usize, expect: &[&str]) {
        assert!(stage.session.is_idle(), "{}", self.name);
        let mut other = stage.replayed(&stage.setup);
        let before = stage.entries.len();
        let prompt = || Event::Prompt { blocks: vec![text_block("Next.")], context: Vec::new() };
        stage.step(prompt());
        let found: Vec<String> = stage.entries.iter().skip(from).map(line).collect();
        let dialect = stage.setup.dialect;
        let expect = match dialect {
            Dialect::Anthropic => expect.iter().map(|line| (*line).to_owned()).collect(),
            Dialect::OpenAiChat => spoken::in_chat(expect),
        };
        let name = format!("{} in {dialect:?}, thinking {}", self.name, stage.setup.thinking);
        assert_eq!(found.join("\n"), expect.join("\n"), "{name}");

        let commands = other.step(prompt(), stage.entries[stage.entries.len() - 1].at).unwrap();
        let appended: Vec<Entry> = commands.into_iter().filter_map(appended).flatten().collect();
        assert_eq!(stage.entries[before..], appended, "{} in a new process", self.name);
        stage.end(End::Done);
        let report = verify(header(), &stage.entries);
        assert!(report.is_ok(), "{}: {report:?}", self.name);
        assert_eq!(report.requests as usize, stage.sent.len());
    }
}

fn appended(command: Command) -> Option<Vec<Entry>> {
    match command {
        Command::Append { entries, .. } => Some(entries),
        _ => None,
    }
}

/// A record without number and time; where it hangs stands in front if that is not the record before.
fn line(entry: &Entry) -> String {
    let back = entry.id.0 - entry.parent.0;
    let parent = if back == 1 { String::new() } else { format!("^{back} ") };
    let says = match &entry.record {
        Record::Attempt(attempt) => match attempt.relation {
            Planned::First => "attempt, first".to_owned(),
            Planned::Extends => "attempt, extends".to_owned(),
            // The stage counts how many positions are shared.
            Planned::BranchesAt(_) => "attempt, branches".to_owned(),
            Planned::Allowed(_) => "attempt, breaks".to_owned(),
        },
        Record::Outcome(outcome) => {
            let status = outcome.status.map_or("none".to_owned(), |status| status.to_string());
            format!("outcome {status} {}", outcome.stop_reason.as_deref().unwrap_or("-"))
        }
        _ => {
            let line = text(&entry.encode());
            let says = line.split_once("\"kind\":").unwrap().1;
            spoken::without_reasoning(&without_thinking(says.strip_suffix('}').unwrap()))
        }
    };
    format!("{parent}{says}")
}

fn without_thinking(line: &str) -> String {
    match line.split_once(r#"{"type":"thinking""#) {
        Some((before, after)) => format!("{before}{}", after.split_once("},").unwrap().1),
        None => line.to_owned(),
    }
}

const SOME_TEXT: &str = r#""message","origin":"assistant","fragment":{"role":"assistant","content":[{"type":"text","text":"Some text."}]}"#;
const SOME_TE: &str = r#""message","origin":"assistant","fragment":{"role":"assistant","content":[{"type":"text","text":"Some te"}]}"#;
const ONE_CALL: &str = r#""message","origin":"assistant","fragment":{"role":"assistant","content":[{"type":"tool_use","id":"toolu_9","name":"read","input":{"z":1.50,"a":"caf\u00e9"}}]}"#;
const TWO_CALLS: &str = r#""message","origin":"assistant","fragment":{"role":"assistant","content":[{"type":"tool_use","id":"toolu_9","name":"read","input":{"z":1.50,"a":"caf\u00e9"}},{"type":"tool_use","id":"toolu_10","name":"read","input":{"z":1.50,"a":"caf\u00e9"}}]}"#;
const RESULT_9: &str = r#""result","call":"toolu_9","tool":"read","fragment":{"type":"tool_result","tool_use_id":"toolu_9","content":[{"type":"text","text":"nine"}]},"facts":[{"path":"a.rs","size":3}]"#;
const ERROR_10: &str = r#""result","call":"toolu_10","tool":"read","error":true,"fragment":{"type":"tool_result","tool_use_id":"toolu_10","content":[{"type":"text","text":"ten"}],"is_error":true},"facts":[{"path":"a.rs","size":3}]"#;
const BROKEN: &str = r#""result","call":"toolu_9","tool":"read","error":true,"fragment":{"type":"tool_result","tool_use_id":"toolu_9","content":[{"type":"text","text":"This call was not run: its input was not a JSON object, and `{}` stands in its place. Call again with a JSON object. What was written:\n{\"z\":1.50,\"a\":\"caf\\u00e9\""}],"is_error":true}"#;
const NOT_RUN_9: &str = r#""result","call":"toolu_9","tool":"read","error":true,"fragment":{"type":"tool_result","tool_use_id":"toolu_9","content":[{"type":"text","text":"This call was not completed: the turn was interrupted before the tool returned a result."}],"is_error":true}"#;
const NOT_RUN_10: &str = r#""result","call":"toolu_10","tool":"read","error":true,"fragment":{"type":"tool_result","tool_use_id":"toolu_10","content":[{"type":"text","text":"This call was not completed: the turn was interrupted before the tool returned a result."}],"is_error":true}"#;
const LEFT_OUT_9: &str = r#""result","call":"toolu_9","tool":"read","error":true,"fragment":{"type":"tool_result","tool_use_id":"toolu_9","content":[{"type":"text","text":"This call was run, but its result is left out: the request that held it was not accepted."}],"is_error":true}"#;
const PAUSED: &str = r#""message","origin":"assistant","fragment":{"role":"assistant","content":[{"type":"text","text":"Some text."},{"type":"server_tool_use","id":"srvtoolu_9","name":"web_search","input":{"query":"x"}}]}"#;
const PAUSED_BEHIND_RESULT: &str = r#""message","origin":"assistant","fragment":{"role":"assistant","content":[{"type":"text","text":"Some text."},{"type":"server_tool_use","id":"srvtoolu_9","name":"web_search","input":{"query":"x"}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_9","content":[]}]}"#;
const NO_REPLY: &str = r#""message","origin":"closure","fragment":{"role":"assistant","content":[{"type":"text","text":"[No reply was received for this message.]"}]}"#;
const ENDED_HERE: &str = r#""message","origin":"assistant","fragment":{"role":"assistant","content":[{"type":"text","text":"[The reply ended here.]"}]}"#;
const TURN: &str = r#""turn","turn":3"#;
const NEXT: &str =
    r#""message","origin":"user","fragment":{"role":"user","content":[{"type":"text","text":"Next."}]}"#;
const EXTENDS: &str = "attempt, extends";
const BRANCHES: &str = "attempt, branches";
const CUT: &str = "outcome 200 -";
const CALLED: &str = "outcome 200 tool_use";

fn two_calls_return(stage: &mut Stage) {
    stage.give(1, "ten", true);
    stage.give(0, "nine", false);
}
