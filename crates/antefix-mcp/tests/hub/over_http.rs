use std::future::pending;
use std::sync::Mutex;

use antefix_mcp::{
    Bytes, Call, Content, Http, Hub, PromptMessage, Secret, ServerConfig, State, Transport, Wait,
};

use crate::front::{Front, Style};
use crate::place::Place;

fn config(front: &Front, token: Option<&str>) -> ServerConfig {
    let headers = token.map(|token| ("Authorization".to_owned(), Secret::new(token)));
    let http = Http { url: front.url.clone(), headers: headers.into_iter().collect() };
    ServerConfig::new("s", Transport::Http(http), "test")
}

const SCRIPT: &str = r#"{"tools":[{"name":"t","inputSchema":{ "z":1.0e2,"a":{}}}],
    "calls":{"t":{"progress":2}},
    "resources":[{"uri":"b:///","name":"b"},{"uri":"a:///","name":"a","mimeType":"text/plain"}],
    "contents":[{"uri":"a:///","text":"A"}],"prompts":[{"name":"p","arguments":[{"name":"x","required":true}]}],
    "messages":[{"role":"user","content":{"type":"text","text":"hello"}}]}"#;

#[tokio::test]
async fn a_session_over_http() {
    let place = Place::new();
    for style in [Style::Json, Style::Events] {
        let front = Front::start(SCRIPT, style, Some("Bearer t0ken-of-mine"));
        let hub = Hub::start(vec![config(&front, Some("Bearer t0ken-of-mine"))], place.options());
        hub.ready(Wait::All).await;
        let view = hub.catalogue().server("s").unwrap().clone();
        assert_eq!((&view.state, view.offers.join(" ").as_str()), (&State::Ready, "resources prompts"));
        assert_eq!(view.tools[0].input_schema, r#"{ "z":1.0e2,"a":{}}"#);
        let seen = Mutex::new(0);
        let call = Call { server: "s", tool: "t", arguments: Bytes::from_static(br#"{"n":1.0}"#) };
        let output = hub.call(call, pending(), |_| *seen.lock().unwrap() += 1).await.unwrap();
        assert!(
            output.to_text().starts_with(r#"{"name":"t","arguments":{"n":1.0},"#),
            "{}",
            output.to_text()
        );
        assert_eq!(seen.into_inner().unwrap(), if style == Style::Events { 2 } else { 0 });
        let resources = hub.resources("s").await.unwrap();
        assert_eq!(resources.iter().map(|one| one.uri.as_str()).collect::<Vec<_>>(), ["a:///", "b:///"]);
        let read = hub.read_resource("s", "a:///").await.unwrap();
        assert_eq!(read, [Content::ResourceText { uri: "a:///".into(), text: "A".into() }]);
        assert_eq!(hub.prompts("s").await.unwrap()[0].arguments[0].name, "x");
        let prompt = hub.prompt("s", "p", &[("x".into(), "1".into())].into()).await.unwrap();
        let hello = PromptMessage { role: "user".into(), content: Content::Text("hello".into()) };
        assert_eq!(prompt, [hello]);
        hub.stop().await;
        let seen = front.seen.lock().unwrap();
        let of = |what: &str| seen.iter().filter(|line| line.contains(what)).cloned().collect::<Vec<_>>();
        assert_eq!(of("initialize -"), ["POST /mcp?k=v HTTP/1.1 initialize -"]);
        assert_eq!(of("tools/list"), ["POST /mcp?k=v HTTP/1.1 tools/list 2025-11-25"]);
        assert_eq!(of("DELETE").len(), 1, "{seen:?}");
    }
}

#[tokio::test]
async fn who_may_not_ask_is_told_how_to() {
    let place = Place::new();
    for (token, expect) in [
        (None, "it wants to know who asks (HTTP 401): give it a token in the server's `headers`"),
        (Some("Bearer wr0ng-token"), "it refuses the token of the header `Authorization` (HTTP 401)"),
    ] {
        let front = Front::start(SCRIPT, Style::Json, Some("Bearer right"));
        let hub = Hub::start(vec![config(&front, token)], place.options());
        hub.ready(Wait::All).await;
        let view = hub.catalogue().server("s").unwrap().clone();
        let State::Failed { why, retries: false } = &view.state else { panic!("{:?}", view.state) };
        assert!(why.starts_with(expect), "{why}");
        assert!(!format!("{view:?}").contains("wr0ng"), "a token is not shown");
        assert_eq!(front.seen.lock().unwrap().len(), 1, "and it is not asked again");
    }
}

#[tokio::test]
async fn a_session_that_is_forgotten_is_begun_again() {
    let place = Place::new();
    let front = Front::start(SCRIPT, Style::Json, None);
    let hub = Hub::start(vec![config(&front, None)], place.options());
    hub.ready(Wait::All).await;
    front.forget();
    let call = || Call { server: "s", tool: "t", arguments: Bytes::from_static(b"{}") };
    let error = hub.call(call(), pending(), |_| ()).await.unwrap_err().to_string();
    assert_eq!(
        error,
        "the MCP server `s` is not connected: it does not know the session any more (HTTP 404)"
    );
    let mut changed = hub.changed();
    while hub.catalogue().server("s").unwrap().listed < 2
        || hub.catalogue().server("s").unwrap().state != State::Ready
    {
        changed.changed().await.unwrap();
    }
    assert!(hub.call(call(), pending(), |_| ()).await.is_ok());
}

#[tokio::test]
async fn nobody_at_the_address_is_said() {
    let place = Place::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    drop(listener);
    let http = Http { url, headers: [].into() };
    let hub = Hub::start(vec![ServerConfig::new("s", Transport::Http(http), "test")], place.options());
    hub.ready(Wait::All).await;
    let state = hub.catalogue().server("s").unwrap().state.clone();
    assert!(matches!(&state, State::Failed { why, retries: true } if why.contains("refused")), "{state:?}");
}

/// A stream that was cut left its call waiting until the call's own timeout.
#[tokio::test]
async fn an_answer_that_is_cut_ends_the_call() {
    let place = Place::new();
    let front = Front::start(SCRIPT, Style::Cut, None);
    let hub = Hub::start(vec![config(&front, None)], place.options());
    hub.ready(Wait::All).await;
    let call = Call { server: "s", tool: "t", arguments: Bytes::from_static(b"{}") };
    let error = hub.call(call, pending(), |_| ()).await.unwrap_err().to_string();
    assert_eq!(
        error,
        "the MCP server `s` answered `tools/call` with error -32000: the answer ended before the result"
    );
}
