use std::io::{IsTerminal, Read, Write};
use std::process::ExitCode;
use std::sync::Arc;

use antefix_runtime::driver::{Agent, DriverError, Shown, TurnEnd};
use antefix_runtime::store::FileStore;
use antefix_session::closure::text_block;
use antefix_session::conversation::Conversation;
use antefix_session::event::SessionEvent;
use antefix_session::record::EndReason;
use antefix_session::spend::Spend;
use antefix_tools::Jobs;
use antefix_wire::assemble::Delta;
use bytes::Bytes;
use tokio::sync::mpsc;

use crate::asking::{self, Asker, ServerQuestions};
use crate::attach;
use crate::cli::{Output, RunArgs, Share};
use crate::commands::bill;
use crate::environment::Environment;
use crate::failure::{Failure, INTERRUPTED};
use crate::ledger::{self, Recorder};
use crate::out::tell;
use crate::screen::{Screen, harmless};
use crate::setup::{Setup, setup};
use crate::signals::Signals;
use crate::stream_json::{EventWriter, Object, SCHEMA_VERSION, array, money, write_counts};

/// `antefix run`
pub fn run(args: &RunArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    antefix_runtime::hide_from_children();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(turn(args, environment))
}

async fn turn(args: &RunArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    if args.compact && !args.agent.continue_last && args.agent.resume.is_none() {
        return Err(Failure::usage("there is no session to go on from a summary of")
            .hint("add --continue, or --resume ID"));
    }
    let said = if args.compact { None } else { Some(prompt(args)?) };
    let terminal = (args.output == Output::Text && asking::has_terminal()).then(std::sync::mpsc::channel);
    let of_servers = ServerQuestions::new(terminal.as_ref().map(|(questions, _)| questions.clone()));
    let Setup { mut agent, notices, simulator, settings, watch, jobs, skills, subagents } =
        setup(&args.agent, environment, Arc::new(of_servers)).await?;
    let blocks = said.map(|Prompt { mut blocks, text }| {
        blocks.push(text_block(&skills.invocation(&text).unwrap_or(text)));
        blocks
    });
    let blocks = blocks.unwrap_or_default();
    let asker = terminal.map(|terminal| Asker::start(terminal, settings, environment.state.clone()));
    let (asker, answers) = asker.transpose()?.unzip();
    agent.guard(watch, answers);
    agent.employ(&subagents);
    let mut reporter = Reporter::new(args.output, environment.colour);
    let session_id = agent.session().conversation().header().session.clone();
    reporter.begin(&session_id, &notices);
    let mut recorder = recorder(environment, agent.session().conversation());
    let (interrupt, mut interrupts) = mpsc::unbounded_channel();
    let mut signals = Signals::listen()?;
    let end = tokio::select! {
        end = act(args.compact, &mut agent, blocks, &mut interrupts, |shown| {
            reporter.show(&shown);
            record(&mut recorder, &shown);
            if let (Shown::Question(question), Some(asker)) = (&shown, &asker) {
                asker.ask(question);
            }
        }) => end?,
        () = signals.pass_on(interrupt) => {
            return Err(Failure::interrupted("stopped at once").hint("go on with `antefix run --continue`"));
        }
    };
    let spent = agent.session().spent();
    let purse = subagents.purse();
    reporter.end(&session_id, &end, &spent, (purse.count(&session_id), purse.others(&session_id)));
    if args.agent.keep_jobs {
        leave(&jobs);
    }
    if let Some(simulator) = simulator {
        simulator.shutdown().await;
    }
    let turn = agent.session().conversation().turn();
    drop(agent);
    let is_enough = match args.fail_under {
        Some(least) if !args.compact => reads_enough(least, environment, &session_id, turn),
        _ => true,
    };
    Ok(ExitCode::from(match end.reason {
        EndReason::EndTurn | EndReason::StopSequence => u8::from(!is_enough),
        EndReason::Interrupted => INTERRUPTED,
        _ => 1,
    }))
}

/// Does what was asked for: a turn, or a summary that the session goes on from.
async fn act(
    compacts: bool,
    agent: &mut Agent<FileStore>,
    blocks: Vec<Bytes>,
    interrupts: &mut mpsc::UnboundedReceiver<()>,
    show: impl FnMut(Shown<'_>),
) -> Result<TurnEnd, DriverError> {
    if !compacts {
        return agent.prompt(blocks, interrupts, show).await;
    }
    let message = agent.compact(interrupts, show).await?;
    let reason = if message.is_none() { EndReason::EndTurn } else { EndReason::Failed };
    Ok(TurnEnd { reason, message })
}

/// What keeps the ledger; without it the turn runs all the same, and the ledger is caught up later.
pub(super) fn recorder(environment: &Environment, conversation: &Conversation) -> Option<Recorder> {
    let recorder = Recorder::new(environment, conversation);
    recorder.map_err(|failure| tell!("the ledger is not kept in this turn: {failure}")).ok()
}

/// Writes down what happened, if anything.
pub(super) fn record(recorder: &mut Option<Recorder>, shown: &Shown<'_>) {
    if let (Some(open), Shown::Event(event)) = (recorder.as_mut(), shown)
        && let Err(failure) = open.note(event, antefix_runtime::clock::now().0)
    {
        tell!("the ledger is not kept in this turn: {failure}");
        *recorder = None;
    }
}

/// Leaves the commands in the background running, and says how to end them.
pub(super) fn leave(jobs: &Jobs) {
    for (number, group) in jobs.leave() {
        let end = group.map_or_else(
            || "it has only just begun, so its process group is not known".to_owned(),
            |group| format!("`kill -- -{group}` ends it"),
        );
        tell!("job {number} goes on; {end}");
    }
}

/// Whether that share of the message's input was read from the cache; says so where it was not.
fn reads_enough(least: Share, environment: &Environment, session: &str, turn: u64) -> bool {
    match ledger::of_message(environment, session, turn) {
        Ok(account) => bill::reads_enough(account.steady, least),
        Err(failure) => {
            tell!("what this message read from the cache cannot be told: {failure}");
            false
        }
    }
}

/// What the user says.
struct Prompt {
    /// What is attached.
    blocks: Vec<Bytes>,
    text: String,
}

fn prompt(args: &RunArgs) -> Result<Prompt, Failure> {
    let mut blocks = Vec::new();
    for path in &args.attach {
        blocks.push(attach::block(path)?);
    }
    let text = match args.prompt.as_deref() {
        Some("-") => read_stdin()?,
        Some(text) => text.to_owned(),
        None if !std::io::stdin().is_terminal() => read_stdin()?,
        None => String::new(),
    };
    if text.trim().is_empty() {
        return Err(Failure::usage("there is no prompt").hint("antefix run \"what to do\", or pipe it in"));
    }
    Ok(Prompt { blocks, text })
}

fn read_stdin() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes)?;
    String::from_utf8(bytes).map_err(|_| Failure::usage("the prompt on standard input is not UTF-8"))
}

/// Prints a turn in the form asked for.
enum Reporter {
    Text(Screen),
    Json { requests: Vec<String>, text: String, calls: u64 },
    StreamJson(EventWriter),
}

impl Reporter {
    fn new(output: Output, colour: bool) -> Self {
        match output {
            Output::Text => Self::Text(Screen::new(colour)),
            Output::Json => Self::Json { requests: Vec::new(), text: String::new(), calls: 0 },
            Output::StreamJson => Self::StreamJson(EventWriter::default()),
        }
    }

    fn begin(&mut self, session: &str, notices: &[String]) {
        if let Self::Text(screen) = self {
            screen.note(&format!("session {session}"));
            for notice in notices {
                screen.note(notice);
            }
        } else {
            for notice in notices {
                tell!("{notice}");
            }
        }
        if let Self::StreamJson(_) = self {
            let mut object = Object::new();
            object
                .number("schema_version", SCHEMA_VERSION)
                .text("type", "session")
                .text("session_id", session);
            print_line(&object.close());
        }
    }

    fn show(&mut self, shown: &Shown<'_>) {
        match self {
            Self::Text(screen) => screen.show(shown),
            Self::StreamJson(writer) => {
                if let Some(line) = writer.line(shown) {
                    print_line(&line);
                }
            }
            Self::Json { requests, text, calls } => match shown {
                Shown::Delta(Delta::Started { .. }) => text.clear(),
                Shown::Decided(decided) => {
                    if let Some(text) = &decided.text {
                        tell!("{}: {}", decided.call.name, harmless(text));
                    }
                }
                Shown::Delta(Delta::Text { text: piece, .. }) => text.push_str(piece),
                Shown::Event(SessionEvent::CallStarted(_)) => *calls += 1,
                Shown::Event(SessionEvent::RequestFinished(report)) => {
                    let mut object = Object::new();
                    object.number("n", report.attempt.0);
                    if let Some(counts) = &report.counts {
                        write_counts(&mut object, counts);
                        object.boolean("estimated", report.is_estimated);
                    }
                    object.raw("cost_usd", &money(report.cost));
                    requests.push(object.close());
                }
                _ => {}
            },
        }
    }

    /// `subagents`: how many have worked for the session, and what they have spent.
    fn end(self, session: &str, end: &TurnEnd, spent: &Spend, subagents: (usize, Spend)) {
        let Self::Json { requests, text, calls } = self else { return };
        let mut object = Object::new();
        object.number("schema_version", SCHEMA_VERSION).text("session_id", session).text("result", &text);
        object.text("end", end.reason.word());
        if let Some(message) = &end.message {
            object.text("message", message);
        }
        object.number("tool_calls", calls).raw("requests", &array(requests));
        let mut total = Object::new();
        write_counts(&mut total, &spent.counts);
        total.number("estimated_requests", spent.estimated);
        object.raw("session_total", &total.close()).raw("session_cost_usd", &money(spent.known_cost()));
        if let (count @ 1.., spent) = subagents {
            let mut theirs = Object::new();
            theirs.number("count", count as u64);
            write_counts(&mut theirs, &spent.counts);
            theirs.raw("cost_usd", &money(spent.known_cost()));
            object.raw("subagents", &theirs.close());
        }
        print_line(&object.close());
    }
}

fn print_line(line: &str) {
    // A reader that has gone away does not stop the turn.
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}
