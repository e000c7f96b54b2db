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
use tokio::sync::mpsc;

use super::run::{leave, record, recorder};
use crate::asking::{self, Asker, ServerQuestions};
use crate::cli::ChatArgs;
use crate::environment::Environment;
use crate::failure::{Failure, INTERRUPTED};
use crate::out::tell;
use crate::screen::Screen;
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
        screen: Screen::new(environment.colour, simulator.is_some()).of_chat(),
        signals: Signals::listen()?,
    };
    let id = chat.agent.session().conversation().header().session.clone();
    chat.screen.note(&format!("session {id}; /help says what can be typed"));
    for notice in &notices {
        chat.screen.note(notice);
    }
    chat.messages(args.prompt.clone()).await?;
    let spent = chat.agent.session().spent();
    let cost = spent.known_cost().map_or_else(String::new, |cost| format!(", {cost:.4}"));
    chat.screen.note(&format!("session {id}{cost}; `antefix chat --continue` goes on"));
    if args.agent.keep_jobs {
        leave(&jobs);
    }
    if let Some(simulator) = simulator {
        simulator.shutdown().await;
    }
    Ok(ExitCode::from(if chat.signals.is_to_leave() { INTERRUPTED } else { 0 }))
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

impl Chat<'_> {
    /// Does what is typed, one after the other, until the user leaves.
    async fn messages(&mut self, mut first: Option<String>) -> Result<(), Failure> {
        let mut lines = Lines::open();
        while !self.signals.is_to_leave() {
            let text = if let Some(text) = first.take() {
                text
            } else {
                let number = self.agent.session().conversation().turn() + 1;
                tokio::select! {
                    line = lines.next(number) => match line {
                        Some(text) => text,
                        None => return Ok(()),
                    },
                    () = self.signals.next() => return Ok(()),
                }
            };
            match Said::of(&text) {
                Said::Nothing => {}
                Said::Leave => return Ok(()),
                Said::Help => said::help(),
                Said::Wrong(text) => tell!("! {text}"),
                Said::Rewind(turn) => self.rewind(turn)?,
                Said::Compact => self.work(None).await?,
                Said::Message(text) => self.work(Some(text)).await?,
            }
        }
        Ok(())
    }

    /// Says something to the model, or lets the session go on from a summary, and shows what comes of it.
    async fn work(&mut self, text: Option<String>) -> Result<(), Failure> {
        let (interrupt, mut interrupts) = mpsc::unbounded_channel();
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
        tokio::select! {
            end = done => {
                if let Some(asker) = &self.asker {
                    asker.withdraw();
                }
                Ok(end?)
            }
            () = self.signals.pass_on(interrupt) => {
                Err(Failure::interrupted("stopped at once").hint("go on with `antefix chat --continue`"))
            }
        }
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
