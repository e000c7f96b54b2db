//! `@path` in an instruction file.

use std::path::{Path, PathBuf};

/// What a text imports, in order, each once: words that begin with `@`, outside of code.
pub(super) fn imports(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut fence: Option<String> = None;
    for line in text.lines() {
        let trimmed = line.trim_start();
        let mark = fence_of(trimmed);
        match (&fence, mark) {
            (Some(open), Some(mark)) if mark.starts_with(open.as_str()) => fence = None,
            (Some(_), _) => {}
            (None, Some(mark)) => fence = Some(mark),
            (None, None) => {
                for word in words(&outside_code(line)) {
                    if !found.contains(&word) {
                        found.push(word);
                    }
                }
            }
        }
    }
    found
}

/// The file that an import means; `None` where it means the home folder and may not.
pub(super) fn resolve(import: &str, own: &Path, home: Option<&Path>) -> Option<PathBuf> {
    match import.strip_prefix("~/") {
        Some(rest) => Some(home?.join(rest)),
        None => Some(own.join(import)),
    }
}

/// Three or more backticks or tildes at the start of a line.
fn fence_of(line: &str) -> Option<String> {
    let letter = line.chars().next().filter(|letter| matches!(letter, '`' | '~'))?;
    let mark: String = line.chars().take_while(|next| *next == letter).collect();
    (mark.len() >= 3).then_some(mark)
}

/// A line with its code spans blanked.
fn outside_code(line: &str) -> String {
    let (mut out, mut rest) = (String::new(), line);
    while let Some(start) = rest.find('`') {
        let (before, from) = rest.split_at(start);
        out.push_str(before);
        let ticks = from.len() - from.trim_start_matches('`').len();
        let (mark, inner) = from.split_at(ticks);
        let Some(end) = end_of_span(inner, ticks) else {
            out.push_str(mark);
            rest = inner;
            continue;
        };
        out.push(' ');
        rest = inner.get(end..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// Where the span ends that as many backticks close.
fn end_of_span(inner: &str, ticks: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = inner.get(at..)?.find('`') {
        let start = at + found;
        let rest = inner.get(start..)?;
        let length = rest.len() - rest.trim_start_matches('`').len();
        at = start + length;
        if length == ticks {
            return Some(at);
        }
    }
    None
}

fn words(line: &str) -> Vec<String> {
    let paths = line.split_whitespace().filter_map(|word| word.strip_prefix('@'));
    let paths = paths.map(|path| path.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '"', '\'']));
    paths.filter(|path| !path.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_words_outside_code() {
        let cases: [(&str, &[&str]); 9] = [
            ("See @docs/style.md and @a.md, then @a.md.", &["docs/style.md", "a.md"]),
            ("mail me@example.com or (@x)", &[]),
            ("@~/notes.md\n  - @/etc/hosts", &["~/notes.md", "/etc/hosts"]),
            ("Use `@types/node` and ``a ` @b`` but @c", &["c"]),
            ("an open ` tick and @d", &["d"]),
            ("```\n@in/code\n```\n@out", &["out"]),
            ("~~~~ text\n@in\n~~~\n@still\n~~~~\n@out", &["out"]),
            ("```never closed\n@in", &[]),
            ("@ alone, @. dot", &[]),
        ];
        for (text, expect) in cases {
            assert_eq!(imports(text), expect, "{text}");
        }
    }
}
