//! `antefix selftest`: six requests against the user's real provider, predicted by the simulator.

use std::process::ExitCode;

use antefix_http::client::{Client, ClientOptions, Outgoing};
use antefix_ledger::{Convention, Row};
use antefix_models::{Counts, Modifiers, Money, Platform, Tokens, cost};
use antefix_runtime::clock;
use antefix_runtime::provider::Credential;
use antefix_wire::json::Body;
use bytes::Bytes;

use crate::cli::SelftestArgs;
use crate::endpoint;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::forecast::{Trial, compare, json, lines};
use crate::out::{say, tell};
use crate::price_file;
use crate::screen::harmless;
use crate::text::today;

/// `antefix selftest`
pub fn selftest(args: &SelftestArgs, environment: &Environment) -> Result<ExitCode, Failure> {
    let requests = requests(&args.model, &format!("{:x}", clock::now().0));
    let most = most(args, environment, &requests)?;
    let limit: Money = args.max_usd.parse().map_err(|_| {
        Failure::usage(format!("`--max-usd {}` is no amount", args.max_usd))
            .hint("write dollars, for example 0.50")
    })?;
    if most > limit {
        let text = format!("six requests to {} may cost {most:.4}, more than {limit}", args.model);
        return Err(Failure::usage(text).hint("--max-usd raises the limit, --model names a cheaper model"));
    }
    if !args.live {
        say!("would send six requests to {}, for at most {most:.4}:", args.model);
        for (name, _) in &requests {
            say!("  {name}");
        }
        tell!("--live sends them");
        return Ok(ExitCode::SUCCESS);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let trials = runtime.block_on(send_all(args, environment, requests))?;
    let compared = compare(&trials);
    if args.json {
        say!("{}", json(&compared));
    } else {
        say!("{}", lines(&compared).join("\n"));
        tell!("spent {}", spent(args, environment, &trials)?);
    }
    let disagrees = compared.iter().any(|one| one.agrees() != Some(true));
    Ok(ExitCode::from(u8::from(disagrees)))
}

/// The requests in the order in which they are sent, each with what it tests.
fn requests(model: &str, nonce: &str) -> Vec<(&'static str, String)> {
    // Above the largest shortest prefix of any model, and never sent before.
    let system =
        format!("Self-test {nonce}. {}", "The quick brown fox jumps over the lazy dog. ".repeat(500));
    let marker = r#","cache_control":{"type":"ephemeral"}"#;
    let block = |text: &str, marker: &str| format!(r#"{{"type":"text","text":"{text}"{marker}}}"#);
    let user = |block: String| format!(r#"{{"role":"user","content":[{block}]}}"#);
    let said = r#",{"role":"assistant","content":[{"type":"text","text":"Yes."}]},"#;
    let body = |system: &str, messages: &str| {
        let system = block(system, marker);
        format!(r#"{{"model":"{model}","max_tokens":16,"system":[{system}],"messages":[{messages}]}}"#)
    };
    let ask = |marker: &str| user(block("Answer with one word: is this a test?", marker));
    let more = || user(block("And again?", marker));
    vec![
        ("a new prompt is written", body(&system, &ask(marker))),
        ("the same prompt is read", body(&system, &ask(marker))),
        (
            "a longer one reads it and writes what is new",
            body(&system, &[ask(marker), said.to_owned(), more()].concat()),
        ),
        ("markers may move", body(&system, &[ask(""), said.to_owned(), more()].concat())),
        (
            "another question reads the system prompt alone",
            body(&system, &user(block("Answer with one word: is it late?", marker))),
        ),
        (
            "one changed byte at the front, and nothing is read",
            body(&system.replacen("Self", "self", 1), &ask(marker)),
        ),
    ]
}

/// What the requests can cost at most: every byte a token, everything written.
fn most(
    args: &SelftestArgs,
    environment: &Environment,
    requests: &[(&str, String)],
) -> Result<Money, Failure> {
    let book = price_file::book(environment)?;
    let mut sum = Money::ZERO;
    for (_, body) in requests {
        // No tokeniser of the list makes more than one token of two bytes of such text.
        let counts =
            Counts { write_5m: Tokens(body.len() as u64 / 2), output: Tokens(16), ..Counts::default() };
        let prices = book
            .price(Platform::Anthropic, &args.model, today(), Modifiers::default(), counts.prompt())
            .ok_or_else(|| {
                Failure::usage(format!("no price of `{}` is known, so no limit can be kept", args.model))
                    .hint("`antefix prices` lists those that are; prices.toml can name others")
            })?;
        sum += cost(&prices, &counts);
    }
    Ok(sum)
}

fn spent(args: &SelftestArgs, environment: &Environment, trials: &[Trial]) -> Result<Money, Failure> {
    let book = price_file::book(environment)?;
    let prices = |counts: &Counts| {
        book.price(Platform::Anthropic, &args.model, today(), Modifiers::default(), counts.prompt())
    };
    let counts = trials.iter().filter_map(|trial| trial.real);
    Ok(counts.filter_map(|counts| Some(cost(&prices(&counts)?, &counts))).sum())
}

async fn send_all(
    args: &SelftestArgs,
    environment: &Environment,
    requests: Vec<(&'static str, String)>,
) -> Result<Vec<Trial>, Failure> {
    let base = args.base_url.clone().or_else(|| environment.base_url.clone());
    let mut options = ClientOptions::new(base.unwrap_or_else(|| endpoint::BASE_URL.to_owned()));
    options.proxies = environment.proxies.clone();
    let client = Client::new(options)?;
    let credential = endpoint::credential(environment, environment.key_helper.as_deref())?;
    let mut trials = Vec::new();
    for (name, body) in requests {
        let at_ms = clock::now().0;
        let real = send(&client, &credential, &body).await?;
        trials.push(Trial { name: name.to_owned(), at_ms, betas: None, body: body.into_bytes(), real });
    }
    Ok(trials)
}

/// Sends one request and waits for its answer, since an entry can be read only once its answer has begun.
async fn send(client: &Client, credential: &Credential, body: &str) -> Result<Option<Counts>, Failure> {
    let outgoing = Outgoing::post("/v1/messages", vec![Bytes::from(body.to_owned())])
        .header("content-type", "application/json")
        .header("anthropic-version", "2023-06-01");
    let outgoing = match credential {
        Credential::ApiKey(key) => outgoing.secret("x-api-key", key.clone()),
        Credential::Bearer(token) => outgoing
            .secret("authorization", antefix_http::client::Secret::new(format!("Bearer {}", token.expose()))),
        Credential::None => outgoing,
    };
    let mut answer = client.send(outgoing).await?;
    let status = answer.status;
    let (bytes, _) = answer.read_up_to(LONGEST_ANSWER).await?;
    if status != 200 {
        let said = String::from_utf8_lossy(&bytes).into_owned();
        return Err(Failure::failed(format!("the provider answered {status}: {}", harmless(&said))));
    }
    let answer = Body::parse(bytes).map_err(Failure::failed)?;
    let usage = answer.root().get("usage");
    Ok(usage.map(|usage| Row::read(usage, Convention::detect(usage)).counts))
}

/// Bytes of an answer that are read: sixteen tokens are far fewer.
const LONGEST_ANSWER: usize = 1 << 20;
