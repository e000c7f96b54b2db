//! What to say of a path that is no file: the nearest names, a folder's entries.

use std::path::Path;

use ignore::WalkBuilder;
use similar::TextDiff;

use crate::{Context, Failure};

/// Says that a file is not there, and what is near: similar names in its folder, files of its name elsewhere.
pub(crate) fn missing(context: &Context, path: &Path) -> Failure {
    let shown = context.shown(path);
    if let Ok(target) = path.read_link() {
        return Failure::new(format!("`{shown}` is a link to `{}`, which is not there", target.display()));
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let parent = path.parent().unwrap_or(path);
    let mut hints = Vec::new();
    if !parent.is_dir() {
        let there = path.ancestors().skip(1).find(|ancestor| ancestor.is_dir()).unwrap_or(Path::new("/"));
        let there =
            if there == context.cwd { "the workspace folder".to_owned() } else { context.shown(there) };
        hints.push(format!("its folder is not there either, only {there}"));
    }
    let near = similar_names(parent, &name);
    if !near.is_empty() {
        let near: Vec<_> = near.iter().map(|near| context.shown(&parent.join(near))).collect();
        hints.push(format!("similar names: {}", near.join(", ")));
    }
    let elsewhere = same_name(context, &name);
    if !elsewhere.is_empty() {
        hints.push(format!("files of that name: {}", elsewhere.join(", ")));
    }
    hints.insert(0, format!("`{shown}` is not there"));
    Failure::new(hints.join("; "))
}

/// Says that a path is a folder, and what is in it.
pub(crate) fn folder(context: &Context, path: &Path) -> Failure {
    let names = entries(path);
    // INVARIANT: no more are listed than there are.
    let listed = names.len().min(context.limits.listed_names);
    let mut text = format!("`{}` is a folder", context.shown(path));
    if names.is_empty() {
        text.push_str(", and empty");
    } else {
        text.push_str(&format!("; its entries ({}):\n{}", names.len(), names[..listed].join("\n")));
    }
    if listed < names.len() {
        text.push_str(&format!("\n[{} more]", names.len() - listed));
    }
    Failure::new(text)
}

/// The sorted names in a folder, folders with a slash behind.
fn entries(folder: &Path) -> Vec<String> {
    let read = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut names: Vec<_> = read
        .map(|entry| {
            let slash = if entry.path().is_dir() { "/" } else { "" };
            format!("{}{slash}", entry.file_name().to_string_lossy())
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
    let walk = WalkBuilder::new(&context.cwd)
        .git_global(false)
        .require_git(false)
        .sort_by_file_name(|a, b| a.cmp(b))
        .build();
    walk.take(WALKED_ENTRIES)
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name() == name && entry.file_type().is_some_and(|kind| kind.is_file()))
        .take(NEAREST)
        .map(|entry| context.shown(entry.path()))
        .collect()
}

/// Names of a folder that are compared at most.
const COMPARED_NAMES: usize = 2_000;

/// How alike a name must be to be named.
const NEAR_PER_MILLE: u32 = 600;

/// Names given at most.
const NEAREST: usize = 3;

/// Entries of the workspace that are looked at for the same name at most.
const WALKED_ENTRIES: usize = 20_000;
