//! Puts an agent together from what the user asked for and what the environment says.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use antefix_http::client::{Client, ClientOptions, Proxies, Secret};
use antefix_http::server::{ServerOptions, SimServer};
use antefix_models::{Money, Platform, Rules, Ttl, rules};
use antefix_runtime::anthropic::{Anthropic, Credential};
use antefix_runtime::driver::{Agent, file_table};
use antefix_runtime::head::{HeadSpec, default_max_tokens, find_instructions};
use antefix_runtime::store::{FileStore, Sessions};
use antefix_runtime::{clock, transcript};
use antefix_session::conversation::{Conversation, Lane};
use antefix_session::guard::Limits;
use antefix_session::machine::{Session, Settings};
use antefix_session::record::LaneRecord;
use antefix_sim::{Config, Script, Simulator};
use antefix_tools::permission::Policy;
use antefix_tools::{Context, Executor, Registry};

use crate::asking;
use crate::cli::{DEFAULT_MODEL, Provider, RunArgs, Switch, TtlArg};
use crate::environment::{self, Environment};
use crate::failure::Failure;
use crate::folders;
use crate::settings::{Flags, Settings as Holding, tools};

/// An agent, and what lives as long as it.
pub struct Setup {
    /// The agent.
    pub agent: Agent<FileStore>,
    /// What it should be told before it begins, if anything.
    pub notices: Vec<String>,
    /// The simulator, if it answers.
    pub simulator: Option<SimServer>,
    /// What holds in the folder that tools work in.
    pub settings: Holding,
    /// What its tools may do.
    pub policy: Policy,
}

/// The API of the provider itself.
const BASE_URL: &str = "https://api.anthropic.com";

/// Puts the agent together.
///
/// # Errors
/// If something that was asked for is not there, or no key is found.
pub async fn setup(args: &RunArgs, environment: &Environment) -> Result<Setup, Failure> {
    let settings = settings(args)?;
    let here = folders::working_folder(args.cwd.as_deref())?;
    let sessions = folders::sessions(environment)?;
    let mut notices = Vec::new();
    let mut holding = Holding::read(&here, environment, &Flags::of(args))?;
    if asking::is_possible(args) {
        asking::about_trust(&mut holding, environment)?;
        // What did not hold before may hold now.
        holding = Holding::read(&here, environment, &Flags::of(args))?;
    }
    let (base_url, credential, simulator) = match args.provider {
        Provider::Sim => {
            let server = start_simulator().await?;
            notices.push(SIMULATED.to_owned());
            (server.base_url(), Credential::ApiKey(Secret::new("sim")), Some(server))
        }
        Provider::Anthropic => {
            let base = args.base_url.clone().or_else(|| environment.base_url.clone());
            let base = base.or_else(|| holding.value("base_url").map(str::to_owned));
            let helper = environment.key_helper.as_deref().or_else(|| holding.value("key_helper"));
            (base.unwrap_or_else(|| BASE_URL.to_owned()), credential(environment, helper)?, None)
        }
    };
    // All that may be refused is looked at before a session is made.
    // A proxy would see what the simulator is asked, and it is in this process.
    let proxies = if simulator.is_some() { Proxies::default() } else { environment.proxies.clone() };
    let mut provider = Anthropic::new(client(args, &base_url, proxies)?, credential);
    if let Some(folder) = &args.capture {
        provider.capture(folder).map_err(|error| {
            Failure::usage(format!("cannot capture into `{}`: {error}", folder.display()))
        })?;
    }
    let opened = open(args, &sessions, &here)?;
    let cwd = session_folder(args, &opened.conversation, here, &mut notices)?;
    if cwd != holding.folder {
        holding = Holding::read(&cwd, environment, &Flags::of(args))?;
    }
    notices.extend(not_holding(&holding));
    if let Some(cut) = opened.cut {
        notices.push(format!("{} bytes that a crash had left unfinished were cut off", cut.bytes));
    }
    if opened.index_lost {
        notices.push(INDEX_LOST.to_owned());
    }
    let scope = scope(args.provider, &base_url);
    let lane = opened.conversation.lane().map(Lane::spec);
    let model = match lane {
        Some(spec) => {
            notices.extend(goes_elsewhere(spec, &scope));
            same_model(args.model.as_deref(), &spec.model)?;
            spec.model.clone()
        }
        None => {
            let model = args.model.as_deref().or_else(|| holding.value("model"));
            model.unwrap_or(DEFAULT_MODEL).to_owned()
        }
    };
    let fresh = lane.is_none();
    provider.name_betas(lane.map(|lane| lane.betas.clone()).unwrap_or_default());
    let registry = registry(args);
    let rules = rules(Platform::Anthropic, &model);
    notices.extend(unknown_model(&rules));
    let context = context(&opened.store, &opened.conversation, &cwd);
    let policy = holding.policy().with_readable(&context.spill);
    let head =
        fresh.then(|| head(args, environment, &cwd, scope, &model, &rules).render(&registry, clock::now()));
    let session = Session::new(opened.conversation, rules, settings);
    let executor = Executor::new(Arc::new(registry));
    let mut agent = Agent::new(session, opened.store, executor, context, provider);
    if let Some(wait) = args.longest_retry_wait {
        agent.limit_retry_wait(wait);
    }
    if let Some(head) = head {
        agent.open_lane(head)?;
    }
    if let Some(turn) = args.rewind {
        agent.rewind(turn)?;
    }
    Ok(Setup { agent, notices, simulator, settings: holding, policy })
}

fn open(args: &RunArgs, sessions: &Sessions, cwd: &Path) -> Result<transcript::OpenSession, Failure> {
    if !args.continue_last && args.resume.is_none() {
        if args.fork || args.rewind.is_some() {
            return Err(Failure::usage("there is no session to go back in or to copy")
                .hint("add --continue, or --resume ID"));
        }
        let made = transcript::create(sessions, &cwd.to_string_lossy(), clock::now());
        return made.map_err(|error| {
            Failure::failed(format!("no session could be made: {error}")).hint(
                "sessions are kept in $XDG_STATE_HOME, or else ~/.local/state: set one that can be written",
            )
        });
    }
    let id = folders::find(sessions, args.resume.as_deref(), cwd)?;
    let opened = if args.fork {
        transcript::fork(sessions, &id, clock::now())
    } else {
        transcript::open(sessions, &id)
    };
    opened.map_err(|error| Failure::failed(format!("session {id}: {error}")))
}

/// The folder tools work in: what was asked for, or the session's own.
fn session_folder(
    args: &RunArgs,
    conversation: &Conversation,
    here: PathBuf,
    notices: &mut Vec<String>,
) -> Result<PathBuf, Failure> {
    let own = PathBuf::from(&conversation.header().cwd);
    if args.cwd.is_some() || own == here {
        return Ok(here);
    }
    if !own.is_dir() {
        let text = format!("the session's folder `{}` is gone", own.display());
        return Err(Failure::usage(text).hint("--cwd DIR goes on in another one"));
    }
    notices.push(format!("working in {}, the session's folder", own.display()));
    Ok(own)
}

/// Where requests share a cache: one address and, for the API itself, one key's workspace. The key is not digested:
/// it would tell keys of a small alphabet apart from outside.
fn scope(provider: Provider, base_url: &str) -> String {
    let address = if provider == Provider::Sim { "a simulator in the process" } else { base_url };
    blake3::hash(address.as_bytes()).to_hex().to_string()
}

fn goes_elsewhere(spec: &LaneRecord, scope: &str) -> Option<String> {
    let text = "this session's requests went to another address before; the cache there is not shared";
    (spec.scope != scope).then(|| text.to_owned())
}

fn same_model(asked: Option<&str>, own: &str) -> Result<(), Failure> {
    match asked {
        Some(asked) if asked != own => Err(Failure::usage(format!("this session uses {own}, not {asked}"))
            .hint("--model holds for a new session; another model would not share the cache")),
        _ => Ok(()),
    }
}

/// What the folder's own files say and what does not hold.
fn not_holding(holding: &Holding) -> Option<String> {
    let keys: Vec<&str> = holding.ignored.iter().map(|value| value.key).collect();
    let first = keys.first()?;
    let others = if keys.len() > 1 { format!(" and {} more", keys.len() - 1) } else { String::new() };
    Some(format!("this folder is {}: `{first}`{others} in its settings does not hold", holding.trust.text()))
}

fn registry(args: &RunArgs) -> Registry {
    let mut registry = Registry::builtin();
    let allow = args.allow.as_deref().map(tools).filter(|tools| !tools.is_empty());
    registry.select(allow.as_deref(), &tools(&args.deny));
    registry
}

fn head(
    args: &RunArgs,
    environment: &Environment,
    cwd: &Path,
    scope: String,
    model: &str,
    rules: &Rules,
) -> HeadSpec {
    let ttl = match args.ttl {
        TtlArg::FiveMinutes => Ttl::FiveMinutes,
        TtlArg::OneHour => Ttl::OneHour,
    };
    HeadSpec {
        platform: Platform::Anthropic,
        model: model.to_owned(),
        scope,
        betas: Vec::new(),
        max_tokens: args.max_output.unwrap_or_else(|| default_max_tokens(rules)),
        thinking: args.thinking,
        effort: args.effort.clone(),
        cache: (args.cache == Switch::On).then_some(ttl),
        system_prompt: args.system_prompt.clone(),
        append_system_prompt: args.append_system_prompt.clone(),
        cwd: cwd.to_owned(),
        instructions: find_instructions(cwd, environment.config.as_deref()),
    }
}

fn settings(args: &RunArgs) -> Result<Settings, Failure> {
    let max_cost = match &args.max_usd {
        Some(text) => Some(text.parse::<Money>().map_err(|_| {
            Failure::usage(format!("`--max-usd {text}` is no amount")).hint("write dollars, for example 0.50")
        })?),
        None => None,
    };
    let limits = Limits { max_steps: Some(args.max_turns), max_tokens: None, max_cost };
    Ok(Settings { limits, allow_break: args.allow_break, ..Settings::default() })
}

fn context(store: &FileStore, conversation: &Conversation, cwd: &Path) -> Context {
    let mut context = Context::new(cwd, store.folder().join("outputs")).with_environment(environment::all());
    context.files = Arc::new(file_table(conversation));
    context
}

fn client(args: &RunArgs, base_url: &str, proxies: Proxies) -> Result<Client, Failure> {
    let mut options = ClientOptions::new(base_url);
    options.proxies = proxies;
    if let Some(silence) = args.longest_silence {
        options.idle_timeout = Duration::from_millis(silence);
    }
    Client::new(options).map_err(|error| match error.hint() {
        Some(hint) => Failure::usage(&error).hint(hint),
        None => Failure::usage(&error),
    })
}

fn unknown_model(rules: &Rules) -> Option<String> {
    (!rules.known).then(|| {
        format!("`{}` is not in the model table: cautious rules apply, and no price is known", rules.id)
    })
}

/// The key, where it is found first: `ANTHROPIC_API_KEY`, `ANTHROPIC_AUTH_TOKEN`, the helper command.
fn credential(environment: &Environment, helper: Option<&str>) -> Result<Credential, Failure> {
    if let Some(key) = &environment.api_key {
        return Ok(Credential::ApiKey(key.clone()));
    }
    if let Some(token) = &environment.auth_token {
        return Ok(Credential::Bearer(token.clone()));
    }
    if let Some(helper) = helper {
        return helper_key(helper).map(Credential::ApiKey);
    }
    Err(Failure::usage(NO_KEY.trim_end()))
}

fn helper_key(command: &str) -> Result<Secret, Failure> {
    let failed = |what: String| Failure::failed(format!("the key helper `{command}` {what}"));
    let output = std::process::Command::new("sh")
        .args(["-c", command])
        .stdin(std::process::Stdio::null())
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|error| failed(format!("could not be started: {error}")))?;
    if !output.status.success() {
        return Err(failed(format!("ended with {}", output.status)));
    }
    let key = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if key.is_empty() || key.contains(char::is_whitespace) {
        return Err(failed("did not print a key and nothing else".to_owned()));
    }
    Ok(Secret::new(key))
}

async fn start_simulator() -> Result<SimServer, Failure> {
    let simulator = Simulator::new(Config::default(), Script::default_script());
    SimServer::start(ServerOptions::default(), simulator)
        .await
        .map_err(|error| Failure::failed(format!("the simulator could not be started: {error}")))
}

/// What is said when a session's index is gone; the next durable record writes a new one.
const INDEX_LOST: &str =
    "the session's index was lost: nobody can say whether records were missing at the end";

/// What is said when the simulator answers.
const SIMULATED: &str = "\
answers and costs are simulated; nothing leaves this machine, and the simulator starts without a cache";

/// What is said when no key is found.
const NO_KEY: &str = "\
no key for the Messages API was found. Looked for, in this order:
  ANTHROPIC_API_KEY         sent as x-api-key
  ANTHROPIC_AUTH_TOKEN      sent as a bearer token
  ANTEFIX_API_KEY_HELPER    a command that prints a key

Without a key you can
  antefix demo                             watch an agent work, offline
  antefix run --provider sim \"PROMPT\"      run here with a simulated model
  antefix sim --port 8080                  serve the simulator to any agent";
