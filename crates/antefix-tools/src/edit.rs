//! `edit`: replaces text in a file, exactly.

mod diff;
mod nearest;
mod replace;

use antefix_wire::json::Body;

use crate::place::{Place, Purpose};
use crate::regular::{Regular, fact};
use crate::tool::{blocking, built_in};
use crate::{
    Access, BoxFuture, Context, Definition, Failure, Fields, FileFact, Output, Scope, Tool, multi_edit,
    paths, store,
};
use replace::{Change, Unfit};

pub(crate) use replace::Replacement;

/// `edit`: replaces text in a file, exactly.
///
/// It refuses where the model has not seen the file or the file has changed since, and where the text to
/// replace is not there or is there more than once. The file is replaced as a whole or not at all; its mode
/// and its line ends stay. The result is a small unified diff.
#[derive(Debug)]
pub struct Edit {
    definition: Definition,
}

impl Edit {
    /// Makes the tool.
    pub fn new() -> Self {
        Self { definition: built_in("edit", DESCRIPTION, SCHEMA) }
    }
}

impl Default for Edit {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for Edit {
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
    let replacement = Replacement::of(&fields)?;
    if replacement.old.is_empty() && place.is_vacant() {
        return create(context, place, &replacement.new);
    }
    if replacement.old == replacement.new {
        return Err(Failure::new(EQUAL));
    }
    let mut regular = Regular::open(context, place)?;
    let shown = context.shown(regular.path());
    let before = content(context, &mut regular, &shown)?;
    check_seen(context, &regular, &shown, &before)?;
    let changes = replacement.find(&before);
    let changes = changes.map_err(|unfit| refusal(&shown, &before, &replacement, &unfit))?;
    change(context, &regular, &shown, &before, &changes)
}

/// The content that a call of a tool that writes leaves, where the content before is known.
pub(crate) fn outcome(tool: &str, input: &Body, before: Option<&[u8]>) -> Option<Vec<u8>> {
    let fields = Fields::new(input).ok()?;
    let edits = match tool {
        "write" => return fields.string("content", "").ok().map(String::into_bytes),
        "edit" => vec![Replacement::of(&fields).ok()?],
        "multi_edit" => multi_edit::edits(&fields).ok()?,
        _ => return None,
    };
    let before = before.unwrap_or_default();
    changes("", before, &edits).ok().map(|changes| replace::apply(before, &changes))
}

/// Makes a new file.
pub(crate) fn create(context: &Context, place: Place, text: &str) -> Result<Output, Failure> {
    let shown = context.shown(place.path());
    let failed = |error: std::io::Error| Failure::new(format!("`{shown}` cannot be made: {error}"));
    let metadata = store::create(&place, text.as_bytes()).map_err(failed)?;
    let lines = text.lines().count();
    let fact = fact(place.path().to_owned(), &metadata, blake3::hash(text.as_bytes()), Scope::Write);
    context.files.apply_with(&fact, text.as_bytes());
    Ok(Output::text(format!("made `{shown}` with {lines} lines")).with_fact(fact))
}

/// What several replacements change in a content, in order.
pub(crate) fn changes(shown: &str, before: &[u8], edits: &[Replacement]) -> Result<Vec<Change>, Failure> {
    let mut all: Vec<(Change, usize)> = Vec::new();
    for (at, replacement) in edits.iter().enumerate() {
        let numbered = |failure: Failure| Failure::new(format!("edit {}: {}", at + 1, failure.0));
        if replacement.old == replacement.new {
            return Err(numbered(Failure::new(EQUAL)));
        }
        let found = replacement.find(before);
        let found = found.map_err(|unfit| numbered(refusal(shown, before, replacement, &unfit)))?;
        all.extend(found.into_iter().map(|change| (change, at + 1)));
    }
    all.sort_by_key(|(change, _)| change.range.start);
    let overlap = all.iter().zip(all.iter().skip(1)).find(|((a, _), (b, _))| b.range.start < a.range.end);
    if let Some(((_, one), (_, other))) = overlap {
        let (one, other) = (one.min(other), one.max(other));
        return Err(Failure::new(format!("edits {one} and {other} overlap: make one of them")));
    }
    Ok(all.into_iter().map(|(change, _)| change).collect())
}

/// Changes a file.
pub(crate) fn change(
    context: &Context,
    regular: &Regular,
    shown: &str,
    before: &[u8],
    changes: &[Change],
) -> Result<Output, Failure> {
    let after = replace::apply(before, changes);
    let fact = put(context, regular, shown, &after, Scope::Edit)?;
    let count = if changes.len() > 1 { format!(" in {} places", changes.len()) } else { String::new() };
    let diff = diff::unified(before, &after, changes, context.limits.diff_bytes);
    Ok(Output::text(format!("changed `{shown}`{count}\n{diff}")).with_fact(fact))
}

/// Puts a new content in the place of a file, and keeps in mind that the model knows it.
pub(crate) fn put(
    context: &Context,
    regular: &Regular,
    shown: &str,
    after: &[u8],
    scope: Scope,
) -> Result<FileFact, Failure> {
    if context.cancellation.is_cancelled() {
        return Err(Failure::new("cancelled by the user; the file is as it was"));
    }
    let metadata = store::replace(regular, after)
        .map_err(|error| Failure::new(format!("`{shown}` could not be changed: {error}")))?;
    let fact = fact(regular.path().to_owned(), &metadata, blake3::hash(after), scope);
    context.files.apply_with(&fact, after);
    Ok(fact)
}

/// The content of a file that is to be changed.
pub(crate) fn content(context: &Context, regular: &mut Regular, shown: &str) -> Result<Vec<u8>, Failure> {
    let cap = context.limits.edit_bytes;
    let content = regular.read(cap, shown)?;
    if content.len() as u64 > cap {
        let size = regular.metadata.len();
        return Err(Failure::new(format!(
            "`{shown}` has {size} bytes, more than the {cap} that can be edited"
        )));
    }
    Ok(content)
}

/// How two texts differ, in unified form, of at most `cap` bytes.
pub(crate) fn compared(before: &str, after: &str, cap: usize) -> String {
    diff::unified(before.as_bytes(), after.as_bytes(), &diff::changes(before, after), cap)
}

/// Checks that the model has seen the file in the state it is in, and that it may be changed.
pub(crate) fn check_seen(
    context: &Context,
    regular: &Regular,
    shown: &str,
    content: &[u8],
) -> Result<(), Failure> {
    let Some(seen) = context.files.get(regular.path()) else {
        return Err(Failure::new(format!(
            "`{shown}` has not been read yet: read it (or the part to change) first"
        )));
    };
    if seen.digest != blake3::hash(content).to_hex().as_str() {
        let text = format!("`{shown}` has changed since it was last read: read it again first");
        let Some(known) = context.files.content(regular.path()) else { return Err(Failure::new(text)) };
        let change = replace::difference(&known, content);
        let diff = diff::unified(&known, content, &[change], context.limits.diff_bytes);
        return Err(Failure::new(format!("{text}; what has changed:\n{diff}")));
    }
    if regular.metadata.permissions().readonly() {
        return Err(Failure::new(format!("`{shown}` is read-only")));
    }
    Ok(())
}

fn refusal(shown: &str, content: &[u8], replacement: &Replacement, unfit: &Unfit) -> Failure {
    let text = match unfit {
        Unfit::Empty => {
            format!("`old_string` is empty, but `{shown}` is there and not empty: give the text to replace")
        }
        Unfit::Missing => {
            let hint = nearest::hint(content, &replacement.old);
            format!("`old_string` is not in `{shown}`{hint}")
        }
        Unfit::Ambiguous(offsets) => {
            let lines = replace::line_numbers(content, offsets);
            format!(
                "`old_string` is in `{shown}` {} times, at lines {lines}: take in more of the lines around the one \
                 that is meant, or set `replace_all`",
                offsets.len()
            )
        }
    };
    Failure::new(text)
}

const DESCRIPTION: &str = "Replaces text in a file. The file must have been read before and not changed since. \
`old_string` must be the file's text exactly, with its white space but without the line numbers that `read` \
shows, and must occur once; take in neighbouring lines to make it so, or set `replace_all`. To make a new file, \
give a path that is not there and an empty `old_string`.";

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "The file, absolute or relative to the workspace"},
        "old_string": {"type": "string", "description": "The text to replace"},
        "new_string": {"type": "string", "description": "The text to put in its place"},
        "replace_all": {"type": "boolean", "description": "Replace every occurrence"}
    },
    "required": ["path", "old_string", "new_string"]
}"#;

const PATH: &str = "a file path";

const EQUAL: &str = "`old_string` and `new_string` are equal: nothing to do";
