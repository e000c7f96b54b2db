//! A conversation in the terminal: one session, message by message.

mod lines;
mod said;

use std::process::ExitCode;
use std::sync::Arc;

use antefix_runtime::driver::{Agent, DriverError, Shown};
use antefix_runtime::skills::Skills;
use antefix_runtime::store::FileStore;
use antefix_session::closure::text_block;
use antefix_session::machine::SessionError;
use antefix_session::spend::Spend;
use tokio::sync::mpsc;

use super::run::{leave, record, recorder};
use crate::asking::{self, Asker, ServerQuestions};
use crate::cli::ChatArgs;
use crate::environment::Environment;
use crate::failure::{Failure, INTERRUPTED};
use crate::out::tell;
use crate::screen::{Screen, dollars};
use crate::setup::{Setup, setup};
use crate::signals::Signals;
use lines::Lines;
use said::Said;

/// `antefix chat`
pub fn chat(args: &ChatArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    antefix_runtime::hide_from_children();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(talk(args, environment))
}

async fn talk(args: &ChatArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    let terminal = asking::has_terminal().then(std::sync::mpsc::channel);
    let of_servers = ServerQuestions::new(terminal.as_ref().map(|(questions, _)| questions.clone()));
    let Setup { mut agent, notices, simulator, settings, watch, jobs, skills, subagents } =
        setup(&args.agent, environment, Arc::new(of_servers)).await?;
    let asker = terminal.map(|terminal| Asker::start(terminal, settings, environment.state.clone()));
    let (asker, answers) = asker.transpose()?.unzip();
    agent.guard(watch, answers);
    agent.employ(&subagents);
    let mut chat = Chat {
        agent,
        skills,
        asker,
        environment,
        screen: Screen::new(environment.colour).of_chat(),
        signals: Signals::listen()?,
    };
    if let Some(asker) = &mut chat.asker {
        asker.withdraw();
    }
    let id = chat.agent.session().conversation().header().session.clone();
    chat.screen.note(&format!("session {id}; /help says what can be typed"));
    for notice in &notices {
        chat.screen.note(notice);
    }
    let left = chat.messages(args.prompt.clone()).await?;
    let (count, theirs) = (subagents.purse().count(&id), subagents.purse().others(&id));
    let cost = |spent: &Spend| dollars(spent.known_cost());
    let of_subagents =
        if count > 0 { format!(" and {} of its subagents", cost(&theirs)) } else { String::new() };
    let spent = cost(&chat.agent.session().spent());
    let is_begun = chat.agent.session().conversation().turn() > 0;
    let next = if is_begun { "; `antefix chat --continue` goes on" } else { "; nothing was said" };
    chat.screen.note(&format!("session {id}, {spent}{of_subagents}{next}"));
    if args.agent.keep_jobs {
        leave(&jobs);
    }
    if let Some(simulator) = simulator {
        simulator.shutdown().await;
    }
    Ok(ExitCode::from(match left {
        Left::Word => 0,
        Left::Signal => INTERRUPTED,
    }))
}

/// A session, and whoever talks with it.
struct Chat<'e> {
    agent: Agent<FileStore>,
    skills: Arc<Skills>,
    asker: Option<Asker>,
    environment: &'e Environment,
    screen: Screen,
    signals: Signals,
}

/// How the user has left.
enum Left {
    /// By a word, or the end of the input.
    Word,
    /// By a signal.
    Signal,
}

impl Chat<'_> {
    /// Does what is typed, one after the other, until the user leaves.
    async fn messages(&mut self, mut first: Option<String>) -> Result<Left, Failure> {
        let mut lines = Lines::open();
        while !self.signals.is_to_leave() {
            let text = match first.take() {
                Some(text) => text,
                None => match self.next(&mut lines).await? {
                    Ok(text) => text,
                    Err(left) => return Ok(left),
                },
            };
            match Said::of(&text) {
                Said::Nothing => {}
                Said::Leave => return Ok(Left::Word),
                Said::Help => said::help(),
                Said::Wrong(text) => tell!("! {text}"),
                Said::Rewind(turn) => self.rewind(turn)?,
                Said::Compact => self.work(None).await?,
                Said::Message(text) => self.work(Some(text)).await?,
            }
        }
        Ok(Left::Signal)
    }

    /// What is typed next; or how the user leaves.
    async fn next(&mut self, lines: &mut Lines) -> Result<Result<String, Left>, Failure> {
        let number = self.agent.session().conversation().turn() + 1;
        loop {
            tokio::select! {
                line = lines.next(number) => return Ok(line?.ok_or(Left::Word)),
                () = self.signals.next() => {}
            }
            // A second Ctrl-C for a turn that has just ended is meant for that.
            if self.signals.is_to_leave() || !lines.is_terminal() {
                return Ok(Err(Left::Signal));
            }
        }
    }

    /// Says something to the model, or lets the session go on from a summary, and shows what comes of it.
    async fn work(&mut self, text: Option<String>) -> Result<(), Failure> {
        let (interrupt, mut interrupts) = mpsc::unbounded_channel();
        if let Some(asker) = &mut self.asker {
            asker.resume();
        }
        let mut recorder = recorder(self.environment, self.agent.session().conversation());
        let show = |shown: Shown<'_>| {
            self.screen.show(&shown);
            record(&mut recorder, &shown);
            if let (Shown::Question(question), Some(asker)) = (&shown, &self.asker) {
                asker.ask(question);
            }
        };
        let agent = &mut self.agent;
        let done = async {
            match text {
                Some(text) => {
                    let block = text_block(&self.skills.invocation(&text).unwrap_or(text));
                    agent.prompt(vec![block], &mut interrupts, show).await.map(drop)
                }
                None => agent.compact(&mut interrupts, show).await.map(drop),
            }
        };
        let end = tokio::select! {
            end = done => end,
            () = self.signals.pass_on(interrupt) => {
                let stopped = Failure::interrupted("stopped at once");
                return Err(stopped.hint("go on with `antefix chat --continue`"));
            }
        };
        if let Some(asker) = &mut self.asker {
            asker.withdraw();
        }
        Ok(end?)
    }

    fn rewind(&mut self, turn: u64) -> Result<(), Failure> {
        match self.agent.rewind(turn) {
            Ok(()) => self
                .screen
                .note(&format!("message {turn} and what came behind it are dropped; files stay as they are")),
            Err(DriverError::Session(error @ SessionError::NoTurn(_))) => tell!("! {error}"),
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}
