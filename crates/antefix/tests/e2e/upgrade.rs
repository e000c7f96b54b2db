//! Sessions that earlier builds began (`tests/upgrade`) go on with this one.

use std::fs;
use std::path::PathBuf;

use antefix_http::server::ServerOptions;

use crate::bodies::Sent;
use crate::case::Case;

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/upgrade").join(name)
}

/// A server of the name that sessions of earlier builds know, whose tools have changed: other texts, another schema,
/// one gone and one new.
const SERVER: &str = concat!(
    r#"{"tools":[{"name":"say","description":"Speaks aloud","inputSchema":{"type":"object","properties":"#,
    r#"{"words":{"type":"array","items":{"type":"string"}}},"required":["words"]}},"#,
    r#"{"name":"sing","description":"Sings","inputSchema":{"type":"object"}}],"#,
    r#""calls":{"say":{"text":"It is said aloud."}},"instructions":"Say much."}"#
);

/// Puts a session of an earlier build among those of this user; gives its name.
fn take_over(case: &Case, name: &str) -> String {
    let transcript = fs::read_to_string(fixture(name).join("transcript.jsonl")).expect("a transcript");
    let session = transcript.split("\"session\":\"").nth(1).and_then(|rest| rest.split('"').next());
    let session = session.expect("a session's name").to_owned();
    let folder = case.state().join("antefix/sessions").join(&session);
    fs::create_dir_all(&folder).expect("a session's folder");
    fs::write(folder.join("transcript.jsonl"), &transcript).expect("a transcript");
    session
}

/// Surroundings in which everything that these sessions were told of is another.
fn surround(case: &Case) {
    case.write("AGENTS.md", "# Rules\nSay it in verse.\n").write("server.json", SERVER);
    let (program, script) = (env!("CARGO_BIN_EXE_antefix"), case.project().join("server.json"));
    let server = format!(r#"{{"command":"{program}","args":["mcp","scripted","{}"]}}"#, script.display());
    case.write(".mcp.json", &format!(r#"{{"mcpServers":{{"voice":{server}}}}}"#));
    let skill = case.project().join(".claude/skills/review");
    fs::create_dir_all(&skill).expect("a folder");
    fs::write(skill.join("SKILL.md"), "---\ndescription: Praises.\n---\nPraise $ARGUMENTS.\n")
        .expect("a skill");
}

/// Tools, prompt, baseline, skills and servers are others than those the session was begun with; what was sent stays as
/// it was, byte for byte, this build's tools answer, and the session is whole.
#[test]
fn what_was_sent_stays_as_it_was() {
    let script = "rule\n times 1 global\n on said Now\n think On it goes.\n tool read {\"path\":\"AGENTS.md\"}\n\
        rule\n on any\n think On it goes.\n text It goes on.\n";
    for (name, knows_server) in [
        ("first-messages", false),
        ("first-chat", false),
        ("told-messages", true),
        ("told-chat", true),
        ("summed-messages", true),
        ("summed-chat", true),
    ] {
        let case = if name.ends_with("chat") {
            Case::chat(ServerOptions::default(), script)
        } else {
            Case::new(script)
        };
        let session = take_over(&case, name);
        surround(&case);
        let go_on = |words: &str| {
            let run = case.run(words).args(["--resume", &session, "--trust", "--cwd"]).arg(case.project());
            run.ends().code(0).stdout("It goes on.");
        };
        go_on("Now read");
        go_on("Further");
        let last = Sent::read(fs::read(fixture(name).join("last.body.json")).expect("a body"));
        let sent = case.sent();
        assert_eq!(sent.len(), 3, "{name}");
        assert_eq!(sent[0].relation(&last), "extends", "{name}");
        assert_eq!(case.relations(), ["extends", "extends"], "{name}");
        let told = |sent: &Sent| {
            let text = String::from_utf8_lossy(&sent.bytes).into_owned();
            text.get(last.bytes.len() - 400..).unwrap_or_default().to_owned()
        };
        assert!(told(&sent[0]).contains("Say it in verse."), "{name}: {}", told(&sent[0]));
        let told = told(&sent[2]);
        let is_told = |tool: &str| told.contains(tool);
        // The one that is new and the one that is gone; tools of contract 2 reach no server.
        assert_eq!(
            ["`mcp__voice__sing`", "`mcp__voice__ask`"].map(is_told),
            [knows_server; 2],
            "{name}: {told}"
        );
        case.antefix(["verify", &session]).ends().code(0).stdout("✓ session");
        case.antefix(["explain", &session]).ends().code(0);
    }
}

/// The build that began these sessions had other texts in all that it rendered, and some members of its tools' inputs
/// had other names. The model goes on calling as it was shown: what is not known any more is refused with what is, and
/// the list that it has changed in the old way is as it was shown.
#[test]
fn calls_by_an_old_schema_are_understood_or_refused() {
    let script = r#"rule
  on said Now read
  on rounds 0
  tool read {"path":"a.txt","first_line":2}
  tool grep {"pattern":"ONE","any_case":true}
  tool bash {"command":"echo ran","purpose":"to see it"}
  tool todo {"strike":[3]}
  tool read {"path":"a.txt","limit":1}
rule
  on said Now read
  on rounds 1
  tool read {"path":"a.txt","offset":2}
  tool todo {"done":[1]}
rule
  on any
  think On it goes.
  text It goes on.
"#;
    for (name, is_messages) in [
        ("other-in-band", true),
        ("other-without", true),
        ("other-append-only", false),
        ("other-strict", false),
    ] {
        let case = if is_messages { Case::new(script) } else { Case::chat(ServerOptions::default(), script) };
        let session = take_over(&case, name);
        case.write("AGENTS.md", "# Rules\nSay it in verse.\n").write("a.txt", "one\ntwo\n");
        let provider = if is_messages { "anthropic" } else { "llamacpp" };
        let url = if is_messages { case.chat_url().replace("/v1", "") } else { case.chat_url() };
        // No model is named: a session keeps its own.
        let go_on = |words: &str| {
            let run = case.antefix(["run", words, "--resume", &session, "--permission-mode", "full"]);
            let run = run.args(["--provider", provider, "--base-url", &url, "--cwd"]).arg(case.project());
            // The test may run into another day.
            run.args(["--no-reminder", "date"]).ends().code(0).stdout("It goes on.")
        };
        let ended = go_on("Now read");
        for (tool, member, known) in [
            ("read", "first_line", "`path`, `offset`, `limit`"),
            ("grep", "any_case", "`pattern`, `path`, `glob`, `ignore_case`, `context`, `mode`, `head_limit`"),
            ("bash", "purpose", "`command`, `timeout_ms`, `background`, `description`"),
            ("todo", "strike", "`add`, `start`, `done`, `drop`"),
        ] {
            let refused = format!(
                "`{tool}` was shown to you with `{member}`, which it does not take any more; what it takes"
            );
            let sent = case.sent();
            let body = String::from_utf8_lossy(&sent.last().expect("a body").bytes).into_owned();
            assert_eq!(body.matches(&refused).count(), 1, "{name}: {body}");
            assert!(body.contains(known), "{name}: {known}");
        }
        // Line 2 was struck out in the old way.
        ended.stderr("✓ todo 1 [x] Name the notes (+1 line)").stderr("✓ read 2 two");
        go_on("Further").lacks("the model is told");
        let listed = case.antefix(["sessions", "todo", &session]).ends().code(0);
        assert_eq!(listed.stdout, "1 [x] Name the notes\n3 [ ] Say it in the README\n", "{name}");
        let last = Sent::read(fs::read(fixture(name).join("last.body.json")).expect("a body"));
        let sent = case.sent();
        assert_eq!(sent.len(), 4, "{name}");
        assert_eq!(sent[0].relation(&last), "extends", "{name}");
        assert_eq!(case.relations(), ["extends", "extends", "extends"], "{name}");
        let text = String::from_utf8_lossy(&sent[3].bytes).into_owned();
        for once in ["Say it in verse.", "Working directory: now "] {
            assert_eq!(text.matches(once).count(), 1, "{name}: {once}");
        }
        case.antefix(["verify", &session]).ends().code(0).stdout("✓ session");
        case.antefix(["explain", &session]).ends().code(0);
        case.antefix(["tools", "diff", &session]).ends().code(0);
    }
}
