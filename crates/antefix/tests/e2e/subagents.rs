//! Subagents: each in a session of its own behind a head that all share.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use antefix_http::server::ServerOptions;
use antefix_wire::json::Body;

use crate::bodies::Sent;
use crate::case::{Case, wait_until};

/// A parent that hands out one task, whose subagent looks once and reports.
const ONE: &str = "rule\n on said Delegate\n on rounds 0\n \
    tool task {\"description\":\"count files\",\"prompt\":\"Count the files\"}\n\
    rule\n on said Count\n on rounds 0\n tool glob {\"pattern\":\"*\"}\n\
    rule\n on said Count\n on rounds 1\n text Three files.\n\
    rule\n on any\n text It ends.\n";

fn cases(script: &str) -> [Case; 2] {
    [Case::new(script), Case::chat(ServerOptions::default(), script)]
}

/// Writes an agent of the project.
fn agent(case: &Case, name: &str, text: impl AsRef<[u8]>) {
    let folder = case.project().join(".claude/agents");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join(name), text).expect("an agent");
}

fn text(sent: &Sent) -> String {
    String::from_utf8_lossy(&sent.bytes).into_owned()
}

/// The bodies of subagents, and those of the session that calls them.
fn split(case: &Case) -> (Vec<Sent>, Vec<Sent>) {
    case.sent().into_iter().partition(|sent| text(sent).contains("You are a subagent"))
}

/// What stands in front of the system prompt, and the tools among it.
fn tools(sent: &Sent) -> String {
    let body = Body::parse(sent.bytes.clone()).expect("a body");
    body.root().get("tools").expect("tools").raw().to_owned()
}

fn extends(bodies: &[Sent]) -> bool {
    bodies.windows(2).all(|pair| pair[1].extends(&pair[0]))
}

#[test]
fn a_subagent_reports_and_both_sessions_name_each_other() {
    for case in cases(ONE) {
        let ended = case.run("Delegate it").ends().code(0);
        ended
            .stdout("It ends.")
            .stderr("count files → glob")
            .stderr("count files · is done")
            .stderr("✓ task");
        let (theirs, own) = split(&case);
        assert_eq!((theirs.len(), own.len()), (2, 2));
        let last = text(&own[1]);
        assert!(last.contains("Three files.") && last.contains("[subagent 0"), "{last}");
        assert!(last.contains(": 2 requests, "), "{last}");
        assert!(
            !last.contains("Count the files\"}]"),
            "the subagent's own conversation stays with it: {last}"
        );
        assert!(extends(&theirs) && extends(&own));
        // All tools are shown to both, byte for byte.
        assert_eq!(tools(&theirs[0]), tools(&own[0]));

        let (parent, child) = sessions(&case);
        let shown = |id: &str| case.antefix(["sessions", "show", id]).ends().code(0);
        shown(&parent).stdout(&format!("by subagent {child}"));
        shown(&child).stdout(&format!("subagent of {parent}, for its call "));
        let list = case.antefix(["sessions"]).ends().code(0);
        list.stdout(&format!("(subagent of {parent}) Count the files"));
        let json = case.antefix(["sessions", "--json"]).ends().code(0);
        json.stdout(&format!("\"spawned_by\":{{\"session_id\":\"{parent}\""));
        for id in [&parent, &child] {
            case.antefix(["verify", id]).ends().code(0).stdout("✓ session");
        }
        let rows = case.antefix(["ledger", "export"]).ends().code(0);
        assert_eq!(rows.stdout.matches("\"purpose\":\"subagent\"").count(), 2, "{rows}");
        assert_eq!(rows.stdout.matches("\"purpose\":\"message\"").count(), 2, "{rows}");
        case.antefix(["bill", "session"]).ends().code(0).stdout(&format!("{child} (subagent)"));
        // Going on means the session that the user has spoken in.
        case.goes_on();
        assert_eq!(case.transcripts().len(), 2);
    }
}

/// Names of the session that was begun first, and of the one that works for it.
fn sessions(case: &Case) -> (String, String) {
    let name = |path: &PathBuf| {
        path.parent().and_then(Path::file_name).expect("a session's folder").to_string_lossy().into_owned()
    };
    let names: Vec<String> = case.transcripts().iter().map(name).collect();
    let [parent, child] = names.as_slice() else { panic!("there are two sessions: {names:?}") };
    (parent.clone(), child.clone())
}

/// The first of five siblings writes the head that they share, and the four others read it: they wait for its first
/// byte, which here takes as long as all of them need to be started.
#[test]
fn of_five_siblings_one_writes_the_head_and_four_read_it() {
    let call = |n: u32| {
        format!(" tool task {{\"description\":\"part {n}\",\"prompt\":\"Piece {n}\",\"agent\":\"helper\"}}\n")
    };
    let calls: String = (1..=5).map(call).collect();
    let case = Case::new(&format!(
        "rule\n on said Delegate\n on rounds 0\n{calls}\
         rule\n on said Piece\n first-byte 400\n text Done.\n\
         rule\n on any\n text It ends.\n"
    ));
    let prompt = "Be careful with every single file that you look at. ".repeat(400);
    agent(&case, "helper.md", format!("---\ndescription: Helps.\n---\n{prompt}\n"));
    let folder = case.root().join("captured");
    case.run("Delegate it").arg("--capture").arg(&folder).ends().code(0).stdout("It ends.");

    let mut usages = Vec::new();
    for entry in fs::read_dir(&folder).expect("a folder").flatten().filter(|entry| entry.path().is_dir()) {
        let meta = fs::read(entry.path().join("000001.meta.json")).expect("a capture of a subagent's own");
        let meta = Body::parse(meta).expect("JSON");
        let number = |name: &str| meta.root().pointer(&format!("/usage/{name}")).and_then(|node| node.u64());
        let written = number("cache_creation_input_tokens").expect("a number");
        usages.push((written, number("cache_read_input_tokens").expect("a number")));
    }
    usages.sort_unstable();
    assert_eq!(usages.len(), 5, "{usages:?}");
    let (written, read) = usages[4];
    // The one reads what the session that called has written, the static part.
    assert!(written > 5_000 && read > 1_000, "{usages:?}");
    for &(others_written, others_read) in &usages[..4] {
        assert!(others_written < 100 && others_read > read + 5_000, "{usages:?}");
    }
}

#[test]
fn an_agent_is_held_to_its_tools_when_it_calls_and_not_by_what_it_is_shown() {
    let script = "rule\n on said Delegate\n on rounds 0\n \
        tool task {\"description\":\"d\",\"prompt\":\"Touch it\",\"agent\":\"looker\"}\n \
        tool task {\"description\":\"d\",\"prompt\":\"Nothing\",\"agent\":\"nobody\"}\n\
        rule\n on said Touch\n on rounds 0\n tool bash {\"command\":\"touch made\"}\n \
        tool task {\"description\":\"d\",\"prompt\":\"deeper\"}\n tool read {\"path\":\"a.txt\"}\n\
        rule\n on said Touch\n on rounds 1\n text Tried.\n\
        rule\n on any\n text It ends.\n";
    for case in cases(script) {
        case.write("a.txt", "a\n");
        agent(&case, "looker.md", "---\ndescription: Looks.\ntools: Read, Grep\n---\nLook only.\n");
        let ended = case.run("Delegate it").ends().code(0);
        ended
            .stderr("looker ✗ bash the agent `looker` may use grep, read only")
            .stderr("✗ task there is no agent `nobody`; there is: looker");
        assert!(!case.project().join("made").exists());
        let (theirs, own) = split(&case);
        let last = text(theirs.last().expect("a body"));
        assert!(last.contains("a subagent starts no subagents") && last.contains("Look only."), "{last}");
        assert_eq!(tools(&theirs[0]), tools(&own[0]));
        assert!(extends(&theirs) && extends(&own));
        case.goes_on();
    }
}

#[test]
fn a_subagent_may_do_no_more_than_the_session() {
    let script = "rule\n on said Delegate\n on rounds 0\n tool task {\"description\":\"d\",\"prompt\":\"Touch it\"}\n\
        rule\n on said Touch\n on rounds 0\n tool bash {\"command\":\"cd sub && touch made\"}\n\
        rule\n on any\n text It ends.\n";
    for (flags, is_made, shown) in [
        (vec![], false, "refused, since nobody can be asked"),
        (vec!["--permission-mode", "read-only"], false, "the mode is read-only"),
        (vec!["--allow", "bash(touch made)"], true, "allowed by `bash(touch made)` (flag --allow)"),
        (vec!["--permission-mode", "full", "--deny", "bash(touch)"], false, "is denied by `bash(touch)`"),
    ] {
        let case = Case::new(script);
        fs::create_dir(case.project().join("sub")).expect("a folder");
        let mut run = case.antefix(["run", "Delegate it"]);
        for flag in &flags {
            run = run.arg(flag);
        }
        run.ends().code(0).stderr(shown);
        assert_eq!(case.project().join("sub/made").exists(), is_made, "{flags:?}");
        case.goes_on();
    }
}

#[test]
fn another_model_is_another_lane() {
    let case = Case::new(
        "rule\n on said Delegate\n on rounds 0\n \
         tool task {\"description\":\"d\",\"prompt\":\"Count\",\"agent\":\"deep\"}\n \
         tool task {\"description\":\"d\",\"prompt\":\"Count\",\"agent\":\"odd\"}\n\
         rule\n on any\n text It ends.\n",
    );
    agent(&case, "deep.md", "---\ndescription: d\nmodel: opus\n---\nThink.\n");
    agent(&case, "odd.md", "---\ndescription: d\nmodel: no-such-model\n---\nThink.\n");
    case.run("Delegate it").ends().code(0);
    let model = |sent: &Sent| {
        let body = Body::parse(sent.bytes.clone()).expect("a body");
        body.root().get("model").and_then(|node| node.str()).expect("a model").into_owned()
    };
    let (theirs, own) = split(&case);
    let mut models: Vec<String> = theirs.iter().map(model).collect();
    models.sort();
    // A model that is not known there is no reason to fail.
    assert_eq!(models, ["claude-opus-5-5".to_owned(), model(&own[0])]);
    assert!(theirs.iter().all(|sent| tools(sent) == tools(&own[0])));
    case.goes_on();
}

#[test]
fn a_subagents_money_is_the_sessions_money() {
    let priced = Case::new(ONE);
    let ended = priced.run("Delegate it").args(["--output", "json"]).ends().code(0);
    assert!(ended.stdout.contains("\"subagents\":{\"count\":1,"), "{ended}");
    // That of the session's first request.
    let first: f64 = ended.member("cost_usd").parse().expect("an amount");
    let limit = format!("{:.6}", first * 1.05);
    let case = Case::new(ONE);
    let ended = case.run("Delegate it").args(["--max-usd", &limit]).ends().code(1);
    ended.stderr("the session and its subagents have cost $");
    // The subagent's own next request is the first that is not made.
    let (theirs, own) = split(&case);
    assert_eq!((theirs.len(), own.len()), (1, 1));
    // In a later process what subagents have cost counts as well.
    case.go_on("Go on").args(["--max-usd", &limit]).ends().code(1).stderr("have cost $");
    case.goes_on();
}

/// The summary of a subagent stood behind a head without the subagent's own instructions.
#[test]
fn a_subagent_that_goes_on_from_a_summary_keeps_its_instructions() {
    let script = "rule\n on said Delegate\n on rounds 0\n \
        tool task {\"description\":\"count\",\"prompt\":\"Count the lines\",\"agent\":\"counter\"}\n\
        rule\n on said Write a summary\n text Half of them are counted.\n\
        rule\n times 8 global\n on said the lines\n tool bash {\"command\":\"cat a.txt\"}\n\
        rule\n times 8 global\n on said Go on with\n tool bash {\"command\":\"cat a.txt\"}\n\
        rule\n on any\n text It ends.\n";
    for case in cases(script) {
        agent(&case, "counter.md", "---\ndescription: Counts.\n---\nCount every line twice.\n");
        case.write("a.txt", &"some words of a line\n".repeat(500));
        case.run("Delegate it").args(["--auto-compact", "0.01"]).ends().code(0).stdout("It ends.");
        let (theirs, own) = split(&case);
        let summed =
            theirs.iter().filter(|sent| text(sent).contains("This is the summary of our conversation"));
        let summed: Vec<String> = summed.map(text).collect();
        assert!(!summed.is_empty(), "{} bodies of the subagent, {} of the session", theirs.len(), own.len());
        for body in summed {
            let kept = body.matches("You are a subagent").count();
            assert!(kept == 1 && body.contains("Count every line twice."), "{body}");
        }
        let (_, child) = sessions(&case);
        case.antefix(["verify", &child]).ends().code(0);
    }
}

/// What could not be read was taken for nothing, so that a session could cost more than it might.
#[test]
fn a_limit_is_not_kept_by_leaving_out_what_cannot_be_read() {
    for damage in ["a line", "the first line", "all"] {
        let case = Case::new(ONE);
        case.run("Delegate it").ends().code(0);
        let (_, child) = sessions(&case);
        let path = case.transcripts().pop().expect("the subagent's transcript");
        let text = fs::read_to_string(&path).expect("a transcript");
        match damage {
            "a line" => fs::write(&path, text.replacen("\"kind\":\"turn\"", "\"kind\":\"torn\"", 1)),
            "the first line" => fs::write(&path, text.replacen("\"cwd\"", "\"cwt\"", 1)),
            _ => fs::remove_dir_all(path.parent().expect("a folder")),
        }
        .expect("it can be damaged");
        let refused = case.go_on("Go on").args(["--max-usd", "5"]).ends().code(2);
        refused.stderr(&format!("what the subagent {child} has spent cannot be read")).stderr("hint: ");
        let told = case.go_on("Go on").ends().code(0);
        told.stderr(&format!("what the subagent {child} has spent is not counted: "));
    }
}

/// Ctrl-C stops a subagent in order: its turn is closed, its command is ended, and both sessions go on.
#[test]
fn an_interrupt_and_a_kill_leave_sessions_that_go_on() {
    let script = "rule\n on said Delegate\n on rounds 0\n tool task {\"description\":\"d\",\"prompt\":\"Sleep\"}\n\
        rule\n on said Sleep\n on rounds 0\n tool bash {\"command\":\"touch begun && sleep 600\"}\n\
        rule\n on any\n text It ends.\n";
    for (signal, code) in [("-INT", Some(130)), ("-KILL", None)] {
        for case in cases(script) {
            let child = case.run("Delegate it").spawn();
            wait_until("the subagent's command runs", || case.project().join("begun").exists());
            let killed = Command::new("kill").args([signal, &child.id().to_string()]).status();
            assert!(killed.expect("kill runs").success());
            let output = child.wait_with_output().expect("it ends");
            assert_eq!(output.status.code(), code, "{}", String::from_utf8_lossy(&output.stderr));
            let (parent, child) = sessions(&case);
            for id in [&parent, &child] {
                case.antefix(["verify", id]).ends().code(0);
            }
            if code.is_some() {
                let shown = case.antefix(["sessions", "show", &child]).ends().code(0);
                shown.lacks("no outcome");
            }
            case.goes_on();
            case.run("And now what?").args(["--resume", &child]).ends().code(0).stdout("It goes on.");
        }
    }
}

/// What a project brings may be anything; each file that is none gets a note, and the turn goes on.
#[test]
fn hostile_agents_are_left_out_with_a_note() {
    for case in cases(ONE) {
        agent(&case, "bare.md", "no head\n");
        agent(&case, "up.md", "---\nname: ../../up\ndescription: d\n---\nx\n");
        agent(&case, "binary.md", b"---\nname: x\n---\n\xff\xfe\0");
        agent(&case, "huge.md", "x".repeat(300 << 10));
        agent(&case, "bomb.md", format!("---\na: &a [{}]\nb: *a\n---\nx\n", "x,".repeat(9 << 10)));
        let folder = case.project().join(".claude/agents");
        symlink("cycle.md", folder.join("cycle.md")).expect("a link");
        symlink("/etc/hostname", folder.join("out.md")).expect("a link");
        let ended = case.run("Delegate it").ends().code(0);
        for name in ["bare", "up", "binary", "huge", "bomb", "cycle", "out"] {
            assert!(ended.stderr.contains(&format!("agents/{name}.md` is left out: ")), "{name}\n{ended}");
        }
        case.goes_on();
        let (theirs, own) = split(&case);
        assert!(extends(&theirs) && extends(&own));
    }
}

/// As stream-json, what a subagent does names it.
#[test]
fn what_a_subagent_does_is_told_with_its_name() {
    let case = Case::new(ONE);
    let ended = case.run("Delegate it").args(["--output", "stream-json"]).ends().code(0);
    let (_, child) = sessions(&case);
    let about = |line: &&str| line.contains(&format!("\"subagent\":{{\"session_id\":\"{child}\""));
    let lines: Vec<&str> = ended.stdout.lines().filter(about).collect();
    for kind in ["turn_started", "request_started", "call_started", "call_finished", "turn_ended"] {
        assert!(lines.iter().any(|line| line.contains(&format!("\"type\":\"{kind}\""))), "{kind}\n{ended}");
    }
}
