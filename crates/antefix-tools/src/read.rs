//! `read`: shows a file, or a part of it.

pub(crate) mod media;
mod missing;
mod notebook;
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
    let asked = Asked { offset, limit };
    match Media::of(&head) {
        Media::Text if notebook::is_one(regular.path()) => show_notebook(context, regular, &shown, asked),
        Media::Text => text(context, regular, &shown, asked),
        Media::Image(media_type) => attach(context, regular, &shown, Some(media_type)),
        Media::Pdf => attach(context, regular, &shown, None),
        Media::Binary(kind) => {
            let size = regular.metadata.len();
            Ok(Output::text(format!("[`{shown}` is {kind} of {size} bytes; it is not shown]")))
        }
    }
}

/// The part that a call asks for.
#[derive(Clone, Copy)]
struct Asked {
    offset: Option<u64>,
    limit: Option<u64>,
}

impl Asked {
    fn is_part(self) -> bool {
        self.offset.is_some() || self.limit.is_some()
    }

    fn window(self, context: &Context) -> Window {
        let limits = &context.limits;
        let lines =
            self.limit.map_or(limits.read_lines, |limit| usize::try_from(limit).unwrap_or(usize::MAX));
        Window {
            first: self.offset.unwrap_or(1),
            lines: lines.min(limits.read_lines),
            bytes: limits.read_bytes,
            line_bytes: limits.line_bytes,
        }
    }

    /// Refuses a start past the end.
    fn check(self, scan: &Scan, shown: &str) -> Result<(), Failure> {
        match self.offset {
            Some(offset) if scan.total_lines > 0 && offset > scan.total_lines => {
                let lines = scan.total_lines;
                Err(Failure::new(format!("`{shown}` has {lines} lines; `offset` {offset} is past its end")))
            }
            _ => Ok(()),
        }
    }
}

/// Shows a text file.
fn text(context: &Context, mut regular: Regular, shown: &str, asked: Asked) -> Result<Output, Failure> {
    let limits = &context.limits;
    let size = regular.metadata.len();
    if size > limits.file_bytes {
        return Err(Failure::new(format!(
            "`{shown}` has {size} bytes, more than the {} that can be gone through; look at a part of it with \
             the shell",
            limits.file_bytes
        )));
    }
    let stop = || context.cancellation.is_cancelled();
    let scan = Scan::run(&mut regular.file, asked.window(context), limits.file_bytes, stop)
        .map_err(|error| Failure::new(format!("`{shown}` cannot be read: {error}")))?;
    asked.check(&scan, shown)?;
    let scope = if scan.is_whole() { Scope::Whole } else { Scope::Range };
    let lines = scan.lines();
    let mut fact = regular.fact(scan.digest, scope);
    let text = scan.render(asked.is_part());
    if let Some(lines) = lines
        && text.len() > SHORT_BYTES
        && context.files.take_shown(regular.path(), &fact.digest, lines)
    {
        let (first, last) = lines;
        return Ok(Output::text(format!(
            "[`{shown}` is unchanged, and its lines {first} to {last} are in this conversation already; read it once \
             more if you do not find them]"
        )));
    }
    if scope == Scope::Range {
        fact.lines = lines;
        return Ok(learned(context, Output::text(text), fact));
    }
    for content in contents(&text) {
        if blake3::hash(&content).to_hex().as_str() == fact.digest {
            context.files.apply_with(&fact, &content);
            return Ok(Output::text(text).with_fact(fact));
        }
    }
    Ok(learned(context, Output::text(text), fact))
}

/// What a file may hold that was shown whole, the likeliest first: its last line may have an end or none, and a byte
/// order mark is not shown.
pub(crate) fn contents(text: &str) -> Vec<Vec<u8>> {
    if text == scan::EMPTY {
        return vec![Vec::new()];
    }
    let (lines, end) = match text.strip_suffix(scan::CRLF) {
        Some(lines) => (lines.strip_suffix('\n').unwrap_or(lines), "\r\n"),
        None => (text, "\n"),
    };
    let lines: Option<Vec<_>> = lines.split('\n').map(|line| Some(line.split_once('\t')?.1)).collect();
    let Some(lines) = lines else { return Vec::new() };
    let open = lines.join(end);
    let closed = format!("{open}{end}");
    [closed, open]
        .iter()
        .flat_map(|text| [text.clone(), format!("\u{feff}{text}")])
        .map(String::into_bytes)
        .collect()
}

/// Shows a notebook as its cells; offset and limit are of the lines that are shown.
fn show_notebook(
    context: &Context,
    mut regular: Regular,
    shown: &str,
    asked: Asked,
) -> Result<Output, Failure> {
    let bytes = regular.read(context.limits.notebook_bytes, shown)?;
    let digest = blake3::hash(&bytes);
    let Some(cells) = notebook::render(bytes) else {
        let failed = |error| Failure::new(format!("`{shown}` cannot be read: {error}"));
        regular.file.rewind().map_err(failed)?;
        return text(context, regular, shown, asked);
    };
    let stop = || context.cancellation.is_cancelled();
    let scan = Scan::run(&mut cells.as_bytes(), asked.window(context), u64::MAX, stop)
        .map_err(|error| Failure::new(format!("`{shown}` cannot be read: {error}")))?;
    asked.check(&scan, shown)?;
    let text = scan.render(asked.is_part());
    // What is shown is not what the file holds.
    let fact = regular.fact(digest, Scope::Range);
    Ok(learned(context, Output::text(format!("{text}\n[a notebook, shown as its cells]")), fact))
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

/// Bytes of a text that is not worth saying that it was shown before.
const SHORT_BYTES: usize = 300;
