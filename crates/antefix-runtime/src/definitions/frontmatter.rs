use std::collections::BTreeMap;

/// The fields at the head of a Markdown file, between two lines of `---`.
///
/// This reads the part of YAML that people write there: a name and a text a line, in quotes or not, going on in
/// indented lines; texts behind `|` and `>`; lists in brackets or of lines with a dash. What is nested deeper belongs to
/// fields that nobody here asks for, and is passed over. References are text like any other, so nothing grows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frontmatter {
    fields: BTreeMap<String, Value>,
}

/// What a field holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// One text.
    Text(String),
    /// Several.
    List(Vec<String>),
}

/// Why a file has no head that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrontmatterError {
    /// It does not begin with one.
    #[error("it does not begin with a line of `---` and its fields")]
    Missing,
    /// The head does not end.
    #[error("the line of `---` that ends its fields is missing")]
    Open,
    /// The head is too long to be one.
    #[error("its fields are longer than 16 KiB")]
    TooLong,
}

impl Frontmatter {
    /// Reads the head of a file; gives the fields, and the text behind them.
    ///
    /// # Errors
    /// [`FrontmatterError`] says what is missing.
    pub fn read(text: &str) -> Result<(Self, &str), FrontmatterError> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut rest = text;
        if next_line(&mut rest).map(str::trim_end) != Some("---") {
            return Err(FrontmatterError::Missing);
        }
        let mut lines = Vec::new();
        let mut bytes = 0;
        loop {
            let line = next_line(&mut rest).ok_or(FrontmatterError::Open)?;
            if line.trim_end() == "---" {
                break;
            }
            bytes += line.len();
            if bytes > LONGEST {
                return Err(FrontmatterError::TooLong);
            }
            lines.push(line.trim_end());
        }
        Ok((Self { fields: fields(&lines) }, rest))
    }

    /// A field's text; items of a list are joined by commas.
    pub fn text(&self, name: &str) -> Option<String> {
        let text = match self.fields.get(name)? {
            Value::Text(text) => text.clone(),
            Value::List(items) => items.join(", "),
        };
        Some(text).filter(|text| !text.trim().is_empty())
    }

    /// A field's items; a text is cut at commas outside parentheses and braces. `None` where the field is not there.
    pub fn list(&self, name: &str) -> Option<Vec<String>> {
        let items = match self.fields.get(name)? {
            Value::Text(text) => split(text).into_iter().map(|item| quoted(&item).unwrap_or(item)).collect(),
            Value::List(items) => items.clone(),
        };
        Some(items.into_iter().filter(|item| !item.is_empty()).collect())
    }

    /// Whether a field says yes.
    pub fn flag(&self, name: &str) -> Option<bool> {
        match self.text(name)?.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" => Some(false),
            _ => None,
        }
    }
}

fn next_line<'a>(rest: &mut &'a str) -> Option<&'a str> {
    if rest.is_empty() {
        return None;
    }
    let (line, behind) = rest.split_once('\n').unwrap_or((rest, ""));
    *rest = behind;
    Some(line)
}

fn fields(lines: &[&str]) -> BTreeMap<String, Value> {
    let mut fields = BTreeMap::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        at += 1;
        let Some((name, first)) = field(line) else { continue };
        let below = lines.get(at..).unwrap_or_default();
        let is_below = |line: &&&str| line.is_empty() || line.starts_with([' ', '\t']) || is_item(line);
        let count = below.iter().take_while(is_below).count();
        let below = below.get(..count).unwrap_or_default();
        at += count;
        fields.insert(name.to_owned(), value(first.trim(), below));
    }
    fields
}

/// Name and text of a line that begins a field.
fn field(line: &str) -> Option<(&str, &str)> {
    let (name, text) = line.split_once(':')?;
    let is_name = !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    (is_name && (text.is_empty() || text.starts_with([' ', '\t']))).then_some((name, text))
}

fn is_item(line: &str) -> bool {
    line == "-" || line.starts_with("- ")
}

fn value(first: &str, below: &[&str]) -> Value {
    match first.chars().next() {
        Some('|' | '>') if first.len() <= 3 => Value::Text(block(first, below)),
        Some('[') => {
            let whole = joined(first, below);
            let inner = whole.strip_prefix('[').unwrap_or(&whole);
            let inner = inner.strip_suffix(']').unwrap_or(inner);
            Value::List(split(inner).iter().map(|item| unquoted(item)).collect())
        }
        None if below.iter().any(|line| is_item(line.trim_start())) => {
            let items = below.iter().filter_map(|line| line.trim_start().strip_prefix('-'));
            Value::List(items.map(|item| unquoted(item.trim())).collect())
        }
        // What stands below is a structure of its own.
        None if below.iter().any(|line| field(line.trim_start()).is_some()) => Value::Text(String::new()),
        _ => Value::Text(unquoted(&joined(first, below))),
    }
}

/// A text that goes on in the lines below.
fn joined(first: &str, below: &[&str]) -> String {
    let below = below.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
    let parts: Vec<&str> = std::iter::once(first).chain(below).filter(|part| !part.is_empty()).collect();
    parts.join(" ")
}

/// The lines below as a text: as they stand behind `|`, and joined behind `>`.
fn block(mark: &str, below: &[&str]) -> String {
    let indent = |line: &&str| line.len() - line.trim_start().len();
    let least = below.iter().filter(|line| !line.is_empty()).map(indent).min().unwrap_or(0);
    let lines = below.iter().map(|line| line.get(least..).unwrap_or_default());
    let text = if mark.starts_with('|') {
        lines.collect::<Vec<_>>().join("\n")
    } else {
        let paragraphs: Vec<String> =
            lines.collect::<Vec<_>>().split(|line| line.is_empty()).map(|part| part.join(" ")).collect();
        paragraphs.join("\n")
    };
    text.trim_end().to_owned()
}

/// A text without its quotes, or without a comment behind it.
fn unquoted(text: &str) -> String {
    let bare = text.split_once(" #").map_or(text, |(text, _)| text).trim();
    quoted(text).or_else(|| quoted(bare)).unwrap_or_else(|| bare.to_owned())
}

/// What stands within the quotes of a text that is one in quotes.
fn quoted(text: &str) -> Option<String> {
    let inner = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    // One that ends before is the first of several.
    if let Some(inner) = inner('\'') {
        return (!inner.replace("''", "").contains('\'')).then(|| inner.replace("''", "'"));
    }
    let inner = inner('"')?;
    (!inner.replace(r"\\", "").replace("\\\"", "").contains('"')).then(|| unescaped(inner))
}

fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (letter, if letter == '\\' { letters.next() } else { None }) {
            (_, Some('n')) => out.push('\n'),
            (_, Some('t')) => out.push('\t'),
            (_, Some(escaped)) => out.push(escaped),
            (letter, None) => out.push(letter),
        }
    }
    out
}

/// Cuts at commas outside parentheses and braces.
fn split(text: &str) -> Vec<String> {
    let (mut parts, mut part, mut depth) = (Vec::new(), String::new(), 0_usize);
    for letter in text.chars() {
        match letter {
            '(' | '{' => depth += 1,
            ')' | '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(std::mem::take(&mut part).trim().to_owned());
                continue;
            }
            _ => {}
        }
        part.push(letter);
    }
    parts.push(part.trim().to_owned());
    parts
}

/// Bytes of a head.
const LONGEST: usize = 16 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(head: &str, name: &str, text: Option<&str>, list: Option<&[&str]>) {
        let file = format!("---\n{head}\n---\nbody\n");
        let (read, body) = Frontmatter::read(&file).unwrap();
        assert_eq!(body, "body\n");
        assert_eq!(read.text(name).as_deref(), text, "{head}");
        let list: Option<Vec<String>> = list.map(|list| list.iter().map(|&item| item.to_owned()).collect());
        assert_eq!(read.list(name), list, "{head}");
    }

    #[test]
    fn fields_as_people_write_them() {
        for (head, name, text, list) in [
            ("name: a", "name", Some("a"), Some(&["a"][..])),
            ("name: a", "other", None, None),
            ("name:", "name", None, Some(&[])),
            (
                "d: Use this: it helps # a remark",
                "d",
                Some("Use this: it helps"),
                Some(&["Use this: it helps"]),
            ),
            ("d: \"a \\\"b\\\" # c\"", "d", Some("a \"b\" # c"), Some(&["a \"b\" # c"])),
            ("d: 'it''s'", "d", Some("it's"), Some(&["it's"])),
            ("d: one\n  two\n\n  three\nname: a", "d", Some("one two three"), Some(&["one two three"])),
            (
                "d: |\n  one\n    two\n\n  three\nname: a",
                "d",
                Some("one\n  two\n\nthree"),
                Some(&["one\n  two\n\nthree"]),
            ),
            ("d: >-\n  one\n  two\n\n  three", "d", Some("one two\nthree"), Some(&["one two\nthree"])),
            (
                "t: Read, Bash(git log:*, x), Grep",
                "t",
                Some("Read, Bash(git log:*, x), Grep"),
                Some(&["Read", "Bash(git log:*, x)", "Grep"]),
            ),
            ("t: \"a\", 'b'", "t", Some("\"a\", 'b'"), Some(&["a", "b"])),
            ("t: \"a\", \"b\"", "t", Some("\"a\", \"b\""), Some(&["a", "b"])),
            ("t: 'a', 'b'", "t", Some("'a', 'b'"), Some(&["a", "b"])),
            ("t: *.{ts,tsx}, b", "t", Some("*.{ts,tsx}, b"), Some(&["*.{ts,tsx}", "b"])),
            ("t: [a, src/[ab]]", "t", Some("a, src/[ab]"), Some(&["a", "src/[ab]"])),
            ("t: [Read, \"Grep\"]", "t", Some("Read, Grep"), Some(&["Read", "Grep"])),
            ("t: [Read,\n  Grep]", "t", Some("Read, Grep"), Some(&["Read", "Grep"])),
            ("t:\n  - Read\n  - 'Grep'", "t", Some("Read, Grep"), Some(&["Read", "Grep"])),
            ("t:\n- Read\n- Grep\nname: a", "name", Some("a"), Some(&["a"])),
            ("hooks:\n  Stop:\n    - x: y\nname: a", "name", Some("a"), Some(&["a"])),
            ("a: &x [1]\nb: *x", "b", Some("*x"), Some(&["*x"])),
            ("not a field\n: x\nname: a", "name", Some("a"), Some(&["a"])),
            ("name: a\r", "name", Some("a"), Some(&["a"])),
        ] {
            check(head, name, text, list);
        }
    }

    #[test]
    fn flags() {
        for (text, expect) in [("true", Some(true)), ("No", Some(false)), ("maybe", None)] {
            let file = format!("---\nf: {text}\n---\n");
            assert_eq!(Frontmatter::read(&file).unwrap().0.flag("f"), expect, "{text}");
        }
    }

    #[test]
    fn what_has_no_head_says_so() {
        let long = format!("---\nd: {}\n---\n", "x".repeat(LONGEST));
        for (file, expect) in [
            ("", FrontmatterError::Missing),
            ("# Title\n", FrontmatterError::Missing),
            ("--- \nname: a\n", FrontmatterError::Open),
            (long.as_str(), FrontmatterError::TooLong),
        ] {
            assert_eq!(Frontmatter::read(file), Err(expect));
        }
        assert_eq!(Frontmatter::read("\u{feff}---\r\n---"), Ok((Frontmatter::default(), "")));
    }
}
