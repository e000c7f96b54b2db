//! `antefix doctor --provider NAME`: what is known of a server of Chat Completions, and what it says itself.

use std::time::Duration;

use antefix_http::client::{Client, ClientOptions, Outgoing, Secret};
use antefix_models::{ContextProbe, Platform, Preset, Support, Template, Tokens};
use antefix_runtime::provider::Credential;
use antefix_wire::json::{Body, Node, write_string};
use antefix_wire::openai::{listed_context, listed_models, props_context, shown_context};
use bytes::Bytes;

use super::Check;
use crate::cli::DoctorArgs;
use crate::environment::Environment;
use crate::failure::Failure;
use crate::folders;
use crate::preset::{Chosen, Flags};
use crate::settings::{self, Settings};

/// Looks at the server.
///
/// # Errors
/// If there is no preset of that name, or a file of settings cannot be read.
pub fn checks(name: &str, args: &DoctorArgs, environment: &Environment) -> Result<Vec<Check>, Failure> {
    let settings = Settings::read(&folders::working_folder(None)?, environment, &settings::Flags::default())?;
    let flags = Flags { base_url: args.base_url.clone(), api_key_env: args.api_key_env.clone() };
    let chosen = Chosen::named(name, flags, &settings)?;
    let base_url = chosen.base_url();
    let mut checks = vec![preset(&chosen.preset), address(&chosen, &base_url), key(&chosen)];
    let answer = match (&base_url, chosen.credential()) {
        (Ok(url), Ok(credential)) => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            Some(runtime.block_on(ask(url, &credential, &chosen.preset, args.model.as_deref(), environment)))
        }
        _ => None,
    };
    let model = match &answer {
        Some(Ok(answer)) => args.model.clone().or_else(|| answer.only_model()),
        _ => args.model.clone(),
    };
    if let Some(answer) = answer {
        checks.extend(said(answer, model.as_deref()));
    }
    checks.push(template(&chosen.preset, model.as_deref()));
    checks.push(prices(chosen.preset.platform));
    if chosen.preset.tools == Support::No {
        checks.push(check("tools", true, "none are offered: the preset says that models take none"));
    }
    checks.extend(chosen.preset.notes.iter().map(|note| check("note", true, note)));
    Ok(checks)
}

/// What a server says of itself.
struct Answer {
    models: Vec<String>,
    context: Option<Tokens>,
}

impl Answer {
    fn only_model(&self) -> Option<String> {
        match self.models.as_slice() {
            [only] => Some(only.clone()),
            _ => None,
        }
    }
}

fn preset(preset: &Preset) -> Check {
    let stated = match preset.source() {
        Some((source, date)) => format!(" ({source}, read {date})"),
        None => String::new(),
    };
    let retired = preset.retired.map_or_else(String::new, |day| format!(", retired on {day}"));
    check("preset", true, format!("{}: {}{retired}{stated}", preset.name, preset.about))
}

/// The address as it was written: a user, a password, or what a variable holds is not shown.
fn address(chosen: &Chosen, base_url: &Result<String, Failure>) -> Check {
    match base_url {
        Ok(url) if holds_user(url) => {
            check("address", false, "the base URL must not hold a user or password")
        }
        Ok(url) => check("address", true, chosen.written_url().unwrap_or(url)),
        Err(failure) => check("address", false, failure.text()),
    }
}

pub(super) fn holds_user(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().is_some_and(|authority| authority.contains('@'))
}

fn key(chosen: &Chosen) -> Check {
    let Some(variable) = chosen.key_variable() else {
        return check("key", true, "none is sent; `--api-key-env NAME` names a variable that holds one");
    };
    match (chosen.key().is_some(), chosen.needs_key()) {
        (true, _) => check("key", true, format!("{variable} is set")),
        (false, false) => check("key", true, format!("{variable} is not set, and none is sent")),
        (false, true) => check("key", false, format!("{variable} is not set")),
    }
}

fn template(preset: &Preset, model: Option<&str>) -> Check {
    let Some(model) = model else {
        return check("template", true, "add `--model NAME` to see what the model's chat template rewrites");
    };
    let found = preset.template(model);
    let Template { certain, strict_alternation, source, .. } = &found;
    let sure = if *certain || found.rewrites.is_empty() { "" } else { ", not read for this very model" };
    let roles = if *strict_alternation { "; user and assistant take turns" } else { "" };
    let text = format!("{model}: {}{sure}{roles} ({source})", found.class());
    check("template", true, text)
}

fn prices(platform: Platform) -> Check {
    let text = match platform {
        Platform::Local => "local: tokens cost nothing".to_owned(),
        Platform::OpenRouter => "as the server reports them with each response".to_owned(),
        Platform::DeepSeek => "of the data, by model and hour (docs/providers.md)".to_owned(),
        _ => "not known: requests are unpriced, not free".to_owned(),
    };
    check("prices", true, text)
}

/// What came of asking.
fn said(answer: Result<Answer, String>, model: Option<&str>) -> Vec<Check> {
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return vec![check("server", false, error)],
    };
    let shown = answer.models.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = answer.models.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let mut checks = vec![check("server", true, format!("answers; models: {shown}{more}"))];
    // A server of one model answers to any name, so that another name is no fault.
    if let Some(model) = model
        && answer.models.len() > 1
        && !answer.models.iter().any(|known| known == model)
    {
        checks.push(check("model", false, format!("`{model}` is not among the models of the server")));
    }
    checks.push(match answer.context {
        Some(tokens) => check("context", true, format!("{tokens} tokens, as the server says")),
        None => check("context", true, "the server does not say"),
    });
    checks
}

async fn ask(
    base_url: &str,
    credential: &Credential,
    preset: &Preset,
    model: Option<&str>,
    environment: &Environment,
) -> Result<Answer, String> {
    let server = Server { base_url, credential, environment };
    let list = server.get(base_url, Outgoing::get("/models")).await?;
    let models = listed_models(list.root());
    let only = if let [only] = models.as_slice() { Some(only.as_str()) } else { None };
    let model = model.or(only).unwrap_or_default();
    let listed = listed_context(list.root(), model);
    let context = match preset.context_probe {
        ContextProbe::None => None,
        ContextProbe::Models => listed,
        ContextProbe::Props => server.probe(Outgoing::get("/props"), props_context).await.or(listed),
        ContextProbe::OllamaShow => {
            let mut body = br#"{"model":"#.to_vec();
            write_string(&mut body, model);
            body.push(b'}');
            let show = Outgoing::post("/api/show", vec![Bytes::from(body)]);
            server.probe(show.header("content-type", "application/json"), shown_context).await
        }
    };
    Ok(Answer { models, context: context.map(Tokens) })
}

/// A server that is asked.
struct Server<'a> {
    base_url: &'a str,
    credential: &'a Credential,
    environment: &'a Environment,
}

impl Server<'_> {
    /// Asks beside the protocol's own path; what a server does not know is no fault.
    async fn probe(&self, outgoing: Outgoing, read: fn(Node<'_>) -> Option<u64>) -> Option<u64> {
        let root = self.base_url.strip_suffix("/v1").unwrap_or(self.base_url);
        read(self.get(root, outgoing).await.ok()?.root())
    }

    async fn get(&self, base_url: &str, outgoing: Outgoing) -> Result<Body, String> {
        let mut options = ClientOptions::new(base_url);
        options.proxies = self.environment.proxies.clone();
        options.connect_timeout = PATIENCE;
        options.header_timeout = PATIENCE;
        options.idle_timeout = PATIENCE;
        let client = Client::new(options).map_err(|error| error.to_string())?;
        let outgoing = match self.credential {
            Credential::ApiKey(key) | Credential::Bearer(key) => {
                outgoing.secret("authorization", Secret::new(format!("Bearer {}", key.expose())))
            }
            Credential::None => outgoing,
        };
        let mut incoming = client.send(outgoing).await.map_err(|error| error.to_string())?;
        let (bytes, _) = incoming.read_up_to(LARGEST).await.map_err(|error| error.to_string())?;
        match incoming.status {
            200 => Body::parse(bytes).map_err(|error| format!("the answer is not JSON: {error}")),
            401 | 403 => Err(format!("the server refuses the key ({})", incoming.status)),
            404 => Err("the server has no list of models there (404): for most, the address ends in `/v1`"
                .to_owned()),
            status => Err(format!("the server answered {status}")),
        }
    }
}

fn check(name: &'static str, ok: bool, text: impl Into<String>) -> Check {
    Check { name, ok, text: text.into() }
}

/// Models that are named.
const SHOWN: usize = 8;

/// How long a server may take to say what it is.
const PATIENCE: Duration = Duration::from_secs(10);

/// Bytes of an answer that are read.
const LARGEST: usize = 16 << 20;
