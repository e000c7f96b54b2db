use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use antefix_tools::{
    Access, BoxFuture, Call, Context, Definition, Executor, Output, Progress, ProgressKind, Registry, Tool,
};
use antefix_wire::json::Body;
use tokio::sync::Barrier;

use crate::workspace::Workspace;

/// A tool that writes down when it starts and ends.
struct Probe {
    definition: Definition,
    access: Access,
    log: Arc<Mutex<String>>,
    /// Calls meet here before they end.
    meeting: Option<Arc<Barrier>>,
}

impl Tool for Probe {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn access(&self, _: &Context, _: &Body) -> Access {
        self.access.clone()
    }

    fn call<'a>(&'a self, context: &'a Context, input: Body) -> BoxFuture<'a, Output> {
        Box::pin(async move {
            self.log.lock().unwrap().push_str(&format!("+{}", context.call_id()));
            if let Some(meeting) = &self.meeting {
                meeting.wait().await;
            }
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
            assert!(input.root().get("panic").is_none(), "it {}", "broke");
            self.log.lock().unwrap().push_str(&format!("-{}", context.call_id()));
            Output::text(context.call_id())
        })
    }
}

/// Runs one call for each access and gives the log.
async fn log_of(accesses: &[Access], meeting: Option<usize>) -> String {
    let log = Arc::new(Mutex::new(String::new()));
    let meeting = meeting.map(|count| Arc::new(Barrier::new(count)));
    let mut registry = Registry::new();
    let mut calls = Vec::new();
    for (index, access) in accesses.iter().enumerate() {
        let id = index.to_string();
        let definition = Definition::new(&id, "", "{}").unwrap();
        let (log, meeting) = (log.clone(), meeting.clone());
        registry.register(Arc::new(Probe { definition, access: access.clone(), log, meeting }));
        calls.push(Call { id: id.clone(), name: id, input: Body::parse("{}").unwrap(), admitted: None });
    }
    let outputs = Executor::new(Arc::new(registry)).run(&Context::new("/", "/none"), calls).await;
    let expect: Vec<_> = (0..accesses.len()).map(|index| Output::text(index.to_string())).collect();
    assert_eq!(outputs, expect, "results are not in call order");
    let log = log.lock().unwrap();
    log.clone()
}

fn reads(path: &str) -> Access {
    Access::Reads(PathBuf::from(path))
}

fn writes(path: &str) -> Access {
    Access::Writes(PathBuf::from(path))
}

#[tokio::test]
async fn calls_that_disturb_each_other_run_in_call_order() {
    for (earlier, later) in [
        (writes("/a"), writes("/a")),
        (writes("/a"), reads("/a")),
        (reads("/a"), writes("/a")),
        (writes("/a/b"), reads("/a")),
        (reads("/a"), writes("/a/b")),
        (writes("/a"), Access::Anywhere),
        (Access::Anywhere, writes("/a")),
        (writes("/a"), Access::Delegated),
        (Access::Delegated, writes("/a")),
        (Access::Exclusive, Access::Nothing),
        (Access::Nothing, Access::Exclusive),
        (Access::Exclusive, Access::Exclusive),
    ] {
        assert_eq!(
            log_of(&[earlier.clone(), later.clone()], None).await,
            "+0-0+1-1",
            "{earlier:?} {later:?}"
        );
    }
    let three = [writes("/a"), writes("/b"), writes("/a")];
    let log = log_of(&three, None).await;
    assert!(log.starts_with("+0+1") && log.find("-0") < log.find("+2"), "{log}");
}

#[tokio::test]
async fn other_calls_run_side_by_side() {
    for pair in [
        [writes("/a"), writes("/ab")],
        [reads("/a"), reads("/a")],
        [Access::Anywhere, Access::Anywhere],
        [Access::Anywhere, reads("/a")],
        [reads("/a"), Access::Anywhere],
        [Access::Nothing, writes("/a")],
        [Access::Nothing, Access::Anywhere],
        [Access::Delegated, Access::Delegated],
        [Access::Delegated, Access::Anywhere],
    ] {
        // Each waits for the other, so that the batch ends only if they run side by side.
        assert!(log_of(&pair, Some(2)).await.starts_with("+0+1"), "{pair:?}");
    }
}

#[tokio::test]
async fn what_goes_wrong_is_a_result_and_is_reported() {
    let news = Arc::new(Mutex::new(Vec::new()));
    let listener = news.clone();
    let context =
        Context::new("/", "/none").with_progress(move |progress| listener.lock().unwrap().push(progress));
    let mut registry = Registry::new();
    for name in ["probe", "other"] {
        let definition = Definition::new(name, "", "{}").unwrap();
        let log = Arc::default();
        registry.register(Arc::new(Probe { definition, access: writes("/a"), log, meeting: None }));
    }
    let executor = Executor::new(Arc::new(registry));
    let call = |id: &str, name: &str, input: &str| Call {
        id: id.to_owned(),
        name: name.to_owned(),
        input: Body::parse(input).unwrap(),
        admitted: None,
    };
    let calls = vec![call("a", "probe", r#"{"panic":1}"#), call("b", "prob", "{}"), call("c", "other", "{}")];
    let outputs = executor.run(&context, calls.clone()).await;
    let expect = [
        Output::error("the tool broke down: it broke"),
        Output::error("there is no tool `prob`; the tools are: probe, other"),
        Output::text("c"),
    ];
    assert_eq!(outputs, expect);
    let of = |id: &str| -> Vec<ProgressKind> {
        let news = news.lock().unwrap();
        news.iter().filter(|progress: &&Progress| &*progress.call_id == id).map(|p| p.kind.clone()).collect()
    };
    assert_eq!(of("a"), [ProgressKind::Started, ProgressKind::Finished { is_error: true }]);
    assert_eq!(of("c"), [ProgressKind::Started, ProgressKind::Finished { is_error: false }]);

    let mut arrived = Vec::new();
    let outputs = executor
        .run_each(&context, calls.clone(), |index, output| arrived.push((index, output.clone())))
        .await;
    arrived.sort_by_key(|(index, _)| *index);
    assert_eq!(arrived, outputs.into_iter().enumerate().collect::<Vec<_>>());

    context.cancellation.cancel();
    let outputs = executor.run(&context, vec![calls[2].clone()]).await;
    assert_eq!(outputs, [Output::error("cancelled before it started")]);
}

#[tokio::test]
async fn edits_of_one_file_are_made_in_call_order_and_a_command_sees_them() {
    let workspace = Workspace::new(&[("f", "0\n"), ("g", "x\n")]);
    std::os::unix::fs::symlink("f", workspace.path("link")).unwrap();
    let outputs = workspace
        .batch(&[
            ("read", r#"{"path":"f"}"#),
            ("edit", r#"{"path":"f","old_string":"0","new_string":"1"}"#),
            ("edit", r#"{"path":"link","old_string":"1","new_string":"2"}"#),
            ("bash", r#"{"command":"cat f; echo 3 > f"}"#),
            ("read", r#"{"path":"g"}"#),
            ("edit", r#"{"path":"./f","old_string":"2","new_string":"4"}"#),
        ])
        .await;
    let texts: Vec<_> = outputs.iter().map(|output| workspace.plain(output)).collect();
    assert_eq!(
        texts,
        [
            "     1\t0",
            "changed `f`\n@@ -1,1 +1,1 @@\n-0\n+1",
            "changed `f`\n@@ -1,1 +1,1 @@\n-1\n+2",
            "2\n[exit code 0]",
            "     1\tx",
            "error: `f` has changed since it was last read: read it again first; what has changed:\n@@ -1,1 +1,1 @@\n-2\n+3",
        ]
    );
}

#[tokio::test]
async fn texts_that_a_provider_would_refuse_are_made_sendable() {
    let workspace = Workspace::new(&[]);
    workspace.check("bash", r#"{"command":"printf 'a\\0b'"}"#, "a\u{fffd}b\n[exit code 0]").await;
}

/// A session that was begun with the tools of contract 1 goes on: its model sends the inputs of then, and a tool that
/// has come since is not there.
#[tokio::test]
async fn calls_of_the_first_contract_are_still_taken() {
    let workspace = Workspace::new(&[("f", "a\nb\n")]);
    let executor = Executor::new(Registry::of_contract(1).unwrap().into());
    for line in include_str!("../contract_1.jsonl").lines() {
        let case = Body::parse(line).unwrap();
        let text = |name: &str| case.root().get(name).unwrap().str().unwrap().into_owned();
        let input = Body::parse(case.root().get("input").unwrap().raw()).unwrap();
        let call = Call { id: "c".to_owned(), name: text("tool"), input, admitted: None };
        let output = executor.run(&workspace.context, vec![call]).await.remove(0);
        assert_eq!(workspace.plain(&output), text("result"), "{line}");
    }
}
