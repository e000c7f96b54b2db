//! Simple commands: assignments, words, redirections.

use super::here::HereDocument;
use super::parse::{Parse, Parser, is_environment_harmless, is_variable_harmless, stuck};
use super::word::{Building, Word};
use super::{Simple, Target};

impl Parser<'_> {
    /// Reads a simple command or the definition of a function.
    pub(super) fn simple(&mut self) -> Parse<()> {
        let from = self.position();
        let mut words: Vec<Word> = Vec::new();
        let mut assigned: Vec<String> = Vec::new();
        loop {
            self.blanks();
            if self.redirection()? {
                continue;
            }
            if self.peek() == Some('#') {
                self.comment();
            }
            if self.peek() == Some('(') && words.len() == 1 && assigned.is_empty() {
                return self.function();
            }
            let Some(word) = self.word()? else { break };
            match word.assigned() {
                Some(name) if words.is_empty() => {
                    assigned.push(name.to_owned());
                    if self.peek() == Some('(') {
                        return stuck("an array");
                    }
                }
                _ if words.is_empty() && word.bare.contains("]=") => return stuck("an array"),
                _ => words.push(word),
            }
        }
        if self.position() == from {
            return stuck("a command that begins in an unexpected way");
        }
        self.finish(words, &assigned);
        Ok(())
    }

    fn finish(&mut self, words: Vec<Word>, assigned: &[String]) {
        let is_harmless = if words.is_empty() { is_variable_harmless } else { is_environment_harmless };
        for name in assigned.iter().filter(|name| !is_harmless(name)) {
            self.line.note(format!("`{name}=`, which may change what is run"));
        }
        if words.is_empty() {
            return;
        }
        if words.first().is_none_or(|name| !is_name_clear(name) || RESERVED.contains(&name.bare.as_str())) {
            self.line.note("a command whose name is not written out");
        }
        self.line.commands.push(Simple { words, ..Simple::default() });
    }

    /// Reads a function's body as if it ran: it may be called under any name.
    fn function(&mut self) -> Parse<()> {
        self.line.note("a function, which may stand for any command");
        self.take("(");
        self.blanks();
        if !self.take(")") {
            return stuck("a parenthesis behind a word");
        }
        self.blanks();
        while self.peek() == Some('\n') {
            self.line_break()?;
            self.blanks();
        }
        self.command()
    }

    /// Reads the redirections behind a compound command.
    pub(super) fn redirections(&mut self) -> Parse<()> {
        loop {
            self.blanks();
            if !self.redirection()? {
                return Ok(());
            }
        }
    }

    /// Reads one redirection if it comes next.
    fn redirection(&mut self) -> Parse<bool> {
        let mut digits = 0;
        while self.peek_at(digits).is_some_and(|letter| letter.is_ascii_digit()) {
            digits += 1;
        }
        let both = digits == 0 && self.peek() == Some('&') && self.peek_at(1) == Some('>');
        let sign = self.peek_at(digits);
        let process = digits == 0 && self.peek_at(1) == Some('(');
        if !both && (!matches!(sign, Some('<' | '>')) || process) {
            return Ok(false);
        }
        for _ in 0..digits {
            self.next();
        }
        // INVARIANT: one of them comes, by the test above.
        let operator = OPERATORS.into_iter().find(|operator| self.take(operator)).unwrap_or(">");
        if self.peek() == Some('\\') && self.peek_at(1) == Some('\n') {
            return stuck("a continued line in a redirection");
        }
        self.blanks();
        match operator {
            "<<" | "<<-" => self.here(operator == "<<-")?,
            _ => self.redirect(operator)?,
        }
        Ok(true)
    }

    fn redirect(&mut self, operator: &str) -> Parse<()> {
        let Some(word) = self.word()? else { return stuck("a redirection without a target") };
        if operator == "<<<" {
            return Ok(());
        }
        let path = word.plain().map(str::to_owned);
        let is_copy = path.as_deref().is_some_and(|text| {
            !text.is_empty() && text.trim_end_matches('-').chars().all(|letter| letter.is_ascii_digit())
        });
        if operator.ends_with('&') && operator != "&" && is_copy {
            return Ok(());
        }
        if operator == "<&" {
            return stuck("`<&` with something that is no number");
        }
        let path = path.filter(|path| !path.starts_with('~'));
        self.line.targets.push(Target { path, write: operator != "<" });
        Ok(())
    }

    fn here(&mut self, strip_tabs: bool) -> Parse<()> {
        let Some(word) = self.word()? else { return stuck("a here-document without a mark") };
        match word.text {
            Some(mark) if !mark.contains('\n') => {
                self.pending.push(HereDocument { mark, expands: !word.quoted, strip_tabs });
                Ok(())
            }
            _ => stuck("a here-document whose mark is not written out"),
        }
    }

    /// Reads a word; `None` where none begins.
    pub(super) fn word(&mut self) -> Parse<Option<Word>> {
        let mut building = Building::new();
        let from = self.position();
        loop {
            match self.peek() {
                None | Some(' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')') => break,
                Some('<' | '>') if self.peek_at(1) == Some('(') => self.process(&mut building)?,
                Some('<' | '>') => break,
                Some(letter) => self.piece(letter, &mut building)?,
            }
        }
        let word = building.finish();
        if matches!(self.peek(), Some('<' | '>')) && word.bare.starts_with('{') {
            return stuck("a redirection into a variable");
        }
        Ok((self.position() > from).then_some(word))
    }

    /// `<( )` and `>( )`
    fn process(&mut self, building: &mut Building) -> Parse<()> {
        self.next();
        self.nested()?;
        building.expansion(true);
        Ok(())
    }

    fn piece(&mut self, letter: char, building: &mut Building) -> Parse<()> {
        self.next();
        match letter {
            '\\' => match self.next() {
                Some('\n') if self.peek().is_none_or(|next| " \t\n".contains(next)) => {}
                Some('\n') => return stuck("a continued line in the middle of a word"),
                Some(escaped) => building.quoted(escaped),
                None => return stuck("a backslash at the end"),
            },
            '\'' => self.single(building)?,
            '"' => self.double(building)?,
            '$' => self.dollar(building, false)?,
            '`' => self.backticks(building, false)?,
            '!' if !self.peek().is_none_or(|next| " \t\n=;)".contains(next)) => {
                self.line.note("`!` that may stand for an earlier command");
                building.bare('!');
            }
            letter => building.bare(letter),
        }
        Ok(())
    }

    fn single(&mut self, building: &mut Building) -> Parse<()> {
        building.quote();
        loop {
            match self.next() {
                Some('\'') => return Ok(()),
                Some(letter) => self.quoted(letter, building)?,
                None => return stuck("a quote without an end"),
            }
        }
    }

    fn double(&mut self, building: &mut Building) -> Parse<()> {
        building.quote();
        loop {
            match self.next() {
                Some('"') => return Ok(()),
                Some('$') => self.dollar(building, true)?,
                Some('`') => self.backticks(building, true)?,
                Some('\\') => match self.next() {
                    Some('\n') => {}
                    Some(escaped @ ('$' | '`' | '"' | '\\')) => building.quoted(escaped),
                    Some(other) => {
                        building.quoted('\\');
                        self.quoted(other, building)?;
                    }
                    None => return stuck("a quote without an end"),
                },
                Some(letter) => self.quoted(letter, building)?,
                None => return stuck("a quote without an end"),
            }
        }
    }

    fn quoted(&mut self, letter: char, building: &mut Building) -> Parse<()> {
        if letter == '\n' && !self.pending.is_empty() {
            return stuck("a line break in quotes in front of a here-document");
        }
        building.quoted(letter);
        Ok(())
    }
}

/// Whether a command's name is plainly there.
fn is_name_clear(name: &Word) -> bool {
    let is_plain = |text: &str| {
        !text.is_empty()
            && text.chars().all(|letter| letter.is_ascii_graphic())
            && !text.starts_with(['~', '!', '-'])
    };
    name.plain().is_some_and(is_plain)
}

/// Words that are no command's name where they stand without quotes.
const RESERVED: [&str; 14] =
    ["{", "}", "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac"];

/// Longer ones first.
const OPERATORS: [&str; 12] = ["&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", ">>", ">|", ">&", "<", ">"];
