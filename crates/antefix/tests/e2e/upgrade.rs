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
