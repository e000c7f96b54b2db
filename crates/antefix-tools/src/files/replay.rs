//! The table of a conversation, from its calls and results alone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use antefix_wire::json::Body;

use super::contents::MOST_FILES;
use super::{FileFact, FileTable, Scope};
use crate::{edit, read};

/// A call on record, its result, and what was learned of a file.
#[derive(Clone, Debug)]
pub struct Step {
    /// The tool.
    pub tool: String,
    /// The call's input.
    pub input: Body,
    /// The result's text.
    pub text: String,
    /// What was learned.
    pub fact: FileFact,
}

impl FileTable {
    /// Rebuilds the table of a conversation from what is on record and still part of it, the oldest first. `step`
    /// gives the step of a fact, and is called only for files whose contents are kept.
    ///
    /// A content is worked out from what was shown, written and edited, and is kept only if it has the digest on
    /// record.
    pub fn replay<'a, K: Copy>(
        facts: impl IntoIterator<Item = (K, &'a FileFact)>,
        mut step: impl FnMut(K) -> Option<Step>,
    ) -> Self {
        let table = Self::default();
        let facts: Vec<_> = facts.into_iter().collect();
        let mut newest = Vec::new();
        let mut kept = BTreeSet::new();
        for (_, fact) in facts.iter().rev() {
            if kept.len() == MOST_FILES {
                break;
            }
            if kept.insert(&fact.path) {
                newest.push(&fact.path);
            }
        }
        let mut contents: BTreeMap<&PathBuf, Vec<u8>> = BTreeMap::new();
        for (key, fact) in &facts {
            table.apply(fact);
            if fact.scope == Scope::Range || !kept.contains(&fact.path) {
                continue;
            }
            let before = contents.remove(&fact.path);
            let content = step(*key).and_then(|step| content(&step, fact, before.as_deref()));
            table.lock().work += 1;
            if let Some(content) = content {
                contents.insert(&fact.path, content);
            }
        }
        for path in newest.into_iter().rev() {
            if let Some(content) = contents.remove(path) {
                let digest = blake3::hash(&content).to_hex().to_string();
                table.lock().contents.put(path, &digest, content.into());
            }
        }
        table.begin_batch();
        table
    }
}

/// The content that a step leaves.
fn content(step: &Step, fact: &FileFact, before: Option<&[u8]>) -> Option<Vec<u8>> {
    let fits = |content: &Vec<u8>| blake3::hash(content).to_hex().as_str() == fact.digest;
    match fact.scope {
        Scope::Whole => read::contents(&step.text).into_iter().find(fits),
        Scope::Write | Scope::Edit => edit::outcome(&step.tool, &step.input, before).filter(fits),
        Scope::Range => None,
    }
}
