//! A page from a server on the loopback, which the user has allowed.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use crate::case::Case;

/// Answers every request with a page; gives the port.
pub fn serve(page: impl Into<String>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let page = page.into();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            let mut lines = BufReader::new(stream.try_clone().expect("the same stream")).lines();
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let length = page.len();
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
            );
            drop((&stream).write_all(format!("{head}{page}").as_bytes()));
        }
    });
    port
}

fn case(port: u16) -> Case {
    let case = Case::new(&format!(
        "rule\n on said Look\n on rounds 0\n tool web_fetch {{\"url\":\"http://127.0.0.1:{port}/a\"}}\n\
         rule\n on any\n text It ends.\n"
    ));
    fs::create_dir_all(case.root().join("config/antefix")).expect("a folder");
    case
}

#[test]
fn a_page_is_fetched_where_rule_and_settings_allow_it() {
    let port = serve("<title>T</title><script>x</script><p>Hello <b>there</b>.");
    let case = case(port);
    let settings = format!("[web]\nprivate_hosts = [\"127.0.0.1:{port}\"]\n");
    fs::write(case.root().join("config/antefix/settings.toml"), settings).expect("the user's settings");
    let run = |args: [&str; 2]| {
        case.antefix(["run", "Look", "--longest-retry-wait", "0"]).args(args).ends().code(0)
    };
    run(["--permission-mode", "ask"]).stderr("--allow 'web_fetch(domain:127.0.0.1)'");
    run(["--deny", "web_fetch(domain:127.0.0.1)"]).stderr("is denied by");
    run(["--allow", "web_fetch(domain:127.0.0.1)"]).stderr("✓ web_fetch");
    let told = String::from_utf8_lossy(&case.sent().last().expect("a request").bytes).into_owned();
    let expect = format!("http://127.0.0.1:{port}/a (status 200, text/html)\\n\\nT\\n\\nHello there.");
    assert!(told.contains(&expect), "{told}");
    case.goes_on();
}

#[test]
fn a_private_address_is_refused_whatever_the_mode() {
    let case = case(9);
    let run = case.antefix(["run", "Look", "--longest-retry-wait", "0", "--permission-mode", "full"]);
    run.ends().code(0).stderr("asks for a port without TLS");
}
