/// A variable that a text names and that is not set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the variable `{0}` is not set")]
pub struct Unset(pub String);

/// Puts the values of variables for `${NAME}` and `${NAME:-default}`; anything else stays as it is.
///
/// # Errors
/// [`Unset`] for a variable without a value and without a default.
pub(super) fn expand(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, Unset> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, inner, after)) = next(rest) {
        out.push_str(before);
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        if is_name(name) {
            let value = variable(name).or_else(|| default.map(str::to_owned));
            out.push_str(&value.ok_or_else(|| Unset(name.to_owned()))?);
        } else {
            out.push_str("${");
            out.push_str(inner);
            out.push('}');
        }
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// What stands before the next `${`, between it and its `}`, and behind.
fn next(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("${")?;
    let (inner, after) = rest.split_once('}')?;
    Some((before, inner, after))
}

fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_put_in() {
        let variable = |name: &str| match name {
            "A" => Some("1".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        let unset = |name: &str| Err(Unset(name.to_owned()));
        for (text, expect) in [
            ("x", Ok("x")),
            ("${A}", Ok("1")),
            ("a${A}b${A}", Ok("a1b1")),
            ("${B:-d}", Ok("d")),
            ("${A:-d}", Ok("1")),
            ("${B:-}", Ok("")),
            ("${EMPTY:-d}", Ok("")),
            ("${B}", unset("B")),
            ("$A ${a b} ${", Ok("$A ${a b} ${")),
            ("${A", Ok("${A")),
        ] {
            assert_eq!(expand(text, &variable), expect.map(str::to_owned), "{text}");
        }
    }
}
