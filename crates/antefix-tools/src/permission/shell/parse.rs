//! Lists, pipelines and compound commands.

use super::Line;
use super::here::HereDocument;
use super::word::is_name;

/// Why the reader cannot go on, in words for the user.
#[derive(Debug)]
pub(super) struct Stuck(pub(super) String);

pub(super) type Parse<T> = Result<T, Stuck>;

pub(super) fn stuck<T>(why: &str) -> Parse<T> {
    Err(Stuck(why.to_owned()))
}

/// Reads a script and adds what it may do to a [`Line`].
pub(super) struct Parser<'a> {
    letters: Vec<char>,
    at: usize,
    pub(super) line: &'a mut Line,
    pub(super) depth: usize,
    /// Here-documents whose text begins behind the next line break.
    pub(super) pending: Vec<HereDocument>,
}

impl<'a> Parser<'a> {
    pub(super) fn new(text: &str, line: &'a mut Line, depth: usize) -> Self {
        Self { letters: text.chars().collect(), at: 0, line, depth, pending: Vec::new() }
    }

    /// Reads all of it.
    pub(super) fn whole(mut self) -> Parse<()> {
        self.list(&[])?;
        if self.pending.is_empty() { Ok(()) } else { stuck("a here-document without an end") }
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.letters.get(self.at).copied()
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<char> {
        self.letters.get(self.at + ahead).copied()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let letter = self.peek();
        self.at += usize::from(letter.is_some());
        letter
    }

    /// How many letters were read.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Goes back by one letter.
    pub(super) fn at_previous(&mut self) {
        self.at = self.at.saturating_sub(1);
    }

    /// Takes `text` if it comes next.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let comes = text.chars().enumerate().all(|(ahead, letter)| self.peek_at(ahead) == Some(letter));
        if comes {
            self.at += text.chars().count();
        }
        comes
    }

    /// Steps over blanks and continued lines.
    pub(super) fn blanks(&mut self) {
        while self.take(" ") || self.take("\t") || self.take("\\\n") {}
    }

    /// Steps over blanks, line breaks and comments.
    fn gap(&mut self) -> Parse<()> {
        loop {
            self.blanks();
            match self.peek() {
                Some('\n') => self.line_break()?,
                Some('#') => self.comment(),
                _ => return Ok(()),
            }
        }
    }

    pub(super) fn comment(&mut self) {
        while self.peek().is_some_and(|letter| letter != '\n') {
            self.at += 1;
        }
    }

    /// Steps over a line break and the here-documents behind it.
    pub(super) fn line_break(&mut self) -> Parse<()> {
        self.at += 1;
        for document in std::mem::take(&mut self.pending) {
            self.here_text(&document)?;
        }
        Ok(())
    }

    /// Reads commands up to one of `stops`, which is taken and given; without stops, to the end.
    pub(super) fn list(&mut self, stops: &[&'static str]) -> Parse<&'static str> {
        loop {
            self.gap()?;
            if let Some(stop) = self.stop(stops) {
                return Ok(stop);
            }
            if self.peek().is_none() {
                return if stops.is_empty() { Ok("") } else { stuck("a command without an end") };
            }
            self.command()?;
            self.blanks();
            if let Some(stop) =
                self.stop(&stops.iter().copied().filter(|stop| !is_word(stop)).collect::<Vec<_>>())
            {
                return Ok(stop);
            }
            self.separator()?;
        }
    }

    fn separator(&mut self) -> Parse<()> {
        if self.peek() == Some('\n') {
            return self.line_break();
        }
        if self.peek().is_none() || self.peek() == Some('#') {
            return Ok(());
        }
        if matches!((self.peek(), self.peek_at(1)), (Some(';'), Some(';' | '&'))) {
            return stuck("`;;` outside `case`");
        }
        let known = ["&&", "||", "|&", "|", ";", "&"].iter().any(|separator| self.take(separator));
        if known { Ok(()) } else { stuck("a command that ends in an unexpected way") }
    }

    fn stop(&mut self, stops: &[&'static str]) -> Option<&'static str> {
        let comes = |stop: &&&str| if is_word(stop) { self.keyword_is(stop) } else { self.comes(stop) };
        let stop = *stops.iter().find(comes)?;
        self.take(stop);
        Some(stop)
    }

    fn comes(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(ahead, letter)| self.peek_at(ahead) == Some(letter))
    }

    /// Whether this reserved word comes next.
    fn keyword_is(&self, word: &str) -> bool {
        self.comes(word)
            && self.peek_at(word.chars().count()).is_none_or(|letter| " \t\n;&|<>()".contains(letter))
    }

    fn keyword(&mut self, word: &str) -> bool {
        let comes = self.keyword_is(word);
        if comes {
            self.take(word);
        }
        comes
    }

    pub(super) fn command(&mut self) -> Parse<()> {
        self.depth += 1;
        if self.depth > super::DEPTH {
            return stuck("commands nested too deeply");
        }
        self.blanks();
        self.compound()?;
        self.depth -= 1;
        Ok(())
    }

    fn compound(&mut self) -> Parse<()> {
        if let Some(word) = OTHER_KEYWORDS.iter().find(|word| self.keyword_is(word)) {
            return stuck(&format!("`{word}`"));
        }
        if self.comes("((") {
            return stuck("`((`");
        }
        if self.keyword("!") || self.keyword("time") {
            return self.negated();
        }
        if self.keyword("if") {
            self.conditional()?;
        } else if self.keyword("while") || self.keyword("until") {
            self.list(&["do"])?;
            self.list(&["done"])?;
        } else if self.keyword("for") {
            self.for_loop()?;
        } else if self.keyword("case") {
            self.case()?;
        } else if self.keyword("{") {
            self.list(&["}"])?;
        } else if self.take("(") {
            self.list(&[")"])?;
        } else {
            return self.simple();
        }
        self.redirections()
    }

    /// What `!` or `time` stands in front of.
    fn negated(&mut self) -> Parse<()> {
        self.blanks();
        while self.keyword("-p") || self.keyword("--") {
            self.blanks();
        }
        if self.peek().is_none_or(|letter| "\n;&|)".contains(letter)) { Ok(()) } else { self.command() }
    }

    fn conditional(&mut self) -> Parse<()> {
        loop {
            self.list(&["then"])?;
            match self.list(&["elif", "else", "fi"])? {
                "elif" => {}
                "else" => return self.list(&["fi"]).map(drop),
                _ => return Ok(()),
            }
        }
    }

    fn for_loop(&mut self) -> Parse<()> {
        self.blanks();
        let Some(word) = self.word()? else { return stuck("`for` without a name") };
        let name = word.plain().filter(|name| is_name(name) && !word.quoted).map(str::to_owned);
        match name {
            Some(name) if is_variable_harmless(&name) => {}
            _ => self.line.note("a loop over a variable that may change what is run"),
        }
        self.gap()?;
        if self.keyword("in") {
            self.blanks();
            while self.word()?.is_some() {
                self.blanks();
            }
        }
        self.blanks();
        self.take(";");
        self.gap()?;
        if !self.keyword("do") {
            return stuck("`for` without `do`");
        }
        self.list(&["done"]).map(drop)
    }

    fn case(&mut self) -> Parse<()> {
        self.blanks();
        self.word()?;
        self.gap()?;
        if !self.keyword("in") {
            return stuck("`case` without `in`");
        }
        loop {
            self.gap()?;
            if self.keyword("esac") {
                return Ok(());
            }
            self.take("(");
            self.case_patterns()?;
            if self.list(&[";;&", ";;", ";&", "esac"])? == "esac" {
                return Ok(());
            }
        }
    }

    fn case_patterns(&mut self) -> Parse<()> {
        loop {
            self.blanks();
            if self.word()?.is_none() {
                return stuck("a pattern of `case`");
            }
            self.blanks();
            if self.take(")") {
                return Ok(());
            }
            if !self.take("|") {
                return stuck("a pattern of `case`");
            }
        }
    }
}

fn is_word(stop: &str) -> bool {
    stop == "}" || stop.starts_with(|letter: char| letter.is_ascii_alphabetic())
}

/// Whether a shell variable of this name can change what the shell runs. Names in capitals may be in the
/// environment, and a few in small letters mean something to the shell or to programs.
pub(super) fn is_variable_harmless(name: &str) -> bool {
    let special = ["auto_resume", "histchars", "http_proxy", "https_proxy", "all_proxy", "no_proxy"];
    is_environment_harmless(name)
        || name.chars().any(|letter| letter.is_ascii_lowercase())
            && !special.contains(&name)
            && !name.starts_with("npm_")
}

/// Whether a program may be given an environment variable of this name without a question.
pub(super) fn is_environment_harmless(name: &str) -> bool {
    let known =
        ["RUST_BACKTRACE", "RUST_LOG", "NO_COLOR", "CI", "LANG", "LC_ALL", "TERM", "COLUMNS", "LINES", "TZ"];
    known.contains(&name)
}

/// Reserved words of which what follows is not read.
const OTHER_KEYWORDS: [&str; 4] = ["[[", "function", "select", "coproc"];
