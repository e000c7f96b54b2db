//! What a session stands on: where it works, what holds there, who answers, and what was said.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use antefix_http::client::{Client, ClientOptions, Proxies};
use antefix_mcp::{Hub, Options, Questions};
use antefix_models::Rules;
use antefix_runtime::catalogue::{McpServers, NoServers, Servers};
use antefix_runtime::context::{StartHooks, Surroundings, Watcher};
use antefix_runtime::driver::take_up_answers;
use antefix_runtime::head::HeadSpec;
use antefix_runtime::provider::{Provider, Replay};
use antefix_runtime::store::Sessions;
use antefix_runtime::{clock, transcript};
use antefix_session::conversation::{Conversation, Lane};
use antefix_session::dialect::Dialect;
use antefix_session::machine::Settings;
use antefix_session::record::LaneRecord;
use antefix_tools::hooks::Hooks;
use antefix_tools::sandbox::Available;
use antefix_tools::{CONTRACT, Context};

use super::delegates::{self, Delegates, Employer};
use super::{hooks, notices, todo};
use crate::asking;
use crate::cli::{AgentArgs, AutoCompact};
use crate::endpoint::Endpoint;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::folders;
use crate::lane::altered;
use crate::offered::{ARRIVES, DELEGATES, Offered, Terms};
use crate::servers;
use crate::settings::{Flags, Settings as Holding, Watch};
use crate::surroundings::{surroundings, watcher};

/// An open session, whom it speaks to, and what holds in its folder.
pub struct Ground<'a> {
    /// What was asked for.
    pub args: &'a AgentArgs,
    /// Where the user's own files are.
    pub environment: &'a Environment,
    /// All sessions.
    pub sessions: Sessions,
    /// What holds in the folder that tools work in.
    pub holding: Holding,
    /// Who answers.
    pub endpoint: Endpoint,
    /// What was said, and where more of it is put.
    pub opened: transcript::OpenSession,
    /// The folder of the session if it has been made here, and nothing of it is worth keeping yet.
    pub made: Option<PathBuf>,
    /// The folder that tools work in.
    pub cwd: PathBuf,
}

impl<'a> Ground<'a> {
    /// Opens what was asked for, and finds who answers; whether the folder is trusted is asked in a terminal if `is_asked`.
    /// All that may be refused is looked at before a session is made.
    pub async fn find(
        args: &'a AgentArgs,
        environment: &'a Environment,
        is_asked: bool,
        notices: &mut Vec<String>,
    ) -> Result<(Self, Provider), Failure> {
        let here = folders::working_folder(args.cwd.as_deref())?;
        let sessions = folders::sessions(environment)?;
        let mut holding = trusted(args, environment, &here, is_asked)?;
        // An amount that is none is refused here already, and so are prices that cannot be read.
        super::settings(args, &holding, environment)?;
        let continued = continued(args, &sessions, &here)?;
        let mut endpoint = Endpoint::find(args, environment, &holding).await?;
        notices.extend(endpoint.notice.clone());
        let mut provider = provider(args, environment, &endpoint, notices)?;
        if continued.is_none() && !args.fork {
            endpoint.model(args, &holding)?;
        }
        let is_made = continued.is_none();
        let opened = match continued {
            Some(opened) => opened,
            None => open(args, &sessions, &here)?,
        };
        let made = is_made.then(|| opened.store.folder().to_owned());
        for (name, value) in endpoint.stick_to(opened.conversation.header()) {
            provider.add_header(name, value);
        }
        let cwd = session_folder(args, &opened.conversation, here, notices)?;
        if cwd != holding.folder {
            holding = Holding::read(&cwd, environment, &Flags::of(args))?;
        }
        notices.extend(notices::not_holding(&holding));
        notices.extend_from_slice(&holding.hook_notes);
        notices.extend(notices::after_crash(&opened));
        provider.name_session(&opened.conversation.header().session);
        let ground = Self { args, environment, sessions, holding, endpoint, opened, made, cwd };
        Ok((ground, provider))
    }

    /// The lane that the session goes on in: in another dialect it needs a new one.
    pub fn lane(&self) -> Option<&LaneRecord> {
        let lane = self.opened.conversation.lane().map(Lane::spec);
        lane.filter(|lane| lane.dialect == self.endpoint.dialect)
    }

    /// The model that is asked next.
    pub fn model(&self, notices: &mut Vec<String>) -> Result<String, Failure> {
        let Some(lane) = self.lane() else { return self.endpoint.model(self.args, &self.holding) };
        notices.extend(notices::goes_elsewhere(lane, &self.endpoint.scope()));
        notices.extend(notices::without_effect(self.args, lane));
        Ok(self.args.model.clone().unwrap_or_else(|| lane.model.clone()))
    }

    /// How the session is to work.
    pub fn settings(&self) -> Result<Settings, Failure> {
        let mut settings = super::settings(self.args, &self.holding, self.environment)?;
        // What was sent to one in an earlier process is not in this one.
        settings.cache_began = self.endpoint.simulator.as_ref().map(|_| clock::now());
        if let Some(AutoCompact(share)) = self.args.auto_compact.or(self.holding.auto_compact()) {
            settings.compaction.share = share;
        }
        Ok(settings)
    }

    /// Whom the agent hands work to, behind the head that a session here begins with.
    pub fn delegates(&self, head: HeadSpec, settings: &Settings, notices: &mut Vec<String>) -> Delegates {
        let Self { environment, endpoint, holding, .. } = self;
        let employer = Employer { environment, endpoint, holding };
        let delegates = employer.delegates(&self.sessions, &self.cwd, head, settings);
        notices.extend(delegates.skills.find().1);
        notices.extend(delegates.subagents.agents().find().1);
        delegates
    }

    /// The tools, once the servers that are required have come up.
    pub async fn offered(
        &self,
        rules: &Rules,
        delegates: &Delegates,
        questions: Arc<dyn Questions>,
        notices: &mut Vec<String>,
    ) -> Result<Offered, Failure> {
        let Self { args, holding, endpoint, .. } = self;
        let terms = Terms {
            takes_tools: endpoint.takes_tools(),
            defers: endpoint.dialect == Dialect::Anthropic && rules.known,
            window: rules.context_window,
            deferral: args.defer_tools.map_or_else(|| holding.deferral(), Into::into),
            loaded: holding.loaded().into_iter().chain(args.load_tool.clone()).collect(),
            private_hosts: holding.private_hosts(),
            delegates: delegates.tools(),
        };
        let contract = self.lane().map_or(CONTRACT, |lane| lane.contract);
        let servers: Arc<dyn Servers> = if terms.takes_tools && contract >= ARRIVES {
            Arc::new(start_servers(args, self.environment, (holding, questions), notices).await?)
        } else {
            Arc::new(NoServers)
        };
        let mut offered = Offered::find(args, self.lane(), terms, servers)?;
        notices.append(&mut offered.notices);
        Ok(offered)
    }

    /// Where tools work and what they may touch there.
    pub fn context(&self, delegates: &Delegates, notices: &mut Vec<String>) -> Result<Context, Failure> {
        let Self { endpoint, opened, cwd, .. } = self;
        let temporary = opened.store.folder().join("tmp");
        let home = self.environment.home.as_deref();
        let (sandbox, unconfined) = self.holding.bounds.sandbox(Available::probe(), home, temporary)?;
        notices.extend(unconfined);
        let context = super::context(self.args, endpoint, &opened.store, &opened.conversation, cwd, sandbox);
        let folders = delegates.skills.user_folders();
        Ok(folders.iter().fold(context, |context, folder| context.with_readable(folder)))
    }

    /// What decides what tools may do, and the same once more for what looks at it without a shell.
    pub fn watches(&self, context: &Context) -> Result<(Watch, Watch), Failure> {
        let readable: Vec<PathBuf> = context.readable.iter().chain([&context.spill]).cloned().collect();
        let watch = || {
            let (environment, flags) = (self.environment.clone(), Flags::of(self.args));
            Watch::new(self.holding.clone(), readable.clone(), environment, flags)
        };
        let (watch, looks) = (watch().with_shell(&context.shell), watch());
        take_up_answers(watch.policy(), &self.opened.conversation)
            .map_err(|error| Failure::failed(format!("an answer on record cannot be taken up: {error}")))?;
        Ok((watch, looks))
    }

    /// Asks the hooks of a start, and looks around for the first time.
    pub async fn look_around(
        &self,
        seen: Seen<'_>,
        looks: Watch,
        notices: &mut Vec<String>,
    ) -> Result<Around, Failure> {
        let Self { environment, holding, opened, .. } = self;
        let Seen { context, offered, delegates, settings } = seen;
        let wanted = todo::wanted(self.args, holding)?;
        let (hooks, said) =
            hooks::start(holding, &opened.store, &opened.conversation, context, notices).await?;
        let callable = delegates.callable(&offered.registry);
        let mut watcher = watcher(environment, holding, context, settings.limits, callable, wanted);
        offered.watch(&mut watcher, looks, self.lane().is_none());
        watcher.add(StartHooks::new(said));
        Ok(Around { watcher, surroundings: surroundings(context, holding), hooks })
    }

    /// The lane that the session is to go on in, if it is not the one that it has.
    pub async fn opening(
        &self,
        head: HeadSpec,
        rules: &Rules,
        offered: &Offered,
        around: &mut Around,
    ) -> Option<LaneRecord> {
        if self.lane().is_some() {
            return altered(&self.opened.conversation, self.args, rules);
        }
        let baseline = around.watcher.baseline(&around.surroundings).await;
        let mut lane = HeadSpec { baseline, ..head }.render(&offered.registry);
        lane.baseline.push(offered.catalogue.record());
        Some(lane)
    }

    /// Counts what subagents of the session have spent before.
    pub fn spent_before(
        &self,
        delegates: &Delegates,
        settings: &Settings,
        notices: &mut Vec<String>,
    ) -> Result<(), Failure> {
        if self.lane().is_none_or(|lane| lane.contract < DELEGATES) {
            return Ok(());
        }
        let (conversation, purse) = (&self.opened.conversation, delegates.subagents.purse());
        notices.extend(delegates::spent_before(&self.sessions, conversation, settings, purse)?);
        Ok(())
    }
}

/// What there is as the first look is taken.
pub struct Seen<'a> {
    /// Where tools work.
    pub context: &'a Context,
    /// The tools.
    pub offered: &'a Offered,
    /// Whom work is handed to.
    pub delegates: &'a Delegates,
    /// How the session is to work.
    pub settings: &'a Settings,
}

/// What is around a session.
pub struct Around {
    /// Looks at it.
    pub watcher: Watcher,
    /// Where and when the first look is.
    pub surroundings: Surroundings,
    /// The user's commands that are asked.
    pub hooks: Hooks,
}

/// What holds in a folder, once the user was asked whether it is trusted, if anybody can be asked.
fn trusted(
    args: &AgentArgs,
    environment: &Environment,
    here: &Path,
    is_asked: bool,
) -> Result<Holding, Failure> {
    let mut holding = Holding::read(here, environment, &Flags::of(args))?;
    if is_asked {
        asking::about_trust(&mut holding, environment)?;
        // What did not hold before may hold now.
        holding = Holding::read(here, environment, &Flags::of(args))?;
    }
    Ok(holding)
}

/// What requests go through.
fn provider(
    args: &AgentArgs,
    environment: &Environment,
    endpoint: &Endpoint,
    notices: &mut Vec<String>,
) -> Result<Provider, Failure> {
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
        notices.push(notices::REPLAYED.to_owned());
    }
    Ok(provider)
}

fn client(args: &AgentArgs, base_url: &str, proxies: Proxies) -> Result<Client, Failure> {
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

/// The session that goes on, if one does and it is no copy; refused where it would go on with another provider than
/// before and nobody asked for that.
fn continued(
    args: &AgentArgs,
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
fn stays(args: &AgentArgs, conversation: &Conversation) -> Result<(), Failure> {
    let other = conversation.lane().map(Lane::spec).filter(|lane| lane.dialect != Dialect::default());
    match (other, &args.provider) {
        (Some(lane), None) => {
            Err(Failure::usage(format!("this session speaks Chat Completions with `{}`", lane.model))
                .hint("name the server as before (`--provider NAME`, with `--base-url URL` if need be), or take it to the Messages API with `--provider anthropic`"))
        }
        _ => Ok(()),
    }
}

fn open(args: &AgentArgs, sessions: &Sessions, cwd: &Path) -> Result<transcript::OpenSession, Failure> {
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
    args: &AgentArgs,
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

/// Starts the MCP servers, and waits for those that are required.
async fn start_servers(
    args: &AgentArgs,
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
