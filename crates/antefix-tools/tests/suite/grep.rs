use std::os::unix::fs::symlink;

use crate::workspace::Workspace;

fn project() -> Workspace {
    let workspace = Workspace::new(&[
        ("src/b.rs", "fn one() {}\nfn two() {\n    one();\n}\n\nfn three() {}\n"),
        ("src/a.rs", "// One\nfn four() { one() }\n"),
        ("src.rs", "one\r\n"),
        ("notes.md", "one and one\n"),
        ("target/out.rs", "fn one() {}\n"),
        (".gitignore", "target/\n"),
        (".git/config", "one\n"),
        (".hidden/c.rs", "one\n"),
    ]);
    workspace.write("blob.bin", b"one\0\n");
    workspace
}

#[tokio::test]
async fn lines_are_found_in_order_of_the_paths() {
    let workspace = project();
    symlink("src/b.rs", workspace.path("link.rs")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, workspace.path("fifo"), 0o600.into()).unwrap();
    for (input, expect) in [
        (r#"{"pattern":"fn one"}"#, "src/b.rs\n1:fn one() {}\n[binary and not searched: 1 file]"),
        (
            r#"{"pattern":"one$"}"#,
            ".hidden/c.rs\n1:one\n\nnotes.md\n1:one and one\n\nsrc.rs\n1:one\n[binary and not searched: 1 file]",
        ),
        (
            r#"{"pattern":"one","glob":"*.rs","context":"1","path":"src"}"#,
            "src/a.rs\n1-// One\n2:fn four() { one() }\n\nsrc/b.rs\n1:fn one() {}\n2:fn two() {\n3:    one();\n4-}",
        ),
        (
            r#"{"pattern":"^fn (one|three)","path":"$W/src/b.rs","context":0}"#,
            "src/b.rs\n1:fn one() {}\n6:fn three() {}",
        ),
        (
            r#"{"pattern":"one\\(\\) \\{|three","path":"src/b.rs","context":1}"#,
            "src/b.rs\n1:fn one() {}\n2-fn two() {\n--\n5-\n6:fn three() {}",
        ),
        (
            r#"{"pattern":"ONE","path":"src/a.rs","ignore_case":true}"#,
            "src/a.rs\n1:// One\n2:fn four() { one() }",
        ),
        (r#"{"pattern":"One","path":"src/b.rs"}"#, "[no matches in 1 file]"),
        (r#"{"pattern":"x","glob":"*.py"}"#, "[no matches in 0 files]"),
        (r#"{"pattern":"one","path":"target/out.rs"}"#, "target/out.rs\n1:fn one() {}"),
        (
            r#"{"pattern":"one","path":"blob.bin"}"#,
            "[no matches in 0 files]\n[binary and not searched: 1 file]",
        ),
        (r#"{"pattern":"one","path":"fifo"}"#, "error: `fifo` is a FIFO, not a file"),
        (r#"{"pattern":"one","path":"scr"}"#, "error: `scr` is not there; similar names: src.rs, src"),
        (
            r#"{"pattern":"one","glob":"[a"}"#,
            "error: `glob` cannot be read: error parsing glob '**/[a': unclosed character class; missing ']'",
        ),
        (r#"{"pattern":1}"#, "error: `pattern` is `1`: expected a regular expression as a string"),
        (
            r#"{"pattern":"a","mode":"all"}"#,
            r#"error: `mode` is `"all"`: expected one of "content", "files", "count""#,
        ),
    ] {
        let expect = expect.replace("2:fn two() {\n3:", "2-fn two() {\n3:");
        workspace.check("grep", input, &expect).await;
    }
    let text = workspace.call("grep", r#"{"pattern":"f("}"#).await;
    assert!(
        text.is_error && text.as_text().contains("unclosed group") && text.as_text().contains("backslash")
    );
    let text = workspace.call("grep", r#"{"pattern":"a\nb"}"#).await;
    assert!(text.is_error && text.as_text().contains("A match cannot go over a line end."));
}

#[tokio::test]
async fn globs() {
    let workspace = project();
    for (glob, expect) in [
        ("*.rs", ".hidden/c.rs\nsrc/a.rs\nsrc/b.rs\nsrc.rs"),
        ("src/*.rs", "src/a.rs\nsrc/b.rs"),
        ("./src/*", "src/a.rs\nsrc/b.rs"),
        ("/src.rs", "src.rs"),
        ("**/b.*", "src/b.rs"),
        ("*.{md,py}", "notes.md"),
        ("!*.rs", "notes.md"),
    ] {
        let input = format!("{{\"pattern\":\"one\",\"mode\":\"files\",\"glob\":\"{glob}\"}}");
        let text = workspace.plain(&workspace.call("grep", &input).await);
        assert_eq!(text.replace("\n[binary and not searched: 1 file]", ""), expect, "{glob}");
    }
    workspace
        .check("grep", r#"{"pattern":"one","mode":"files","path":"src","glob":"/b.rs"}"#, "src/b.rs")
        .await;
}

#[tokio::test]
async fn files_counts_and_limits() {
    let mut workspace = project();
    // A match before the first NUL does not make the file text.
    workspace.write("late.bin", format!("one\n{}\0", "x\n".repeat(200_000)));
    for (input, expect) in [
        (
            r#"{"pattern":"one","mode":"count","path":"late.bin"}"#,
            "[no matches in 0 files]\n[binary and not searched: 1 file]",
        ),
        (r#"{"pattern":"one","mode":"files","path":"src"}"#, "src/a.rs\nsrc/b.rs"),
        (
            r#"{"pattern":"one","mode":"files","glob":"*.rs","head_limit":1}"#,
            ".hidden/c.rs\n[the first 1 of 4 files; all are in $S/grep-*.txt]",
        ),
        (
            r#"{"pattern":"one","mode":"count","path":"src"}"#,
            "src/a.rs:1\nsrc/b.rs:2\n[3 matching lines in 2 files]",
        ),
        (
            r#"{"pattern":"one","mode":"count","path":"src","head_limit":1}"#,
            "src/a.rs:1\n[3 matching lines in 2 files]\n[the first 1 of 2 files; all are in $S/grep-*.txt]",
        ),
        (
            r#"{"pattern":"one","path":"src","head_limit":2}"#,
            "src/a.rs\n2:fn four() { one() }\n\nsrc/b.rs\n1:fn one() {}\n[the first 2 of 3 lines; all are in \
             $S/grep-*.txt]",
        ),
        (
            r#"{"pattern":"one","path":"src","head_limit":3}"#,
            "src/a.rs\n2:fn four() { one() }\n\nsrc/b.rs\n1:fn one() {}\n3:    one();",
        ),
    ] {
        workspace.check("grep", input, expect).await;
    }
    workspace.context.limits.grep_bytes = 25;
    let expect = "src/b.rs\n1:fn one() {}\n[the first 1 of 3 lines; all are in $S/grep-*.txt]";
    workspace.check("grep", r#"{"pattern":"fn","path":"src/b.rs"}"#, expect).await;
}

#[tokio::test]
async fn what_is_over_the_cap_can_be_read_and_searched() {
    let workspace = project();
    let text = workspace.call("grep", r#"{"pattern":"one","path":"src","head_limit":1}"#).await.as_text();
    let (_, path) = text.split_once("all are in ").unwrap();
    let input = format!("{{\"path\":\"{}\"}}", path.trim_end_matches(']'));
    let expect = "     1\tsrc/a.rs\n     2\t2:fn four() { one() }\n     3\t\n     4\tsrc/b.rs\n     5\t1:fn one() {}\n     6\t3:    one();";
    workspace.check("read", &input, expect).await;
}

#[tokio::test]
async fn a_long_line_is_shown_around_its_match() {
    let workspace = Workspace::new(&[("min.js", &format!("{}needle{}", "é".repeat(5000), "x".repeat(5000)))]);
    let expect =
        format!("min.js\n1:… {}needle{} … [cut: the line has 15006 bytes]", "é".repeat(50), "x".repeat(294));
    workspace.check("grep", r#"{"pattern":"needle"}"#, &expect).await;
}

#[tokio::test]
async fn a_million_matches_are_bounded() {
    let workspace = Workspace::new(&[("many.txt", &"match\n".repeat(1_000_000))]);
    let text = workspace.call("grep", r#"{"pattern":"match"}"#).await.as_text();
    assert_eq!(text.lines().filter(|line| line.ends_with(":match")).count(), 200);
    let (_, kept) = text.split_once("the first ").unwrap();
    let (_, kept) = kept.split_once("the first ").unwrap();
    let (lines, path) = kept.split_once(" are in ").unwrap();
    let file = std::fs::read_to_string(path.strip_suffix(", and there are more]").unwrap()).unwrap();
    assert_eq!(file.lines().count(), lines.parse::<usize>().unwrap() + 1, "the path and the lines");
    assert!(file.len() <= 8 << 20 && file.len() > 7 << 20, "{}", file.len());
    workspace
        .check(
            "grep",
            r#"{"pattern":"match","mode":"count"}"#,
            "many.txt:1000000\n[1000000 matching lines in 1 file]",
        )
        .await;
}

#[tokio::test]
async fn the_same_search_gives_the_same_bytes() {
    let names: Vec<_> = (0..700).map(|number| format!("d{}/f{number}.txt", number % 13)).collect();
    let contents: Vec<_> = names.iter().map(|name| format!("hit in {name}\nmiss\nhit\n")).collect();
    let files: Vec<_> =
        names.iter().zip(&contents).map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let workspace = Workspace::new(&files);
    for input in [
        r#"{"pattern":"hit","head_limit":1300}"#,
        r#"{"pattern":"hit","mode":"count","head_limit":5}"#,
        r#"{"pattern":"hit","mode":"files","head_limit":650}"#,
        r#"{"path":"d1/f1.tyt"}"#,
    ] {
        let tool = if input.contains("pattern") { "grep" } else { "read" };
        let first = workspace.call(tool, input).await;
        let text = first.as_text();
        let mut path = "";
        for line in text.lines() {
            path = if line.starts_with('d') { line } else { path };
            assert!(!line.starts_with("1:hit") || line.ends_with(path), "{line} under {path}");
        }
        for _ in 0..20 {
            assert_eq!(workspace.call(tool, input).await, first, "{input}");
        }
    }
}

#[tokio::test]
async fn a_cancelled_search_says_so() {
    let workspace = project();
    workspace.context.cancellation.cancel();
    let registry = antefix_tools::Registry::builtin();
    let input = antefix_wire::json::Body::parse(r#"{"pattern":"one"}"#).unwrap();
    let output = registry.get("grep").unwrap().call(&workspace.context, input).await;
    assert_eq!(workspace.plain(&output), "error: cancelled by the user");
}
