//! Puts what was found into a report of limited size.

use std::path::Path;

use super::Mode;
use super::search::Found;
use crate::Context;
use crate::spill::Page;

/// A report of what was found, filled in order.
pub(super) struct Report<'a> {
    context: &'a Context,
    mode: Mode,
    page: Page,
    files: u64,
    matches: u64,
    binaries: u64,
    failures: u64,
    unreadable: u64,
}

impl<'a> Report<'a> {
    pub(super) fn new(context: &'a Context, mode: Mode, limit: usize, unreadable: u64) -> Self {
        let page = Page::new(context, limit, context.limits.grep_bytes);
        Self { context, mode, page, files: 0, matches: 0, binaries: 0, failures: 0, unreadable }
    }

    /// Bytes of lines there is room for.
    pub(super) fn room(&self) -> usize {
        self.page.room()
    }

    /// Whether nothing that is found from here on would change the report. Files and counts are summed to the
    /// end.
    pub(super) fn is_full(&self) -> bool {
        self.page.is_full() && self.mode == Mode::Content
    }

    /// Adds what was found in the next file.
    pub(super) fn add(&mut self, file: &Path, found: Found) {
        if self.is_full() {
            return;
        }
        self.failures += u64::from(found.failed);
        self.binaries += u64::from(found.is_binary);
        if found.matches == 0 || found.is_binary {
            return;
        }
        self.files += 1;
        self.matches += found.matches;
        let path = self.context.shown(file);
        match self.mode {
            Mode::Content => self.add_lines(&path, found),
            Mode::Files => self.page.push("", &path, true),
            Mode::Count => self.page.push("", &format!("{path}:{}", found.matches), true),
        }
    }

    fn add_lines(&mut self, path: &str, found: Found) {
        let gap = if self.page.is_empty() { "" } else { "\n" };
        let mut headings = format!("{gap}{path}\n");
        for line in found.lines {
            match line {
                // A line that the next one does not follow.
                None => headings.push_str("--\n"),
                Some(line) => {
                    self.page.push(&headings, &line, true);
                    headings.clear();
                }
            }
        }
        if found.more {
            self.page.close();
        }
    }

    /// The report with its remarks.
    pub(super) fn finish(self, searched: usize) -> String {
        let what = if self.mode == Mode::Content { "lines" } else { "files" };
        let mut page = self.page.finish(self.context, "grep", what);
        let mut notes = Vec::new();
        let unsearched = self.binaries + self.failures;
        if self.files == 0 {
            notes.push(format!("no matches in {}", files(searched as u64 - unsearched)));
        } else if self.mode == Mode::Count {
            notes.push(format!("{} matching lines in {}", self.matches, files(self.files)));
        }
        notes.extend(page.rest);
        if self.binaries > 0 {
            notes.push(format!("binary and not searched: {}", files(self.binaries)));
        }
        if self.failures > 0 {
            notes.push(format!("could not be searched: {}", files(self.failures)));
        }
        if self.unreadable > 0 {
            notes.push(format!("folders that could not be searched: {}", self.unreadable));
        }
        page.text.extend(notes.iter().map(|note| format!("[{note}]\n")));
        page.text.pop();
        page.text
    }
}

fn files(count: u64) -> String {
    if count == 1 { "1 file".to_owned() } else { format!("{count} files") }
}
