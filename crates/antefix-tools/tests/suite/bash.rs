use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use antefix_tools::{Context, Executor, Output, ProgressKind, Registry};
use tokio::sync::Notify;

use crate::workspace::Workspace;

#[tokio::test]
async fn commands() {
    let workspace = Workspace::new(&[("f", "x\n")]);
    for (command, expect) in [
        ("echo a; echo b >&2; echo c", "a\nb\nc\n[exit code 0]"),
        ("printf a", "a\n[exit code 0]"),
        ("true", "[exit code 0]"),
        ("pwd; cat f", "$W\nx\n[exit code 0]"),
        ("echo a; exit 3", "error: a\n[exit code 3]"),
        ("kill -9 $$", "error: [killed by signal 9]"),
        ("cat; echo end", "end\n[exit code 0]"),
        ("printf '\\\\351\\\\n'", "\u{fffd}\n[exit code 0]"),
        ("[[ a == a ]] && echo bash", "bash\n[exit code 0]"),
        ("cat f | sed s/x/y/\\necho $((1 + 1))", "y\n2\n[exit code 0]"),
        ("  ", "error: `command` is empty: expected a shell command"),
        (
            "if",
            "error: bash: -c: line 2: syntax error: unexpected end of file from `if' command on line 1\n[exit code 2]",
        ),
    ] {
        let text = workspace.plain(&workspace.call("bash", &format!("{{\"command\":\"{command}\"}}")).await);
        if command == "if" {
            assert!(
                text.starts_with("error: ")
                    && text.contains("syntax error")
                    && text.ends_with("[exit code 2]")
            );
        } else {
            assert_eq!(text, expect, "{command}");
        }
    }
    for (input, expect) in [
        ("{}", "error: `command` is missing: expected a shell command as a string"),
        (
            r#"{"command":"true","timeout_ms":"soon"}"#,
            "error: `timeout_ms` is `\"soon\"`: expected a whole number, at least 1",
        ),
        (r#"{"command":"true","timeout_ms":"9000","description":"does nothing"}"#, "[exit code 0]"),
    ] {
        workspace.check("bash", input, expect).await;
    }
}

#[tokio::test]
async fn secrets_do_not_reach_the_command() {
    let mut workspace = Workspace::new(&[]);
    let mut environment = workspace.context.environment.to_vec();
    for name in ["ANTHROPIC_API_KEY", "OTHER_TOKEN", "my_secret", "KEPT"] {
        environment.push((name.into(), "hidden".into()));
    }
    workspace.context = workspace.context.clone().with_environment(environment);
    workspace.check("bash", r#"{"command":"env | grep hidden"}"#, "KEPT=hidden\n[exit code 0]").await;
}

#[tokio::test]
async fn without_bash_there_is_sh() {
    let mut workspace = Workspace::new(&[]);
    std::fs::create_dir(workspace.path("bin")).unwrap();
    std::os::unix::fs::symlink("/bin/sh", workspace.path("bin/sh")).unwrap();
    let environment = vec![("PATH".into(), workspace.path("bin").into())];
    workspace.context = workspace.context.clone().with_environment(environment);
    workspace.check("bash", r#"{"command":"echo $0"}"#, "sh\n[exit code 0]").await;
    workspace.context.cwd = workspace.path("gone");
    let text = workspace.call("bash", r#"{"command":"true"}"#).await;
    assert_eq!(
        text,
        Output::error(format!("the workspace folder {} is not there", workspace.context.cwd.display()))
    );
}

#[tokio::test]
async fn long_output_is_cut_and_kept_in_a_file() {
    let mut workspace = Workspace::new(&[]);
    workspace.context.limits.shell_bytes = 40;
    let expect = "1\n2\n3\n4\n5\n6\n7\n8\n9\n[lines 10 to 94 left out]\n95\n96\n97\n98\n99\n100\n\
                  [the whole output, 292 bytes in 100 lines, is in $S/bash-FILE.txt]\n[exit code 0]";
    let whole: String = (1..=100).map(|line| format!("{line}\n")).collect();
    let name = &blake3::hash(whole.as_bytes()).to_hex()[..16];
    for _ in 0..20 {
        workspace.check("bash", r#"{"command":"seq 100"}"#, &expect.replace("FILE", name)).await;
    }
    let file = workspace.context.spill.join(format!("bash-{name}.txt"));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), whole);
    assert_eq!(
        std::fs::read_dir(&workspace.context.spill).unwrap().count(),
        1,
        "an unfinished file is left over"
    );
    let page = format!("{{\"path\":\"{}\",\"offset\":50,\"limit\":1}}", file.display());
    workspace.check("read", &page, "    50\t50\n[lines 50 to 50 of 100]").await;

    // Exactly the cap is not cut; without line ends the cut is anywhere.
    workspace
        .check("bash", r#"{"command":"printf %040d 7"}"#, &format!("{}7\n[exit code 0]", "0".repeat(39)))
        .await;
    let text = workspace.call("bash", r#"{"command":"printf %041d 7"}"#).await.as_text();
    assert!(
        text.starts_with(&format!("{}\n[lines 1 to 0 left out]\n{}7\n", "0".repeat(20), "0".repeat(19))),
        "{text}"
    );

    workspace.context.limits.spill_bytes = 50;
    let text = workspace.plain(&workspace.call("bash", r#"{"command":"seq 100"}"#).await);
    assert!(
        text.contains("\n[the output has 292 bytes in 100 lines; its first 50 bytes are in $S/bash-"),
        "{text}"
    );
    std::fs::remove_dir_all(&workspace.context.spill).unwrap();
    std::fs::write(&workspace.context.spill, "").unwrap();
    let text = workspace.plain(&workspace.call("bash", r#"{"command":"seq 100"}"#).await);
    assert!(
        text.contains("\n[the output has 292 bytes in 100 lines; it could not be kept in a file: "),
        "{text}"
    );
}

#[tokio::test]
async fn a_hundred_megabytes_are_shown_as_thirty_kilobytes() {
    let workspace = Workspace::new(&[]);
    let text =
        workspace.call("bash", r#"{"command":"yes 0123456789abcdef | head -c 100000000"}"#).await.as_text();
    assert!(text.len() < 30_300, "{}", text.len());
    assert!(
        text.contains("[the whole output, 100000000 bytes in 5882352 lines, is in "),
        "{}",
        &text[text.len() - 300..]
    );
}

/// Starts a call whose command prints `go` when it is under way, does `then`, and gives the result.
async fn interrupted(workspace: &Workspace, input: &str, then: impl FnOnce(&Context)) -> Output {
    let under_way = Arc::new(Notify::new());
    let printed = Mutex::new(String::new());
    let notify = under_way.clone();
    let context = workspace.context.clone().with_progress(move |progress| {
        if let ProgressKind::Text(text) = progress.kind {
            let mut printed = printed.lock().unwrap();
            printed.push_str(&text);
            if printed.contains("go\n") {
                notify.notify_one();
            }
        }
    });
    let calls = workspace.calls(&[("bash", input)]);
    let executor = Executor::new(Arc::new(Registry::builtin()));
    let own = context.clone();
    let call = tokio::spawn(async move { executor.run(&own, calls).await.remove(0) });
    under_way.notified().await;
    then(&context);
    call.await.unwrap()
}

/// Waits until a process that wrote its id to a file has ended.
async fn gone(file: &Path) {
    let id = std::fs::read_to_string(file).unwrap();
    let is_running = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", id.trim())).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
    };
    let wait = async {
        while is_running() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), wait).await.expect("the process still runs");
}

/// Standard error is closed since bash may report there, with process ids, what was ended before it.
const TREE: &str = "exec 2>/dev/null; (sleep 1000 & echo $! > child; wait) & while [ ! -s child ]; do :; done; echo a; echo go; wait";

#[tokio::test]
async fn a_timeout_ends_the_whole_group_and_keeps_the_output() {
    let workspace = Workspace::new(&[]);
    let input = format!("{{\"command\":\"{TREE}\",\"timeout_ms\":9999999}}");
    // The clock is stopped once the command is under way; it then jumps to the timeout.
    let output = interrupted(&workspace, &input, |_| tokio::time::pause()).await;
    tokio::time::resume();
    assert_eq!(workspace.plain(&output), "error: a\ngo\n[stopped: still running after 600000 ms]");
    gone(&workspace.path("child")).await;
}

#[tokio::test]
async fn cancelling_ends_the_whole_group_and_keeps_the_output() {
    let workspace = Workspace::new(&[]);
    let input = format!("{{\"command\":\"{TREE}\"}}");
    let output = interrupted(&workspace, &input, |context| context.cancellation.cancel()).await;
    assert_eq!(workspace.plain(&output), "error: a\ngo\n[stopped: cancelled by the user]");
    gone(&workspace.path("child")).await;
}

#[tokio::test]
async fn a_command_may_clean_up_when_it_is_stopped() {
    let workspace = Workspace::new(&[]);
    let input = r#"{"command":"trap 'echo clean; exit 0' TERM; echo go; while :; do :; done"}"#;
    let output = interrupted(&workspace, input, |context| context.cancellation.cancel()).await;
    assert_eq!(workspace.plain(&output), "error: go\nclean\n[stopped: cancelled by the user]");
}

#[tokio::test]
async fn a_command_that_ignores_the_request_is_ended_by_force() {
    let mut workspace = Workspace::new(&[]);
    workspace.context.limits.kill_grace = Duration::from_millis(50);
    let input = r#"{"command":"trap '' TERM; echo $$ > child; echo go; while :; do sleep 0.01; done"}"#;
    let output = interrupted(&workspace, input, |context| context.cancellation.cancel()).await;
    assert_eq!(workspace.plain(&output), "error: go\n[stopped: cancelled by the user]");
    gone(&workspace.path("child")).await;
}

#[tokio::test]
async fn what_is_left_in_the_background_is_stopped_and_does_not_hang() {
    let workspace = Workspace::new(&[]);
    for (command, printed) in [
        ("sleep 1000 & echo $! > child; echo a", "a\n"),
        ("sleep 1000 >/dev/null 2>&1 & echo $! > child; echo a", "a\n"),
        ("(trap '' HUP; exec sleep 1000) & echo $! > child", ""),
    ] {
        let expect = format!("{printed}[processes left in the background were stopped]\n[exit code 0]");
        workspace.check("bash", &format!("{{\"command\":\"{command}\"}}"), &expect).await;
        gone(&workspace.path("child")).await;
    }
    workspace.check("bash", r#"{"command":"true & wait; echo a"}"#, "a\n[exit code 0]").await;
}

#[tokio::test]
async fn a_dropped_batch_leaves_no_process() {
    let workspace = Workspace::new(&[]);
    let under_way = Arc::new(Notify::new());
    let notify = under_way.clone();
    let context = workspace.context.clone().with_progress(move |progress| {
        if progress.kind == ProgressKind::Text("go\n".to_owned()) {
            notify.notify_one();
        }
    });
    let command = "{\"command\":\"sleep 1000 & echo $! > child; echo go; wait\"}";
    let executor = Executor::new(Arc::new(Registry::builtin()));
    tokio::select! {
        _ = executor.run(&context, workspace.calls(&[("bash", command)])) => unreachable!("the command waits"),
        () = under_way.notified() => {}
    }
    gone(&workspace.path("child")).await;
}

#[tokio::test]
async fn there_is_no_terminal_to_ask_on() {
    let workspace = Workspace::new(&[]);
    let command = r#"{"command":"(: < /dev/tty) 2>/dev/null || echo none"}"#;
    workspace.check("bash", command, "none\n[exit code 0]").await;
}
