//! `antefix chat` on a pipe: a line is a message.

use crate::case::Case;

const SCRIPT: &str = "rule\n on any\n text Very well.\n";

#[test]
fn each_line_is_a_message_of_one_session() {
    let case = Case::new(SCRIPT);
    let ended = case.antefix(["chat", "First."]).ends_on("Second.\n\nThird \\\nand more.\r\n").code(0);
    let ended = ended.stdout("Very well.\nVery well.\nVery well.\n");
    // The first message of a session has nothing to go on from.
    assert_eq!(ended.stderr.matches("this request has about").count(), 2, "{}", ended.stderr);
    assert_eq!(case.relations(), ["extends", "extends"]);
    let sent = String::from_utf8_lossy(&case.sent()[2].bytes).into_owned();
    for said in ["First.", "Second.", r"Third \nand more."] {
        assert_eq!(sent.matches(said).count(), 1, "{said}\n{sent}");
    }
    case.goes_on();
}

#[test]
fn what_is_typed_behind_a_slash_is_done_and_not_said() {
    let case = Case::new(SCRIPT);
    let typed = "First.\nSecond.\n/rewind 9\n/rewind 2\n/rewind\n/help\nAnother.\n/exit\nNever.\n";
    let mut ended = case.antefix(["chat"]).ends_on(typed).code(0);
    for told in [
        "! there is no turn 9",
        "message 2 and what came behind it are dropped",
        "! `/rewind` takes the number of a message",
        "/compact",
        "`antefix chat --continue` goes on",
    ] {
        ended = ended.stderr(told);
    }
    let sent = String::from_utf8_lossy(&case.sent()[2].bytes).into_owned();
    assert!(sent.contains("First.") && sent.contains("Another."), "{sent}");
    assert!(!sent.contains("Second.") && !sent.contains("/help"), "{sent}");
    assert_eq!(case.sent().len(), 3);
    let later = case.antefix(["chat", "--continue"]).ends_on("Later.\n").code(0);
    later.stderr("this request has about");
    case.goes_on();
}

#[test]
fn a_session_goes_on_from_a_summary_on_demand() {
    let case = Case::new(
        "rule\n on said Write a summary\n text The gate opens at 6174.\nrule\n on any\n text Very well.\n",
    );
    let long = "some words ".repeat(400);
    let typed = format!("{long}\nSecond.\nThird.\nFourth.\n/compact\n/compact\nFifth.\n");
    let ended =
        case.antefix(["chat"]).ends_on(&typed).code(0).stderr("compacting, as asked.").stderr("compacted: ");
    let ended = ended.stderr("nothing has been said since the last summary");
    assert_eq!(ended.stdout, "Very well.\n".repeat(5));
    let sent = String::from_utf8_lossy(&case.sent()[5].bytes).into_owned();
    assert!(sent.contains("The gate opens at 6174.") && sent.contains("Fifth."), "{sent}");
    assert!(!sent.contains("some words some words"), "{sent}");
    case.goes_on();
}

#[test]
fn a_chat_without_a_word_sends_nothing() {
    let case = Case::new(SCRIPT);
    case.antefix(["chat"]).ends_on("").code(0).stdout("");
    case.antefix(["chat"]).ends_on("\n  \n/help\n").code(0).stdout("");
    assert!(case.sent().is_empty());
}
