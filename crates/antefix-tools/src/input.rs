//! The fields of a call's input, checked as they are read.

use antefix_wire::json::{Body, Kind, Node};

use crate::Failure;

/// The fields of a call's input. Unknown fields are let be, `null` counts as missing, and numbers and
/// booleans may come as strings, as models sometimes send them.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'a> {
    object: Node<'a>,
}

impl<'a> Fields<'a> {
    /// Looks at an input.
    ///
    /// # Errors
    /// Where the input is not an object.
    pub fn new(input: &'a Body) -> Result<Self, Failure> {
        match input.root().kind() {
            Kind::Object => Ok(Self { object: input.root() }),
            _ => Err(Failure::new(format!("the input must be an object, but is {}", excerpt(input.root())))),
        }
    }

    /// A string that must be there; `expected` says what it is, as in "a file path".
    ///
    /// # Errors
    /// Where it is missing or not a string; the failure names the field.
    pub fn string(&self, name: &str, expected: &str) -> Result<String, Failure> {
        self.optional_string(name, expected)?
            .ok_or_else(|| Failure::new(format!("`{name}` is missing: expected {expected} as a string")))
    }

    /// A string that may be missing.
    ///
    /// # Errors
    /// Where it is there and not a string.
    pub fn optional_string(&self, name: &str, expected: &str) -> Result<Option<String>, Failure> {
        self.read(name, &format!("{expected} as a string"), |node| node.str().map(|text| text.into_owned()))
    }

    /// A whole number of at least `least` that may be missing.
    ///
    /// # Errors
    /// Where it is there and not such a number.
    pub fn optional_number(&self, name: &str, least: u64) -> Result<Option<u64>, Failure> {
        self.read(name, &format!("a whole number, at least {least}"), |node| whole_number(node, least))
    }

    /// A boolean that may be missing, which counts as `false`.
    ///
    /// # Errors
    /// Where it is there and not a boolean.
    pub fn flag(&self, name: &str) -> Result<bool, Failure> {
        let value = self.read(name, "true or false", |node| match node.str() {
            Some(text) => text.trim().parse().ok(),
            None => node.bool(),
        })?;
        Ok(value.unwrap_or(false))
    }

    /// One of several words that may be missing, which counts as the first.
    ///
    /// # Errors
    /// Where it is there and none of them.
    pub fn word<'w>(&self, name: &str, words: &[&'w str]) -> Result<&'w str, Failure> {
        let quoted: Vec<_> = words.iter().map(|word| format!("\"{word}\"")).collect();
        let found = self.read(name, &format!("one of {}", quoted.join(", ")), |node| {
            words.iter().find(|word| node.is_str(word)).copied()
        })?;
        Ok(found.or(words.first().copied()).unwrap_or_default())
    }

    /// A list of objects that must be there.
    ///
    /// # Errors
    /// Where it is missing or not such a list.
    pub fn objects(&self, name: &str, expected: &str) -> Result<Vec<Self>, Failure> {
        let objects =
            self.list(name, expected, |node| (node.kind() == Kind::Object).then_some(Self { object: node }))?;
        objects.ok_or_else(|| Failure::new(format!("`{name}` is missing: expected {expected}")))
    }

    /// A list of strings; one that is missing is empty.
    ///
    /// # Errors
    /// Where it is there and not such a list.
    pub fn strings(&self, name: &str, expected: &str) -> Result<Vec<String>, Failure> {
        let strings = self.list(name, expected, |node| node.str().map(|text| text.into_owned()))?;
        Ok(strings.unwrap_or_default())
    }

    /// A list of whole numbers from 1; one that is missing is empty.
    ///
    /// # Errors
    /// Where it is there and not such a list.
    pub fn numbers(&self, name: &str, expected: &str) -> Result<Vec<u64>, Failure> {
        Ok(self.list(name, expected, |node| whole_number(node, 1))?.unwrap_or_default())
    }

    fn list<T>(
        &self,
        name: &str,
        expected: &str,
        convert: impl Fn(Node<'a>) -> Option<T>,
    ) -> Result<Option<Vec<T>>, Failure> {
        self.read(name, expected, |node| match node.kind() {
            Kind::Array => node.items().map(convert).collect(),
            _ => None,
        })
    }

    fn read<T>(
        &self,
        name: &str,
        expected: &str,
        convert: impl FnOnce(Node<'a>) -> Option<T>,
    ) -> Result<Option<T>, Failure> {
        let Some(node) = self.object.get(name).filter(|node| !node.is_null()) else {
            return Ok(None);
        };
        convert(node)
            .map(Some)
            .ok_or_else(|| Failure::new(format!("`{name}` is {}: expected {expected}", excerpt(node))))
    }
}

fn whole_number(node: Node<'_>, least: u64) -> Option<u64> {
    let text = match node.kind() {
        Kind::Number => node.raw().to_owned(),
        _ => node.str()?.into_owned(),
    };
    let digits = text.trim();
    let whole = digits.strip_suffix(".0").unwrap_or(digits);
    whole.parse().ok().filter(|number| *number >= least)
}

/// The start of a value's text.
fn excerpt(node: Node<'_>) -> String {
    let raw = node.raw();
    let end = raw.char_indices().nth(EXCERPT_CHARS).map_or(raw.len(), |(at, _)| at);
    let rest = if end < raw.len() { "…" } else { "" };
    // INVARIANT: a character begins or the text ends at `end`.
    format!("`{}{rest}`", &raw[..end])
}

const EXCERPT_CHARS: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: &str, read: impl Fn(Fields<'_>) -> Result<String, Failure>, expect: &str) {
        let body = Body::parse(input).unwrap();
        let got = Fields::new(&body).and_then(read).unwrap_or_else(|failure| failure.0);
        assert_eq!(got, expect, "{input}");
    }

    #[test]
    fn strings() {
        let read = |fields: Fields<'_>| fields.string("path", "a file path");
        check(r#"{"path":"a\nb","more":[1]}"#, read, "a\nb");
        check("{}", read, "`path` is missing: expected a file path as a string");
        check(r#"{"path":null}"#, read, "`path` is missing: expected a file path as a string");
        check(r#"{"path":12}"#, read, "`path` is `12`: expected a file path as a string");
        check(r#"{"path":["a"]}"#, read, r#"`path` is `["a"]`: expected a file path as a string"#);
        check("[]", read, "the input must be an object, but is `[]`");
        let long = format!("[\"{}\"]", "é".repeat(60));
        let expect = format!("the input must be an object, but is `[\"{}…`", "é".repeat(38));
        check(&long, read, &expect);
    }

    #[test]
    fn numbers() {
        let read = |fields: Fields<'_>| Ok(format!("{:?}", fields.optional_number("limit", 1)?));
        for (value, expect) in [
            ("10", "Some(10)"),
            ("10.0", "Some(10)"),
            ("\"10\"", "Some(10)"),
            ("\" 7 \"", "Some(7)"),
            ("null", "None"),
            ("0", "`limit` is `0`: expected a whole number, at least 1"),
            ("-3", "`limit` is `-3`: expected a whole number, at least 1"),
            ("1.5", "`limit` is `1.5`: expected a whole number, at least 1"),
            ("\"ten\"", "`limit` is `\"ten\"`: expected a whole number, at least 1"),
            ("true", "`limit` is `true`: expected a whole number, at least 1"),
            (
                "99999999999999999999",
                "`limit` is `99999999999999999999`: expected a whole number, at least 1",
            ),
        ] {
            check(&format!("{{\"limit\":{value}}}"), read, expect);
        }
        check("{}", read, "None");
    }

    #[test]
    fn flags_and_words() {
        let flag = |fields: Fields<'_>| Ok(fields.flag("all")?.to_string());
        for (value, expect) in [
            ("true", "true"),
            ("\"true\"", "true"),
            ("false", "false"),
            ("null", "false"),
            ("1", "`all` is `1`: expected true or false"),
            ("\"yes\"", "`all` is `\"yes\"`: expected true or false"),
        ] {
            check(&format!("{{\"all\":{value}}}"), flag, expect);
        }
        let word = |fields: Fields<'_>| Ok(fields.word("mode", &["content", "files"])?.to_owned());
        check("{}", word, "content");
        check(r#"{"mode":"files"}"#, word, "files");
        check(r#"{"mode":"file"}"#, word, r#"`mode` is `"file"`: expected one of "content", "files""#);
    }
}
