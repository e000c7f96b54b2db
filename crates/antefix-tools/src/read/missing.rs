//! What to say of a path that is no file: the nearest names, a folder's entries.

use std::path::{Path, PathBuf};

use similar::TextDiff;

use crate::context::printable;
use crate::place::{EntryKind, OpenError, Place};
use crate::walk::Walk;
use crate::{Context, Failure, paths};

/// Says that a file is not there, and what is near: similar names in its folder, files of its name elsewhere.
pub(crate) fn missing(context: &Context, place: &Place) -> Failure {
    let path = place.path();
    let shown = context.shown(path);
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let parent = path.parent().unwrap_or(path);
    let mut hints = vec![format!("`{shown}` is not there")];
    let is_folder = |path: &Path| Place::new(path).open_folder().is_ok();
    if !is_folder(parent) {
        let there = path.ancestors().skip(1).find(|ancestor| is_folder(ancestor)).unwrap_or(Path::new("/"));
        let there =
            if there == context.cwd { "the workspace folder".to_owned() } else { context.shown(there) };
        hints.push(format!("its folder is not there either, only {there}"));
    }
    // Being allowed to read one file is not being allowed to know its neighbours.
    if context.is_readable(parent) {
        let near = similar_names(parent, &name);
        if !near.is_empty() {
            let near: Vec<_> = near.iter().map(|near| context.shown(&parent.join(near))).collect();
            hints.push(format!("similar names: {}", near.join(", ")));
        }
        let elsewhere = same_name(context, &name);
        if !elsewhere.is_empty() {
            hints.push(format!("files of that name: {}", elsewhere.join(", ")));
        }
    }
    Failure::new(hints.join("; "))
}

/// Says that a path is a folder, and what is in it.
pub(crate) fn folder(context: &Context, place: &Place) -> Failure {
    let names = entries(place.path());
    // INVARIANT: no more are listed than there are.
    let listed = names.len().min(context.limits.listed_names);
    let mut text = format!("`{}` is a folder", context.shown(place.path()));
    if names.is_empty() {
        text.push_str(", and empty");
    } else {
        let lines: Vec<_> = names[..listed].iter().map(|name| printable(name)).collect();
        text.push_str(&format!("; its entries ({}):\n{}", names.len(), lines.join("\n")));
    }
    if listed < names.len() {
        text.push_str(&format!("\n[{} more]", names.len() - listed));
    }
    Failure::new(text)
}

/// Says that a symbolic link stands where the path leads: one to nowhere, or one that has come since the call was
/// decided upon.
pub(crate) fn link(context: &Context, place: &Place) -> Failure {
    let shown = context.shown(place.path());
    let dangles = paths::resolve(place.path()) == place.path();
    match target(place).filter(|_| dangles) {
        Some(target) => {
            let target = printable(&target.to_string_lossy());
            Failure::new(format!("`{shown}` is a link to `{target}`, which is not there"))
        }
        None => Failure::new(format!("`{shown}` cannot be used: {}", OpenError::Link)),
    }
}

/// Where the link at a place leads.
fn target(place: &Place) -> Option<PathBuf> {
    let parent = place.open_parent().ok()?;
    let target = rustix::fs::readlinkat(parent.handle(), place.path().file_name()?, Vec::new()).ok()?;
    Some(PathBuf::from(String::from_utf8_lossy(target.as_bytes()).into_owned()))
}

/// The sorted names in a folder, folders with a slash behind.
fn entries(folder: &Path) -> Vec<String> {
    let entries = Place::new(folder).open_folder().and_then(|folder| folder.entries()).unwrap_or_default();
    let mut names: Vec<_> = entries
        .into_iter()
        .map(|entry| {
            let slash = if entry.kind == EntryKind::Folder { "/" } else { "" };
            format!("{}{slash}", entry.name.to_string_lossy())
        })
        .collect();
    names.sort();
    names
}

/// The names in a folder that are most like `name`, best first, ties by name.
fn similar_names(folder: &Path, name: &str) -> Vec<String> {
    let wanted = name.to_lowercase();
    let mut near: Vec<_> = entries(folder)
        .into_iter()
        .take(COMPARED_NAMES)
        .filter_map(|entry| {
            let ratio =
                TextDiff::from_chars(wanted.as_str(), entry.trim_end_matches('/').to_lowercase().as_str())
                    .ratio();
            let per_mille = (ratio * 1000.0) as u32;
            (per_mille >= NEAR_PER_MILLE).then_some((per_mille, entry))
        })
        .collect();
    near.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    near.into_iter().take(NEAREST).map(|(_, entry)| entry).collect()
}

/// Files of that name in the workspace, sorted; those that are ignored are left out.
fn same_name(context: &Context, name: &str) -> Vec<String> {
    let Ok(walk) = Walk::below(context, &Place::new(&context.cwd)) else { return Vec::new() };
    let same = walk.files.iter().filter(|file| file.file_name().is_some_and(|own| own == name));
    same.take(NEAREST).map(|file| context.shown(&walk.base.join(file))).collect()
}

/// Names of a folder that are compared at most.
const COMPARED_NAMES: usize = 2_000;

/// How alike a name must be to be named.
const NEAR_PER_MILLE: u32 = 600;

/// Names given at most.
const NEAREST: usize = 3;
