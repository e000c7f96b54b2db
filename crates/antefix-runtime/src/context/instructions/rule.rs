//! A rule file, which may hold for some paths only.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::definitions::{Frontmatter, FrontmatterError};

/// A rule file's text, and the patterns of the paths that it holds for; for all if there are none.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rule<'a> {
    pub(super) paths: Vec<String>,
    pub(super) text: &'a str,
}

impl<'a> Rule<'a> {
    /// Takes the head off, where there is one, and reads `paths` in it. Other fields are passed over.
    ///
    /// # Errors
    /// If the head is too long to be read: nobody can say what the rule holds for.
    pub(super) fn read(text: &'a str) -> Result<Self, FrontmatterError> {
        match Frontmatter::read(text) {
            Ok((head, text)) => Ok(Self { paths: head.list("paths").unwrap_or_default(), text }),
            Err(FrontmatterError::Missing | FrontmatterError::Open) => Ok(Self { paths: Vec::new(), text }),
            Err(error @ FrontmatterError::TooLong) => Err(error),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_from_the_head() {
        let cases: [(&str, &[&str], &str); 12] = [
            ("no head", &[], "no head"),
            ("---\npaths: src/**/*.rs\n---\ntext\n", &["src/**/*.rs"], "text\n"),
            ("---\npaths:\n  - \"a/*.ts\"\n  - 'b'\nother: x\n---\ntext", &["a/*.ts", "b"], "text"),
            ("---\npaths:\n- a\n- '*.{b,c}' # why\n---\ntext", &["a", "*.{b,c}"], "text"),
            ("---\nname: x\npaths: [\"a\", \"*.{ts,tsx}\"]\n---\n", &["a", "*.{ts,tsx}"], ""),
            ("---\npaths: [a,\n  b]\n---\n", &["a", "b"], ""),
            ("---\r\npaths: a, b\r\n---\r\ntext", &["a", "b"], "text"),
            ("\u{feff}---\npaths: a\n---\ntext", &["a"], "text"),
            ("---\nname: x\n---\ntext", &[], "text"),
            ("---\nother:\n  paths: x\n---\ntext", &[], "text"),
            ("---\npaths: a\nnever closed", &[], "---\npaths: a\nnever closed"),
            ("----\npaths: a\n---\n", &[], "----\npaths: a\n---\n"),
        ];
        for (text, paths, rest) in cases {
            let paths = paths.iter().map(|&path| path.to_owned()).collect();
            assert_eq!(Rule::read(text), Ok(Rule { paths, text: rest }), "{text}");
        }
        let long = format!("---\nx: {}\npaths: a\n---\n", "x".repeat(16 << 10));
        assert_eq!(Rule::read(&long), Err(FrontmatterError::TooLong));
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
            let text = format!("---\npaths: {paths}\n---\n");
            let rule = Rule::read(&text).unwrap();
            assert_eq!(rule.holds(Path::new("/w"), &seen).map_err(|_| ()), expect, "{paths}");
        }
    }
}
