//! What an edit would change, for whoever decides about it: nothing is written.

use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use antefix_wire::json::{Body, Node};
use similar::TextDiff;

use crate::edit::outcome;

/// The unified diff that a call would make, read off the fields of its input: `path`, and `old_string` with
/// `new_string` (and `replace_all`), a list `edits` of such, or the whole `content`. `None` where the input has no
/// such fields, the file is no text of at most 1 MiB, or the tool would refuse.
///
/// The file may change before the call runs; the tool then refuses.
pub fn preview(workspace: &Path, input: &Body) -> Option<String> {
    let fields = input.root();
    let path = workspace.join(fields.get("path")?.str()?.as_ref());
    let before = text_of(&path)?;
    let after = edited(&before, input)?;
    let diff = TextDiff::from_lines(before.as_str(), after.as_str());
    let text = diff.unified_diff().context_radius(CONTEXT).to_string();
    (!text.is_empty()).then_some(text)
}

/// What the tool that takes such an input leaves of a text.
fn edited(before: &str, input: &Body) -> Option<String> {
    let fields = input.root();
    let is_empty = |name| fields.get(name).is_some_and(|text: Node<'_>| text.is_str(""));
    let tool = match (fields.get("content"), fields.get("edits")) {
        (Some(_), _) => "write",
        (None, Some(_)) => "multi_edit",
        (None, None) if before.is_empty() && is_empty("old_string") => {
            return Some(fields.get("new_string")?.str()?.into_owned());
        }
        (None, None) => "edit",
    };
    String::from_utf8(outcome(tool, input, Some(before.as_bytes()))?).ok()
}

/// A small file's text, or none where there is no file. Never waits for a pipe or a device.
fn text_of(path: &Path) -> Option<String> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = match std::fs::OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Some(String::new()),
        Err(_) => return None,
    };
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    let read = file.take(LARGEST + 1).read_to_string(&mut text).ok()?;
    (read as u64 <= LARGEST).then_some(text)
}

/// Lines around a change.
const CONTEXT: usize = 3;

/// Bytes of a file that is compared.
const LARGEST: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preview_is_the_diff_that_the_call_would_make() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a"), "one\ntwo\nthree\ntwo\n").unwrap();
        std::fs::write(folder.path().join("binary"), b"\xff\0").unwrap();
        std::fs::create_dir(folder.path().join("folder")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, folder.path().join("pipe"), 0o600.into()).unwrap();
        for (input, expect) in [
            (
                r#"{"path":"a","old_string":"one","new_string":"1"}"#,
                Some("@@ -1,4 +1,4 @@\n-one\n+1\n two\n three\n two\n"),
            ),
            (r#"{"path":"a","old_string":"two","new_string":"2"}"#, None),
            (
                r#"{"path":"a","old_string":"two","new_string":"2","replace_all":true}"#,
                Some("@@ -1,4 +1,4 @@\n one\n-two\n+2\n three\n-two\n+2\n"),
            ),
            (
                r#"{"path":"a","edits":[{"old_string":"three","new_string":"3"},{"old_string":"one\n","new_string":""}]}"#,
                Some("@@ -1,4 +1,3 @@\n-one\n two\n-three\n+3\n two\n"),
            ),
            // All edits are looked for in the file as it is.
            (
                r#"{"path":"a","edits":[{"old_string":"one","new_string":"1"},{"old_string":"1\n","new_string":""}]}"#,
                None,
            ),
            (
                r#"{"path":"a","edits":[{"old_string":"one\ntwo","new_string":"1"},{"old_string":"two\nthree","new_string":""}]}"#,
                None,
            ),
            (r#"{"path":"a","content":"one\n"}"#, Some("@@ -1,4 +1 @@\n one\n-two\n-three\n-two\n")),
            (r#"{"path":"new","content":"x\n"}"#, Some("@@ -0,0 +1 @@\n+x\n")),
            (r#"{"path":"new","old_string":"","new_string":"x\n"}"#, Some("@@ -0,0 +1 @@\n+x\n")),
            (r#"{"path":"a","old_string":"four","new_string":"4"}"#, None),
            (r#"{"path":"a","old_string":"two","new_string":"two"}"#, None),
            (r#"{"path":"binary","content":"x"}"#, None),
            (r#"{"path":"folder","content":"x"}"#, None),
            (r#"{"path":"pipe","content":"x"}"#, None),
            (r#"{"command":"ls"}"#, None),
        ] {
            let body = Body::parse(input).unwrap();
            assert_eq!(preview(folder.path(), &body).as_deref(), expect, "{input}");
        }
    }
}
