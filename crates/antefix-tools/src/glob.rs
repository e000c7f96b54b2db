//! `glob`: finds files by their paths.

use std::path::{Path, PathBuf};

use antefix_wire::json::Body;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::paths;
use crate::place::Purpose;
use crate::regular::Regular;
use crate::spill::Page;
use crate::tool::{blocking, built_in};
use crate::walk::Walk;
use crate::{Access, BoxFuture, Context, Definition, Failure, Fields, Output, Tool};

/// `glob`: finds files by their paths.
///
/// The result is one path a line, in order of the paths, and remarks in brackets.
#[derive(Debug)]
pub struct Glob {
    definition: Definition,
}

impl Glob {
    /// Makes the tool.
    pub fn new() -> Self {
        Self { definition: built_in("glob", DESCRIPTION, SCHEMA) }
    }
}

impl Default for Glob {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for Glob {
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

fn run(context: &Context, input: &Body) -> Result<Output, Failure> {
    let fields = Fields::new(input)?;
    let pattern = Pattern::new("pattern", &fields.string("pattern", "a file pattern")?)?;
    let limit = fields.optional_number("head_limit", 1)?;
    let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(context.limits.glob_files);
    let place = context.place(&root(&fields)?, Purpose::Read)?;
    if place.open_folder().is_err() {
        let is_file =
            |regular: Regular| format!("`{}` is a file, not a folder", context.shown(regular.path()));
        return Err(
            Regular::open(context, place).map_or_else(|failure| failure, |file| Failure::new(is_file(file)))
        );
    }
    let walk = Walk::below(context, &place)?;
    let mut page = Page::new(context, limit, context.limits.grep_bytes);
    let mut count = 0_u64;
    for file in walk.files.iter().filter(|file| pattern.fits(&walk.base, file, &context.cwd)) {
        count += 1;
        page.push("", &context.shown(&walk.base.join(file)), true);
    }
    let page = page.finish(context, "glob", "files");
    let mut text = page.text;
    let none = (count == 0).then(|| format!("no file of {} fits", walk.files.len()));
    let unreadable =
        (walk.unreadable > 0).then(|| format!("folders that could not be searched: {}", walk.unreadable));
    text.extend([none, page.rest, unreadable].into_iter().flatten().map(|note| format!("[{note}]\n")));
    text.pop();
    Ok(Output::text(text))
}

/// The folder to search, as it is given; the workspace where none is.
fn root(fields: &Fields<'_>) -> Result<String, Failure> {
    Ok(fields.optional_string("path", "a folder path")?.unwrap_or_else(|| ".".to_owned()))
}

/// A pattern for files: for the name if it has no slash, for the path otherwise; `!` turns it round.
#[derive(Debug)]
pub(crate) struct Pattern {
    /// A set of one: unlike a single matcher it compares plain endings and names without a regular expression.
    matcher: GlobSet,
    negated: bool,
}

impl Pattern {
    /// Reads a pattern; `field` is where it comes from.
    pub(crate) fn new(field: &str, text: &str) -> Result<Self, Failure> {
        let (pattern, negated) = text.strip_prefix('!').map_or((text, false), |rest| (rest, true));
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        let anywhere = if pattern.contains('/') { "" } else { "**/" };
        let pattern = format!("{anywhere}{}", pattern.strip_prefix('/').unwrap_or(pattern));
        let glob = GlobBuilder::new(&pattern).literal_separator(true).build();
        let set = glob.and_then(|glob| GlobSetBuilder::new().add(glob).build());
        let matcher = set.map_err(|error| Failure::new(format!("`{field}` cannot be read: {error}")))?;
        Ok(Self { matcher, negated })
    }

    /// Whether a file of a folder fits, with its path taken from there or from the workspace.
    pub(crate) fn fits(&self, folder: &Path, file: &Path, workspace: &Path) -> bool {
        let from_workspace = || {
            let above = folder.strip_prefix(workspace).ok().filter(|above| !above.as_os_str().is_empty());
            above.is_some_and(|above: &Path| self.matcher.is_match(PathBuf::from(above).join(file)))
        };
        (self.matcher.is_match(file) || from_workspace()) != self.negated
    }
}

const DESCRIPTION: &str = "Finds files by their paths and gives the paths in order. Files that .gitignore names and \
.git are left out. To find files by what is in them, use `grep` with mode files.";

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "pattern": {"type": "string", "description": "What names or paths must fit, as in *.rs, src/**/*.{ts,tsx} or !*.lock; without a slash it is the name alone, in any folder"},
        "path": {"type": "string", "description": "Folder to search; the workspace if not given"},
        "head_limit": {"type": "integer", "minimum": 1, "description": "Paths to show at most; 200 if not given"}
    },
    "required": ["pattern"]
}"#;
