//! What the model is told where the user's settings refuse a tool altogether, or no longer do.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

use antefix_wire::json::{Body, Node};

use super::{Catalogue, write_texts};
use crate::context::{Moment, Sighting, Source, Surroundings, Unavailable};
use crate::driver::Policies;

/// The tools that are refused whatever they are called with. The head does not name them: it would change with the
/// settings, and a call that may not run is told why.
pub struct DeniedSource {
    policies: Box<dyn Policies>,
    own: Vec<String>,
    catalogue: Arc<Catalogue>,
}

impl DeniedSource {
    /// Looks at a session's own tools and at those of its servers.
    pub fn new(policies: impl Policies, own: Vec<String>, catalogue: Arc<Catalogue>) -> Self {
        Self { policies: Box::new(policies), own, catalogue }
    }
}

impl Source for DeniedSource {
    fn kind(&self) -> &'static str {
        TOOLS
    }

    fn observe(&mut self, around: &Surroundings) -> Result<Vec<Sighting>, Unavailable> {
        // What is otherwise about the policy is told where calls are decided upon.
        let (policy, _) = self.policies.current();
        let (entries, _) = self.catalogue.entries();
        let of_servers = entries.iter().map(|entry| entry.definition.name().to_owned());
        let mut all: BTreeSet<String> = self.own.iter().cloned().chain(of_servers).collect();
        // Rules hold for the tools of a server that does not answer, too.
        all.extend(self.catalogue.in_array().map(str::to_owned));
        all.extend(around.refused.iter().flat_map(|known| read(known)));
        let denied: Vec<String> =
            all.into_iter().filter(|name| policy.denies_all_of(name).is_some()).collect();
        let mut state = Vec::new();
        write_texts(&mut state, &denied);
        *self.catalogue.denied.lock().unwrap_or_else(PoisonError::into_inner) = denied.into_iter().collect();
        Ok(vec![Sighting::new("", state)])
    }

    fn drift(&self, known: &[u8], now: &Sighting) -> Option<String> {
        let (known, now) = (read(known), read(&now.state));
        let list = |names: Vec<&String>| -> String {
            let quoted: Vec<String> = names.into_iter().map(|name| format!("`{name}`")).collect();
            quoted.join(", ")
        };
        let (denied, free) = (list(now.difference(&known).collect()), list(known.difference(&now).collect()));
        let mut texts = Vec::new();
        if !denied.is_empty() {
            texts.push(format!(
                "The user does not allow calls of these tools any more; each will be refused: {denied}."
            ));
        }
        if !free.is_empty() {
            texts.push(format!("These tools are not refused any more: {free}."));
        }
        Some(texts.join(" "))
    }

    fn speaks_for(&self, key: &str) -> bool {
        key.is_empty()
    }

    fn moment(&self) -> Moment {
        Moment::Calls
    }

    fn is_instant(&self) -> bool {
        true
    }
}

fn read(state: &[u8]) -> BTreeSet<String> {
    let body = Body::parse(state.to_vec()).ok();
    let texts = body.iter().flat_map(|body| body.root().items()).filter_map(Node::str);
    texts.map(|text| text.into_owned()).collect()
}

/// The kind of what is told of tools. Its key is a server's, and empty for what is refused.
pub(crate) const TOOLS: &str = "tools";
