//! `antefix demo`: a task in a small project, through the whole real stack, with the simulator as the provider.

mod project;
mod table;
mod trace;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use antefix_http::server::{ServerOptions, SimServer};
use antefix_ledger::Account;
use antefix_runtime::store::Sessions;
use antefix_runtime::transcript::{read, replay};
use antefix_session::conversation::Conversation;
use antefix_session::record::Entry;
use antefix_session::verify::{Report, verify};
use antefix_sim::{Config, Script, Simulator};

use crate::cli::DemoArgs;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::ledger::of_session;
use crate::out::{say, tell};
use crate::price_file;

/// What the user says, each time to a new process.
const PROMPTS: [&str; 4] = [
    "One test of the basket fails. Find out why, mend it and run the tests.",
    "Why did it fail before?",
    "Add a test for an empty basket and run all tests.",
    "Sum up what changed.",
];

/// The model the demo asks for; its prices make the bill.
const MODEL: &str = "claude-sonnet-5-5";

/// Where the demo's project, sessions and configuration are.
struct Place {
    /// Removed at the end, unless the user wants it kept.
    root: PathBuf,
    keep: bool,
}

/// A session of the demo, read back from disk.
struct Outcome {
    session: String,
    conversation: Conversation,
    report: Report,
    account: Account,
}

/// `antefix demo`
pub fn demo(args: &DemoArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    let place = Place::make(args.keep.as_deref())?;
    project::write(&place.project())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let script = Script::parse(include_str!("../../demo/model.script"))?;
    let server = runtime
        .block_on(SimServer::start(ServerOptions::default(), Simulator::new(Config::default(), script)))
        .map_err(|error| Failure::failed(format!("the simulator could not be started: {error}")))?;
    if !args.json {
        introduce(&place, &server.base_url());
    }
    let stopped = Arc::new(AtomicBool::new(false));
    let noticed = Arc::clone(&stopped);
    // Ctrl-C reaches the child as well, which closes its turn; here it only ends the demo behind it.
    runtime.spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() {
            noticed.store(true, Ordering::SeqCst);
        }
    });
    for (index, prompt) in PROMPTS.iter().enumerate() {
        if !args.json {
            tell!("\n── process {} ── user: {prompt}", index + 1);
        }
        let ended = run(args, &place, &server.base_url(), index, prompt);
        if stopped.load(Ordering::SeqCst) {
            return Err(Failure::failed("the demo was stopped"));
        }
        ended?;
    }
    runtime.block_on(server.shutdown());
    let outcome = read_back(&place.state(), environment)?;
    let done = project::is_mended(&place.project());
    if args.json {
        say!("{}", table::json(&outcome.session, &outcome.conversation, &outcome.report));
    } else {
        let colour = environment.colour && std::io::stdout().is_terminal();
        table::print(&outcome, colour);
        if args.trace {
            trace::print(&outcome.conversation);
        }
        if place.keep {
            say!("\nkept: {}", place.root.display());
        }
    }
    if !done {
        tell!("! the project's tests did not pass in the end; is `rustc` on the path?");
    }
    Ok(ExitCode::from(u8::from(!outcome.report.is_ok() || !done)))
}

fn introduce(place: &Place, url: &str) {
    tell!("A small project with a failing test, an agent with real tools, real HTTP on this machine.");
    tell!("The provider is simulated: a scripted model and a prompt cache by the Messages API's rules.");
    tell!("project {}   provider {url}", place.root.display());
}

/// Runs one turn in a process of its own.
fn run(args: &DemoArgs, place: &Place, url: &str, index: usize, prompt: &str) -> Result<(), Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([
        "run",
        prompt,
        "--model",
        MODEL,
        "--base-url",
        url,
        "--thinking",
        "adaptive",
        "--permission-mode",
        "full",
    ]);
    command.current_dir(place.project()).stdin(Stdio::null());
    if index > 0 {
        command.arg("--continue");
    }
    if args.json {
        command.args(["--output", "json"]).stdout(Stdio::null()).stderr(Stdio::null());
    }
    if let Some(folder) = &args.capture {
        command.arg("--capture").arg(std::path::absolute(folder)?);
    }
    command
        .env("ANTHROPIC_API_KEY", "demo")
        .env_remove("ANTHROPIC_AUTH_TOKEN")
        .env_remove("ANTHROPIC_BASE_URL");
    command.env("XDG_STATE_HOME", place.root.join("state")).env("XDG_CONFIG_HOME", place.root.join("config"));
    for proxy in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy"] {
        command.env_remove(proxy);
    }
    let status = command.status()?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::failed(format!("process {} ended with {status}", index + 1)))
    }
}

fn read_back(state: &Path, environment: &Environment) -> Result<Outcome, Failure> {
    let sessions = Sessions::at(state);
    let summary = sessions
        .list(None)?
        .into_iter()
        .next()
        .ok_or_else(|| Failure::failed("the demo left no session behind"))?;
    let inspection = sessions.inspect(&summary.id)?;
    let (header, entries): (_, Vec<Entry>) = read(&inspection.transcript)?;
    // At list prices: the demo has no user whose own ones could win.
    let alone = Environment { state: Some(state.to_owned()), config: None, ..environment.clone() };
    let (account, _) = of_session(&alone, &summary.id, &price_file::book(&alone)?)?;
    Ok(Outcome {
        account,
        session: summary.id.as_str().to_owned(),
        report: verify(header.clone(), &entries),
        conversation: replay(header, &entries)?,
    })
}

impl Place {
    fn make(keep: Option<&Path>) -> Result<Self, Failure> {
        let root = match keep {
            Some(folder) => std::path::absolute(folder)?,
            None => std::env::temp_dir().join(format!("antefix-demo-{}", std::process::id())),
        };
        if root.exists() && root.read_dir().map_or(true, |mut entries| entries.next().is_some()) {
            return Err(Failure::usage(format!("`{}` is there already and not empty", root.display())));
        }
        std::fs::create_dir_all(&root)?;
        Ok(Self { root, keep: keep.is_some() })
    }

    fn project(&self) -> PathBuf {
        self.root.join("basket")
    }

    fn state(&self) -> PathBuf {
        self.root.join("state/antefix")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.keep {
            // What cannot be removed from the temporary folder is left to the system.
            let _ = std::fs::remove_dir_all(&self.root);
        }
    }
}
