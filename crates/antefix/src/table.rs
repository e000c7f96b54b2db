//! Tables for people: columns as wide as what stands in them, and on a terminal no wider than it.
//!
//! What is too wide is made to fit in this order: headings of numbers are broken into two lines, the last column of text
//! is wrapped, columns that can be spared are left out (and named below), all columns of text are wrapped, the first,
//! which names the lines, too. A number is never broken.

use unicode_width::UnicodeWidthChar;

use crate::out::{say, width};
use crate::screen::one_line;

/// A table that is written line by line.
pub struct Table {
    columns: Vec<Column>,
    /// Columns that a narrow terminal may go without, the least valuable first.
    spared: Vec<usize>,
    is_headed: bool,
    lines: Vec<Line>,
}

impl Table {
    /// A table with these column headings; those that begin with `>` are of numbers and stand on the right.
    pub fn new(headings: &[&str]) -> Self {
        let column = |heading: &&str| Column {
            heading: heading.trim_start_matches('>').to_owned(),
            is_number: heading.starts_with('>'),
        };
        let columns = headings.iter().map(column).collect();
        Self { columns, spared: Vec::new(), is_headed: true, lines: Vec::new() }
    }

    /// A table of so many columns of text that says nothing of what is in them.
    pub fn unheaded(columns: usize) -> Self {
        Self { is_headed: false, ..Self::new(&vec![""; columns]) }
    }

    /// Names the headings of columns that a narrow terminal may go without, the least valuable first.
    pub fn spare(mut self, headings: &[&str]) -> Self {
        let place = |heading: &&str| self.columns.iter().position(|column| column.heading == *heading);
        self.spared = headings.iter().filter_map(place).collect();
        self
    }

    /// Adds a line; what would break it or what a terminal would obey is shown.
    pub fn line(&mut self, cells: impl IntoIterator<Item = String>) -> &mut Self {
        let cells = cells.into_iter().map(|cell| one_line(&cell, usize::MAX));
        self.lines.push(Line::Cells(cells.collect()));
        self
    }

    /// Adds a text across all columns.
    pub fn text(&mut self, text: impl Into<String>) -> &mut Self {
        self.lines.push(Line::Text(text.into()));
        self
    }

    /// Adds a rule across all columns.
    pub fn rule(&mut self) -> &mut Self {
        self.lines.push(Line::Rule);
        self
    }

    /// Prints it, as wide as the terminal allows.
    pub fn print(&self) {
        self.lines().iter().for_each(|line| say!("{line}"));
    }

    /// The lines, headings first, as wide as the terminal allows.
    pub fn lines(&self) -> Vec<String> {
        self.lines_within(width())
    }

    /// The lines in so many columns of text at most; in as many as there are without.
    fn lines_within(&self, width: Option<usize>) -> Vec<String> {
        let layout = self.layout(width);
        let all = layout.total();
        let headings =
            if self.is_headed { layout.drawn(&self.headings(), Align::Bottom) } else { Vec::new() };
        let mut lines = headings;
        for line in &self.lines {
            match line {
                Line::Cells(cells) => lines.extend(layout.drawn(cells, Align::Top)),
                Line::Text(text) => lines.extend(wrapped(text, width.unwrap_or(usize::MAX))),
                Line::Rule => lines.push("─".repeat(all)),
            }
        }
        if !layout.left_out.is_empty() {
            let text = format!("(no room for: {})", layout.left_out.join(", "));
            lines.extend(wrapped(&text, width.unwrap_or(usize::MAX)));
        }
        lines
    }

    fn headings(&self) -> Vec<String> {
        self.columns.iter().map(|column| column.heading.clone()).collect()
    }

    fn layout(&self, width: Option<usize>) -> Layout<'_> {
        let mut layout = Layout {
            shown: self
                .columns
                .iter()
                .enumerate()
                .map(|(at, column)| (at, column, self.widest(at)))
                .collect(),
            left_out: Vec::new(),
        };
        let Some(most) = width else { return layout };
        if layout.total() > most {
            layout.break_headings(|at| self.widest_cell(at));
        }
        let mut spared = self.spared.iter();
        while !layout.wrap_last_text(most) {
            let Some(spare) = spared.next() else {
                layout.wrap_texts(most);
                break;
            };
            layout.leave_out(*spare);
        }
        layout
    }

    fn widest(&self, at: usize) -> usize {
        let heading = self.columns.get(at).map_or(0, |column| length(&column.heading));
        self.widest_cell(at).max(heading)
    }

    fn widest_cell(&self, at: usize) -> usize {
        let cells = self.lines.iter().filter_map(|line| match line {
            Line::Cells(cells) => cells.get(at),
            Line::Text(_) | Line::Rule => None,
        });
        cells.map(|cell| length(cell)).max().unwrap_or(0)
    }
}

struct Column {
    heading: String,
    is_number: bool,
}

enum Line {
    Cells(Vec<String>),
    Text(String),
    Rule,
}

/// Where a cell of several lines and one of fewer stand beside each other.
#[derive(Clone, Copy)]
enum Align {
    Top,
    Bottom,
}

/// The columns that are shown, each with its place and width, and the headings of those that are not.
struct Layout<'t> {
    shown: Vec<(usize, &'t Column, usize)>,
    left_out: Vec<&'t str>,
}

impl Layout<'_> {
    fn total(&self) -> usize {
        let widths: usize = self.shown.iter().map(|(.., width)| width).sum();
        widths + GAP * self.shown.len().saturating_sub(1)
    }

    /// Lets a number's column be as narrow as it can be with its heading in two lines.
    fn break_headings(&mut self, widest_cell: impl Fn(usize) -> usize) {
        for (at, column, width) in self.shown.iter_mut().filter(|(_, column, _)| column.is_number) {
            let is_enough = |room: &usize| {
                let lines = wrapped(&column.heading, *room);
                lines.len() <= 2
                    && lines.iter().all(|line| column.heading.split(' ').any(|word| line.starts_with(word)))
            };
            let room = (1..length(&column.heading)).find(is_enough).unwrap_or(length(&column.heading));
            *width = room.max(widest_cell(*at));
        }
    }

    /// Takes from the last column of text what is too much; `false` where too little would be left of it, or where that is
    /// the first column, which names the lines.
    fn wrap_last_text(&mut self, most: usize) -> bool {
        let over = self.total().saturating_sub(most);
        let last = self.shown.iter_mut().skip(1).rev().find(|(_, column, _)| !column.is_number);
        match last {
            _ if over == 0 => true,
            Some((.., width)) if *width >= over + WIDE => {
                *width -= over;
                true
            }
            _ => false,
        }
    }

    /// Takes from the widest column of text, again and again.
    fn wrap_texts(&mut self, most: usize) {
        while self.total() > most {
            let texts = self.shown.iter_mut().filter(|(_, column, _)| !column.is_number);
            match texts.max_by_key(|(.., width)| *width) {
                Some((.., width)) if *width > NARROW => *width -= 1,
                _ => return,
            }
        }
    }

    fn leave_out(&mut self, spare: usize) {
        if let Some(place) = self.shown.iter().position(|(at, ..)| *at == spare) {
            let (_, column, _) = self.shown.remove(place);
            self.left_out.push(&column.heading);
        }
    }

    /// A line of cells, in as many lines of text as the highest of them has.
    fn drawn(&self, cells: &[String], align: Align) -> Vec<String> {
        let cell = |(at, _, width): &(usize, &Column, usize)| {
            wrapped(cells.get(*at).map_or("", String::as_str), *width)
        };
        let cells: Vec<Vec<String>> = self.shown.iter().map(cell).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        let line = |row: usize| {
            let parts = self.shown.iter().zip(&cells).map(|((_, column, width), cell)| {
                let above = if matches!(align, Align::Bottom) { height - cell.len() } else { 0 };
                let part = row.checked_sub(above).and_then(|row| cell.get(row)).map_or("", String::as_str);
                let room = " ".repeat(width.saturating_sub(length(part)));
                if column.is_number { format!("{room}{part}") } else { format!("{part}{room}") }
            });
            parts.collect::<Vec<_>>().join(&" ".repeat(GAP)).trim_end().to_owned()
        };
        (0..height).map(line).collect()
    }
}

/// A text in lines of so many characters at most, broken between words, and within one that is longer. Lines behind the
/// first begin as far in as its words do, a sign in front of them aside.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    if length(text) <= width {
        return vec![text.to_owned()];
    }
    let (hang, room) = (hang(text).min(width / 2), width.max(2));
    let (mut lines, mut line) = (Vec::new(), String::new());
    // A space too many makes an empty word.
    let mut spaces = 0;
    for word in text.split(' ') {
        if word.is_empty() {
            spaces += 1;
            continue;
        }
        if !line.trim_start().is_empty() && length(&line) + spaces + length(word) > room {
            lines.push(std::mem::replace(&mut line, " ".repeat(hang)));
            spaces = 0;
        }
        line.push_str(&" ".repeat(spaces));
        line.push_str(word);
        if length(&line) > room {
            let word = std::mem::take(&mut line);
            let mut taken = 0;
            for letter in word.chars() {
                let wide = columns(letter);
                if taken + wide > room {
                    lines.push(std::mem::replace(&mut line, " ".repeat(hang)));
                    taken = hang;
                }
                line.push(letter);
                taken += wide;
            }
        }
        spaces = 1;
    }
    lines.push(line);
    lines
}

/// How far in the words of a text begin, behind spaces and a sign.
fn hang(text: &str) -> usize {
    let spaces = length(text) - length(text.trim_start());
    let mut letters = text.trim_start().chars();
    let has_sign = letters.next().is_some_and(|sign| !sign.is_alphanumeric()) && letters.next() == Some(' ');
    spaces + if has_sign { 2 } else { 0 }
}

/// Columns that a text takes on a terminal.
fn length(text: &str) -> usize {
    text.chars().map(columns).sum()
}

/// Columns that a letter takes: two if it is a wide one, as those of Chinese are.
fn columns(letter: char) -> usize {
    letter.width().unwrap_or(0)
}

/// Columns of text between two columns.
const GAP: usize = 2;

/// What the last column of text has at least, before a column is left out for it.
const WIDE: usize = 24;

/// What a column of text has at least.
const NARROW: usize = 9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_what_stands_in_them() {
        let mut table = Table::new(&["day", ">tokens"]);
        table.line(["2026-11-30".to_owned(), "1,234".to_owned()]).rule();
        table.line(["Σ".to_owned(), "12,345,678".to_owned()]);
        assert_eq!(
            table.lines_within(None),
            [
                "day             tokens",
                "2026-11-30       1,234",
                "──────────────────────",
                "Σ           12,345,678",
            ]
        );
    }

    #[test]
    fn wide_letters_and_line_ends_do_not_break_a_table() {
        let mut table = Table::new(&["name", "words"]);
        table.line(["漢字".to_owned(), "two\nlines".to_owned()]);
        table.line(["ab".to_owned(), "\u{1b}[2J".to_owned()]);
        assert_eq!(table.lines_within(None), ["name  words", "漢字  two⏎lines", "ab    \\u{1b}[2J"]);
        assert_eq!(wrapped("漢字漢字漢", 4), ["漢字", "漢字", "漢"]);
        assert_eq!(wrapped("漢字漢", 5), ["漢字", "漢"]);
        let long = "x".repeat(2_000_000);
        assert_eq!(wrapped(&long, 80).len(), 25_000);
    }

    fn servers() -> Table {
        let mut table = Table::new(&["server", "state", ">tools", ">tokens of definitions", "reached by"])
            .spare(&["state"]);
        let line = |table: &mut Table, cells: [&str; 5]| {
            table.line(cells.map(str::to_owned));
        };
        line(
            &mut table,
            [
                "files",
                "ready",
                "14",
                "~2,811",
                "npx -y @modelcontextprotocol/server-filesystem /home/user/project",
            ],
        );
        line(&mut table, ["tickets", "failed", "0", "~0", "https://tickets.example.org/mcp"]);
        table.rule().line(["all", "", "14", "~2,811", ""].map(str::to_owned));
        table.text("tickets: the server has not answered within 30 s, and is not asked again in this run of the program");
        table
    }

    #[test]
    fn a_table_is_made_to_fit() {
        let rows: [(usize, &[&str]); 3] = [
            (
                120,
                &[
                    "server   state   tools  tokens of definitions  reached by",
                    "files    ready      14                 ~2,811  npx -y @modelcontextprotocol/server-filesystem /home/user/project",
                    "tickets  failed      0                     ~0  https://tickets.example.org/mcp",
                    "────────────────────────────────────────────────────────────────────────────────────────────────────────────────",
                    "all                 14                 ~2,811",
                    "tickets: the server has not answered within 30 s, and is not asked again in this run of the program",
                ],
            ),
            (
                80,
                &[
                    "                          tokens of",
                    "server   state   tools  definitions  reached by",
                    "files    ready      14       ~2,811  npx -y",
                    "                                     @modelcontextprotocol/server-filesystem",
                    "                                     /home/user/project",
                    "tickets  failed      0           ~0  https://tickets.example.org/mcp",
                    "────────────────────────────────────────────────────────────────────────────────",
                    "all                 14       ~2,811",
                    "tickets: the server has not answered within 30 s, and is not asked again in this",
                    "run of the program",
                ],
            ),
            (
                60,
                &[
                    "                  tokens of",
                    "server   tools  definitions  reached by",
                    "files       14       ~2,811  npx -y",
                    "                             @modelcontextprotocol/server-fi",
                    "                             lesystem /home/user/project",
                    "tickets      0           ~0  https://tickets.example.org/mcp",
                    "────────────────────────────────────────────────────────────",
                    "all         14       ~2,811",
                    "tickets: the server has not answered within 30 s, and is not",
                    "asked again in this run of the program",
                    "(no room for: state)",
                ],
            ),
        ];
        for (width, expect) in rows {
            let lines = servers().lines_within(Some(width));
            assert_eq!(lines, expect, "{width}:\n{}", lines.join("\n"));
        }
        assert_eq!(servers().lines_within(None), rows[0].1, "where there is no terminal, nothing is broken");
    }

    #[test]
    fn a_number_is_never_broken() {
        for width in 1..60 {
            let lines = servers().lines_within(Some(width));
            assert!(lines.iter().any(|line| line.contains("~2,811")), "{width}:\n{}", lines.join("\n"));
        }
    }

    #[test]
    fn texts_are_broken_between_words() {
        for (text, width, expect) in [
            ("", 5, &[""][..]),
            ("one two", 7, &["one two"]),
            ("one two", 6, &["one", "two"]),
            ("  one two", 7, &["  one", "  two"]),
            ("one  two   three", 9, &["one  two", "three"]),
            ("✓ one two", 7, &["✓ one", "  two"]),
            ("  | one two", 8, &["  | one", "    two"]),
            ("onetwothree four", 4, &["onet", "woth", "ree", "four"]),
            ("ä ö ü", 3, &["ä ö", "ü"]),
        ] {
            assert_eq!(wrapped(text, width), expect, "{text:?} in {width}");
        }
    }
}
