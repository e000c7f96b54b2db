//! The list of what is to be done: the model keeps it, the user may change it, and the model is told once.

use std::fs;

use antefix_http::server::ServerOptions;

use crate::case::Case;

const SCRIPT: &str = r#"rule
  on said Plan
  on rounds 0
  tool todo {"add":["Read it","Write it","Test it"],"start":[1]}
rule
  on said Plan
  text Three things are to be done.
rule
  on said Show it
  on rounds 0
  tool todo {"done":[2]}
rule
  on said Work long
  on rounds 0..24
  tool glob {"pattern":"*.md"}
rule
  on any
  text Fine.
"#;

const CHANGED: &str = "The user has changed the list of what is to be done.";
const UNTOUCHED: &str = "Nothing of the list of what is to be done was touched";

/// Reminders are counted, and a test may run into another day.
const QUIET: [&str; 2] = ["--no-reminder", "date"];

fn cases() -> [Case; 2] {
    [Case::new(SCRIPT), Case::chat(ServerOptions::default(), SCRIPT)]
}

fn told(case: &Case, words: &str) -> usize {
    let sent = case.sent();
    String::from_utf8_lossy(&sent.last().expect("something was sent").bytes).matches(words).count()
}

/// Each message comes from a new process; the file is what `antefix sessions todo` has printed, changed by hand.
#[test]
fn what_the_user_makes_of_the_list_is_told_once() {
    for case in cases() {
        case.run("Plan it.").ends().code(0);
        let printed = case.antefix(["sessions", "todo"]).ends().code(0);
        assert_eq!(printed.stdout, "1 [>] Read it\n2 [ ] Write it\n3 [ ] Test it\n");
        case.write("list", &printed.stdout);
        let with_list = |prompt: &str| case.go_on(prompt).args(["--todo", "list"]).args(QUIET).ends().code(0);
        with_list("The same.").lacks("the model is told (todo");
        case.write("list", "3 [ ] Test it\n1 [x] Read it\n[ ] Ship it\n");
        with_list("Changed.").stderr("the model is told (todo list): The user has changed the list");
        with_list("Once more.").lacks("the model is told (todo");
        assert_eq!(
            (told(&case, CHANGED), told(&case, r"3 [ ] Test it\n1 [x] Read it\n4 [ ] Ship it")),
            (1, 1)
        );
        // The model's own change goes on from there; line 2 was dropped, and can be taken up again.
        case.go_on("Show it.").args(QUIET).ends().code(0).stderr("✓ todo 3 [ ] Test it");
        let shown = case.antefix(["sessions", "todo", "--json"]).ends().code(0);
        shown.stdout(r#"{"number":2,"state":"done","text":"Write it"}"#);
        let reminders = case.antefix(["sessions", "show", "--reminders"]).ends().code(0);
        reminders.stdout("1 reminder, about ").stdout("todo").stdout("| 4 [ ] Ship it");
        assert!(case.relations().iter().all(|relation| relation == "extends"), "{:?}", case.relations());
        case.is_intact();
    }
}

/// The list has items left and nothing of it is touched for more than twenty steps: that is said once, and again only
/// once the list was changed and another twenty have gone by.
#[test]
fn an_untouched_list_is_told_once() {
    for case in cases() {
        case.run("Plan it.").ends().code(0);
        case.go_on("Work long.").ends().code(0).stderr("the model is told (todo untouched)");
        assert_eq!(told(&case, UNTOUCHED), 1);
        case.go_on("Work long.").ends().code(0).lacks("the model is told (todo");
        assert_eq!(told(&case, UNTOUCHED), 1);
        case.go_on("Show it.").ends().code(0);
        case.go_on("Work long.").ends().code(0);
        assert_eq!(told(&case, UNTOUCHED), 2);
        case.is_intact();
    }
}

#[test]
fn reminders_of_the_list_can_be_switched_off() {
    let case = Case::new(SCRIPT);
    case.run("Plan it.").ends().code(0);
    case.go_on("Work long.").args(["--no-reminder", "todo"]).ends().code(0).lacks("the model is told (todo");
    assert_eq!(told(&case, UNTOUCHED), 0);
    case.write("list", "1 [x] Read it\n");
    let refused = case.go_on("Changed.").args(["--todo", "list", "--no-reminder", "todo"]).ends().code(2);
    refused.stderr("the list cannot be changed while reminders of the kind `todo` are off");
    for (file, said) in [
        ("none", "`none` cannot be read"),
        ("list", "`list`: line 2 is `read it`: expected `NUMBER [ ] TEXT`"),
    ] {
        case.write("list", "1 [x] Read it\nread it\n");
        case.go_on("Changed.").args(["--todo", file]).ends().code(2).stderr(said);
    }
    let folder = case.root().join("config/antefix");
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("settings.toml"), "[reminders]\ntodo = 40\n").expect("a file");
    case.write("list", "1 [x] Read it\n");
    case.go_on("Changed.").args(["--todo", "list"]).ends().code(0);
    assert_eq!((told(&case, "[cut here: 40 of "), told(&case, CHANGED)), (1, 0));
    // What was not told whole is whole on record.
    assert_eq!(case.antefix(["sessions", "todo"]).ends().code(0).stdout, "1 [x] Read it\n");
}

/// A rewind goes back in front of what the user has changed: the list is as it was, and the change can be made anew.
#[test]
fn the_list_goes_back_with_a_rewind() {
    let case = Case::new(SCRIPT);
    case.run("Plan it.").ends().code(0);
    case.write("list", "2 [ ] Write it\n");
    case.go_on("Changed.").args(["--todo", "list"]).ends().code(0);
    assert_eq!(case.antefix(["sessions", "todo"]).ends().code(0).stdout, "2 [ ] Write it\n");
    case.go_on("Otherwise.").args(["--rewind", "2"]).ends().code(0).lacks("the model is told (todo");
    let printed = case.antefix(["sessions", "todo"]).ends().code(0);
    assert_eq!(printed.stdout, "1 [>] Read it\n2 [ ] Write it\n3 [ ] Test it\n");
    // The model's call in the same turn goes on from what the user wants.
    let again = case.go_on("Show it.").args(["--rewind", "2", "--todo", "list"]).ends().code(0);
    again.stderr("the model is told (todo list)").stderr("✓ todo 2 [x] Write it");
    assert_eq!(told(&case, CHANGED), 1);
    case.is_intact();
}

/// A summary stands for the call that made the list and for what the user has made of it.
#[test]
fn a_summary_brings_the_list_along() {
    let case = Case::new(SCRIPT);
    case.run("Plan it.").ends().code(0);
    case.write("list", "3 [ ] Test it\n[ ] Ship it\n");
    case.go_on("Changed.").args(["--todo", "list"]).ends().code(0);
    case.go_on_without_words(&["--compact"]).ends().code(0);
    let now = "3 [ ] Test it\n4 [ ] Ship it\n";
    assert_eq!(case.antefix(["sessions", "todo"]).ends().code(0).stdout, now);
    case.go_on("Once more.").args(["--todo", "list"]).ends().code(0).lacks("the model is told (todo");
    assert_eq!(told(&case, r"as it stands:\n3 [ ] Test it\n4 [ ] Ship it"), 1);
    assert_eq!(case.antefix(["sessions", "todo"]).ends().code(0).stdout, now);
    case.is_intact();
}
