//! Words of a shell line.

/// A word as the shell reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Word {
    /// What the program receives; `None` where it depends on an expansion or on braces.
    pub(in super::super) text: Option<String>,
    /// The part in front of the first expansion.
    pub(in super::super) start: String,
    /// What of the start stands without quotes, up to the first quote or expansion.
    pub(super) bare: String,
    /// Has `*`, `?` or `[` outside quotes: becomes the names that match, if any do.
    pub(in super::super) pattern: bool,
    /// Some of it is quoted.
    pub(super) quoted: bool,
    /// May become several words, or none.
    pub(in super::super) splits: bool,
}

impl Word {
    /// A word that is written out.
    pub(in super::super) fn literal(text: &str) -> Self {
        Self { text: Some(text.to_owned()), start: text.to_owned(), bare: text.to_owned(), ..Self::default() }
    }

    /// Any number of words that are not known.
    pub(super) fn unknown() -> Self {
        Self { splits: true, ..Self::default() }
    }

    /// The text if it is written out, without patterns.
    pub(in super::super) fn plain(&self) -> Option<&str> {
        self.text.as_deref().filter(|_| !self.pattern)
    }

    /// Whether it is this text.
    pub(in super::super) fn is(&self, text: &str) -> bool {
        self.plain() == Some(text)
    }

    /// Whether it may be, or become, an option.
    pub(in super::super) fn may_be_option(&self) -> bool {
        match &self.text {
            Some(text) if self.pattern => text.starts_with(['-', '*', '?', '[']),
            Some(text) => text.starts_with('-'),
            None => self.splits || self.start.is_empty() || self.start.starts_with('-'),
        }
    }

    /// The variable that it assigns in front of a command, with `+=` taken as `=`.
    pub(super) fn assigned(&self) -> Option<&str> {
        let (name, _) = self.bare.split_once('=')?;
        let name = name.strip_suffix('+').unwrap_or(name);
        is_name(name).then_some(name)
    }
}

/// Whether a text is the name of a variable.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// A word while it is read.
#[derive(Default)]
pub(super) struct Building {
    text: String,
    word: Word,
    unknown: bool,
    /// Nothing quoted and nothing expanded so far.
    is_bare: bool,
    brace: bool,
    list: bool,
}

impl Building {
    pub(super) fn new() -> Self {
        Self { is_bare: true, ..Self::default() }
    }

    /// A letter outside quotes.
    pub(super) fn bare(&mut self, letter: char) {
        match letter {
            '*' | '?' | '[' => self.word.pattern = true,
            '{' => self.brace = true,
            ',' => self.list |= self.brace,
            '.' => self.list |= self.brace && self.text.ends_with('.'),
            _ => {}
        }
        self.push(letter);
        if self.is_bare {
            self.word.bare.push(letter);
        }
    }

    /// A letter inside quotes.
    pub(super) fn quoted(&mut self, letter: char) {
        self.quote();
        self.push(letter);
    }

    /// A quote, which may be empty.
    pub(super) fn quote(&mut self) {
        self.is_bare = false;
        self.word.quoted = true;
    }

    /// Something that is not known.
    pub(super) fn expansion(&mut self, quoted: bool) {
        self.is_bare = false;
        self.unknown = true;
        self.word.splits |= !quoted;
    }

    fn push(&mut self, letter: char) {
        self.text.push(letter);
        if !self.unknown {
            self.word.start.push(letter);
        }
    }

    pub(super) fn finish(self) -> Word {
        let mut word = self.word;
        word.pattern &= self.text != "[";
        if self.brace && self.list {
            word.splits = true;
            word.start = word.start.split('{').next().unwrap_or_default().to_owned();
        } else if !self.unknown {
            word.text = Some(self.text);
        }
        word
    }
}
