//! `read`: shows a file, or a part of it.

mod media;
mod missing;
mod scan;

use std::io::{self, Read as _, Seek};

use antefix_wire::json::Body;

use crate::place::Purpose;
use crate::regular::Regular;
use crate::tool::{blocking, built_in};
use crate::{
    Access, BoxFuture, Content, Context, Definition, Failure, Fields, FileFact, Output, Scope, Tool,
};
use crate::{base64, paths};
use media::Media;
use scan::{Scan, Window};

pub(crate) use missing::{folder, link, missing};
pub(crate) use scan::char_start;

/// `read`: shows a file, or a part of it.
///
/// Text comes as one line for each line of the file: its number, right-aligned in six columns, a tab, and the
/// line without its line end. Remarks follow in brackets, each on a line of its own. PNG, JPEG, GIF and WebP
/// files come as an image, PDF files as a document.
#[derive(Debug)]
pub struct Read {
    definition: Definition,
}

impl Read {
    /// Makes the tool.
    pub fn new() -> Self {
        Self { definition: built_in("read", DESCRIPTION, SCHEMA) }
    }
}

impl Default for Read {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for Read {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn access(&self, context: &Context, input: &Body) -> Access {
        let path = Fields::new(input).and_then(|fields| fields.string("path", PATH));
        path.map_or(Access::Nothing, |path| Access::Reads(paths::resolve(&context.absolute(&path))))
    }

    fn call<'a>(&'a self, context: &'a Context, input: Body) -> BoxFuture<'a, Output> {
        blocking(context, input, run)
    }
}

fn run(context: &Context, input: &Body) -> Result<Output, Failure> {
    let fields = Fields::new(input)?;
    let path = fields.string("path", PATH)?;
    let offset = fields.optional_number("offset", 1)?;
    let limit = fields.optional_number("limit", 1)?;
    let mut regular = Regular::open(context, context.place(&path, Purpose::Read)?)?;
    let shown = context.shown(regular.path());
    let failed = |error: io::Error| Failure::new(format!("`{shown}` cannot be read: {error}"));
    let mut head = Vec::new();
    regular.file.by_ref().take(media::SNIFF_BYTES).read_to_end(&mut head).map_err(failed)?;
    regular.file.rewind().map_err(failed)?;
    match Media::of(&head) {
        Media::Text => text(context, regular, &shown, offset, limit),
        Media::Image(media_type) => attach(context, regular, &shown, Some(media_type)),
        Media::Pdf => attach(context, regular, &shown, None),
        Media::Binary(kind) => {
            let size = regular.metadata.len();
            Ok(Output::text(format!("[`{shown}` is {kind} of {size} bytes; it is not shown]")))
        }
    }
}

/// Shows a text file.
fn text(
    context: &Context,
    mut regular: Regular,
    shown: &str,
    offset: Option<u64>,
    limit: Option<u64>,
) -> Result<Output, Failure> {
    let limits = &context.limits;
    let size = regular.metadata.len();
    if size > limits.file_bytes {
        return Err(Failure::new(format!(
            "`{shown}` has {size} bytes, more than the {} that can be gone through; look at a part of it with \
             the shell",
            limits.file_bytes
        )));
    }
    let asked = limit.map_or(limits.read_lines, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let window = Window {
        first: offset.unwrap_or(1),
        lines: asked.min(limits.read_lines),
        bytes: limits.read_bytes,
        line_bytes: limits.line_bytes,
    };
    let stop = || context.cancellation.is_cancelled();
    let scan = Scan::run(&mut regular.file, window, limits.file_bytes, stop)
        .map_err(|error| Failure::new(format!("`{shown}` cannot be read: {error}")))?;
    if scan.total_lines > 0 && offset.is_some_and(|offset| offset > scan.total_lines) {
        return Err(Failure::new(format!(
            "`{shown}` has {} lines; `offset` {} is past its end",
            scan.total_lines, window.first
        )));
    }
    let scope = if scan.is_whole() { Scope::Whole } else { Scope::Range };
    let fact = regular.fact(scan.digest, scope);
    Ok(learned(context, Output::text(scan.render(offset.is_some() || limit.is_some())), fact))
}

/// Passes on an image (of that media type) or a PDF.
fn attach(
    context: &Context,
    mut regular: Regular,
    shown: &str,
    image: Option<&'static str>,
) -> Result<Output, Failure> {
    let (kind, cap) = match image {
        Some(media_type) => (media_type, context.limits.image_bytes),
        None => ("application/pdf", context.limits.document_bytes),
    };
    let bytes = regular.read(cap, shown)?;
    let base64_len = bytes.len().div_ceil(3) as u64 * 4;
    if base64_len > cap {
        let size = regular.metadata.len();
        return Err(Failure::new(format!(
            "`{shown}` ({kind}) has {size} bytes, too many to show: at most {} are possible",
            cap / 4 * 3
        )));
    }
    if image.is_some()
        && let Some((width, height)) = media::size(&bytes)
        && width.max(height) > media::MAX_PIXELS
    {
        let most = media::MAX_PIXELS;
        return Err(Failure::new(format!(
            "`{shown}` ({kind}) is {width} × {height} pixels, too large to show: at most {most} × {most} are possible"
        )));
    }
    let fact = regular.fact(blake3::hash(&bytes), Scope::Whole);
    let (media_type, base64) = (kind.to_owned(), base64::encode(&bytes));
    let content = match image {
        Some(_) => Content::Image { media_type, base64 },
        None => Content::Document { media_type, base64 },
    };
    Ok(learned(context, Output { content: vec![content], ..Output::default() }, fact))
}

fn learned(context: &Context, output: Output, fact: FileFact) -> Output {
    context.files.apply(&fact);
    output.with_fact(fact)
}

const DESCRIPTION: &str = "Shows a text file with line numbers (number, tab, line), or an image or PDF. A file \
must be read before it can be edited. Without a range, at most 2000 lines or 50000 bytes are shown. Everything \
that is read stays in the conversation and is paid for again at every step: for a big file, find the place with \
`grep` and read only the lines around it with `offset` and `limit`.";

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "The file, absolute or relative to the workspace"},
        "offset": {"type": "integer", "minimum": 1, "description": "First line to show, counted from 1"},
        "limit": {"type": "integer", "minimum": 1, "description": "Number of lines to show"}
    },
    "required": ["path"]
}"#;

const PATH: &str = "a file path";
