//! How things are when a conversation goes on from a summary: what must not be lost with what was said.

use std::collections::BTreeMap;

use antefix_session::closure::text_block;
use antefix_session::conversation::{Call, Conversation};
use antefix_session::event::Refreshed;
use antefix_tools::{Context, FileFact, Scope};
use antefix_wire::json::Node;
use bytes::Bytes;

use super::Agent;
use super::recall::{input_of, text_of};
use crate::head::with_baseline;
use crate::store::TranscriptStore;

impl<S: TranscriptStore> Agent<S> {
    /// How things are now; `None` if no lane is open.
    pub(super) async fn refreshed(&mut self) -> Option<Refreshed> {
        let baseline = self.baseline().await;
        let conversation = self.session.conversation();
        let old = conversation.lane()?.spec().clone();
        let is_subagent = conversation.header().spawned_by.is_some();
        let lane = match baseline {
            Some(baseline) => with_baseline(old, baseline, is_subagent),
            None => old,
        };
        let mut state = state(&self.context);
        state.extend(skills(self.session.conversation()).map(|text| text_block(&text)));
        Some(Refreshed { lane, state })
    }
}

/// The list of what is to be done and the files that were looked at, as content blocks.
fn state(context: &Context) -> Vec<Bytes> {
    let mut blocks = Vec::new();
    let list = context.todo.text();
    if !context.todo.items().is_empty() {
        blocks.push(text_block(&format!("The list of what is to be done, as it stands:\n{list}")));
    }
    blocks.extend(files(context).map(|text| text_block(&text)));
    blocks
}

/// The skills that the model has called, each as it was given last: what they say holds for the work that goes on.
fn skills(conversation: &Conversation) -> Option<String> {
    let history = conversation.history();
    let calls: BTreeMap<&str, &Call> =
        history.iter().flat_map(|message| message.calls()).map(|call| (call.id.as_str(), call)).collect();
    let mut given: Vec<(String, String)> = Vec::new();
    for result in conversation.results().values().filter(|result| result.tool == "skill" && !result.is_error)
    {
        let input = input_of(conversation, &calls, &result.call);
        let name = input.as_ref().and_then(|input| input.root().get("name").and_then(Node::str));
        let (Some(name), Some(text)) = (name, text_of(&result.fragment)) else { continue };
        given.retain(|(known, _)| *known != name);
        given.push((name.into_owned(), text));
    }
    if given.is_empty() {
        return None;
    }
    let mut room = MOST_SKILL_BYTES;
    let (mut texts, mut names) = (Vec::new(), Vec::new());
    for (name, text) in given.into_iter().rev() {
        match room.checked_sub(text.len()) {
            Some(rest) => {
                room = rest;
                texts.push(text);
            }
            None => names.push(format!("`{name}`")),
        }
    }
    texts.reverse();
    if !names.is_empty() {
        names.reverse();
        texts.push(format!("Too long to stand here, call them again if you need them: {}", names.join(", ")));
    }
    Some(format!("Skills that you have called, as they were given to you:\n\n{}", texts.join("\n\n")))
}

/// The files that were looked at or changed last.
fn files(context: &Context) -> Option<String> {
    let mut facts = context.files.facts();
    if facts.is_empty() {
        return None;
    }
    facts.sort_by_key(|fact| std::cmp::Reverse(fact.mtime_ns));
    let mut text =
        "Files that were looked at or changed. What they hold is no longer before you: read what you need \
                    of them again."
            .to_owned();
    for fact in facts.iter().take(MOST_FILES) {
        let path = fact.path.strip_prefix(&context.cwd).unwrap_or(&fact.path);
        text.push_str(&format!("\n{} ({})", path.display(), seen(fact)));
    }
    if let Some(more) = facts.len().checked_sub(MOST_FILES).filter(|more| *more > 0) {
        text.push_str(&format!("\nand {more} more"));
    }
    Some(text)
}

fn seen(fact: &FileFact) -> String {
    match (fact.scope, fact.lines) {
        (Scope::Range, Some((first, last))) => format!("lines {first} to {last} read"),
        (Scope::Whole | Scope::Range, _) => "read".to_owned(),
        (Scope::Edit, _) => "changed".to_owned(),
        (Scope::Write, _) => "written".to_owned(),
    }
}

/// The most bytes of skills that are said anew, about eleven thousand tokens.
const MOST_SKILL_BYTES: usize = 40_000;

/// The most files that are named.
const MOST_FILES: usize = 40;
