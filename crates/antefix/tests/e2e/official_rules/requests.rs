use std::io::{Read, Write};
use std::net::TcpListener;

use crate::case::{Case, KEY};

const HELLO: &str = "rule\n on said Hello\n text Hello to you.";

#[test]
fn without_a_key_one_screen_says_what_was_looked_for_and_what_works_without() {
    let case = Case::new(HELLO);
    let ended = case.run("Hello").without("ANTHROPIC_API_KEY").ends().code(2);
    let said = [
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTEFIX_API_KEY_HELPER",
        "antefix demo",
        "--provider sim",
    ];
    let ended = said.into_iter().fold(ended, |ended, part| ended.stderr(part));
    assert!(ended.stderr.lines().count() <= 24, "one screen\n{ended}");
    assert!(case.transcripts().is_empty(), "no session is left behind");
    case.run("Hello").ends().code(0);
    case.goes_on();
}

#[test]
fn a_key_may_come_from_a_helper_and_a_helper_that_fails_is_named() {
    let case = Case::new(HELLO);
    let with =
        |helper: &str| case.run("Hello").without("ANTHROPIC_API_KEY").env("ANTEFIX_API_KEY_HELPER", helper);
    with(&format!("echo {KEY}")).ends().code(0).stdout("Hello to you.");
    with("exit 3").ends().code(1).stderr("the key helper `exit 3` ended with exit status: 3");
    with("echo two words").ends().code(1).stderr("did not print a key and nothing else");
    case.hides_the_key();
}

#[test]
fn a_wrong_key_is_said_to_be_wrong_and_the_right_one_goes_on() {
    let case = Case::new(HELLO);
    let ended = case.run("Hello").env("ANTHROPIC_API_KEY", format!("invalid-{KEY}")).ends().code(1);
    ended.stderr("! 401 authentication_error: invalid x-api-key\nhint: check the key");
    case.goes_on();
    assert_eq!(case.relations(), ["branches at 0"]);
}

#[test]
fn an_unknown_model_is_said_to_be_unknown() {
    let case = Case::new(HELLO);
    let ended = case.run("Hello").args(["--model", "claude-nine"]).ends().code(1);
    ended.stderr("`claude-nine` is not in the model table").stderr("! 404 not_found_error").stderr("hint: ");
    case.is_intact();
    case.run("Hello").ends().code(0);
    case.goes_on();
}

#[test]
fn where_nobody_listens_the_address_is_named() {
    let case = Case::new(HELLO);
    let free = TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("its address");
    let ended = case.run("Hello").args(["--base-url", &format!("http://{free}")]).ends().code(1);
    ended.stderr(&free.to_string()).stderr("hint: check that a server listens on that port");
    case.goes_on();
    assert_eq!(case.relations(), [""; 0]);
}

#[test]
fn a_base_url_that_is_none_is_refused_before_a_session_is_made() {
    let case = Case::new(HELLO);
    let cases = [
        ("nonsense", "the base URL is not a URL"),
        ("ftp://127.0.0.1", "the base URL must start with `http://` or `https://`"),
        ("http://user:word@127.0.0.1", "the base URL must not hold a user or password"),
        ("http://127.0.0.1/?a=b", "the base URL must end with the path, without `?` or `#`"),
    ];
    for (url, says) in cases {
        case.run("Hello").args(["--base-url", url]).ends().code(2).stderr(says).lacks("word@");
    }
    assert!(case.transcripts().is_empty(), "no session is left behind");
}

#[test]
fn a_server_that_speaks_something_else_is_named_for_it() {
    let html = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>";
    let page = "HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/html\r\ncontent-length: 9\r\n\r\n<h1>no</h1>";
    let moved = "HTTP/1.1 307 Temporary Redirect\r\nlocation: https://elsewhere.example/\r\ncontent-length: 0\r\n\r\n";
    let cases = [
        (html, "answered with `text/html` where an event stream was asked for"),
        (page, "502"),
        (moved, "307"),
        (
            "SSH-2.0-OpenSSH_9.2\r\n",
            "hint: check that the base URL's scheme and port are those of an HTTP server",
        ),
    ];
    for (answer, says) in cases {
        let case = Case::new(HELLO);
        let url = format!("http://{}", answering(answer));
        case.run("Hello").args(["--base-url", &url]).ends().code(1).stderr(says);
        case.goes_on();
    }
}

#[test]
fn a_request_too_large_for_the_server_is_refused_in_words() {
    let options = antefix_http::server::ServerOptions { body_limit: 60_000, ..Default::default() };
    let case = Case::with(options, HELLO);
    case.run("Hello").ends().code(0);
    let long = "word ".repeat(20_000);
    case.go_on(&long).ends().code(1).stderr("! 413 request_too_large").stderr("hint: ");
    case.goes_on();
}

/// Answers each connection with these bytes, once it has seen a request.
fn answering(answer: &'static str) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address");
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            std::thread::spawn(move || {
                let mut buffer = vec![0; 65_536];
                let mut seen = Vec::new();
                while !seen.ends_with(b"]}") {
                    match stream.read(&mut buffer) {
                        Ok(count @ 1..) => seen.extend_from_slice(&buffer[..count]),
                        _ => return,
                    }
                }
                // The client may have left.
                let _ = stream.write_all(answer.as_bytes());
            });
        }
    });
    address
}
