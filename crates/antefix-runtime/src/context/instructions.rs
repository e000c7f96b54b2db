//! Instruction files: the user's own, and those of the folders from the repository's root down to the one that is
//! worked in; what they import; and those of folders further down, once the model has seen a file there.

mod find;
mod import;
mod rule;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::text_file::{self, Reading};
use super::{Moment, Sighting, Source, Surroundings, Unavailable, lines};
use crate::folder::is_absent;
use find::{Chain, Place, Rules};
use rule::Rule;

/// Instruction files.
#[derive(Debug, Default)]
pub struct Instructions {
    user: Option<PathBuf>,
    home: Option<PathBuf>,
    /// The last look could not read something, or was at its limits, so that more may hold than it has found: an
    /// unreadable file may import others, and stands in front of others of its folder.
    is_cut_short: bool,
    /// Why files of the last look were not taken.
    left_out: BTreeMap<String, String>,
    notes: Vec<String>,
}

impl Instructions {
    /// With the folder of the user's own file, and the home folder that `@~/…` in it means.
    pub fn new(user: Option<PathBuf>, home: Option<PathBuf>) -> Self {
        Self { user, home, ..Self::default() }
    }
}

impl Source for Instructions {
    fn kind(&self) -> &'static str {
        "instructions"
    }

    fn observe(&mut self, around: &Surroundings) -> Result<Vec<Sighting>, Unavailable> {
        let touched: Vec<PathBuf> = around.files.facts().into_iter().map(|fact| fact.path).collect();
        let chain = Chain::of(&around.folder, &touched);
        let denies = |path: &Path| around.is_denied(path);
        let mut look = Look {
            home: self.home.as_deref(),
            touched: &touched,
            denies: &denies,
            found: Vec::new(),
            seen: BTreeSet::new(),
            is_cut_short: false,
            left_out: BTreeMap::new(),
            notes: Vec::new(),
            bytes: 0,
        };
        if let Some(user) = &self.user {
            look.first_of(&Place { folder: user, root: None });
        }
        for folder in &chain.folders {
            look.folder(&Place { folder, root: Some(&chain.root) });
        }
        for folder in &chain.below {
            look.folder(&Place { folder, root: Some(&chain.root) });
        }
        (self.is_cut_short, self.left_out, self.notes) = (look.is_cut_short, look.left_out, look.notes);
        Ok(look.found)
    }

    fn baseline(&self, sighting: &Sighting) -> Option<String> {
        Some(format!("# Instructions from {}\n{}", sighting.key, sighting.detail.trim_end()))
    }

    fn drift(&self, known: &[u8], now: &Sighting) -> Option<String> {
        let (path, whole) = (&now.key, now.detail.trim_end());
        if known == b"null" {
            return Some(format!("There are instructions from {path}, which hold from now on:\n{whole}"));
        }
        Some(lines::edited(&format!("The instructions from {path} were edited"), known, &now.detail))
    }

    fn removed(&self, key: &str, _known: &[u8]) -> Option<String> {
        let why = match self.left_out.get(key) {
            Some(why) => why,
            None if Path::new(key).is_file() => "the file says nothing, or does not belong to this folder",
            None => "the file is gone",
        };
        Some(format!("The instructions from {key} do not hold any more: {why}."))
    }

    fn speaks_for(&self, key: &str) -> bool {
        !self.is_cut_short || self.left_out.contains_key(key) || is_gone(key)
    }

    fn moment(&self) -> Moment {
        Moment::Calls
    }

    fn cap(&self) -> usize {
        // A whole file, and a few words.
        text_file::LIMIT + 1024
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }
}

/// One look at the files.
struct Look<'a> {
    home: Option<&'a Path>,
    /// Whether a rule of the user's refuses that a file is read.
    denies: &'a dyn Fn(&Path) -> bool,
    /// The files the model has seen.
    touched: &'a [PathBuf],
    found: Vec<Sighting>,
    /// Files that were looked at, links resolved.
    seen: BTreeSet<PathBuf>,
    is_cut_short: bool,
    left_out: BTreeMap<String, String>,
    notes: Vec<String>,
    bytes: usize,
}

impl Look<'_> {
    fn folder(&mut self, place: &Place<'_>) {
        self.first_of(place);
        let rules = Rules::of(place);
        self.is_cut_short |= rules.is_cut_short;
        self.notes.extend(rules.notes);
        for path in rules.files {
            self.rule(&path, place);
        }
        self.file(&place.folder.join(LOCAL), place, 0);
    }

    /// The first of the names that there is something under.
    fn first_of(&mut self, place: &Place<'_>) {
        for name in NAMES {
            if self.file(&place.folder.join(name), place, 0) {
                return;
            }
        }
    }

    /// Takes in a rule file, if it holds for a file that the model has seen, or for all.
    fn rule(&mut self, path: &Path, place: &Place<'_>) {
        let touched = self.touched;
        self.file_where(path, place, 0, |text| {
            let rule = Rule::read(text).map_err(|error| error.to_string())?;
            let holds = rule.holds(place.folder, touched)?;
            Ok(holds.then_some(rule.text))
        });
    }

    /// Takes in a file and what it imports; whether there is one.
    fn file(&mut self, path: &Path, place: &Place<'_>, depth: usize) -> bool {
        self.file_where(path, place, depth, |text| Ok(Some(text)))
    }

    /// Takes in what `part` takes of a file, and what that imports; whether there is one.
    fn file_where(
        &mut self,
        path: &Path,
        place: &Place<'_>,
        depth: usize,
        part: impl FnOnce(&str) -> Result<Option<&str>, String>,
    ) -> bool {
        let key = path.to_string_lossy().into_owned();
        match text_file::read(path, place.root) {
            Reading::Nothing => false,
            Reading::LeftOut(why) => {
                self.leave_out(key, why);
                false
            }
            Reading::Unclear(why) => {
                self.notes.push(format!("{key} could not be read: {why}"));
                self.is_cut_short = true;
                true
            }
            Reading::Text { real, .. } if (self.denies)(&real) || (self.denies)(path) => {
                self.leave_out(key, "a rule refuses that it is read".to_owned());
                false
            }
            Reading::Text { real, .. } if is_git_s(&real) => {
                self.leave_out(key, "it is git's own, and may hold a password".to_owned());
                false
            }
            Reading::Text { real, text, note } => {
                match part(&text) {
                    Ok(Some(text)) if self.seen.insert(real) => {
                        self.notes.extend(note.map(|note| format!("{key}: {note}")));
                        self.take(key, path, text, place, depth);
                    }
                    Ok(_) => {}
                    Err(why) => self.leave_out(key, why),
                }
                true
            }
        }
    }

    fn leave_out(&mut self, key: String, why: String) {
        self.notes.push(format!("{key} was left out: {why}"));
        self.left_out.insert(key, why);
    }

    fn take(&mut self, key: String, path: &Path, text: &str, place: &Place<'_>, depth: usize) {
        self.bytes += text.len();
        if self.found.len() >= MOST_FILES || self.bytes > MOST_BYTES {
            self.notes.push(format!(
                "{key} was left out: there are more than {MOST_FILES} instruction files, or {MOST_BYTES} bytes of them"
            ));
            // It is still there, and what was known of it holds.
            self.is_cut_short = true;
            return;
        }
        self.found.push(Sighting::new(&*key, lines::state(text)).with_detail(text));
        let imports = import::imports(text);
        if depth == MOST_DEPTH && !imports.is_empty() {
            self.notes.push(format!("{key}: its imports were left out, since they are {MOST_DEPTH} deep"));
            return;
        }
        for import in imports {
            let own = path.parent().unwrap_or(path);
            if let Some(target) = import::resolve(&import, own, self.home.filter(|_| place.root.is_none())) {
                self.file(&target, place, depth + 1);
            }
        }
    }
}

/// Whether a file is in a folder `.git`.
fn is_git_s(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == ".git")
}

/// Whether a file is one of instructions by its name.
pub(super) fn is_instructions(path: &Path) -> bool {
    let is_named = |name: &str| path.ends_with(name);
    NAMES.into_iter().chain([LOCAL]).any(is_named)
        || path.components().any(|part| part.as_os_str() == ".claude")
}

/// Whether nothing is under a known path any more.
fn is_gone(key: &str) -> bool {
    Path::new(key).symlink_metadata().is_err_and(|error| is_absent(&error))
}

/// Names of instruction files; the first that is there in a folder counts.
const NAMES: [&str; 3] = ["AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md"];

/// The user's own file in a project.
const LOCAL: &str = "CLAUDE.local.md";

const MOST_FILES: usize = 64;

/// Bytes of all files together.
const MOST_BYTES: usize = 256 * 1024;

/// How often a file that was imported may import in turn.
const MOST_DEPTH: usize = 5;

#[cfg(test)]
mod tests;
