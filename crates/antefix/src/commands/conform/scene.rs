use std::io::{BufRead, BufReader};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::PoisonError;

use antefix_http::client::{Client, ClientOptions, Outgoing, Secret};
use antefix_http::server::{Clock, ServerOptions, SimServer};
use antefix_sim::{Billed, Script, Simulator};
use antefix_wire::json::{Body, Node};
use bytes::Bytes;
use tokio::runtime::Handle;

use super::column::Column;
use super::place::Place;
use super::row::{AGAIN, OldSession, Row, Step, TASK};
use super::zone::Zone;
use crate::failure::Failure;

/// A row as it is played with one provider: a folder, a server, and processes of this program.
pub struct Scene<'a> {
    place: Place,
    server: SimServer,
    column: Column,
    runtime: &'a Handle,
    /// The requests the server got.
    capture: PathBuf,
    /// Arguments of every run.
    arguments: Vec<String>,
    zone: Zone,
}

/// What a scene left behind: which of the captured requests, counted from nought, belong to which part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Played {
    /// Requests up to the end of the first task.
    pub task: usize,
    /// Requests of the message behind the change.
    pub message: Range<usize>,
    /// Requests of the message behind that one.
    pub again: Range<usize>,
}

impl<'a> Scene<'a> {
    /// Sets the stage in a folder that is not there yet, for requests to be captured into another.
    ///
    /// # Errors
    /// If files cannot be written or no port is free.
    pub fn set(column: Column, root: PathBuf, capture: &Path, runtime: &'a Handle) -> Result<Self, Failure> {
        let place = Place::make(root)?;
        let script =
            Script::parse(&script()).map_err(|error| Failure::failed(format!("the script: {error}")))?;
        let options = ServerOptions {
            clock: Clock::Virtual,
            capture: Some(capture.to_owned()),
            ..ServerOptions::default()
        };
        let server =
            runtime.block_on(SimServer::start(options, Simulator::new(column.simulator(), script)))?;
        let mut arguments = column.arguments(&server.base_url());
        arguments.extend(ARGUMENTS.map(str::to_owned));
        let capture = capture.to_owned();
        Ok(Self { place, server, column, runtime, capture, arguments, zone: Zone::at_noon() })
    }

    /// Plays a row and waits until the server has written all down.
    ///
    /// # Errors
    /// If a step fails, or a run ends as it should not.
    pub fn play(mut self, row: &Row) -> Result<(Played, Vec<Billed>), Failure> {
        self.steps(&row.before)?;
        match (row.old_session)(self.column) {
            Some(old) => self.restores(old)?,
            None => self.says(TASK, if row.task.is_empty() { self.column.task() } else { row.task })?,
        }
        let task = self.requests()?;
        self.steps(&row.change)?;
        let changed = self.requests()?;
        let goes_on = (row.goes_on)(self.column);
        self.says(row.prompt, &[goes_on, row.message].concat())?;
        let told = self.requests()?;
        self.steps(&row.later)?;
        self.says(AGAIN, goes_on)?;
        let all = self.requests()?;
        let Self { server, runtime, .. } = self;
        let simulator = server.simulator();
        runtime.block_on(server.shutdown());
        let bill = simulator.lock().unwrap_or_else(PoisonError::into_inner).log().to_vec();
        Ok((Played { task, message: changed..told, again: told..all }, bill))
    }

    fn steps(&mut self, steps: &[Step]) -> Result<(), Failure> {
        steps.iter().try_for_each(|step| self.step(step))
    }

    fn step(&mut self, step: &Step) -> Result<(), Failure> {
        match *step {
            Step::Write(name, text) => self.place.write(name, self.filled(text).as_bytes()),
            Step::Remove(name) => self.place.remove(name),
            Step::Git(arguments) => self.place.git(arguments),
            Step::AnotherDay => {
                self.zone = self.zone.another_day();
                Ok(())
            }
            Step::Minutes(minutes) => {
                self.server.advance(minutes * 60_000);
                Ok(())
            }
            Step::Say(prompt, more) => self.says(prompt, &[&["--continue"], more].concat()),
            Step::ServersOf(ref file) => self.place.write("project/.mcp.json", &std::fs::read(file)?),
            Step::Servers(names) => {
                let entry = |name: &&str| {
                    let script = format!("{{root}}/{name}.json");
                    format!(
                        r#""{name}":{{"command":"{{antefix}}","args":["conform","self","--serve","{script}"]}}"#
                    )
                };
                let entries: Vec<String> = names.iter().map(entry).collect();
                let text = format!(r#"{{"mcpServers":{{{}}}}}"#, entries.join(","));
                self.place.write("project/.mcp.json", self.filled(&text).as_bytes())
            }
            Step::With(arguments) => {
                self.arguments.extend(arguments.iter().map(|argument| (*argument).to_owned()));
                Ok(())
            }
            Step::Compact => {
                ended("--compact", Some(0), &self.bare_run(&["--continue", "--compact"])?.output()?)
            }
            Step::Fail(prompt) => ended(prompt, Some(1), &self.run(prompt, &["--continue"])?.output()?),
            Step::Kill(prompt, event) => {
                let mut child = self.until(prompt, event)?;
                child.kill()?;
                ended(prompt, None, &child.wait_with_output()?)
            }
            Step::Interrupt(prompt, event) => {
                let child = self.until(prompt, event)?;
                let id = rustix::process::Pid::from_child(&child);
                rustix::process::kill_process(id, rustix::process::Signal::INT)?;
                ended(prompt, Some(crate::failure::INTERRUPTED.into()), &child.wait_with_output()?)
            }
        }
    }

    /// Puts a session of an earlier build in its place, and its last request in the provider's cache.
    fn restores(&self, old: OldSession) -> Result<(), Failure> {
        let header =
            Body::parse(old.transcript.lines().next().unwrap_or_default()).map_err(Failure::failed)?;
        let name = header.root().get("session").and_then(Node::str).unwrap_or_default();
        let path = format!("state/antefix/sessions/{name}/transcript.jsonl");
        self.place.write(&path, old.transcript.as_bytes())?;
        let client = Client::new(ClientOptions::new(self.server.base_url()))?;
        let outgoing = Outgoing::post(self.column.path(), vec![Bytes::from_static(old.last_body.as_bytes())])
            .header("content-type", "application/json")
            .header("anthropic-version", "2023-06-01")
            .secret("x-api-key", Secret::new(KEY));
        let answer = self.runtime.block_on(async {
            let mut answer = client.send(outgoing).await?;
            answer.read_up_to(LONGEST_ANSWER).await.map(|_| answer.status)
        })?;
        if answer == 200 {
            return Ok(());
        }
        Err(Failure::failed(format!("the last request of the old session was answered with {answer}")))
    }

    /// The user says something to a new process, which ends well.
    fn says(&self, prompt: &str, more: &[&str]) -> Result<(), Failure> {
        ended(prompt, Some(0), &self.run(prompt, more)?.output()?)
    }

    /// Starts a turn and comes back at the first event of a type, with the process still at work.
    fn until(&self, prompt: &str, event: &str) -> Result<Child, Failure> {
        let mut command = self.run(prompt, &["--continue", "--output", "stream-json"])?;
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let mark = format!("\"type\":\"{event}\"");
        let mut lines = child.stdout.as_mut().map(BufReader::new).into_iter().flat_map(BufRead::lines);
        if lines.any(|line| line.is_ok_and(|line| line.contains(&mark))) {
            drop(lines);
            return Ok(child);
        }
        drop(lines);
        let output = child.wait_with_output()?;
        Err(surprise(prompt, &format!("ended before a `{event}` came"), &output))
    }

    fn run(&self, prompt: &str, more: &[&str]) -> Result<Command, Failure> {
        let mut command = self.bare_run(more)?;
        command.arg(prompt);
        Ok(command)
    }

    /// A run without anything said.
    fn bare_run(&self, more: &[&str]) -> Result<Command, Failure> {
        let mut command = self.place.command(std::env::current_exe()?);
        command.arg("run").args(&self.arguments);
        command.args(more.iter().map(|argument| self.filled(argument)));
        if !more.contains(&"--permission-mode") {
            command.args(["--permission-mode", "full"]);
        }
        command.env("ANTHROPIC_API_KEY", KEY).env("TZ", self.zone.name());
        Ok(command)
    }

    /// A text with the place's folder and this program in it.
    fn filled(&self, text: &str) -> String {
        let program = std::env::current_exe().unwrap_or_default();
        let text = text.replace("{root}", &self.place.root().to_string_lossy());
        text.replace("{antefix}", &program.to_string_lossy())
    }

    /// How many requests have come so far.
    fn requests(&self) -> Result<usize, Failure> {
        let names = std::fs::read_dir(&self.capture)?.map(|entry| Ok(entry?.file_name()));
        let names = names.collect::<std::io::Result<Vec<_>>>()?;
        Ok(names.iter().filter(|name| name.to_string_lossy().ends_with(".body.json")).count())
    }
}

/// What the model says, with the wide steps.
fn script() -> String {
    let rule = |calls: usize| {
        let call = |n: usize| format!("  tool glob {{\"pattern\":\"*-{n}.txt\"}}");
        let lines: Vec<String> = (1..=calls).map(call).collect();
        let lines = lines.join("\n");
        format!("rule\n  on said step of {calls} calls\n  on rounds 0\n  text I look for all.\n{lines}\n")
    };
    let done = "rule\n  on said A wide step\n  text None of them is there.\n";
    format!("{}{}{}{done}", include_str!("../../../conform/model.script"), rule(14), rule(40))
}

fn ended(prompt: &str, code: Option<i32>, output: &Output) -> Result<(), Failure> {
    if output.status.code() == code {
        return Ok(());
    }
    Err(surprise(prompt, &format!("ended with {}", output.status), output))
}

fn surprise(prompt: &str, what: &str, output: &Output) -> Failure {
    let said = String::from_utf8_lossy(&output.stderr);
    let last: Vec<&str> = said.lines().rev().take(4).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    Failure::failed(format!("the run for `{prompt}` {what}: {}", last.join(" / ")))
}

/// The key of all runs: who shares a key shares a cache.
const KEY: &str = "conform";

/// Bytes of an answer that are read.
const LONGEST_ANSWER: usize = 1 << 20;

/// What every run is told, whoever answers.
const ARGUMENTS: [&str; 2] = ["--longest-retry-wait", "0"];
