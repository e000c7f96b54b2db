//! The tools of a session: our own of its contract, and those of servers.

use std::sync::Arc;

use antefix_models::Tokens;
use antefix_runtime::catalogue::{
    Catalogue, Deferral, DeniedSource, InstructionSource, ListingSpec, Offer, OfferSource, Selection,
    ServerState, Servers, ToolCall, ToolSearch, ToolSource,
};
use antefix_runtime::context::Watcher;
use antefix_runtime::driver::Policies;
use antefix_runtime::web::web_fetch;
use antefix_session::record::LaneRecord;
use antefix_tools::{Arrivals, CONTRACT, Registry, Tool};

use crate::cli::AgentArgs;
use crate::failure::Failure;
use crate::settings::{SERVERS_TOOL, tools};

/// The tools, and where those of servers come from.
pub struct Offered {
    /// All that can be called.
    pub registry: Registry,
    /// Those of servers.
    pub catalogue: Arc<Catalogue>,
    /// What the user should be told.
    pub notices: Vec<String>,
}

/// What decides how a new session's tools are listed.
pub struct Terms {
    /// Whether the server takes tools.
    pub takes_tools: bool,
    /// Whether requests take `defer_loading`.
    pub defers: bool,
    /// The model's window.
    pub window: Tokens,
    /// Which tools are deferred.
    pub deferral: Deferral,
    /// Tools that are in the prompt whatever is deferred.
    pub loaded: Vec<String>,
    /// Hosts that may be fetched from although they are private.
    pub private_hosts: Vec<String>,
    /// The tools that give skills and hand work to subagents, in this order.
    pub delegates: [Arc<dyn Tool>; 2],
}

impl Offered {
    /// The tools that the session was begun with, or for a new one the newest.
    ///
    /// # Errors
    /// If the session's contract is not known, or a tool is named that there is none of.
    pub fn find(
        args: &AgentArgs,
        lane: Option<&LaneRecord>,
        terms: Terms,
        servers: Arc<dyn Servers>,
    ) -> Result<Self, Failure> {
        let contract = lane.map_or(CONTRACT, |lane| lane.contract);
        let not_there = not_there(servers.as_ref());
        let catalogue = Arc::new(Catalogue::new(servers));
        let mut registry = own(contract, terms.private_hosts, &terms.delegates, &catalogue)?;
        // Tools of servers alone are rules, and take nothing away.
        let names_own = |tools: &Vec<String>| tools.iter().any(|tool| !tool.starts_with(SERVERS_TOOL));
        let allow = args.allow.as_deref().map(tools).filter(names_own);
        let deny = tools(&args.deny);
        let all = own(CONTRACT, Vec::new(), &terms.delegates, &catalogue)?;
        are_known(allow.iter().flatten().chain(&deny), &all)?;
        let mut notices = match lane {
            Some(lane) => {
                catalogue.take_up(&mut registry, lane);
                let notices = not_to_be_loaded(args, lane, &catalogue);
                catalogue.load(terms.loaded);
                notices
            }
            None => {
                let allow = if terms.takes_tools { allow } else { Some(Vec::new()) };
                let spec = ListingSpec {
                    deferral: terms.deferral,
                    is_native: terms.defers,
                    window: terms.window,
                    loaded: terms.loaded,
                };
                catalogue.freeze(&mut registry, Selection { allow, deny }, &spec)
            }
        };
        let arrivals: Arc<dyn Arrivals> = Arc::<Catalogue>::clone(&catalogue);
        if contract >= ARRIVES {
            registry = registry.with_arrivals(arrivals);
        }
        notices.extend(not_there);
        Ok(Self { registry, catalogue, notices })
    }

    /// Adds what the model is told of tools that come, go, change and are denied.
    pub fn watch(&self, watcher: &mut Watcher, policies: impl Policies, is_new: bool) {
        // Without the tools that find and call others, a session has none of servers.
        if self.registry.contract() >= ARRIVES {
            watcher.add(InstructionSource::new(Arc::clone(&self.catalogue)));
            watcher.add(ToolSource::new(Arc::clone(&self.catalogue), is_new));
        }
        let own = self.registry.names().filter(|name| !name.starts_with(SERVERS_TOOL)).map(str::to_owned);
        watcher.add(DeniedSource::new(policies, own.collect(), Arc::clone(&self.catalogue)));
        if watcher.tells("tools") {
            watcher.add(OfferSource::new(Arc::clone(&self.catalogue)));
        }
    }
}

/// The tools that are to be loaded in the midst of a session and cannot be: its array does not hold them.
fn not_to_be_loaded(args: &AgentArgs, lane: &LaneRecord, catalogue: &Catalogue) -> Vec<String> {
    if !lane.takes_tool_changes() {
        return Vec::new();
    }
    let missing = args.load_tool.iter().filter(|loaded| !catalogue.lists(loaded));
    missing
        .map(|name| {
            format!("`{name}` is not in the list that this session began with: the model finds it with `tool_search`")
        })
        .collect()
}

/// The servers that have not come up as the run begins, for the user.
fn not_there(servers: &dyn Servers) -> Vec<String> {
    let told = servers.offers().into_iter().map(|Offer { server, state, .. }| match state {
        ServerState::Ready => None,
        ServerState::Starting => Some(format!(
            "the MCP server `{server}` is not ready yet; its tools are offered as soon as it is"
        )),
        ServerState::Failed(why) => Some(format!("the MCP server `{server}` is not there: {why}")),
    });
    told.flatten().collect()
}

/// Our own tools of a contract, in its order.
fn own(
    contract: u64,
    private_hosts: Vec<String>,
    delegates: &[Arc<dyn Tool>; 2],
    catalogue: &Arc<Catalogue>,
) -> Result<Registry, Failure> {
    let mut registry = Registry::of_contract(contract).ok_or_else(|| {
        Failure::usage(format!(
            "this session's tools are of contract {contract}, and this antefix knows 1 to {CONTRACT}"
        ))
        .hint("a newer antefix began it: use that one")
    })?;
    if contract >= FETCHES {
        registry.register(Arc::new(web_fetch(private_hosts)));
    }
    if contract >= DELEGATES {
        for tool in delegates {
            registry.register(Arc::clone(tool));
        }
    }
    if contract >= ARRIVES {
        registry.register(Arc::new(ToolSearch::new(Arc::clone(catalogue))));
        registry.register(Arc::new(ToolCall::new()));
    }
    Ok(registry)
}

/// A misspelt tool would be offered, or not refused, without a word. Servers may still be starting, so their tools are
/// not looked at.
fn are_known<'a>(mut names: impl Iterator<Item = &'a String>, registry: &Registry) -> Result<(), Failure> {
    let known: Vec<&str> = registry.names().collect();
    match names.find(|name| !known.contains(&name.as_str()) && !name.starts_with(SERVERS_TOOL)) {
        Some(name) => Err(Failure::usage(format!("there is no tool `{name}`"))
            .hint(format!("the tools are {}, and `mcp__SERVER__TOOL`", known.join(", ")))),
        None => Ok(()),
    }
}

/// The first contract with `web_fetch` in it.
const FETCHES: u64 = 2;

/// The first contract with skills and subagents.
pub const DELEGATES: u64 = 3;

/// The first contract whose tools may come while a session runs, and are found and called through others.
pub const ARRIVES: u64 = 3;
