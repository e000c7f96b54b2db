//! Expansions: what begins with `$` or a backtick.

use super::parse::{Parse, Parser, stuck};
use super::word::{Building, is_name};

impl Parser<'_> {
    /// Reads what stands behind a `$`.
    pub(super) fn dollar(&mut self, building: &mut Building, quoted: bool) -> Parse<()> {
        match self.peek() {
            Some('(') if self.peek_at(1) == Some('(') => self.sum()?,
            Some('(') => self.nested()?,
            Some('{') => self.parameter()?,
            Some('[') => return stuck("`$[`"),
            Some('\\') if self.peek_at(1) == Some('\n') => return stuck("a continued line behind `$`"),
            Some('\'') if !quoted => return self.escapes(building),
            Some('"') if !quoted => return stuck("`$\"`"),
            Some(letter) if letter.is_ascii_alphabetic() || letter == '_' => self.name(),
            Some(letter) if letter.is_ascii_digit() || "@*#?-$!".contains(letter) => {
                self.next();
                // `"$@"` becomes several words even in quotes.
                building.expansion(quoted && letter != '@');
                return Ok(());
            }
            _ => {
                if quoted {
                    building.quoted('$');
                } else {
                    building.bare('$');
                }
                return Ok(());
            }
        }
        building.expansion(quoted);
        Ok(())
    }

    fn name(&mut self) {
        while self.peek().is_some_and(|letter| letter.is_ascii_alphanumeric() || letter == '_') {
            self.next();
        }
    }

    /// Reads `( … )` as commands that run.
    pub(super) fn nested(&mut self) -> Parse<()> {
        if !self.pending.is_empty() {
            return stuck("a substitution on the line of a here-document");
        }
        self.next();
        self.depth += 1;
        if self.depth > super::DEPTH {
            return stuck("commands nested too deeply");
        }
        self.list(&[")"])?;
        self.depth -= 1;
        if self.pending.is_empty() { Ok(()) } else { stuck("a here-document without an end") }
    }

    /// `$(( … ))`: the values of variables are evaluated, and may run commands in turn; so numbers only.
    fn sum(&mut self) -> Parse<()> {
        self.take("((");
        let mut open = 2;
        while open > 0 {
            match self.next() {
                Some('(') => open += 1,
                Some(')') => open -= 1,
                Some(letter) if letter.is_ascii_digit() || " +-*/%<>=&|^~".contains(letter) => {}
                _ => return stuck("arithmetic with more than numbers"),
            }
        }
        Ok(())
    }

    /// `${…}`: a name, its length, or a name with a plain default, prefix or suffix.
    fn parameter(&mut self) -> Parse<()> {
        self.next();
        let mut text = String::new();
        loop {
            match self.next() {
                Some('}') => break,
                Some(letter) if !"{$`\\'\"\n<>()&;|".contains(letter) => text.push(letter),
                _ => return stuck("`${` with more than a name and a plain text"),
            }
        }
        let name = text.strip_prefix('#').filter(|rest| !rest.is_empty()).unwrap_or(&text);
        let end = name.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let (name, rest) = name.split_at(end.unwrap_or(name.len()));
        let is_special = name.is_empty() && matches!(rest, "@" | "*" | "#" | "?" | "-" | "$" | "!");
        let is_plain = [":-", ":+", "-", "+", "#", "%"].iter().any(|sign| rest.starts_with(sign));
        let is_number = !name.is_empty() && name.chars().all(|letter| letter.is_ascii_digit());
        if is_special || (is_name(name) || is_number) && (rest.is_empty() || is_plain) {
            return Ok(());
        }
        stuck("`${` with more than a name and a plain text")
    }

    /// Reads commands in backticks.
    pub(super) fn backticks(&mut self, building: &mut Building, quoted: bool) -> Parse<()> {
        let mut text = String::new();
        loop {
            match self.next() {
                Some('`') => break,
                Some('\\') => match self.next() {
                    Some(escaped @ ('$' | '`' | '\\')) => text.push(escaped),
                    Some('"') if quoted => text.push('"'),
                    Some(other) => text.extend(['\\', other]),
                    None => return stuck("a backtick without an end"),
                },
                Some(letter) => text.push(letter),
                None => return stuck("a backtick without an end"),
            }
        }
        self.line.script(&text, self.depth + 1);
        building.expansion(quoted);
        Ok(())
    }

    /// `$'…'`
    fn escapes(&mut self, building: &mut Building) -> Parse<()> {
        self.next();
        building.quote();
        loop {
            match self.next() {
                Some('\'') => return Ok(()),
                Some('\\') => building.quoted(self.escape()?),
                Some(letter) => building.quoted(letter),
                None => return stuck("a quote without an end"),
            }
        }
    }

    fn escape(&mut self) -> Parse<char> {
        let code = match self.next() {
            Some('n') => return Ok('\n'),
            Some('t') => return Ok('\t'),
            Some(letter @ ('\\' | '\'' | '"' | '?')) => return Ok(letter),
            Some('x') => self.code(16, 2),
            Some(letter) if letter.is_digit(8) => {
                self.at_previous();
                self.code(8, 3)
            }
            _ => None,
        };
        match code.and_then(char::from_u32).filter(|letter| letter.is_ascii() && !letter.is_control()) {
            Some(letter) => Ok(letter),
            None => stuck("an escape in `$'…'`"),
        }
    }

    fn code(&mut self, radix: u32, most: usize) -> Option<u32> {
        let mut value = None;
        for _ in 0..most {
            let Some(digit) = self.peek().and_then(|letter| letter.to_digit(radix)) else { break };
            value = Some(value.unwrap_or(0) * radix + digit);
            self.next();
        }
        value
    }
}
