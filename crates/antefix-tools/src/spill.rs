//! Outputs that are longer than what a result may show: kept in a file that `read` can page.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use crate::Context;

/// Lines of a result: those that are shown, and the rest up to a cap.
#[derive(Debug)]
pub(crate) struct Page {
    limit: usize,
    shown_bytes: usize,
    kept_bytes: usize,
    text: String,
    lines: usize,
    /// Where the shown part ends, and how many lines it has, once there is more.
    cut: Option<(usize, usize)>,
    full: bool,
}

/// A page that is done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    /// The lines that are shown, each with its end.
    pub(crate) text: String,
    /// Number of lines in it, headings not counted.
    pub(crate) lines: usize,
    /// What is said of the rest, if there is one.
    pub(crate) rest: Option<String>,
}

impl Page {
    /// Makes an empty page of `limit` lines that are no headings and of `shown_bytes`.
    pub(crate) fn new(context: &Context, limit: usize, shown_bytes: usize) -> Self {
        let kept_bytes = context.limits.kept_bytes;
        Self { limit, shown_bytes, kept_bytes, text: String::new(), lines: 0, cut: None, full: false }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Whether nothing more is kept.
    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    /// Bytes that are still kept.
    pub(crate) fn room(&self) -> usize {
        self.kept_bytes.saturating_sub(self.text.len())
    }

    /// Adds a line, behind its headings, which come and go with it; `counted` lines are what the limit is of.
    pub(crate) fn push(&mut self, headings: &str, line: &str, counted: bool) {
        let more = headings.len() + line.len() + 1;
        if self.full || !self.text.is_empty() && self.text.len() + more > self.kept_bytes {
            self.full = true;
            self.cut.get_or_insert((self.text.len(), self.lines));
            return;
        }
        let over = !self.text.is_empty() && self.text.len() + more > self.shown_bytes;
        if self.cut.is_none() && (over || counted && self.lines >= self.limit) {
            self.cut = Some((self.text.len(), self.lines));
        }
        self.text.push_str(headings);
        self.text.push_str(line);
        self.text.push('\n');
        self.lines += usize::from(counted);
    }

    /// Says that there is more than was pushed.
    pub(crate) fn close(&mut self) {
        self.full = true;
        self.cut.get_or_insert((self.text.len(), self.lines));
    }

    /// Gives what is shown, and puts all of it into a file where that is not all; `what` names the lines.
    pub(crate) fn finish(mut self, context: &Context, name: &str, what: &str) -> Shown {
        let Some((end, lines)) = self.cut else {
            return Shown { text: self.text, lines: self.lines, rest: None };
        };
        let first = format!("the first {lines}");
        let kept = if end == self.text.len() { None } else { Some(keep(context, name, &self.text)) };
        let rest = match kept {
            None => format!("{first} {what}; there are more"),
            Some(Ok(path)) if self.full => {
                format!(
                    "{first} {what}; the first {} are in {}, and there are more",
                    self.lines,
                    path.display()
                )
            }
            Some(Ok(path)) => format!("{first} of {} {what}; all are in {}", self.lines, path.display()),
            Some(Err(error)) => format!("{first} {what}; the rest could not be kept: {error}"),
        };
        self.text.truncate(end);
        Shown { text: self.text, lines, rest: Some(rest) }
    }
}

/// Writes a text into the folder for long outputs, under a name that its content determines, so that the result that
/// names it is the same for the same content.
fn keep(context: &Context, name: &str, text: &str) -> io::Result<PathBuf> {
    let digest = blake3::hash(text.as_bytes()).to_hex();
    let digest = digest.get(..DIGEST_DIGITS).unwrap_or(&digest);
    let path = context.spill.join(format!("{name}-{digest}.txt"));
    if path.metadata().is_ok_and(|metadata| metadata.len() == text.len() as u64) {
        return Ok(path);
    }
    fs::create_dir_all(&context.spill)?;
    let draft = context.spill.join(format!(".{name}-{digest}-{}.tmp", context.call_id().replace('/', "-")));
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    file.write_all(text.as_bytes())?;
    fs::rename(&draft, &path)?;
    Ok(path)
}

const DIGEST_DIGITS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    /// Pushes lines; gives what is shown, what is said of the rest, and what is kept.
    fn check(
        limit: usize,
        shown: usize,
        kept: usize,
        lines: &[&str],
        expect: (&str, Option<&str>, Option<&str>),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let mut context = Context::new(folder.path(), folder.path().join("s"));
        context.limits.kept_bytes = kept;
        let mut page = Page::new(&context, limit, shown);
        for line in lines {
            page.push(if line.starts_with('b') { "B:\n" } else { "" }, line, true);
        }
        let done = page.finish(&context, "list", "lines");
        let file =
            fs::read_dir(&context.spill).ok().and_then(|mut files| Some(files.next()?.unwrap().path()));
        let content = file.as_ref().map(|file| fs::read_to_string(file).unwrap());
        let path = file.map_or("none".to_owned(), |file| file.display().to_string());
        let rest = done.rest.map(|rest| rest.replace(&path, "FILE"));
        assert_eq!((done.text.as_str(), rest.as_deref(), content.as_deref()), expect, "{lines:?}");
    }

    #[test]
    fn what_is_over_the_cap_is_in_a_file() {
        check(2, 99, 99, &["a", "b"], ("a\nB:\nb\n", None, None));
        let all = Some("a\nB:\nb\nc\n");
        check(
            2,
            99,
            99,
            &["a", "b", "c"],
            ("a\nB:\nb\n", Some("the first 2 of 3 lines; all are in FILE"), all),
        );
        check(9, 3, 99, &["a", "b", "c"], ("a\n", Some("the first 1 of 3 lines; all are in FILE"), all));
        let rest = Some("the first 1 lines; the first 2 are in FILE, and there are more");
        check(1, 99, 7, &["a", "b", "c"], ("a\n", rest, Some("a\nB:\nb\n")));
        check(9, 99, 7, &["a", "b", "c"], ("a\nB:\nb\n", Some("the first 2 lines; there are more"), None));
        check(9, 1, 1, &["a long line"], ("a long line\n", None, None));
        check(9, 9, 9, &[], ("", None, None));
    }
}
