//! Notebooks (`.ipynb`, nbformat 4) as text: each cell with its kind, its source and what it printed.

use std::path::Path;

use antefix_wire::json::{Body, Node};

use super::scan::char_start;

/// Whether a file's name is that of a notebook.
pub(super) fn is_one(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ipynb"))
}

/// The cells as text; `None` if this is no notebook.
pub(super) fn render(bytes: Vec<u8>) -> Option<String> {
    let body = Body::parse(bytes).ok()?;
    let cells = body.root().get("cells")?;
    let mut text = String::new();
    for (at, cell) in cells.items().enumerate() {
        let kind = cell.get("cell_type").and_then(Node::str)?;
        block(
            &mut text,
            &format!("[cell {}: {kind}]", at + 1),
            &cell.get("source").map(joined).unwrap_or_default(),
        );
        for output in cell.get("outputs").into_iter().flat_map(Node::items) {
            block(&mut text, &format!("[output of cell {}]", at + 1), &capped(plain(&printed(output))));
        }
    }
    Some(text)
}

fn block(text: &mut String, heading: &str, content: &str) {
    text.push_str(heading);
    text.push('\n');
    text.push_str(content);
    if !content.is_empty() && !content.ends_with('\n') {
        text.push('\n');
    }
}

/// A text that may be given as a list of its lines.
fn joined(node: Node<'_>) -> String {
    match node.str() {
        Some(text) => text.into_owned(),
        None => node.items().filter_map(Node::str).collect(),
    }
}

/// What an output shows as text; other media are named with their size.
fn printed(output: Node<'_>) -> String {
    if let Some(text) = output.get("text") {
        return joined(text);
    }
    let member = |name: &str| output.get(name).and_then(Node::str).unwrap_or_default();
    if output.get("ename").is_some() {
        let trace = output.get("traceback").map(Node::items).into_iter().flatten();
        let trace: Vec<_> = trace.filter_map(Node::str).collect();
        return format!("{}: {}\n{}", member("ename"), member("evalue"), trace.join("\n"));
    }
    let Some(data) = output.get("data") else { return String::new() };
    let others = data.members().filter(|(kind, _)| !kind.is_str("text/plain"));
    let others = others.map(|(kind, value)| {
        format!("[{}: {} bytes, not shown]\n", kind.str().unwrap_or_default(), joined(value).len())
    });
    let text = data.get("text/plain").map(joined).unwrap_or_default();
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    format!("{text}{end}{}", others.collect::<String>())
}

/// A text without the sequences that colour it in a terminal.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == '\u{1b}' && letters.next_if_eq(&'[').is_some() {
            // The sequence ends with its first letter behind the numbers.
            let _ = letters.by_ref().find(|letter| ('@'..='~').contains(letter));
        } else {
            out.push(letter);
        }
    }
    out
}

fn capped(mut text: String) -> String {
    if text.len() > OUTPUT_BYTES {
        let end = char_start(text.as_bytes(), OUTPUT_BYTES);
        let rest = text.len() - end;
        text.truncate(end);
        text.push_str(&format!("… [cut: {rest} more bytes]"));
    }
    text
}

/// Bytes of one output of a cell that are shown.
const OUTPUT_BYTES: usize = 4_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_and_outputs() {
        let long = "x".repeat(OUTPUT_BYTES + 10);
        for (notebook, expect) in [
            (r#"{"cells":[{"cell_type":"markdown","source":["A\n","B"]}]}"#.to_owned(), "[cell 1: markdown]\nA\nB\n"),
            (
                r#"{"cells":[{"cell_type":"code","source":"1","outputs":[{"output_type":"stream","text":["a\n"]}]}]}"#
                    .to_owned(),
                "[cell 1: code]\n1\n[output of cell 1]\na\n",
            ),
            (
                r#"{"cells":[{"cell_type":"code","source":"","outputs":[{"data":{"image/png":"QUJD","text/plain":"<Plot>"}}]}]}"#
                    .to_owned(),
                "[cell 1: code]\n[output of cell 1]\n<Plot>\n[image/png: 4 bytes, not shown]\n",
            ),
            (
                r#"{"cells":[{"cell_type":"code","source":"x","outputs":[{"ename":"E","evalue":"v","traceback":["\u001b[0;31mred\u001b[0m"]}]}]}"#
                    .to_owned(),
                "[cell 1: code]\nx\n[output of cell 1]\nE: v\nred\n",
            ),
            (r#"{"cells":[]}"#.to_owned(), ""),
        ] {
            assert_eq!(render(notebook.clone().into_bytes()).as_deref(), Some(expect), "{notebook}");
        }
        let notebook =
            format!(r#"{{"cells":[{{"cell_type":"code","source":"x","outputs":[{{"text":"{long}"}}]}}]}}"#);
        assert!(render(notebook.into_bytes()).unwrap().ends_with("xx… [cut: 10 more bytes]\n"));
        for none in ["", "{}", "[]", r#"{"cells":[{}]}"#] {
            assert_eq!(render(none.into()), None, "{none}");
        }
    }
}
