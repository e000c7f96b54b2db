//! The case files, through the command line: each gives its verdict, and nothing that it must not.

#![allow(clippy::unwrap_used)] // A command that does not run fails the test.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use antefix_wire::json::{Body, Node};

fn explain(args: &[&Path]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_antefix")).arg("explain").args(args).arg("--json").output().unwrap()
}

fn parsed(output: &Output) -> Body {
    Body::parse(output.stdout.clone()).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn cases() -> Vec<(PathBuf, Body)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let body = Body::parse(std::fs::read(&path).unwrap()).unwrap();
        (path, body)
    };
    paths.into_iter().map(read).collect()
}

/// The value at a pointer, as written; empty without one.
fn raw<'a>(node: Node<'a>, pointer: &str) -> &'a str {
    node.pointer(pointer).map_or("", |found| found.raw())
}

#[test]
fn every_case_has_its_verdict() {
    let cases = cases();
    assert!(cases.len() >= 21, "{} cases", cases.len());
    for (path, case) in &cases {
        let name = path.file_name().unwrap().to_string_lossy();
        let (output, case) = (explain(&[path]), case.root());
        let found = parsed(&output);
        let found = found.root();
        match raw(case, "/level") {
            "\"wire\"" => wire(&name, case, found, &output),
            "\"usage\"" => usage(&name, case, found),
            _ => ledger(&name, case, found),
        }
        let all = found.raw();
        for kind in case.pointer("/expected/must_not").into_iter().flat_map(Node::items) {
            assert!(!all.contains(&format!("\"kind\":{}", kind.raw())), "{name}: {all}");
            assert!(!all.contains(&format!("\"verdict\":{}", kind.raw())), "{name}: {all}");
        }
    }
}

fn wire(name: &str, case: Node<'_>, found: Node<'_>, output: &Output) {
    let context = format!("{name}: {}", found.raw());
    if raw(case, "/expected/break") == "false" {
        assert_eq!(raw(found, "/breaks"), "[]", "{context}");
    } else {
        assert_eq!(output.status.code(), Some(1), "{context}");
        for key in ["path", "kind"] {
            let expect = raw(case, &format!("/expected/first_break/{key}"));
            assert_eq!(raw(found, &format!("/breaks/0/{key}")), expect, "{context}");
        }
        let between = raw(case, "/expected/first_break/between").split_whitespace().collect::<String>();
        assert_eq!(raw(found, "/breaks/0/between"), between, "{context}");
        for key in ["root_cause", "severity"] {
            let expect = raw(case, &format!("/expected/{key}"));
            assert!(expect.is_empty() || raw(found, &format!("/breaks/0/{key}")) == expect, "{context}");
        }
        if raw(case, "/expected/origin") == "\"gateway\"" {
            assert_eq!(raw(found, "/breaks/0/party"), "\"gateway\"", "{context}");
        }
        for key in [
            "warm",
            "new_process",
            "paid_for_clearing",
            "context_shrank",
            "written_never_read",
            "added",
            "moved",
            "same_tool_set",
            "canonically_equal",
            "client_pair_stable",
            "inserted_count",
            "tail_intact",
            "read_floor",
            "common_prefix_chars_in_leaf",
            "volatile_span",
        ] {
            let squeeze = |text: &str| text.split_whitespace().collect::<String>();
            let expect = squeeze(raw(case, &format!("/expected/{key}")));
            let actual = squeeze(raw(found, &format!("/breaks/0/evidence/{key}")));
            assert!(expect.is_empty() || expect == actual, "{key} is {actual} in {context}");
        }
    }
    match raw(case, "/expected/fault/kind") {
        "" => assert_eq!(raw(found, "/faults"), "[]", "{context}"),
        kind => {
            assert_eq!(raw(found, "/faults/0/kind"), kind, "{context}");
            for key in ["blocks_since_last_entry", "lookback"] {
                let expect = raw(case, &format!("/expected/fault/{key}"));
                assert_eq!(raw(found, &format!("/faults/0/evidence/{key}")), expect, "{context}");
            }
        }
    }
    let positions = raw(case, "/expected/positions_since_last_entry");
    let note = format!("positions_since_last_entry: {positions},");
    assert!(positions.is_empty() || raw(found, "/notes").contains(&note), "{context}");
}

fn usage(name: &str, case: Node<'_>, found: Node<'_>) {
    let context = format!("{name}: {}", found.raw());
    assert_eq!(raw(found, "/usage_findings/0/verdict"), raw(case, "/expected/verdict"), "{context}");
    assert!(found.pointer("/usage_findings/1").is_none(), "{context}");
    for key in [
        "floor",
        "first_bad",
        "healthy",
        "hit_ratio_last",
        "cause_certain",
        "next_step",
        "at",
        "user_actionable",
        "extra_written_tokens",
    ] {
        let expect = raw(case, &format!("/expected/{key}"));
        let actual = raw(found, &format!("/usage_findings/0/evidence/{key}"));
        assert!(expect.is_empty() || expect == actual, "{key} is {actual} in {context}");
    }
}

fn ledger(name: &str, case: Node<'_>, found: Node<'_>) {
    let context = format!("{name}: {}", found.raw());
    assert_eq!(raw(found, "/usage_findings/0/kind"), raw(case, "/kind"), "{context}");
    let requests = raw(case, "/expected/requests");
    assert!(requests.is_empty() || raw(found, "/requests") == requests, "{context}");
    let squeeze = |text: &str| text.split_whitespace().collect::<String>();
    for key in ["totals", "naive_totals", "canonical", "all_rows_equal", "hit_ratio"] {
        let expect = squeeze(raw(case, &format!("/expected/{key}")));
        let actual = squeeze(raw(found, &format!("/usage_findings/0/evidence/{key}")));
        assert!(expect.is_empty() || expect == actual, "{key} is {actual} in {context}");
    }
}

#[test]
fn bodies_and_captures_are_explained_like_cases() {
    let (_, case) = cases().into_iter().find(|(path, _)| path.to_string_lossy().contains("07-")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut paths = Vec::new();
    for index in 0..2 {
        let path = folder.path().join(format!("00000{}.body.json", index + 1));
        std::fs::write(&path, raw(case.root(), &format!("/input/requests/{index}"))).unwrap();
        paths.push(path);
    }
    let kinds = [explain(&[&paths[0], &paths[1]]), explain(&[folder.path()])].map(|output| {
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        raw(parsed(&output).root(), "/breaks/0/kind").to_owned()
    });
    assert_eq!(kinds, ["\"system.clock\"", "\"system.clock\""]);
    let same = explain(&[&paths[0], &paths[0]]);
    assert_eq!((same.status.code(), raw(parsed(&same).root(), "/breaks")), (Some(0), "[]"));
}

#[test]
fn what_was_said_can_be_left_out() {
    let (path, _) = cases().into_iter().find(|(path, _)| path.to_string_lossy().contains("05-")).unwrap();
    let run = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_antefix"));
        let output = command.arg("explain").arg(&path).args(args).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    for form in [&[][..], &["--json"]] {
        let (open, hidden) = (run(form), run(&[form, &["--redact"]].concat()));
        assert!(open.contains("36ee5") && open.contains("0aaa9"), "{open}");
        assert!(!hidden.contains("36ee5") && !hidden.contains("0aaa9"), "{hidden}");
        assert!(hidden.contains("system.nonce") && hidden.contains("/system/0/text"), "{hidden}");
    }
}

#[test]
fn what_cannot_be_explained_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.json");
    for text in ["", "[", "{}", r#"{"level":"appcache","input":{"calls":[]}}"#] {
        std::fs::write(&path, text).unwrap();
        let output = explain(&[&path]);
        assert_eq!(output.status.code(), Some(2), "{text}: {output:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{text}: {output:?}");
    }
    assert_eq!(explain(&[folder.path()]).status.code(), Some(2), "an empty folder");
}
