//! A library user's agent: a tool of its own in process, the simulator over a real socket, files on disk.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::path::Path;
use std::sync::Arc;

use antefix_http::client::{Client, ClientOptions, Secret};
use antefix_http::server::{ServerOptions, SimServer};
use antefix_models::{Platform, Ttl, rules};
use antefix_runtime::context::Baseline;
use antefix_runtime::driver::Agent;
use antefix_runtime::head::{ChatTerms, HeadSpec, Thinking};
use antefix_runtime::provider::{Credential, Provider};
use antefix_runtime::store::{FileStore, Sessions};
use antefix_runtime::{clock, transcript};
use antefix_session::closure::text_block;
use antefix_session::conversation::Work;
use antefix_session::dialect::Dialect;
use antefix_session::machine::{Session, Settings};
use antefix_session::placement::Placement;
use antefix_session::record::EndReason;
use antefix_sim::{Config, Script, Simulator};
use antefix_tools::{Access, BoxFuture, Context, Definition, Executor, Output, Registry, Tool};
use antefix_wire::json::Body;
use tempfile::TempDir;
use tokio::sync::mpsc;

const MODEL: &str = "claude-sonnet-5-5";

/// Requests in each turn.
const STEPS: u64 = 10;

/// Says the same few words each time.
struct Echo(Definition);

impl Tool for Echo {
    fn definition(&self) -> &Definition {
        &self.0
    }

    fn access(&self, _: &Context, _: &Body) -> Access {
        Access::Nothing
    }

    fn call<'a>(&'a self, _: &'a Context, _: Body) -> BoxFuture<'a, Output> {
        Box::pin(async { Output::text("some words of a result, always the same ones ".repeat(4)) })
    }
}

fn agent(folder: &Path, url: &str) -> Agent<FileStore> {
    let mut registry = Registry::new();
    registry.register(Arc::new(Echo(Definition::new("echo", "Echoes.", r#"{"type":"object"}"#).unwrap())));
    let head = HeadSpec {
        dialect: Dialect::Anthropic,
        platform: Platform::Anthropic,
        model: MODEL.to_owned(),
        scope: String::new(),
        betas: Vec::new(),
        max_tokens: Some(1_000),
        thinking: Thinking::Off,
        effort: None,
        context_management: None,
        cache: Some(Ttl::FiveMinutes),
        system_prompt: None,
        append_system_prompt: None,
        baseline: Baseline::default(),
        chat: ChatTerms::default(),
        reminders: Placement::UserBlock,
    };
    let head = head.render(&registry);
    let opened = transcript::create(&Sessions::at(folder), "/", clock::now()).unwrap();
    let session = Session::new(opened.conversation, rules(Platform::Anthropic, MODEL), Settings::default());
    let client = Client::new(ClientOptions::new(url)).unwrap();
    let provider = Provider::new(client, Dialect::Anthropic, Credential::ApiKey(Secret::new("key")));
    let context = Context::new(folder, folder.join("outputs"));
    let mut agent = Agent::new(session, opened.store, Executor::new(Arc::new(registry)), context, provider);
    agent.open_lane(head).unwrap();
    agent
}

/// Work done since the session began.
#[derive(Clone, Copy, Debug)]
struct Counters {
    work: Work,
    hashed_at_the_socket: u64,
}

/// A turn of ten requests costs the same at step 10, 100 and 1,000: nothing is scanned, digested, rendered or
/// hashed again because the history is long.
#[tokio::test]
async fn work_grows_with_what_is_new() {
    let folder = TempDir::new().unwrap();
    let script = format!("rule\n on rounds 0..{}\n tool echo\nrule\n on any\n text Done.", STEPS - 2);
    let simulator = Simulator::new(Config::default(), Script::parse(&script).unwrap());
    let server = SimServer::start(ServerOptions::default(), simulator).await.unwrap();
    let mut agent = agent(folder.path(), &server.base_url());
    let (_interrupt, mut interrupts) = mpsc::unbounded_channel();
    let mut turns = Vec::new();
    for _ in 0..=1_000 / STEPS {
        let end = agent.prompt(vec![text_block("Go on.")], &mut interrupts, |_| {}).await.unwrap();
        assert_eq!(end.reason, EndReason::EndTurn, "{end:?}");
        let work = agent.session().conversation().work();
        turns.push(Counters { work, hashed_at_the_socket: agent.provider().hashed() });
    }
    let bytes = agent.session().conversation().attempts().last().unwrap().attempt.bytes;
    assert!(bytes > 400_000, "the last body has {bytes} bytes");
    let cost = |turn: usize| {
        let (before, after) = (&turns[turn - 1], &turns[turn]);
        [
            after.work.scanned - before.work.scanned,
            after.work.hashed - before.work.hashed,
            after.work.rendered - before.work.rendered,
            after.work.copied - before.work.copied,
            after.hashed_at_the_socket - before.hashed_at_the_socket,
        ]
    };
    println!(
        "per turn of {STEPS} requests: {:?} early, {:?} late, last body {bytes} bytes",
        cost(1),
        cost(100)
    );
    for turn in [10, 100] {
        let ([scanned, hashed, rendered, copied, at_socket], early) = (cost(turn), cost(1));
        assert_eq!([scanned, hashed, rendered], early[..3], "turn {turn}");
        // Pieces of a body are joined in blocks, so that these move a little, but not with the history.
        assert!(copied <= 2 * early[3] && at_socket <= 2 * early[4], "turn {turn}: {copied}, {at_socket}");
    }
    server.shutdown().await;
}
