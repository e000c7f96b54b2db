//! Servers of Chat Completions: the same guarantees as with the Messages API, and the way from one to the other.

use std::fs;

use antefix_http::server::ServerOptions;

use crate::case::{Case, KEY};

const SCRIPT: &str = r#"
rule
  on said Look
  on rounds 0
  think I look.
  text I look at it.
  tool read {"path":"a.txt"}
  tool bash {"command":"wc -l a.txt"}
rule
  on said Look
  text Seen: a few lines.
rule
  on any
  text It goes on here.
"#;

fn chat() -> Case {
    let case = Case::chat(ServerOptions::default(), SCRIPT);
    case.write("a.txt", "one\ntwo\n");
    case
}

/// Tools, a new process, a rewind, a copy: each body extends what the server saw, or branches where the user went back,
/// and the engine computes no prompt twice.
#[test]
fn a_session_of_chat_completions_extends_and_is_read_again() {
    let case = chat();
    case.run("Look at a.txt").ends().code(0).stdout("Seen: a few lines.");
    let ended = case.go_on("Once more").args(["--output", "stream-json"]).ends().code(0);
    let read = ended.stdout.split_once("\"read\":").expect("usage is told").1;
    let read: u64 = read.split(',').next().expect("a number").parse().expect("a number");
    assert!(read > 500, "the server's cache is read and told\n{ended}");
    case.go_on("Otherwise").args(["--rewind", "2"]).ends().code(0);
    case.go_on("In a copy").arg("--fork").ends().code(0);
    assert_eq!(case.relations(), ["extends", "extends", "branches at 6", "extends"]);
    for transcript in case.transcripts() {
        let folder = transcript.parent().and_then(|folder| folder.file_name()).expect("a session's folder");
        case.antefix(["verify", &folder.to_string_lossy()])
            .ends()
            .code(0)
            .stdout("bodies rebuilt byte for byte");
    }
    for question in [&["extends", "--require", "branches"][..], &["engine", "--profile", "llamacpp"]] {
        if let Some(verdict) = crate::oracle::ask(question, &case.capture()) {
            verdict.code(0);
        }
    }
    case.hides_the_key();
    let shown = case.antefix(["sessions", "show"]).ends().code(0);
    shown.stdout("dialect openai-chat").stdout("→ read path=a.txt").stdout("Look at a.txt");
}

/// The key goes to the server as a bearer token, and no command gets it.
#[test]
fn the_key_is_the_servers_alone() {
    let script =
        "rule\n on said Show\n on rounds 0\n tool bash {\"command\":\"env\"}\nrule\n on any\n text Shown.\n";
    let case = Case::chat(ServerOptions::default(), script);
    case.run("Show the environment").ends().code(0).lacks(KEY);
    case.hides_the_key();
    let missing = case.run("Show").without("CHAT_KEY").ends().code(2);
    missing.stderr("CHAT_KEY");
}

/// A session of the Messages API goes on with a server of Chat Completions, and comes back: each time what was said is
/// there, the price of the break is told first, and every body can be rebuilt.
#[test]
fn a_session_goes_on_in_the_other_dialect() {
    let (messages, other) = (Case::new(SCRIPT), chat());
    messages.write("a.txt", "one\ntwo\n");
    messages.run("Look at a.txt").ends().code(0).stdout("Seen: a few lines.");
    let there = messages
        .go_on("And there?")
        .args(["--provider", "compatible", "--base-url", &other.chat_url(), "--model", "sim-model"])
        .ends()
        .code(0)
        .stdout("It goes on here.");
    there.stderr("goes on in the dialect openai-chat with sim-model, as planned: 5 messages are said anew");
    let sent = other.sent();
    let body = String::from_utf8(sent[0].bytes.clone()).expect("a body is UTF-8");
    for part in [r#""role":"tool","tool_call_id":"#, "Seen: a few lines.", "And there?", "Look at a.txt"] {
        assert!(body.contains(part), "`{part}` is not in {body}");
    }
    // What was said to one provider does not go to another because a flag was forgotten.
    let forgotten = messages.go_on("And back?").without("ANTHROPIC_API_KEY").ends().code(2);
    forgotten.stderr("this session speaks Chat Completions with `sim-model`");
    let back = ["--provider", "anthropic", "--model", "claude-opus-5-5"];
    let back = messages.go_on("And back?").args(back).ends().code(0);
    back.stderr("the conversation goes on in the dialect anthropic").stderr("(about $0.");
    messages.go_on("On").ends().code(0);
    messages.is_intact();
    assert_eq!(messages.sent().len(), 4, "two requests of the first turn, and two after the way back");
    let capture = fs::read_dir(other.capture()).expect("the other server's capture").count();
    assert_eq!(capture, 2, "one request, its body and its answer");
}
