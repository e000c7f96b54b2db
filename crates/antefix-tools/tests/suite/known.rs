//! What the model knows of files, and what it is told of it.

use antefix_tools::{FileFact, FileTable, Scope, Step};
use antefix_wire::json::Body;

use crate::workspace::Workspace;

fn long(name: &str) -> String {
    (1..=60).map(|line| format!("line {line} of {name}\n")).collect()
}

#[tokio::test]
async fn an_unchanged_file_is_not_shown_twice() {
    let workspace = Workspace::new(&[("f", &long("f")), ("short", "x\n")]);
    let whole = workspace.call("read", r#"{"path":"f"}"#).await;
    let again = "[`f` is unchanged, and its lines 1 to 60 are in this conversation already; read it once more if you do \
                 not find them]";
    let part = "[`f` is unchanged, and its lines 5 to 44 are in this conversation already; read it once more if you do \
                not find them]";
    let (all, some) = (r#"{"path":"f"}"#, r#"{"path":"f","offset":5,"limit":40}"#);
    workspace.check("read", all, again).await;
    assert_eq!(workspace.call("read", all).await, whole, "whoever asks again is shown it");
    workspace.check("read", some, part).await;
    workspace.call("read", some).await;
    // A wider range than what is there, and a short text, are shown.
    assert!(
        !workspace
            .plain(&workspace.call("read", r#"{"path":"f","offset":4,"limit":41}"#).await)
            .contains("unchanged")
    );
    workspace.check("read", r#"{"path":"short"}"#, "     1\tx").await;
    workspace.check("read", r#"{"path":"short"}"#, "     1\tx").await;
    // In one batch neither call may count on the other.
    let workspace = Workspace::new(&[("f", &long("f"))]);
    let both = workspace.batch(&[("read", all), ("read", all)]).await;
    assert_eq!(both[0], both[1]);
    assert!(!both[0].as_text().contains("unchanged"));
    // What has changed is shown.
    workspace.write("f", long("g"));
    assert!(workspace.call("read", all).await.as_text().contains("line 1 of g"));
}

#[tokio::test]
async fn a_conversation_gives_the_contents_back() {
    let workspace = Workspace::new(&[
        ("a", &long("a")),
        ("crlf", "1\r\n2\r\n"),
        ("open", "1\n2"),
        ("mark", "\u{feff}1\n"),
        ("empty", ""),
    ]);
    workspace.write("latin", b"caf\xe9\n");
    let calls = [
        ("read", r#"{"path":"a"}"#),
        ("read", r#"{"path":"crlf"}"#),
        ("read", r#"{"path":"open"}"#),
        ("read", r#"{"path":"mark"}"#),
        ("read", r#"{"path":"empty"}"#),
        ("read", r#"{"path":"latin"}"#),
        ("edit", r#"{"path":"a","old_string":"line 9 ","new_string":"line nine "}"#),
        ("multi_edit", r#"{"path":"crlf","edits":[{"old_string":"1\n2","new_string":"3\n4"}]}"#),
        ("write", r#"{"path":"new","content":"x\n"}"#),
        ("edit", r#"{"path":"new","old_string":"x","new_string":"y"}"#),
        ("edit", r#"{"path":"made","old_string":"","new_string":"z"}"#),
        ("read", r#"{"path":"open","offset":2}"#),
    ];
    let mut steps = Vec::new();
    for (tool, input) in calls {
        let output = workspace.call(tool, input).await;
        assert!(!output.is_error, "{tool} {input}: {}", output.as_text());
        let (text, input) = (output.as_text(), Body::parse(input).unwrap());
        steps.extend(output.facts.iter().map(|fact| Step {
            tool: tool.to_owned(),
            input: input.clone(),
            text: text.clone(),
            fact: fact.clone(),
        }));
    }
    let facts = steps.iter().enumerate().map(|(at, step)| (at, &step.fact));
    let table = FileTable::replay(facts, |at| steps.get(at).cloned());
    assert_eq!(table.facts(), workspace.context.files.facts());
    for (path, is_kept) in [
        ("a", true),
        ("crlf", true),
        ("open", true),
        ("mark", true),
        ("empty", true),
        ("new", true),
        ("made", true),
        ("latin", false),
    ] {
        let content = std::fs::read(workspace.path(path)).unwrap();
        let kept = table.content(&workspace.path(path));
        assert_eq!(kept.as_deref(), is_kept.then_some(content.as_slice()), "{path}");
    }
}

/// Contents are worked out for the files touched last only, and each fact is looked at once.
#[test]
fn ten_thousand_files_cost_one_look_each() {
    let fact = |number: usize, digest: &str| FileFact {
        path: format!("/w/file{number}").into(),
        digest: digest.to_owned(),
        size: 2,
        mtime_ns: 1,
        scope: Scope::Whole,
        lines: None,
    };
    let digest = blake3::hash(b"x\n").to_hex().to_string();
    let facts: Vec<_> = (0..10_000).map(|number| fact(number, &digest)).collect();
    let mut asked = 0;
    let table = FileTable::replay(facts.iter().map(|fact| (fact, fact)), |fact| {
        asked += 1;
        let input = Body::parse("{}").unwrap();
        Some(Step { tool: "read".to_owned(), input, text: "     1\tx".to_owned(), fact: fact.clone() })
    });
    assert_eq!((asked, table.work()), (100, 10_100));
    let kept = facts.iter().filter(|fact| table.content(&fact.path).is_some()).count();
    assert_eq!((table.facts().len(), kept), (10_000, 100));
    assert!(table.content(&facts[9_999].path).is_some());
}
