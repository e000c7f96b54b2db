use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use antefix_tools::{FileTable, Scope};

use crate::workspace::Workspace;

fn input(path: &str, old: &str, new: &str) -> String {
    format!("{{\"path\":\"{path}\",\"old_string\":\"{old}\",\"new_string\":\"{new}\"}}")
}

async fn seen(files: &[(&str, &str)]) -> Workspace {
    let workspace = Workspace::new(files);
    for (path, _) in files {
        workspace.call("read", &format!("{{\"path\":\"{path}\"}}")).await;
    }
    workspace
}

/// Edits a file that has been read; `expect` is the result and the content afterwards.
async fn check(content: &str, old: &str, new: &str, expect: &str, after: &str) {
    let workspace = seen(&[("f", content)]).await;
    workspace.check("edit", &input("f", old, new), expect).await;
    assert_eq!(workspace.content("f"), after, "{old:?}");
    let entries: Vec<_> =
        fs::read_dir(&workspace.context.cwd).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(entries, ["f"], "a draft is left over");
}

#[tokio::test]
async fn edits() {
    check("a\nb\nc\n", "b", "x", "changed `f`\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c", "a\nx\nc\n").await;
    check(
        "1\n2\n3\n4\n5\n6\n7\n8\n9\n",
        "5\\n",
        "",
        "changed `f`\n@@ -2,7 +2,6 @@\n 2\n 3\n 4\n-5\n 6\n 7\n 8",
        "1\n2\n3\n4\n6\n7\n8\n9\n",
    )
    .await;
    check(
        "a",
        "a",
        "b\\n",
        "changed `f`\n@@ -1,1 +1,1 @@\n-a\n\\ no line end at the end of the file\n+b",
        "b\n",
    )
    .await;
    check("a\r\nb\r\n", "a\\nb", "a\\nx", "changed `f`\n@@ -1,2 +1,2 @@\n a\n-b\n+x", "a\r\nx\r\n").await;
    check("a\n", "a\\n", "", "changed `f`\n@@ -1,1 +0,0 @@\n-a", "").await;
    check("", "", "a\\n", "changed `f`\n@@ -0,0 +1,1 @@\n+a", "a\n").await;
}

#[tokio::test]
async fn refused_edits_leave_the_file() {
    for (old, new, expect) in [
        ("b", "b", "error: `old_string` and `new_string` are equal: nothing to do"),
        (
            "a",
            "x",
            "error: `old_string` is in `f` 2 times, at lines 1, 3: take in more of the lines around the one that is \
             meant, or set `replace_all`",
        ),
        ("", "x", "error: `old_string` is empty, but `f` is there and not empty: give the text to replace"),
        ("b  c", "x", "error: `old_string` is not in `f`; line 2 differs from it in white space only:\nb c"),
        (
            "nowhere",
            "x",
            "error: `old_string` is not in `f`: read the part to change again and copy it exactly",
        ),
    ] {
        check("a\nb c\na\n", old, new, expect, "a\nb c\na\n").await;
    }
    let workspace = Workspace::new(&[]);
    workspace
        .check(
            "edit",
            r#"{"path":"f","old_string":"a"}"#,
            "error: `new_string` is missing: expected the new text as a string",
        )
        .await;
    workspace.check("edit", &input("f", "a", "b"), "error: `f` is not there").await;
    workspace.check("edit", &input(".", "a", "b"), "error: `$W` is a folder, and empty").await;
}

#[tokio::test]
async fn replace_all_shows_each_place_and_caps_the_diff() {
    let content: String =
        (0..40).map(|line| format!("{}\n", if line % 10 == 0 { "old" } else { "-" })).collect();
    let mut workspace = seen(&[("f", &content)]).await;
    workspace.context.limits.diff_bytes = 78;
    let all = r#"{"path":"f","old_string":"old","new_string":"new","replace_all":"true"}"#;
    let expect = "changed `f` in 4 places\n@@ -1,4 +1,4 @@\n-old\n+new\n -\n -\n -\n\
                  @@ -8,7 +8,7 @@\n -\n -\n -\n-old\n+new\n -\n -\n[the rest of the diff is not shown]";
    workspace.check("edit", all, expect).await;
    assert_eq!(workspace.content("f"), content.replace("old", "new"));
}

#[tokio::test]
async fn a_rewritten_file_costs_no_more_than_its_size() {
    let content: String = (0..100_000).map(|line| format!("old {line}\n")).collect();
    let workspace = seen(&[("f", &content)]).await;
    let all = r#"{"path":"f","old_string":"old","new_string":"new","replace_all":true}"#;
    let expect = "changed `f` in 100000 places\n@@ -1,100000 +1,100000 @@\n[too long to show]";
    workspace.check("edit", all, expect).await;
    assert_eq!(workspace.content("f"), content.replace("old", "new"));
}

#[tokio::test]
async fn only_what_was_seen_as_it_is_can_be_changed() {
    let workspace = Workspace::new(&[("f", "a\n")]);
    let edit = input("f", "a", "b");
    workspace
        .check("edit", &edit, "error: `f` has not been read yet: read it (or the part to change) first")
        .await;
    workspace.call("read", r#"{"path":"f"}"#).await;
    workspace.write("f", "a\na2\n");
    workspace
        .check(
            "edit",
            &edit,
            "error: `f` has changed since it was last read: read it again first; what has changed:\n\
             @@ -1,1 +1,2 @@\n a\n+a2",
        )
        .await;
    assert_eq!(workspace.content("f"), "a\na2\n");
    workspace.call("read", r#"{"path":"f","limit":1}"#).await;
    assert!(!workspace.call("edit", &input("f", "a2", "c")).await.is_error);
    // The own change is known, so that the next one needs no reading.
    let output = workspace.call("edit", &input("f", "c", "d")).await;
    assert!(!output.is_error);
    assert_eq!((output.facts.len(), output.facts[0].scope), (1, Scope::Edit));
    assert_eq!(output.facts[0].digest, blake3::hash(b"a\nd\n").to_hex().to_string());
    assert_eq!(output.facts[0].size, 4);

    // A new process knows as much from the facts alone.
    let table = FileTable::default();
    table.apply(&output.facts[0]);
    assert_eq!(table.facts(), workspace.context.files.facts());
}

#[tokio::test]
async fn new_files_are_made_and_known() {
    let workspace = Workspace::new(&[("there", "x")]);
    workspace
        .check("edit", &input("deep/er/new.txt", "", "a\\nb\\n"), "made `deep/er/new.txt` with 2 lines")
        .await;
    assert_eq!(workspace.content("deep/er/new.txt"), "a\nb\n");
    assert!(!workspace.call("edit", &input("deep/er/new.txt", "a", "c")).await.is_error);
    assert_eq!(workspace.content("deep/er/new.txt"), "c\nb\n");
    workspace.check("edit", &input("blank", "", ""), "made `blank` with 0 lines").await;
    let text = workspace.plain(&workspace.call("edit", &input("there/x", "", "a")).await);
    assert!(text.starts_with("error: `there/x` cannot be made: "), "{text}");
    let entries = fs::read_dir(workspace.path("deep/er")).unwrap().count();
    assert_eq!(entries, 1, "a draft is left over");
}

#[tokio::test]
async fn mode_and_links_stay() {
    let workspace = seen(&[("real/f", "a\n")]).await;
    fs::set_permissions(workspace.path("real/f"), fs::Permissions::from_mode(0o751)).unwrap();
    symlink("real/f", workspace.path("link")).unwrap();
    let before = fs::metadata(workspace.path("real/f")).unwrap().ino();
    workspace.check("edit", &input("link", "a", "b"), "changed `real/f`\n@@ -1,1 +1,1 @@\n-a\n+b").await;
    let after = fs::metadata(workspace.path("real/f")).unwrap();
    assert_eq!(after.mode() & 0o7777, 0o751);
    assert_ne!(after.ino(), before, "the file was not replaced as a whole");
    assert!(fs::symlink_metadata(workspace.path("link")).unwrap().is_symlink());
    assert_eq!(workspace.content("real/f"), "b\n");
    fs::set_permissions(workspace.path("real/f"), fs::Permissions::from_mode(0o444)).unwrap();
    workspace.check("edit", &input("link", "b", "c"), "error: `real/f` is read-only").await;
    symlink("gone", workspace.path("dangling")).unwrap();
    workspace
        .check(
            "edit",
            &input("dangling", "", "c"),
            "error: `dangling` is a link to `gone`, which is not there",
        )
        .await;
}

#[tokio::test]
async fn bytes_that_are_not_utf8_stay() {
    let workspace = Workspace::new(&[]);
    workspace.write("f", b"caf\xe9 one\n");
    workspace.call("read", r#"{"path":"f"}"#).await;
    assert!(!workspace.call("edit", &input("f", "one", "two")).await.is_error);
    assert_eq!(fs::read(workspace.path("f")).unwrap(), b"caf\xe9 two\n");
}
