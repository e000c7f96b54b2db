//! What the model is told of servers and their tools: what stands in no array when a session begins, and what comes,
//! goes and changes later.

use std::collections::BTreeMap;
use std::sync::Arc;

use antefix_tools::{Definition, Listing};
use antefix_wire::json::{Body, Node, write_string};
use bytes::Bytes;

use super::remote::schema_of;
use super::{Catalogue, Entry, ServerState};
use crate::context::{Moment, Sighting, Source, Surroundings, Unavailable};

/// The tools of the servers: one thing for each server that has any.
pub struct ToolSource {
    catalogue: Arc<Catalogue>,
    /// The definitions of the last look.
    seen: BTreeMap<String, Definition>,
    /// The next look is the one that the head is made of.
    is_first: bool,
}

/// What servers say of themselves.
pub struct InstructionSource {
    catalogue: Arc<Catalogue>,
}

impl ToolSource {
    /// Looks at the servers of a catalogue. In a new session the first look sees what stands in the list alone, so that
    /// the model is told of the rest with the first prompt, behind the head.
    pub fn new(catalogue: Arc<Catalogue>, is_new: bool) -> Self {
        Self { catalogue, seen: BTreeMap::new(), is_first: is_new }
    }

    /// The texts on what differs between two lists of one server's tools.
    fn changes(
        &self,
        server: &str,
        known: &BTreeMap<String, String>,
        now: &BTreeMap<String, String>,
    ) -> Vec<String> {
        let come: Vec<&String> = now.keys().filter(|name| !known.contains_key(*name)).collect();
        let gone: Vec<&String> = known.keys().filter(|name| !now.contains_key(*name)).collect();
        let other = |name: &&String| known.get(*name).is_some_and(|digest| now.get(*name) != Some(digest));
        let changed: Vec<&String> = now.keys().filter(other).collect();
        let mut texts = Vec::new();
        if !come.is_empty() {
            texts.push(self.come(server, &come, known.is_empty()));
        }
        if !gone.is_empty() {
            texts.push(format!(
                "These tools of the MCP server `{server}` are gone, and calls of them fail: {}.",
                list(&gone)
            ));
        }
        texts.extend(changed.into_iter().map(|name| self.changed(name)));
        texts
    }

    fn come(&self, server: &str, names: &[&String], is_new: bool) -> String {
        let of = if is_new { "has these tools" } else { "has these tools now as well" };
        let is_shown = |name: &&String| self.catalogue.listing(name) == Some(Listing::Open);
        if names.iter().all(is_shown) {
            // They were gone, and are in the model's list.
            return format!("The MCP server `{server}` {of}: {}.", list(names));
        }
        format!("The MCP server `{server}` {of}, which `tool_search` finds: {}.", list(names))
    }

    fn changed(&self, name: &str) -> String {
        let shown = self.catalogue.shown(name);
        let Some(now) = self.seen.get(name) else { return format!("The tool `{name}` has changed.") };
        if shown == Some(now) {
            return format!("The tool `{name}` is again as your list shows it.");
        }
        let mut text = format!("The tool `{name}` has changed.");
        let description = |definition: &Definition| {
            let body = Body::parse(definition.json()).ok()?;
            Some(body.root().get("description")?.str()?.into_owned())
        };
        let is_other =
            |part: fn(&Definition) -> Option<String>| shown.is_none_or(|shown| part(shown) != part(now));
        if is_other(|definition| Some(schema_of(definition))) {
            text.push_str(&format!(" Its input schema is now: {}", schema_of(now)));
        }
        if shown.is_none_or(|shown| description(shown) != description(now)) {
            text.push_str(&format!(" Its description is now: {}", description(now).unwrap_or_default()));
        }
        text
    }
}

impl Source for ToolSource {
    fn kind(&self) -> &'static str {
        "tools"
    }

    fn observe(&mut self, _: &Surroundings) -> Result<Vec<Sighting>, Unavailable> {
        // No prompt waits for a list: what has changed in it is told at the next look.
        self.catalogue.servers().refresh();
        let (mut entries, _) = self.catalogue.entries();
        if std::mem::take(&mut self.is_first) {
            entries.retain(|entry| self.catalogue.listing(entry.definition.name()) == Some(Listing::Open));
        }
        self.seen = entries
            .iter()
            .map(|entry| (entry.definition.name().to_owned(), entry.definition.clone()))
            .collect();
        let there = by_server(&entries).into_iter();
        let there = there.map(|(server, tools)| Sighting::new(server, write(&tools)));
        // Behind a summary nothing is known of them, and the list goes on showing their tools.
        let gone = self.catalogue.servers_gone().into_iter().map(|server| Sighting::new(server, GONE));
        Ok(there.chain(gone).collect())
    }

    /// What the list does not show as it is: nothing where it has just been made.
    fn baseline(&self, sighting: &Sighting) -> Option<String> {
        let listed: BTreeMap<String, String> = self.catalogue.listed_of(&sighting.key).map(named).collect();
        let listed = write(&listed);
        let text = (listed != sighting.state).then(|| self.drift(&listed, sighting))??;
        Some(format!("# Tools of the MCP server `{}`\n{text}", sighting.key))
    }

    fn drift(&self, known: &[u8], now: &Sighting) -> Option<String> {
        if now.state == GONE {
            return self.removed(&now.key, known);
        }
        Some(self.changes(&now.key, &read(known), &read(&now.state)).join("\n"))
    }

    fn removed(&self, key: &str, known: &[u8]) -> Option<String> {
        let known = read(known);
        let names: Vec<&String> = known.keys().collect();
        Some(format!("The MCP server `{key}` is gone, and calls of its tools fail: {}.", list(&names)))
    }

    /// A server that is still there, but does not answer, is not gone.
    fn speaks_for(&self, key: &str) -> bool {
        !key.is_empty() && is_certain(&self.catalogue, key)
    }

    fn moment(&self) -> Moment {
        Moment::Calls
    }

    fn is_instant(&self) -> bool {
        true
    }
}

impl InstructionSource {
    /// Looks at the servers of a catalogue.
    pub fn new(catalogue: Arc<Catalogue>) -> Self {
        Self { catalogue }
    }
}

impl Source for InstructionSource {
    fn kind(&self) -> &'static str {
        "mcp"
    }

    fn observe(&mut self, _: &Surroundings) -> Result<Vec<Sighting>, Unavailable> {
        let offers = self.catalogue.servers().offers();
        let ready = offers.into_iter().filter(|offer| offer.state == ServerState::Ready);
        let said = ready.filter_map(|offer| {
            let text = offer.instructions.filter(|text| !text.trim().is_empty())?;
            let mut state = Vec::new();
            write_string(&mut state, &blake3::hash(text.as_bytes()).to_hex());
            Some(Sighting::new(offer.server, state).with_detail(text))
        });
        Ok(said.collect())
    }

    fn baseline(&self, sighting: &Sighting) -> Option<String> {
        Some(format!(
            "# What the MCP server `{}` says of its tools\n{}",
            sighting.key,
            sighting.detail.trim()
        ))
    }

    fn drift(&self, known: &[u8], now: &Sighting) -> Option<String> {
        let instead = if known == GONE { "" } else { " now, in place of what it said" };
        Some(format!("The MCP server `{}` says of its tools{instead}:\n{}", now.key, now.detail.trim()))
    }

    fn removed(&self, key: &str, _: &[u8]) -> Option<String> {
        Some(format!("What the MCP server `{key}` said of its tools does not hold any more."))
    }

    fn speaks_for(&self, key: &str) -> bool {
        is_certain(&self.catalogue, key)
    }

    fn moment(&self) -> Moment {
        Moment::Calls
    }

    fn is_instant(&self) -> bool {
        true
    }
}

/// Whether what was not sighted of a server is not there: the server answers, or is configured no more.
fn is_certain(catalogue: &Catalogue, server: &str) -> bool {
    let offers = catalogue.servers().offers();
    let offer = offers.iter().find(|offer| offer.server == server);
    offer.is_none_or(|offer| offer.state == ServerState::Ready)
}

/// Name and digest of the definition of each tool, by server.
fn by_server(entries: &[Entry]) -> BTreeMap<&str, BTreeMap<String, String>> {
    let mut servers: BTreeMap<&str, BTreeMap<String, String>> = BTreeMap::new();
    for entry in entries {
        servers.entry(&entry.server).or_default().extend([named(&entry.definition)]);
    }
    servers
}

/// A tool's name and the digest of its definition.
fn named(definition: &Definition) -> (String, String) {
    let digest = blake3::hash(definition.json().as_bytes()).to_hex().chars().take(16).collect();
    (definition.name().to_owned(), digest)
}

fn write(tools: &BTreeMap<String, String>) -> Bytes {
    let mut out = vec![b'{'];
    for (index, (name, digest)) in tools.iter().enumerate() {
        out.extend_from_slice(if index > 0 { b"," } else { b"" });
        write_string(&mut out, name);
        out.push(b':');
        write_string(&mut out, digest);
    }
    out.push(b'}');
    out.into()
}

fn read(state: &[u8]) -> BTreeMap<String, String> {
    let Ok(body) = Body::parse(state.to_vec()) else { return BTreeMap::new() };
    let text = |node: Node<'_>| node.str().map(|text| text.into_owned());
    body.root().members().filter_map(|(name, digest)| Some((text(name)?, text(digest)?))).collect()
}

fn list(names: &[&String]) -> String {
    let shown: Vec<String> = names.iter().take(MOST_NAMES).map(|name| format!("`{name}`")).collect();
    let rest = names.len().saturating_sub(MOST_NAMES);
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    shown.join(", ") + &more
}

/// What is known of a server that is configured no more.
const GONE: Bytes = Bytes::from_static(b"null");

/// Names that are told of one server.
const MOST_NAMES: usize = 30;
