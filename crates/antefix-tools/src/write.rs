//! `write`: makes a file, or puts a new content in its place.

use antefix_wire::json::Body;

use crate::place::{Place, Purpose};
use crate::regular::Regular;
use crate::tool::{blocking, built_in};
use crate::{Access, BoxFuture, Context, Definition, Failure, Fields, Output, Scope, Tool, edit, paths};

/// `write`: makes a file, or puts a new content in its place.
///
/// What is there is only replaced where the model knows all of it as it is: it has read it whole or written it, and
/// nobody has changed it since. An empty file may always be replaced. The file is replaced as a whole or not at all;
/// its mode stays, and a symbolic link stays a link. Folders that are missing are made.
#[derive(Debug)]
pub struct Write {
    definition: Definition,
}

impl Write {
    /// Makes the tool.
    pub fn new() -> Self {
        Self { definition: built_in("write", DESCRIPTION, SCHEMA) }
    }
}

impl Default for Write {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for Write {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn access(&self, context: &Context, input: &Body) -> Access {
        let path = Fields::new(input).and_then(|fields| fields.string("path", PATH));
        path.map_or(Access::Nothing, |path| Access::Writes(paths::resolve(&context.absolute(&path))))
    }

    fn call<'a>(&'a self, context: &'a Context, input: Body) -> BoxFuture<'a, Output> {
        blocking(context, input, run)
    }
}

fn run(context: &Context, input: &Body) -> Result<Output, Failure> {
    let fields = Fields::new(input)?;
    let place = context.place(&fields.string("path", PATH)?, Purpose::Write)?;
    let text = fields.string("content", "the file's content")?;
    if place.is_vacant() { edit::create(context, place, &text) } else { overwrite(context, place, &text) }
}

fn overwrite(context: &Context, place: Place, text: &str) -> Result<Output, Failure> {
    let mut regular = Regular::open(context, place)?;
    let shown = context.shown(regular.path());
    let before = edit::content(context, &mut regular, &shown)?;
    if !before.is_empty() {
        edit::check_seen(context, &regular, &shown, &before)?;
        if !context.files.is_whole(regular.path()) {
            return Err(Failure::new(format!(
                "only a part of `{shown}` has been read: read it whole first, or change the part with `edit`"
            )));
        }
    }
    if before == text.as_bytes() {
        return Ok(Output::text(format!("`{shown}` has this content already: nothing to do")));
    }
    let fact = edit::put(context, &regular, &shown, text.as_bytes(), Scope::Write)?;
    let lines = |text: &str| text.lines().count();
    let (now, then) = (lines(text), lines(&String::from_utf8_lossy(&before)));
    Ok(Output::text(format!("wrote `{shown}`: {now} lines instead of {then}")).with_fact(fact))
}

const DESCRIPTION: &str = "Makes a file with a content, or puts the content in the place of all that a file holds. A \
file that is there must have been read whole before and not changed since. Folders that are missing are made. To \
change a part of a file, `edit` is cheaper.";

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "The file, absolute or relative to the workspace"},
        "content": {"type": "string", "description": "All that the file is to hold"}
    },
    "required": ["path", "content"]
}"#;

const PATH: &str = "a file path";
