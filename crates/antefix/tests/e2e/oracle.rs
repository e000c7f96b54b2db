//! The captured bodies before a judge that shares nothing with the program: `tests/oracle/oracle.py`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::case::Case;
use crate::ended::Ended;

/// Asks the oracle. Where there is no Python it only says so, except in continuous integration.
pub fn ask(arguments: &[&str], capture: &Path) -> Option<Ended> {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracle/oracle.py");
    let output = Command::new("python3").arg(script).args(arguments).arg(capture).output();
    match output {
        Ok(output) => Some(Ended::from(output)),
        Err(error) => {
            assert!(std::env::var_os("CI").is_none(), "python3 is needed here: {error}");
            eprintln!("note: python3 could not be started ({error}); the oracle was not asked");
            None
        }
    }
}

/// All verdicts on a capture: prefixes, the bill to the token, and the cost against a perfect cache.
fn judge(capture: &Path, require: &str, max_ratio: &str) {
    let questions: [&[&str]; 3] = [
        &["extends", "--require", require],
        &["bill", "--tokens", "simulator"],
        &["perfect", "--tokens", "simulator", "--max-ratio", max_ratio],
    ];
    for question in questions {
        if let Some(verdict) = ask(question, capture) {
            let verdict = verdict.code(0);
            println!("{}: {}", question[0], verdict.stdout.lines().last().unwrap_or_default());
        }
    }
}

#[test]
fn the_demo_extends_and_costs_what_a_perfect_cache_would() {
    let case = Case::new("rule\n on any\n text Nobody asks this one.");
    let capture = case.root().join("demo");
    let ended = case.antefix(["demo", "--json", "--capture"]).arg(&capture).ends().code(0);
    let ended = ended.stdout("\"schema_version\":1").stdout("\"verify\":{\"ok\":true");
    let requests = ended.stdout.matches("\"process\":").count();
    let bodies = crate::bodies::read_all(&capture);
    assert_eq!(requests, bodies.len(), "each request is captured\n{ended}");
    assert!(requests >= 9, "the task takes nine requests or more\n{ended}");
    for at in 1..bodies.len() {
        assert!(bodies[at].extends(&bodies[at - 1]), "body {at} extends the one before");
    }
    judge(&capture, "extends", "1.01");
}

/// Four processes, parallel calls, thinking, a rewind and a copy that goes on by itself.
#[test]
fn a_long_session_extends_and_branches_where_the_user_goes_back() {
    let case = Case::new(LONG);
    case.write("a.txt", &"alpha\n".repeat(400)).write("b.txt", &"beta\n".repeat(400));
    let think = ["--thinking", "adaptive"];
    case.run("Look around").args(think).ends().code(0).stdout("Seen it all.");
    case.go_on("Change something").ends().code(0).stdout("Changed.");
    case.go_on("Then tell me").ends().code(0).stdout("I tell you.");
    case.go_on("Tell me more").args(["--rewind", "3"]).ends().code(0).stdout("More of it.");
    let copy = case.go_on("Then tell me").args(["--fork", "--output", "json"]).ends().code(0);
    case.go_on("Tell me more").ends().code(0).stdout("More of it.");
    case.antefix(["verify", &copy.member("session_id")]).ends().code(0);
    case.is_intact();
    let relations = case.relations();
    assert_eq!(relations.iter().filter(|one| one.starts_with("branches")).count(), 1, "{relations:?}");
    judge(&case.capture(), "branches", "1.01");
}

const LONG: &str = r#"
rule
  on said Look around
  on rounds 0
  think First I look at everything at once.
  text I look at all of it.
  tool bash {"command":"ls"}
  tool read {"path":"a.txt"}
  tool read {"path":"b.txt"}
  tool grep {"pattern":"alpha","path":"."}
  tool read {"path":"missing.txt"}
rule
  on said Look around
  on rounds 1..7
  think Once more.
  tool bash {"command":"seq 1 300"}
  tool read {"path":"a.txt","offset":10,"limit":100}
rule
  on said Look around
  text Seen it all.
rule
  on said Change something
  on rounds 0
  tool edit {"path":"a.txt","old_string":"alpha\nalpha\n","new_string":"omega\n","replace_all":true}
  tool bash {"command":"wc -l a.txt"}
rule
  on said Change something
  text Changed.
rule
  on said Then tell
  text I tell you.
rule
  on said Tell me more
  on rounds 0
  tool bash {"command":"head -c 20000 /dev/zero | tr '\\0' x"}
rule
  on said Tell me more
  text More of it.
"#;
