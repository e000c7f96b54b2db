//! What to say where a text is not in a file: what is nearly there.

use std::cmp::Reverse;

/// A hint, with the punctuation before it.
pub(super) fn hint(content: &[u8], old: &str) -> String {
    let content = String::from_utf8_lossy(content.get(..LOOKED_AT_BYTES).unwrap_or(content));
    let lines: Vec<&str> = content.lines().collect();
    if let Some(stripped) = without_line_numbers(old)
        && content.contains(&stripped)
    {
        return ": leave out the line numbers and tabs that `read` puts before the lines".to_owned();
    }
    let wanted: Vec<&str> = old.lines().collect();
    white_space(&lines, &wanted)
        .or_else(|| first_difference(&lines, &wanted))
        .or_else(|| case(&content, old))
        .unwrap_or_else(|| ": read the part to change again and copy it exactly".to_owned())
}

/// The text without what `read` puts before each line; `None` if a line has no such thing.
fn without_line_numbers(text: &str) -> Option<String> {
    let strip = |line: &str| {
        let (number, rest) = line.split_once('\t')?;
        let number = number.trim_start();
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| rest.to_owned())
    };
    let lines: Option<Vec<_>> = text.lines().map(strip).collect();
    lines.map(|lines| lines.join("\n"))
}

/// The same text with other white space.
fn white_space(lines: &[&str], wanted: &[&str]) -> Option<String> {
    let wanted: Vec<_> = wanted.iter().map(|line| squeezed(line)).collect();
    let wanted = trimmed_of_blanks(&wanted);
    let found = match wanted {
        [] => None,
        [one] => lines.iter().position(|line| squeezed(line).contains(one.as_str())),
        _ => lines
            .windows(wanted.len())
            .position(|window| window.iter().zip(wanted).all(|(line, wanted)| squeezed(line) == *wanted)),
    }?;
    // INVARIANT: that many lines fit, beginning with the one found.
    let shown = excerpt(&lines[found..found + wanted.len()]);
    let place = match wanted.len() {
        1 => format!("line {} differs", found + 1),
        count => format!("lines {} to {} differ", found + 1, found + count),
    };
    Some(format!("; {place} from it in white space only:\n{shown}"))
}

/// Lines that begin as the text does, and the first line that differs.
fn first_difference(lines: &[&str], wanted: &[&str]) -> Option<String> {
    let first = wanted.iter().position(|line| !line.trim().is_empty())?;
    // INVARIANT: `first` is a line of `wanted`, so one is left; `at` is a line of `lines`.
    let wanted = &wanted[first..];
    let start = |line: &&str| line.trim() == wanted[0].trim();
    let same = |at: usize| {
        lines[at..].iter().zip(wanted).take_while(|(line, wanted)| line.trim() == wanted.trim()).count()
    };
    // The first of the longest.
    let at = (0..lines.len())
        .filter(|at| start(&lines[*at]))
        .take(COMPARED_PLACES)
        .min_by_key(|at| Reverse(same(*at)))?;
    let same = same(at);
    let wanted = wanted.get(same)?;
    let Some(there) = lines.get(at + same) else {
        return Some(format!(
            "; the nearest place is line {}, but the file ends with line {}",
            at + 1,
            lines.len()
        ));
    };
    Some(format!(
        "; the nearest place is line {}, but line {} is `{}` and not `{}`",
        at + 1,
        at + same + 1,
        cut(there),
        cut(wanted)
    ))
}

/// The same text in other case.
fn case(content: &str, old: &str) -> Option<String> {
    let content = content.to_lowercase();
    let (before, _) = content.split_once(&old.to_lowercase())?;
    let line = before.matches('\n').count() + 1;
    Some(format!("; line {line} differs from it in upper and lower case only"))
}

/// A line with each run of white space as one space, and none at its ends.
fn squeezed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn trimmed_of_blanks(lines: &[String]) -> &[String] {
    let first = lines.iter().position(|line| !line.is_empty());
    let last = lines.iter().rposition(|line| !line.is_empty());
    first.zip(last).and_then(|(first, last)| lines.get(first..=last)).unwrap_or_default()
}

fn excerpt(lines: &[&str]) -> String {
    let mut shown: Vec<_> = lines.iter().take(SHOWN_LINES).map(|line| cut(line)).collect();
    if lines.len() > SHOWN_LINES {
        shown.push("…".to_owned());
    }
    shown.join("\n")
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(SHOWN_CHARS) {
        // INVARIANT: a character begins at `at`.
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

/// Bytes of the file that are looked at.
const LOOKED_AT_BYTES: usize = 4 << 20;
const COMPARED_PLACES: usize = 1_000;
const SHOWN_LINES: usize = 20;
const SHOWN_CHARS: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints() {
        let content = "fn main() {\n\tlet a = 1;\n    let b = 2;\n}\n\nfn other() {\n    let a = 1;\n}\n";
        for (old, expect) in [
            (
                "  let a = 1;\nlet  b = 2;\n",
                "; lines 2 to 3 differ from it in white space only:\n\tlet a = 1;\n    let b = 2;",
            ),
            ("    let b = 2;   ", "; line 3 differs from it in white space only:\n    let b = 2;"),
            (
                "     1\tfn main() {\n     2\t\tlet a = 1;",
                ": leave out the line numbers and tabs that `read` puts before the lines",
            ),
            (
                "fn other() {\n    let a = 2;\n}",
                "; the nearest place is line 6, but line 7 is `    let a = 1;` and not `    let a = 2;`",
            ),
            ("    let a = 1;\n}\nfn x", "; the nearest place is line 7, but the file ends with line 8"),
            ("a  = 1;\n", "; line 2 differs from it in white space only:\n\tlet a = 1;"),
            ("LET B", "; line 3 differs from it in upper and lower case only"),
            ("nothing like it", ": read the part to change again and copy it exactly"),
            ("\n\n\n", ": read the part to change again and copy it exactly"),
        ] {
            assert_eq!(hint(content.as_bytes(), old), expect, "{old:?}");
        }
    }
}
