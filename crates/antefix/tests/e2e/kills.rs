//! `kill -9` at random moments: the session always opens, nothing that was said to be there is lost, and the next
//! body extends the one sent last.
//!
//! `ANTEFIX_KILLS` says how many kills (60, half of them in each dialect), `ANTEFIX_KILL_SEED` which moments.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use antefix_http::server::ServerOptions;

use crate::case::{Case, Invocation, ends_or_is_killed};
use crate::random::Random;

/// Kills in one session before the next begins, so that the first requests of a session get their share.
const KILLS_PER_SESSION: u64 = 20;

#[test]
fn a_killed_process_loses_nothing_and_the_next_body_extends_the_last() {
    kill_in(false);
}

#[test]
fn a_killed_process_loses_nothing_in_chat_completions_either() {
    kill_in(true);
}

fn kill_in(chat: bool) {
    let number = |name: &str, default: u64| {
        std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
    };
    let (kills, seed) = (number("ANTEFIX_KILLS", 60).div_ceil(2), number("ANTEFIX_KILL_SEED", 1));
    let (mut tally, begun, length) = (Tally::default(), Instant::now(), Killing::measure(chat));
    for session in 0.. {
        let left = kills.saturating_sub(tally.kills);
        if left == 0 {
            break;
        }
        Killing::new(seed.wrapping_mul(1_000_003) + session, length, chat)
            .session(left.min(KILLS_PER_SESSION), &mut tally);
    }
    println!("{tally:?} in {:.1} s", begun.elapsed().as_secs_f64());
    assert!(tally.in_session * 2 > kills, "most kills find a session at work: {tally:?}");
}

/// What the kills met.
#[derive(Debug, Default)]
struct Tally {
    kills: u64,
    /// … that came behind the first record of the run's turn.
    in_session: u64,
    /// … while a call was running.
    in_call: u64,
    /// … while a reply was streaming.
    in_stream: u64,
    /// Runs that ended before their moment came.
    survived: u64,
    sessions: u64,
    bodies: usize,
}

struct Killing {
    case: Case,
    random: Random,
    seed: u64,
    /// How long a run takes that is left alone.
    length: Duration,
    output: PathBuf,
    chat: bool,
}

impl Killing {
    /// How long a run takes here and now that is left alone.
    fn measure(chat: bool) -> Duration {
        let alone = Self::new(0, Duration::ZERO, chat);
        let times = ["Task", "Task once more"].map(|prompt| {
            let invocation = alone.invocation(prompt);
            let begun = Instant::now();
            invocation.ends().code(0);
            begun.elapsed()
        });
        times[0].min(times[1])
    }

    fn new(seed: u64, length: Duration, chat: bool) -> Self {
        let options = ServerOptions { chunk: Some(256), ..ServerOptions::default() };
        let case = if chat { Case::chat(options, SCRIPT) } else { Case::with(options, SCRIPT) };
        case.write("a.txt", &"a line of text\n".repeat(200));
        let output = case.root().join("output");
        Self { case, random: Random::new(seed), seed, length, output, chat }
    }

    fn session(&mut self, kills: u64, tally: &mut Tally) {
        let goal = tally.kills + kills;
        for round in 0.. {
            if tally.kills >= goal {
                break;
            }
            self.round(round, tally);
        }
        let before = self.transcript_bytes();
        self.invocation("Task, the last one").ends().code(0);
        self.judge_files(&before);
        self.judge_bodies(tally);
        tally.sessions += 1;
    }

    fn round(&mut self, round: u64, tally: &mut Tally) {
        let before = self.transcript_bytes();
        let invocation = self.invocation(&format!("Task {round}"));
        let child = invocation.spawn_into(&self.output);
        let moment = Duration::from_micros(self.random.below(self.length.as_micros() as u64));
        let status = ends_or_is_killed(child, moment);
        if status.code().is_some() {
            tally.survived += 1;
            let output = fs::read_to_string(&self.output).unwrap_or_default();
            assert!(
                status.success(),
                "seed {}: a run that is left alone succeeds: {status}\n{output}",
                self.seed
            );
        } else {
            tally.kills += 1;
        }
        self.tally(tally);
        self.judge_files(&before);
        self.judge_output();
    }

    /// A turn of the last session if there is one yet.
    fn invocation(&self, prompt: &str) -> Invocation {
        let listed = self.case.antefix(["sessions", "--json"]).ends().code(0);
        let run = self.case.run(prompt).args(["--output", "stream-json"]);
        if listed.stdout.contains("session_id") { run.arg("--continue") } else { run }
    }

    /// Each session opens, and each line that was complete is still there.
    fn judge_files(&self, before: &[(PathBuf, Vec<u8>)]) {
        for (path, old) in before {
            let new = fs::read(path).expect("a transcript does not go away");
            let complete = old.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            assert!(
                new.starts_with(&old[..complete]),
                "seed {}: {} has lost lines",
                self.seed,
                path.display()
            );
        }
        for (path, bytes) in self.transcript_bytes() {
            // A process killed before its first line was complete has made no session yet.
            if bytes.contains(&b'\n') {
                self.case.antefix(["verify", &name_of(&path)]).ends().code(0);
            }
        }
    }

    /// What a run has said to have happened is on record.
    fn judge_output(&self) {
        let output = fs::read_to_string(&self.output).expect("the output is UTF-8");
        let transcripts = self.transcript_bytes();
        let id = output.lines().find_map(|line| member(line, "session_id"));
        let Some(id) = id else { return };
        let (_, transcript) =
            transcripts.iter().find(|(path, _)| name_of(path) == id).expect("its transcript");
        let transcript = String::from_utf8_lossy(transcript);
        for line in output.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
            let expect = match member(line, "type").as_deref() {
                Some("call_finished") => {
                    format!("\"kind\":\"result\",\"call\":\"{}\"", member(line, "call").expect("an id"))
                }
                Some("turn_ended") => format!(
                    "\"kind\":\"end\",\"turn\":{}",
                    line.split_once("\"turn\":").expect("a turn").1.split(',').next().expect("its number")
                ),
                _ => continue,
            };
            assert!(transcript.contains(&expect), "seed {}: {expect} is not on record", self.seed);
        }
    }

    /// Each body is on record, and extends the one its session sent before.
    fn judge_bodies(&self, tally: &mut Tally) {
        let sent = self.case.sent();
        tally.bodies += sent.len();
        let mut found = 0;
        for (path, transcript) in self.transcript_bytes() {
            let transcript = String::from_utf8_lossy(&transcript);
            let ours: Vec<_> = sent
                .iter()
                .filter(|body| transcript.contains(blake3::hash(&body.bytes).to_hex().as_str()))
                .collect();
            found += ours.len();
            for pair in ours.windows(2) {
                assert!(
                    pair[1].extends(pair[0]),
                    "seed {}: a body of {} does not extend",
                    self.seed,
                    path.display()
                );
            }
        }
        assert!(found >= sent.len(), "seed {}: a body was sent that is not on record", self.seed);
        let mut questions: Vec<&[&str]> = vec![&["extends", "--require", "extends", "--new-conversation-ok"]];
        if !self.chat {
            questions.push(&["bill", "--tokens", "simulator"]);
        }
        // Behind a killed request its slot may be busy still: what the next one finds in another follows no rule.
        for question in questions {
            if let Some(verdict) = crate::oracle::ask(question, &self.case.capture()) {
                verdict.code(0);
            }
        }
    }

    fn transcript_bytes(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let paths = self.case.transcripts();
        paths.into_iter().map(|path| (path.clone(), fs::read(path).expect("a transcript"))).collect()
    }

    fn tally(&self, tally: &mut Tally) {
        let output = fs::read_to_string(&self.output).unwrap_or_default();
        let last = output.lines().filter_map(|line| member(line, "type")).next_back();
        tally.in_session += u64::from(output.contains("request_started"));
        tally.in_call +=
            u64::from(matches!(last.as_deref(), Some("call_started" | "call_output" | "call_finished")));
        tally.in_stream +=
            u64::from(matches!(last.as_deref(), Some("text" | "thinking" | "request_started")));
    }
}

fn name_of(transcript: &Path) -> String {
    let folder = transcript.parent().and_then(Path::file_name).expect("a session's folder");
    folder.to_string_lossy().into_owned()
}

fn member(line: &str, name: &str) -> Option<String> {
    let (_, rest) = line.split_once(&format!("\"{name}\":\""))?;
    Some(rest.split('"').next()?.to_owned())
}

/// A task of three requests whose replies and calls take their time.
const SCRIPT: &str = r#"
rule
  on said Task
  on rounds 0
  think I look at the file, and count its lines beside it.
  text I look at two things at once, and say so at some length so that it takes a while to arrive.
  tool read {"path":"a.txt","limit":20}
  tool bash {"command":"wc -l a.txt; sleep 0.02; echo counted"}
  chunk-delay 2
rule
  on said Task
  on rounds 1
  text Once more, with an edit that may be done already.
  tool edit {"path":"a.txt","old_string":"a line of text\na line of text\na line of text\n","new_string":"one line\n"}
  tool bash {"command":"sleep 0.01; head -c 5000 a.txt"}
  chunk-delay 1
rule
  on said Task
  text Done, as far as it can be done, and it is told in a few more words so that there is time to be killed.
  chunk-delay 2
"#;
