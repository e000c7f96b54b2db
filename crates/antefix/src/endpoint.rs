//! Who answers, and on what terms.

use antefix_http::client::Secret;
use antefix_http::server::{ServerOptions, SimServer};
use antefix_models::{Affinity, Platform, Preset, Protocol, Reasoning, Rules, Support, rules};
use antefix_runtime::head::{ChatTerms, Thinking, default_max_tokens};
use antefix_runtime::provider::Credential;
use antefix_session::dialect::Dialect;
use antefix_session::record::Header;
use antefix_sim::{Config, Script, Simulator};

use crate::cli::{AgentArgs, DEFAULT_MODEL, Provider};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::preset::{Chosen, Flags};
use crate::settings::Settings;

/// A server with what is known of it.
pub struct Endpoint {
    /// The protocol it speaks.
    pub dialect: Dialect,
    /// Whose rules and prices hold.
    pub platform: Platform,
    /// Its address.
    pub base_url: String,
    /// How requests are authenticated.
    pub credential: Credential,
    /// How it wants Chat Completions.
    pub terms: ChatTerms,
    /// What is known of a server of Chat Completions.
    pub preset: Option<Preset>,
    /// The variable of the environment that its key was read from.
    pub key_variable: Option<String>,
    /// The simulator, if it answers.
    pub simulator: Option<SimServer>,
    /// What the user should be told of it.
    pub notice: Option<String>,
}

/// The API of the provider itself.
pub const BASE_URL: &str = "https://api.anthropic.com";

impl Endpoint {
    /// Finds out who answers.
    ///
    /// # Errors
    /// If its address or key is missing, or something was asked for that it does not have.
    pub async fn find(
        args: &AgentArgs,
        environment: &Environment,
        settings: &Settings,
    ) -> Result<Self, Failure> {
        match &args.provider {
            Some(Provider::Sim) => Self::simulator().await,
            Some(Provider::Anthropic) | None => Self::anthropic(args, environment, settings),
            Some(Provider::Preset(name)) => Self::preset(name, args, settings),
        }
    }

    async fn simulator() -> Result<Self, Failure> {
        let server = start_simulator().await?;
        let credential = Credential::ApiKey(Secret::new("sim"));
        let messages = Self::messages(server.base_url(), credential);
        Ok(Self { simulator: Some(server), notice: Some(SIMULATED.to_owned()), ..messages })
    }

    fn anthropic(args: &AgentArgs, environment: &Environment, settings: &Settings) -> Result<Self, Failure> {
        let found = address(args.base_url.as_deref(), environment, Some(settings));
        let base = found.map_or_else(|| BASE_URL.to_owned(), |(url, _)| url);
        let helper = environment.key_helper.as_deref().or_else(|| settings.value("key_helper"));
        Ok(Self::messages(base, credential(environment, helper)?))
    }

    fn messages(base_url: String, credential: Credential) -> Self {
        Self {
            dialect: Dialect::Anthropic,
            platform: Platform::Anthropic,
            base_url,
            credential,
            terms: ChatTerms::default(),
            preset: None,
            key_variable: None,
            simulator: None,
            notice: None,
        }
    }

    fn preset(name: &str, args: &AgentArgs, settings: &Settings) -> Result<Self, Failure> {
        let flags = Flags { base_url: args.base_url.clone(), api_key_env: args.api_key_env.clone() };
        let chosen = Chosen::named(name, flags, settings)?;
        let (base_url, credential) = (chosen.base_url()?, chosen.credential()?);
        let key_variable = chosen.key_variable().map(str::to_owned);
        let preset = chosen.preset;
        let dialect = match preset.dialect {
            Protocol::Messages => Dialect::Anthropic,
            Protocol::ChatCompletions => Dialect::OpenAiChat,
        };
        if dialect == Dialect::OpenAiChat && args.thinking != Thinking::Default {
            return Err(Failure::usage("`--thinking` is for the Messages API")
                .hint(format!("`--effort` is sent to `{name}` as `reasoning_effort`")));
        }
        let terms = ChatTerms {
            usage_on_request: preset.include_usage,
            limit_name: preset.max_tokens.name(),
            system_role: preset.system_role.name(),
            members: Vec::new(),
            keeps_reasoning: preset.reasoning == Reasoning::SentBack,
        };
        let notice = (preset.tools == Support::No)
            .then(|| format!("`{name}` takes no tools, so that none are offered"));
        let platform = preset.platform;
        let endpoint = Self::messages(base_url, credential);
        Ok(Self { dialect, platform, terms, preset: Some(preset), key_variable, notice, ..endpoint })
    }

    /// Takes the session's name as the value that keeps it with the server that has its cache, and gives the headers
    /// to send it in.
    pub fn stick_to(&mut self, session: &Header) -> Vec<(String, String)> {
        // A fork reads the cache of the session it comes from.
        let name = session.forked_from.as_ref().map_or(&session.session, |(parent, _)| parent);
        let mut headers = Vec::new();
        for affinity in self.preset.iter().flat_map(|preset| &preset.affinity) {
            match affinity {
                Affinity::Header(header) => headers.push((header.clone(), name.clone())),
                Affinity::Member(member) => self.terms.members.push((member.clone(), name.clone())),
            }
        }
        headers
    }

    /// The rules of a model there.
    pub fn rules(&self, model: &str) -> Rules {
        rules_at(self.preset.as_ref(), self.platform, model)
    }

    /// Whether tools are offered.
    pub fn takes_tools(&self) -> bool {
        self.preset.as_ref().is_none_or(|preset| preset.tools != Support::No)
    }

    /// Where requests share a cache: one address and, for the API itself, one key's workspace. The key is not
    /// digested: it would tell keys of a small alphabet apart from outside.
    pub fn scope(&self) -> String {
        let address = if self.simulator.is_some() { "a simulator in the process" } else { &self.base_url };
        blake3::hash(address.as_bytes()).to_hex().to_string()
    }

    /// The model of a new lane.
    ///
    /// # Errors
    /// If none is named and there is no default.
    pub fn model(&self, args: &AgentArgs, settings: &Settings) -> Result<String, Failure> {
        match self.dialect {
            Dialect::Anthropic => {
                let model = args.model.as_deref().or_else(|| settings.value("model"));
                Ok(model.unwrap_or(DEFAULT_MODEL).to_owned())
            }
            Dialect::OpenAiChat => args.model.clone().ok_or_else(|| {
                Failure::usage("the server's model is not named")
                    .hint("add `--model NAME`; most servers list theirs at `/v1/models`")
            }),
        }
    }

    /// Largest reply that is asked for, where something is asked for.
    pub fn largest_reply(&self, args: &AgentArgs, rules: &Rules) -> Option<u64> {
        match self.dialect {
            Dialect::Anthropic => Some(args.max_output.unwrap_or_else(|| default_max_tokens(rules))),
            // The server knows best how much its model may say.
            Dialect::OpenAiChat => args.max_output,
        }
    }

    /// Whether requests may ask for what the provider is to leave out of the prompt.
    pub fn takes_context_management(&self) -> bool {
        self.takes_markers()
    }

    /// Whether requests say what is to be kept in the cache.
    pub fn takes_markers(&self) -> bool {
        match self.dialect {
            Dialect::Anthropic => true,
            Dialect::OpenAiChat => false,
        }
    }
}

/// The rules of a model at a preset's server, or on a platform.
pub fn rules_at(preset: Option<&Preset>, platform: Platform, model: &str) -> Rules {
    preset.map_or_else(|| rules(platform, model), |preset| preset.rules(model, None))
}

/// The address for the Messages API and where it is said first: the flag, the environment, the settings. `None` where
/// nothing says otherwise than [`BASE_URL`].
pub fn address(
    flag: Option<&str>,
    environment: &Environment,
    settings: Option<&Settings>,
) -> Option<(String, String)> {
    if let Some(url) = flag {
        return Some((url.to_owned(), "--base-url".to_owned()));
    }
    if let Some(url) = &environment.base_url {
        return Some((url.clone(), "ANTHROPIC_BASE_URL".to_owned()));
    }
    let value = settings?.found("base_url")?;
    Some((value.text.clone(), value.source.to_string()))
}

/// What the key for the Messages API is read from, in words; `None` if there is none.
pub fn key_source(environment: &Environment, settings: Option<&Settings>) -> Option<String> {
    let set = [
        (environment.api_key.is_some(), "ANTHROPIC_API_KEY is set"),
        (environment.auth_token.is_some(), "ANTHROPIC_AUTH_TOKEN is set"),
        (environment.key_helper.is_some(), "ANTEFIX_API_KEY_HELPER names a command"),
    ];
    if let Some((_, text)) = set.iter().find(|(is_set, _)| *is_set) {
        return Some((*text).to_owned());
    }
    let value = settings?.found("key_helper")?;
    Some(format!("`key_helper` names a command ({})", value.source))
}

/// The key, where it is found first: `ANTHROPIC_API_KEY`, `ANTHROPIC_AUTH_TOKEN`, the helper command.
///
/// # Errors
/// If there is none, or the helper fails.
pub fn credential(environment: &Environment, helper: Option<&str>) -> Result<Credential, Failure> {
    if let Some(key) = &environment.api_key {
        return Ok(Credential::ApiKey(key.clone()));
    }
    if let Some(token) = &environment.auth_token {
        return Ok(Credential::Bearer(token.clone()));
    }
    if let Some(helper) = helper {
        return helper_key(helper).map(Credential::ApiKey);
    }
    Err(Failure::usage(NO_KEY.trim_end()))
}

fn helper_key(command: &str) -> Result<Secret, Failure> {
    let failed = |what: String| Failure::failed(format!("the key helper `{command}` {what}"));
    let output = std::process::Command::new("sh")
        .args(["-c", command])
        .stdin(std::process::Stdio::null())
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|error| failed(format!("could not be started: {error}")))?;
    if !output.status.success() {
        return Err(failed(format!("ended with {}", output.status)));
    }
    let key = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if key.is_empty() || key.contains(char::is_whitespace) {
        return Err(failed("did not print a key and nothing else".to_owned()));
    }
    Ok(Secret::new(key))
}

async fn start_simulator() -> Result<SimServer, Failure> {
    let simulator = Simulator::new(Config::default(), Script::default_script());
    SimServer::start(ServerOptions::default(), simulator)
        .await
        .map_err(|error| Failure::failed(format!("the simulator could not be started: {error}")))
}

/// What is said when the simulator answers.
const SIMULATED: &str = "\
answers and costs are simulated; nothing leaves this machine, and the simulator starts without a cache";

/// What is said when no key is found.
const NO_KEY: &str = "\
no key for the Messages API was found. Looked for, in this order:
  ANTHROPIC_API_KEY         sent as x-api-key
  ANTHROPIC_AUTH_TOKEN      sent as a bearer token
  ANTEFIX_API_KEY_HELPER    a command that prints a key

Without a key you can
  antefix demo                             watch an agent work, offline
  antefix run --provider sim \"PROMPT\"      run here with a simulated model
  antefix sim --port 8080                  serve the simulator to any agent";
