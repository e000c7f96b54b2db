use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use antefix_tools::{Content, Limits, Output, Scope};

use crate::workspace::Workspace;

#[tokio::test]
async fn lines_come_with_numbers() {
    let ten: String = (1..=10).map(|line| format!("line {line}\n")).collect();
    let workspace = Workspace::new(&[
        ("a.txt", "first\n\tsecond\n\nlast"),
        ("ten.txt", &ten),
        ("empty.txt", ""),
        ("newline.txt", "\n"),
        ("crlf.txt", "a\r\nb\r\n"),
        ("mixed.txt", "a\r\nb\n"),
        ("mark.txt", "\u{feff}a\n"),
        ("dir/b.txt", "b\n"),
    ]);
    workspace.write("latin.txt", b"caf\xe9\n");
    for (input, expect) in [
        (r#"{"path":"a.txt"}"#, "     1\tfirst\n     2\t\tsecond\n     3\t\n     4\tlast"),
        (r#"{"path":"$W/dir/../a.txt","limit":1}"#, "     1\tfirst\n[lines 1 to 1 of 4]"),
        (r#"{"path":"ten.txt","offset":9}"#, "     9\tline 9\n    10\tline 10\n[lines 9 to 10 of 10]"),
        (
            r#"{"path":"ten.txt","offset":"3","limit":"2"}"#,
            "     3\tline 3\n     4\tline 4\n[lines 3 to 4 of 10]",
        ),
        (r#"{"path":"ten.txt","offset":11}"#, "error: `ten.txt` has 10 lines; `offset` 11 is past its end"),
        (r#"{"path":"empty.txt"}"#, "[the file is empty]"),
        (r#"{"path":"empty.txt","offset":5}"#, "[the file is empty]"),
        (r#"{"path":"newline.txt"}"#, "     1\t"),
        (r#"{"path":"crlf.txt"}"#, "     1\ta\n     2\tb\n[line ends are CRLF]"),
        (r#"{"path":"mixed.txt"}"#, "     1\ta\n     2\tb\n[some line ends are CRLF, some LF]"),
        (r#"{"path":"mark.txt"}"#, "     1\ta"),
        (r#"{"path":"latin.txt"}"#, "     1\tcaf\u{fffd}\n[bytes that are not UTF-8 are shown as U+FFFD]"),
        (r#"{"path":"a.txt","offset":0}"#, "error: `offset` is `0`: expected a whole number, at least 1"),
        ("{}", "error: `path` is missing: expected a file path as a string"),
    ] {
        workspace.check("read", input, expect).await;
    }
}

#[tokio::test]
async fn long_files_and_lines_are_cut() {
    let long: String = (1..=3000).map(|line| format!("{line}\n")).collect();
    let workspace =
        Workspace::new(&[("long.txt", &long), ("wide.txt", &format!("{}é\nb\n", "x".repeat(1999)))]);
    let wide = "x".repeat(5000);
    workspace.write("wider.txt", format!("{wide}\nb\n"));
    workspace.write("wide-and-long.txt", format!("{}\n", "y".repeat(1000)).repeat(100));

    let text = workspace.call("read", r#"{"path":"long.txt"}"#).await.as_text();
    let expect =
        "  2000\t2000\n[lines 1 to 2000 of 3000; 13893 bytes are too many to show: use a range or grep]";
    assert!(text.ends_with(expect), "{}", &text[text.len() - 200..]);

    let text = workspace.call("read", r#"{"path":"wide-and-long.txt"}"#).await.as_text();
    assert!(
        text.ends_with("\n[lines 1 to 49 of 100; 100100 bytes are too many to show: use a range or grep]")
    );
    assert!(text.len() < 50_100, "{}", text.len());

    let text = workspace.call("read", r#"{"path":"long.txt","limit":5000,"offset":2}"#).await.as_text();
    assert!(text.ends_with("\n[lines 2 to 2001 of 3000]"));

    let expect = format!("     1\t{}é\n     2\tb", "x".repeat(1999));
    workspace.check("read", r#"{"path":"wide.txt"}"#, &expect).await;
    let expect = format!("     1\t{}… [cut: the line has 5000 bytes]\n     2\tb", "x".repeat(2000));
    workspace.check("read", r#"{"path":"wider.txt"}"#, &expect).await;
}

#[tokio::test]
async fn what_is_no_file_is_an_error_at_once() {
    let workspace = Workspace::new(&[
        ("src/main.rs", ""),
        ("src/Module.rs", ""),
        ("src/deep/other.rs", ""),
        ("ignored/main.py", ""),
        (".gitignore", "ignored\n"),
    ]);
    fs::create_dir(workspace.path("none")).unwrap();
    symlink("gone", workspace.path("dangling")).unwrap();
    symlink("circle", workspace.path("circle")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, workspace.path("fifo"), 0o600.into()).unwrap();
    for (path, expect) in [
        ("src/mian.rs", "error: `src/mian.rs` is not there; similar names: src/main.rs"),
        ("src/module.rs", "error: `src/module.rs` is not there; similar names: src/Module.rs"),
        ("other.rs", "error: `other.rs` is not there; files of that name: src/deep/other.rs"),
        ("main.py", "error: `main.py` is not there"),
        (
            "lib/a/main.rs",
            "error: `lib/a/main.rs` is not there; its folder is not there either, only the workspace folder; \
             files of that name: src/main.rs",
        ),
        ("src/main.rs/x", "error: `src/main.rs/x` is not there; its folder is not there either, only src"),
        ("src", "error: `src` is a folder; its entries (3):\nModule.rs\ndeep/\nmain.rs"),
        ("none", "error: `none` is a folder, and empty"),
        ("dangling", "error: `dangling` is a link to `gone`, which is not there"),
        ("fifo", "error: `fifo` is a FIFO, not a file"),
        ("/dev/zero", "error: `/dev/zero` lies outside the workspace"),
        ("a\\u0000b", "error: `a\u{fffd}b` cannot be a path: it has a NUL in it"),
    ] {
        workspace.check("read", &format!("{{\"path\":\"{path}\"}}"), expect).await;
    }
    assert!(workspace.call("read", r#"{"path":"circle"}"#).await.is_error);
}

#[tokio::test]
async fn a_folder_with_many_entries_is_cut() {
    let mut workspace = Workspace::new(&[("d/c", ""), ("d/a", ""), ("d/b", "")]);
    workspace.context.limits.listed_names = 2;
    workspace
        .check("read", r#"{"path":"d"}"#, "error: `d` is a folder; its entries (3):\na\nb\n[1 more]")
        .await;
}

#[tokio::test]
async fn images_and_documents_are_passed_on() {
    let mut workspace = Workspace::new(&[]);
    workspace.context.limits = Limits { image_bytes: 40, document_bytes: 12, ..Limits::default() };
    let png = |side: u32| {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01".to_vec();
        bytes.extend(side.to_be_bytes());
        bytes
    };
    workspace.write("a.png", png(9));
    workspace.write("large.png", png(8001));
    workspace.write("big.png", [png(9), vec![0; 20]].concat());
    workspace.write("a.pdf", "%PDF-1.7");
    workspace.write("big.pdf", "%PDF-1.7..");
    workspace.write("a.out", b"\x7fELF\x02\0");

    let output = workspace.call("read", r#"{"path":"a.png"}"#).await;
    let (media_type, base64) = ("image/png".to_owned(), "iVBORw0KGgoAAAANSUhEUgAAAAEAAAAJ".to_owned());
    let facts = output.facts.clone();
    assert_eq!(
        output,
        Output {
            content: vec![Content::Image { media_type, base64 }],
            is_error: false,
            facts,
            shell: None,
            job: None,
            subagent: None,
        }
    );
    assert_eq!(output.facts[0].scope, Scope::Whole);
    let output = workspace.call("read", r#"{"path":"a.pdf"}"#).await;
    let (media_type, base64) = ("application/pdf".to_owned(), "JVBERi0xLjc=".to_owned());
    assert_eq!(output.content, [Content::Document { media_type, base64 }]);
    for (path, expect) in [
        ("big.png", "error: `big.png` (image/png) has 44 bytes, too many to show: at most 30 are possible"),
        (
            "big.pdf",
            "error: `big.pdf` (application/pdf) has 10 bytes, too many to show: at most 9 are possible",
        ),
        (
            "large.png",
            "error: `large.png` (image/png) is 1 × 8001 pixels, too large to show: at most 8000 × 8000 are possible",
        ),
        ("a.out", "[`a.out` is an ELF program or library of 6 bytes; it is not shown]"),
    ] {
        workspace.check("read", &format!("{{\"path\":\"{path}\"}}"), expect).await;
    }
}

#[tokio::test]
async fn what_was_read_is_a_fact() {
    let workspace = Workspace::new(&[("a.txt", "one\ntwo\n"), ("b.txt", "one\n")]);
    symlink("a.txt", workspace.path("link")).unwrap();
    workspace.write("wide.txt", "x".repeat(3000));
    for (input, path, scope) in [
        (r#"{"path":"link"}"#, "a.txt", Scope::Whole),
        (r#"{"path":"a.txt","offset":1,"limit":2}"#, "a.txt", Scope::Whole),
        (r#"{"path":"a.txt","offset":2}"#, "a.txt", Scope::Range),
        (r#"{"path":"b.txt"}"#, "b.txt", Scope::Whole),
        (r#"{"path":"wide.txt"}"#, "wide.txt", Scope::Range),
    ] {
        let output = workspace.call("read", input).await;
        let fact = &output.facts[0];
        let content = workspace.content(path);
        assert_eq!((fact.path.as_path(), fact.scope), (workspace.path(path).as_path(), scope), "{input}");
        assert_eq!(
            (fact.digest.as_str(), fact.size),
            (blake3::hash(content.as_bytes()).to_hex().as_str(), content.len() as u64)
        );
        assert_eq!(workspace.context.files.get(&workspace.path(path)).as_ref(), Some(fact));
        assert!(fact.mtime_ns > 0);
    }
    assert_eq!(workspace.context.files.get(Path::new("/none")), None);
    assert_eq!(workspace.call("read", r#"{"path":"none"}"#).await.facts, []);
}

#[tokio::test]
async fn a_huge_file_costs_no_memory_and_a_file_over_the_limit_is_refused() {
    let mut workspace = Workspace::new(&[]);
    let file = fs::File::create(workspace.path("sparse")).unwrap();
    file.set_len(1 << 40).unwrap();
    workspace
        .check(
            "read",
            r#"{"path":"sparse"}"#,
            "[`sparse` is a binary file of 1099511627776 bytes; it is not shown]",
        )
        .await;
    workspace.context.limits.file_bytes = 10;
    workspace.write("text", "0123456789\n");
    let expect = "error: `text` has 11 bytes, more than the 10 that can be gone through; look at a part of it with the shell";
    workspace.check("read", r#"{"path":"text"}"#, expect).await;
}
