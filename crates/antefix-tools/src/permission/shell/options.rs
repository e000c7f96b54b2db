//! Options in front of the command that a program runs.

use super::word::Word;

/// The options that a program takes in front of its operands.
pub(super) struct Options {
    /// Letters without a value.
    pub(super) flags: &'static str,
    /// Letters with a value, which is the rest of the word or the next word.
    pub(super) values: &'static str,
    /// Long options without a value.
    pub(super) long: &'static [&'static str],
    /// Operands in front of the command.
    pub(super) skip: usize,
}

impl Options {
    pub(super) const NONE: Self = Self { flags: "", values: "", long: &[], skip: 0 };
}

/// The words behind the options; `None` if an option is not known or not written out.
pub(super) fn operands<'w>(mut words: &'w [Word], options: &Options) -> Option<&'w [Word]> {
    while let Some((first, rest)) = words.split_first() {
        if !first.may_be_option() {
            return Some(words);
        }
        let text = first.plain()?;
        words = rest;
        if text == "--" {
            return Some(words);
        }
        if text == "-" {
            return None;
        }
        if text.starts_with("--") {
            if !options.long.contains(&text) {
                return None;
            }
            continue;
        }
        if takes_next(text, options)? {
            let (value, rest) = words.split_first()?;
            if value.splits || value.pattern {
                return None;
            }
            words = rest;
        }
    }
    Some(words)
}

/// Whether the value of a cluster of letters is the next word; `None` if a letter is not known.
fn takes_next(cluster: &str, options: &Options) -> Option<bool> {
    let letters = cluster.get(1..)?;
    for (at, letter) in letters.char_indices() {
        if options.values.contains(letter) {
            return Some(at + letter.len_utf8() == letters.len());
        }
        if !options.flags.contains(letter) {
            return None;
        }
    }
    Some(false)
}
