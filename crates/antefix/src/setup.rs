//! Puts an agent together from what the user asked for and what the environment says.

mod delegates;
mod ground;
mod hooks;
mod notices;
mod todo;

use std::path::Path;
use std::sync::Arc;

use antefix_http::server::SimServer;
use antefix_mcp::Questions;
use antefix_models::{Money, Rules, Tokens, Ttl};
use antefix_runtime::clock;
use antefix_runtime::context::Baseline;
use antefix_runtime::driver::{Agent, jobs_started, recall, shell_state};
use antefix_runtime::head::{HeadSpec, betas_of};
use antefix_runtime::provider::Provider;
use antefix_runtime::skills::Skills;
use antefix_runtime::store::FileStore;
use antefix_runtime::subagents::Subagents;
use antefix_session::conversation::Conversation;
use antefix_session::dialect::Dialect;
use antefix_session::guard::Limits;
use antefix_session::machine::{Session, Settings};
use antefix_session::placement::Placement;
use antefix_session::record::LaneRecord;
use antefix_session::warm::{KeepWarm, can_be_warmed};
use antefix_tools::sandbox::{OWN_PROGRAM, Sandbox};
use antefix_tools::{CONTRACT, Context, Executor, Jobs, Shell};

use crate::cli::{AgentArgs, Switch, TtlArg};
use crate::endpoint::Endpoint;
use crate::environment::{self, Environment};
use crate::failure::Failure;
use crate::price_file;
use crate::settings::{KEEP_WARM, Settings as Holding, Watch};
use delegates::Delegates;
use ground::{Around, Ground, Seen};

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
    args: &AgentArgs,
    environment: &Environment,
    questions: Arc<dyn Questions>,
) -> Result<Setup, Failure> {
    let mut notices = Vec::new();
    let (ground, provider) =
        Ground::find(args, environment, questions.is_anybody_there(), &mut notices).await?;
    let made = ground.made.clone();
    let done = Box::pin(put_together(ground, provider, questions, notices)).await;
    if let (Err(_), Some(folder)) = (&done, made) {
        // What is left of it is not listed, so that it does no harm.
        drop(std::fs::remove_dir_all(folder));
    }
    done
}

/// Puts the agent together on that ground.
async fn put_together(
    ground: Ground<'_>,
    provider: Provider,
    questions: Arc<dyn Questions>,
    mut notices: Vec<String>,
) -> Result<Setup, Failure> {
    let args = ground.args;
    if args.context_management.is_some() && !ground.endpoint.takes_context_management() {
        let text = "`--context-management` is of the Messages API, which this provider does not speak";
        return Err(Failure::usage(text));
    }
    let model = ground.model(&mut notices)?;
    let rules = ground.endpoint.rules(&model);
    takes_effort(args, &rules)?;
    let settings = ground.settings()?;
    let head = head(args, &ground.endpoint, &rules, &model);
    let delegates = ground.delegates(head.clone(), &settings, &mut notices);
    let offered = ground.offered(&rules, &delegates, questions, &mut notices).await?;
    notices.extend(notices::unknown_model(&rules));
    notices.extend(notices::unpriced(&ground.endpoint, &model, &settings.prices));
    let context = ground.context(&delegates, &mut notices)?;
    let (watch, looks) = ground.watches(&context)?;
    let seen = Seen { context: &context, offered: &offered, delegates: &delegates, settings: &settings };
    let mut around = ground.look_around(seen, looks, &mut notices).await?;
    let opening = ground.opening(head, &rules, &offered, &mut around).await;
    notices.extend(around.watcher.take_notes());
    ground.spent_before(&delegates, &settings, &mut notices)?;
    let Ground { holding, endpoint, opened, .. } = ground;
    let (jobs, wants_warmth) = (Arc::clone(&context.jobs), settings.keep_warm.is_some());
    let session = Session::new(opened.conversation, rules, settings);
    let executor = Executor::new(Arc::new(offered.registry));
    let mut agent = Agent::new(session, opened.store, executor, context, provider);
    notices.extend(begin(&mut agent, args, around, opening)?);
    notices.extend(wants_warmth.then(|| not_kept_warm(&agent)).flatten());
    if let Some(turn) = args.rewind {
        agent.rewind(turn)?;
    }
    notices.extend(notices::raised_share(agent.session()));
    let Delegates { skills, subagents } = delegates;
    let simulator = endpoint.simulator;
    Ok(Setup { agent, notices, simulator, settings: holding, watch, jobs, skills, subagents })
}

/// Lets an agent see what is around it, and opens its lane; gives what the user should be told of that.
fn begin(
    agent: &mut Agent<FileStore>,
    args: &AgentArgs,
    Around { watcher, surroundings, hooks }: Around,
    opening: Option<LaneRecord>,
) -> Result<Vec<String>, Failure> {
    agent.watch(watcher, surroundings);
    agent.ask_hooks(hooks);
    if let Some(wait) = args.longest_retry_wait {
        agent.limit_retry_wait(wait);
    }
    Ok(opening.map(|lane| agent.open_lane(lane)).transpose()?.unwrap_or_default())
}

/// Why the cache of a session cannot be kept warm.
fn not_kept_warm(agent: &Agent<FileStore>) -> Option<String> {
    let session = agent.session();
    let why = can_be_warmed(session.conversation().lane()?, session.prices(), clock::now()).err()?;
    Some(format!("the cache is not kept warm: {why}"))
}

/// Refuses a level of effort that the model does not take.
fn takes_effort(args: &AgentArgs, rules: &Rules) -> Result<(), Failure> {
    let Some((effort, levels)) = args.effort.as_deref().zip(rules.efforts.as_ref()) else { return Ok(()) };
    if levels.contains(&effort) {
        return Ok(());
    }
    let Rules { id, .. } = rules;
    let failure = Failure::usage(format!("`{id}` takes no effort `{effort}`"));
    Err(failure.hint(match levels.as_slice() {
        [] => "it takes none: leave `--effort` out".to_owned(),
        levels => format!("one of {}", levels.join(", ")),
    }))
}

/// The betas that a session's requests name from the first on: what the model's own rules want, and what the edits want
/// that its user asks for.
fn betas(args: &AgentArgs, dialect: Dialect, rules: &Rules) -> Vec<String> {
    let mut betas = betas_of(dialect, rules);
    betas.extend(args.context_management.iter().flat_map(|asked| asked.betas.clone()));
    betas
}

/// The head of a session, but for what it says of its surroundings.
fn head(args: &AgentArgs, endpoint: &Endpoint, rules: &Rules, model: &str) -> HeadSpec {
    let ttl = match args.ttl {
        TtlArg::FiveMinutes => Ttl::FiveMinutes,
        TtlArg::OneHour => Ttl::OneHour,
    };
    HeadSpec {
        dialect: endpoint.dialect,
        platform: endpoint.platform,
        model: model.to_owned(),
        scope: endpoint.scope(),
        betas: betas(args, endpoint.dialect, rules),
        max_tokens: endpoint.largest_reply(args, rules),
        thinking: args.thinking,
        effort: args.effort.clone(),
        context_management: args.context_management.as_ref().map(|asked| asked.json.clone()),
        cache: (args.cache == Switch::On && endpoint.takes_markers()).then_some(ttl),
        system_prompt: args.system_prompt.clone(),
        append_system_prompt: args.append_system_prompt.clone(),
        baseline: Baseline::default(),
        chat: endpoint.terms.clone(),
        reminders: Placement::of_model(endpoint.dialect, rules),
    }
}

fn settings(args: &AgentArgs, holding: &Holding, environment: &Environment) -> Result<Settings, Failure> {
    let max_cost = match &args.max_usd {
        Some(text) => Some(text.parse::<Money>().map_err(|_| {
            Failure::usage(format!("`--max-usd {text}` is no amount")).hint("write dollars, for example 0.50")
        })?),
        None => None,
    };
    let limits =
        Limits { max_steps: Some(args.max_turns), max_tokens: args.max_tokens.map(Tokens), max_cost };
    let minutes = args.keep_warm.or_else(|| holding.value(KEEP_WARM)?.parse().ok()).unwrap_or_default();
    // What was recorded stands in the place of all answers.
    let keep_warm = (minutes > 0 && args.replay.is_none())
        .then(|| KeepWarm { longest: minutes * 60_000, after: args.keep_warm_after });
    let prices = Arc::new(price_file::book(environment)?);
    Ok(Settings { limits, allow_break: args.allow_break, keep_warm, prices, ..Settings::default() })
}

fn context(
    args: &AgentArgs,
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
