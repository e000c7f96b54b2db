use std::io::{BufRead, BufReader};

use crate::case::Case;

const HELLO: &str = "rule\n on said Hello\n text Hello to you.\nrule\n on said Write\n text Written.";

#[test]
fn an_unknown_session_is_said_to_be_unknown() {
    let case = Case::new(HELLO);
    case.go_on("Hello").ends().code(2).stderr("there is no session of").stderr("hint: ");
    case.run("Hello").ends().code(0);
    for asked in ["01234567", "", "../..", "nobody"] {
        let ended = case.run("Hello").args(["--resume", asked]).ends().code(2);
        ended.stderr("there is no session `").stderr("hint: `antefix sessions` lists them");
    }
    case.goes_on();
}

#[test]
fn a_session_in_use_is_left_alone_and_can_be_copied() {
    let case = Case::new(&format!("{HELLO}\nrule\n on said Wait\n text I am waiting for you.\n hang 700"));
    case.run("Hello").ends().code(0);
    let before = std::fs::read_dir(case.state().join("antefix/sessions")).expect("sessions").count();
    let mut busy = case.go_on("Wait").args(["--output", "stream-json"]).spawn();
    let mut lines = BufReader::new(busy.stdout.take().expect("its output")).lines();
    let begun = lines.any(|line| line.is_ok_and(|line| line.contains("request_started")));
    assert!(begun, "the other process has begun");
    let ended = case.go_on("Hello").ends().code(1);
    ended.stderr("is in use by another process").stderr("--fork");
    case.go_on("Hello").arg("--fork").ends().code(0).stdout("Hello to you.");
    assert_eq!(case.transcripts().len(), before + 1, "the copy is the only new session");
    busy.kill().and_then(|()| busy.wait()).expect("it can be ended");
    case.goes_on();
}

#[test]
fn a_state_folder_that_cannot_be_made_is_named_and_nothing_is_sent() {
    let case = Case::new(HELLO);
    std::fs::write(case.root().join("file"), "").expect("a file");
    for state in [case.root().join("file"), "/proc/nowhere".into()] {
        let ended = case.run("Hello").env("XDG_STATE_HOME", &state).ends().code(1);
        ended.stderr(&state.display().to_string()).stderr("hint: ");
    }
    case.run("Hello").without("HOME").without("XDG_STATE_HOME").ends().code(2).stderr("hint: set HOME");
    assert!(case.sent().is_empty(), "nothing was sent");
    case.run("Hello").ends().code(0);
    case.goes_on();
}

#[test]
fn where_a_file_may_not_grow_nothing_is_sent() {
    let case = Case::new(HELLO);
    case.run("Hello").ends().code(0);
    let long = "word ".repeat(20_000);
    // 64 blocks of 512 or of 1024 bytes, as the shell has it; the signal that comes with it is ignored.
    let ended = case.go_on(&long).limited("trap '' XFSZ; ulimit -f 64").ends().code(1);
    ended.stderr("the transcript could not be written, so nothing was sent").stderr("transcript.jsonl");
    assert_eq!(case.sent().len(), 1, "nothing was sent");
    case.goes_on();
    assert_eq!(case.relations(), ["extends"]);
}

/// A file system of 256 kB, where this process may make one: root, or a user who may make namespaces. Elsewhere
/// the test above stands for it.
#[test]
fn where_the_disk_is_full_nothing_is_sent_until_there_is_room() {
    let case = Case::new(HELLO);
    let script = r#"
        set -e
        mount -t tmpfs -o size=256k tmpfs "$XDG_STATE_HOME" 2>/dev/null || exit 77
        run() { "$0" run --longest-retry-wait 0 "$@"; }
        run Hello
        head -c 1000000 /dev/zero >"$XDG_STATE_HOME/filler" 2>/dev/null || true
        if run --continue "Write $(head -c 9000 /dev/zero | tr '\0' w)"; then exit 3; fi
        rm "$XDG_STATE_HOME/filler"
        run --continue "And now?"
        "$0" verify
    "#;
    let ended = case
        .antefix(["-"])
        .limited(&format!("exec unshare -rm sh -c '{}' \"$0\"", script.replace('\'', "'\\''")))
        .ends();
    if ended.code == Some(77) || ended.stderr.contains("unshare") {
        eprintln!("note: no file system can be mounted here");
        return;
    }
    let ended = ended.code(0).stderr("no space left on the disk for `").stderr("so nothing was sent");
    ended.stdout("It goes on.").stdout("✓ session");
    assert_eq!(case.relations(), ["extends"], "what did not fit was not sent");
}
