//! The perturbation matrix, row by row: each is played with all providers, and must be as declared.

#![allow(clippy::unwrap_used)] // A command that does not run fails the test.

use std::process::{Command, Output};

/// A test for each row, and the list of all.
macro_rules! rows {
    ($($test:ident $row:literal,)*) => {
        $(#[test]
        fn $test() {
            is_as_declared($row);
        })*

        const ROWS: &[&str] = &[$($row),*];
    };
}

rows! {
    nothing "nothing",
    pause "pause",
    next_day "next-day",
    parallel_14 "parallel-14",
    parallel_40 "parallel-40",
    image "image",
    rewind "rewind",
    fork "fork",
    upgrade "upgrade",
    upgrade_texts "upgrade-texts",
    subagents "subagents",
    refusal "refusal",
    cancelled "cancelled",
    killed_in_answer "killed-in-answer",
    killed_in_call "killed-in-call",
    model "model",
    effort "effort",
    thinking "thinking",
    compaction "compaction",
    server_compaction "server-compaction",
    server_clearing "server-clearing",
    old_thinking "old-thinking",
    instructions_edited "instructions-edited",
    instructions_deleted "instructions-deleted",
    instructions_added "instructions-added",
    date "date",
    git "git",
    file_changed "file-changed",
    file_deleted "file-deleted",
    file_touched "file-touched",
    memory "memory",
    todo "todo",
    todo_edited "todo-edited",
    todo_reordered "todo-reordered",
    todo_untouched "todo-untouched",
    diagnostics "diagnostics",
    budget_tokens "budget-tokens",
    budget_money "budget-money",
    permission_mode "permission-mode",
    skill_added "skill-added",
    skill_edited "skill-edited",
    skill_removed "skill-removed",
    skill_invoked "skill-invoked",
    tool_denied "tool-denied",
    tool_allowed "tool-allowed",
    reminder_off "reminder-off",
    reminder_on "reminder-on",
    killed_while_told "killed-while-told",
    hook "hook",
    other_folder "other-folder",
    mcp_order "mcp-order",
    mcp_gone "mcp-gone",
    mcp_back "mcp-back",
    mcp_new "mcp-new",
    mcp_description "mcp-description",
    mcp_schema "mcp-schema",
    mcp_slow "mcp-slow",
    mcp_crash "mcp-crash",
    tool_found "tool-found",
    tool_loaded "tool-loaded",
}

#[test]
fn every_row_of_the_matrix_has_its_test() {
    let output = conform(&["--list"]);
    let listed = String::from_utf8(output.stdout).unwrap();
    let names: Vec<_> = listed.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ROWS);
}

#[test]
fn what_is_not_there_is_refused() {
    for (arguments, said) in [
        (["--row", "no-such-row"], "no row has `no-such-row` in its name"),
        (["--column", "no-such-column"], "no column has `no-such-column` in its name"),
        (["--keep", env!("CARGO_MANIFEST_DIR")], "is there already and not empty"),
    ] {
        let output = conform(&arguments);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(said), "{output:?}");
    }
}

fn is_as_declared(row: &str) {
    let output = conform(&["--row", row]);
    let shown = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{shown}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(shown.contains("cells are as declared"), "{shown}");
}

fn conform(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_antefix")).args(["conform", "self"]).args(arguments).output().unwrap()
}
