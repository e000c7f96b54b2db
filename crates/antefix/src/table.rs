//! Tables for people: columns as wide as what stands in them.

/// A table that is written line by line.
pub struct Table {
    aligned_right: Vec<bool>,
    lines: Vec<Vec<String>>,
}

impl Table {
    /// A table with these column headings; those that begin with `>` are of numbers and stand on the right.
    pub fn new(headings: &[&str]) -> Self {
        let aligned_right = headings.iter().map(|heading| heading.starts_with('>')).collect();
        let first = headings.iter().map(|heading| heading.trim_start_matches('>').to_owned()).collect();
        Self { aligned_right, lines: vec![first] }
    }

    /// Adds a line.
    pub fn line(&mut self, cells: impl IntoIterator<Item = String>) -> &mut Self {
        self.lines.push(cells.into_iter().collect());
        self
    }

    /// Adds a rule across all columns.
    pub fn rule(&mut self) -> &mut Self {
        self.lines.push(Vec::new());
        self
    }

    /// The lines, headings first.
    pub fn lines(&self) -> Vec<String> {
        let columns = 0..self.aligned_right.len();
        let widest = |column: usize| {
            let cells = self.lines.iter().filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = columns.map(widest).collect();
        let all = widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
        self.lines.iter().map(|line| self.drawn(line, &widths, all)).collect()
    }

    fn drawn(&self, line: &[String], widths: &[usize], all: usize) -> String {
        if line.is_empty() {
            return "─".repeat(all);
        }
        let cells = line.iter().zip(widths).zip(&self.aligned_right).map(|((cell, width), right)| {
            let width = *width;
            if *right { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_what_stands_in_them() {
        let mut table = Table::new(&["day", ">tokens"]);
        table.line(["2026-11-30".to_owned(), "1,234".to_owned()]).rule();
        table.line(["Σ".to_owned(), "12,345,678".to_owned()]);
        assert_eq!(
            table.lines(),
            [
                "day             tokens",
                "2026-11-30       1,234",
                "──────────────────────",
                "Σ           12,345,678",
            ]
        );
    }
}
