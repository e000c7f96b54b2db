//! A session goes on from a summary.

use antefix_http::server::ServerOptions;

use crate::case::Case;

/// The steps of a session: a list and a file, then words.
const SCRIPT: &str = "rule\n times 1 global\n on said Look\n tool todo {\"add\":[\"Open the gate\"]}\n tool read {\"path\":\"a.txt\"}\nrule\n on said Write a summary\n text The gate opens at 6174.\nrule\n on any\n think Hm.\n text Seen.\n";

/// As asked: the price is told, tools and prompt stay, list, files and facts go on, and one can go back to in front of
/// it.
#[test]
fn a_session_is_compacted_as_asked() {
    // What tells of this day stands in front of the messages, or is the first of them.
    for (case, relation) in
        [(Case::new(SCRIPT), "breaks"), (Case::chat(ServerOptions::default(), SCRIPT), "branches at 0")]
    {
        case.write("a.txt", &"some words\n".repeat(400));
        case.run("Look at a.txt").ends().code(0);
        for _ in 0..3 {
            case.go_on("Further").ends().code(0);
        }
        case.write("AGENTS.md", "# Rules\nUse short words.\n");
        let compacted = case.go_on_without_words(&["--compact"]).ends().code(0);
        let compacted =
            compacted.stderr("compacting, as asked. A summary is asked for (").stderr("compacted: ");
        compacted.lacks("The gate opens at 6174.");
        case.go_on("On").ends().code(0);
        let sent = case.sent();
        let [.., last, asked, next] = &sent[..] else { panic!("{} bodies", sent.len()) };
        assert!(asked.extends(last), "the request for the summary breaks");
        assert_eq!(next.relation(asked), relation);
        let body = String::from_utf8_lossy(&next.bytes);
        for part in
            ["The gate opens at 6174.", "1 [ ] Open the gate", "a.txt (read)", "Use short words.", "Further"]
        {
            assert!(body.contains(part), "{part} in {body}");
        }
        assert!(!body.contains("Write a summary") && body.matches("some words").count() < 400, "{body}");
        let tools = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            text.split_once("# This session").map(|(tools, _)| tools.to_owned())
        };
        assert_eq!(tools(&next.bytes), tools(&asked.bytes));
        case.is_intact();
        is_planned(&case);
        // The list is known to the tool as well.
        case.go_on("Look again").args(["--rewind", "2"]).ends().code(0);
        let sent = case.sent();
        let again = sent.iter().rev().find(|sent| sent.relation(last).starts_with("branches"));
        assert!(again.is_some(), "it does not go back");
        case.is_intact();
    }
}

/// The bill and the verdict name the compaction as planned, with what it cost, also from the transcript alone.
fn is_planned(case: &Case) {
    for _ in 0..2 {
        case.antefix(["bill", "request"])
            .ends()
            .code(0)
            .stdout("for 1 that a conversation was to go on from");
        let bill = case.antefix(["bill", "session", "--json"]).ends().code(0);
        bill.stdout(r#""summaries":1"#).stdout(r#""waste":[]"#);
        case.antefix(["ledger", "rebuild"]).ends().code(0);
    }
    let explained = case.antefix(["explain", &case.session()]).ends().code(0);
    explained.stdout("expected.compaction, as asked").stdout("for the summary cost ").lacks("expected.clear");
}

/// Without words, without a session, and with a model that does not do as it is told.
#[test]
fn what_cannot_be_compacted_is_said_so() {
    let case = Case::new("rule\n on said Write a summary\n stop refusal\nrule\n on any\n text Seen.\n");
    case.go_on_without_words(&["--compact"]).ends().code(2);
    case.run("Look").ends().code(0);
    case.go_on_without_words(&["--compact", "--auto-compact", "2"]).ends().code(2).stderr("from 0 to 1");
    case.go_on("Words").arg("--compact").ends().code(2);
    let failed = case.go_on_without_words(&["--compact"]).ends().code(1);
    failed.stderr("not compacted: the model refused to write it");
    case.go_on("Further").ends().code(0).stdout("Seen.");
    case.is_intact();
}

/// What a skill said when it was called last goes on, twice as well; one that is too long is named.
#[test]
fn skills_that_were_called_are_said_anew() {
    let script = "rule\n times 1 global\n on said Tidy\n tool skill {\"name\":\"tidy\",\"arguments\":\"src\"}\n tool skill {\"name\":\"long\"}\nrule\n times 1 global\n on said Tidy\n tool skill {\"name\":\"tidy\",\"arguments\":\"tests\"}\nrule\n on said Write a summary\n text All is tidy.\nrule\n on any\n text Seen.\n";
    for case in [Case::new(script), Case::chat(ServerOptions::default(), script)] {
        for (name, text) in [("tidy", "Tidy $ARGUMENTS.\n"), ("long", &"Long words.\n".repeat(4_000))] {
            let folder = case.project().join(".claude/skills").join(name);
            std::fs::create_dir_all(&folder).expect("a folder");
            std::fs::write(folder.join("SKILL.md"), format!("---\ndescription: Works.\n---\n{text}"))
                .expect("a skill");
        }
        case.run("Tidy it").ends().code(0).stdout("Seen.");
        for words in ["On", "Further", "Once more", "And on"] {
            case.go_on(words).ends().code(0);
        }
        for words in ["Then", "At last"] {
            case.go_on_without_words(&["--compact"]).ends().code(0).stderr("compacted: ");
            case.go_on(words).ends().code(0);
            let sent = case.sent();
            let body = String::from_utf8_lossy(&sent.last().expect("a body").bytes).into_owned();
            let anew = body.split_once("Skills that you have called").map_or("", |(_, anew)| anew);
            assert!(anew.contains("Tidy tests.") && !anew.contains("Tidy src."), "{body}");
            assert!(anew.contains("call them again if you need them: `long`"), "{body}");
        }
        case.is_intact();
    }
}

/// Unasked, at a share of the window; never where it is switched off.
#[test]
fn a_session_is_compacted_at_a_share_of_the_window() {
    for (settings, flag, expect) in [
        ("", Some("0.01"), true),
        ("", Some("off"), false),
        ("auto_compact = 0.01\n", None, true),
        ("auto_compact = \"0.01\"\n", Some("off"), false),
    ] {
        let case = Case::new(SCRIPT);
        std::fs::create_dir_all(case.settings().parent().expect("a folder")).expect("a folder");
        std::fs::write(case.settings(), settings).expect("a file of settings");
        case.write("a.txt", &"some words\n".repeat(4_000));
        let flags = |run: crate::case::Invocation| match flag {
            Some(flag) => run.args(["--auto-compact", flag]),
            None => run,
        };
        flags(case.run("Look at a.txt")).ends().code(0);
        let ended = flags(case.go_on("Further")).ends().code(0);
        let sent = case.sent();
        let is_asked = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains("Write a summary");
        let asked = sent.iter().filter(|sent| is_asked(&sent.bytes)).count();
        assert_eq!(asked > 0, expect, "{settings} {flag:?}\n{ended}");
        case.is_intact();
    }
}
