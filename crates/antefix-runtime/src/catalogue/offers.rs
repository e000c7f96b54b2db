//! Which tools of the lane's array the model should be offered, where that can be said in the midst of a conversation.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError};

use antefix_session::conversation::{OFFERS, Offers};
use antefix_tools::{Listing, is_selected};

use super::{Catalogue, Entry, ServerState, write_texts};
use crate::context::{Moment, Sighting, Source, Surroundings, Unavailable, object_of};

/// Looks at the tools of the array. It says nothing in words: what tells why is told by the sources that know it. In a
/// lane whose tools can be neither offered nor withdrawn it sees nothing.
///
/// | a tool of the array | is |
/// |---|---|
/// | the user's settings refuse it altogether | withdrawn (`denied`) |
/// | its server is configured no more, or has it no more | withdrawn (`gone`) |
/// | its server has another definition of it | withdrawn (`changed`): it is called through `tool_call` |
/// | its server does not answer | as it was |
/// | it is deferred, and the settings want it loaded | offered |
/// | none of these | offered, if it is not deferred or was found or offered before |
pub struct OfferSource {
    catalogue: Arc<Catalogue>,
}

impl OfferSource {
    /// Looks at a session's tools. To be asked behind the source that knows what is denied.
    pub fn new(catalogue: Arc<Catalogue>) -> Self {
        Self { catalogue }
    }
}

impl Source for OfferSource {
    fn kind(&self) -> &'static str {
        OFFERS
    }

    fn observe(&mut self, around: &Surroundings) -> Result<Vec<Sighting>, Unavailable> {
        let Some(offers) = &around.offers else { return Ok(Vec::new()) };
        let withdrawn = self.catalogue.withdrawn_of(offers);
        let is_asked_for = |name: &&String| {
            self.catalogue.listing(name) == Some(Listing::Deferred) && self.catalogue.is_loaded(name)
        };
        let added: Vec<String> = offers.tools.keys().filter(is_asked_for).cloned().collect();
        let state = state(&withdrawn, &added);
        *self.catalogue.withdrawn.lock().unwrap_or_else(PoisonError::into_inner) = withdrawn;
        Ok(vec![Sighting::new("", state)])
    }

    fn drift(&self, _: &[u8], _: &Sighting) -> Option<String> {
        Some(String::new())
    }

    fn speaks_for(&self, _: &str) -> bool {
        false
    }

    fn moment(&self) -> Moment {
        Moment::Calls
    }

    fn is_instant(&self) -> bool {
        true
    }
}

impl Catalogue {
    /// The tools of the array that should not be offered, each with why.
    fn withdrawn_of(&self, offers: &Offers) -> BTreeMap<String, String> {
        let denied = self.denied.lock().unwrap_or_else(PoisonError::into_inner);
        let servers = self.servers.offers();
        let silent: BTreeSet<&str> = servers
            .iter()
            .filter(|offer| offer.state != ServerState::Ready)
            .map(|offer| offer.server.as_str())
            .collect();
        let (entries, _) = self.entries();
        let frozen = self.session.get().map(|session| &session.frozen);
        let why = |name: &String| -> Option<String> {
            if denied.contains(name) {
                return Some(DENIED.to_owned());
            }
            let frozen = frozen?.get(name)?;
            let (server, _) = frozen.from.as_ref()?;
            if silent.contains(server.as_str()) {
                // A server that does not answer is not gone.
                return offers.withdrawn.get(name).cloned();
            }
            let is_this = |entry: &&Entry| entry.definition.name() == name;
            match entries.iter().find(is_this) {
                None => Some(GONE.to_owned()),
                Some(entry) if entry.definition != frozen.definition => Some(CHANGED.to_owned()),
                Some(_) => None,
            }
        };
        offers.tools.keys().filter_map(|name| Some((name.clone(), why(name)?))).collect()
    }

    /// Whether the user's settings refuse a tool altogether, as of the last look.
    pub(super) fn is_denied(&self, name: &str) -> bool {
        self.denied.lock().unwrap_or_else(PoisonError::into_inner).contains(name)
    }

    fn is_loaded(&self, name: &str) -> bool {
        let loaded = self.loaded.get().filter(|loaded| !loaded.is_empty());
        loaded.is_some_and(|loaded| is_selected(name, Some(loaded), &[]))
    }
}

/// As the session reads it, see [`OFFERS`].
fn state(withdrawn: &BTreeMap<String, String>, added: &[String]) -> Vec<u8> {
    let mut parts = Vec::new();
    if !withdrawn.is_empty() {
        let mut part = b"\"withdrawn\":".to_vec();
        part.extend_from_slice(&object_of(withdrawn));
        parts.push(part);
    }
    if !added.is_empty() {
        let mut part = b"\"added\":".to_vec();
        write_texts(&mut part, added);
        parts.push(part);
    }
    if parts.is_empty() {
        return b"null".to_vec();
    }
    [b"{".as_slice(), &parts.join(&b','), b"}"].concat()
}

/// The user's settings refuse it.
const DENIED: &str = "denied";

/// Its server has it no more.
const GONE: &str = "gone";

/// It is not any more what the array shows.
pub(super) const CHANGED: &str = "changed";
