//! How things are when a conversation goes on from a summary: what must not be lost with what was said.

use antefix_session::closure::text_block;
use antefix_session::event::Refreshed;
use antefix_tools::{Context, FileFact, Scope};
use bytes::Bytes;

use super::Agent;
use crate::head::with_baseline;
use crate::store::TranscriptStore;

impl<S: TranscriptStore> Agent<S> {
    /// How things are now; `None` if no lane is open.
    pub(super) async fn refreshed(&mut self) -> Option<Refreshed> {
        let baseline = self.baseline().await;
        let old = self.session.conversation().lane()?.spec().clone();
        let lane = match baseline {
            Some(baseline) => with_baseline(old, baseline),
            None => old,
        };
        Some(Refreshed { lane, state: state(&self.context) })
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

/// The most files that are named.
const MOST_FILES: usize = 40;
