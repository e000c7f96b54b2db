//! What is odd about a server, said once and kept short.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::config::Secret;

/// Remarks on a server and the end of what it says on standard error; clones share them.
#[derive(Clone, Default)]
pub(crate) struct Notes {
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    secrets: Vec<String>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    remarks: Vec<String>,
    /// Lines on standard output that are no messages, and the first of them.
    stray: u64,
    first_stray: String,
    cut_off: Option<String>,
    closed_for: Option<String>,
    log: VecDeque<u8>,
}

impl Notes {
    /// Notes in which these values never appear.
    pub(crate) fn new(secrets: &[&Secret]) -> Self {
        let long = |text: &&str| text.len() >= SHORTEST_SECRET;
        let words = secrets.iter().flat_map(|secret| secret.expose().split_ascii_whitespace());
        let mut secrets: Vec<String> = words.filter(long).map(str::to_owned).collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self { inner: Arc::new(Inner { secrets, state: Mutex::default() }) }
    }

    /// Adds a remark, unless it is there.
    pub(crate) fn add(&self, remark: &str) {
        let remark = self.clean(remark);
        let mut state = self.state();
        if state.remarks.len() < MOST_REMARKS && !state.remarks.contains(&remark) {
            state.remarks.push(remark);
        }
    }

    /// Sets why the server is given up.
    pub(crate) fn cut_off(&self, why: &str) {
        let why = self.clean(why);
        self.state().cut_off = Some(why);
    }

    /// Why it is given up, if it is; asked again, it is not.
    pub(crate) fn take_cut_off(&self) -> Option<String> {
        self.state().cut_off.take()
    }

    /// Sets why the connection is closed, which may be made anew; nothing for one that has begun.
    pub(crate) fn close_for(&self, why: Option<&str>) {
        let why = why.map(|why| self.clean(why));
        self.state().closed_for = why;
    }

    /// Why the connection was closed, in words for whoever waited for an answer.
    pub(crate) fn closed_for(&self) -> String {
        self.state().closed_for.clone().unwrap_or_else(|| "the connection was closed".to_owned())
    }

    /// Counts a line on standard output that is no message.
    pub(crate) fn stray(&self, line: &[u8]) {
        let mut state = self.state();
        state.stray += 1;
        if state.stray == 1 {
            drop(state);
            let text = self.short(&String::from_utf8_lossy(line), 120);
            self.state().first_stray = text;
        }
    }

    /// How many lines on standard output were no messages.
    pub(crate) fn strays(&self) -> u64 {
        self.state().stray
    }

    /// Adds to the log; only its end is kept.
    pub(crate) fn log(&self, bytes: &[u8]) {
        let mut state = self.state();
        state.log.extend(bytes);
        let over = state.log.len().saturating_sub(LOG_BYTES);
        state.log.drain(..over);
    }

    /// The end of what the server has said on standard error.
    pub(crate) fn log_text(&self) -> String {
        let bytes: Vec<u8> = self.state().log.iter().copied().collect();
        self.clean(&String::from_utf8_lossy(&bytes))
    }

    /// The last line of it that says something.
    pub(crate) fn last_words(&self) -> Option<String> {
        let log = self.log_text();
        let line = log.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
        Some(shortened(line, 300))
    }

    /// All remarks.
    pub(crate) fn texts(&self) -> Vec<String> {
        let state = self.state();
        let mut texts = state.remarks.clone();
        if state.stray > 0 {
            let lines = match state.stray {
                1 => "1 line that is".to_owned(),
                MOST_STRAYS.. => format!("{MOST_STRAYS} lines and more that are"),
                many => format!("{many} lines that are"),
            };
            let first = &state.first_stray;
            texts.push(format!("it prints {lines} no message to standard output; the first: `{first}`"));
        }
        texts
    }

    /// A text without the secrets.
    pub(crate) fn clean(&self, text: &str) -> String {
        self.inner
            .secrets
            .iter()
            .fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), "[secret]"))
    }

    /// The start of a text without the secrets: what a cut would leave of one is not found any more, so that they are
    /// taken out before.
    pub(crate) fn short(&self, text: &str, letters: usize) -> String {
        shortened(&self.clean(text), letters)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Notes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Notes").field("texts", &self.texts()).finish_non_exhaustive()
    }
}

/// The start of a text in one line.
fn shortened(text: &str, letters: usize) -> String {
    let flat = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter });
    let mut short: String = flat.take(letters).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

/// Lines on standard output that are no messages, after which a server is given up.
pub(crate) const MOST_STRAYS: u64 = 10_000;

/// Bytes of a server's standard error that are kept.
const LOG_BYTES: usize = 16 << 10;

/// Remarks that are kept on one server.
const MOST_REMARKS: usize = 32;

/// Bytes of a word of a value; a shorter one could not be looked for in a text, where it stands for many other things.
const SHORTEST_SECRET: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_do_not_appear() {
        let notes = Notes::new(&[&Secret::new("Bearer abcdef123"), &Secret::new("on")]);
        notes.log(b"started with abcdef123 on\n\n");
        notes.add("odd: abcdef123");
        notes.stray(b"abcdef123 is my key");
        assert_eq!(notes.log_text(), "started with [secret] on\n\n");
        assert_eq!(notes.last_words().as_deref(), Some("started with [secret] on"));
        assert_eq!(
            notes.texts(),
            [
                "odd: [secret]",
                "it prints 1 line that is no message to standard output; the first: `[secret] is my key`"
            ]
        );
    }

    /// A key that a cut went through was not found any more, and its start was shown.
    #[test]
    fn a_secret_that_a_cut_goes_through_does_not_appear() {
        let notes = Notes::new(&[&Secret::new("abcdef123456")]);
        let line = format!("{}abcdef123456 and more", "x".repeat(110));
        notes.stray(line.as_bytes());
        let first = format!("{}[secret] a…", "x".repeat(110));
        assert_eq!(notes.short(&line, 120), first);
        let texts = notes.texts();
        let found = format!("it prints 1 line that is no message to standard output; the first: `{first}`");
        assert_eq!(texts, [found]);
    }

    #[test]
    fn a_flood_is_kept_short() {
        let notes = Notes::default();
        for line in 0..5000 {
            notes.log(format!("line {line}\n").as_bytes());
            notes.add(&format!("remark {line}"));
            notes.stray(b"x");
        }
        assert!(notes.log_text().len() <= LOG_BYTES && notes.log_text().ends_with("line 4999\n"));
        assert_eq!((notes.texts().len(), notes.strays()), (MOST_REMARKS + 1, 5000));
    }
}
