//! The command line.

mod conform;
mod mcp;
mod money;
mod sim;

use std::path::PathBuf;

use antefix_runtime::catalogue::Deferral;
use antefix_runtime::context::KINDS;
use antefix_session::machine::CompactionSettings;
use antefix_tools::permission::Mode;
use antefix_tools::sandbox::Confinement;
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::context_management::{ContextManagement, parse_context_management};
use crate::servers::ServerFlags;
pub use conform::ConformArgs;
pub use mcp::{McpAction, McpArgs};
pub use money::{
    BillArgs, BillBy, CheckArgs, ExportFormat, GrowthArgs, LedgerAction, LedgerArgs, PricesArgs,
    SelftestArgs, Share, What, WhatifArgs,
};
pub use sim::{ChatKnobs, ClockArg, OnOff, SimArgs};

/// An agent runtime whose every request extends what was sent before, and the instruments that show why a prompt
/// cache breaks.
#[derive(Debug, Parser)]
#[command(name = "antefix", version, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Watch an agent work offline: real tools, real HTTP, a simulated provider, with its cache bar and its bill
    Demo(DemoArgs),
    /// Run one turn of an agent in this folder
    Run(Box<RunArgs>),
    /// Talk with an agent in this folder, message by message, in one session
    Chat(Box<ChatArgs>),
    /// List the sessions of this folder, or show one
    Sessions(SessionsArgs),
    /// Rebuild every request body of a session and compare it with what was sent
    Verify(VerifyArgs),
    /// Serve the simulator of a provider's prompt cache
    Sim(SimArgs),
    /// Show the first difference between two request bodies
    Diff(DiffArgs),
    /// Compare the tools that requests carry
    Tools(ToolsArgs),
    /// Say why a prompt cache broke: what changed, where, who did it, what it cost, and what to do
    Explain(ExplainArgs),
    /// Show the positions of a request body and where cache markers belong
    Plan(PlanArgs),
    /// Say what your sessions cost, what they could have cost, and what the difference went to
    Bill(BillArgs),
    /// Say what fills the history of a session, and what it cost to send it again with each request
    Growth(GrowthArgs),
    /// Say what a session would have cost under other conditions, by the simulator
    Whatif(WhatifArgs),
    /// Hand out the ledger behind the bill, or make it anew from the transcripts
    Ledger(LedgerArgs),
    /// List what tokens cost, from which day on, and who says so; your own prices win
    Prices(PricesArgs),
    /// Fail when the frozen part of a prompt, its tools and system prompt, is no longer the one of a baseline
    Check(CheckArgs),
    /// Send six requests to your provider, for a few cents at most, and compare its usage with what is predicted
    Selftest(SelftestArgs),
    /// Show the MCP servers of this folder, and say whether what they list stays the same
    Mcp(McpArgs),
    /// Check what antefix needs and say what is missing
    Doctor(DoctorArgs),
    /// Change one thing at a time between two messages and say what is kept of the prompt, provider by provider
    Conform(ConformArgs),
}

/// `antefix demo`
#[derive(Debug, Args)]
pub struct DemoArgs {
    /// Print the steps of the first task and how many messages each round sends
    #[arg(long)]
    pub trace: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Write each request body as sent, and what came of it, into this folder
    #[arg(long, value_name = "DIR")]
    pub capture: Option<PathBuf>,
    /// Keep the project and the session in this folder instead of a temporary one
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
}

/// `antefix run`
#[derive(Debug, Args)]
pub struct RunArgs {
    /// What to do; `-` reads it from standard input
    pub prompt: Option<String>,
    /// Show the model this image or PDF as well
    #[arg(long, value_name = "FILE")]
    pub attach: Vec<PathBuf>,
    /// What is printed
    #[arg(long, value_enum, default_value_t)]
    pub output: Output,
    /// Let the session go on from a summary of itself and do nothing else; what that costs is told first
    #[arg(long, conflicts_with_all = ["prompt", "attach", "todo"])]
    pub compact: bool,
    /// Exit with 1 if less than this share of the message's input was read from the cache, first requests, expiry and
    /// planned breaks aside
    #[arg(long, value_name = "SHARE", value_parser = money::parse_share)]
    pub fail_under: Option<Share>,
    /// The agent.
    #[command(flatten)]
    pub agent: AgentArgs,
}

/// `antefix chat`
#[derive(Debug, Args)]
pub struct ChatArgs {
    /// What is said first
    pub prompt: Option<String>,
    /// The agent.
    #[command(flatten)]
    pub agent: AgentArgs,
}

/// What `antefix run` and `antefix chat` have in common: who works, with what, and within which bounds.
#[derive(Debug, Args)]
pub struct AgentArgs {
    /// Go on with the last session of this folder
    #[arg(short, long = "continue", conflicts_with = "resume")]
    pub continue_last: bool,
    /// Go on with this session
    #[arg(short, long, value_name = "ID")]
    pub resume: Option<String>,
    /// Go on in a copy and leave the session as it is
    #[arg(long)]
    pub fork: bool,
    /// Drop turn TURN and everything after it first (`antefix sessions show ID` numbers the turns)
    #[arg(long, value_name = "TURN", value_parser = clap::value_parser!(u64).range(1..))]
    pub rewind: Option<u64>,
    /// Let the session go on from a summary as soon as a prompt fills this share of the context window: `off`, `on`
    /// (0.8), or a share such as 0.6; `on` if nothing is set
    #[arg(long, value_name = "WHEN", value_parser = parse_auto_compact)]
    pub auto_compact: Option<AutoCompact>,
    /// The model [default: claude-sonnet-5-5]; for a session that goes on, another one is a planned break
    #[arg(long)]
    pub model: Option<String>,
    /// Who answers: `anthropic` (the Messages API, or a server that speaks it), `sim` (a simulator in this process,
    /// which starts without any cache), or a server of Chat Completions: `compatible`, `llamacpp`, `ollama`,
    /// `lm-studio`, `vllm`, `sglang`, `openrouter`, `deepseek`, `github-models`, `workers-ai`, or one of your own
    /// (docs/providers.md)
    #[arg(long, value_name = "NAME", value_parser = parse_provider)]
    pub provider: Option<Provider>,
    /// The provider's address, in place of ANTHROPIC_BASE_URL or of what the preset says; for Chat Completions it ends
    /// in the API's version
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
    /// The environment variable that holds the key of a server of Chat Completions, in place of the preset's
    #[arg(long, value_name = "NAME")]
    pub api_key_env: Option<String>,
    /// The folder to work in; for a session that goes on, its own unless this says another
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// In place of the built-in system prompt, for a new session
    #[arg(long, value_name = "TEXT")]
    pub system_prompt: Option<String>,
    /// Behind the system prompt, for a new session
    #[arg(long, value_name = "TEXT")]
    pub append_system_prompt: Option<String>,
    /// How much the model thinks: default, off, adaptive, or a number of tokens; a change is a planned break
    #[arg(long, value_name = "MODE", default_value = "default", value_parser = parse_thinking)]
    pub thinking: antefix_runtime::head::Thinking,
    /// How hard the model tries: `low`, `medium`, `high`, `xhigh` or `max`, as far as it takes them (docs/models.md); a
    /// change is a planned break
    #[arg(long)]
    pub effort: Option<String>,
    /// What the provider itself is to leave out of the prompt, for a new session: a `context_management` of the
    /// Messages API, such as '{"edits":[{"type":"compact_20260112"}]}' (docs/compaction.md); nothing if nothing is set
    #[arg(long, value_name = "JSON", value_parser = parse_context_management)]
    pub context_management: Option<ContextManagement>,
    /// Largest reply in tokens, for a new session
    #[arg(long, value_name = "TOKENS")]
    pub max_output: Option<u64>,
    /// Whether cache markers are sent, for a new session
    #[arg(long, value_enum, default_value_t)]
    pub cache: Switch,
    /// How long cache entries live, for a new session
    #[arg(long, value_enum, default_value_t)]
    pub ttl: TtlArg,
    /// Stop the turn after this many requests
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..))]
    pub max_turns: u64,
    /// Stop when the session, what it was forked from included, has used this many tokens of input, cached ones
    /// included, and output; subagents count for themselves
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_tokens: Option<u64>,
    /// Stop when the session, what it was forked from included, has cost this much
    #[arg(long, value_name = "USD")]
    pub max_usd: Option<String>,
    /// What happens to calls that no rule speaks of (docs/permissions.md); `ask` if nothing is set
    #[arg(long, value_enum, value_name = "MODE")]
    pub permission_mode: Option<PermissionMode>,
    /// Offer only these tools, for a new session; what has a pattern is a rule instead: `bash(cargo test:*)`,
    /// `edit(src/**)` run without a question
    #[arg(long, value_name = "TOOL|RULE")]
    pub allow: Option<Vec<String>>,
    /// Do not offer these tools, for a new session, and refuse them; or refuse what a rule matches: `bash(git push)`,
    /// `read(.env)`
    #[arg(long, value_name = "TOOL|RULE")]
    pub deny: Vec<String>,
    /// MCP servers.
    #[command(flatten)]
    pub servers: ServerFlags,
    /// Leave tools of MCP servers out of the prompt until the model looks for them, for a new session (docs/tools.md);
    /// `auto` if nothing is set
    #[arg(long, value_enum, value_name = "WHEN")]
    pub defer_tools: Option<DeferTools>,
    /// Have this tool in the prompt from the first request on, whatever is deferred, for a new session; `mcp__SERVER`
    /// stands for all tools of that server; may be given more than once
    #[arg(long, value_name = "TOOL")]
    pub load_tool: Vec<String>,
    /// Let this folder outside the workspace be read as the workspace is; may be given more than once
    #[arg(long, value_name = "DIR")]
    pub add_dir: Vec<PathBuf>,
    /// What shell commands may change (docs/sandbox.md); `workspace` if nothing is set
    #[arg(long, value_enum, value_name = "BOUNDS")]
    pub sandbox: Option<SandboxArg>,
    /// Whether shell commands may use the network; `on` if nothing is set
    #[arg(long, value_enum)]
    pub network: Option<Switch>,
    /// While calls, or a question to you, take longer than the cache lives, keep it warm for up to this many minutes
    /// (30 if you name none) where that costs less than it saves (docs/keep-warm.md); 0 does not
    #[arg(long, value_name = "MINUTES", num_args = 0..=1, require_equals = true, default_missing_value = "30",
        value_parser = clap::value_parser!(u64).range(..=240))]
    pub keep_warm: Option<u64>,
    /// Keep the cache warm this many milliseconds after a request, and not shortly before it expires
    #[arg(long, value_name = "MS", hide = true)]
    pub keep_warm_after: Option<u64>,
    /// Leave commands running that were started in the background; they are ended with the turn otherwise
    #[arg(long)]
    pub keep_jobs: bool,
    /// Let this folder's own settings hold in full, for this run
    #[arg(long)]
    pub trust: bool,
    /// Tell the model nothing of this kind of thing around it (docs/context.md); may be given more than once
    #[arg(long, value_name = "KIND", value_parser = clap::builder::PossibleValuesParser::new(KINDS))]
    pub no_reminder: Vec<String>,
    /// Send a request even if it changes what was sent before
    #[arg(long)]
    pub allow_break: bool,
    /// Write each request body as sent, and what came of it, into this folder
    #[arg(long, value_name = "DIR")]
    pub capture: Option<PathBuf>,
    /// Put the steps recorded in this file in the place of what the model answers (docs/formats/replay.md)
    #[arg(long, value_name = "FILE")]
    pub replay: Option<PathBuf>,
    /// Wait at most this many milliseconds before a request is made again, whatever the server asks for
    #[arg(long, value_name = "MS", hide = true)]
    pub longest_retry_wait: Option<u64>,
    /// Take an answer that sends nothing for this many milliseconds for dead; pings count
    #[arg(long, value_name = "MS", hide = true)]
    pub longest_silence: Option<u64>,
    /// Put the list in this file in the place of the list of what is to be done, and tell the model; a file as
    /// `antefix sessions todo` prints it, with lines in any order, changed, left out or new
    #[arg(long, value_name = "FILE")]
    pub todo: Option<PathBuf>,
}

/// `antefix sessions`
#[derive(Debug, Args)]
pub struct SessionsArgs {
    #[command(subcommand)]
    /// What to do; lists the sessions if nothing is said.
    pub action: Option<SessionsAction>,
    /// List those of all folders
    #[arg(long)]
    pub all: bool,
    /// Print as JSON
    #[arg(long, global = true)]
    pub json: bool,
}

/// `antefix sessions …`
#[derive(Debug, Subcommand)]
pub enum SessionsAction {
    /// Show the conversation and the requests of a session
    Show {
        /// The session, or the first characters of its name; the last one of this folder if nothing is said
        id: Option<String>,
        /// Show what the model was told of its surroundings, and nothing else
        #[arg(long)]
        reminders: bool,
    },
    /// Print the list of what is to be done, as `antefix run --todo` takes it
    Todo {
        /// The session, or the first characters of its name; the last one of this folder if nothing is said
        id: Option<String>,
    },
}

/// `antefix verify`
#[derive(Debug, Args)]
pub struct VerifyArgs {
    /// The session, or the first characters of its name; the last one of this folder if nothing is said
    pub id: Option<String>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// `antefix diff`
#[derive(Debug, Args)]
pub struct DiffArgs {
    /// The earlier body
    pub earlier: PathBuf,
    /// The later body
    pub later: PathBuf,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// `antefix tools`
#[derive(Debug, Args)]
pub struct ToolsArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: ToolsAction,
}

/// `antefix tools …`
#[derive(Debug, Subcommand)]
pub enum ToolsAction {
    /// Show where the tools of a request are not those of the one before; exit 1 if that re-writes the prompt
    Diff {
        /// A session, two or more request bodies, or one folder of captures; the last session of this folder if
        /// nothing is said
        #[arg(value_name = "INPUT")]
        inputs: Vec<PathBuf>,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
}

/// `antefix explain`
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Two or more request bodies, or one folder of captures, case file, or session
    #[arg(required = true, value_name = "INPUT")]
    pub inputs: Vec<PathBuf>,
    /// Leave out what was said: places, kinds and numbers only
    #[arg(long)]
    pub redact: bool,
    /// Exit with 1 only if less than this share of the input was read from the cache, first requests, expiry and
    /// planned breaks aside
    #[arg(long, value_name = "SHARE", value_parser = money::parse_share)]
    pub fail_under: Option<Share>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// `antefix plan`
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// A request body
    pub body: PathBuf,
    /// Number of leading positions that an earlier request is known to have cached
    #[arg(long, value_name = "N")]
    pub confirmed: Option<usize>,
    /// Where the model runs
    #[arg(long, default_value = "anthropic")]
    pub platform: String,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// `antefix doctor`
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Print the settings that hold in this folder, each with where it comes from
    #[arg(long)]
    pub settings: bool,
    /// Look at this server of Chat Completions instead: its preset, its key's variable, its models, its context
    #[arg(long, value_name = "NAME", conflicts_with = "settings")]
    pub provider: Option<String>,
    /// The model whose template and context are meant; the only one of the server if nothing is said
    #[arg(long, value_name = "NAME", requires = "provider")]
    pub model: Option<String>,
    /// The server's address, in place of what the preset says
    #[arg(long, value_name = "URL", requires = "provider")]
    pub base_url: Option<String>,
    /// The environment variable that holds the server's key, in place of the preset's
    #[arg(long, value_name = "NAME", requires = "provider")]
    pub api_key_env: Option<String>,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// Who answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Provider {
    /// The Messages API, or a server that speaks it.
    #[default]
    Anthropic,
    /// A simulator in this process, which starts without any cache.
    Sim,
    /// A server of Chat Completions by the name of its preset, which settings may add to.
    Preset(String),
}

/// What `run` prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// The reply
    #[default]
    Text,
    /// One object at the end
    Json,
    /// One object a line as things happen
    StreamJson,
}

/// What happens to calls that no rule speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PermissionMode {
    /// What only looks at this folder runs, the rest is asked; where nobody can be asked, it is refused
    Ask,
    /// As `ask`, and files of this folder are edited without a question
    AcceptEdits,
    /// What only looks runs, the rest is refused
    ReadOnly,
    /// Everything runs that no rule denies
    Full,
}

impl From<PermissionMode> for Mode {
    fn from(mode: PermissionMode) -> Self {
        match mode {
            PermissionMode::Ask => Self::Ask,
            PermissionMode::AcceptEdits => Self::AcceptEdits,
            PermissionMode::ReadOnly => Self::ReadOnly,
            PermissionMode::Full => Self::Full,
        }
    }
}

/// Which tools are left out of the prompt until the model looks for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DeferTools {
    /// Those of MCP servers, where their definitions are long
    Auto,
    /// Those of MCP servers
    On,
    /// None
    Off,
    /// All but the two that find and call the others
    All,
}

impl From<DeferTools> for Deferral {
    fn from(arg: DeferTools) -> Self {
        match arg {
            DeferTools::Auto => Self::Auto,
            DeferTools::On => Self::On,
            DeferTools::Off => Self::Off,
            DeferTools::All => Self::All,
        }
    }
}

/// What shell commands may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SandboxArg {
    /// Files of this folder; what usually holds keys in the home folder cannot be read
    Workspace,
    /// No files but those of a temporary folder of their own
    ReadOnly,
    /// Whatever you may change
    Off,
}

impl From<SandboxArg> for Confinement {
    fn from(arg: SandboxArg) -> Self {
        match arg {
            SandboxArg::Workspace => Self::Workspace,
            SandboxArg::ReadOnly => Self::ReadOnly,
            SandboxArg::Off => Self::Off,
        }
    }
}

/// On or off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// Yes
    #[default]
    On,
    /// No
    Off,
}

/// How long cache entries live.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TtlArg {
    /// Five minutes
    #[default]
    #[value(name = "5m")]
    FiveMinutes,
    /// One hour
    #[value(name = "1h")]
    OneHour,
}

/// The model of a new session.
pub const DEFAULT_MODEL: &str = "claude-sonnet-5-5";

/// The share of the context window, in thousandths, at which a session goes on from a summary; `None`: at none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutoCompact(pub Option<u64>);

/// Reads `on`, `off` or a share.
pub fn parse_auto_compact(text: &str) -> Result<AutoCompact, String> {
    match text {
        "on" => Ok(AutoCompact(CompactionSettings::default().share)),
        "off" => Ok(AutoCompact(None)),
        share => match money::parse_share(share) {
            Ok(Share(share)) if share > 0 => Ok(AutoCompact(Some(share))),
            _ => Err("expected `on`, `off` or a share from 0 to 1, such as `0.6`".to_owned()),
        },
    }
}

fn parse_provider(name: &str) -> Result<Provider, String> {
    Ok(match name {
        "anthropic" => Provider::Anthropic,
        "sim" => Provider::Sim,
        "" => return Err("a name is missing".to_owned()),
        name => Provider::Preset(name.to_owned()),
    })
}

fn parse_thinking(text: &str) -> Result<antefix_runtime::head::Thinking, String> {
    use antefix_runtime::head::Thinking;
    match text {
        "default" => Ok(Thinking::Default),
        "off" => Ok(Thinking::Off),
        "adaptive" => Ok(Thinking::Adaptive),
        budget => budget
            .parse()
            .map(Thinking::Budget)
            .map_err(|_| "expected `default`, `off`, `adaptive` or a number of tokens".to_owned()),
    }
}
