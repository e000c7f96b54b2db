use std::os::unix::fs::symlink;

use crate::workspace::Workspace;

#[tokio::test]
async fn files_are_found_in_order_of_the_paths() {
    let workspace = Workspace::new(&[
        ("src/b.rs", ""),
        ("src/a.rs", ""),
        ("src/deep/c.rs", ""),
        ("src.rs", ""),
        ("target/out.rs", ""),
        (".gitignore", "target/\n*.log\n!keep.log\n"),
        (".git/config", ""),
        (".git/info/exclude", "excluded.rs\n"),
        ("excluded.rs", ""),
        ("a.log", ""),
        ("keep.log", ""),
        ("src/.ignore", "keep.log\n"),
        ("src/keep.log", ""),
        ("own/.git/HEAD", ""),
        ("own/b.log", ""),
        ("na\nme.rs", ""),
    ]);
    symlink("src", workspace.path("link")).unwrap();
    symlink("src/a.rs", workspace.path("link.rs")).unwrap();
    for (input, expect) in [
        (r#"{"pattern":"*.rs"}"#, "na\u{fffd}me.rs\nsrc/a.rs\nsrc/b.rs\nsrc/deep/c.rs\nsrc.rs"),
        (r#"{"pattern":"src/*.rs"}"#, "src/a.rs\nsrc/b.rs"),
        (r#"{"pattern":"*.log"}"#, "keep.log\nown/b.log"),
        (r#"{"pattern":"c.*","path":"src"}"#, "src/deep/c.rs"),
        (r#"{"pattern":"*.rs","path":"target"}"#, "target/out.rs"),
        (r#"{"pattern":"excluded.*"}"#, "[no file of 9 fits]"),
        (
            r#"{"pattern":"*.rs","head_limit":2}"#,
            "na\u{fffd}me.rs\nsrc/a.rs\n[the first 2 of 5 files; all are in $S/glob-*.txt]",
        ),
        (r#"{"pattern":"*","path":"src.rs"}"#, "error: `src.rs` is a file, not a folder"),
        (r#"{"pattern":"*","path":"scr"}"#, "error: `scr` is not there; similar names: src.rs, src"),
        (r#"{"pattern":"*","path":"/etc"}"#, "error: `/etc` lies outside the workspace"),
        (
            r#"{"pattern":"[a"}"#,
            "error: `pattern` cannot be read: error parsing glob '**/[a': unclosed character class; missing ']'",
        ),
        ("{}", "error: `pattern` is missing: expected a file pattern as a string"),
    ] {
        workspace.check("glob", input, expect).await;
    }
}

/// The order in which threads find files is random; the result's is not.
#[tokio::test]
async fn the_same_search_gives_the_same_bytes() {
    let names: Vec<_> =
        (0..900).map(|number| format!("d{}/e{}/f{number}", number % 13, number % 7)).collect();
    let files: Vec<_> = names.iter().map(|name| (name.as_str(), "")).collect();
    let workspace = Workspace::new(&files);
    let first = workspace.call("glob", r#"{"pattern":"*","head_limit":1000}"#).await;
    let mut sorted = names.clone();
    sorted.sort_by(|a, b| a.split('/').cmp(b.split('/')));
    assert_eq!(first.as_text().lines().collect::<Vec<_>>(), sorted);
    for _ in 0..20 {
        assert_eq!(workspace.call("glob", r#"{"pattern":"*","head_limit":1000}"#).await, first);
    }
}
