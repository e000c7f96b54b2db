//! Servers that answer as no server should.

use std::sync::Arc;
use std::time::Duration;

use antefix_mcp::{BoxFuture, Bytes, Call, Elicitation, Hub, McpError, Questions, Reply, State, Wait};

use crate::place::Place;
use crate::{TOOL, call, names};

/// What a call gives, and the next one after it.
#[tokio::test]
async fn answers_that_are_none_spoil_no_other() {
    let place = Place::new();
    let answer = |id: &str, text: &str| {
        format!(
            r#"{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}]}}}}"#
        )
    };
    let (wrong, same) = (answer("9999", "wrong"), answer("$ID", "first"));
    for (told, expect) in [
        (format!(r#"{{"noise":["{wrong}"],"text":"right"}}"#), Ok("right")),
        (format!(r#"{{"noise":["{}"],"text":"right"}}"#, answer("null", "wrong")), Ok("right")),
        (format!(r#"{{"noise":["{}"],"text":"right"}}"#, answer("{}", "wrong")), Ok("right")),
        (format!(r#"{{"noise":["{same}"],"text":"second"}}"#), Ok("first")),
        (format!(r#"{{"noise":["{same}","{same}","{wrong}"],"text":"fourth"}}"#), Ok("first")),
        (r#"{"noise":["[]","7","\"x\"","{","{}"],"text":"right"}"#.to_owned(), Ok("right")),
        (
            r#"{"result":[1]}"#.to_owned(),
            Err("the MCP server `s` answered `tools/call` with something that is not understood: the result is no object"),
        ),
        (
            r#"{"result":null}"#.to_owned(),
            Err("the MCP server `s` answered `tools/call` with something that is not understood: the result is no object"),
        ),
        (r#"{"result":{"content":7}}"#.to_owned(), Ok("")),
        (r#"{"result":{"content":[7]}}"#.to_owned(), Ok("7")),
        (r#"{"error":{"code":"x"}}"#.to_owned(), Err("the MCP server `s` answered `tools/call` with error \"x\": ")),
        (
            r#"{"cut":30}"#.to_owned(),
            Err("the MCP server `s` is not connected: the connection was closed"),
        ),
        (
            r#"{"image_bytes":9000000}"#.to_owned(),
            Ok("[left out: 9000009 bytes of an image]\n[cut: more than 8 MiB were returned]"),
        ),
        (
            r#"{"image_bytes":60000000}"#.to_owned(),
            Err("the MCP server `s` is not connected: the connection was closed"),
        ),
        (
            r#"{"parts":[[{"type":"resource","resource":{"uri":"f:///a","mimeType":"x/y","blob":"AAAA"}},1],[{"type":"resource_link","uri":"f:///b"},1]]}"#
                .to_owned(),
            Ok("[resource f:///a: x/y, 4 bytes of base64]\n[resource f:///b: f:///b]"),
        ),
    ] {
        let tools = format!(r#"[{TOOL},{{"name":"next","inputSchema":{{}}}}]"#);
        let script = format!(r#"{{"tools":{tools},"calls":{{"t":{told},"next":{{"text":"ok"}}}}}}"#);
        let hub = Hub::start(vec![place.server("s", &script)], place.options());
        hub.ready(Wait::All).await;
        let mut changed = hub.changed();
        changed.mark_unchanged();
        let given = call(&hub, "s", "t", "{}").await.map_err(|error| error.to_string());
        assert_eq!(given.as_deref().map_err(String::as_str), expect, "{told}");
        let state = || hub.catalogue().server("s").unwrap().state.clone();
        let is_lost = expect.is_err_and(|why| why.contains("closed"));
        if is_lost {
            while state() == State::Ready {
                changed.changed().await.unwrap();
            }
        }
        if matches!(state(), State::Ready) {
            assert_eq!(call(&hub, "s", "next", "{}").await.unwrap(), "ok", "{told}");
        }
        assert_eq!(names(&hub.catalogue()), "mcp__s__next mcp__s__t", "what cannot be reached is not removed");
        hub.stop().await;
    }
}

/// A server that answers what nobody waits for any more.
#[tokio::test]
async fn an_answer_to_a_call_that_was_cancelled_is_none_of_the_next() {
    let place = Place::new();
    let script = format!(
        r#"{{"tools":[{TOOL},{{"name":"next","inputSchema":{{}}}}],"calls":{{"t":{{"progress":1,"until_cancelled":"{}","late":"late"}},"next":{{"text":"ok"}}}}}}"#,
        place.path("mark").display()
    );
    let hub = Hub::start(vec![place.server("s", &script)], place.options());
    hub.ready(Wait::All).await;
    let has_begun = tokio::sync::Notify::new();
    let asked = Call { server: "s", tool: "t", arguments: Bytes::from_static(b"{}") };
    let gave_up = hub.call(asked, has_begun.notified(), |_| has_begun.notify_one()).await;
    assert_eq!(gave_up, Err(McpError::Cancelled));
    assert_eq!(call(&hub, "s", "next", "{}").await.unwrap(), "ok");
    hub.stop().await;
}

/// Pages that lead in a circle were read two hundred times.
#[tokio::test]
async fn pages_without_an_end_end() {
    let place = Place::new();
    for cursors in [r#"["a"]"#, r#"["a","b"]"#, r#"["a","b","c"]"#] {
        let script = format!(r#"{{"tools":[{TOOL}],"cursors":{cursors}}}"#);
        let hub = Hub::start(vec![place.server("s", &script)], place.options());
        hub.ready(Wait::All).await;
        let view = hub.catalogue().server("s").unwrap().clone();
        assert_eq!(
            (names(&hub.catalogue()).as_str(), view.notes.join("|").as_str()),
            (
                "mcp__s__t",
                "its answers to `tools/list` have no end; what came first is taken|it lists the tool `t` twice; the first holds"
            )
        );
        hub.stop().await;
    }
}

/// A user who takes an hour.
struct Slow;

impl Questions for Slow {
    fn ask<'a>(&'a self, _: &'a str, _: Elicitation) -> BoxFuture<'a, Reply> {
        Box::pin(async {
            tokio::time::pause();
            tokio::time::advance(Duration::from_secs(3600)).await;
            tokio::time::resume();
            Reply::Decline
        })
    }
}

/// A call was given up after two minutes in which its server had waited for the user.
#[tokio::test]
async fn the_time_a_user_takes_is_not_the_server_s() {
    let place = Place::new();
    let script = format!(
        r#"{{"tools":[{TOOL}],"calls":{{"t":{{"ask":{{"message":"who?","requestedSchema":{{}}}}}}}}}}"#
    );
    let mut options = place.options();
    options.questions = Some(Arc::new(Slow) as Arc<dyn Questions>);
    let hub = Hub::start(vec![place.server("s", &script)], options);
    hub.ready(Wait::All).await;
    assert_eq!(call(&hub, "s", "t", "{}").await.unwrap(), r#"{"action":"decline"}"#);
    hub.stop().await;
}
