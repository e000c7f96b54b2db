//! Puts what was found on a page of limited size.

use std::path::Path;

use super::Mode;
use super::search::Found;
use crate::Context;

/// A page of results, filled in order.
pub(super) struct Page<'a> {
    context: &'a Context,
    mode: Mode,
    limit: usize,
    text: String,
    /// Lines or paths on the page.
    shown: usize,
    /// There was no room for something.
    full: bool,
    files: u64,
    matches: u64,
    binaries: u64,
    failures: u64,
}

impl<'a> Page<'a> {
    pub(super) fn new(context: &'a Context, mode: Mode, limit: usize) -> Self {
        Self {
            context,
            mode,
            limit,
            text: String::new(),
            shown: 0,
            full: false,
            files: 0,
            matches: 0,
            binaries: 0,
            failures: 0,
        }
    }

    /// How many lines there is room for.
    pub(super) fn room(&self) -> usize {
        self.limit - self.shown
    }

    /// Whether nothing that is found from here on would change the page. Files and counts are summed to the
    /// end.
    pub(super) fn is_full(&self) -> bool {
        self.full && self.mode == Mode::Content
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
            Mode::Files => self.add_line(&path),
            Mode::Count => self.add_line(&format!("{path}:{}", found.matches)),
        }
    }

    fn add_lines(&mut self, path: &str, found: Found) {
        if self.room() == 0 {
            self.full = true;
            return;
        }
        let gap = if self.text.is_empty() { "" } else { "\n" };
        let head = format!("{gap}{path}\n");
        if self.text.len() + head.len() > self.context.limits.grep_bytes {
            self.full = true;
            return;
        }
        self.text.push_str(&head);
        for line in found.lines {
            match line {
                // A line that the next one does not follow.
                None if self.room() > 0 => self.text.push_str("--\n"),
                None => {}
                Some(line) => self.add_line(&line),
            }
            if self.full {
                return;
            }
        }
        self.full = found.more;
    }

    fn add_line(&mut self, line: &str) {
        let over = self.shown > 0 && self.text.len() + line.len() > self.context.limits.grep_bytes;
        if self.full || over || self.room() == 0 {
            self.full = true;
            return;
        }
        self.text.push_str(line);
        self.text.push('\n');
        self.shown += 1;
    }

    /// The page with its remarks.
    pub(super) fn finish(self, searched: usize) -> String {
        let mut notes = Vec::new();
        let unsearched = self.binaries + self.failures;
        match self.mode {
            _ if self.files == 0 => notes.push(format!("no matches in {}", files(searched as u64 - unsearched))),
            Mode::Content if self.full => notes.push(format!(
                "the first {} lines; there are more: narrow `pattern`, `path` or `glob`, or use mode files or count",
                self.shown
            )),
            Mode::Content => {}
            Mode::Files if self.full => notes.push(format!("the first {} of {}", self.shown, files(self.files))),
            Mode::Files => {}
            Mode::Count => {
                let first = if self.full { format!("; the first {}", self.shown) } else { String::new() };
                notes.push(format!("{} matching lines in {}{first}", self.matches, files(self.files)));
            }
        }
        if self.binaries > 0 {
            notes.push(format!("binary and not searched: {}", files(self.binaries)));
        }
        if self.failures > 0 {
            notes.push(format!("could not be searched: {}", files(self.failures)));
        }
        let mut text = self.text;
        text.extend(notes.iter().map(|note| format!("[{note}]\n")));
        text.pop();
        text
    }
}

fn files(count: u64) -> String {
    if count == 1 { "1 file".to_owned() } else { format!("{count} files") }
}
