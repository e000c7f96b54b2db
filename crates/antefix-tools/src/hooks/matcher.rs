use grep_matcher::Matcher as _;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};

/// What a hook is asked about: a regular expression for the whole of a name.
#[derive(Clone, Debug)]
pub struct Matcher {
    text: String,
    /// `None` is all.
    regex: Option<RegexMatcher>,
}

/// A matcher that is no regular expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the matcher `{text}` is no regular expression: {reason}")]
pub struct MatcherError {
    text: String,
    reason: String,
}

impl Matcher {
    /// Reads a matcher; nothing and `*` are all.
    ///
    /// # Errors
    /// [`MatcherError`] if it is no regular expression.
    pub fn new(text: &str) -> Result<Self, MatcherError> {
        let regex = match text.trim() {
            "" | "*" => None,
            pattern => {
                let whole = format!("^(?:{pattern})$");
                let built = RegexMatcherBuilder::new().case_insensitive(true).build(&whole);
                Some(built.map_err(|error| MatcherError {
                    text: text.to_owned(),
                    reason: error.to_string().lines().last().unwrap_or_default().to_owned(),
                })?)
            }
        };
        Ok(Self { text: text.to_owned(), regex })
    }

    /// Whether it is about a name. Case and the underscores of a name do not matter, so that `MultiEdit` is
    /// `multi_edit`.
    pub fn is_about(&self, name: &str) -> bool {
        let Some(regex) = &self.regex else { return true };
        let is_match = |name: &str| regex.is_match(name.as_bytes()).unwrap_or(false);
        is_match(name) || is_match(&name.replace('_', ""))
    }
}

impl PartialEq for Matcher {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Matcher {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matcher_is_about_whole_names() {
        for (matcher, name, expect) in [
            ("", "bash", true),
            ("*", "mcp__a__b", true),
            ("bash", "bash", true),
            ("Bash", "bash", true),
            ("bash", "bash_output", false),
            ("Edit|Write", "edit", true),
            ("Edit|Write", "write", true),
            ("Edit|Write", "multi_edit", false),
            ("MultiEdit", "multi_edit", true),
            (".*edit", "multi_edit", true),
            ("mcp__memory__.*", "mcp__memory__get", true),
            ("mcp__memory", "mcp__memory__get", false),
            ("startup|resume", "resume", true),
        ] {
            assert_eq!(Matcher::new(matcher).unwrap().is_about(name), expect, "{matcher} {name}");
        }
        assert!(Matcher::new("(").is_err());
    }
}
