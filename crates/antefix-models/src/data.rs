//! Reads the data files: the part of TOML they use, strictly. Array-of-table headers, and keys with a text, a
//! whole number, a flag, a date, or a one-line list of texts. No escapes; anything else is an error with its
//! line.

use jiff::civil::Date;
use thiserror::Error;

/// What is wrong with a data file.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum DataError {
    /// The line is not in the part of TOML that is read.
    #[error("line {line}: not a table header, a comment or `key = value`")]
    Syntax { line: usize },
    /// A key stands twice in a row.
    #[error("line {line}: `{key}` stands twice")]
    Twice { line: usize, key: &'static str },
    /// A row lacks a key, or has it with a value of another kind.
    #[error("row at line {line}: `{key}` is missing or of the wrong kind")]
    Missing { line: usize, key: &'static str },
    /// A row has a key nobody reads.
    #[error("row at line {line}: `{key}` is not a known key")]
    Unknown { line: usize, key: &'static str },
    /// A table of that name is not expected in the file.
    #[error("row at line {line}: `{table}` is not a known table")]
    Table { line: usize, table: &'static str },
}

/// One value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Text(&'static str),
    Number(u64),
    Flag(bool),
    Day(Date),
    Texts(Vec<&'static str>),
}

/// One table of the file. Its keys are taken out one by one; what is left at the end is an error.
#[derive(Debug)]
pub(crate) struct Row {
    pub table: &'static str,
    line: usize,
    fields: Vec<(&'static str, Field)>,
}

impl Row {
    fn take(&mut self, key: &'static str) -> Option<Field> {
        let index = self.fields.iter().position(|(name, _)| *name == key)?;
        Some(self.fields.swap_remove(index).1)
    }

    pub(crate) fn missing(&self, key: &'static str) -> DataError {
        DataError::Missing { line: self.line, key }
    }

    /// Takes an optional value; `read` picks the kind.
    pub(crate) fn optional<T>(
        &mut self,
        key: &'static str,
        read: fn(Field) -> Option<T>,
    ) -> Result<Option<T>, DataError> {
        self.take(key).map(|field| read(field).ok_or_else(|| self.missing(key))).transpose()
    }

    pub(crate) fn text(&mut self, key: &'static str) -> Result<&'static str, DataError> {
        let read = |field| if let Field::Text(text) = field { Some(text) } else { None };
        self.optional(key, read)?.ok_or_else(|| self.missing(key))
    }

    /// Takes a text and turns it into something else.
    pub(crate) fn parse<T>(
        &mut self,
        key: &'static str,
        parse: fn(&str) -> Option<T>,
    ) -> Result<T, DataError> {
        let text = self.text(key)?;
        parse(text).ok_or_else(|| self.missing(key))
    }

    pub(crate) fn texts(&mut self, key: &'static str) -> Result<Vec<&'static str>, DataError> {
        let read = |field| if let Field::Texts(texts) = field { Some(texts) } else { None };
        Ok(self.optional(key, read)?.unwrap_or_default())
    }

    pub(crate) fn optional_number(&mut self, key: &'static str) -> Result<Option<u64>, DataError> {
        self.optional(key, |field| if let Field::Number(number) = field { Some(number) } else { None })
    }

    pub(crate) fn number(&mut self, key: &'static str) -> Result<u64, DataError> {
        self.optional_number(key)?.ok_or_else(|| self.missing(key))
    }

    /// Takes a flag; an absent one is off.
    pub(crate) fn flag(&mut self, key: &'static str) -> Result<bool, DataError> {
        let read = |field| if let Field::Flag(flag) = field { Some(flag) } else { None };
        Ok(self.optional(key, read)?.unwrap_or_default())
    }

    pub(crate) fn optional_day(&mut self, key: &'static str) -> Result<Option<Date>, DataError> {
        self.optional(key, |field| if let Field::Day(day) = field { Some(day) } else { None })
    }

    pub(crate) fn day(&mut self, key: &'static str) -> Result<Date, DataError> {
        self.optional_day(key)?.ok_or_else(|| self.missing(key))
    }

    /// Takes all keys that are left.
    pub(crate) fn rest(&mut self) -> Vec<(&'static str, Field)> {
        std::mem::take(&mut self.fields)
    }

    /// Ends the reading of a row: every key must have been taken.
    pub(crate) fn finish(self) -> Result<(), DataError> {
        match self.fields.first() {
            Some((key, _)) => Err(DataError::Unknown { line: self.line, key }),
            None => Ok(()),
        }
    }

    pub(crate) fn unexpected(&self) -> DataError {
        DataError::Table { line: self.line, table: self.table }
    }
}

/// Reads all rows of a file.
pub(crate) fn rows(text: &'static str) -> Result<Vec<Row>, DataError> {
    let mut rows: Vec<Row> = Vec::new();
    for (index, content) in text.lines().enumerate() {
        let line = index + 1;
        let content = content.trim();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        if let Some(table) = content.strip_prefix("[[").and_then(|rest| rest.strip_suffix("]]")) {
            rows.push(Row { table, line, fields: Vec::new() });
            continue;
        }
        let (key, value) = content.split_once(" = ").ok_or(DataError::Syntax { line })?;
        let value = field(value).ok_or(DataError::Syntax { line })?;
        let row = rows.last_mut().ok_or(DataError::Syntax { line })?;
        if row.fields.iter().any(|(name, _)| *name == key) {
            return Err(DataError::Twice { line, key });
        }
        row.fields.push((key, value));
    }
    Ok(rows)
}

fn field(value: &'static str) -> Option<Field> {
    match value {
        "true" => return Some(Field::Flag(true)),
        "false" => return Some(Field::Flag(false)),
        _ => {}
    }
    if value.starts_with('"') {
        return quoted(value).map(Field::Text);
    }
    if let Some(list) = value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return texts(list).map(Field::Texts);
    }
    if value.contains('-') {
        return value.parse().ok().map(Field::Day);
    }
    value.parse().ok().map(Field::Number)
}

fn texts(list: &'static str) -> Option<Vec<&'static str>> {
    let inner = list.strip_prefix('"')?.strip_suffix('"')?;
    inner.split("\", \"").map(plain).collect()
}

fn quoted(value: &'static str) -> Option<&'static str> {
    plain(value.strip_prefix('"')?.strip_suffix('"')?)
}

fn plain(text: &'static str) -> Option<&'static str> {
    (!text.contains(['"', '\\'])).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_each_kind_of_value() {
        let text = "# note\n[[a]]\nt = \"x, y\"\nn = 12\nf = true\nd = 2026-10-07\nl = [\"p\", \"q\"]\n";
        let read = rows(text).unwrap();
        let day = jiff::civil::date(2026, 10, 7);
        let expect = [
            ("t", Field::Text("x, y")),
            ("n", Field::Number(12)),
            ("f", Field::Flag(true)),
            ("d", Field::Day(day)),
            ("l", Field::Texts(vec!["p", "q"])),
        ];
        assert_eq!((read[0].table, read[0].fields.as_slice()), ("a", expect.as_slice()));
    }

    #[test]
    fn refuses_what_it_does_not_read() {
        let cases = [
            ("k = 1", DataError::Syntax { line: 1 }),
            ("[[a]]\nk=1", DataError::Syntax { line: 2 }),
            ("[[a]]\nk = 1.5", DataError::Syntax { line: 2 }),
            ("[[a]]\nk = \"a\\n\"", DataError::Syntax { line: 2 }),
            ("[[a]]\nk = \"a", DataError::Syntax { line: 2 }),
            ("[[a]]\nk = 1 # note", DataError::Syntax { line: 2 }),
            ("[[a]]\nk = 2026-13-01", DataError::Syntax { line: 2 }),
            ("[[a]]\nk = []", DataError::Syntax { line: 2 }),
            ("[[a]]\nk = 1\nk = 2", DataError::Twice { line: 3, key: "k" }),
        ];
        for (text, expect) in cases {
            assert_eq!(rows(text).unwrap_err(), expect, "{text:?}");
        }
    }

    #[test]
    fn a_row_must_be_read_whole_and_with_the_right_kinds() {
        let mut row = rows("[[a]]\nk = 1\nother = 2").unwrap().remove(0);
        assert_eq!(row.text("k"), Err(DataError::Missing { line: 1, key: "k" }));
        assert_eq!(row.number("gone"), Err(DataError::Missing { line: 1, key: "gone" }));
        assert_eq!(row.finish(), Err(DataError::Unknown { line: 1, key: "other" }));
    }
}
