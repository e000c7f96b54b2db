//! Here-documents.

use super::parse::{Parse, Parser, stuck};
use super::word::Building;

/// A here-document that was announced.
#[derive(Debug)]
pub(super) struct HereDocument {
    /// The line that ends it.
    pub(super) mark: String,
    /// Whether expansions in it are done.
    pub(super) expands: bool,
    /// Whether tabs in front of its lines are dropped.
    pub(super) strip_tabs: bool,
}

impl Parser<'_> {
    /// Reads the text of a here-document and the commands in it.
    pub(super) fn here_text(&mut self, document: &HereDocument) -> Parse<()> {
        let mut text = String::new();
        loop {
            let Some(line) = self.rest_of_line(document.expands)? else {
                return stuck("a here-document without an end");
            };
            let line = if document.strip_tabs { line.trim_start_matches('\t') } else { line.as_str() };
            if line == document.mark {
                break;
            }
            text.push_str(line);
            text.push('\n');
        }
        if !document.expands {
            return Ok(());
        }
        let depth = self.depth + 1;
        if depth > super::DEPTH {
            return stuck("commands nested too deeply");
        }
        Parser::new(&text, self.line, depth).expansions()
    }

    /// The next line without its break. A line that a backslash continues could hide the mark.
    fn rest_of_line(&mut self, expands: bool) -> Parse<Option<String>> {
        if self.peek().is_none() {
            return Ok(None);
        }
        let mut line = String::new();
        while let Some(letter) = self.next().filter(|letter| *letter != '\n') {
            line.push(letter);
        }
        if expands && line.ends_with('\\') {
            return stuck("a continued line in a here-document");
        }
        Ok(Some(line))
    }

    /// Reads a text in which only `$`, backticks and backslashes mean something.
    fn expansions(mut self) -> Parse<()> {
        let mut building = Building::new();
        while let Some(letter) = self.next() {
            match letter {
                '\\' => drop(self.next()),
                '$' => self.dollar(&mut building, true)?,
                '`' => self.backticks(&mut building, true)?,
                _ => {}
            }
        }
        Ok(())
    }
}
