//! `grep`: finds lines by a regular expression, with ripgrep's engine.

mod render;
mod search;
mod walk;

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use antefix_wire::json::Body;
use globset::{GlobBuilder, GlobMatcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};

use crate::paths;
use crate::regular::Regular;
use crate::tool::{blocking, built_in};
use crate::{Access, BoxFuture, Context, Definition, Failure, Fields, Output, Tool};
use render::Page;
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
        let root = Fields::new(input).and_then(|fields| root(context, &fields));
        root.map_or(Access::Nothing, |root| Access::Reads(paths::resolve(&root)))
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
        page_bytes: context.limits.grep_bytes,
        cancellation: context.cancellation.clone(),
    };
    let glob = glob.map(|glob| Glob::new(&glob)).transpose()?;
    let root = root(context, &fields)?;
    let files = files(context, &root, glob.as_ref())?;
    let mut page = Page::new(context, mode, limit);
    search_all(&search, &files, &mut page);
    if context.cancellation.is_cancelled() {
        return Err(Failure::new("cancelled by the user"));
    }
    Ok(Output::text(page.finish(files.len())))
}

fn root(context: &Context, fields: &Fields<'_>) -> Result<PathBuf, Failure> {
    let path = fields.optional_string("path", "a file or folder path")?;
    Ok(path.map_or_else(|| context.cwd.clone(), |path| context.absolute(&path)))
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

/// The files to search, in order.
fn files(context: &Context, root: &Path, glob: Option<&Glob>) -> Result<Vec<PathBuf>, Failure> {
    if !root.is_dir() {
        return Ok(vec![Regular::open(context, root)?.path]);
    }
    let root = paths::resolve(root);
    let mut files = walk::files(&root, &context.cancellation);
    if let Some(glob) = glob {
        files.retain(|file| glob.fits(file, &[&root, &context.cwd]));
    }
    Ok(files)
}

/// Searches batch by batch, so that the end of a long list is not searched once the page is full; in a batch,
/// threads take the files as they come and the results are put in order.
fn search_all(search: &Search, files: &[PathBuf], page: &mut Page<'_>) {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(MOST_THREADS);
    for batch in files.chunks(BATCH_FILES) {
        if page.is_full() || search.cancellation.is_cancelled() {
            return;
        }
        let room = page.room();
        let next = AtomicUsize::new(0);
        let work = || {
            let mut found: Vec<(usize, Found)> = Vec::new();
            let mut searcher = search.searcher();
            while let Some((index, file)) = take(&next, batch) {
                found.push((index, search.file(&mut searcher, file, room)));
            }
            found
        };
        let mut found: Vec<_> = std::thread::scope(|scope| {
            let helpers: Vec<_> = (1..threads.min(batch.len())).map(|_| scope.spawn(work)).collect();
            let mut found = work();
            // A panic goes on in the thread of the call, where it becomes an error result.
            let joined = helpers.into_iter().map(|helper| helper.join());
            found.extend(
                joined.flat_map(|part| part.unwrap_or_else(|panic| std::panic::resume_unwind(panic))),
            );
            found
        });
        found.sort_by_key(|(index, _)| *index);
        for ((_, found), file) in found.into_iter().zip(batch) {
            page.add(file, found);
        }
    }
}

fn take<'f>(next: &AtomicUsize, batch: &'f [PathBuf]) -> Option<(usize, &'f PathBuf)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    batch.get(index).map(|file| (index, file))
}

/// A pattern for files: for the name if it has no slash, for the path otherwise; `!` turns it round.
#[derive(Debug)]
struct Glob {
    matcher: GlobMatcher,
    negated: bool,
}

impl Glob {
    fn new(text: &str) -> Result<Self, Failure> {
        let (pattern, negated) = text.strip_prefix('!').map_or((text, false), |rest| (rest, true));
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        let anywhere = if pattern.contains('/') { "" } else { "**/" };
        let pattern = format!("{anywhere}{}", pattern.strip_prefix('/').unwrap_or(pattern));
        let glob = GlobBuilder::new(&pattern).literal_separator(true).build();
        let glob = glob.map_err(|error| Failure::new(format!("`glob` cannot be read: {error}")))?;
        Ok(Self { matcher: glob.compile_matcher(), negated })
    }

    /// Whether a file fits, with its path taken from one of the folders.
    fn fits(&self, file: &Path, folders: &[&Path]) -> bool {
        let mut relative = folders.iter().filter_map(|folder| file.strip_prefix(folder).ok());
        relative.any(|path| self.matcher.is_match(path)) != self.negated
    }
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
const BATCH_FILES: usize = 512;

const MOST_THREADS: usize = 8;
