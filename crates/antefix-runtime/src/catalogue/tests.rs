//! A session's tools while servers come, go and change.

mod offers;
mod servers;
mod told;

use std::sync::{Mutex, PoisonError};

use antefix_models::Platform;
use antefix_session::dialect::Dialect;
use antefix_session::placement::Placement;
use antefix_tools::{BoxFuture, Call, Content, Context, Executor, Output};

use super::*;
use crate::context::Baseline;
use crate::head::{ChatTerms, HeadSpec, Thinking};

/// Servers in memory.
#[derive(Default)]
struct Memory {
    offers: Mutex<Vec<Offer>>,
    calls: Mutex<Vec<String>>,
}

impl Memory {
    fn with(offers: Vec<Offer>) -> Arc<Self> {
        Arc::new(Self { offers: Mutex::new(offers), calls: Mutex::default() })
    }

    fn set(&self, offers: Vec<Offer>) {
        *self.offers.lock().unwrap() = offers;
    }

    fn calls(&self) -> Vec<String> {
        std::mem::take(&mut *self.calls.lock().unwrap())
    }
}

impl Servers for Memory {
    fn offers(&self) -> Vec<Offer> {
        self.offers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whoever waits sees the server become ready.
    fn settled<'a>(&'a self, server: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            for offer in self.offers.lock().unwrap().iter_mut().filter(|offer| offer.server == server) {
                if offer.state == ServerState::Starting {
                    offer.state = ServerState::Ready;
                }
            }
        })
    }

    fn call<'a>(&'a self, call: RemoteCall<'a>) -> BoxFuture<'a, Result<Output, RemoteFailure>> {
        Box::pin(async move {
            let arguments = String::from_utf8_lossy(&call.arguments).into_owned();
            self.calls.lock().unwrap().push(format!("{} {} {arguments}", call.server, call.tool));
            if arguments.contains("bad") {
                let (server, reason) = (call.server.to_owned(), "`bad` is not taken".to_owned());
                return Err(RemoteFailure::Refused { server, reason });
            }
            Ok(Output::text("done"))
        })
    }
}

fn tool(name: &str, description: &str, schema: &str) -> OfferedTool {
    let input_schema = Bytes::copy_from_slice(schema.as_bytes());
    OfferedTool { name: name.to_owned(), description: description.to_owned(), input_schema }
}

fn offer(server: &str, tools: &[(&str, &str)]) -> Offer {
    let tools = tools.iter().map(|(name, schema)| tool(name, &format!("Does {name}."), schema)).collect();
    Offer { server: server.to_owned(), state: ServerState::Ready, instructions: None, tools }
}

fn spec(deferral: Deferral, dialect: Dialect) -> ListingSpec {
    let is_native = dialect == Dialect::Anthropic;
    ListingSpec { deferral, is_native, window: Tokens(200_000), loaded: Vec::new() }
}

/// A session's tools, as `run` puts them together.
struct Tools {
    catalogue: Arc<Catalogue>,
    registry: Registry,
    notices: Vec<String>,
}

impl Tools {
    fn begin<S: Servers>(servers: &Arc<S>, spec: &ListingSpec) -> Self {
        let (catalogue, mut registry) = own(servers);
        let notices = catalogue.freeze(&mut registry, Selection::default(), spec);
        Self { catalogue, registry, notices }
    }

    fn go_on<S: Servers>(servers: &Arc<S>, lane: &LaneRecord) -> Self {
        let (catalogue, mut registry) = own(servers);
        catalogue.take_up(&mut registry, lane);
        Self { catalogue, registry, notices: Vec::new() }
    }

    fn lane(&self, dialect: Dialect) -> LaneRecord {
        let head = HeadSpec {
            dialect,
            platform: Platform::Anthropic,
            model: "claude-sonnet-5-5".to_owned(),
            scope: String::new(),
            betas: Vec::new(),
            max_tokens: Some(1_000),
            thinking: Thinking::Off,
            effort: None,
            context_management: None,
            cache: None,
            system_prompt: None,
            append_system_prompt: None,
            baseline: Baseline { text: String::new(), records: vec![self.catalogue.record()] },
            chat: ChatTerms::default(),
            reminders: if dialect == Dialect::Anthropic { Placement::UserBlock } else { Placement::InText },
        };
        head.render(&self.registry)
    }

    async fn call(&self, name: &str, input: &str) -> Output {
        let registry = self.registry.clone().with_arrivals(Arc::clone(&self.catalogue) as Arc<dyn Arrivals>);
        let executor = Executor::new(Arc::new(registry));
        let input = Body::parse(input).unwrap();
        let call = Call { id: "c".to_owned(), name: name.to_owned(), input, admitted: None };
        match executor.prepare(call) {
            Ok(call) => executor.run(&Context::new("/", "/"), vec![call]).await.remove(0),
            Err(failure) => Output::error(failure.0),
        }
    }

    async fn found(&self, query: &str) -> Vec<Content> {
        self.call("tool_search", &format!("{{\"query\":\"{query}\"}}")).await.content
    }
}

fn own<S: Servers>(servers: &Arc<S>) -> (Arc<Catalogue>, Registry) {
    let catalogue = Arc::new(Catalogue::new(Arc::clone(servers) as Arc<dyn Servers>));
    let mut registry = Registry::builtin();
    registry.register(Arc::new(ToolSearch::new(Arc::clone(&catalogue))));
    registry.register(Arc::new(ToolCall::new()));
    (catalogue, registry)
}

const NUMBER: &str = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#;
const TEXT: &str = r#"{"type":"object","properties":{"n":{"type":"string"}},"required":["n"]}"#;

/// The definitions are the start of every request of a session with contract 3.
#[test]
fn the_definitions_are_frozen() {
    let (_, registry) = own(&Memory::with(Vec::new()));
    let lines: Vec<String> =
        registry.definitions().skip(10).map(|definition| format!("{}\n", definition.json())).collect();
    assert_eq!(lines.concat(), include_str!("definitions.jsonl"));
}

/// Servers that answered in another order had the whole prompt written anew.
#[test]
fn the_array_is_the_same_whoever_answers_first() {
    let (a, b) = (offer("a", &[("z", "{}"), ("y", "{}")]), offer("b", &[("x", "{}")]));
    let mirrored = Offer { tools: a.tools.iter().rev().cloned().collect(), ..a.clone() };
    for dialect in Dialect::ALL {
        let spec = spec(Deferral::Off, dialect);
        let one = Tools::begin(&Memory::with(vec![a.clone(), b.clone()]), &spec);
        let other = Tools::begin(&Memory::with(vec![b.clone(), mirrored.clone()]), &spec);
        let names: Vec<&str> = one.registry.names().skip(12).collect();
        assert_eq!(names, ["mcp__a__y", "mcp__a__z", "mcp__b__x"]);
        assert_eq!(one.lane(dialect), other.lane(dialect));
    }
}

#[test]
fn what_cannot_be_sent_is_left_out_and_told() {
    let mut bad = offer("a", &[("list", "[]"), ("broken", "{"), ("good", "{}")]);
    bad.tools.push(tool("long", &"é".repeat(3_000_000), "{}"));
    bad.tools.push(tool("good", "Again.", "{}"));
    bad.tools.push(tool("日本", "Unicode.", "{}"));
    bad.tools.push(tool("either", "One of two.", r#"{"type":"object","oneOf":[]}"#));
    bad.tools.push(tool("huge", "", &format!("{{\"x\":\"{}\"}}", "x".repeat(100_000))));
    let waiting = Offer { state: ServerState::Starting, ..offer("w", &[("t", "{}")]) };
    let session = Tools::begin(&Memory::with(vec![bad, waiting]), &spec(Deferral::Off, Dialect::Anthropic));
    let names: Vec<&str> = session.registry.names().skip(12).collect();
    assert_eq!(names, ["mcp__a__good", "mcp__a__long", "mcp__a_____5381d859"]);
    assert_eq!(session.notices.len(), 5, "{:?}", session.notices);
    let long = session.catalogue.shown("mcp__a__long").unwrap().json().len();
    assert!(long < 4_200, "{long} bytes");
}

/// The array of a lane stays as it is, and a call of a tool in it means the tool that the model was shown.
#[tokio::test]
async fn a_later_process_keeps_the_array_and_calls_what_was_shown() {
    let begun = || vec![offer("a", &[("t", NUMBER), ("u", "{}")]), offer("b", &[("v", "{}")])];
    let first = Tools::begin(&Memory::with(begun()), &spec(Deferral::Off, Dialect::Anthropic));
    let (lane, record) = (first.lane(Dialect::Anthropic), first.catalogue.record());
    let gone = "the MCP server `a` is not there any more: its tools cannot be called";
    let down = Offer { state: ServerState::Failed("it ended".to_owned()), ..offer("a", &[]) };
    let slow = Offer { state: ServerState::Starting, ..offer("a", &[("t", NUMBER)]) };
    let changed = "the MCP server `a` refused the call: `bad` is not taken\nThe input schema of this tool is not the one you were shown any more. It is now: ";
    let rows = [
        (begun(), r#"{"n":1}"#, "done", r#"a t {"n":1}"#),
        (begun(), r#"{"n":"1"}"#, "done", r#"a t {"n":1}"#),
        (vec![offer("b", &[("v", "{}")])], r#"{"n":1}"#, gone, ""),
        (vec![down], r#"{"n":1}"#, "the MCP server `a` cannot be reached: it ended", ""),
        (vec![slow], r#"{"n":1}"#, "done", r#"a t {"n":1}"#),
        (
            vec![offer("a", &[("u", "{}")])],
            r#"{"n":1}"#,
            "the MCP server `a` does not offer `t` any more",
            "",
        ),
        (vec![offer("a", &[("t", TEXT)])], r#"{"n":1}"#, "done", r#"a t {"n":1}"#),
        (
            vec![offer("a", &[("t", TEXT)])],
            r#"{"n":2,"bad":1}"#,
            &format!("{changed}{TEXT}"),
            r#"a t {"n":2,"bad":1}"#,
        ),
        (
            begun(),
            r#"{"n":2,"bad":1}"#,
            "the MCP server `a` refused the call: `bad` is not taken",
            r#"a t {"n":2,"bad":1}"#,
        ),
        (
            begun(),
            "{}",
            &format!(
                "the call was not made, since its input does not fit the tool's schema: `/n` is missing. The schema: {NUMBER}"
            ),
            "",
        ),
    ];
    for (offers, input, expect, called) in rows {
        let servers = Memory::with(offers.clone());
        let later = Tools::go_on(&servers, &lane);
        assert_eq!(later.call("mcp__a__t", input).await.as_text(), expect, "{offers:?}");
        assert_eq!(servers.calls().join("; "), called, "{offers:?}");
        assert_eq!(later.catalogue.record(), record);
    }
}

/// What stands in no array is found by a search and called by its name.
#[tokio::test]
async fn tools_that_have_come_since_are_found_and_called() {
    let servers = Memory::with(vec![offer("a", &[("t", "{}")])]);
    for dialect in Dialect::ALL {
        servers.set(vec![offer("a", &[("t", "{}")])]);
        let session = Tools::begin(&servers, &spec(Deferral::Off, dialect));
        assert_eq!(
            session.found("count").await,
            Output::text("No tool fits, of 0 that can be searched.").content
        );
        servers.set(vec![offer("a", &[("t", "{}")]), offer("new", &[("count", NUMBER)])]);
        let expect = format!(
            "mcp__new__count\nDoes count.\nInput schema: {NUMBER}\n\nCall these through `tool_call`."
        );
        assert_eq!(session.found("count").await, Output::text(expect).content);
        assert_eq!(session.call("mcp__new__count", r#"{"n":3}"#).await, Output::text("done"));
        let slow = Offer { state: ServerState::Starting, ..offer("new", &[("count", NUMBER)]) };
        servers.set(vec![slow.clone()]);
        assert!(session.call("mcp__new__count", "{}").await.as_text().contains("`/n` is missing"));
        servers.set(vec![slow]);
        assert_eq!(session.call("mcp__new__count", r#"{"n":"3"}"#).await, Output::text("done"));
        assert_eq!(servers.calls(), [r#"new count {"n":3}"#, r#"new count {"n":3}"#]);
        let missing = session.call("mcp__other__t", "{}").await.as_text();
        assert!(missing.starts_with("there is no tool `mcp__other__t`"), "{missing}");
    }
}

fn many() -> Vec<Offer> {
    let tools = |server: usize| -> Vec<OfferedTool> {
        let count = if server < 8 { 17 } else { 16 };
        (0..count)
            .map(|at| tool(&format!("tool_{at:02}"), &format!("Does thing {at} of {server}."), NUMBER))
            .collect()
    };
    (0..12).map(|server| Offer { tools: tools(server), ..offer(&format!("s{server:02}"), &[]) }).collect()
}

/// Deferred tools add nothing to the prompt: its positions have the same digests with none and with 200.
#[test]
fn deferred_tools_are_outside_the_prefix() {
    let positions = |offers: Vec<Offer>, deferral| {
        let session = Tools::begin(&Memory::with(offers), &spec(deferral, Dialect::Anthropic));
        let lane = session.lane(Dialect::Anthropic);
        let body = format!(
            r#"{{"tools":{},"system":{},"messages":[{{"role":"user","content":"Go on."}}]}}"#,
            String::from_utf8_lossy(&lane.tools),
            String::from_utf8_lossy(&lane.system)
        );
        let body = Body::parse(body).unwrap();
        let positions = Dialect::Anthropic.positions(body.root()).unwrap();
        let digests: Vec<_> = positions.iter().map(|position| (position.wire, position.normal)).collect();
        (body.root().get("tools").unwrap().items().count(), digests)
    };
    let none = positions(Vec::new(), Deferral::Auto);
    let auto = positions(many(), Deferral::Auto);
    assert_eq!((none.0, auto.0), (12, 212));
    assert_eq!(none.1, auto.1);
    assert_eq!(positions(many(), Deferral::Off).1.len(), none.1.len() + 200);
}

#[tokio::test]
async fn deferred_tools_are_referred_to_and_the_listing_is_kept() {
    let servers = Memory::with(many());
    let mut wanted = spec(Deferral::Auto, Dialect::Anthropic);
    wanted.loaded = vec!["mcp__s03__tool_01".to_owned(), "mcp__none".to_owned()];
    let session = Tools::begin(&servers, &wanted);
    assert_eq!(
        session.notices,
        ["`mcp__none` is to be in the prompt from the start, and there is no such tool"]
    );
    let lane = session.lane(Dialect::Anthropic);
    let later = Tools::go_on(&servers, &lane);
    let reference = |name: &str| Content::ToolReference { name: name.to_owned() };
    for session in [&session, &later] {
        assert_eq!(session.catalogue.listing("mcp__s03__tool_01"), Some(Listing::Open));
        assert_eq!(session.catalogue.listing("mcp__s03__tool_02"), Some(Listing::Deferred));
        let found = session.found("mcp__s03__tool_02 mcp__s01__tool_05").await;
        assert_eq!(found[..2], [reference("mcp__s03__tool_02"), reference("mcp__s01__tool_05")]);
        assert_eq!(session.found("thing 7 of 11").await, session.found("thing 7 of 11").await);
    }
    // Beside one that is in no array, all are shown as texts.
    let fresh = offer("new", &[("fresh", "{}")]);
    servers.set(many().into_iter().chain([fresh]).collect());
    let mixed = later.found("mcp__new__fresh mcp__s03__tool_02").await;
    assert!(
        matches!(&mixed[..], [Content::Text(text)] if text.contains("mcp__s03__tool_02\nDoes thing 2 of 3."))
    );
}

/// With `all`, only what finds and calls the others is in the prompt.
#[tokio::test]
async fn own_tools_can_be_deferred_as_well() {
    for (dialect, listing) in
        [(Dialect::Anthropic, Listing::Deferred), (Dialect::OpenAiChat, Listing::Hidden)]
    {
        let mut wanted = spec(Deferral::All, dialect);
        wanted.loaded = vec!["read".to_owned()];
        let servers = Memory::with(vec![offer("a", &[("t", "{}")])]);
        let session = Tools::begin(&servers, &wanted);
        let open: Vec<&str> = session
            .registry
            .listed()
            .filter(|(_, listing)| *listing == Listing::Open)
            .map(|(definition, _)| definition.name())
            .collect();
        assert_eq!(open, ["read", "tool_search", "tool_call"]);
        assert_eq!(session.catalogue.listing("bash"), Some(listing));
        let found = session.found("run a shell command").await;
        let expect = match listing {
            Listing::Deferred => found.contains(&Content::ToolReference { name: "bash".to_owned() }),
            _ => matches!(&found[..], [Content::Text(text)] if text.contains("bash\nRuns")),
        };
        assert!(expect, "{found:?}");
    }
}

#[tokio::test]
async fn a_call_that_names_no_tool_is_told_so() {
    let session = Tools::begin(&Memory::with(Vec::new()), &spec(Deferral::Auto, Dialect::Anthropic));
    for (input, expect) in [
        ("{}", "`name` is missing: expected a tool's name as a string"),
        (r#"{"name":""}"#, "`name` is empty: expected a tool's name"),
        (r#"{"name":"tool_call","arguments":{}}"#, "`tool_call` does not call itself"),
        (
            r#"{"name":"read","arguments":"x"}"#,
            "`arguments` is neither an object nor a string that holds one",
        ),
    ] {
        let output = session.call("tool_call", input).await;
        assert_eq!((output.as_text().as_str(), output.is_error), (expect, true), "{input}");
    }
}

/// What was left out when a session began stays out in a later process, whatever its flags are.
#[tokio::test]
async fn a_selection_holds_for_the_whole_session() {
    for (deferral, dialect) in [(Deferral::Off, Dialect::Anthropic), (Deferral::All, Dialect::OpenAiChat)] {
        let servers = Memory::with(vec![offer("a", &[("t", "{}")]), offer("b", &[("u", "{}"), ("v", "{}")])]);
        let (catalogue, mut registry) = own(&servers);
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let selection = Selection {
            allow: Some(names(&["read", "bash", "tool_search", "tool_call", "mcp__b"])),
            deny: names(&["mcp__b__v"]),
        };
        catalogue.freeze(&mut registry, selection, &spec(deferral, dialect));
        let begun = Tools { catalogue, registry, notices: Vec::new() };
        let lane = begun.lane(dialect);
        servers.set(vec![offer("b", &[("u", "{}"), ("v", "{}")]), offer("c", &[("w", "{}")])]);
        let later = Tools::go_on(&servers, &lane);
        assert_eq!(later.catalogue.record(), begun.catalogue.record());
        assert_eq!(later.call("mcp__b__u", "{}").await, Output::text("done"));
        for left_out in ["mcp__b__v", "mcp__c__w", "edit"] {
            let text = later.call(left_out, "{}").await.as_text();
            assert!(text.starts_with(&format!("there is no tool `{left_out}`")), "{text}");
        }
        // A server that is still starting may have them, and is not asked.
        servers.set(vec![Offer { state: ServerState::Starting, ..offer("b", &[]) }]);
        let arrives = |name| later.catalogue.tool(name).is_some();
        assert_eq!(["mcp__b__u", "mcp__b__v"].map(arrives), [true, false]);
        let is_there = later.registry.names().any(|name| name == "bash");
        assert!(is_there, "{:?}", later.registry);
    }
}
