//! What fills a history and what it costs, through the command line.

use std::fs;

use antefix_http::server::ServerOptions;
use antefix_wire::json::{Body, Node};

use crate::case::Case;

/// The model reads a file whole, changes one line of it, and ends.
const SCRIPT: &str = r#"rule
  on said Mend
  on rounds 0
  text First a look.
  tool read {"path":"long.txt"}
rule
  on said Mend
  on rounds 1
  tool edit {"path":"long.txt","old_string":"line 100 of","new_string":"LINE 100 of"}
rule
  text Done.
"#;

fn json(case: &Case, args: &[&str]) -> Body {
    let ended = case.antefix(args).ends().code(0);
    Body::parse(ended.stdout.clone()).unwrap_or_else(|error| panic!("{error}\n{ended}"))
}

fn text(node: Node<'_>, name: &str) -> String {
    node.get(name).and_then(Node::str).map(|text| text.into_owned()).unwrap_or_default()
}

fn number(node: Node<'_>, name: &str) -> u64 {
    node.get(name).and_then(Node::u64).unwrap_or_else(|| panic!("no number `{name}` in {}", node.raw()))
}

/// The row of a kind of part that is but one.
fn part<'a>(report: &'a Body, id: &str) -> Node<'a> {
    let mut parts = report.root().get("parts").into_iter().flat_map(Node::items);
    parts.find(|part| text(*part, "part") == id).unwrap_or_else(|| panic!("no {id} in {}", report.text()))
}

/// A sum over rows, of one of their numbers.
fn total(report: &Body, rows: &str, name: &str) -> u64 {
    report.root().get(rows).into_iter().flat_map(Node::items).map(|row| number(row, name)).sum()
}

#[test]
fn pieces_add_up_to_the_bill_and_a_whole_read_says_what_a_range_would_have_saved() {
    let (anthropic, chat) = (Case::new(SCRIPT), Case::chat(ServerOptions::default(), SCRIPT));
    for case in [anthropic, chat] {
        let lines: Vec<_> = (1..=400).map(|line| format!("line {line} of a file that is long\n")).collect();
        fs::write(case.project().join("long.txt"), lines.concat()).expect("a file");
        case.run("Mend the file, please.").ends().code(0);
        fs::write(case.project().join("AGENTS.md"), "Write in small letters.\n").expect("a file");
        case.go_on("And now?").ends().code(0);

        let growth = json(&case, &["growth", "--json"]);
        let bill = json(&case, &["bill", "session", "--json"]);
        for (rows, name, billed) in [
            ("parts", "read", "/total/used/read"),
            ("blocks", "read", "/total/used/read"),
            ("parts", "write_5m", "/total/used/write_5m"),
            ("parts", "uncached", "/total/used/ordinary"),
        ] {
            let billed = bill.root().pointer(billed).and_then(Node::u64);
            let billed = billed.unwrap_or_else(|| panic!("no such number in {}", bill.text()));
            assert_eq!(total(&growth, rows, name), billed, "{rows} {name}");
        }
        assert_eq!(growth.root().get("prefix_kept_permille").and_then(Node::u64), Some(1000));

        let of = |which: &str| {
            let parts = growth.root().get("parts").into_iter().flat_map(Node::items);
            let mut found =
                parts.filter(|part| text(*part, "part") == "results" && text(*part, "which") == which);
            found.next().unwrap_or_else(|| panic!("no results of {which} in {}", growth.text()))
        };
        let told = growth.root().get("parts").into_iter().flat_map(Node::items);
        let told =
            told.filter(|part| text(*part, "part") == "reminder" && text(*part, "which") == "instructions");
        assert_eq!(told.map(|part| number(part, "rode_in")).collect::<Vec<_>>(), [1]);
        // It is in the second request of four, and in each behind it.
        assert_eq!(number(of("read"), "rode_in"), 3);
        assert_eq!(number(of("edit"), "rode_in"), 2);
        let read = growth.root().pointer("/whole_reads/0").unwrap_or_else(|| panic!("{}", growth.text()));
        assert_eq!((text(read, "file").as_str(), number(read, "lines")), ("long.txt", 400));
        assert_eq!(read.get("used_lines").map(Node::raw), Some("[80,120]"));
        let (sent, unused) = (3 * number(read, "tokens"), number(read, "unused_tokens_sent"));
        assert_eq!(unused, sent * (400 - 41) / 400);
        case.antefix(["growth"]).ends().code(0).stdout("results: read").stdout("80–120");

        // Behind a compaction the head is the same piece, and what is billed still is what its pieces are billed.
        let tools = number(part(&growth, "tools"), "tokens");
        case.go_on_without_words(&["--compact"]).ends().code(0);
        case.go_on("And on with it.").ends().code(0);
        let (growth, bill) =
            (json(&case, &["growth", "--json"]), json(&case, &["bill", "session", "--json"]));
        for name in ["read", "write_5m"] {
            let billed = bill.root().pointer(&format!("/total/used/{name}")).and_then(Node::u64);
            assert_eq!(Some(total(&growth, "parts", name)), billed, "{name}");
        }
        assert_eq!(number(part(&growth, "tools"), "tokens"), tools);
        assert!(number(part(&growth, "summary"), "tokens") > 0);
    }
}

#[test]
fn a_session_without_an_answer_has_nothing_to_show() {
    let case = Case::new("rule\n  error 401 authentication_error no\n");
    case.run("Hello").ends();
    case.antefix(["growth"]).ends().code(0).stderr("no request whose usage is known");
    case.antefix(["growth", "no-such-session"]).ends().code(2);
}

#[test]
fn the_tools_of_a_session_are_the_same_in_all_its_requests() {
    let case = Case::new(SCRIPT);
    fs::write(case.project().join("long.txt"), "line 100 of one\n").expect("a file");
    case.run("Mend the file, please.").ends().code(0);
    case.go_on("And now?").ends().code(0);
    case.antefix(["tools", "diff"]).ends().code(0).stdout("the same in all 4 requests");

    let body = |text: &str, name: &str| {
        let path = case.project().join(name);
        let tools = format!(r#"{{"name":"a","description":"{text}","input_schema":{{}}}}"#);
        let body =
            format!(r#"{{"model":"m","tools":[{tools}],"messages":[{{"role":"user","content":"hi"}}]}}"#);
        fs::write(&path, body).expect("a file");
        path
    };
    let (one, two) = (body("It is 10:00.", "one.json"), body("It is 11:00.", "two.json"));
    let args = ["tools".as_ref(), "diff".as_ref(), one.as_os_str(), two.as_os_str()];
    case.antefix(args).ends().code(1).stdout("request 2: tool `a` has another description");
    let json = case.antefix(args).arg("--json").ends().code(1);
    let json = Body::parse(json.stdout).expect("JSON");
    let change = json.root().pointer("/changes/0").expect("a change");
    assert_eq!((text(change, "kind").as_str(), number(change, "request")), ("description", 2));
}
