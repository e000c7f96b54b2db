//! What the model is told of servers and their tools: what stands in no array when a session begins, and what comes,
//! goes and changes later.

use std::collections::BTreeMap;
use std::sync::Arc;

use antefix_session::conversation::{Offers, Standing};
use antefix_tools::{Definition, Listing};
use antefix_wire::json::{Body, Node, write_string};
use bytes::Bytes;

use super::remote::schema_of;
use super::{Catalogue, Entry, ServerState};
use crate::context::{Moment, Sighting, Source, Surroundings, Unavailable, object_of};

/// The tools of the servers: one thing for each server that has any.
pub struct ToolSource {
    catalogue: Arc<Catalogue>,
    /// The definitions of the last look.
    seen: BTreeMap<String, Definition>,
    /// How the tools of the array stood then, where they can be offered and withdrawn.
    offers: Option<Arc<Offers>>,
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
        Self { catalogue, seen: BTreeMap::new(), offers: None, is_first: is_new }
    }

    /// The texts on what differs between two lists of one server's tools. What becomes of a tool of the array is not
    /// named where a change of `offers` says it.
    fn changes(
        &self,
        server: &str,
        known: &BTreeMap<String, String>,
        now: &BTreeMap<String, String>,
        offers: Option<&Offers>,
    ) -> Vec<String> {
        let come: Vec<&String> = now.keys().filter(|name| !known.contains_key(*name)).collect();
        let gone: Vec<&String> = known.keys().filter(|name| !now.contains_key(*name)).collect();
        let other = |name: &&String| known.get(*name).is_some_and(|digest| now.get(*name) != Some(digest));
        let changed: Vec<&String> = now.keys().filter(other).collect();
        let mut texts = Vec::new();
        if !come.is_empty() {
            texts.extend(self.come(server, come, known.is_empty(), offers));
        }
        let (taken, gone): (Vec<&String>, Vec<&String>) =
            gone.into_iter().partition(|name| standing(offers, name).is_some_and(|tool| tool.is_offered));
        if !taken.is_empty() {
            texts.push(format!("Tools of the MCP server `{server}` are gone, and are withdrawn."));
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

    fn come(
        &self,
        server: &str,
        mut names: Vec<&String>,
        is_new: bool,
        offers: Option<&Offers>,
    ) -> Vec<String> {
        let mut texts = Vec::new();
        if offers.is_some() {
            // Of these the user's own rules tell.
            names.retain(|name| !self.catalogue.is_denied(name));
        }
        let is_back =
            |name: &&String| standing(offers, name).is_some_and(|tool| tool.was_offered && !tool.is_offered);
        let (back, names): (Vec<&String>, Vec<&String>) = names.into_iter().partition(is_back);
        // What is back in another form is not offered.
        let (back, others): (Vec<&String>, Vec<&String>) =
            back.into_iter().partition(|name| self.catalogue.shown(name) == self.seen.get(*name));
        texts.extend(others.into_iter().map(|name| self.changed(name)));
        if !back.is_empty() {
            let offered = "has these tools again, and they are offered once more";
            texts.push(format!("The MCP server `{server}` {offered}."));
        }
        let of = if is_new { "has these tools" } else { "has these tools now as well" };
        let is_shown = |name: &&String| self.catalogue.listing(name) == Some(Listing::Open);
        match names.as_slice() {
            [] => {}
            // They were gone, and are in the model's list.
            names if names.iter().all(is_shown) => {
                texts.push(format!("The MCP server `{server}` {of}: {}.", list(names)));
            }
            names => texts
                .push(format!("The MCP server `{server}` {of}, which `tool_search` finds: {}.", list(names))),
        }
        texts
    }

    fn changed(&self, name: &str) -> String {
        let shown = self.catalogue.shown(name);
        let Some(now) = self.seen.get(name) else { return format!("The tool `{name}` has changed.") };
        if shown == Some(now) {
            return format!("The tool `{name}` is again as your list shows it.");
        }
        let mut text = format!("The tool `{name}` has changed.");
        if self.offers.is_some() && shown.is_some() {
            text.push_str(" It is called through `tool_call` now.");
        }
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

    fn observe(&mut self, around: &Surroundings) -> Result<Vec<Sighting>, Unavailable> {
        self.offers.clone_from(&around.offers);
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
        if listed == sighting.state {
            return None;
        }
        let text = if sighting.state == GONE {
            gone(&sighting.key, &read(&listed))
        } else {
            // What the model was offered behind the old head is not before it any more.
            self.changes(&sighting.key, &read(&listed), &read(&sighting.state), None).join("\n")
        };
        Some(format!("# Tools of the MCP server `{}`\n{text}", sighting.key))
    }

    fn drift(&self, known: &[u8], now: &Sighting) -> Option<String> {
        if now.state == GONE {
            return self.removed(&now.key, known);
        }
        Some(self.changes(&now.key, &read(known), &read(&now.state), self.offers.as_deref()).join("\n"))
    }

    fn removed(&self, key: &str, known: &[u8]) -> Option<String> {
        let known = read(known);
        let is_offered =
            |name: &String| standing(self.offers.as_deref(), name).is_some_and(|tool| tool.is_offered);
        if known.keys().any(is_offered) {
            return Some(format!("The MCP server `{key}` is gone, and its tools with it."));
        }
        Some(gone(key, &known))
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

/// How a tool of the array stands, where it can be offered and withdrawn.
fn standing(offers: Option<&Offers>, name: &str) -> Option<Standing> {
    offers?.tools.get(name).copied()
}

/// What is told of a server that is configured no more.
fn gone(server: &str, tools: &BTreeMap<String, String>) -> String {
    let names: Vec<&String> = tools.keys().collect();
    format!("The MCP server `{server}` is gone, and calls of its tools fail: {}.", list(&names))
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
    object_of(tools)
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
