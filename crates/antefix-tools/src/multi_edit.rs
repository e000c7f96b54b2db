//! `multi_edit`: makes several replacements in a file, all or none.

use antefix_wire::json::Body;

use crate::edit::{self, Replacement};
use crate::place::Purpose;
use crate::regular::Regular;
use crate::tool::{blocking, built_in};
use crate::{Access, BoxFuture, Context, Definition, Failure, Fields, Output, Tool, paths};

/// `multi_edit`: makes several replacements in a file, all or none.
///
/// Each is found in the file as it was before the call, under the rules of [`Edit`](crate::Edit), and two may not
/// overlap; so their order means nothing.
#[derive(Debug)]
pub struct MultiEdit {
    definition: Definition,
}

impl MultiEdit {
    /// Makes the tool.
    pub fn new() -> Self {
        Self { definition: built_in("multi_edit", DESCRIPTION, SCHEMA) }
    }
}

impl Default for MultiEdit {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for MultiEdit {
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
    let edits = edits(&fields)?;
    let mut regular = Regular::open(context, place)?;
    let shown = context.shown(regular.path());
    let before = edit::content(context, &mut regular, &shown)?;
    edit::check_seen(context, &regular, &shown, &before)?;
    let changes = edit::changes(&shown, &before, &edits)?;
    edit::change(context, &regular, &shown, &before, &changes)
}

/// The replacements of an input.
pub(crate) fn edits(fields: &Fields<'_>) -> Result<Vec<Replacement>, Failure> {
    let items = fields.objects("edits", "a list of objects with `old_string` and `new_string`")?;
    let edits: Vec<_> = items
        .iter()
        .enumerate()
        .map(|(at, item)| {
            Replacement::of(item).map_err(|failure| Failure::new(format!("edit {}: {}", at + 1, failure.0)))
        })
        .collect::<Result<_, _>>()?;
    if edits.is_empty() {
        return Err(Failure::new("`edits` is empty: nothing to do"));
    }
    Ok(edits)
}

const DESCRIPTION: &str = "Makes several replacements in one file, all or none. The rules are those of `edit`. Each \
`old_string` is looked for in the file as it is before the call, and two of them may not overlap.";

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "The file, absolute or relative to the workspace"},
        "edits": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "properties": {
                    "old_string": {"type": "string", "description": "The text to replace"},
                    "new_string": {"type": "string", "description": "The text to put in its place"},
                    "replace_all": {"type": "boolean", "description": "Replace every occurrence"}
                },
                "required": ["old_string", "new_string"]
            }
        }
    },
    "required": ["path", "edits"]
}"#;

const PATH: &str = "a file path";
