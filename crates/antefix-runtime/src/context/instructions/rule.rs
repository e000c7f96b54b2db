//! A rule file, which may hold for some paths only.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// A rule file's text, and the patterns of the paths that it holds for; for all if there are none.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rule<'a> {
    pub(super) paths: Vec<String>,
    pub(super) text: &'a str,
}

impl<'a> Rule<'a> {
    /// Takes the head between two lines of `---` off, and reads `paths` in it: a text, a list in brackets, or a list of
    /// lines. Other members are passed over.
    pub(super) fn read(text: &'a str) -> Self {
        let whole = Self { paths: Vec::new(), text };
        let Some((head, text)) = split(text) else { return whole };
        let mut lines = head.lines();
        let mut paths = Vec::new();
        while let Some(line) = lines.next() {
            let Some(value) = line.strip_prefix("paths:") else { continue };
            paths.extend(items(value));
            let listed = lines.by_ref().map_while(|line| line.trim().strip_prefix("- "));
            paths.extend(listed.flat_map(items));
        }
        Self { paths, text }
    }

    /// Whether it holds where these files have been seen; its patterns start at `folder`.
    ///
    /// # Errors
    /// In words, if one of them is no pattern.
    pub(super) fn holds(&self, folder: &Path, seen: &[PathBuf]) -> Result<bool, String> {
        if self.paths.is_empty() {
            return Ok(true);
        }
        let patterns = self.patterns().map_err(|error| error.to_string())?;
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        Ok(seen.iter().filter_map(|path| path.strip_prefix(&folder).ok()).any(|path| patterns.is_match(path)))
    }

    fn patterns(&self) -> Result<GlobSet, globset::Error> {
        let mut set = GlobSetBuilder::new();
        for path in &self.paths {
            set.add(GlobBuilder::new(path).literal_separator(true).build()?);
        }
        set.build()
    }
}

fn split(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix("---")?.trim_start_matches('\r').strip_prefix('\n')?;
    let mut at = 0;
    for line in inner.split_inclusive('\n') {
        if line.trim_end() == "---" {
            return Some((inner.get(..at)?, inner.get(at + line.len()..)?));
        }
        at += line.len();
    }
    None
}

/// The texts of a value, in or without brackets and quotes. A comma within braces does not part two.
fn items(value: &str) -> Vec<String> {
    let value = value.trim();
    let value = value.strip_prefix('[').and_then(|list| list.strip_suffix(']')).unwrap_or(value);
    let (mut found, mut item, mut depth) = (Vec::new(), String::new(), 0_usize);
    for letter in value.chars() {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                found.push(std::mem::take(&mut item));
                continue;
            }
            _ => {}
        }
        item.push(letter);
    }
    found.push(item);
    let plain = |item: &String| item.trim().trim_matches(['"', '\'']).to_owned();
    found.iter().map(plain).filter(|item| !item.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_from_the_head() {
        let cases: [(&str, &[&str], &str); 8] = [
            ("no head", &[], "no head"),
            ("---\npaths: src/**/*.rs\n---\ntext\n", &["src/**/*.rs"], "text\n"),
            ("---\npaths:\n  - \"a/*.ts\"\n  - 'b'\nother: x\n---\ntext", &["a/*.ts", "b"], "text"),
            ("---\nname: x\npaths: [\"a\", \"*.{ts,tsx}\"]\n---\n", &["a", "*.{ts,tsx}"], ""),
            ("---\r\npaths: a, b\r\n---\r\ntext", &["a", "b"], "text"),
            ("---\nname: x\n---\ntext", &[], "text"),
            ("---\npaths: a\nnever closed", &[], "---\npaths: a\nnever closed"),
            ("----\npaths: a\n---\n", &[], "----\npaths: a\n---\n"),
        ];
        for (text, paths, rest) in cases {
            let paths = paths.iter().map(|&path| path.to_owned()).collect();
            assert_eq!(Rule::read(text), Rule { paths, text: rest }, "{text}");
        }
    }

    #[test]
    fn patterns_start_at_the_folder() {
        let seen: Vec<PathBuf> = ["/w/src/a.rs", "/w/src/deep/b.ts"].map(PathBuf::from).into();
        for (paths, expect) in [
            ("", Ok(true)),
            ("src/*.rs", Ok(true)),
            ("src/*.ts", Ok(false)),
            ("src/**/*.{ts,tsx}", Ok(true)),
            ("*.rs", Ok(false)),
            ("**/*.rs", Ok(true)),
            ("src/[", Err(())),
        ] {
            let rule = Rule { paths: items(paths), text: "" };
            assert_eq!(rule.holds(Path::new("/w"), &seen).map_err(|_| ()), expect, "{paths}");
        }
    }
}
