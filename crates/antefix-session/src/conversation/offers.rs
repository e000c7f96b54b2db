//! Which tools of the lane's array the model is offered, where it can be said in the midst of the conversation.
//!
//! What it is offered follows from the array and from what was said behind it, so that a rewind, a copy, a crash and a new
//! epoch need no rule of their own. What it should be offered is an observation on record ([`OFFERS`]). A message of the
//! user's side says the difference, whatever it comes from.

use std::collections::BTreeMap;

use antefix_wire::json::{Body, Node};

use super::{Conversation, Message};

/// What becomes of a tool of the array from some message on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolChange {
    /// The model is shown it, and may call it.
    Offered(String),
    /// It is taken away.
    Withdrawn(String),
}

/// How the tools of the array stand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offers {
    /// Each tool of the array.
    pub tools: BTreeMap<String, Standing>,
    /// What should not be offered, each with the reason on record.
    pub withdrawn: BTreeMap<String, String>,
}

/// How a tool stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The model may call it.
    pub is_offered: bool,
    /// It could at some time: it was not deferred, or was found, or added.
    pub was_offered: bool,
}

impl Conversation {
    /// How the tools of the open lane's array stand; `None` where they can be neither offered nor withdrawn.
    pub fn offers(&self) -> Option<Offers> {
        Some(self.offered()?.0)
    }

    /// What has to be said so that the model is offered what it should be, in the order of the array.
    pub(crate) fn due_tool_changes(&self) -> Vec<ToolChange> {
        let Some((Offers { tools, withdrawn }, added)) = self.offered() else { return Vec::new() };
        let array = self.lane().into_iter().flat_map(|lane| lane.tools());
        let change = |(name, _): &(String, bool)| {
            let standing = tools.get(name)?;
            let is_withdrawn = withdrawn.contains_key(name);
            let is_due = !is_withdrawn && (standing.was_offered || added.contains(name));
            match standing.is_offered {
                true if is_withdrawn => Some(ToolChange::Withdrawn(name.clone())),
                false if is_due => Some(ToolChange::Offered(name.clone())),
                _ => None,
            }
        };
        array.filter_map(change).collect()
    }

    /// The same as [`offers`](Self::offers), with the tools that should be added.
    fn offered(&self) -> Option<(Offers, Vec<String>)> {
        let lane = self.lane().filter(|lane| lane.spec().takes_tool_changes())?;
        let open = |(name, is_deferred): &(String, bool)| {
            (name.clone(), Standing { is_offered: !is_deferred, was_offered: !is_deferred })
        };
        let mut tools: BTreeMap<String, Standing> = lane.tools().iter().map(open).collect();
        for change in self.path().flat_map(Message::tool_changes) {
            let (name, is_offered) = match change {
                ToolChange::Offered(name) => (name, true),
                ToolChange::Withdrawn(name) => (name, false),
            };
            if let Some(standing) = tools.get_mut(name) {
                let was_offered = standing.was_offered || is_offered;
                *standing = Standing { is_offered, was_offered };
            }
        }
        let known = self.known(OFFERS, "").and_then(|state| Body::parse(state.to_vec()).ok());
        let known = known.as_ref().map(Body::root);
        let text = |node: Node<'_>| Some(node.str()?.into_owned());
        let withdrawn = known.and_then(|known| known.get("withdrawn")).into_iter().flat_map(Node::members);
        let withdrawn = withdrawn.filter_map(|(name, reason)| Some((text(name)?, text(reason)?))).collect();
        let added = known.and_then(|known| known.get("added")).into_iter().flat_map(Node::items);
        Some((Offers { tools, withdrawn }, added.filter_map(text).collect()))
    }
}

/// The kind of the observation that says which tools of the array should be offered and which not:
/// `{"withdrawn":{"NAME":"REASON"},"added":["NAME"]}`, each member only if it holds something; `null` where all is as the
/// array has it.
pub const OFFERS: &str = "offers";
