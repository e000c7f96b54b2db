//! `grep`: finds lines by a regular expression, with ripgrep's engine.

mod render;
mod search;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use antefix_wire::json::Body;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};

use crate::glob::Pattern;
use crate::paths;
use crate::place::{Folder, Purpose};
use crate::regular::Regular;
use crate::tool::{blocking, built_in};
use crate::walk::{Walk, most_threads, on_threads};
use crate::{Access, BoxFuture, Context, Definition, Failure, Fields, Output, Tool};
use render::Report;
use search::{Found, Search};

/// `grep`: finds lines by a regular expression, with ripgrep's engine.
///
/// In mode `content` a file's path stands on a line of its own, followed by its lines: number, `:` and the
/// text for a match, number, `-` and the text for a line of context, `--` where lines are left out, and an
/// empty line between files. In mode `files` there is one path a line, in mode `count` path, `:` and number
/// of matching lines. Files are in order of their paths, whatever was found first. Remarks follow in
/// brackets.
#[derive(Debug)]
pub struct Grep {
    definition: Definition,
}

impl Grep {
    /// Makes the tool.
    pub fn new() -> Self {
        Self { definition: built_in("grep", DESCRIPTION, SCHEMA) }
    }
}

impl Default for Grep {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for Grep {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn access(&self, context: &Context, input: &Body) -> Access {
        let root = Fields::new(input).and_then(|fields| root(&fields));
        root.map_or(Access::Nothing, |root| Access::Reads(paths::resolve(&context.absolute(&root))))
    }

    fn call<'a>(&'a self, context: &'a Context, input: Body) -> BoxFuture<'a, Output> {
        blocking(context, input, run)
    }
}

/// What to give back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Content,
    Files,
    Count,
}

fn run(context: &Context, input: &Body) -> Result<Output, Failure> {
    let fields = Fields::new(input)?;
    let pattern = fields.string("pattern", "a regular expression")?;
    let glob = fields.optional_string("glob", "a file pattern")?;
    let lines_around = fields.optional_number("context", 0)?.unwrap_or(0).min(MOST_CONTEXT);
    let mode = match fields.word("mode", &["content", "files", "count"])? {
        "files" => Mode::Files,
        "count" => Mode::Count,
        _ => Mode::Content,
    };
    let limit = fields.optional_number("head_limit", 1)?;
    let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(context.limits.grep_lines);
    let search = Search {
        matcher: matcher(&pattern, fields.flag("ignore_case")?)?,
        mode,
        lines_around: lines_around as usize,
        line_bytes: context.limits.grep_line_bytes,
        cancellation: context.cancellation.clone(),
    };
    let glob = glob.map(|glob| Pattern::new("glob", &glob)).transpose()?;
    let target = Target::find(context, &root(&fields)?, glob.as_ref())?;
    let mut report = Report::new(context, mode, limit, target.unreadable);
    search_all(&search, &target, &mut report);
    if context.cancellation.is_cancelled() {
        return Err(Failure::new("cancelled by the user"));
    }
    Ok(Output::text(report.finish(target.files.len())))
}

/// The path to search, as it is given; the workspace where none is.
fn root(fields: &Fields<'_>) -> Result<String, Failure> {
    Ok(fields.optional_string("path", "a file or folder path")?.unwrap_or_else(|| ".".to_owned()))
}

fn matcher(pattern: &str, ignore_case: bool) -> Result<RegexMatcher, Failure> {
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(ignore_case).crlf(true).multi_line(true);
    builder.build(pattern).map_err(|error| {
        Failure::new(format!(
            "`pattern` is not a regular expression that can be searched for: {error}\nTo find a character such \
             as ( or [ itself, write a backslash before it. A match cannot go over a line end."
        ))
    })
}

/// The files to search, in order, and the folder they lie in, held open.
struct Target {
    folder: Folder,
    base: PathBuf,
    files: Vec<PathBuf>,
    /// Folders that could not be listed.
    unreadable: u64,
}

impl Target {
    fn find(context: &Context, path: &str, glob: Option<&Pattern>) -> Result<Self, Failure> {
        let place = context.place(path, Purpose::Read)?;
        if place.open_folder().is_ok() {
            let Walk { folder, base, mut files, unreadable } = Walk::below(context, &place)?;
            if let Some(glob) = glob {
                files.retain(|file| glob.fits(&base, file, &context.cwd));
            }
            return Ok(Self { folder, base, files, unreadable });
        }
        let regular = Regular::open(context, place)?;
        let base = regular.path().parent().unwrap_or(regular.path());
        let name = regular.path().file_name().unwrap_or_default();
        let failed =
            |error| Failure::new(format!("`{}` cannot be read: {error}", context.shown(regular.path())));
        let folder = regular.place.open_parent().map_err(failed)?;
        Ok(Self { folder, base: base.to_owned(), files: vec![PathBuf::from(name)], unreadable: 0 })
    }
}

/// Searches batch by batch, so that the end of a long list is not searched once the report is full; in a batch,
/// threads take the files as they come and the results are put in order. What they keep is bounded: over the bound no
/// further file is taken, and the rest of the batch waits for the next round.
fn search_all(search: &Search, target: &Target, report: &mut Report<'_>) {
    let mut rest = target.files.as_slice();
    while !rest.is_empty() && !report.is_full() && !search.cancellation.is_cancelled() {
        let batch = rest.get(..BATCH_FILES).unwrap_or(rest);
        let room = report.room();
        let (next, kept) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let parts = on_threads(most_threads().min(batch.len()), || {
            let mut found: Vec<(usize, Found)> = Vec::new();
            let mut searcher = search.searcher();
            while kept.load(Ordering::Relaxed) <= BATCH_BYTES
                && let Some((index, file)) = take(&next, batch)
            {
                let one = search.file(&mut searcher, &target.folder, file, room);
                kept.fetch_add(one.bytes, Ordering::Relaxed);
                found.push((index, one));
            }
            found
        });
        let mut found: Vec<_> = parts.into_iter().flatten().collect();
        found.sort_by_key(|(index, _)| *index);
        // The files are taken in order, so those that were searched are the first of the batch.
        rest = rest.get(found.len()..).unwrap_or_default();
        for ((_, found), file) in found.into_iter().zip(batch) {
            report.add(&target.base.join(file), found);
        }
    }
}

fn take<'f>(next: &AtomicUsize, batch: &'f [PathBuf]) -> Option<(usize, &'f Path)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    batch.get(index).map(|file| (index, file.as_path()))
}

const DESCRIPTION: &str = "Finds the lines that match a regular expression (Rust syntax, as in ripgrep), in all \
files of a folder or in one file. Files that .gitignore names, .git and binary files are left out. Lines come \
with their numbers, so that `read` can show the surroundings by `offset` and `limit`.";

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "pattern": {"type": "string", "description": "The regular expression; write \\( \\{ \\. for these characters themselves"},
        "path": {"type": "string", "description": "File or folder to search; the workspace if not given"},
        "glob": {"type": "string", "description": "Only files whose name or path fits, as in *.rs, src/**/*.{ts,tsx} or !*.lock"},
        "ignore_case": {"type": "boolean", "description": "Take upper and lower case as the same"},
        "context": {"type": "integer", "minimum": 0, "description": "Lines to show before and after each match"},
        "mode": {"type": "string", "enum": ["content", "files", "count"], "description": "content: the lines (if not given); files: only the paths; count: matching lines per file"},
        "head_limit": {"type": "integer", "minimum": 1, "description": "Lines or paths to show at most; 200 if not given"}
    },
    "required": ["pattern"]
}"#;

/// Lines of context at most.
const MOST_CONTEXT: u64 = 50;

/// Files that are searched before the results are looked at.
const BATCH_FILES: usize = 8_192;

/// Bytes of lines that a batch keeps before no further file of it is searched.
const BATCH_BYTES: usize = 32 << 20;
