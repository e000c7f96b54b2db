//! A small unified diff of the places that were changed.

use std::ops::Range;

use memchr::{memchr, memchr_iter, memrchr};
use similar::{ChangeTag, DiffTag, TextDiff};

use super::replace::{Change, difference};

/// The diff in unified form with three lines of context and without file names, of at most `cap` bytes. Only
/// the neighbourhood of the changes is compared, so that a big file costs no more than a small one.
pub(super) fn unified(before: &[u8], after: &[u8], changes: &[Change], cap: usize) -> String {
    let mut text = String::new();
    let mut cursor = Cursor::default();
    for hunk in hunks(before, changes) {
        let rendered = cursor.render(before, after, &hunk);
        let room = cap.saturating_sub(text.len());
        if rendered.len() > room {
            text.push_str(whole_lines(&rendered, room));
            text.push_str("[the rest of the diff is not shown]\n");
            break;
        }
        text.push_str(&rendered);
    }
    text.pop();
    text
}

/// The runs of lines that differ; one run if there is too much between the first and the last to compare it.
pub(super) fn changes(before: &str, after: &str) -> Vec<Change> {
    let all = difference(before.as_bytes(), after.as_bytes());
    let end = all.range.start + all.new.len();
    let (Some(old), Some(new)) = (before.get(all.range.clone()), after.get(all.range.start..end)) else {
        return vec![all];
    };
    if old.len() + new.len() > COMPARED_BYTES {
        return vec![all];
    }
    let (old_lines, new_lines): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let len = |lines: Option<&[&str]>| lines.unwrap_or_default().iter().map(|line| line.len()).sum::<usize>();
    let mut changes = Vec::new();
    for op in TextDiff::from_slices(&old_lines, &new_lines).ops() {
        if op.tag() == DiffTag::Equal {
            continue;
        }
        let start = all.range.start + len(old_lines.get(..op.old_range().start));
        let text: String = new_lines.get(op.new_range()).unwrap_or_default().concat();
        let range = start..start + len(old_lines.get(op.old_range()));
        changes.push(Change { range, new: text.into_bytes() });
    }
    changes
}

/// The whole lines among the first `room` bytes.
fn whole_lines(text: &str, room: usize) -> &str {
    let end = text.as_bytes().get(..room).and_then(|start| memrchr(b'\n', start));
    end.and_then(|end| text.get(..=end)).unwrap_or_default()
}

/// Whole lines that change, with their context.
struct Hunk {
    /// In the file before.
    range: Range<usize>,
    /// How much longer the hunk is afterwards.
    growth: isize,
}

/// Puts changes whose contexts touch into one hunk.
fn hunks(before: &[u8], changes: &[Change]) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    for change in changes {
        let growth = change.new.len().cast_signed() - change.range.len().cast_signed();
        let range = lines_before(before, change.range.start)..lines_behind(before, change.range.end);
        match hunks.last_mut() {
            Some(last) if range.start <= last.range.end => {
                last.range.end = range.end;
                last.growth += growth;
            }
            _ => hunks.push(Hunk { range, growth }),
        }
    }
    hunks
}

/// The start of the line three lines before the one of an offset.
fn lines_before(text: &[u8], offset: usize) -> usize {
    let mut at = offset;
    for _ in 0..=CONTEXT_LINES {
        // INVARIANT: `at` is an offset of the text, and only falls.
        match memrchr(b'\n', &text[..at]) {
            Some(end) => at = end,
            None => return 0,
        }
    }
    at + 1
}

/// The end of the line three lines behind the one of an offset.
fn lines_behind(text: &[u8], offset: usize) -> usize {
    let mut at = offset;
    // Where the change ends with a line, the next line is context already.
    let in_line = offset == 0 || text.get(offset - 1) != Some(&b'\n');
    for _ in 0..CONTEXT_LINES + usize::from(in_line) {
        // INVARIANT: `at` is an offset of the text, and moves behind a byte that was found.
        match memchr(b'\n', &text[at..]) {
            Some(end) => at += end + 1,
            None => return text.len(),
        }
    }
    at
}

/// How far the diff has got in both files.
#[derive(Default)]
struct Cursor {
    offset: usize,
    line: usize,
    growth: isize,
    line_growth: isize,
}

impl Cursor {
    fn render(&mut self, before: &[u8], after: &[u8], hunk: &Hunk) -> String {
        // INVARIANT: hunks are in order, and lie within the file before and, by their growth, the one after.
        self.line += memchr_iter(b'\n', &before[self.offset..hunk.range.start]).count();
        self.offset = hunk.range.start;
        let start = hunk.range.start.saturating_add_signed(self.growth);
        self.growth += hunk.growth;
        let end = hunk.range.end.saturating_add_signed(self.growth);
        let old = String::from_utf8_lossy(&before[hunk.range.clone()]);
        let new = String::from_utf8_lossy(&after[start..end]);
        let (old_lines, new_lines) = (old.split_inclusive('\n').count(), new.split_inclusive('\n').count());
        let old_start = self.line + usize::from(old_lines > 0);
        let new_start = self.line.saturating_add_signed(self.line_growth) + usize::from(new_lines > 0);
        self.line_growth += new_lines.cast_signed() - old_lines.cast_signed();
        format!("@@ -{old_start},{old_lines} +{new_start},{new_lines} @@\n{}", body(&old, &new))
    }
}

fn body(old: &str, new: &str) -> String {
    if old.len() + new.len() > COMPARED_BYTES {
        return "[too long to show]\n".to_owned();
    }
    let mut text = String::new();
    for change in TextDiff::from_lines(old, new).iter_all_changes() {
        text.push(match change.tag() {
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
            ChangeTag::Equal => ' ',
        });
        let line = change.value();
        let line_end = line.strip_suffix('\n');
        text.push_str(line_end.map_or(line, |line| line.strip_suffix('\r').unwrap_or(line)));
        text.push('\n');
        if line_end.is_none() {
            text.push_str("\\ no line end at the end of the file\n");
        }
    }
    text
}

const CONTEXT_LINES: usize = 3;

/// Bytes of a hunk, before and after, that are compared; beyond them the time would grow with their square.
const COMPARED_BYTES: usize = 64 << 10;
