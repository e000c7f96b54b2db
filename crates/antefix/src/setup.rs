//! Puts an agent together from what the user asked for and what the environment says.

mod delegates;
mod hooks;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use antefix_http::client::{Client, ClientOptions, Proxies};
use antefix_http::server::SimServer;
use antefix_mcp::{Hub, Options, Questions};
use antefix_models::{Modifiers, Money, Platform, Rules, Tokens, Ttl, price};
use antefix_runtime::catalogue::{McpServers, NoServers, Servers};
use antefix_runtime::context::{Baseline, StartHooks};
use antefix_runtime::driver::{Agent, jobs_started, recall, shell_state, take_up_answers};
use antefix_runtime::head::HeadSpec;
use antefix_runtime::provider::{Provider, Replay};
use antefix_runtime::skills::Skills;
use antefix_runtime::store::{FileStore, Sessions};
use antefix_runtime::subagents::Subagents;
use antefix_runtime::{clock, transcript};
use antefix_session::conversation::{Conversation, Lane};
use antefix_session::dialect::Dialect;
use antefix_session::guard::Limits;
use antefix_session::machine::{Session, Settings};
use antefix_session::placement::Placement;
use antefix_session::record::LaneRecord;
use antefix_session::spend::date;
use antefix_session::warm::{KeepWarm, can_be_warmed};
use antefix_tools::sandbox::{Available, OWN_PROGRAM, Sandbox};
use antefix_tools::{CONTRACT, Context, Executor, Jobs, Shell, Skill, Task};

use crate::asking;
use crate::cli::{AutoCompact, RunArgs, Switch, TtlArg};
use crate::endpoint::Endpoint;
use crate::environment::{self, Environment};
use crate::failure::Failure;
use crate::folders;
use crate::lane::altered;
use crate::offered::{ARRIVES, DELEGATES, Offered, Terms};
use crate::servers;
use crate::settings::{Flags, KEEP_WARM, Settings as Holding, Watch};
use crate::surroundings::{Callable, surroundings, watcher};
use delegates::Employer;

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
    pub watch: Watch,
    /// The commands in the background.
    pub jobs: Arc<Jobs>,
    /// The skills of the user and of the folder that tools work in.
    pub skills: Arc<Skills>,
    /// What runs its subagents.
    pub subagents: Arc<Subagents>,
}

/// Puts the agent together; what its MCP servers want to know is asked through `questions`.
///
/// # Errors
/// If something that was asked for is not there, or no key is found.
pub async fn setup(
    args: &RunArgs,
    environment: &Environment,
    questions: Arc<dyn Questions>,
) -> Result<Setup, Failure> {
    let here = folders::working_folder(args.cwd.as_deref())?;
    let sessions = folders::sessions(environment)?;
    let mut notices = Vec::new();
    let mut holding = Holding::read(&here, environment, &Flags::of(args))?;
    if asking::is_possible(args) {
        asking::about_trust(&mut holding, environment)?;
        // What did not hold before may hold now.
        holding = Holding::read(&here, environment, &Flags::of(args))?;
    }
    // An amount that is none is refused here already.
    settings(args, &holding)?;
    let continued = continued(args, &sessions, &here)?;
    // All that may be refused is looked at before a session is made.
    let mut endpoint = Endpoint::find(args, environment, &holding).await?;
    notices.extend(endpoint.notice.clone());
    // A proxy would see what the simulator is asked, and it is in this process.
    let is_local = endpoint.simulator.is_some();
    let proxies = if is_local { Proxies::default() } else { environment.proxies.clone() };
    let client = client(args, &endpoint.base_url, proxies)?;
    let mut provider = Provider::new(client, endpoint.dialect, endpoint.credential.clone());
    if let Some(folder) = &args.capture {
        provider.capture(folder).map_err(|error| {
            Failure::usage(format!("cannot capture into `{}`: {error}", folder.display()))
        })?;
    }
    if let Some(path) = &args.replay {
        provider.replay(Replay::open(path).map_err(|error| Failure::usage(&error))?);
        notices.push(REPLAYED.to_owned());
    }
    if continued.is_none() && !args.fork {
        endpoint.model(args, &holding)?;
    }
    let opened = match continued {
        Some(opened) => opened,
        None => open(args, &sessions, &here)?,
    };
    for (name, value) in endpoint.stick_to(opened.conversation.header()) {
        provider.add_header(name, value);
    }
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
    // A session goes on in its lane; in another dialect it needs a new one.
    let lane = opened.conversation.lane().map(Lane::spec).filter(|lane| lane.dialect == endpoint.dialect);
    let model = match lane {
        Some(spec) => {
            notices.extend(goes_elsewhere(spec, &endpoint.scope()));
            notices.extend(without_effect(args));
            args.model.clone().unwrap_or_else(|| spec.model.clone())
        }
        None => endpoint.model(args, &holding)?,
    };
    let fresh = lane.is_none();
    provider.name_betas(lane.map(|lane| lane.betas.clone()).unwrap_or_default());
    let skills = Arc::new(delegates::skills(environment, &cwd));
    notices.extend(skills.find().1);
    let rules = endpoint.rules(&model);
    let mut settings = settings(args, &holding)?;
    if let Some(AutoCompact(share)) = args.auto_compact.or(holding.auto_compact()) {
        settings.compaction.share = share;
    }
    let spec = head(args, &endpoint, &rules, &model);
    let employer = Employer { environment, endpoint: &endpoint, holding: &holding, skills: &skills };
    let subagents = Arc::new(employer.subagents(&sessions, &cwd, spec.clone(), &settings));
    notices.extend(subagents.agents().find().1);
    let has_delegates = lane.is_some_and(|lane| lane.contract >= DELEGATES);
    let terms = Terms {
        takes_tools: endpoint.takes_tools(),
        defers: endpoint.dialect == Dialect::Anthropic && rules.known,
        window: rules.context_window,
        deferral: args.defer_tools.map_or_else(|| holding.deferral(), Into::into),
        loaded: holding.loaded().into_iter().chain(args.load_tool.clone()).collect(),
        private_hosts: holding.private_hosts(),
        delegates: delegates::tools(&skills, &subagents),
    };
    let contract = lane.map_or(CONTRACT, |lane| lane.contract);
    let servers: Arc<dyn Servers> = if terms.takes_tools && contract >= ARRIVES {
        Arc::new(start_servers(args, environment, (&holding, questions), &mut notices).await?)
    } else {
        Arc::new(NoServers)
    };
    let mut offered = Offered::find(args, lane, terms, servers)?;
    notices.append(&mut offered.notices);
    notices.extend(unknown_model(&rules));
    notices.extend(unpriced(&endpoint, &model));
    let temporary = opened.store.folder().join("tmp");
    let home = environment.home.as_deref();
    let (sandbox, unconfined) = holding.bounds.sandbox(Available::probe(), home, temporary)?;
    notices.extend(unconfined);
    let context = context(args, &endpoint, &opened.store, &opened.conversation, &cwd, sandbox);
    let context = skills.user_folders().iter().fold(context, |context, folder| context.with_readable(folder));
    let readable: Vec<PathBuf> = context.readable.iter().chain([&context.spill]).cloned().collect();
    let watch = || Watch::new(holding.clone(), readable.clone(), environment.clone(), Flags::of(args));
    let (watch, looks) = (watch().with_shell(&context.shell), watch());
    take_up_answers(watch.policy(), &opened.conversation)
        .map_err(|error| Failure::failed(format!("an answer on record cannot be taken up: {error}")))?;
    let (hooks, said) =
        hooks::start(&holding, &opened.store, &opened.conversation, &context, &mut notices).await?;
    let around = surroundings(&context, &holding);
    let callable = Callable {
        skills: offered.registry.get(Skill::NAME).map(|_| Arc::clone(&skills)),
        agents: offered.registry.get(Task::NAME).map(|_| subagents.agents().clone()),
    };
    let mut watcher = watcher(environment, &holding, &context, settings.limits, callable);
    offered.watch(&mut watcher, looks, fresh);
    watcher.add(StartHooks::new(said));
    let mut opening = lane.and_then(|_| altered(&opened.conversation, args, &rules));
    if fresh {
        let baseline = watcher.baseline(&around).await;
        let mut lane = HeadSpec { baseline, ..spec }.render(&offered.registry);
        lane.baseline.push(offered.catalogue.record());
        opening = Some(lane);
    }
    notices.extend(watcher.take_notes());
    if has_delegates {
        let session = &opened.conversation.header().session;
        delegates::spent_before(&sessions, session, &endpoint, subagents.purse())?;
    }
    let jobs = Arc::clone(&context.jobs);
    let wants_warmth = settings.keep_warm.is_some();
    let session = Session::new(opened.conversation, rules, settings);
    let executor = Executor::new(Arc::new(offered.registry));
    let mut agent = Agent::new(session, opened.store, executor, context, provider);
    agent.watch(watcher, around);
    agent.ask_hooks(hooks);
    if let Some(wait) = args.longest_retry_wait {
        agent.limit_retry_wait(wait);
    }
    if let Some(lane) = opening {
        notices.extend(agent.open_lane(lane)?);
    }
    let lane = agent.session().conversation().lane();
    if let Some(Err(why)) = lane.filter(|_| wants_warmth).map(|lane| can_be_warmed(lane, clock::now())) {
        notices.push(format!("the cache is not kept warm: {why}"));
    }
    if let Some(turn) = args.rewind {
        agent.rewind(turn)?;
    }
    Ok(Setup {
        agent,
        notices,
        simulator: endpoint.simulator,
        settings: holding,
        watch,
        jobs,
        skills,
        subagents,
    })
}

/// The session that goes on, if one does and it is no copy; refused where it would go on with another provider than
/// before and nobody asked for that.
fn continued(
    args: &RunArgs,
    sessions: &Sessions,
    cwd: &Path,
) -> Result<Option<transcript::OpenSession>, Failure> {
    if args.fork || !args.continue_last && args.resume.is_none() {
        return Ok(None);
    }
    let opened = open(args, sessions, cwd)?;
    stays(args, &opened.conversation)?;
    Ok(Some(opened))
}

/// Without `--provider` a session goes on in its own dialect or not at all: what was said to one provider is not sent
/// to another by mistake.
fn stays(args: &RunArgs, conversation: &Conversation) -> Result<(), Failure> {
    let other = conversation.lane().map(Lane::spec).filter(|lane| lane.dialect != Dialect::default());
    match (other, &args.provider) {
        (Some(lane), None) => {
            Err(Failure::usage(format!("this session speaks Chat Completions with `{}`", lane.model))
                .hint("name the server as before (`--provider NAME`, with `--base-url URL` if need be), or take it to the Messages API with `--provider anthropic`"))
        }
        _ => Ok(()),
    }
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

fn goes_elsewhere(spec: &LaneRecord, scope: &str) -> Option<String> {
    let text = "this session's requests went to another address before; the cache there is not shared";
    (spec.scope != scope).then(|| text.to_owned())
}

/// What was asked for and holds for a new session only: the head of this one is fixed.
fn without_effect(args: &RunArgs) -> Option<String> {
    let flags = [
        (args.system_prompt.is_some(), "--system-prompt"),
        (args.append_system_prompt.is_some(), "--append-system-prompt"),
        (args.max_output.is_some(), "--max-output"),
        (args.cache != Switch::On, "--cache"),
        (args.ttl != TtlArg::FiveMinutes, "--ttl"),
        (args.defer_tools.is_some(), "--defer-tools"),
        (!args.load_tool.is_empty(), "--load-tool"),
    ];
    let named: Vec<&str> = flags.iter().filter(|(is_asked, _)| *is_asked).map(|(_, flag)| *flag).collect();
    (!named.is_empty()).then(|| {
        format!(
            "{} only holds for a new session, and was left aside: this one keeps its head",
            named.join(", ")
        )
    })
}

/// What the folder's own files say and what does not hold.
fn not_holding(holding: &Holding) -> Option<String> {
    let keys: Vec<&str> = holding.ignored.iter().map(|value| value.key).collect();
    let first = keys.first()?;
    let others = if keys.len() > 1 { format!(" and {} more", keys.len() - 1) } else { String::new() };
    Some(format!("this folder is {}: `{first}`{others} in its settings does not hold", holding.trust.text()))
}

/// Starts the MCP servers, and waits for those that are required.
async fn start_servers(
    args: &RunArgs,
    environment: &Environment,
    (holding, questions): (&Holding, Arc<dyn Questions>),
    notices: &mut Vec<String>,
) -> Result<McpServers, Failure> {
    let configured = servers::configured(holding, &args.servers)?;
    notices.extend(configured.notes);
    let options = servers::options(&holding.folder, environment);
    let hub = Hub::start(configured.configs, Options { questions: Some(questions), ..options });
    let servers = McpServers::new(Arc::new(hub));
    match servers.arrive().await.into_iter().next() {
        Some((server, why)) => {
            Err(Failure::failed(format!("the MCP server `{server}` is required, and has not come up: {why}"))
                .hint(format!(
                    "`antefix mcp test {server}` says more; without `required` the session begins without it"
                )))
        }
        None => Ok(servers),
    }
}

/// The head of a session, but for what it says of its surroundings.
fn head(args: &RunArgs, endpoint: &Endpoint, rules: &Rules, model: &str) -> HeadSpec {
    let ttl = match args.ttl {
        TtlArg::FiveMinutes => Ttl::FiveMinutes,
        TtlArg::OneHour => Ttl::OneHour,
    };
    HeadSpec {
        dialect: endpoint.dialect,
        platform: endpoint.platform,
        model: model.to_owned(),
        scope: endpoint.scope(),
        betas: Vec::new(),
        max_tokens: endpoint.largest_reply(args, rules),
        thinking: args.thinking,
        effort: args.effort.clone(),
        cache: (args.cache == Switch::On && endpoint.takes_markers()).then_some(ttl),
        system_prompt: args.system_prompt.clone(),
        append_system_prompt: args.append_system_prompt.clone(),
        baseline: Baseline::default(),
        chat: endpoint.terms.clone(),
        reminders: Placement::of_model(endpoint.dialect, rules),
    }
}

fn settings(args: &RunArgs, holding: &Holding) -> Result<Settings, Failure> {
    let max_cost = match &args.max_usd {
        Some(text) => Some(text.parse::<Money>().map_err(|_| {
            Failure::usage(format!("`--max-usd {text}` is no amount")).hint("write dollars, for example 0.50")
        })?),
        None => None,
    };
    let limits = Limits { max_steps: Some(args.max_turns), max_tokens: None, max_cost };
    let minutes = args.keep_warm.or_else(|| holding.value(KEEP_WARM)?.parse().ok()).unwrap_or_default();
    // What was recorded stands in the place of all answers.
    let keep_warm = (minutes > 0 && args.replay.is_none())
        .then(|| KeepWarm { longest: minutes * 60_000, after: args.keep_warm_after });
    Ok(Settings { limits, allow_break: args.allow_break, keep_warm, ..Settings::default() })
}

fn context(
    args: &RunArgs,
    endpoint: &Endpoint,
    store: &FileStore,
    conversation: &Conversation,
    cwd: &Path,
    sandbox: Sandbox,
) -> Context {
    let inherited = environment::all_but(endpoint.key_variable.as_deref());
    let mut context = Context::new(cwd, store.folder().join("outputs"))
        .with_environment(inherited)
        .with_helper(Path::new(OWN_PROGRAM), sandbox);
    for folder in &args.add_dir {
        context = context.with_readable(folder);
    }
    recall(conversation, &mut context);
    let contract = conversation.lane().map_or(CONTRACT, |lane| lane.spec().contract);
    context.jobs = Arc::new(Jobs::after(jobs_started(conversation)));
    context.carries_over = contract >= 2;
    context.shell = Arc::new(Shell::new(shell_state(conversation)));
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

/// A model of Chat Completions without a price; one of the Messages API is told of as not known.
fn unpriced(endpoint: &Endpoint, model: &str) -> Option<String> {
    let preset = endpoint.preset.as_ref().filter(|_| endpoint.dialect == Dialect::OpenAiChat)?;
    let (platform, today) = (preset.platform, date(clock::now()));
    let is_priced = platform == Platform::OpenRouter
        || price(platform, model, today, Modifiers::default(), Tokens::ZERO).is_some();
    (!is_priced).then(|| format!("no price of `{model}` is known: its requests are unpriced, not free"))
}

/// What is said when a session's index is gone; the next durable record writes a new one.
const INDEX_LOST: &str =
    "the session's index was lost: nobody can say whether records were missing at the end";

/// What is said when recorded steps stand in the place of answers.
const REPLAYED: &str = "recorded steps stand in the place of what the model answers";
