//! Searches one file.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use grep_matcher::LineTerminator;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch};

use super::Mode;
use crate::Cancellation;
use crate::place::Folder;
use crate::read::char_start;

/// What to search for, and how.
#[derive(Clone, Debug)]
pub(super) struct Search {
    pub(super) matcher: RegexMatcher,
    pub(super) mode: Mode,
    pub(super) lines_around: usize,
    /// Bytes of a line that are shown.
    pub(super) line_bytes: usize,
    pub(super) cancellation: Cancellation,
}

impl Search {
    /// A searcher, to be used for many files.
    pub(super) fn searcher(&self) -> Searcher {
        let around = if self.mode == Mode::Content { self.lines_around } else { 0 };
        SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .binary_detection(BinaryDetection::quit(0))
            .line_number(self.mode == Mode::Content)
            .heap_limit(Some(HEAP_BYTES))
            .before_context(around)
            .after_context(around)
            .build()
    }

    /// Searches a file beneath a folder and keeps lines of `room` bytes at most.
    pub(super) fn file(&self, searcher: &mut Searcher, folder: &Folder, file: &Path, room: usize) -> Found {
        let mut sink = Collector { search: self, room, found: Found::default() };
        let is_searched = folder.open_listed(file).is_ok_and(|file| {
            let file = Stoppable { file, cancellation: &self.cancellation };
            searcher.search_reader(&self.matcher, file, &mut sink).is_ok()
        });
        sink.found.failed = !is_searched;
        if sink.found.lines.last() == Some(&None) {
            sink.found.lines.pop();
        }
        sink.found
    }

    /// A line as it is shown: without its end, and if it is long, the part around the first match.
    fn shown(&self, line: &[u8]) -> String {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() <= self.line_bytes {
            return String::from_utf8_lossy(line).into_owned();
        }
        let found = grep_matcher::Matcher::find(&self.matcher, line).ok().flatten();
        let at = found.map_or(0, |found| found.start());
        let start = at.saturating_sub(self.line_bytes / 4).min(line.len() - self.line_bytes);
        let (start, end) = (char_start(line, start), char_start(line, start + self.line_bytes));
        // INVARIANT: the window lies within the line, and no character is longer than the window.
        let part = String::from_utf8_lossy(&line[start..end]);
        let before = if start > 0 { "… " } else { "" };
        let after: Cow<'_, str> = if end < line.len() { " …".into() } else { "".into() };
        format!("{before}{part}{after} [cut: the line has {} bytes]", line.len())
    }
}

/// What was found in a file.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Number of matching lines that were seen.
    pub(super) matches: u64,
    /// The lines to show, numbered; `:` or `-` stands behind the number. `None`: lines are left out here.
    pub(super) lines: Vec<Option<String>>,
    /// Bytes of the lines.
    pub(super) bytes: usize,
    /// There is more than `lines` holds.
    pub(super) more: bool,
    pub(super) is_binary: bool,
    /// The file could not be searched to its end.
    pub(super) failed: bool,
}

struct Collector<'a> {
    search: &'a Search,
    room: usize,
    found: Found,
}

impl Collector<'_> {
    /// Keeps a line; `false` if there is no room.
    fn keep(&mut self, number: Option<u64>, sign: char, line: &[u8]) -> bool {
        if self.found.bytes > self.room {
            self.found.more = true;
            return false;
        }
        let line = format!("{}{sign}{}", number.unwrap_or(0), self.search.shown(line));
        self.found.bytes += line.len();
        self.found.lines.push(Some(line));
        true
    }
}

impl Sink for Collector<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.found.matches += 1;
        Ok(match self.search.mode {
            Mode::Content => self.keep(found.line_number(), ':', found.bytes()),
            Mode::Files => false,
            Mode::Count => true,
        })
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        Ok(self.keep(context.line_number(), '-', context.bytes()))
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.found.lines.push(None);
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.found.is_binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}

/// A file that ends with an error once the call is cancelled.
struct Stoppable<'a> {
    file: File,
    cancellation: &'a Cancellation,
}

impl Read for Stoppable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancellation.is_cancelled() {
            return Err(io::Error::other("cancelled"));
        }
        self.file.read(buffer)
    }
}

/// Bytes of one line and its context that are held at most; files with longer lines count as not searched.
const HEAP_BYTES: usize = 64 << 20;
