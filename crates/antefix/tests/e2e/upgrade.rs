//! Sessions that earlier builds began (`tests/upgrade`) go on with this one.

use std::fs;
use std::path::PathBuf;

use antefix_http::server::ServerOptions;

use crate::bodies::Sent;
use crate::case::Case;

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/upgrade").join(name)
}

/// Tools, prompt and baseline of this build are others than those the session was begun with; what was sent stays as it
/// was, byte for byte, and the session is whole.
#[test]
fn what_was_sent_stays_as_it_was() {
    let script = "rule\n on any\n think On it goes.\n text Seen.\n";
    for (name, case) in
        [("first-messages", Case::new(script)), ("first-chat", Case::chat(ServerOptions::default(), script))]
    {
        let transcript = fs::read(fixture(name).join("transcript.jsonl")).expect("a transcript");
        let line = String::from_utf8_lossy(&transcript).into_owned();
        let session = line.split("\"session\":\"").nth(1).and_then(|rest| rest.split('"').next());
        let session = session.expect("a session's name").to_owned();
        let folder = case.state().join("antefix/sessions").join(&session);
        fs::create_dir_all(&folder).expect("a session's folder");
        fs::write(folder.join("transcript.jsonl"), &transcript).expect("a transcript");
        case.write("AGENTS.md", "# Rules\nUse long words.\n");
        let project = case.project();
        let resumed = case.run("And now").args(["--resume", &session, "--cwd"]).arg(&project);
        resumed.ends().code(0).stdout("It goes on.");
        let last = Sent::read(fs::read(fixture(name).join("last.body.json")).expect("a body"));
        let sent = case.sent();
        assert_eq!(sent[0].relation(&last), "extends", "{name}");
        case.antefix(["verify", &session]).ends().code(0).stdout("✓ session");
    }
}
