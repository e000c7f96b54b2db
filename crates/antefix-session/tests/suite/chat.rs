//! Chat Completions on stage: a head, a strict reader of bodies, and what it answers.

use antefix_models::{Platform, Preset, Rules};
use antefix_session::dialect::Dialect;
use antefix_session::placement::Placement;
use antefix_session::record::LaneRecord;
use antefix_sim::{ChatConfig, Config, HttpRequest, Script, Simulator, TemplateClass};
use antefix_wire::assemble::{Assembled, ChatAssembler};
use antefix_wire::json::{Body, Node};
use antefix_wire::sse::Parser;
use bytes::Bytes;

use crate::stage::{Setup, text};

/// The model; with thinking, one whose template leaves out reasoning once the user speaks again.
pub fn model(setup: &Setup) -> &'static str {
    if setup.thinking { "qwen3-8b" } else { "some-model" }
}

/// Its rules.
pub fn rules(setup: &Setup) -> Rules {
    Preset::named("compatible").unwrap().rules(model(setup), None)
}

/// A head with a prompt and two tools, or nothing in front of the messages.
pub fn lane(setup: &Setup) -> LaneRecord {
    let (tools, system) = if setup.bare {
        ("[]".to_owned(), "[]".to_owned())
    } else {
        (TOOLS.to_owned(), format!(r#"[{{"role":"system","content":"{}"}}]"#, "Work carefully. ".repeat(300)))
    };
    LaneRecord {
        dialect: Dialect::OpenAiChat,
        keeps_reasoning: setup.thinking,
        reminders: setup.placement(),
        baseline: Vec::new(),
        platform: Platform::Compatible,
        model: model(setup).to_owned(),
        scope: "5c09e".to_owned(),
        betas: Vec::new(),
        envelope: Bytes::from(format!(
            r#"{{"model":"{}","stream":true,"stream_options":{{"include_usage":true}}}}"#,
            model(setup)
        )),
        tools: tools.into(),
        system: system.into(),
        static_blocks: 0,
        cache: None,
        contract: 1,
    }
}

/// A server that renders as the model's template does: one that wants turns to alternate, or, with thinking, one that
/// leaves out earlier reasoning.
pub fn simulator(setup: &Setup) -> Simulator {
    let template = match setup.placement() {
        _ if setup.thinking => TemplateClass::ReasoningStripping,
        Placement::DeveloperMessage => TemplateClass::AppendOnly,
        _ => TemplateClass::StrictAlternation,
    };
    let script = Script::parse("rule\n  on any\n  think Thought {{turn}}.\n  text Fine.\n").unwrap();
    let usual = ChatConfig::llamacpp();
    let context = setup.window.unwrap_or(usual.context);
    let engine = setup.engine.clone().unwrap_or(usual.engine.clone());
    Simulator::new(Config::chat(ChatConfig { engine, template, context, ..usual }), script)
}

/// What the simulator answers; it must take the request, and so must a strict reader.
pub fn answer(simulator: &mut Simulator, body: &[u8], now: u64, thinking: bool) -> Assembled {
    read_strictly(body);
    assert!(thinking || !text(body).contains("reasoning_content"), "{}", text(body));
    let request = HttpRequest { method: "POST", path: "/v1/chat/completions", headers: &[], body };
    let response = simulator.handle(&request, antefix_sim::Millis(now));
    let answer = response.bytes();
    assert_eq!(response.status, 200, "{}\n{}", text(&answer), text(body));
    let (mut parser, mut assembler) = (Parser::new(), ChatAssembler::new());
    for event in parser.push(&answer).unwrap() {
        assembler.event(&event).unwrap();
    }
    assembler.finish()
}

/// Reads a body as the strictest chat template does: user and assistant take turns; calls are answered one by one, in
/// their order, right behind the message that makes them.
fn read_strictly(body: &[u8]) {
    let body = Body::parse(body).unwrap();
    let messages: Vec<Node<'_>> = body.root().get("messages").unwrap().items().collect();
    let role = |message: &Node<'_>| message.get("role").unwrap().str().unwrap().into_owned();
    let mut all = std::collections::BTreeSet::new();
    let mut open: Vec<String> = Vec::new();
    let mut before = "assistant".to_owned();
    for message in messages.iter().filter(|message| role(message) != "system") {
        let now = role(message);
        let text = message.raw();
        if !open.is_empty() {
            assert_eq!(now, "tool", "a call is not answered: {text}");
        }
        match now.as_str() {
            "user" => assert_eq!(before, "assistant", "{text}"),
            "assistant" => assert!(before == "user" || before == "tool", "{text}"),
            "tool" => {
                let id = message.get("tool_call_id").unwrap().str().unwrap().into_owned();
                assert_eq!(open.remove(0), id, "{text}");
            }
            _ => panic!("{text}"),
        }
        let content = message.get("content").unwrap();
        let calls: Vec<_> = message.get("tool_calls").into_iter().flat_map(Node::items).collect();
        let is_said = content.str().is_some_and(|text| !text.trim().is_empty());
        assert!(is_said || content.is_str("") && !calls.is_empty(), "{text}");
        for call in calls {
            let id = call.get("id").unwrap().str().unwrap().into_owned();
            assert!((1..=40).contains(&id.len()) && all.insert(id.clone()), "{text}");
            let arguments = call.pointer("/function/arguments").unwrap().str().unwrap().into_owned();
            assert!(arguments.starts_with('{') && Body::parse(arguments).is_ok(), "{text}");
            open.push(id);
        }
        before = now;
    }
    assert!(open.is_empty() && before != "assistant");
}

const TOOLS: &str = r#"[{"type":"function","function":{"name":"read","description":"Reads a file.","parameters":{"type":"object","properties":{"z":{"type":"number"},"a":{"type":"string"}}}}},{"type":"function","function":{"name":"edit","description":"Edits a file.","parameters":{"type":"object"}}}]"#;
