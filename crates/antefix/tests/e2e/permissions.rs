//! What tools may do where nobody can be asked, and what a folder's own files may say about it.

use crate::case::{Case, Invocation};

const SCRIPT: &str = "rule\n on said Make\n on rounds 0\n tool bash {\"command\":\"touch made && cat a.txt\"}\n\
    rule\n on said Look\n on rounds 0\n tool bash {\"command\":\"cat a.txt\"}\n\
    rule\n on any\n text It ends.\n";

fn case() -> Case {
    let case = Case::new(SCRIPT);
    case.write("a.txt", "a\n");
    case
}

fn asks(case: &Case, prompt: &str) -> Invocation {
    case.antefix(["run", prompt, "--longest-retry-wait", "0"])
}

fn made(case: &Case) -> bool {
    case.project().join("made").exists()
}

#[test]
fn a_call_that_nobody_can_allow_is_refused_and_the_turn_goes_on() {
    for output in ["text", "json", "stream-json"] {
        let case = case();
        let ended = asks(&case, "Make").args(["--output", output]).ends().code(0);
        assert!(!made(&case));
        if output == "stream-json" {
            ended.stdout("\"type\":\"decision\"").stdout("\"allowed\":false").stdout("nobody can be asked");
        } else {
            ended.stderr("nobody can be asked").stdout("It ends.");
        }
        let told = String::from_utf8_lossy(&case.sent()[1].bytes).into_owned();
        assert!(
            told.contains("--allow 'bash(touch made)'"),
            "the model is told how it could be allowed: {told}"
        );
        case.goes_on();
    }
}

#[test]
fn what_only_looks_runs_and_rules_decide_the_rest() {
    let case = case();
    asks(&case, "Look").ends().code(0).stderr("✓ bash").lacks("refused");
    asks(&case, "Make")
        .args(["--allow", "bash(touch made)"])
        .ends()
        .code(0)
        .stderr("allowed by `bash(touch made)`");
    assert!(made(&case));
    let denied = asks(&case, "Make").args(["--permission-mode", "full", "--deny", "bash(touch)"]);
    denied.ends().code(0).stderr("`touch made` is denied by `bash(touch)` (flag --deny)");
    asks(&case, "Make")
        .args(["--permission-mode", "read-only"])
        .ends()
        .code(0)
        .stderr("the mode is read-only");
    asks(&case, "Make").args(["--deny", "bash(("]).ends().code(2).stderr("flag --deny");
    asks(&case, "Make").args(["--deny", "bsh"]).ends().code(2).stderr("there is no tool `bsh`");
    asks(&case, "Make").args(["--allow", "read,nosuch"]).ends().code(2).stderr("there is no tool `nosuch`");
}

#[test]
fn what_was_decided_and_by_which_rule_can_be_seen_later() {
    let case = case();
    asks(&case, "Look").ends().code(0);
    asks(&case, "Make").arg("--continue").args(["--allow", "bash(touch:*)"]).ends().code(0);
    asks(&case, "Make").arg("--continue").args(["--deny", "bash(touch)"]).ends().code(0);
    asks(&case, "Make").arg("--continue").ends().code(0);
    let shown = case.antefix(["sessions", "show"]).ends().code(0);
    for line in [
        "allowed by mode ask (built-in)",
        "allowed by bash(touch:*) (flag --allow)",
        "refused by bash(touch) (flag --deny)",
        "refused by nobody to ask (asked by mode ask (built-in))",
    ] {
        assert!(shown.stdout.contains(line), "{line}\n{shown}");
    }
    let json = case.antefix(["sessions", "show", "--json"]).ends().code(0);
    json.stdout(r#""allowed":false,"rule":"bash(touch)","source":"flag --deny","remembered":[]"#);
    case.goes_on();
}

/// The command that a turn runs adds a deny rule to the settings; the turn's next call is refused by it.
#[test]
fn a_rule_that_is_added_while_a_turn_runs_holds_for_the_next_call() {
    let add = "printf '[permissions]\\ndeny = [\"bash(touch)\"]\\n' > .antefix/settings.toml";
    let case = Case::new(&format!(
        "rule\n on said Make\n on rounds 0\n tool bash {{\"command\":\"touch first\"}}\n\
         rule\n on said Make\n on rounds 1\n tool bash {{\"command\":{add:?}}}\n\
         rule\n on said Make\n on rounds 2\n tool bash {{\"command\":\"touch made\"}}\n\
         rule\n on any\n text It ends.\n"
    ));
    std::fs::create_dir(case.project().join(".antefix")).expect("a folder");
    let ended = asks(&case, "Make").args(["--permission-mode", "full"]).ends().code(0);
    ended.stderr("now deny bash(touch) (project settings").stderr("`touch made` is denied");
    assert!(case.project().join("first").exists() && !made(&case));
}

#[test]
fn a_folder_allows_nothing_until_it_is_trusted() {
    let case = case();
    std::fs::create_dir(case.project().join(".antefix")).expect("a folder");
    case.write(".antefix/settings.toml", "base_url = \"http://127.0.0.1:1\"\nkey_helper = \"touch made\"\n[permissions]\nmode = \"full\"\nallow = [\"bash(touch:*)\"]\n");
    asks(&case, "Make").without("ANTHROPIC_API_KEY").ends().code(2).stderr("no key");
    asks(&case, "Make").ends().code(0).stderr("does not hold").stderr("nobody can be asked");
    assert!(!made(&case));
    case.antefix(["doctor", "--settings"]).ends().code(0).stdout("does not hold: permissions.mode = full");
    asks(&case, "Make").arg("--trust").ends().code(0).lacks("does not hold");
    assert!(made(&case));
}
