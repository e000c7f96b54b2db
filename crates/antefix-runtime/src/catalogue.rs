//! The tools of a session that come from servers: what was frozen with its head, and what has come and gone since.
//!
//! The request's tools array never changes while a lane lives. A tool in it goes on meaning the same tool of the same
//! server in every later process ([`Catalogue::record`]), whether that server is there or not; one that has come since
//! is found by `tool_search` and called through `tool_call`.

mod deferral;
mod denied;
mod entry;
mod hub;
mod offer;
mod offers;
mod remote;
mod search;
mod shown;
mod source;
mod tools;

pub use deferral::{DEFER_FROM, Deferral};
pub use denied::DeniedSource;
pub(crate) use denied::TOOLS;
pub use entry::Entry;
pub use hub::{GRACE, McpServers};
pub use offer::{NoServers, Offer, OfferedTool, RemoteCall, RemoteFailure, ServerState, Servers};
pub use offers::OfferSource;
pub use source::{InstructionSource, ToolSource};
pub use tools::{ToolCall, ToolSearch};

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use antefix_mcp::server_part;
use antefix_models::Tokens;
use antefix_session::record::{ContextRecord, LaneRecord};
use antefix_tools::{Arrivals, Definition, Listing, Registry, Tool, is_selected};
use antefix_wire::json::{Body, Node, write_string};
use bytes::Bytes;

use remote::RemoteTool;

/// The tools of servers in one session.
pub struct Catalogue {
    servers: Arc<dyn Servers>,
    session: OnceLock<Session>,
    /// Tools that the session's settings ask for in the midst of it.
    loaded: OnceLock<Vec<String>>,
    /// Tools that the user's settings refuse altogether, as of the last look.
    denied: Mutex<BTreeSet<String>>,
    /// Tools of the array that the model is not offered, each with why, as of the last look.
    withdrawn: Mutex<BTreeMap<String, String>>,
}

/// Which tools a session has at all, decided when it begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Only these; `None` is all.
    pub allow: Option<Vec<String>>,
    /// Not these.
    pub deny: Vec<String>,
}

/// How a new head lists the tools of servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListingSpec {
    /// What was asked for.
    pub deferral: Deferral,
    /// The request takes `defer_loading`.
    pub is_native: bool,
    /// The model's window.
    pub window: Tokens,
    /// Tools that are in the prompt from the first request on, whatever is deferred; `mcp__server` stands for all tools
    /// of that server.
    pub loaded: Vec<String>,
}

impl Catalogue {
    /// A catalogue of no session yet.
    pub fn new(servers: Arc<dyn Servers>) -> Self {
        Self {
            servers,
            session: OnceLock::new(),
            loaded: OnceLock::new(),
            denied: Mutex::default(),
            withdrawn: Mutex::default(),
        }
    }

    /// The servers.
    pub fn servers(&self) -> &Arc<dyn Servers> {
        &self.servers
    }

    /// Makes the tools of a new head of those in the registry, our own, and of those of the servers that are ready: by
    /// server and name, behind the others, the first of a name wins. Gives what the user should be told.
    pub fn freeze(&self, registry: &mut Registry, selection: Selection, spec: &ListingSpec) -> Vec<String> {
        registry.select(selection.allow.as_deref(), &selection.deny);
        let (mut entries, mut notices) = entry::entries(&self.servers.offers());
        entries.retain(|entry| selection.has(entry.definition.name()));
        let known = entries.iter().map(|entry| entry.definition.name()).chain(registry.names());
        notices.extend(spec.not_there(&known.collect::<Vec<_>>()));
        if spec.deferral == Deferral::All {
            let deferred = if spec.is_native { Listing::Deferred } else { Listing::Hidden };
            registry.list(deferred, |name| !tools::ALWAYS.contains(&name) && !spec.is_loaded(name));
        }
        let own = registry.listed().filter(|(_, listing)| *listing != Listing::Open);
        let mut frozen: BTreeMap<String, Frozen> =
            own.map(|(definition, listing)| Frozen::named(definition.clone(), listing, None)).collect();
        let bytes = entries.iter().map(|entry| entry.definition.json().len() as u64).sum();
        let listing = spec.deferral.listing(spec.is_native, bytes, spec.window);
        for entry in entries {
            let is_loaded = spec.is_loaded(entry.definition.name());
            let listing = if is_loaded { Listing::Open } else { listing };
            // What stands in no array is not frozen: it is as its server has it.
            if listing != Listing::Hidden {
                registry.register_as(Arc::new(RemoteTool::shown(&self.servers, entry.clone())), listing);
                let from = Some((entry.server, entry.tool));
                frozen.extend([Frozen::named(entry.definition, listing, from)]);
            }
        }
        // A catalogue is of one session.
        drop(self.session.set(Session { selection, frozen }));
        notices
    }

    /// Makes the tools of a session that goes on of those in the registry, our own, which stand as they were shown, and of
    /// what was frozen with its lane and [put on record](Self::record) then.
    pub fn take_up(&self, registry: &mut Registry, lane: &LaneRecord) {
        let record = lane.baseline.iter().find(|record| record.kind == DISPATCH).map(|record| &record.state);
        let mut session = record.and_then(|record| Session::read(record, registry)).unwrap_or_default();
        for shown::Shown { definition, listing } in shown::tools_of(lane) {
            let from = session.frozen.get(definition.name()).and_then(|frozen| frozen.from.clone());
            session.frozen.extend([Frozen::named(definition, listing, from)]);
        }
        let names: Vec<String> = session.frozen.keys().cloned().collect();
        registry.select(Some(&names), &[]);
        for Frozen { definition, listing, from } in session.frozen.values() {
            match from.clone() {
                Some((server, tool)) => {
                    let entry = Entry { definition: definition.clone(), server, tool };
                    registry.register_as(Arc::new(RemoteTool::shown(&self.servers, entry)), *listing);
                }
                None => registry.show_as(definition),
            }
        }
        drop(self.session.set(session));
    }

    /// What a later process must know of the session's tools, to go on record with the lane: which of them the session
    /// has, and where those come from that are not our own, `"NAME":["SERVER","TOOL"]`.
    pub fn record(&self) -> ContextRecord {
        let state = self.session.get().map_or(Bytes::from_static(b"null"), Session::write);
        ContextRecord { kind: DISPATCH.to_owned(), key: String::new(), state, text: None }
    }

    /// The tools that can be called now, by server and name, and what the user should be told of others.
    pub fn entries(&self) -> (Vec<Entry>, Vec<String>) {
        let (mut entries, notices) = entry::entries(&self.servers.offers());
        entries.retain(|entry| self.has(entry.definition.name()));
        (entries, notices)
    }

    /// How a tool stands in the lane's array; `None` if it is not in it.
    pub fn listing(&self, name: &str) -> Option<Listing> {
        self.session.get()?.frozen.get(name).map(|frozen| frozen.listing)
    }

    /// The definition that the lane's array shows of a tool.
    pub fn shown(&self, name: &str) -> Option<&Definition> {
        self.session.get()?.frozen.get(name).map(|frozen| &frozen.definition)
    }

    /// The names of the tools in the lane's array.
    pub(crate) fn in_array(&self) -> impl Iterator<Item = &str> {
        self.session.get().into_iter().flat_map(|session| session.frozen.keys()).map(String::as_str)
    }

    /// The tools of a server that the lane's array shows.
    pub(crate) fn listed_of(&self, server: &str) -> impl Iterator<Item = &Definition> {
        let frozen = self.session.get().into_iter().flat_map(|session| session.frozen.values());
        let is_its = move |frozen: &&Frozen| {
            frozen.listing == Listing::Open && frozen.from.as_ref().is_some_and(|(from, _)| from == server)
        };
        frozen.filter(is_its).map(|frozen| &frozen.definition)
    }

    /// The servers whose tools stand in the lane's array, and that are configured no more.
    pub(crate) fn servers_gone(&self) -> BTreeSet<String> {
        let frozen = self.session.get().into_iter().flat_map(|session| session.frozen.values());
        let mut servers: BTreeSet<String> =
            frozen.filter_map(|frozen| Some(frozen.from.as_ref()?.0.clone())).collect();
        for offer in self.servers.offers() {
            servers.remove(&offer.server);
        }
        servers
    }

    /// Whether the lane's array holds a tool of that name, or one of that server.
    pub fn lists(&self, name: &str) -> bool {
        let names = self.session.get().into_iter().flat_map(|session| &session.frozen);
        let mut listed = names.filter(|(_, frozen)| frozen.listing != Listing::Hidden);
        listed.any(|(listed, _)| is_selected(listed, Some(&[name.to_owned()]), &[]))
    }

    /// Has tools of the session's array offered that are deferred in it.
    pub fn load(&self, names: Vec<String>) {
        drop(self.loaded.set(names));
    }

    /// The tools that a search may find: those the model has not been shown with the array, and those that are not any
    /// more what it shows; of what was withdrawn for another reason, none.
    pub(crate) fn findable(&self) -> Vec<(Definition, Listing)> {
        let frozen = self.session.get().into_iter().flat_map(|session| &session.frozen);
        let withdrawn = self.withdrawn.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let deferred = frozen.filter(|(_, frozen)| frozen.listing != Listing::Open);
        let mut found: BTreeMap<String, (Definition, Listing)> = deferred
            .filter(|(name, _)| !withdrawn.contains_key(*name))
            .map(|(name, frozen)| (name.clone(), (frozen.definition.clone(), frozen.listing)))
            .collect();
        for entry in self.entries().0 {
            let name = entry.definition.name();
            // What the array shows of a tool that has changed does not hold: it is shown as it is.
            let has_changed = withdrawn.get(name).is_some_and(|why| why == offers::CHANGED);
            if self.listing(name).is_none() || has_changed {
                found.entry(name.to_owned()).or_insert((entry.definition, Listing::Hidden));
            }
        }
        found.into_values().collect()
    }

    /// Whether the session has a tool at all.
    fn has(&self, name: &str) -> bool {
        self.session.get().is_none_or(|session| session.selection.has(name))
    }
}

impl Arrivals for Catalogue {
    fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        if !self.has(name) {
            return None;
        }
        let (entries, _) = self.entries();
        if let Some(entry) = entries.into_iter().find(|entry| entry.definition.name() == name) {
            return Some(Arc::new(RemoteTool::shown(&self.servers, entry)));
        }
        // A server that is not ready may have it.
        let offers = self.servers.offers();
        let is_its = |offer: &&Offer| {
            let rest =
                name.strip_prefix("mcp__").and_then(|rest| rest.strip_prefix(&server_part(&offer.server)));
            rest.is_some_and(|rest| rest.starts_with("__")) && offer.state != ServerState::Ready
        };
        let server = offers.iter().find(is_its)?.server.clone();
        Some(Arc::new(RemoteTool::awaited(&self.servers, name, server)?))
    }
}

impl Selection {
    fn has(&self, name: &str) -> bool {
        is_selected(name, self.allow.as_deref(), &self.deny)
    }
}

impl ListingSpec {
    fn is_loaded(&self, name: &str) -> bool {
        !self.loaded.is_empty() && is_selected(name, Some(&self.loaded), &[])
    }

    /// What is to be loaded and is not there.
    fn not_there(&self, names: &[&str]) -> Vec<String> {
        let is_there = |loaded: &String| {
            let loaded = std::slice::from_ref(loaded);
            names.iter().any(|name| is_selected(name, Some(loaded), &[]))
        };
        let missing = self.loaded.iter().filter(|loaded| !is_there(loaded));
        missing
            .map(|name| format!("`{name}` is to be in the prompt from the start, and there is no such tool"))
            .collect()
    }
}

/// What is frozen of a session.
#[derive(Default)]
struct Session {
    selection: Selection,
    /// The tools of its lane's array, and our own that stand in none, by name.
    frozen: BTreeMap<String, Frozen>,
}

/// A tool that was frozen with the lane.
struct Frozen {
    definition: Definition,
    listing: Listing,
    /// Server, and its name there; `None` for a tool of our own.
    from: Option<(String, String)>,
}

impl Frozen {
    fn named(definition: Definition, listing: Listing, from: Option<(String, String)>) -> (String, Self) {
        (definition.name().to_owned(), Self { definition, listing, from })
    }

    /// Whether the array alone does not say all of it.
    fn is_on_record(&self) -> bool {
        self.from.is_some() || self.listing == Listing::Hidden
    }
}

impl Session {
    fn write(&self) -> Bytes {
        let mut out = b"{".to_vec();
        if let Some(allow) = &self.selection.allow {
            out.extend_from_slice(b"\"allow\":");
            write_texts(&mut out, allow);
            out.push(b',');
        }
        out.extend_from_slice(b"\"deny\":");
        write_texts(&mut out, &self.selection.deny);
        out.extend_from_slice(b",\"tools\":{");
        for (index, (name, frozen)) in
            self.frozen.iter().filter(|(_, frozen)| frozen.is_on_record()).enumerate()
        {
            out.extend_from_slice(if index > 0 { b"," } else { b"" });
            write_string(&mut out, name);
            out.push(b':');
            let from = frozen.from.iter().flat_map(|(server, tool)| [server, tool]);
            write_texts(&mut out, from);
        }
        out.extend_from_slice(b"}}");
        out.into()
    }

    /// `None` if it is no such record.
    fn read(record: &[u8], registry: &Registry) -> Option<Self> {
        let body = Body::parse(record.to_vec()).ok()?;
        let texts =
            |node: Node<'_>| node.items().filter_map(Node::str).map(|text| text.into_owned()).collect();
        let selection = Selection {
            allow: body.root().get("allow").map(texts),
            deny: body.root().get("deny").map(texts).unwrap_or_default(),
        };
        let mut frozen = BTreeMap::new();
        for (name, from) in body.root().get("tools")?.members() {
            let name = name.str()?;
            let from: Vec<String> = texts(from);
            let from = from.first().cloned().zip(from.get(1).cloned());
            // Of one that stands in the array, the definition is the array's.
            let own = registry.definitions().find(|definition| definition.name() == name);
            let definition = own.cloned().or_else(|| Definition::new(&name, "", "{}").ok())?;
            frozen.extend([Frozen::named(definition, Listing::Hidden, from)]);
        }
        Some(Self { selection, frozen })
    }
}

fn write_texts<'a>(out: &mut Vec<u8>, texts: impl IntoIterator<Item = &'a String>) {
    out.push(b'[');
    for (index, text) in texts.into_iter().enumerate() {
        out.extend_from_slice(if index > 0 { b"," } else { b"" });
        write_string(out, text);
    }
    out.push(b']');
}

/// The kind of [`Catalogue::record`].
const DISPATCH: &str = "dispatch";

#[cfg(test)]
mod tests;
