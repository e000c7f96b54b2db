use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use antefix_tools::Scope;

use crate::workspace::Workspace;

fn input(path: &str, content: &str) -> String {
    format!("{{\"path\":\"{path}\",\"content\":\"{content}\"}}")
}

#[tokio::test]
async fn files_are_made_and_replaced() {
    let workspace = Workspace::new(&[("old", "1\n2\n"), ("empty", ""), ("long", "a\nb\nc\n")]);
    for (input, expect) in [
        (input("new/f", "a\\nb\\n"), "made `new/f` with 2 lines"),
        (input("new/f", "c"), "wrote `new/f`: 1 lines instead of 2"),
        (input("new/f", "c"), "`new/f` has this content already: nothing to do"),
        (input("empty", "x"), "wrote `empty`: 1 lines instead of 0"),
        (input("old", "x"), "error: `old` has not been read yet: read it (or the part to change) first"),
        (input("new", "x"), "error: `new` is a folder; its entries (1):\nf"),
        (
            r#"{"path":"x"}"#.to_owned(),
            "error: `content` is missing: expected the file's content as a string",
        ),
    ] {
        workspace.check("write", &input, expect).await;
    }
    workspace.call("read", r#"{"path":"long","limit":1}"#).await;
    workspace
        .check(
            "write",
            &input("long", "x"),
            "error: only a part of `long` has been read: read it whole first, or change the part with `edit`",
        )
        .await;
    workspace.call("read", r#"{"path":"old"}"#).await;
    workspace.write("old", "1\n3\n");
    let expect = "error: `old` has changed since it was last read: read it again first; what has changed:\n\
                  @@ -1,2 +1,2 @@\n 1\n-2\n+3";
    workspace.check("write", &input("old", "x"), expect).await;
    assert_eq!((workspace.content("old"), workspace.content("new/f")), ("1\n3\n".to_owned(), "c".to_owned()));
}

#[tokio::test]
async fn what_was_written_is_known_and_mode_and_links_stay() {
    let workspace = Workspace::new(&[("real", "a\n")]);
    fs::set_permissions(workspace.path("real"), fs::Permissions::from_mode(0o751)).unwrap();
    symlink("real", workspace.path("link")).unwrap();
    workspace.call("read", r#"{"path":"link"}"#).await;
    let output = workspace.call("write", &input("link", "b\\n")).await;
    assert_eq!((output.facts.len(), output.facts[0].scope), (1, Scope::Write));
    assert_eq!(workspace.plain(&output), "wrote `real`: 1 lines instead of 1");
    assert!(fs::symlink_metadata(workspace.path("link")).unwrap().is_symlink());
    assert_eq!(fs::metadata(workspace.path("real")).unwrap().permissions().mode() & 0o7777, 0o751);
    let edit = r#"{"path":"real","old_string":"b","new_string":"c"}"#;
    workspace.check("edit", edit, "changed `real`\n@@ -1,1 +1,1 @@\n-b\n+c").await;
    workspace.check("write", &input("real", "d"), "wrote `real`: 1 lines instead of 1").await;
    let names: Vec<_> =
        fs::read_dir(&workspace.context.cwd).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "a draft is left over");
}

#[tokio::test]
async fn several_edits_are_all_made_or_none() {
    let content = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n";
    let edit = |old: &str, new: &str| format!("{{\"old_string\":\"{old}\",\"new_string\":\"{new}\"}}");
    for (edits, expect, after) in [
        (
            vec![edit("ten", "10"), edit("one", "1")],
            "changed `f` in 2 places\n@@ -1,4 +1,4 @@\n-one\n+1\n two\n three\n four\n@@ -7,4 +7,4 @@\n seven\n eight\n nine\n-ten\n+10",
            content.replace("one", "1").replace("ten", "10"),
        ),
        (
            vec![edit("one", "1"), edit("none", "0")],
            "error: edit 2: `old_string` is not in `f`: read the part to change again and copy it exactly",
            content.to_owned(),
        ),
        (
            vec![edit("two\\nthree", "x"), edit("one", "1"), edit("three\\nfour", "y")],
            "error: edits 1 and 3 overlap: make one of them",
            content.to_owned(),
        ),
        (vec![], "error: `edits` is empty: nothing to do", content.to_owned()),
        (
            vec!["1".to_owned()],
            "error: `edits` is `[1]`: expected a list of objects with `old_string` and `new_string`",
            content.to_owned(),
        ),
        (
            vec![edit("six", "6"), r#"{"old_string":"seven"}"#.to_owned()],
            "error: edit 2: `new_string` is missing: expected the new text as a string",
            content.to_owned(),
        ),
    ] {
        let workspace = Workspace::new(&[("f", content)]);
        workspace.call("read", r#"{"path":"f"}"#).await;
        let input = format!("{{\"path\":\"f\",\"edits\":[{}]}}", edits.join(","));
        workspace.check("multi_edit", &input, expect).await;
        assert_eq!(workspace.content("f"), after, "{input}");
    }
    let workspace = Workspace::new(&[("f", content)]);
    let input = format!("{{\"path\":\"f\",\"edits\":[{}]}}", edit("one", "1"));
    let expect = "error: `f` has not been read yet: read it (or the part to change) first";
    workspace.check("multi_edit", &input, expect).await;
}

#[tokio::test]
async fn the_list_is_kept_in_the_order_of_the_calls() {
    let workspace = Workspace::new(&[]);
    let outputs = workspace
        .batch(&[
            ("todo", r#"{"add":["a"]}"#),
            ("todo", r#"{"add":["b"],"done":[1]}"#),
            ("todo", r#"{"start":[2]}"#),
        ])
        .await;
    let texts: Vec<_> = outputs.iter().map(|output| output.as_text()).collect();
    assert_eq!(texts, ["1 [ ] a", "1 [x] a\n2 [ ] b", "1 [x] a\n2 [>] b"]);
}
