//! Servers of Chat Completions: what goes wrong with them, said in words, with the session whole behind it; presets.

use std::fs;

use antefix_http::server::ServerOptions;
use antefix_sim::{ChatConfig, Config, TemplateClass};

use crate::case::{Case, Invocation, KEY};
use crate::ended::Ended;

/// A case whose server speaks Chat Completions.
struct Server {
    case: Case,
    model: &'static str,
}

impl Server {
    fn new(config: ChatConfig, script: &str) -> Self {
        let case = Case::start(ServerOptions::default(), Config::chat(config), script);
        Self { case, model: "sim-model" }
    }

    fn base_url(&self) -> String {
        self.case.chat_url()
    }

    /// A turn with this provider, wherever it is.
    fn ask(&self, provider: &str, prompt: &str) -> Invocation {
        let run = ["run", prompt, "--longest-retry-wait", "0", "--permission-mode", "full"];
        self.case.antefix(run).args(["--provider", provider]).without("ANTHROPIC_API_KEY")
    }

    /// A turn with this provider, which is the case's server.
    fn run(&self, provider: &str, prompt: &str) -> Invocation {
        self.ask(provider, prompt).args(["--model", self.model]).arg("--base-url").arg(self.base_url())
    }

    /// The next turn of the session, by another process, is answered; what was sent before is kept in it, and
    /// `verify` finds nothing wrong.
    fn goes_on(&self) {
        let end = self.run("llamacpp", "And now?").arg("--continue").ends();
        end.code(0).stdout("It goes on.");
        self.case.is_intact();
    }
}

/// A fault: the server, the script in front of the answer, the exit code, and what is said.
struct Fault {
    name: &'static str,
    config: fn(&mut ChatConfig),
    script: &'static str,
    code: i32,
    said: &'static [&'static str],
}

const PLAIN: fn(&mut ChatConfig) = |_| {};

const FAULTS: &[Fault] = &[
    Fault {
        name: "the context is too short",
        config: |config| config.context = 600,
        script: "",
        code: 1,
        said: &["context", "go back with `--rewind TURN`, or begin a new session"],
    },
    Fault {
        name: "the model takes no tools",
        config: |config| config.tools = false,
        script: "",
        code: 1,
        said: &["does not support tools", "this model or its server takes no tools"],
    },
    Fault {
        name: "the stream is cut in a text",
        config: PLAIN,
        script: "rule\n  on said Look\n  text A long answer that is cut somewhere within.\n  cut 400\n",
        code: 1,
        said: &["127.0.0.1"],
    },
    Fault {
        name: "the stream is cut in a call",
        config: PLAIN,
        script: "rule\n  on said Look\n  tool read {\"path\":\"a\"}\n  cut mid-input\n",
        code: 1,
        said: &["127.0.0.1"],
    },
    Fault {
        name: "every list of choices is empty",
        config: PLAIN,
        script: "rule\n  on said Look\n  text Hello.\n  omit choices\n",
        code: 1,
        said: &["the reply ended without a choice"],
    },
    Fault {
        name: "no reason to finish is given",
        config: PLAIN,
        script: "rule\n  on said Look\n  text Hello.\n  omit finish\n",
        code: 1,
        said: &["the reply ended without a `finish_reason`"],
    },
    Fault {
        name: "an error comes in the stream",
        config: PLAIN,
        script: "rule\n  on said Look\n  text A long answer.\n  stream-error before-first-block server_error Out of memory.\n",
        code: 1,
        said: &["server_error: Out of memory."],
    },
    Fault {
        name: "an event is no JSON",
        config: PLAIN,
        script: "rule\n  on said Look\n  text A long answer.\n  malformed json\n",
        code: 1,
        said: &["the stream is malformed"],
    },
    Fault {
        name: "comments keep the connection alive",
        config: PLAIN,
        script: "rule\n  on said Look\n  text Hello.\n  keep-alive\n",
        code: 0,
        said: &[],
    },
    Fault {
        name: "the end of the stream is not marked",
        config: PLAIN,
        script: "rule\n  on said Look\n  text Hello.\n  omit done\n",
        code: 0,
        said: &[],
    },
    Fault {
        name: "usage is missing",
        config: PLAIN,
        script: "rule\n  on said Look\n  text Hello.\n  omit usage\n",
        code: 0,
        said: &["estimate"],
    },
];

#[test]
fn faults_are_told_and_leave_the_session_whole() {
    for fault in FAULTS {
        let mut config = ChatConfig::llamacpp();
        (fault.config)(&mut config);
        let is_lasting = config != ChatConfig::llamacpp();
        let server = Server::new(config, &format!("{}rule\n  on said Look\n  text Hello.\n", fault.script));
        server.case.write("a", "1\n");
        let mut end = server.run("llamacpp", "Look.").ends().code(fault.code);
        for said in fault.said {
            end = end.stderr(said);
        }
        if fault.code == 0 {
            end.stdout("Hello.");
        }
        eprintln!("{}", fault.name);
        if is_lasting {
            server.case.is_intact();
        } else {
            server.goes_on();
        }
    }
}

/// The same on a server that asks for keys and knows its models.
#[test]
fn a_wrong_key_and_a_wrong_model() {
    let server = Server::new(ChatConfig::openai_legacy(), "rule\n  on said Look\n  text Hello.\n");
    let run = |prompt: &str| server.run("compatible", prompt).args(["--api-key-env", "MY_KEY"]);
    let unnamed = server.ask("compatible", "Look.").arg("--base-url").arg(server.base_url());
    unnamed.ends().code(2).stderr("the server's model is not named");
    server.case.antefix(["sessions"]).ends().lacks("1970");
    run("Look.").ends().code(2).stderr("the environment has no `MY_KEY`");
    let end = run("Look.").env("MY_KEY", "invalid-key").ends().code(1);
    end.stderr("401").stderr("check the key").lacks("invalid-key");
    let end = server.ask("compatible", "Look.").args(["--model", "no-such-model"]);
    let end =
        end.arg("--base-url").arg(server.base_url()).args(["--api-key-env", "MY_KEY"]).env("MY_KEY", KEY);
    end.ends().code(1).stderr("no-such-model").stderr("check the model's name");
    run("Look.")
        .env("MY_KEY", KEY)
        .ends()
        .code(0)
        .stdout("Hello.")
        .stderr("no price of `sim-model` is known");
    server.case.hides_the_key();
}

/// Tokens that nobody counted are estimates, on the screen and in JSON.
#[test]
fn usage_that_is_missing_is_estimated() {
    let server = Server::new(ChatConfig::llamacpp(), "rule\n  on said Look\n  text Hello.\n  omit usage\n");
    let end = server.run("llamacpp", "Look.").args(["--output", "json"]).ends().code(0);
    end.stdout(r#""estimated":true,"cost_usd":"0""#).stdout(r#""estimated_requests":1"#);
}

#[test]
fn a_preset_of_ones_own_takes_five_lines() {
    let mut config = ChatConfig::vllm();
    config.tools = false;
    let server = Server::new(config, "rule\n  on said Look\n  think Hm.\n  text Hello.\n");
    let settings = server.case.settings();
    fs::create_dir_all(settings.parent().expect("a folder")).expect("a folder for settings");
    let text = format!(
        "[provider.mine]\nlike = \"vllm\"\nbase_url = \"{}\"\nkey_env = \"MY_KEY\"\ntools = \"no\"\naffinity = \"member:session_id\"\n",
        server.base_url()
    );
    fs::write(&settings, text).expect("settings");
    let run = |prompt: &str| server.ask("mine", prompt).args(["--model", "sim-model"]).env("MY_KEY", KEY);
    run("Look.").ends().code(0).stdout("Hello.").stderr("takes no tools").lacks("no price");
    run("Look again.").arg("--continue").ends().code(0).stdout("Hello.");
    let sent = server.case.sent();
    assert_eq!(server.case.relations(), ["extends"]);
    let session = format!("\"session_id\":\"{}\"", server.case.session());
    for sent in &sent {
        let body = String::from_utf8(sent.bytes.clone()).expect("a body is UTF-8");
        assert!(body.contains(&session) && !body.contains("\"tools\""), "{body}");
    }
    // What was thought goes back, as the preset that it is like has it.
    let second = String::from_utf8(sent[1].bytes.clone()).expect("a body is UTF-8");
    assert!(second.contains(r#""reasoning_content":"Hm.""#), "{second}");
    let listed = server.case.antefix(["doctor", "--settings"]).ends().code(0);
    listed.stdout("provider = mine (own preset, like vllm)");
    server.case.is_intact();
    fs::write(&settings, "[provider.mine]\nbas_url = \"x\"\n").expect("settings");
    run("Look.")
        .ends()
        .code(2)
        .stderr("`provider.mine`: `bas_url` is no key of a preset")
        .stderr("docs/providers.md");
}

/// A project's own preset could send a key anywhere.
#[test]
fn a_project_names_a_server_before_its_folder_is_trusted() {
    let server = Server::new(ChatConfig::vllm(), "rule\n  on said Look\n  text Hello.\n");
    fs::create_dir_all(server.case.project().join(".antefix")).expect("a folder");
    let text = format!("[provider.theirs]\nbase_url = \"{}\"\nkey_env = \"MY_KEY\"\n", server.base_url());
    server.case.write(".antefix/settings.toml", &text);
    let run = || server.ask("theirs", "Look.").args(["--model", "sim-model"]).env("MY_KEY", KEY);
    run().ends().code(2).stderr("there is no provider `theirs`");
    assert!(server.case.sent().is_empty());
    run().arg("--trust").ends().code(0).stdout("Hello.");
}

/// What people paste into reports holds no password and no variable's value.
#[test]
fn doctor_shows_no_secret_of_an_address() {
    let case = Case::new("");
    let doctor = |url: &str| case.antefix(["doctor", "--provider", "compatible", "--base-url", url]);
    let end = doctor("http://user:hunter2pass@127.0.0.1:9/v1").ends().code(1);
    end.stdout("must not hold a user or password").lacks("hunter2pass");
}

#[test]
fn doctor_asks_a_server_what_it_is() {
    let server = Server::new(ChatConfig { context: 4_096, ..ChatConfig::llamacpp() }, "");
    let doctor = |args: &[&str]| -> Ended {
        let url = server.base_url();
        let all = ["doctor", "--base-url", &url].into_iter().chain(args.iter().copied());
        server.case.antefix(all).without("ANTHROPIC_API_KEY").ends()
    };
    let end = doctor(&["--provider", "llamacpp"]).code(0);
    end.stdout("answers; models: sim-model").stdout("4096 tokens").stdout("sim-model: append-only");
    doctor(&["--provider", "compatible"]).code(0).stdout("✓ key").stdout("unpriced, not free");
    let end = doctor(&["--provider", "vllm", "--model", "Qwen/Qwen3-8B", "--json"]).code(0);
    end.stdout("reasoning-stripping").stdout("\"schema_version\"");
    doctor(&["--provider", "deepseek"]).code(1).stdout("✗ key        DEEPSEEK_API_KEY is not set");
    server
        .case
        .antefix(["doctor", "--provider", "github-models"])
        .ends()
        .code(1)
        .stdout("retired on 2026-07-30");
    server
        .case
        .antefix(["doctor", "--provider", "none"])
        .ends()
        .code(2)
        .stderr("there is no provider `none`");
    let end =
        server.case.antefix(["doctor", "--provider", "vllm", "--base-url", "http://127.0.0.1:1/v1"]).ends();
    end.code(1).stdout("✗ server").stdout("refused the connection");
}

/// What a template leaves out is forecast in front of the request that loses it, with the source, and only there.
#[test]
fn a_template_that_leaves_reasoning_out_is_forecast() {
    let mut config = ChatConfig::llamacpp();
    config.template = TemplateClass::ReasoningStripping;
    let script = "rule\n  on said Look\n  on rounds 0\n  think Hm.\n  tool read {\"path\":\"a\"}\nrule\n  on said Look\n  text Hello.\n";
    let server = Server { model: "qwen3-8b", ..Server::new(config, script) };
    server.case.write("a", "1\n");
    server.run("llamacpp", "Look.").ends().code(0).stdout("Hello.").lacks("provider-limited");
    let end = server.run("llamacpp", "And now?").arg("--continue").ends().code(0);
    let said = "provider-limited: the user speaks again: the chat template leaves out the reasoning of the turn before";
    end.stderr(said).stderr("Qwen/Qwen3-0.6B");
    server.case.is_intact();
}
